"""Reads the weights of empirical distributions, and proves a file the same by a digest of its bytes."""

import math
import re
import stat
from pathlib import Path

from assay.experiment.lines import KeyPath
from assay.experiment.mistakes import MistakeError
from assay.experiment.types import Experiment
from assay.experiment.workload import files_of

_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LARGEST_FILE = 2**22  # bytes; a quarter of a million weights of 16 digits, whose digest takes half a second


def read_digests(experiment: Experiment) -> dict[str, str]:
    """Check every file of weights that an experiment names; return file -> digest of its bytes.

    Raises:
        MistakeError: one cannot be read, or holds what is not a weight.
    """
    digests: dict[str, str] = {}
    for at, settings in experiment.tables():
        for inside, distribution in files_of(settings):
            file = distribution["file"]
            if file not in digests:
                key = (*at, *inside, "file")
                data = _read(key, Path(file))
                if why := _mistake(data):
                    raise MistakeError(key, f"{file}{why}")
                digests[file] = digest(data)
    return digests


def digest(data: bytes) -> str:
    """Return the 64-bit FNV-1a of bytes, as requests write it (Fowler, Noll and Vo; RFC 9923)."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"0x{value:016x}"


def _read(at: KeyPath, file: Path) -> bytes:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise MistakeError(at, f"{file} is not a regular file; name a text of weights, one a line")
        with file.open("rb") as opened:
            data = opened.read(_LARGEST_FILE + 1)
    except OSError as error:
        why = f"there is no file {file} to be read ({error.strerror}); name a text of weights, one a line"
        raise MistakeError(at, why) from error
    if len(data) > _LARGEST_FILE:
        raise MistakeError(at, f"{file} is larger than 4 MiB; give fewer weights")
    return data


def _mistake(data: bytes) -> str:
    """Say why a text holds no weights, beginning with the line if there is one; empty where it does."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        return ": is not text; write one weight a line"
    total, count = 0.0, 0
    for number, padded in enumerate(lines, 1):
        line = padded.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        weight = float(line) if _NUMBER.fullmatch(line) else math.nan
        if not math.isfinite(weight):
            return f":{number}: {line[:40]!r} is not a number; write one weight a line"
        if weight < 0:
            return f":{number}: the weight {line} is negative; write 0 or more"
        total += weight
        count += 1
    if not count:
        return ": holds no weights; write one a line"
    return "" if total > 0 else ": every weight is 0, so that no key could be drawn; write one above 0"
