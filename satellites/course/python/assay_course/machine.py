"""What a lesson needs of the machine that runs it."""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping

from assay import programs
from assay.errors import AssayError
from assay.experiment.flaws import PROGRAM
from assay.layout.link import lld
from assay.satellites import added


def _two_processors() -> str:
    return "" if len(os.sched_getaffinity(0)) >= 2 else "a second processor"


def _processor_0() -> str:
    return "" if 0 in os.sched_getaffinity(0) else "processor 0, to which its threads are pinned"


def _rdrand() -> str:
    try:
        engines = programs.engines(programs.find("assay-trial"))
    except AssayError:
        return "the program assay-trial (make build)"
    available = any(engine["name"] == "rdrand" and engine["available"] for engine in engines)
    return "" if available else "a processor with RDRAND"


def _flaws() -> str:
    try:
        programs.find(PROGRAM)
    except AssayError:
        return f"the program {PROGRAM} (make build)"
    return ""


def _command(name: str) -> Callable[[], str]:
    return lambda: "" if shutil.which(name) else f"the command {name}"


def _lld() -> str:
    return "" if lld() else "the linker lld"


def _other_tools() -> str:
    return "" if added("assay_course.samples") else "the satellite assay-foreign"


NEEDS: Mapping[str, Callable[[], str]] = {
    "cc": _command("cc"),
    "flaws": _flaws,
    "lld": _lld,
    "other tools": _other_tools,
    "processor 0": _processor_0,
    "rdrand": _rdrand,
    "two processors": _two_processors,
    "valgrind": _command("valgrind"),
}
"""What may be needed -> what to ask; its answer names what this machine lacks, and is empty otherwise."""


def lacking(needs: Iterable[str]) -> list[str]:
    """Return what this machine lacks of what a lesson needs, in words."""
    return [missing for need in needs if (missing := NEEDS[need]())]
