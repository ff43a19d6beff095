"""The pairs that comparisons rest on: the two trials of a group, as one log ratio."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.types import HostModes, Look
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

Context = tuple[Level, ...]
Groups = Mapping[int, Mapping[Level, StoredTrial]]

HOST_CHANGED = "host changed"
"""Why a group does not count whose calibrations disagree."""

NOT_RUN = "not run"
_REASONS = ("not valid", NOT_RUN, "metric missing", "not above zero")
"""Why a trial has no logarithm of a metric, the one that says most first."""


@dataclass(frozen=True)
class Dropped:
    """A group that has no log ratio, and why."""

    block: int
    reason: str


@dataclass(frozen=True)
class Pairs:
    """One level against the baseline in one context.

    Attributes:
        log_ratios: of the groups in which both trials count.
        groups, blocks: the number of each one's group and block.
        dropped: group -> why it has no log ratio.
    """

    log_ratios: NDArray[np.float64]
    groups: NDArray[np.int64]
    blocks: NDArray[np.int64]
    dropped: Mapping[int, Dropped]

    def counted(self) -> dict[str, int]:
        """Return reason -> number of groups that were dropped for it."""
        return dict(Counter(group.reason for group in self.dropped.values()))

    def in_mode(self, modes: HostModes, mode: str) -> "Pairs":
        """Return the pairs of the groups that ran in one mode of the host."""
        there = np.array([modes.of_group.get(group) == mode for group in self.groups.tolist()], dtype=bool)
        return Pairs(self.log_ratios[there], self.groups[there], self.blocks[there], self.dropped)

    def without_mixed(self, modes: HostModes | None) -> "Pairs":
        """Return the pairs less those of groups whose calibrations disagree."""
        of_group = {} if modes is None else modes.of_group
        mixed = np.array([of_group.get(group) == "mixed" for group in self.groups.tolist()], dtype=bool)
        changed = {
            group: Dropped(block, HOST_CHANGED)
            for group, block in zip(self.groups[mixed].tolist(), self.blocks[mixed].tolist(), strict=True)
        }
        return Pairs(
            self.log_ratios[~mixed], self.groups[~mixed], self.blocks[~mixed], {**self.dropped, **changed}
        )


class Wanted(NamedTuple):
    """A comparison that the experiment asks for.

    Attributes:
        key: the context, as `by_context` has it.
        context: factor -> level, without the compared factor.
    """

    key: Context
    context: Mapping[str, Level]
    level: Level
    baseline: Level


def wanted(experiment: Experiment) -> list[Wanted]:
    """Return every level of every context that has a baseline: by context, in the experiment's order."""
    compared = experiment.comparison.factor
    baselines = experiment.baseline_by_context()
    contexts: dict[Context, list[Wanted]] = {}
    for condition in experiment.conditions():
        key, level = experiment.context(condition), condition[compared]
        members = contexts.setdefault(key, [])  # placed by its first condition, which may be a baseline
        if level != baselines.get(key, level):
            context = {name: other for name, other in condition.items() if name != compared}
            members.append(Wanted(key, context, level, baselines[key]))
    return list(chain.from_iterable(contexts.values()))


def condition_key(levels: Mapping[str, Level], experiment: Experiment) -> tuple[Level, ...]:
    """Return the levels of a condition in the order of the experiment's factors."""
    return tuple(levels[factor] for factor in experiment.factors)


def logarithm(trial: StoredTrial | None, metric: str) -> float | str:
    """Return the logarithm of a metric of a trial, or why it has none."""
    if trial is None:
        return NOT_RUN
    value = trial.metrics.get(metric)
    if trial.status != "valid":
        return "not valid"
    if value is None:
        return "metric missing"
    return math.log(value) if 0 < value < math.inf else "not above zero"


def counted_trials(trials: Iterable[StoredTrial], look: Look | None) -> list[StoredTrial]:
    """Return the trials that a look sees, in the order in which they ran; before the first look, all."""
    covered = (trial for trial in trials if look is None or trial.block < look.blocks)
    return sorted(covered, key=lambda trial: trial.ordinal)


def by_context(trials: Iterable[StoredTrial], experiment: Experiment) -> Mapping[Context, Groups]:
    """Return context -> group -> level of the compared factor -> trial."""
    contexts: dict[Context, dict[int, dict[Level, StoredTrial]]] = defaultdict(lambda: defaultdict(dict))
    compared = experiment.comparison.factor
    for trial in trials:
        contexts[experiment.context(trial.levels)][trial.group][trial.levels[compared]] = trial
    return contexts


def pairs(groups: Groups, level: Level, baseline: Level, metric: str) -> Pairs:
    """Return the log ratios of a metric between two levels, and why other groups have none."""
    log_ratios, numbers, blocks = [], [], []
    dropped: dict[int, Dropped] = {}
    for number, group in groups.items():
        logarithms = [logarithm(group.get(side), metric) for side in (level, baseline)]
        reasons = [reason for reason in _REASONS if reason in logarithms]
        block = next(iter(group.values())).block
        if reasons:
            dropped[number] = Dropped(block, reasons[0])
        else:
            log_ratios.append(float(logarithms[0]) - float(logarithms[1]))
            numbers.append(number)
            blocks.append(block)
    return Pairs(
        np.array(log_ratios, dtype=np.float64),
        np.array(numbers, dtype=np.int64),
        np.array(blocks, dtype=np.int64),
        dropped,
    )
