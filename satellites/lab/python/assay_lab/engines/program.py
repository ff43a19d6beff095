"""Asks `assay-engines` which engines there are, and lets it draw from them and count."""

import json
import subprocess
from pathlib import Path
from typing import Any, Literal

from assay import programs
from assay.errors import AssayError
from assay_lab.engines.types import Counts, Engine

PROGRAM = "assay-engines"

Part = Literal["bits", "keys", "streams", "seeds", "speed"]


def known() -> list[Engine]:
    """Return every engine, the default first.

    Raises:
        AssayError: the program is missing, or of another version.
    """
    try:
        return [Engine(**description) for description in json.loads(_run("--list"))]
    except (TypeError, ValueError) as error:
        raise AssayError(f"{PROGRAM} --list does not answer ({error}); {programs.REMEDY}") from error


def count(name: str, *, numbers: int, seed: int, reseed_every: int | None, parts: tuple[Part, ...]) -> Counts:
    """Draw from an engine and count.

    Args:
        name: of the engine.
        numbers: how many to draw, 1,000 to 1,000,000,000.
        seed: from which all streams come.
        reseed_every: numbers between two draws of new entropy, if there are to be any.
        parts: what to count.

    Raises:
        AssayError: the program refuses, fails, or is missing.
    """
    engine: dict[str, Any] = {"name": name}
    if reseed_every is not None:
        engine["reseed_every"] = reseed_every
    request = {"protocol": 1, "engine": engine, "seed": seed, "numbers": numbers, "parts": sorted(parts)}
    counts: Counts = json.loads(_run(given=json.dumps(request)))
    return counts


def count_file(file: Path, *, bits: int, numbers: int) -> Counts:
    """Count what a file holds: numbers of 32 or 64 bits, the lowest byte first.

    Raises:
        AssayError: the program refuses, fails, or is missing.
    """
    engine = {"file": str(file), "bits": bits}
    request = {"protocol": 1, "engine": engine, "seed": 0, "numbers": numbers, "parts": ["bits", "keys"]}
    counts: Counts = json.loads(_run(given=json.dumps(request)))
    return counts


def _run(*arguments: str, given: str = "") -> str:
    program = programs.find(PROGRAM)
    try:
        ended = subprocess.run(  # noqa: S603
            [program, *arguments], input=given, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise AssayError(f"{program} cannot be run ({error.strerror}); {programs.REMEDY}") from error
    if ended.returncode == 0:
        return ended.stdout
    message = ended.stderr.strip().removeprefix("error: ")
    raise AssayError(f"{PROGRAM}: {message or f'ended with {ended.returncode}'}")
