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


def sample_of(
    level: Sequence[Sequence[float]],
    baseline: Sequence[Sequence[float]],
    *,
    by_difference: bool,
    hosts: Sequence[str] = (),
) -> Sample:
    """Return the sample of pairs, each with one or several values on either side."""
    sides = level, baseline
    every = [value for side in sides for values in side for value in values]
    means = [np.array([sum(values) / len(values) for values in side]) for side in sides]
    if not by_difference and min(every, default=1.0) > 0:
        logs = [np.array([sum(map(math.log, values)) / len(values) for values in side]) for side in sides]
        return Sample("logs", logs[0] - logs[1], means[0], means[1], hosts=hosts)
    zeros = [sum(value == 0 for values in side for value in values) for side in sides]
    by_difference = by_difference or min(every) < 0
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
    def of_block(self) -> dict[Unit, list[Pair]]:
        """Block -> its pairs that count."""
        blocks: dict[Unit, list[Pair]] = defaultdict(list)
        for pair in self.counting:
            blocks[pair.unit].append(pair)
        return dict(blocks)

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
        return sample_of(
            [[pair.level] for pair in self.counting],
            [[pair.baseline] for pair in self.counting],
            by_difference=by_difference,
            hosts=[pair.host for pair in self.counting],
        )

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
    for trial in trials:
        contexts[experiment.context(trial.levels)][trial.group][trial.levels[compared]] = trial
    return contexts


def failures(trials: Iterable[StoredTrial], experiment: Experiment) -> Failures:
    """Return the levels whose trials do not count: one is not valid, or all lost too much processor time or
    are idle.

    Code that sometimes fails may always do wrong work, so every failure counts: also in a dropped group, or
    after the look on which verdicts rest. No failure counts if the experiment accepts it. A trial that is
    not valid counts on all hosts; lost time and idleness count on the host on which they occurred.
    """
    trials = list(trials)
    comparison = experiment.comparison
    factor = comparison.factor
    quiet = {trial.ordinal for trial in without_busy(trials, experiment)}
    by_place: dict[tuple[Context, Level], list[StoredTrial]] = defaultdict(list)
    for trial in trials:
        by_place[experiment.context(trial.levels), trial.levels[factor]].append(trial)
    counts_busy = experiment.design.busy == "count" or comparison.host_independent
    said = {}
    for (context, level), everywhere in by_place.items():
        whose = f"of {level}" if factor == "subject" else f"with {factor}={level}"
        failed = not_valid(Counter(trial.status for trial in everywhere), whose)
        for host, members in by_host(everywhere).items():
            disturbed = lost(trial for trial in members if trial.ordinal in quiet)
            idle = idleness(members, experiment)
            said[context, level, host] = " and ".join(
                filter(
                    None,
                    (
                        "" if comparison.accept_invalid else failed,
                        "" if counts_busy else disturbance(disturbed, whose),
                        idle and f"trials {whose} measured {idle}",
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
    firsts = {number: next(iter(group.values())) for number, group in groups.items()}
    withheld = {}
    for host in by_host(firsts.values()) or {"": []}:
        places = [(target.key, target.level, host), (target.key, target.baseline, host)]
        withheld[host] = " and ".join(failed[place] for place in places if place in failed)
    of_groups = []
    for number, group in groups.items():
        sides = [group.get(side) for side in (target.level, target.baseline)]
        values = [value_of(trial, metric) for trial in sides]
        first = firsts[number]
        host = first.ran_on or ""
        reason = next((reason for reason in _REASONS if reason in values), WITHHELD if withheld[host] else "")
        if not reason and len({trial.ran_on for trial in sides if trial}) > 1:
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
    failed = failures(trials, experiment)
    of_comparisons = (
        pairs(contexts, target, analysis.metric, failed) for target in planned_comparisons(experiment)
    )
    return [of_level.without_mixed(analysis.host_modes).counting for of_level in of_comparisons]
