"""Reads which functions called which, and how often, from callgrind's profiles."""

import re
from collections import Counter
from pathlib import Path

from assay.errors import AssayError
from assay.words import printable

_NAME = re.compile(r"\((\d+)\)(?: (.*))?$")
"""A name that is compressed: its number, and at its first place what it is."""


def read_calls(path: Path) -> list[tuple[str, str, int]]:
    """Return callers, callees and how many calls there were, over all parts of a profile.

    Raises:
        AssayError: it cannot be read, or is not a whole profile of callgrind.
    """
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        raise AssayError(f"{printable(str(path))}: cannot be read: {error.strerror}") from None
    if not any(line.startswith(("creator: callgrind", "events: ")) for line in lines[:20]):
        raise AssayError(
            f"{printable(str(path))}: is not a profile of callgrind, which valgrind --tool=callgrind writes"
        )
    if not any(line.startswith(("totals:", "summary:")) for line in lines):
        raise AssayError(f"{printable(str(path))}: is truncated; run callgrind again")
    names: dict[str, str] = {}
    calls: Counter[tuple[str, str]] = Counter()
    caller = callee = ""
    for line in lines:
        key, _, value = line.partition("=")
        if key in {"fn", "cfn"}:
            found = _NAME.match(value)
            if found and found[2]:
                names[found[1]] = found[2]
            # A function that calls itself has a name for each depth: f'2.
            name = (names.get(found[1], "") if found else value).partition("'")[0]
            caller, callee = (name, callee) if key == "fn" else (caller, name)
        elif key == "calls":
            number = value.partition(" ")[0]
            calls[caller, callee] += int(number) if number.isdigit() else 0
    return [(one, other, times) for (one, other), times in calls.items()]
