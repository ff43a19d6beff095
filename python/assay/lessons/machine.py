"""What a lesson needs of the machine that runs it."""

import os
from collections.abc import Callable, Iterable, Mapping

from assay import programs
from assay.errors import AssayError
from assay.experiment.flaws import PROGRAM


def _two_processors() -> str:
    return "" if len(os.sched_getaffinity(0)) >= 2 else "a second processor"


def _rdrand() -> str:
    engines = programs.engines(programs.find("assay-trial"))
    available = any(engine["name"] == "rdrand" and engine["available"] for engine in engines)
    return "" if available else "a processor with RDRAND"


def _flaws() -> str:
    try:
        programs.find(PROGRAM)
    except AssayError:
        return f"the program {PROGRAM} (make build)"
    return ""


NEEDS: Mapping[str, Callable[[], str]] = {
    "flaws": _flaws,
    "rdrand": _rdrand,
    "two processors": _two_processors,
}
"""What may be needed -> what to ask; its answer names what this machine lacks, and is empty otherwise."""


def lacking(needs: Iterable[str]) -> list[str]:
    """Return what this machine lacks of what a lesson needs, in words."""
    return [missing for need in needs if (missing := NEEDS[need]())]
