"""Finds the native programs and asks them what they can do."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from assay.errors import AssayError

_BUILT = Path(__file__).parents[2] / "build" / "release" / "bin"


def find(name: str) -> Path:
    """Return the absolute path of a native program such as `assay-trial`.

    Where the environment variable ASSAY_PROGRAMS is set, only the folder that it names is searched; else
    the place where `make build` puts programs, then the PATH.

    Raises:
        AssayError: it is nowhere.
    """
    given = os.environ.get("ASSAY_PROGRAMS")
    places = [given] if given else [str(_BUILT), os.environ.get("PATH", os.defpath)]
    for place in places:
        found = shutil.which(name, path=place)
        if found:
            return Path(found).resolve()
    where = f"in {given}, which ASSAY_PROGRAMS names" if given else f"in {_BUILT} or on the PATH"
    raise AssayError(f"the program {name} is not {where}; run make build")


def subjects(program: Path) -> dict[str, int | None]:
    """Ask a native program which subjects it has.

    Returns:
        Subject -> the most threads that it can run with, None where it sets no limit.

    Raises:
        AssayError: the program does not answer.
    """
    try:
        answer = subprocess.run([program, "--list"], capture_output=True, check=True, timeout=60)  # noqa: S603
        return {entry["name"]: entry["max_threads"] for entry in json.loads(answer.stdout)}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise AssayError(f"{program} --list does not answer ({error}); run make build") from error
