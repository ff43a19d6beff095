"""What a report says of a gate: which comparisons have passed, and how long the others take."""

from assay.report import words
from assay.report.gather import Report
from assay.words import duration, number


def sentences(report: Report) -> str:
    """Return what there is to say, on one line; empty where there is no gate."""
    counts = words.gate(report.analysis)
    slowest = report.gate_forecast
    if slowest is None or slowest.blocks is None or slowest.minutes is None:
        return counts
    return (
        f"{counts} To decide all probably takes {number(slowest.blocks)} blocks,"
        f" {duration(60 * slowest.minutes)} in all."
    )
