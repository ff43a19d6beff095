"""The pairs that comparisons rest on: the two trials of a group, as one log ratio."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.busy import disturbance, lost, without_busy
from assay.analysis.idle import idleness
from assay.analysis.types import Analysis, HostModes, Look
from assay.experiment.events import host_independent
from assay.experiment.types import Experiment
from assay.plan.types import Level, Status
from assay.store.types import StoredTrial

Context = tuple[Level, ...]
Groups = Mapping[int, Mapping[Level, StoredTrial]]
Failures = Mapping[tuple[Context, Level, str], str]
"""Context, level and host -> in words, how many of its trials are not valid, or how much time they lost."""

HOST_CHANGED = "host changed"
"""Why a group whose calibrations disagree does not count."""

WITHHELD = "withheld"
"""Why a group of valid trials does not count: other trials of its level or baseline are not valid, or all of
them lost too much processor time or are idle."""

NOT_RUN = "not run"
_REASONS = ("not valid", NOT_RUN, "metric missing", "not finite")
"""Why a trial has no value of a metric; the most important reason comes first."""


@dataclass(frozen=True)
class Sample:
    """The changes that an estimate is made from, one for each pair.

    On each scale, swapping the two sides of a pair keeps the test exact for identical code
    (docs/statistics.md, Values of 0 and below).

    Attributes:
        scale: "logs": log ratios; "means": values whose sums give the ratio, because some are 0;
            "differences": in the metric's units, because some values are below 0, the baseline is always 0,
            or the experiment requests it.
        changes: log ratios, the values at the level, or differences.
        level, baseline: the mean value of each pair on either side; empty if only log ratios are known.
        zeros: number of values that are 0, at the level and at the baseline.
        hosts: the host of each pair; empty if all ran on one.
    """

    scale: Literal["logs", "means", "differences"]
    changes: NDArray[np.float64]
    level: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    baseline: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    zeros: tuple[int, int] = (0, 0)
    hosts: Sequence[str] = ()

    @property
    def below_zero(self) -> bool:
        """Whether a value is below 0."""
        return bool((self.level < 0).any() or (self.baseline < 0).any())


@dataclass(frozen=True)
class Side:
    """The values on one side of pairs; a pair has one or several.

    Attributes:
        values: of all pairs.
        logs: their logarithms; NaN if a value is not above 0.
        pair: the index of each value's pair.
        pairs: number of pairs.
    """

    values: NDArray[np.float64]
    logs: NDArray[np.float64]
    pair: NDArray[np.intp]
    pairs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Side":
        """Return the side of pairs with one value each."""
        # NumPy's logarithms depend on the processor.
        logs = [math.log(value) if value > 0 else math.nan for value in values]
        return cls(np.array(values, float), np.array(logs, float), np.arange(len(values)), len(values))

    def in_blocks(self, block: NDArray[np.intp], blocks: int) -> "Side":
        """Return the side of blocks, given the index of each value's block; -1 leaves it out."""
        kept = block >= 0
        return Side(self.values[kept], self.logs[kept], block[kept], blocks)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of each pair, given a number for each value."""
        means: NDArray[np.float64] = np.bincount(self.pair, values, self.pairs) / np.bincount(self.pair)
        return means


def sample_of(
    level: Sequence[Sequence[float]], baseline: Sequence[Sequence[float]], *, by_difference: bool
) -> Sample:
    """Return the sample of pairs, each with one or several values on either side."""
    sides = []
    for side in (level, baseline):
        pair = [index for index, values in enumerate(side) for _ in values]
        sides.append(Side.of([*chain.from_iterable(side)]).in_blocks(np.array(pair, np.intp), len(side)))
    return sample_of_sides(*sides, by_difference=by_difference)


def sample_of_sides(level: Side, baseline: Side, *, by_difference: bool, hosts: Sequence[str] = ()) -> Sample:
    """Return the sample of pairs."""
    sides = level, baseline
    least = min(side.values.min(initial=math.inf) for side in sides)
    means = [side.means(side.values) for side in sides]
    if not by_difference and least > 0:
        logs = [side.means(side.logs) for side in sides]
        return Sample("logs", logs[0] - logs[1], means[0], means[1], hosts=hosts)
    zeros = [int(np.count_nonzero(side.values == 0)) for side in sides]
    by_difference = by_difference or bool(least < 0)
    return of_means(means[0], means[1], (zeros[0], zeros[1]), by_difference=by_difference, hosts=hosts)


def of_means(
    level: NDArray[np.float64],
    baseline: NDArray[np.float64],
    zeros: tuple[int, int],
    *,
    by_difference: bool,
    hosts: Sequence[str] = (),
) -> Sample:
    """Return the sample of pairs with one mean on either side: the ratio of sums, if there is one."""
    if by_difference or not baseline.any():
        with np.errstate(over="ignore"):
            differences = np.nan_to_num(level - baseline)
        return Sample("differences", differences, level, baseline, zeros, hosts)
    return Sample("means", level, level, baseline, zeros, hosts)


class Unit(NamedTuple):
    """A block on a host: hosts number their blocks alike, and one may run blocks that another left."""

    host: str
    planned_for: int
    block: int


class Pair(NamedTuple):
    """The values of the two trials of a group, or the reason why they do not count."""

    group: int
    block: int
    level: float
    baseline: float
    reason: str = ""
    host: str = ""
    planned_for: int = 0

    @property
    def unit(self) -> Unit:
        """The block in which it ran, which no other host has."""
        return Unit(self.host, self.planned_for, self.block)

    @property
    def log_ratio(self) -> float:
        """The logarithm of their ratio; NaN if a value is not above zero."""
        if self.reason or self.level <= 0 or self.baseline <= 0:
            return math.nan
        return math.log(self.level) - math.log(self.baseline)


@dataclass(frozen=True)
class Pairs:
    """One level against the baseline in one context.

    Attributes:
        withheld: why no pair counts: how many trials of the level or the baseline are not valid.
        withheld_on: host -> the same for its pairs, if none counts.
        host_independent: the host and its load do not influence the metric.
    """

    pairs: tuple[Pair, ...]
    withheld: str = ""
    host_independent: bool = False
    withheld_on: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def counting(self) -> list[Pair]:
        """The pairs in which both trials have values."""
        return [pair for pair in self.pairs if not pair.reason]

    @cached_property
    def units(self) -> list[Unit]:
        """The block of each pair that counts."""
        return [pair.unit for pair in self.counting]

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """The values of the pairs that count: at the level, and at the baseline."""
        level = Side.of([pair.level for pair in self.counting])
        return level, Side.of([pair.baseline for pair in self.counting])

    def in_blocks(self, indices: Mapping[Unit, int]) -> tuple[Side, Side]:
        """Return the values of some blocks, each of which has an index and at least one pair."""
        block = np.array([indices.get(unit, -1) for unit in self.units], np.intp)
        level, baseline = self.sides
        return level.in_blocks(block, len(indices)), baseline.in_blocks(block, len(indices))

    @cached_property
    def _of_host(self) -> dict[str, list[Pair]]:
        hosts: dict[str, list[Pair]] = defaultdict(list)
        for pair in self.pairs:
            hosts[pair.host].append(pair)
        return dict(hosts)

    @property
    def log_ratios(self) -> NDArray[np.float64]:
        """The log ratios of the pairs that count; empty if a value is not above zero."""
        logs = np.array([pair.log_ratio for pair in self.counting], dtype=np.float64)
        return np.empty(0) if np.isnan(logs).any() else logs

    @property
    def without_ratio(self) -> str:
        """Why the pairs that count have no log ratios: a value is not above zero. Empty if they have."""
        fewer = sum(math.isnan(pair.log_ratio) for pair in self.counting)
        return f"{fewer} of {len(self.counting)} pairs have a value that is not above zero" if fewer else ""

    def sample(self, *, by_difference: bool) -> Sample:
        """Return the sample of the pairs that count."""
        hosts = [pair.host for pair in self.counting]
        return sample_of_sides(*self.sides, by_difference=by_difference, hosts=hosts)

    @property
    def dropped(self) -> dict[str, int]:
        """Reason -> number of groups that do not count for this reason."""
        return dict(Counter(pair.reason for pair in self.pairs if pair.reason))

    def on(self, host: str) -> "Pairs":
        """Return the pairs of one host."""
        there = self._of_host.get(host, ())
        return replace(self, pairs=tuple(there), withheld=self.withheld_on.get(host, ""))

    def without_host(self, host: str) -> "Pairs":
        """Return the pairs of all other hosts."""
        return replace(self, pairs=tuple(pair for pair in self.pairs if pair.host != host))

    def in_mode(self, modes: HostModes, mode: str) -> "Pairs":
        """Return the pairs of the groups that ran in one mode of the host."""
        there = tuple(pair for pair in self.pairs if modes.of_group.get(pair.group) == mode)
        return replace(self, pairs=there)

    def without_mixed(self, modes: HostModes | None) -> "Pairs":
        """Return the pairs without those of groups whose calibrations disagree."""
        mixed = set() if modes is None or self.host_independent else {*modes.mixed}
        if not mixed:
            return self
        changed = [pair for pair in self.counting if pair.group in mixed]
        others = [pair for pair in self.pairs if pair.reason or pair.group not in mixed]
        excluded = (pair._replace(reason=HOST_CHANGED) for pair in changed)
        return replace(self, pairs=(*others, *excluded))


def common_blocks(of_all: Sequence[Pairs]) -> dict[Unit, int]:
    """Return the blocks in which every comparison has a pair that counts, with their indices."""
    first, *others = (pairs.units for pairs in of_all)
    common = {*first}.intersection(*others)
    blocks = (block for block in dict.fromkeys(first) if block in common)
    return {block: index for index, block in enumerate(blocks)}


def by_host(trials: Iterable[StoredTrial]) -> dict[str, list[StoredTrial]]:
    """Return name of host -> the trials that it ran, in the order of their first trial; "" if unknown."""
    hosts: dict[str, list[StoredTrial]] = {}
    for trial in trials:
        hosts.setdefault(trial.ran_on or "", []).append(trial)
    return hosts


class PlannedComparison(NamedTuple):
    """A comparison that the experiment requests.

    Attributes:
        key: the context, as a key of `by_context`.
        context: factor -> level, without the compared factor.
    """

    key: Context
    context: Mapping[str, Level]
    level: Level
    baseline: Level


def planned_comparisons(experiment: Experiment) -> list[PlannedComparison]:
    """Return the comparisons with a baseline: by context, then by level, in the experiment's order."""
    compared = experiment.comparison.factor
    baselines = experiment.baseline_by_context()
    contexts: dict[Context, list[PlannedComparison]] = {}
    for condition in experiment.conditions():
        key, level = experiment.context(condition), condition[compared]
        members = contexts.setdefault(key, [])  # placed by its first condition, which may be a baseline
        if level != baselines.get(key, level):
            context = {name: other for name, other in condition.items() if name != compared}
            members.append(PlannedComparison(key, context, level, baselines[key]))
    return list(chain.from_iterable(contexts.values()))


def rungs(experiment: Experiment) -> list[PlannedComparison]:
    """Return the comparisons of each level of a ladder with the level before it, by context."""
    compared = experiment.comparison.factor
    targets = []
    for key, group in experiment.groups().items():
        context = {name: level for name, level in group[0].items() if name != compared}
        there = {condition[compared] for condition in group}
        targets += [
            PlannedComparison(key, context, level, before)
            for before, level in experiment.comparison.rungs()
            if {before, level} <= there
        ]
    return targets


def condition_key(levels: Mapping[str, Level], experiment: Experiment) -> tuple[Level, ...]:
    """Return the levels of a condition in the order of the experiment's factors."""
    return tuple([levels[factor] for factor in experiment.changes])


def value_of(trial: StoredTrial | None, metric: str) -> float | str:
    """Return the value of a trial's metric, or the reason why it has none."""
    if trial is None:
        return NOT_RUN
    value = trial.metrics.get(metric)
    if trial.status != "valid":
        return "not valid"
    if value is None:
        return "metric missing"
    return float(value) if math.isfinite(value) else "not finite"


def counted_trials(trials: Iterable[StoredTrial], look: Look | None) -> list[StoredTrial]:
    """Return the trials that a look includes, in the order in which they ran; before the first look, all."""
    covered = (trial for trial in trials if look is None or trial.block < look.blocks)
    return sorted(covered, key=lambda trial: trial.ordinal)


def by_context(trials: Iterable[StoredTrial], experiment: Experiment) -> Mapping[Context, Groups]:
    """Return context -> group -> level of the compared factor -> trial."""
    contexts: dict[Context, dict[int, dict[Level, StoredTrial]]] = defaultdict(lambda: defaultdict(dict))
    compared = experiment.comparison.factor
    others = [factor for factor in experiment.changes if factor != compared]
    for trial in trials:
        levels = trial.levels
        contexts[tuple([levels[factor] for factor in others])][trial.group][levels[compared]] = trial
    return contexts


@dataclass(frozen=True)
class OnHost:
    """What is known of the trials of a condition on one host.

    Attributes:
        lost: the mean share of processor time that they lost, less disturbed groups that were repeated.
        idle: what they measured if practically nothing happened in them.
    """

    lost: float | None
    idle: str


@dataclass(frozen=True)
class OfCondition:
    """The trials of a condition, in their order, and name of host -> what is known of those that it ran."""

    trials: Sequence[StoredTrial]
    hosts: Mapping[str, OnHost]


def by_condition(
    trials: Sequence[StoredTrial], experiment: Experiment
) -> dict[tuple[Level, ...], OfCondition]:
    """Return the levels of each condition, as `condition_key` has them -> its trials."""
    factors = [*experiment.changes]
    conditions: dict[tuple[Level, ...], list[StoredTrial]] = defaultdict(list)
    for trial in trials:
        levels = trial.levels
        conditions[tuple([levels[factor] for factor in factors])].append(trial)
    quiet = {trial.ordinal for trial in without_busy(trials, experiment)}

    def on_host(members: Sequence[StoredTrial]) -> OnHost:
        share = lost(trial for trial in members if trial.ordinal in quiet)
        return OnHost(share, idleness(members, experiment))

    return {
        key: OfCondition(members, {host: on_host(there) for host, there in by_host(members).items()})
        for key, members in conditions.items()
    }


def failures(conditions: Iterable[OfCondition], experiment: Experiment) -> Failures:
    """Return the levels whose trials do not count: one is not valid, or all lost too much processor time or
    are idle.

    Code that sometimes fails may always do wrong work, so every failure counts: also in a dropped group, or
    after the look on which verdicts rest. No failure counts if the experiment accepts it. A trial that is
    not valid counts on all hosts; lost time and idleness count on the host on which they occurred.
    """
    comparison = experiment.comparison
    factor = comparison.factor
    counts_busy = experiment.design.busy == "count" or comparison.host_independent
    said = {}
    for condition in conditions:
        levels = condition.trials[0].levels
        context, level = experiment.context(levels), levels[factor]
        whose = f"of {level}" if factor == "subject" else f"with {factor}={level}"
        failed = not_valid(Counter(trial.status for trial in condition.trials), whose)
        for host, there in condition.hosts.items():
            said[context, level, host] = " and ".join(
                filter(
                    None,
                    (
                        "" if comparison.accept_invalid else failed,
                        "" if counts_busy else disturbance(there.lost, whose),
                        there.idle and f"trials {whose} measured {there.idle}",
                    ),
                )
            )
    return {place: text for place, text in said.items() if text}


def not_valid(counts: Mapping[Status, int], whose: str) -> str:
    """Return how many trials are not valid: `16 of 24 trials of my_map were invalid`; "" if all are valid."""
    failed = {status.replace("_", " "): count for status, count in counts.items() if status != "valid"}
    total = sum(failed.values())
    if not total:
        return ""
    said = f"{total} of {sum(counts.values())} trials {whose}"
    were = "was" if total == 1 else "were"
    if len(failed) > 1:
        each = ", ".join(f"{count} {status}" for status, count in sorted(failed.items()))
        return f"{said} {were} not valid ({each})"
    [status] = failed
    return f"{said} {were} {status}" if status == "invalid" else f"{said} {status}"


def pairs(
    contexts: Mapping[Context, Groups], target: PlannedComparison, metric: str, failed: Failures
) -> Pairs:
    """Return the values of a metric for a comparison, and why groups have none.

    If a trial of the level or the baseline has failed in this context, no pair of that host counts; the
    comparison is withheld if this is so on all hosts.
    """
    groups = contexts.get(target.key, {})
    withheld = {}
    firsts = [next(iter(group.values())) for group in groups.values()]
    for host in dict.fromkeys(first.ran_on or "" for first in firsts) or [""]:
        places = [(target.key, target.level, host), (target.key, target.baseline, host)]
        withheld[host] = " and ".join(failed[place] for place in places if place in failed)
    of_groups = []
    for (number, group), first in zip(groups.items(), firsts, strict=True):
        sides = group.get(target.level), group.get(target.baseline)
        values = value_of(sides[0], metric), value_of(sides[1], metric)
        reasons = [value for value in values if isinstance(value, str)]
        host = first.ran_on or ""
        reason = WITHHELD if withheld[host] else ""
        if reasons:
            reason = min(reasons, key=_REASONS.index)
        elif not reason and sides[0] and sides[1] and sides[0].ran_on != sides[1].ran_on:
            reason = HOST_CHANGED  # a campaign that was resumed elsewhere within the group
        level, baseline = (math.nan, math.nan) if reason else map(float, values)
        of_groups.append(Pair(number, first.block, level, baseline, reason, host, first.host_number))
    everywhere = "; ".join(_reasons_of_hosts(withheld)) if all(withheld.values()) else ""
    return Pairs(tuple(of_groups), everywhere, host_independent(metric), withheld)


def _reasons_of_hosts(withheld: Mapping[str, str]) -> Iterable[str]:
    """Return why no pair counts on any host: once if it is the same on all, else for each host."""
    reasons = dict.fromkeys(withheld.values())
    return reasons if len(reasons) == 1 else (f"{host}: {reason}" for host, reason in withheld.items())


def counting_pairs(
    trials: Iterable[StoredTrial], experiment: Experiment, analysis: Analysis
) -> list[list[Pair]]:
    """Return for each comparison of the main metric the pairs on which its verdict rests.

    Args:
        trials: the trials from which `analysis` was made.
    """
    trials = list(trials)
    contexts = by_context(counted_trials(without_busy(trials, experiment), analysis.look), experiment)
    failed = failures(by_condition(trials, experiment).values(), experiment)
    of_comparisons = (
        pairs(contexts, target, analysis.metric, failed) for target in planned_comparisons(experiment)
    )
    return [of_level.without_mixed(analysis.host_modes).counting for of_level in of_comparisons]
