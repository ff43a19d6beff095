"""How numbers and names are written for a person, the same in the terminal and on the page."""

from collections.abc import Iterator, Mapping

from assay.analysis import Comparison, ConditionSummary, Interval
from assay.audit import condition_name
from assay.plan.types import Level
from assay.report.gather import Report
from assay.runner.types import Status


def number(value: float | None) -> str:
    """Return a number with four digits and, where it is large, a suffix: 12.35M."""
    if value is None:
        return "-"
    for scale, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if scale <= abs(value) < 1e15:
            return f"{value / scale:.4g}{suffix}"
    return f"{value:.4g}"


def ratio(value: float | None) -> str:
    """Return a ratio with three digits after the point, fewer where it is large."""
    if value is None:
        return "-"
    if 100 <= value < 1e6:
        return f"{value:.0f}"
    return f"{value:.3f}" if 0.01 <= value < 100 else f"{value:.3g}"


def interval(value: Interval | None) -> str:
    """Return the ends of the interval of a ratio."""
    return "-" if value is None else f"{ratio(value.low)} to {ratio(value.high)}"


def statuses(counts: Mapping[Status, int]) -> str:
    """Return how many trials ended in which way."""
    return ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in counts.items() if count)


def notes(condition: ConditionSummary, comparison: Comparison | None) -> list[str]:
    """Return what has to be said beside the numbers of a condition, if anything."""
    failed: dict[Status, int] = {
        status: count for status, count in condition.counts.items() if status != "valid"
    }
    said = [statuses(failed)]
    if comparison is not None and comparison.dropped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in comparison.dropped.items())
        said.append(f"pairs that do not count: {reasons}")
    if comparison is not None and comparison.interval is None:
        said.append(comparison.reason)
    return [note for note in said if note]


def by_context(report: Report) -> Iterator[tuple[str, list[tuple[ConditionSummary, Comparison | None]]]]:
    """Yield name of context, then its conditions, each with its comparison (None for the baseline)."""
    comparisons = {
        (tuple(comparison.context.values()), comparison.level): comparison
        for comparison in report.analysis.comparisons
    }

    contexts: dict[tuple[Level, ...], list[tuple[ConditionSummary, Comparison | None]]] = {}
    for condition in report.analysis.conditions:
        context = tuple(report.context(condition).values())
        level = condition.levels[report.analysis.factor]
        contexts.setdefault(context, []).append((condition, comparisons.get((context, level))))
    for rows in contexts.values():
        yield condition_name(report.context(rows[0][0])), rows
