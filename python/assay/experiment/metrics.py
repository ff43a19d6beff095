"""Which values of a metric are better, as its unit or name says; the load that takes verdicts away."""

import re
from collections.abc import Mapping
from typing import Literal

from assay.words import nearest

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

_PERCENTILE = re.compile(r"(.*p)(?:50|90|99|99_9|99_99)(_ns)?\Z")
"""Matches the percentiles that trials report (`latency_percentiles` in native/assay/measure/report.h)."""


def lacks_operations(metric: str, metrics: Mapping[str, float]) -> bool:
    """Return whether a trial lacks a percentile because it had too few operations, as it gives lower ones."""
    if not (percentile := _PERCENTILE.match(metric)):
        return False
    others = (_PERCENTILE.match(name) for name in metrics)
    return any(other.groups() == percentile.groups() for other in others if other)


def why_missing(metric: str, metrics: Mapping[str, float]) -> str:
    """Return why a valid trial lacks a metric, and what to do."""
    if lacks_operations(metric, metrics):
        return f"had too few operations to give the metric {metric}; let trials last longer"
    return f"does not give the metric {metric}; {nearest(metric, sorted(metrics))}"


def better(metric: str, unit: str) -> Better | None:
    """Return which values of a metric are better, as its unit or else its name says; None if neither does."""
    known = ((unit, _BY_UNIT), (metric, _BY_NAME))
    return next((way for text, ways in known for pattern, way in ways if pattern.match(text)), None)
