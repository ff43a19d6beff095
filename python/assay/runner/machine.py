"""What this machine has, for experiments to be checked against."""

import os
import platform

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
        subjects={
            subject["name"]: SubjectOffer(
                structure=subject["structure"],
                max_threads=subject["max_threads"],
                types=frozenset((key, value) for key, value in subject["types"]),
                operations=frozenset(subject["operations"]),
            )
            for subject in programs.listing(trial)
        },
        engines={
            engine["name"]: EngineOffer(engine["state_bits"], engine["available"], engine["shared"])
            for engine in programs.engines(trial)
        },
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
