"""Finds the allocators that trials run with: the C library's own, and those that are loaded before it."""

from collections.abc import Mapping
from ctypes.util import find_library
from functools import cache
from typing import Any

from assay.experiment.source import Source
from assay.experiment.types import Experiment
from assay.runner.process import CannotStartError

_OF_THE_C_LIBRARY = "glibc"
_PACKAGES = {"jemalloc": "libjemalloc2", "mimalloc": "libmimalloc2.0"}  # of Debian


@cache
def library_of(allocator: str) -> str:
    """Return the name by which the dynamic linker finds an allocator, empty for the C library's own.

    Raises:
        CannotStartError: it is not installed, or not one that is known.
    """
    if allocator == _OF_THE_C_LIBRARY:
        return ""
    if allocator not in _PACKAGES:
        known = ", ".join([_OF_THE_C_LIBRARY, *_PACKAGES])
        raise CannotStartError(f'there is no allocator "{allocator}"; there are {known}')
    library = find_library(allocator)
    if library is None:
        remedy = f"apt-get install {_PACKAGES[allocator]}"
        raise CannotStartError(f"the allocator {allocator} is not installed; {remedy}")
    return library


def check_allocators(experiment: Experiment) -> None:
    """Check that every allocator that trials are to run with is installed, and can be verified.

    Raises:
        AssayError: one is not, or is asked for a command, which cannot say which one it got.
    """
    source = Source(experiment.path, experiment.source)
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        allocator, subject = settings.get("allocator"), settings["subject"]
        if allocator is None:
            continue
        where = source.origin(experiment, condition, "allocator")
        program = experiment.programs.get(subject)
        if program is not None and program.extract != "protocol":
            why = (
                f"{subject} is a command, which cannot say which allocator it got; leave it to the command, "
                f'as in program = "env", arguments = ["LD_PRELOAD=...", ...]'
            )
            raise source.mistake(where, why)
        try:
            library_of(allocator)
        except CannotStartError as error:
            raise source.mistake(where, str(error)) from error


def other_allocator(request: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Say what is wrong with the allocator by a trial's own account; nothing if it is that asked for."""
    asked = request.get("allocator")
    if asked is None:
        return ""
    try:
        found = result["environment"]["allocator"]["name"]
    except (KeyError, TypeError):
        return f"the allocator was to be {asked}, but the result's environment names none"
    return "" if found == asked else f"the allocator was to be {asked}, but the result says {found}"
