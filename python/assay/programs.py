"""Finds the native programs and reads what they can do."""

import contextlib
import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from assay.errors import AssayError

_ROOT = Path(__file__).parents[2]
_IS_CHECKOUT = (_ROOT / "CMakePresets.json").is_file()
_BUILT = _ROOT / "build" / "release" / "bin" if _IS_CHECKOUT else Path(__file__).parent / "bin"
"""The folder in which `make build`, or a wheel, puts programs."""

REMEDY = (
    "run make build"
    if _IS_CHECKOUT
    else "run make build in a checkout of Assay, and name its build/install/bin in ASSAY_PROGRAMS"
)
"""How to get a program that is missing."""


def find(name: str) -> Path:
    """Return the absolute path of a native program such as `assay-trial`.

    Where the environment variable ASSAY_PROGRAMS is set, only the folder that it names is searched; else
    the place where `make build` puts programs, or where a wheel has them, then the PATH.

    Raises:
        AssayError: it is not there.
    """
    given = os.environ.get("ASSAY_PROGRAMS")
    places = [given] if given else [str(_BUILT), os.environ.get("PATH", os.defpath)]
    for place in places:
        program = shutil.which(name, path=place)
        if program:
            return Path(program).resolve()
    where = f"in {given}, which ASSAY_PROGRAMS names" if given else f"in {_BUILT} or on the PATH"
    raise AssayError(f"the program {name} is not {where}; {REMEDY}")


def further_subjects() -> str:
    """Return how to get the subjects that `make quickstart` left out; "" if it left none out."""
    with contextlib.suppress(OSError):
        settings = (_BUILT.parent / "CMakeCache.txt").read_text(encoding="utf-8")
        if re.search("^ASSAY_ONLY_SUBJECTS:STRING=.", settings, re.M):
            return "; make build builds further subjects"
    return ""


def listing(program: Path) -> list[dict[str, Any]]:
    """List the subjects of a native program.

    Returns:
        For each its `name`, a `description`, its `structure` (map, multimap or queue), `max_threads` (the
        most that it can run with, None where it sets no limit), the `types` of key and value that it can
        hold, the `operations` that it offers, whether it `holds_nothing`, and how it
        `reclaims` what was erased, "" where it does not say.

    Raises:
        AssayError: the program does not answer.
    """
    keys = (
        "name",
        "description",
        "structure",
        "max_threads",
        "types",
        "operations",
        "holds_nothing",
        "reclaims",
    )
    return _ask(program, "--list", keys)


def engines(program: Path) -> list[dict[str, Any]]:
    """List the random engines of a native program.

    Returns:
        For each its `name`, a `description`, its `state_bits`, whether it is `available` here, and whether
        its state is `shared` by all threads.

    Raises:
        AssayError: the program does not answer.
    """
    return _ask(program, "--engines", ("name", "description", "state_bits", "available", "shared"))


def events(program: Path) -> list[str]:
    """List the events that libpfm knows on this machine.

    Raises:
        AssayError: the program does not answer.
    """
    return [str(name) for name in _answer(program, "--events")]


def entropy(program: Path) -> list[str]:
    """List where new seeds of an engine can come from on this machine, besides other engines.

    Raises:
        AssayError: the program does not answer.
    """
    return [str(name) for name in _answer(program, "--entropy")]


def transactions(program: Path) -> dict[str, str]:
    """Return which transactions a native program has on this machine.

    Returns:
        Their `name`; where that is `none`, `because` says why.

    Raises:
        AssayError: the program does not answer.
    """
    return dict(_answer(program, "--transactions"))


def _ask(program: Path, option: str, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    try:
        return [{key: entry[key] for key in keys} for entry in _answer(program, option)]
    except (KeyError, TypeError) as error:
        raise AssayError(f"{program} {option} does not answer ({error}); {REMEDY}") from error


def file_state(program: Path) -> tuple[object, ...]:
    """Return what an answer of a program depends on: while it stays equal, the program need not run again."""
    with contextlib.suppress(OSError):
        state = program.stat()
        return program, state.st_ino, state.st_size, state.st_mtime_ns, frozenset(os.environ.items())
    return (program,)


def _answer(program: Path, option: str) -> Any:
    return json.loads(_answered(program, option, file_state(program)))


@cache
def _answered(program: Path, option: str, _state: tuple[object, ...]) -> bytes:
    """Return the JSON that a program prints. It runs once: each command needs the same answers many times."""
    try:
        answer = subprocess.run([program, option], capture_output=True, timeout=60)  # noqa: PLW1510, S603
    except (OSError, subprocess.SubprocessError) as error:
        raise AssayError(f"{program} {option} does not answer ({error}); {REMEDY}") from error
    if answer.returncode != 0 and (said := answer.stderr.decode(errors="replace").strip()):
        raise AssayError(f"{program} {option} says: {said}")
    try:
        json.loads(answer.stdout)
    except ValueError as error:
        ended = f"exit code {answer.returncode}" if answer.returncode else error
        raise AssayError(f"{program} {option} does not answer ({ended}); {REMEDY}") from error
    return answer.stdout


def install_prefix() -> Path | None:
    """Return the prefix under which CMake finds the package `assay`, if it is installed where we look.

    That is where `make build` installs it, or else where the trial program is installed.
    """
    prefixes = [_ROOT / "build" / "install"]
    with contextlib.suppress(AssayError):
        prefixes.append(find("assay-trial").parents[1])
    package = "lib*/**/cmake/assay/assay-config.cmake"
    return next((prefix for prefix in prefixes if any(prefix.glob(package))), None)
