"""Which values of a metric are better, as its unit or name says; the load that takes verdicts away."""

import re
from typing import Literal

Better = Literal["higher", "lower"]

TIME = r"(?:ns|us|µs|μs|ms|s|sec|seconds?|min|minutes?|h|hours?)"
"""Matches a unit of time."""

LOST = "lost_share"
"""The metric: the share of their processor time that a trial's threads lost to other work."""

BUSY = 0.1
"""Threads that lose a larger share may be compared wrongly: docs/statistics.md has the measurement."""

_MEMORY = r"(?:bytes?|[kKMGT]?i?B)"
_BY_UNIT: tuple[tuple[re.Pattern[str], Better], ...] = (
    (re.compile(rf"{TIME}(?:\s*/|\s+per\b|\Z)"), "lower"),
    (re.compile(rf".*(?:/|\bper\b)\s*{TIME}\Z"), "higher"),
    (re.compile(rf"{_MEMORY}(?:\s*/|\s+per\b|\Z)"), "lower"),
)
_BY_NAME: tuple[tuple[re.Pattern[str], Better], ...] = (
    (re.compile(r".*((?<!_per)_(ns|us|ms|s)|_bytes|_per_operation|faults|switches|migrations)\Z"), "lower"),
    (re.compile(r"energy_(j|delay[23]?)\Z"), "lower"),
    (re.compile(rf".*(?:throughput|_per_{TIME})\Z"), "higher"),
)


def better(metric: str, unit: str) -> Better | None:
    """Return which values of a metric are better, as its unit or else its name says; None if neither does."""
    known = ((unit, _BY_UNIT), (metric, _BY_NAME))
    return next((way for text, ways in known for pattern, way in ways if pattern.match(text)), None)
