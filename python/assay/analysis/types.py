"""The plain types that the analysis hands to the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.plan.types import Level, Status

Verdict = Literal["faster", "slower", "equivalent", "undecided"]

Gate = Literal["passed", "failed", "undecided"]

HostMode = Literal["fast", "slow"]


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
class Cluster:
    """One of several values around which data gather: their median, and the share of the data."""

    center: float
    share: float


@dataclass(frozen=True)
class Shape:
    """Whether a median may stand for the values of a condition.

    Attributes:
        clusters: where the values gather, the lowest first; empty where there is no sign of more than one.
        dip_p: p-value of Hartigan's dip test that there is one cluster; None with too few values.
        note: why the median is not typical, for a person; empty where it may be taken as typical.
    """

    clusters: tuple[Cluster, ...] = ()
    dip_p: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Pathology:
    """How probable it is that a trial is pathologically bad.

    Attributes:
        bound: what is worse than it is pathological.
        count, of: trials that are worse than the bound, and all.
        probability: the share of these.
        interval: exact, of the probability, if trials are independent (Clopper and Pearson 1934).
    """

    bound: float
    count: int
    of: int
    probability: float
    interval: Interval


@dataclass(frozen=True)
class ConditionSummary:
    """What is known of one metric in one condition.

    Attributes:
        counts: status -> number of ended trials.
        values: number of valid trials that the median rests on.
        missing: number of valid trials that lack the metric, or whose value is not finite.
        median: None where there are no values.
        interval: of the median; None with fewer than 6 values.
        shape: whether the median is typical of the values.
        lost: the share of their processor time that its trials lost to other work, in the mean; None where
            that is unknown.
        pathological: None where the experiment names no bound, or nothing has values above zero.
        idle: what its typical trial measured if practically nothing happened in it, else empty.
    """

    levels: Mapping[str, Level]
    counts: Mapping[Status, int]
    values: int
    missing: int
    median: float | None
    interval: Interval | None
    shape: Shape = Shape()
    lost: float | None = None
    pathological: Pathology | None = None
    idle: str = ""


@dataclass(frozen=True)
class Estimate:
    """A ratio from some pairs of a comparison, with the verdict that its interval allows.

    Its family are the comparisons and aggregates of the main metric, or the comparisons of all further
    metrics, all from groups chosen in the same way.

    Attributes:
        ratio: of the metric: a geometric mean, or the ratio of the means where a value is 0. None without
            pairs, and where no ratio can be made.
        interval: of the ratio, or of the difference where there is no ratio; so wide that with 95% those of
            the whole family hold, at all looks. None with too few pairs.
        p: two-sided p-value of the sign-flip test of no change, by itself; None without pairs.
        verdict: read off `interval`; undecided before the first look.
        pairs: number of groups, of blocks in an aggregate, that count.
        p_adjusted: p corrected for the family (and for looks, see `Look`): at most 5% exactly where the
            interval excludes 1, or a difference of 0.
        reason: why the verdict is undecided; empty for every other verdict.
        gate: whether the metric is worse by more than the experiment's gate; None where there is no gate, and
            for further metrics, which have none.
        difference: of the means, in the metric's units, where no ratio can be made: a value is below 0, the
            baseline is always 0, or the smallest effect is given in these units.
        zeros: how many of the values at the level, and at the baseline, are 0.
        by_itself: the interval uncorrected for the family, where it passes the gate and `interval` does not.
    """

    ratio: float | None
    interval: Interval | None
    p: float | None
    verdict: Verdict
    pairs: int
    p_adjusted: float | None = None
    reason: str = ""
    gate: Gate | None = None
    by_itself: Interval | None = None
    difference: float | None = None
    zeros: tuple[int, int] = (0, 0)


@dataclass(frozen=True, kw_only=True)
class LevelEffect(Estimate):
    """What is known of one level of the compared factor against the baseline, for one metric.

    Attributes:
        context: factor -> level, without the compared factor.
        level, baseline: the ratio is the metric at the first over that at the second.
        dropped: reason -> number of pairs that do not count; "host changed" is one of the reasons.
        withheld: there is no ratio and no verdict, as trials were not valid or idle, or the host was busy;
            `reason` says which.
    """

    metric: str
    context: Mapping[str, Level]
    level: Level
    baseline: Level
    dropped: Mapping[str, int]
    withheld: bool = False


@dataclass(frozen=True, kw_only=True)
class Comparison(LevelEffect):
    """The answer in one context: a pair is a group in which both trials count.

    The verdict rests on the groups whose calibrations agree; `all_groups` on every group.

    Attributes:
        all_groups: the estimate without exclusions.
        modes: mode of the host ("fast", "slow") -> the estimate from groups that ran in it; empty where the
            host has one mode.
    """

    all_groups: Estimate
    modes: Mapping[HostMode, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Aggregate(LevelEffect):
    """The answer over several workloads: a pair is a block in which every workload has one.

    The ratio is the weighted geometric mean over the workloads of a block, then over blocks (after Blackwell
    1998, section 3.3, figure 4). `context` is without the factors in `across` too.

    Attributes:
        across: the factors whose levels are the workloads.
        weights: the share of each workload, in the order of `comparisons`; they add to 1.
        against: the workloads whose own ratio contradicts the overall one, as factor -> level, with their
            verdict.
    """

    across: tuple[str, ...]
    weights: tuple[float, ...]
    against: tuple[tuple[Mapping[str, Level], Verdict], ...]


@dataclass(frozen=True)
class Look:
    """The planned look at the results on which the verdicts rest.

    Attributes:
        number, of: its number from 1, and how many there may be; 1 of 1 where the number of blocks is fixed.
        blocks: the blocks that it sees; what ran later does not count yet.
        confidence: of all intervals of a family together at this look, so that over all looks it is 95%.
    """

    number: int
    of: int
    blocks: int
    confidence: float


@dataclass(frozen=True)
class HostModes:
    """The states that the host was in, by calibrations alone.

    Attributes:
        metric: the calibration that tells them apart.
        centers: mode -> its median; empty where there is one mode.
        boundary: between the modes; None where there is one. Where trials differ in placement, it and
            `centers` are those of the placement with the most calibrations among those with two modes.
        of_group: group -> its mode; "mixed" where its calibrations disagree, "unknown" where one is missing
            or they show one mode only.
    """

    metric: str
    centers: Mapping[HostMode, float]
    boundary: float | None
    of_group: Mapping[int, Literal["fast", "slow", "mixed", "unknown"]]

    @property
    def mixed(self) -> tuple[int, ...]:
        """The groups whose calibrations disagree."""
        return tuple(group for group, mode in self.of_group.items() if mode == "mixed")


@dataclass(frozen=True)
class Analysis:
    """What a campaign's trials say about its experiment's question.

    Attributes:
        metric, factor, better, smallest_effect_percent: the experiment's comparison.
        smallest_effect: the same in the metric's units, where the experiment gives it so; then the metric is
            compared by differences.
        baseline: its baseline, in words where there are several.
        confidence: that all intervals of a family hold, over all looks.
        conditions: in the experiment's order.
        comparisons: by context, then by level, in the experiment's order.
        also: the same for each further metric.
        aggregates: by context, then by level; empty where the experiment names no workloads.
        look: on what the verdicts rest; None before the first planned look, when nothing is decided.
        host_modes: None where there are no calibrations of several threads.
        waits: why no look has been reached; empty where one has.
        busy: verdicts are withheld because the host was busy; trials on a quiet one may give them.
        gate_percent: what is worse than the baseline by more than this fails; None where there is no gate.
        rungs: of the main metric, each level of a ladder over the one before it, as `comparisons`; a family
            of their own.
    """

    metric: str
    factor: str
    baseline: str
    better: Literal["higher", "lower"]
    smallest_effect_percent: float
    confidence: float
    conditions: tuple[ConditionSummary, ...]
    comparisons: tuple[Comparison, ...]
    also: tuple[Comparison, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    look: Look | None = None
    host_modes: HostModes | None = None
    waits: str = ""
    busy: bool = False
    gate_percent: float | None = None
    rungs: tuple[Comparison, ...] = ()
    smallest_effect: float | None = None

    @property
    def answers(self) -> tuple[LevelEffect, ...]:
        """The family of the main metric: its comparisons, then its aggregates."""
        return (*self.comparisons, *self.aggregates)
