"""The host's other work while a trial ran, and the share of processor time that its threads lost to it."""

import os
import re
import resource
import selectors
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.experiment.metrics import BUSY, LOST
from assay.host.settings import Heat, hottest_c, throttles
from assay.host.system import System
from assay.runner.process import StopSignals

_SHORTEST_S = 0.05
"""The kernel counts processor time in steps of 10 ms: shorter processes cannot be measured."""

_POLL_S = 0.5


@dataclass(frozen=True)
class Counts:
    """The kernel's counters since the machine started, seconds.

    Attributes:
        at: when they were read.
        load: the load average over a minute.
        pressure: how long some task waited for a processor; None if the kernel does not report it.
        busy, steal: time of all processors together: used by anybody, and taken by the hypervisor.
        hottest_c: the highest temperature now, degrees Celsius; None if the kernel does not report it.
        throttles: how often processors slowed down because of heat.
        own: time used by the processes that this process has started and waited for.
    """

    at: float
    load: float
    pressure: float | None
    busy: float
    steal: float
    own: float
    hottest_c: float | None = None
    throttles: int = 0


def counts() -> Counts | None:
    """Return the kernel's counters; None if /proc does not have them."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0].split()[1:]
        load = float(Path("/proc/loadavg").read_text(encoding="ascii").split()[0])
        user, nice, system, _idle, _iowait, irq, softirq, steal = (
            int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in first[:8]
        )
    except (OSError, ValueError, IndexError):
        return None
    pressure = None
    with suppress(OSError):
        text = Path("/proc/pressure/cpu").read_text(encoding="ascii")
        if match := re.match(r"some .* total=(\d+)", text):
            pressure = int(match[1]) / 1e6
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = children.ru_utime + children.ru_stime
    busy = user + nice + system + irq + softirq
    heat = Heat().read(System())
    return Counts(time.monotonic(), load, pressure, busy, steal, own, hottest_c(heat), throttles(heat))


def metrics(
    before: Counts | None, after: Counts | None, request: Mapping[str, Any], reported: Mapping[str, float]
) -> dict[str, float]:
    """Return metrics of the host's work while a trial ran.

    Threads cannot lose more time than other programs used, nor more than some task waited. If there are more
    threads than processors, they also wait for each other, and only these two limits count.

    Args:
        before, after: the counters just before the trial's process and just after its end.
        request: the trial's threads and their pinning.
        reported: the trial's own metrics.
    """
    if before is None or after is None or after.at - before.at < _SHORTEST_S:
        return {}
    elapsed, processors = after.at - before.at, os.cpu_count() or 1
    others = max(0.0, after.busy - before.busy - (after.own - before.own))
    steal = (after.steal - before.steal) / (elapsed * processors)
    threads, pinning = request["threads"], request["pinning"]
    bounds = [1.0, others / (elapsed * threads)]
    found = {
        "host_load": before.load,
        "host_others_share": min(1.0, others / (elapsed * processors)),
        "host_steal_share": min(1.0, steal),
    }
    if before.pressure is not None and after.pressure is not None:
        found["host_pressure_share"] = min(1.0, (after.pressure - before.pressure) / elapsed)
        bounds.append(found["host_pressure_share"])
    if before.hottest_c is not None and after.hottest_c is not None:
        found["host_hottest_c"] = max(before.hottest_c, after.hottest_c)
        found["host_throttles"] = after.throttles - before.throttles
    usable = len(set(pinning)) if isinstance(pinning, list) else len(os.sched_getaffinity(0))
    if threads <= usable and "waiting_share" in reported:
        bounds.append(reported["waiting_share"])
    return {**found, LOST: min(1.0, min(bounds) + steal)}


def wait_until_quiet(threads: int, most_s: float, stop: StopSignals) -> float:
    """Wait until other programs leave enough processors for the threads; return the seconds waited.

    Raises:
        Interrupted: `stop` was signalled.
    """
    began = time.monotonic()
    earlier = counts()
    processors = os.cpu_count() or 1
    free = max(0, processors - threads) + BUSY * threads
    with selectors.DefaultSelector() as selector:
        selector.register(stop.wakes, selectors.EVENT_READ)
        while earlier is not None and time.monotonic() - began < most_s:
            selector.select(_POLL_S)
            stop.check()
            now = counts()
            if now is None or (now.busy - earlier.busy) / (now.at - earlier.at) <= free:
                break
            earlier = now
    return time.monotonic() - began
