"""From a campaign's trials to medians and verdicts."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from assay.analysis.aggregate import aggregate
from assay.analysis.intervals import CONFIDENCE, median, median_interval
from assay.analysis.modes import host_modes
from assay.analysis.pairs import Context, Groups, Pairs, by_context, counted_trials, pairs
from assay.analysis.sequential import reached
from assay.analysis.shape import shape
from assay.analysis.types import Analysis, Comparison, ConditionSummary, HostMode, HostModes
from assay.analysis.verdicts import Better, Question, decide, estimates
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

Key = tuple[Level, ...]


class Wanted(NamedTuple):
    """A comparison that the experiment asks for."""

    context: Context
    named: Mapping[str, Level]
    level: Level


class Asked(NamedTuple):
    """The same of one metric."""

    wanted: Wanted
    metric: str
    better: Better


def summarise(trials: Iterable[StoredTrial], experiment: Experiment) -> Analysis:
    """Summarise the compared metric of every condition, and compare levels with the baseline.

    Only valid trials count, and in a comparison only groups in which the trials of both levels count and
    whose calibrations agree. Conditions are summarised from all trials; comparisons see the blocks that the
    current look covers. The order of `trials` does not matter.
    """
    trials = sorted(trials, key=lambda trial: trial.ordinal)
    asked = experiment.comparison
    wanted = _wanted(experiment)
    family = len(wanted) if asked.correction == "holm" else 1
    look = reached(experiment.design.blocks, _complete_blocks(trials, experiment), family)
    modes = host_modes(trials, experiment)
    groups = by_context(counted_trials(trials, look), experiment)
    question = Question(asked.smallest_effect_percent, asked.correction, look)
    main = [Asked(one, asked.metric, asked.better) for one in wanted]
    also = [Asked(one, metric, better) for metric, better in asked.also.items() for one in wanted]
    comparisons, steady = _compare(main, groups, experiment, question, modes)
    return Analysis(
        metric=asked.metric,
        factor=asked.factor,
        baseline=asked.baseline,
        better=asked.better,
        smallest_effect_percent=asked.smallest_effect_percent,
        confidence=CONFIDENCE,
        conditions=_summarise_conditions(trials, experiment),
        comparisons=comparisons,
        also=_compare(also, groups, experiment, question, modes)[0],
        aggregates=aggregate(comparisons, steady, asked, question),
        look=look,
        host_modes=modes,
    )


def _wanted(experiment: Experiment) -> list[Wanted]:
    """Return every level of every context that has a baseline, in the experiment's order."""
    asked = experiment.comparison
    levels_of: dict[Context, list[Level]] = defaultdict(list)
    named: dict[Context, dict[str, Level]] = {}
    for condition in experiment.conditions():
        context = experiment.context(condition)
        levels_of[context].append(condition[asked.factor])
        named[context] = {name: level for name, level in condition.items() if name != asked.factor}
    return [
        Wanted(context, named[context], level)
        for context, levels in levels_of.items()
        if asked.baseline in levels
        for level in levels
        if level != asked.baseline
    ]


def _complete_blocks(trials: Iterable[StoredTrial], experiment: Experiment) -> int:
    """Return how many blocks from the first on have a trial of every condition."""
    seen: dict[int, set[Key]] = defaultdict(set)
    for trial in trials:
        seen[trial.block].add(_key(trial.levels, experiment))
    conditions = len(experiment.conditions())
    return next(block for block in count() if len(seen[block]) < conditions)


def _key(levels: Mapping[str, Level], experiment: Experiment) -> Key:
    return tuple(levels[factor] for factor in experiment.factors)


def _summarise_conditions(
    trials: Iterable[StoredTrial], experiment: Experiment
) -> tuple[ConditionSummary, ...]:
    by_condition: dict[Key, list[StoredTrial]] = defaultdict(list)
    for trial in trials:
        by_condition[_key(trial.levels, experiment)].append(trial)
    return tuple(
        _summarise_condition(
            condition, by_condition[_key(condition, experiment)], experiment.comparison.metric
        )
        for condition in experiment.conditions()
    )


def _summarise_condition(
    levels: Mapping[str, Level], trials: Sequence[StoredTrial], metric: str
) -> ConditionSummary:
    valid = [trial.metrics.get(metric) for trial in trials if trial.status == "valid"]
    values = [value for value in valid if value is not None and math.isfinite(value)]
    return ConditionSummary(
        levels=levels,
        counts=dict(Counter(trial.status for trial in trials)),
        values=len(values),
        missing=len(valid) - len(values),
        median=median(values) if values else None,
        interval=median_interval(values),
        shape=shape(values),
    )


def _compare(
    family: Sequence[Asked],
    groups: Mapping[Context, Groups],
    experiment: Experiment,
    question: Question,
    modes: HostModes | None,
) -> tuple[tuple[Comparison, ...], list[Pairs]]:
    """Return the comparisons of a family, and the pairs that each one's verdict rests on."""
    baseline = experiment.comparison.baseline
    better = [one.better for one in family]
    every = [
        pairs(groups.get(one.wanted.context, {}), one.wanted.level, baseline, one.metric) for one in family
    ]
    steady = [one.steady(modes) for one in every]
    tested = estimates([one.log_ratios for one in steady], better, question.of(len(family)))
    decided = decide(tested, question.of(len(family)))
    without_exclusions = estimates([one.log_ratios for one in every], better, question)
    names: tuple[HostMode, ...] = ("fast", "slow") if modes is not None and modes.centers else ()
    in_mode = {
        name: estimates([one.in_mode(modes, name) for one in every], better, question) for name in names
    }
    comparisons = tuple(
        Comparison(
            metric=one.metric,
            context=one.wanted.named,
            level=one.wanted.level,
            baseline=baseline,
            ratio=tested[index].estimate.ratio,
            interval=tested[index].estimate.interval,
            p=tested[index].estimate.p,
            p_adjusted=decided[index].p_adjusted,
            verdict=decided[index].verdict,
            pairs=tested[index].estimate.pairs,
            dropped=steady[index].counted(),
            reason=decided[index].reason,
            all_groups=without_exclusions[index].estimate,
            modes={name: found[index].estimate for name, found in in_mode.items()},
        )
        for index, one in enumerate(family)
    )
    return comparisons, steady
