"""What a campaign's trials say: medians and verdicts with intervals, as pure functions over arrays."""

from assay.analysis.intervals import CONFIDENCE, SignFlips, median, median_interval, sign_flips
from assay.analysis.summary import summarise, verdict
from assay.analysis.types import (
    Aggregate,
    Analysis,
    Comparison,
    ConditionSummary,
    Estimate,
    HostModes,
    Interval,
    Look,
    Mode,
    Shape,
    Verdict,
)

__all__ = [
    "CONFIDENCE",
    "Aggregate",
    "Analysis",
    "Comparison",
    "ConditionSummary",
    "Estimate",
    "HostModes",
    "Interval",
    "Look",
    "Mode",
    "Shape",
    "SignFlips",
    "Verdict",
    "median",
    "median_interval",
    "sign_flips",
    "summarise",
    "verdict",
]
