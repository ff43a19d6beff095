"""At which priority and where a trial runs. It ends with the process: nothing has to be put back."""

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from assay.host.settings import free_processors, highest_priority
from assay.host.system import CPUSET, MEMBERS, System, root_script
from assay.host.threads import ranges

_LATENCY = Path("/dev/cpu_dma_latency")


@dataclass(frozen=True)
class Priority:
    """At which priority a process runs, and where.

    Attributes:
        command: the words of the command that starts it so.
        state: name of a setting -> what it is for this process.
    """

    command: Sequence[str] = ()
    state: Mapping[str, str] = field(default_factory=dict)


AS_STARTED = Priority()
"""That of the process that starts it."""


def started(system: System, request: Mapping[str, Any], real_time_s: float | None = None) -> Priority:
    """Return how a trial is started: where it is kept free for trials, at the highest priority allowed.

    Args:
        system: the machine.
        request: what it is asked: its threads and their pinning.
        real_time_s: after how many seconds it would be killed; None has it at the priority of others.
    """
    free = free_processors(system)
    placed = on_free_processors(system, request, free) if free else AS_STARTED
    if real_time_s is None:
        return placed
    processors = len(free or os.sched_getaffinity(0))
    priority = of_trial(request, real_time_s, processors)
    return Priority((*placed.command, *priority.command), {**placed.state, **priority.state})


def on_free_processors(system: System, request: Mapping[str, Any], free: Sequence[int]) -> Priority:
    """Return how a trial is started on processors that are kept free for trials (`isolation`).

    One that needs more of them, or is pinned to others, runs on all, with everything else.

    Args:
        system: the machine.
        request: what it is asked: its threads and their pinning.
        free: the processors.
    """
    threads, pinning = request["threads"], request["pinning"]
    fits = {*pinning} <= {*free} if isinstance(pinning, list) else threads <= len(free)
    by_group = system.read(CPUSET) is not None
    state = {} if fits else {"isolation": f"none: {ranges(list(free))} is too few for this trial"}
    if not by_group:
        return Priority(("taskset", "--cpu-list", ranges(list(free) if fits else system.usable())), state)
    command = root_script()
    if not fits or command is None:
        return Priority((), {"isolation": "none: that needs root"} | state)
    move = f'why=$(echo "{MEMBERS} $$" | {shlex.join(command)}) && [ -z "$why" ]'
    return Priority(("sh", "-c", f'{move} || {{ echo "$why" >&2; exit 1; }}; exec "$@"', "sh"))


def of_trial(request: Mapping[str, Any], timeout_s: float, processors: int) -> Priority:
    """Return the highest priority that is allowed for a trial.

    That is SCHED_FIFO, unless its threads would have to share processors: of two such threads on one
    processor, the first runs until it waits, and if it spins for the second that is for ever. One of them
    is the main thread of a map's trial, which sleeps until it has to stop the others. The kernel ends a
    trial that has held a processor for longer than its time-out, as nothing else may run meanwhile.

    Args:
        request: what it is asked: its threads and their pinning.
        timeout_s: after how many seconds it would be killed.
        processors: how many it may have, where it does not name them.
    """
    threads, pinning = request["threads"], request["pinning"]
    usable = len(set(pinning)) if isinstance(pinning, list) else processors
    all_threads = threads + ("key_range" in request)
    words: list[str] = []
    state: dict[str, str] = {}
    fifo = ("chrt", "--fifo", str(highest_priority()))
    if threads <= usable and all_threads <= processors and allowed(*fifo):
        words += ["prlimit", f"--rttime={int(timeout_s * 1e6)}", *fifo]
        state["scheduling"] = f"fifo {highest_priority()}"
    for io_class in ("realtime", "best-effort"):
        if allowed(*(io := ("ionice", "--class", io_class, "--classdata", "0"))):
            words += io
            state["io-priority"] = f"{io_class} 0"
            break
    return Priority(words, state)


@cache
def allowed(*command: str) -> bool:
    """Return whether a process may be started with these words; containers forbid root some of them."""
    try:
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


@contextmanager
def awake() -> Iterator[str]:
    """While entered, processors sleep only as deep as they wake from at once; what it gives says why not.

    The kernel admits that for as long as a process has a file open, so that it ends with us, however we end.
    """
    command = root_script()
    if not _LATENCY.exists() or command is None:
        yield "the kernel does not offer it" if command else "that needs root"
        return
    holder = subprocess.Popen(  # noqa: S603
        [*command, "hold-latency"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C is for us
    )
    assert holder.stdout is not None
    try:
        yield "" if holder.stdout.readline() else "the kernel refuses it"
    finally:
        holder.communicate()
