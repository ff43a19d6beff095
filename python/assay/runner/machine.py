"""What this machine has; experiments are checked against it."""

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from assay import programs
from assay.errors import AssayError
from assay.experiment import EngineOffer, Machine, SubjectOffer
from assay.experiment.flaws import PROGRAM as PITFALLS
from assay.host.joules import joules_so_far
from assay.host.system import System
from assay.runner.allocators import ALLOCATORS, library_of
from assay.runner.process import CannotStartError

_ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h


def present_machine() -> Machine:
    """Return the subjects, engines, allocators, processors and memory of this machine.

    Raises:
        AssayError: `assay-trial` is missing or does not answer.
    """
    trial = programs.find("assay-trial")
    transactions = programs.transactions(trial)
    return Machine(
        subjects=TypeAdapter(dict[str, SubjectOffer]).validate_python(
            {entry["name"]: entry for entry in programs.listing(trial)}
        ),
        engines=TypeAdapter(dict[str, EngineOffer]).validate_python(
            {entry["name"]: entry for entry in programs.engines(trial)}
        ),
        processors=frozenset(os.sched_getaffinity(0)),
        memory_limit_mb=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 * 3 // 4,
        flawed_subjects=_flawed_subjects(),
        entropy=frozenset(programs.entropy(trial)),
        transactions=transactions["name"],
        no_transactions=transactions.get("because", ""),
        allocators={allocator: _missing(allocator) for allocator in ALLOCATORS},
        events=frozenset(programs.events(trial)),
        random_addresses=_random_addresses(),
        fixed_addresses=_fixed_addresses(),
        counts_energy=bool(joules_so_far(System())),
    )


def host() -> dict[str, object]:
    """Return what Assay itself knows of the machine: `processors` are those that it may use."""
    return {"name": platform.node(), "processors": len(os.sched_getaffinity(0)), "kernel": platform.release()}


def machine_facts() -> dict[str, str]:
    """Return what may differ between machines that run the same programs: kernel, processor, microcode."""
    found = {"kernel": platform.release(), "machine": platform.machine()}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if (fact := {"model name": "processor", "microcode": "microcode"}.get(name.strip())) is not None:
                found.setdefault(fact, value.strip())
    return found


def _flawed_subjects() -> frozenset[str] | None:
    """Return the subjects of `assay-pitfalls`; None if it is not built, as after `make quickstart`."""
    try:
        program = programs.find(PITFALLS)
    except AssayError:
        return None
    return frozenset(entry["name"] for entry in programs.listing(program))


def _random_addresses() -> bool:
    """Return whether the kernel places the stacks and libraries of our processes at random."""
    try:
        level = int(Path("/proc/sys/kernel/randomize_va_space").read_text(encoding="ascii"))
        personality = int(Path("/proc/self/personality").read_text(encoding="ascii"), 16)
    except (OSError, ValueError):  # some containers hide them; the trial's record says how it was
        return True
    return level > 0 and not personality & _ADDR_NO_RANDOMIZE


@cache
def _fixed_addresses() -> bool:
    """Return whether processes can have fixed addresses; some containers forbid it."""
    try:
        return subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False).returncode == 0  # noqa: S607
    except OSError:
        return False


def _missing(allocator: str) -> str:
    """Return why an allocator cannot be loaded, with a remedy; empty if it can."""
    try:
        library_of(allocator)
    except CannotStartError as error:
        return str(error)
    return ""
