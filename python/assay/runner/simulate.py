"""Simulates a processor's event counts for a trial: a second, short run under valgrind's callgrind.

The program's meter tells callgrind where the measured interval begins and ends, so that the warm-up fills the
caches and does not count. The simulated processor is the same on every host: the counts depend on the
program, its compiler, its random draws and its memory addresses, not on the host's load.

A second run simulates the translation lookaside buffers (TLB), if they are requested: a TLB is a cache whose
lines are pages, and callgrind simulates caches of any line size.
"""

import ctypes
import os
import platform
import re
import shutil
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.experiment import Experiment
from assay.experiment.events import USUAL_OPERATIONS, name_of, simulated_metric
from assay.plan.types import PlannedTrial, Status
from assay.runner.process import CannotStartError
from assay.runner.temporary import Temporary
from assay.runner.types import Binary

PROCESSOR = "Intel Xeon X5570 (Nehalem, 2009): first and last level of its caches, first level of its TLBs"
"""The processor of paper 002's machine PC_A. Sizes, ways and lines: Intel 64 and IA-32 Architectures
Optimization Reference Manual, on microarchitecture Nehalem."""
_CACHES = ("--I1=32768,4,64", "--D1=32768,8,64", "--LL=8388608,16,64")
_TLBS = (f"--I1={128 * 4096},4,4096", f"--D1={64 * 4096},4,4096", f"--LL={512 * 4096},4,4096")

_BY_CACHES = {
    "instructions": ("Ir",),
    "branches": ("Bc", "Bi"),
    "branch_instructions": ("Bc", "Bi"),
    "branch_misses": ("Bcm", "Bim"),
    "cache_misses": ("ILmr", "DLmr", "DLmw"),
    "l1_dcache_loads": ("Dr",),
    "l1_dcache_load_misses": ("D1mr",),
    "l1_dcache_stores": ("Dw",),
    "l1_dcache_store_misses": ("D1mw",),
    "l1_icache_load_misses": ("I1mr",),
    "llc_load_misses": ("DLmr",),
    "llc_store_misses": ("DLmw",),
}
_OF_LAST_LEVEL = frozenset({"cache_misses", "llc_load_misses", "llc_store_misses"})
"""Events of the last-level cache. A warm-up is too short to fill it, so the prefill is simulated, too: that
takes ten times as long."""
_BY_TLBS = {
    "dtlb_loads": ("Dr",),
    "dtlb_load_misses": ("D1mr",),
    "dtlb_stores": ("Dw",),
    "dtlb_store_misses": ("D1mw",),
    "itlb_load_misses": ("I1mr",),
}
"""Event, as in metrics -> callgrind's events whose sum it is; the same in both tables."""

_SLOWDOWN = 50
"""A simulated run that takes more than this many times as long as the trial counts as stuck."""
PATIENCE_S = 60
"""A simulated run that the experiment does not request is given up after this time."""
_LONGEST_ARRAY = 2  # numbers for each operation that is performed, in warm-up and measured interval
_LARGEST_BATCH = 512
_LONGEST_INTERVAL_MS = 60_000


@dataclass(frozen=True)
class Simulation:
    """The simulation of one trial.

    Attributes:
        operations: number of operations during which events were counted.
        counts: event -> how often it happened.
        unavailable: event -> why it was not simulated.
        took_s: how long it took.
    """

    operations: float = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    took_s: float = 0

    def metrics(self) -> dict[str, float]:
        """Return metric -> value; the names say that they are simulated."""
        return {simulated_metric(name): count / self.operations for name, count in self.counts.items()}

    def record(self) -> dict[str, Any]:
        """Return what is stored with the trial's result."""
        return {
            "processor": PROCESSOR,
            "operations": self.operations,
            "available": dict(self.counts),
            "unavailable": dict(self.unavailable),
        }


class _NotSimulatedError(Exception):
    """Why nothing was simulated."""


_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}  # system calls, which the C library has no function for


def processor_counts() -> bool:
    """Return whether a process may count instructions here: most virtual machines have no counters.

    If the system call's number is unknown here, it returns True: nothing is simulated without a request.
    """
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        return True
    # perf_event_attr, first version: type, size, config; then flags: disabled, no kernel, no hypervisor.
    request = struct.pack("=IIQQQQQ16x", 0, 64, 1, 0, 0, 0, 0b1100001)
    descriptor = ctypes.CDLL(None).syscall(
        ctypes.c_long(number), request, ctypes.c_int(0), *map(ctypes.c_long, (-1, -1, 0))
    )
    if descriptor < 0:
        return False
    os.close(descriptor)
    return True


@dataclass(frozen=True)
class SimulationPlan:
    """How the events of a campaign's trials are simulated.

    Attributes:
        operations: number of operations that are simulated for each trial; 0: no simulation.
        patience_s: seconds after which a run is given up; None: never, as the experiment requests it.
    """

    operations: int = 0
    patience_s: float | None = None


def simulation_plan(experiment: Experiment) -> SimulationPlan:
    """Return the simulation that an experiment requests, or of events that this host cannot count."""
    stated = experiment.simulate.operations
    if stated is not None:
        return SimulationPlan(stated)
    can = {*_BY_CACHES, *_BY_TLBS}
    if can.isdisjoint(map(name_of, experiment.events)):
        return SimulationPlan()
    if experiment.simulates_everywhere:
        return SimulationPlan(USUAL_OPERATIONS)
    return SimulationPlan() if processor_counts() else SimulationPlan(USUAL_OPERATIONS, PATIENCE_S)


def announcement(experiment: Experiment) -> str:
    """Return in words that events are simulated without a request, and how to prevent it; else ""."""
    events = simulation_plan(experiment)
    if events.patience_s is None:
        return ""
    why = "this processor counts no events"
    if shutil.which("valgrind") is None:
        return f"{why}, and {_NO_VALGRIND}"
    alone = [experiment.settings(condition)["threads"] == 1 for condition in experiment.conditions()]
    if not any(alone):
        return f"{why}, and valgrind simulates them for one thread alone"
    return (
        f"{why}: valgrind simulates them, {events.operations:,} operations of each trial"
        f"{'' if all(alone) else ' with one thread'} ([simulate] operations = 0: none)"
    )


_NO_VALGRIND = "valgrind is not installed; install it (Debian's package valgrind)"


Attempt = Callable[[Binary, Mapping[str, Any], float], tuple[Status, str, dict[str, Any] | None]]
"""Runs a program with a request and a time-out, in the surroundings of the trial: status, reason, result."""


def simulate(
    trial: PlannedTrial, operations: int, binary: Binary, attempt: Attempt, patience_s: float | None = None
) -> Simulation:
    """Simulate the events of a trial; if that is impossible, the result has the reason.

    Args:
        trial: the trial; its request names the events.
        operations: number of operations to perform.
        binary: the program of its process.
        attempt: runs the program.
        patience_s: seconds after which a run is given up; None: when it must be stuck.
    """
    began = time.monotonic()
    timeout_s = _SLOWDOWN * trial.timeout_s if patience_s is None else patience_s
    names = [name_of(event) for event in trial.request["events"]]
    unavailable = {
        name: "valgrind does not simulate it" for name in names if name not in {**_BY_CACHES, **_BY_TLBS}
    }
    counts: dict[str, int] = {}
    performed = 0.0
    for by, options in ((_BY_CACHES, _CACHES), (_BY_TLBS, _TLBS)):
        requested = [name for name in names if name in by]
        if not requested:
            continue
        try:
            totals, performed = _collected(
                trial,
                operations,
                binary,
                options,
                lambda under, request: attempt(under, request, timeout_s),
                from_start=not _OF_LAST_LEVEL.isdisjoint(requested),
            )
        except (_NotSimulatedError, CannotStartError) as problem:
            unavailable |= dict.fromkeys(requested, str(problem))
        else:
            counts |= {name: sum(totals[event] for event in by[name]) for name in requested}
    return Simulation(performed, counts, unavailable, time.monotonic() - began)


def _collected(
    trial: PlannedTrial,
    operations: int,
    binary: Binary,
    options: Sequence[str],
    attempt: Callable[[Binary, Mapping[str, Any]], tuple[Status, str, dict[str, Any] | None]],
    *,
    from_start: bool,
) -> tuple[dict[str, int], float]:
    """Return what callgrind collected in the measured interval, and the operations in it.

    Raises:
        _NotSimulatedError, CannotStartError: nothing was collected.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise _NotSimulatedError(_NO_VALGRIND)
    request = _shortened(trial.request, operations)
    with Temporary("assay-simulate-") as temporary:
        counted = temporary.folder / "callgrind.out"
        under = (
            "--tool=callgrind",
            f"--instr-atstart={'yes' if from_start else 'no'}",
            "--collect-atstart=no",
            "--cache-sim=yes",
            "--branch-sim=yes",
            *options,
            f"--callgrind-out-file={counted}",
        )
        under_valgrind = Binary(valgrind, (*under, binary.program, *binary.arguments), binary.measured)
        status, reason, result = attempt(under_valgrind, request)
        if status != "valid" or result is None:
            raise _NotSimulatedError(f"its run under valgrind was {status.replace('_', ' ')}: {reason}")
        text = counted.read_text(encoding="utf-8", errors="replace") if counted.exists() else ""
    lines = dict(re.findall(r"^(events|totals): (.*)", text, re.MULTILINE))
    totals = dict(
        zip(lines.get("events", "").split(), map(int, lines.get("totals", "").split()), strict=True)
    )
    if not totals.get("Ir"):
        raise _NotSimulatedError(
            "the program marks no measured interval for valgrind: it was built where valgrind's headers were"
            " missing, or has no meter of Assay's; install valgrind and build it again"
        )
    performed = _performed(result)
    if not performed:
        raise _NotSimulatedError("the program does not say how many operations it performed")
    return totals, performed


def _shortened(request: Mapping[str, Any], operations: int) -> dict[str, Any]:
    """Return the request of a trial that ends after this many operations, and as many to warm up.

    Raises:
        _NotSimulatedError: its operations would not be those of the trial.
    """
    if request["threads"] > 1:
        raise _NotSimulatedError(
            "valgrind runs one thread at a time on one processor, and what threads do to each other's caches"
            " would be missing; ask for one thread"
        )
    if "arrivals" in request or any("arrivals" in role for role in request.get("roles", ())):
        raise _NotSimulatedError("threads spin until an operation arrives, which would be counted")
    short = {
        name: value for name, value in request.items() if name not in {"events", "warm_up_ms", "latency"}
    }
    if "key_range" not in request:  # a fixture: one iteration, so that the clock is read around all
        once = {"iterations": 1, "batch": operations}
        return short | {"parameters": request.get("parameters", {}) | once}
    if "array" in request.get("engine", {}):
        longest = _LONGEST_ARRAY * 2 * operations
        short["engine"] = request["engine"] | {"array": min(request["engine"]["array"], longest)}
    # Neither may depend on the time that passes, which is long: each batch and interval costs instructions.
    fixed = {"batch": request.get("batch", _LARGEST_BATCH), "interval_ms": _LONGEST_INTERVAL_MS}
    return short | fixed | {"operations": [[operations, operations]]}


def _performed(result: Mapping[str, Any]) -> float:
    """Return the number of operations in a result: those of its threads, or the calls of a fixture."""
    threads = result.get("threads")
    if threads:
        counts = [counts for thread in threads for counts in thread.get("operations", {}).values()]
        return float(sum(count["attempted"] for count in counts))
    metrics = result["metrics"]
    return float(metrics.get("iterations", 0) * metrics.get("batch", 0))
