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
        confidence: the confidence that the method attains, at least what was requested. It is discrete.
    """

    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Cluster:
    """A group of values that lie close together: its median, and its share of the data."""

    center: float
    share: float


@dataclass(frozen=True)
class Shape:
    """Whether a median represents the values of a condition.

    Attributes:
        clusters: the clusters of the values, the lowest first; empty without a sign of more than one.
        dip_p: p-value of Hartigan's dip test that there is one cluster; None with too few values.
        note: why the median is not typical, for a person; empty if it is typical.
    """

    clusters: tuple[Cluster, ...] = ()
    dip_p: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Pathology:
    """How probable it is that a trial is pathologically bad.

    Attributes:
        bound: a trial worse than this is pathological.
        count, of: number of trials that are worse than the bound, and of all trials.
        probability: the share of pathological trials.
        interval: the probability's interval, exact if trials are independent (Clopper and Pearson 1934).
    """

    bound: float
    count: int
    of: int
    probability: float
    interval: Interval


@dataclass(frozen=True)
class ConditionSummary:
    """One metric in one condition.

    Attributes:
        counts: status -> number of ended trials.
        values: number of valid trials on which the median rests.
        missing: number of valid trials that lack the metric, or whose value is not finite.
        median: None without values.
        interval: the median's interval; None with fewer than 6 values.
        shape: whether the median is typical of the values.
        lost: the mean share of processor time that its trials lost to other work; None if unknown.
        pathological: None if the experiment names no bound, or no value is above zero.
        idle: what a typical trial measured if practically nothing happened in it, else empty.
        of_host: name of host -> its median, if several ran trials. `median` is then the median of these,
            `shape` is judged on each host, and `lost` is of the host that lost most.
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
    of_host: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """A ratio from some pairs of a comparison, with the verdict that its interval allows.

    Its family is the comparisons and aggregates of the main metric, or the comparisons of all further
    metrics, all from groups chosen in the same way.

    Attributes:
        ratio: the metric's ratio: a geometric mean, or the ratio of the means if a value is 0. None without
            pairs, and if there can be no ratio.
        interval: the interval of the ratio, or of the difference if there is no ratio. All intervals of the
            family hold together with 95%, at all looks. None with too few pairs.
        p: two-sided p-value of the sign-flip test of no change, uncorrected; None without pairs.
        verdict: the verdict that `interval` gives; undecided before the first look.
        pairs: number of groups that count; in an aggregate, of blocks.
        p_adjusted: p corrected for the family (and for looks, see `Look`): at most 5% exactly if the interval
            excludes 1, or a difference of 0.
        reason: why the verdict is undecided; empty for every other verdict.
        gate: whether the metric is worse by more than the experiment's gate; None without a gate, and for
            further metrics, which have no gate.
        difference: the difference of the means, in the metric's units, if there can be no ratio: a value is
            below 0, the baseline is always 0, or the smallest effect is given in these units.
        zeros: number of values that are 0, at the level and at the baseline.
        by_itself: the interval uncorrected for the family, if it passes the gate and `interval` does not.
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
    """The effect of one level of the compared factor against the baseline, for one metric.

    Attributes:
        context: factor -> level, without the compared factor.
        level, baseline: the ratio is the metric at `level` over the metric at `baseline`.
        dropped: reason -> number of pairs that do not count; "host changed" is one of the reasons.
        withheld: there is no ratio and no verdict, because trials were not valid or idle, or the host was
            busy; `reason` says which.
    """

    metric: str
    context: Mapping[str, Level]
    level: Level
    baseline: Level
    dropped: Mapping[str, int]
    withheld: bool = False


@dataclass(frozen=True, kw_only=True)
class Comparison(LevelEffect):
    """The effect in one context: a pair is a group in which both trials count.

    The verdict rests on the groups whose calibrations agree; `all_groups` on every group.

    Attributes:
        all_groups: the estimate without exclusions.
        modes: mode of the host ("fast", "slow") -> the estimate from groups that ran in it; empty if the host
            has one mode.
    """

    all_groups: Estimate
    modes: Mapping[HostMode, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Aggregate(LevelEffect):
    """The effect over several workloads: a pair is a block in which every workload has a pair.

    The ratio is the weighted geometric mean over the workloads of a block, then over blocks (after Blackwell
    1998, section 3.3, figure 4). `context` excludes the factors in `across`, too.

    Attributes:
        across: the factors whose levels are the workloads.
        weights: the share of each workload, in the order of `comparisons`; they add up to 1.
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
        number, of: its number from 1, and the largest number; 1 of 1 if the number of blocks is fixed.
        blocks: number of blocks that it includes; later blocks do not count yet.
        confidence: the joint confidence of a family's intervals at this look; over all looks it is 95%.
    """

    number: int
    of: int
    blocks: int
    confidence: float


@dataclass(frozen=True)
class HostModes:
    """The modes of the host, from calibrations alone.

    Attributes:
        metric: the calibration that distinguishes them.
        centers: mode -> its median; empty if there is one mode.
        boundary: the boundary between the modes; None if there is one mode. If trials differ in placement,
            `boundary` and `centers` are those of the two-mode placement with the most calibrations.
        of_group: group -> its mode; "mixed" if its calibrations disagree, "unknown" if one is missing or they
            show only one mode.
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
class OddHost:
    """How far a host is from being like the others.

    Attributes:
        distance: the squared maximum mean discrepancy between its blocks and those of the others.
        p: of the permutation test that all hosts are alike, corrected for the number of hosts.
        without: what `Analysis.answers` would be without this host.
    """

    distance: float
    p: float
    without: tuple[Estimate, ...]


@dataclass(frozen=True)
class HostAnswers:
    """What one host says by itself.

    Attributes:
        trials: number of its trials in the blocks that count.
        answers: in the order of `Analysis.answers`; all answers of all hosts are one family.
        odd: None if it is not unlike the others.
    """

    name: str
    trials: int
    answers: tuple[Estimate, ...]
    odd: OddHost | None = None


@dataclass(frozen=True)
class Hosts:
    """The hosts of a campaign that ran on several.

    Attributes:
        population: the verdicts are about the population of hosts, of which these are a sample; else about
            these hosts alone.
        each: by the order of their first trials.
    """

    population: bool
    each: tuple[HostAnswers, ...]

    @property
    def odd(self) -> tuple[HostAnswers, ...]:
        """The hosts that are not like the others."""
        return tuple(host for host in self.each if host.odd is not None)


@dataclass(frozen=True)
class Analysis:
    """The results of a campaign.

    Attributes:
        metric, factor, better, smallest_effect_percent: the experiment's comparison.
        smallest_effect: the smallest effect in the metric's units, if the experiment gives it so; the metric
            is then compared by differences.
        baseline: its baseline; if there are several, in words.
        confidence: the joint confidence of a family's intervals, over all looks.
        conditions: in the experiment's order.
        comparisons: by context, then by level, in the experiment's order.
        also: the same for each further metric.
        aggregates: by context, then by level; empty if the experiment names no workloads.
        look: the look on which the verdicts rest; None before the first planned look: nothing is decided.
        host_modes: None without calibrations of several threads.
        waits: why there has been no look yet; else empty.
        busy: verdicts are withheld because the host was busy; trials on a quiet host may give them.
        gate_percent: a level fails if it is worse than the baseline by more than this; None without a gate.
        rungs: comparisons of each level of a ladder with the level before it, for the main metric; a separate
            family.
        hosts: what each host says; None if one host ran all trials.
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
    hosts: Hosts | None = None

    @property
    def answers(self) -> tuple[LevelEffect, ...]:
        """The family of the main metric: its comparisons, then its aggregates."""
        return (*self.comparisons, *self.aggregates)
