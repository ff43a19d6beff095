"""The plain types that the analysis hands to the report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.plan.types import Level
from assay.runner.types import Status

Verdict = Literal["faster", "slower", "equivalent", "undecided"]


@dataclass(frozen=True)
class Interval:
    """A confidence interval, both ends included.

    Attributes:
        confidence: the confidence that the method attains, at least what was asked for. It is discrete.
    """

    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class ConditionSummary:
    """What is known of the compared metric in one condition.

    Attributes:
        counts: status -> number of ended trials.
        values: number of valid trials that the median rests on.
        missing: number of valid trials that lack the metric, or whose value is not finite.
        median: None where there are no values.
        interval: of the median; None with fewer than 6 values.
    """

    levels: Mapping[str, Level]
    counts: Mapping[Status, int]
    values: int
    missing: int
    median: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Comparison:
    """One level of the compared factor against the baseline, in one context.

    Attributes:
        context: factor -> level, without the compared factor.
        ratio: the metric at `level` over the metric at `baseline`: the geometric mean of the ratios within
            groups. None without pairs.
        interval: of the ratio; None with fewer than 6 pairs.
        p: two-sided p-value of the sign-flip test that the ratio is 1; None without pairs.
        pairs: number of groups in which both trials count.
        dropped: reason -> number of groups in which they do not.
        reason: why the verdict is undecided; empty for every other verdict.
    """

    context: Mapping[str, Level]
    level: Level
    baseline: Level
    ratio: float | None
    interval: Interval | None
    p: float | None
    verdict: Verdict
    pairs: int
    dropped: Mapping[str, int]
    reason: str


@dataclass(frozen=True)
class Analysis:
    """What a campaign's trials say about its experiment's question.

    Attributes:
        metric, factor, baseline, better, smallest_effect_percent: the experiment's comparison.
        confidence: the confidence that was asked of every interval.
        conditions: in the experiment's order.
        comparisons: by context, then by level, in the experiment's order.
    """

    metric: str
    factor: str
    baseline: Level
    better: Literal["higher", "lower"]
    smallest_effect_percent: float
    confidence: float
    conditions: tuple[ConditionSummary, ...]
    comparisons: tuple[Comparison, ...]
