"""What a campaign's trials say: medians and verdicts with intervals, as pure functions over arrays."""

from assay.analysis.intervals import CONFIDENCE, median, median_interval, sign_flips
from assay.analysis.sequential import looks, stop_reason
from assay.analysis.summary import summarise
from assay.analysis.types import (
    Aggregate,
    Analysis,
    Cluster,
    Comparison,
    ConditionSummary,
    Estimate,
    HostModes,
    Interval,
    Look,
    Shape,
    Verdict,
)
from assay.analysis.verdicts import verdict

__all__ = [
    "CONFIDENCE",
    "Aggregate",
    "Analysis",
    "Cluster",
    "Comparison",
    "ConditionSummary",
    "Estimate",
    "HostModes",
    "Interval",
    "Look",
    "Shape",
    "Verdict",
    "looks",
    "median",
    "median_interval",
    "sign_flips",
    "stop_reason",
    "summarise",
    "verdict",
]
