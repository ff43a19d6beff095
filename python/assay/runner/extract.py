"""Finds metrics in what a program prints that knows nothing of the trial protocol."""

import math
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from assay.experiment.programs import PROCESS_METRICS
from assay.experiment.types import Extraction

PATTERN_LIMIT_S = 10.0  # of processor time; an unlucky pattern may need ages, and the runner waits for it
MOST_METRICS = 496  # a result may hold 500, of which 4 are measured of every command

_METRIC = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def extract(stdout: str, rules: Literal["lines"] | Sequence[Extraction]) -> dict[str, float]:
    """Return metric -> value, as the rules find them in a program's output.

    To be called from the main thread, which alone can be told that a pattern takes too long.

    Args:
        stdout: what the program printed.
        rules: "lines" takes every line NAME=DATA whose NAME can be that of a metric and whose DATA is a
            finite number, and ignores all others. Else each rule finds its metric in exactly one place.

    Raises:
        ValueError: nothing is found, or more than one, or it takes too long; the message names the metric,
            what was looked for, and the remedy.
    """
    if rules == "lines":
        return _lines(stdout)
    assert not isinstance(rules, str)
    return {rule.metric: _value(stdout, rule) for rule in rules}


def _lines(stdout: str) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for name, data in _pairs(stdout):
        value = _finite(data)
        if value is None or not _METRIC.fullmatch(name):
            continue
        if name in metrics:
            raise ValueError(f"{name}: there are two lines {name}=...; print each metric once")
        if name in PROCESS_METRICS:
            raise ValueError(f"{name}: is measured of every command; print yours under another name")
        metrics[name] = value
    if not metrics:
        raise ValueError(
            'there is no line NAME=DATA with a number; print one, or give a rule in place of "lines"'
        )
    if len(metrics) > MOST_METRICS:
        raise ValueError(f"there are {len(metrics)} lines NAME=DATA; print at most {MOST_METRICS}")
    return metrics


def _value(stdout: str, rule: Extraction) -> float:
    """Return the one value that a rule finds."""
    if rule.pattern is not None:
        sought = f"the pattern {_quoted(rule.pattern)}"
        try:
            with _time_limit():
                found = [match[1] for match in _first_two(stdout, rule.pattern)]
        except TimeoutError as error:
            why = (
                f"{rule.metric}: {sought} takes more than {PATTERN_LIMIT_S:g} s to look for; make it simpler"
            )
            raise ValueError(why) from error
        remedy = "make it match one place only"
    else:
        sought = f"the line {_quoted(f'{rule.line}=...')}"
        found = [data for name, data in _pairs(stdout) if name == rule.line]
        remedy = "let the program print it once"
    if not found:
        raise ValueError(
            f"{rule.metric}: {sought} is nowhere in the output; look at it, then change the rule"
        )
    if len(found) > 1:
        raise ValueError(f"{rule.metric}: {sought} is in the output more than once; {remedy}")
    value = _finite(found[0] or "")
    if value is None:
        raise ValueError(
            f"{rule.metric}: {sought} gives {_quoted(found[0] or '')}, which is no finite number; "
            "let it give nothing but the number"
        )
    return value


def _first_two(stdout: str, pattern: str) -> list[re.Match[str]]:
    matches = re.finditer(pattern, stdout, re.MULTILINE)
    return [match for match, _ in zip(matches, range(2), strict=False)]


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise TimeoutError within, even in the midst of a match, when the processor time is used up."""

    def stop(*_: object) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATTERN_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def _pairs(stdout: str) -> list[tuple[str, str]]:
    """Return NAME and DATA of each line that has them, without the spaces around."""
    split = (line.partition("=") for line in stdout.split("\n") if "=" in line)
    return [(name.strip(), data.strip()) for name, _, data in split]


def _finite(data: str) -> float | None:
    value = float(data) if _NUMBER.fullmatch(data.strip()) else math.nan
    return value if math.isfinite(value) else None


def _quoted(text: str) -> str:
    """Show what someone else wrote: one line, and not all of it where it is long."""
    return repr(text[:60] + ("..." if len(text) > 60 else ""))
