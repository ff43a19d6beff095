"""Training files: what a machine's training measured, with its fingerprint and a checksum."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.files import write
from assay.host.system import ONLINE, System
from assay.host.threads import numbers

_VERSION = 1
_MOST = 100


def numbers_of_processors(system: System, machine: dict[str, Any]) -> list[int]:
    """Return for how many processors to train: 1, 2, 4 and so on, and all that are online."""
    all_of = {number for policy in machine["policies"] for number in policy["processors"]}
    if online := system.read(ONLINE):  # without it no processor can go
        all_of &= set(numbers(online))
    return sorted({len(all_of), *(1 << power for power in range(len(all_of).bit_length()))})


def save(file: Path, training: dict[str, Any]) -> None:
    """Write a training, as `backend.train` returned it.

    Raises:
        AssayError: it cannot be written.
    """
    content = {"version": _VERSION, "machine": training["machine"], "measured": training["measured"]}
    write(file, json.dumps(content | {"checksum": _checksum(content)}, indent=1) + "\n")


def load(file: Path) -> dict[str, Any]:
    """Return the `machine` and what was `measured`; assay-govern checks each value.

    Raises:
        AssayError: it cannot be read, or is damaged.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise AssayError(
            f"the training {file} cannot be read: {why}; write one: assay-governor train"
        ) from error
    damaged = AssayError(f"the training {file} is damaged: train again with `assay-governor train`")
    try:
        content = json.loads(text)
        checksum = content.pop("checksum")
        version = content["version"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise damaged from error
    if checksum != _checksum(content):
        raise damaged
    if version != _VERSION:
        raise AssayError(f"the training {file} is of another version of Assay: train again")
    return {"machine": content["machine"], "measured": content["measured"]}


def exponent(objective: str) -> float:
    """Return N of an objective: E is 0, ED 1, ED2 2, and ED^N any N above 0.

    Raises:
        AssayError: it is none of these.
    """
    if objective in {"E", "ED"}:
        return len(objective) - 1
    found = re.fullmatch(r"ED\^?(-?[0-9]+(?:\.[0-9]+)?)", objective)
    if not found:
        raise AssayError(
            f"--optimize: no such objective: {objective}; give E, ED, ED2, or ED^N such as ED^1.5"
        )
    value = float(found[1])
    if not 0 < value <= _MOST:
        raise AssayError(
            f"--optimize: the exponent of {objective} must be above 0 and at most {_MOST}; energy alone is E"
        )
    return value


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
