"""At which priority a trial runs. It ends with the process: nothing has to be put back."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from assay.host.settings import highest_priority
from assay.host.system import root_script

_LATENCY = Path("/dev/cpu_dma_latency")


@dataclass(frozen=True)
class Priority:
    """At which priority a process runs.

    Attributes:
        command: the words of the command that starts it so.
        state: name of a setting -> what it is for this process.
    """

    command: Sequence[str] = ()
    state: Mapping[str, str] = field(default_factory=dict)


AS_STARTED = Priority()
"""That of the process that starts it."""


def of_trial(request: Mapping[str, Any], timeout_s: float) -> Priority:
    """Return the highest priority that is allowed for a trial.

    That is SCHED_FIFO, unless its threads would have to share processors: of two such threads on one
    processor, the first runs until it waits, and if it spins for the second that is for ever. The kernel ends
    a trial that has held a processor for longer than its time-out, as nothing else may run meanwhile.

    Args:
        request: what it is asked: its threads and their pinning.
        timeout_s: after how many seconds it would be killed.
    """
    threads, pinning = request["threads"], request["pinning"]
    usable = len(set(pinning)) if isinstance(pinning, list) else len(os.sched_getaffinity(0))
    words: list[str] = []
    state: dict[str, str] = {}
    fifo = ("chrt", "--fifo", str(highest_priority()))
    if threads <= usable and _allowed(*fifo):
        words += ["prlimit", f"--rttime={int(timeout_s * 1e6)}", *fifo]
        state["scheduling"] = f"fifo {highest_priority()}"
    for io_class in ("realtime", "best-effort"):
        if _allowed(*(io := ("ionice", "--class", io_class, "--classdata", "0"))):
            words += io
            state["io-priority"] = f"{io_class} 0"
            break
    return Priority(words, state)


@cache
def _allowed(*command: str) -> bool:
    """Return whether a process may be started so; containers forbid root what root may elsewhere."""
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
