"""What this machine has, for experiments to be checked against."""

import os
import platform

from pydantic import TypeAdapter

from assay import programs
from assay.experiment import EngineOffer, Machine, SubjectOffer
from assay.runner.allocators import ALLOCATORS, library_of
from assay.runner.process import CannotStartError


def present_machine() -> Machine:
    """Return what subjects, engines, allocators, processors and memory there are here.

    Raises:
        AssayError: `assay-trial` is not there, or does not answer.
    """
    trial = programs.find("assay-trial")
    return Machine(
        subjects=TypeAdapter(dict[str, SubjectOffer]).validate_python(
            {entry["name"]: entry for entry in programs.listing(trial)}
        ),
        engines=TypeAdapter(dict[str, EngineOffer]).validate_python(
            {entry["name"]: entry for entry in programs.engines(trial)}
        ),
        processors=frozenset(os.sched_getaffinity(0)),
        memory_limit_mb=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 * 3 // 4,
        allocators={allocator: _missing(allocator) for allocator in ALLOCATORS},
    )


def host() -> dict[str, object]:
    """Return what the laboratory itself knows of the machine: `processors` are those that it may use."""
    return {"name": platform.node(), "processors": len(os.sched_getaffinity(0)), "kernel": platform.release()}


def _missing(allocator: str) -> str:
    """Return why an allocator cannot be loaded, with a remedy; empty if it can."""
    try:
        library_of(allocator)
    except CannotStartError as error:
        return str(error)
    return ""
