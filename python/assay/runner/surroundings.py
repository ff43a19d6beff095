"""The surroundings of a trial's process: a scheduling class, load, a governor, locked memory."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import programs
from assay.errors import AssayError
from assay.host.journal import journal_folder
from assay.host.priority import allowed
from assay.host.settings import REAL_TIME_SHARE, Setting, governor, highest_priority
from assay.host.system import System
from assay.host.tune import tuned
from assay.runner.elf import is_static
from assay.runner.process import CannotStartError

_LOCKS_MEMORY = "libassay_lock_memory.so"
_UNCHANGED = {None, "as_found"}


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of one process.

    Attributes:
        command: the words of the command that starts it in these surroundings.
        preload: the library that it loads first; empty for none.
        state: name of a setting of the host -> its value for the process.
    """

    command: Sequence[str] = ()
    preload: str = ""
    state: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def surrounded(
    requested: Mapping[str, Any], program: Path, timeout_s: float, system: System
) -> Iterator[Surroundings]:
    """Provide the surroundings in a trial's settings while its process runs; then restore the host.

    Args:
        requested: the trial's settings that are in `SURROUNDINGS`.
        program: the program that it runs.
        timeout_s: seconds after which it is killed; the kernel itself ends a real-time process that held a
            processor for this long, as nothing else may run meanwhile.
        system: this machine.

    Raises:
        CannotStartError: this machine or this user cannot provide it.
    """
    command: list[str] = []
    state: dict[str, str] = {}
    if scheduling := requested.get("scheduling"):
        words, state["scheduling"] = _scheduling(scheduling, timeout_s)
        command += words
    if io_class := requested.get("io_priority"):
        words = ["ionice", "--class", io_class.replace("_", "-")]
        words += [] if io_class == "idle" else ["--classdata", "0"]
        _check("io_priority", io_class, words)
        command += words
        state["io-priority"] = io_class.replace("_", "-") + ("" if io_class == "idle" else " 0")
    preload = ""
    if requested.get("memory_locked"):
        preload, state["memory-lock"] = _lock_of(program), "locked"
    with ExitStack() as held:
        if settings := _host_settings(requested, system):
            try:
                held.enter_context(tuned(system, journal_folder(), _fail, settings))
            except AssayError as error:
                raise CannotStartError(str(error)) from error
            for setting in settings:
                state[setting.name] = setting.words(setting.read(system))
        if load := requested.get("busy_processes"):
            held.enter_context(_busy(load))
            state["load"] = f"{load} busy"
        yield Surroundings(command, preload, state)


def _scheduling(name: str, timeout_s: float) -> tuple[list[str], str]:
    """Return the words that start a process in a scheduling class, and the name of the class."""
    if name in {"fifo", "rr"}:
        priority = str(max(highest_priority(), 1))
        words = ["chrt", f"--{name}", priority]
        _check("scheduling", name, words)
        return ["prlimit", f"--rttime={int(timeout_s * 1e6)}", *words], f"{name} {priority}"
    words = ["chrt", f"--{name}", "0"]
    _check("scheduling", name, words)
    return words, name


def _check(setting: str, value: str, words: Sequence[str]) -> None:
    if not allowed(*words):
        raise CannotStartError(
            f"{setting} = {value} is not permitted here: run as root, or see docs/guide/host.md"
        )


def _lock_of(program: Path) -> str:
    """Return the library that locks a program's memory when it is loaded."""
    library = programs.find("assay-meter").with_name(_LOCKS_MEMORY)
    if not library.is_file():
        raise CannotStartError(f"memory_locked: {library} is not there; {programs.REMEDY}")
    if is_static(program):
        raise CannotStartError(
            f"memory_locked: {program} is linked statically, so that nothing can be loaded into it"
        )
    return str(library)


def _host_settings(requested: Mapping[str, Any], system: System) -> list[Setting]:
    settings: list[Setting] = []
    if requested.get("frequency_governor") not in _UNCHANGED:
        settings.append(governor(requested["frequency_governor"]))
    if requested.get("real_time_share") not in _UNCHANGED:
        settings.append(REAL_TIME_SHARE)
    for setting in settings:
        if not setting.read(system):
            raise CannotStartError(f"{setting.name} cannot be set on this machine: {setting.lacking}")
    return settings


def _fail(line: str) -> None:
    raise CannotStartError(line)


@contextmanager
def _busy(number: int) -> Iterator[None]:
    """While entered, some processes each keep a processor busy; they die with this process."""
    shell = shutil.which("sh") or "/bin/sh"
    words = ["setpriv", "--pdeathsig", "KILL", shell, "-c", "while :; do :; done"]
    processes = [subprocess.Popen(words, stdin=subprocess.DEVNULL) for _ in range(number)]  # noqa: S603
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
