"""What a campaign's trials say: medians and verdicts with intervals, as pure functions over arrays."""

from assay.analysis.intervals import CONFIDENCE, SignFlips, median, median_interval, sign_flips
from assay.analysis.summary import summarise, verdict
from assay.analysis.types import Analysis, Comparison, ConditionSummary, Interval, Verdict

__all__ = [
    "CONFIDENCE",
    "Analysis",
    "Comparison",
    "ConditionSummary",
    "Interval",
    "SignFlips",
    "Verdict",
    "median",
    "median_interval",
    "sign_flips",
    "summarise",
    "verdict",
]
