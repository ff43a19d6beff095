"""What a report says of a gate: which comparisons have passed, and how long the others take."""

from assay.analysis.planning import ComparisonForecast, forecast
from assay.report import words
from assay.report.gather import Report
from assay.words import duration, number


def takes(report: Report) -> ComparisonForecast | None:
    """Return what it takes until all have probably passed or failed; None where none is open or not known.

    What is withheld can never be decided, and blocks that the plan still has are not looked at before.
    """
    answers = report.analysis.answers
    if report.analysis.look is None or not any(of.gate == "undecided" and not of.withheld for of in answers):
        return None
    return forecast([report.trials], report.experiment, "gate").slowest


def sentences(report: Report) -> str:
    """Return what there is to say, on one line; empty where there is no gate."""
    told = words.gate(report.analysis)
    slowest = takes(report)
    if slowest is None or slowest.blocks is None or slowest.minutes is None:
        return told
    return (
        f"{told} To decide all probably takes {number(slowest.blocks)} blocks,"
        f" {duration(60 * slowest.minutes)} in all."
    )
