"""The priority and the processors of a trial. They end with its process: nothing has to be restored."""

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
    """The priority and the processors of a process.

    Attributes:
        command: the words of the command that starts it with these.
        state: name of a setting -> its value for this process.
    """

    command: Sequence[str] = ()
    state: Mapping[str, str] = field(default_factory=dict)


AS_STARTED = Priority()
"""The same priority and processors as the parent process."""


def started(system: System, request: Mapping[str, Any], real_time_s: float | None = None) -> Priority:
    """Return how a trial is started: on processors kept free for trials, at the highest allowed priority.

    Args:
        system: the machine.
        request: the trial's request, with its threads and their pinning.
        real_time_s: seconds after which the trial is killed; None: it runs at normal priority.
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

    A trial that needs more processors, or is pinned to others, runs on all, with everything else.

    Args:
        system: the machine.
        request: the trial's request, with its threads and their pinning.
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

    That is SCHED_FIFO, unless its threads must share processors: of two such threads on one processor, the
    first runs until it waits, and if it spins for the second, it runs for ever. The threads include the main
    thread of a map's trial, which sleeps until it has to stop the others. The kernel ends a trial that holds
    a processor for longer than its time-out, as nothing else may run meanwhile.

    Args:
        request: the trial's request, with its threads and their pinning.
        timeout_s: seconds after which the trial is killed.
        processors: number of processors that it may use if it does not name them.
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
    """Return whether a process may be started with this command; containers forbid some even to root."""
    try:
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


@contextmanager
def awake() -> Iterator[str]:
    """While entered, processors sleep only in states that they leave at once; yield why not, or "".

    The kernel keeps it so while a process has a file open, so that it ends with us, however we end.
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
