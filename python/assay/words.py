"""How numbers, lists and names are written wherever a person reads them."""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import is_dataclass
from datetime import datetime
from difflib import get_close_matches
from math import inf
from os import fspath
from typing import Any, Literal, TypeVar

Value = TypeVar("Value")

RUNS_AT_MOST = 5
"""The most runs of numbers that a sentence lists."""

QUOTED_AT_MOST = 200
"""The most characters that a message quotes of what somebody gave."""

MESSAGE_AT_MOST = 2000
"""The most characters of a line of a message."""

LINES_AT_MOST = 100
"""The most lines of a message."""

NAMES_AT_MOST = 10
"""The most names that a hint lists if none is near."""


SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
"""Unit of time -> seconds."""


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with this many digits, and a suffix if it is large: 12.35M.

    Beyond the suffixes it has a power of ten, as short as can be: 1.798e308, 5e-324.
    """
    if value is None:
        return "-"
    for scale, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if scale <= abs(value) < 1e15:
            return f"{value / scale:.{digits}g}{suffix}"
    return re.sub(r"e\+?(-?)0*", r"e\1", f"{value:.{digits}g}")


def ratio(value: float | None, digits: int = 3) -> str:
    """Return a ratio with this many digits after the point, fewer where it is large: 1.840, 12.30, 140."""
    if value is None:
        return "-"
    if value == inf:
        return "∞"
    if 100 <= value < 1e6:
        return f"{value:.0f}"
    if 0.1 <= value < 100:
        return f"{value:.{digits - (value >= 10)}f}"
    return number(value, digits)


def p_value(value: float | None) -> str:
    """Return a p-value with two digits that count, none below a ten-thousandth."""
    if value is None:
        return "-"
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def percent(share: float) -> str:
    """Return a share of 1 as a percentage with as many digits as it needs, three at most."""
    return f"{100 * share:.3g}%"


def whole_percent(share: float, sign: Literal["", "+"] = "") -> str:
    """Return a share of 1 in whole percent; an enormous one as a multiple."""
    if abs(share) < 1e4:
        return f"{share:{sign}.0%}"
    return f"{sign if share > 0 else ''}{number(share, 2)} times"


def in_percent(share: float) -> float:
    """Return a share of 1 in percent, short of where a double overflows."""
    return max(-sys.float_info.max, min(100 * share, sys.float_info.max))


def quantity(name: str, value: float) -> tuple[str, str]:
    """Return the name and the text of a number that a finding or a decision rests on, as in messages."""
    spoken = name.replace("_", " ")
    if name.endswith("_percent"):
        return spoken.removesuffix(" percent"), whole_percent(value / 100)
    return spoken, f"{number(value, 3)} times" if name.endswith("_ratio") else number(value)


def duration(seconds: float) -> str:
    """Return a length of time as roughly as an estimate of it is known."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} seconds"
    if seconds < 90 * 60:
        return f"about {seconds / 60:.0f} minutes"
    if seconds < 48 * 3600:
        return f"about {number(seconds / 3600, 2)} hours"
    if seconds <= 365 * 86400:
        return f"about {seconds / 86400:.0f} days"
    return "more than a year"


def elapsed(seconds: float) -> str:
    """Return a length of time that is over, as exactly as anybody reads it: 126 s, 3.1 s, 0.06 s."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{round(seconds, 1 if seconds >= 1 else 2):g} s"


def in_unit(value: float, unit: str, digits: int = 3) -> str:
    """Return a number with its unit, as people say it: 12 µs for 12,000 ns, 10.5M op/s, 3 MiB."""
    if unit in SECONDS:
        seconds = value * SECONDS[unit]
        shown = next((name for name in ("s", "ms", "µs") if abs(seconds) >= SECONDS[name]), "ns")
        return f"{number(seconds / SECONDS[shown], digits)} {shown}"
    if unit == "bytes":
        power = next((power for power in range(3) if value < 1000 * 1024**power), 3)
        return f"{number(value / 1024**power, digits)} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"
    return f"{number(value, digits)} {unit}".rstrip()


def counted(things: Sized | int, singular: str, plural: str = "") -> str:
    """Return a number of things: 1 condition, 2 conditions."""
    count = things if isinstance(things, int) else len(things)
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def agreed(things: Sized | int, singular: str, plural: str) -> str:
    """Return the form of a verb that agrees with a number of things: 1 of 3 verdicts rests, 2 of 3 rest."""
    return singular if (things if isinstance(things, int) else len(things)) == 1 else plural


def listed(parts: Sequence[str], conjunction: str = "and") -> str:
    """Return parts as in a sentence: `a, b and c`."""
    return f" {conjunction} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def listed_briefly(parts: Sequence[str], most: int = 4) -> str:
    """Return parts as in a sentence, and how many others there are, if not one: `a, b and 3 others`."""
    more = len(parts) - most
    return listed([*parts[:most], counted(more, "other")] if more > 1 else parts)


def runs(noun: str, numbers: Iterable[int]) -> str:
    """Return whole numbers in words, runs of them as such: `bits 0 to 3 and 7`."""
    ordered = sorted(set(numbers))
    consecutive: list[list[int]] = []
    for value in ordered:
        if consecutive and value == consecutive[-1][-1] + 1:
            consecutive[-1].append(value)
        else:
            consecutive.append([value])
    if len(consecutive) > RUNS_AT_MOST:
        return f"{len(ordered)} {noun}s from {ordered[0]} to {ordered[-1]}"
    parts: list[str] = []
    for run in consecutive:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
    return f"{noun}{'s' if len(ordered) > 1 else ''} {listed(parts)}"


def condition_name(levels: Mapping[str, object]) -> str:
    """Return what a condition or a context is called wherever a person reads it."""
    return ", ".join(f"{factor}={level}" for factor, level in levels.items()) or "the only context"


def shared(several: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """Return what all of several mappings have in common, whose names need not say it."""
    first, *others = several or [{}]
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def nearest(word: object, known: Sequence[object]) -> str:
    """Return a hint that names the known word most like the given one, or else the first of them."""
    names = [str(name) for name in known]
    close = get_close_matches(str(word), names, n=1)
    if close:
        meant = known[names.index(close[0])]
        # A number is not the string of its digits, which looks the same without quotes.
        return f"did you mean {meant if isinstance(meant, type(word)) else show(meant)}?"
    if len(names) == 1:
        return f"there is only {names[0]}"
    more = f" and {len(names) - NAMES_AT_MOST} more" if len(names) > NAMES_AT_MOST else ""
    return f"there are {', '.join(names[:NAMES_AT_MOST])}{more}" if names else "there are none"


def show(value: Any) -> str:
    """Return a value much as TOML writes it, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str))


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON: an infinity or NaN is null, a dataclass an object, a moment or path its text.

    Raises:
        TypeError: there is anything else in it that JSON lacks.
    """

    def plain(other: Any) -> Any:
        if is_dataclass(other):
            return vars(other)
        return other.isoformat() if isinstance(other, datetime) else fspath(other)

    separators = None if indent else (",", ":")
    write = json.JSONEncoder(indent=indent, separators=separators, allow_nan=False, default=plain).encode
    try:
        return write(value)
    except ValueError:
        return write(json.loads(json.dumps(value, default=plain), parse_constant=lambda _: None))


def shortened(text: str, length: int = 60) -> str:
    """Return the start of a text that may be long."""
    return text if len(text) <= length else f"{text[:length]}..."


def one_line(text: str, length: int = 120) -> str:
    """Return text on one line, and no more than its start."""
    return shortened(" ".join(text.split()), length)


def storable(text: str) -> str:
    """Return text as UTF-8 can hold it: half a surrogate pair becomes a question mark."""
    return text.encode(errors="replace").decode()


def quoted(text: str) -> str:
    """Show what someone else printed: its start, in one line and in quotes."""
    return f"'{printable(shortened(text.strip()))}'"


def printable(text: str, also: str = "") -> str:
    """Return text that someone else wrote in one line that moves no cursor and changes no colour.

    Characters of `also` stay, such as line ends.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in also else char.encode("unicode_escape").decode()
        for char in text
    )


def message(text: str, given: Iterable[str] = ()) -> list[str]:
    """Return the lines of a message as they may be shown: printable, and none of them long.

    Args:
        text: the message, which may quote what somebody else wrote.
        given: the words of the command line. They are quoted on one line, and as what is between blanks,
            by their start and end: a path says most at its end.
    """
    for word in given:
        for part in (word, word.partition("=")[2]):
            if len(part) > QUOTED_AT_MOST or not part.isprintable():
                text = text.replace(part, _clipped(printable(part), QUOTED_AT_MOST))
    lines = text.splitlines()
    if len(lines) > LINES_AT_MOST:
        lines[LINES_AT_MOST:] = [f"and {len(lines) - LINES_AT_MOST} more"]
    long_word = rf"\S{{{QUOTED_AT_MOST + 1},}}"
    return [
        _clipped(
            re.sub(long_word, lambda found: _clipped(found[0], QUOTED_AT_MOST), printable(line)),
            MESSAGE_AT_MOST,
        )
        for line in lines
    ]


def _clipped(text: str, length: int) -> str:
    """Return the start and the end of a text that may be long."""
    half = (length - 3) // 2
    return text if len(text) <= length else f"{text[:half]}...{text[-half:]}"
