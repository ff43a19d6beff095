"""Finds metrics in the output of programs that do not speak the trial protocol."""

import json
import math
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice, takewhile
from typing import Any, Literal

from assay.experiment.programs import RESERVED_METRICS
from assay.experiment.types import Extraction
from assay.words import printable

SEARCH_LIMIT_S = 10.0  # of processor time; an unlucky pattern may need ages, and the runner waits for it
MOST_METRICS = 494  # a result may hold 500, of which 6 are measured of every command

_METRIC = "[a-z][a-z0-9_]{0,63}"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
# What makes a number a part of a longer one. A sign after a digit or a word is a range or a dash, and a point
# that no digit follows is the end of a sentence.
# Marks between digits that separate nothing else: a raised decimal point, and those of Arabic script.
_MARKS = "\N{MIDDLE DOT}\N{ARABIC DECIMAL SEPARATOR}\N{ARABIC THOUSANDS SEPARATOR}"
_BEGUN_BEFORE = re.compile(
    rf"(\d[.{_MARKS}]?|(?<![\w.])\.|\de[+-]?|(?<![\w.)\]+-])-)\Z", re.ASCII | re.IGNORECASE
)
_GOES_ON_AFTER = re.compile(
    rf"[.{_MARKS}]?\d|e[+-]?\d| ?[*x\N{{MULTIPLICATION SIGN}}\N{{MIDDLE DOT}}] ?10[^\s\d.,]",
    re.ASCII | re.IGNORECASE,
)
_MINUS = "\N{MINUS SIGN}"
_HEXADECIMAL = re.compile(r"0x[0-9a-f]*\Z", re.ASCII | re.IGNORECASE)
# Numbers as languages write them: digits in groups of three, and a comma for the decimal point.
_GROUPS = " ,.'_\N{RIGHT SINGLE QUOTATION MARK}\N{NO-BREAK SPACE}\N{THIN SPACE}\N{NARROW NO-BREAK SPACE}"
_GROUPED = re.compile(
    rf"([+-]?[1-9]\d{{0,2}}(?P<group>[{_GROUPS}])\d{{3}}(?:(?P=group)\d{{3}})*)([.,]\d+)?", re.ASCII
)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_TIME = re.compile(r"\d+(:\d\d)+([.,]\d+)?", re.ASCII)
_NEIGHBOURS = 4  # groups of digits, on each side of a number, of which it may be a part
_NEIGHBOURS_BEFORE = re.compile(rf"(?:\d+[{_GROUPS}:]){{1,{_NEIGHBOURS}}}\Z", re.ASCII)
_NEIGHBOURS_AFTER = re.compile(rf"(?:[{_GROUPS}:]\d+){{1,{_NEIGHBOURS}}}", re.ASCII)
_WITHIN = 100  # characters on each side of a number
_STICKS = "%#^_\N{PER MILLE SIGN}\N{DEGREE SIGN}\N{MULTIPLICATION SIGN}\N{SUPERSCRIPT MINUS}"
# What a pattern matches anything with, so that it does not say what is beside the number.
_ANYTHING = re.compile(r"\\S|\[\^[^],]*\]|(?<!\\)\.")
_CHOICE = re.compile(r"\[(?!\^)(?:\\.|[^]\\])*\]")


def extract(stdout: str, rules: Literal["lines"] | Sequence[Extraction]) -> dict[str, float]:
    """Return metric -> value, found by rules in the output of a program.

    Call it from the main thread: only there can a slow pattern be interrupted.

    Args:
        stdout: what the program printed.
        rules: "lines" takes every line NAME=DATA whose NAME is valid for a metric and whose DATA is a finite
            number, and ignores all others. Else each rule finds its metric in exactly one place.

    Raises:
        ValueError: a metric is found nowhere or more than once, or the search takes too long; the message
            names the metric, the rule and the remedy.
    """
    if rules == "lines":
        with _time_limit("the lines NAME=DATA take", "print fewer"):
            return _lines(stdout)
    assert not isinstance(rules, str)
    named = [rule for rule in rules if rule.line is not None]
    placed = [rule for rule in rules if rule.pointer is not None]
    with _time_limit("the lines NAME=DATA take", "print fewer"):
        data = _named(stdout, named) if named else {}
    with _time_limit("the places in JSON take", "print less"):
        data |= _in_json(stdout, placed) if placed else {}
    return {
        rule.metric: _value(rule, data.get(rule.metric))
        if rule.pattern is None
        else _matched(stdout, rule, rule.pattern)
        for rule in rules
    }


def _lines(stdout: str) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for name, data in pairs(stdout, _METRIC):
        value = _finite(data)
        if value is None:
            continue
        if name in metrics:
            raise ValueError(f"{name}: there are two lines {name}=...; print each metric once")
        if name in RESERVED_METRICS:
            raise ValueError(f"{name}: is measured of every command; print yours under another name")
        if len(metrics) == MOST_METRICS:
            raise ValueError(f"there are more than {MOST_METRICS} lines NAME=DATA; print at most this many")
        metrics[name] = value
    if not metrics:
        raise ValueError(
            'there is no line NAME=DATA with a number; print one, or give a rule in place of "lines"'
        )
    return metrics


def _named(stdout: str, rules: Sequence[Extraction]) -> dict[str, str]:
    """Return metric -> DATA of the only line with the NAME in its rule."""
    data: dict[str, str] = {}
    for name, text in pairs(stdout, "|".join(re.escape(str(rule.line)) for rule in rules)):
        for rule in rules:
            if rule.line == name:
                _add(data, rule, text)
    return data


def _in_json(stdout: str, rules: Sequence[Extraction]) -> dict[str, str]:
    """Return metric -> the value at its rule's place, in the only JSON text that has this place."""
    data: dict[str, str] = {}
    texts = 0
    for texts, text in enumerate(_json_texts(stdout), start=1):  # noqa: B007
        for rule in rules:
            with suppress(LookupError):
                _add(data, rule, json.dumps(_at(text, str(rule.pointer))))
    if not texts:
        raise ValueError(
            f"{rules[0].metric}: {_sought(rules[0])} is nowhere in the output, which is not JSON, nor has a "
            "line that is a JSON object or array; print JSON, or change the rule"
        )
    return data


def _add(data: dict[str, str], rule: Extraction, text: str) -> None:
    if rule.metric in data:
        raise ValueError(
            f"{rule.metric}: {_sought(rule)} is in the output more than once; let the program print it once"
        )
    data[rule.metric] = text


def _json_texts(stdout: str) -> Iterator[Any]:
    """Yield the JSON texts: the whole output, or else each line that is an object or an array."""
    lines = (match[0] for match in re.finditer(r"^[^\S\n]*+[\[{].*$", stdout, re.MULTILINE))
    for text in chain([stdout], lines):
        try:
            # Every number becomes a float, however many digits it has; true is not a number.
            yield json.loads(text, parse_int=float)
        except (ValueError, RecursionError):
            continue
        if text is stdout:
            return


def _at(value: Any, pointer: str) -> Any:
    """Return the part of a value at a JSON Pointer (RFC 6901).

    Raises:
        LookupError: there is nothing at this place.
    """
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value[key]
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]*", key):
            value = value[int(key)]
        else:
            raise LookupError
    return value


def _sought(rule: Extraction) -> str:
    """Return in words what a rule looks for."""
    if rule.pattern is not None:
        return f"the pattern {_quoted(rule.pattern)}"
    return (
        f"the line {_quoted(f'{rule.line}=...')}" if rule.line else f"the place {_quoted(str(rule.pointer))}"
    )


def _matched(stdout: str, rule: Extraction, pattern: str) -> float:
    """Return the value that the pattern of a rule finds."""
    sought = _sought(rule)
    with _time_limit(f"{rule.metric}: {sought} takes", "make it simpler"):
        matches = list(islice(re.finditer(pattern, stdout, re.MULTILINE), 2))
    if not matches:
        return _value(rule, None)
    match, *more = matches
    if more:
        raise ValueError(
            f"{rule.metric}: {sought} is in the output more than once; make it match one place only"
        )
    group = match[1] or ""
    value = _value(rule, group)
    begin = match.start(1) + len(group) - len(group.lstrip())
    end = begin + len(group.strip())
    deliberate = match.span() if not _ANYTHING.search(_CHOICE.sub("", pattern)) else (begin, end)
    gives = f"{rule.metric}: {sought} gives {_quoted(group.strip())}, which"
    if whole := _continued(stdout, begin, end) or _grown(stdout, begin, end, deliberate):
        raise ValueError(
            f"{gives} is only a part of the number at {_quoted(whole)}; let its group hold all of the "
            "number, or let the pattern match what is next to it, if that is another number"
        )
    if unit := _unit(stdout, end, deliberate[1]):
        raise ValueError(
            f"{gives} has {_quoted(unit)} right behind it; write this unit into the pattern, behind the group"
        )
    return value


def _continued(stdout: str, begin: int, end: int) -> str:
    """Return the longer number that certainly contains the number from begin to end, or ""."""
    close = stdout[max(begin - 3, 0) : begin].replace(_MINUS, "-")
    before, after = _BEGUN_BEFORE.search(close), _GOES_ON_AFTER.match(stdout, end)
    before = before or _HEXADECIMAL.search(stdout[max(begin - _WITHIN, 0) : begin])
    if not before and not after:
        return ""
    return f"{before[0] if before else ''}{stdout[begin:end]}{after[0] if after else ''}"


def _grown(stdout: str, begin: int, end: int, deliberate: tuple[int, int]) -> str:
    """Return a longer number (grouped, with a decimal comma, or a time) that contains the one found.

    If the pattern, whose match is `deliberate`, also matches a number next to this one, these are columns. In
    a list such as 1,2,3, which has no groups of three digits, it is enough that it matches the commas.
    """
    before = _NEIGHBOURS_BEFORE.search(stdout, max(begin - _WITHIN, 0), begin)
    after = _NEIGHBOURS_AFTER.match(stdout, end, end + _WITHIN)
    begins = (
        [begin, *(found.start() + before.start() for found in re.finditer(r"\d+", before[0]))]
        if before
        else [begin]
    )
    ends = (
        [end, *(found.end() + after.start() for found in re.finditer(r"\d+", after[0]))] if after else [end]
    )
    if (before and deliberate[0] <= begins[-1]) or (after and ends[1] <= deliberate[1]):
        return ""
    for first in begins:
        for last in ends:
            text = stdout[first:last].replace(_MINUS, "-")
            if (first, last) == (begin, end):
                continue
            if _GROUPED.fullmatch(text):
                return text
            matched = (first == begin or deliberate[0] < begin) and (last == end or end < deliberate[1])
            if not matched and (_DECIMAL_COMMA.fullmatch(text) or _TIME.fullmatch(text)):
                return text
    return ""


def _unit(stdout: str, end: int, said: int) -> str:
    """Return the unit directly after a number, unless the pattern's match, up to `said`, includes it."""
    word = "".join(takewhile(lambda char: char.isalnum() or char in _STICKS, stdout[end : end + _WITHIN]))
    return "" if end < said else word


def _value(rule: Extraction, data: str | None) -> float:
    """Return the number in the data that a rule found.

    Raises:
        ValueError: it found nothing, or no finite number.
    """
    if data is None:
        raise ValueError(
            f"{rule.metric}: {_sought(rule)} is nowhere in the output; look at it, then change the rule"
        )
    value = _finite(data)
    if value is None:
        value = _localised(data.strip().replace(_MINUS, "-"), f"{rule.metric}: {_sought(rule)} gives")
    if value is None:
        raise ValueError(
            f"{rule.metric}: {_sought(rule)} gives {_quoted(data)}, which is not a finite number; "
            "let it give nothing but the number"
        )
    return value


def _localised(text: str, gives: str) -> float | None:
    """Return the value of a number with grouped digits or a decimal comma; None if it is neither.

    Raises:
        ValueError: it may be either; the message begins with `gives`.
    """
    grouped = _GROUPED.fullmatch(text)
    if not grouped:
        return float(text.replace(",", ".")) if _DECIMAL_COMMA.fullmatch(text) else None
    whole, separator, rest = grouped[1], grouped["group"], grouped[3] or ""
    if rest.startswith(separator):
        return None
    if separator == "," and whole.count(",") == 1 and not rest:
        raise ValueError(
            f"{gives} {_quoted(text)}, which may be {whole.replace(',', '')} or {whole.replace(',', '.')}; "
            "print it without a comma, for instance with LC_ALL=C"
        )
    return float(whole.replace(separator, "") + rest.replace(",", "."))


@contextmanager
def _time_limit(what: str, remedy: str) -> Iterator[None]:
    """Raise a ValueError in the block, even during a match, when the processor time is used up."""

    def stop(*_: object) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SEARCH_LIMIT_S)
    try:
        yield
    except TimeoutError as error:
        raise ValueError(f"{what} more than {SEARCH_LIMIT_S:g} s to look for; {remedy}") from error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def pairs(stdout: str, names: str) -> Iterator[tuple[str, str]]:
    """Yield NAME and DATA, stripped, of each line whose NAME matches a pattern."""
    for match in re.finditer(rf"^[^\S\n]*+({names})[^\S\n]*+=(.*)$", stdout, re.MULTILINE):
        yield match[1], match[2].strip()


def _finite(data: str) -> float | None:
    text = data.strip().replace(_MINUS, "-")
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def _quoted(text: str) -> str:
    """Return a quotation of foreign text: one line, shortened if it is long."""
    return f"'{printable(text[:60])}{'...' if len(text) > 60 else ''}'"
