"""From a campaign's trials to medians and verdicts."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from assay.analysis.aggregate import Whole, aggregate, by_block, wholes
from assay.analysis.intervals import CONFIDENCE, median, median_interval
from assay.analysis.modes import host_modes
from assay.analysis.pairs import Context, Groups, Pairs, by_context, counted_trials, pairs
from assay.analysis.sequential import reached, waits
from assay.analysis.shape import shape
from assay.analysis.types import (
    Aggregate,
    Analysis,
    Comparison,
    ConditionSummary,
    Estimate,
    HostMode,
    HostModes,
)
from assay.analysis.verdicts import Better, Question, Tested, corrected, decide, estimates
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

Key = tuple[Level, ...]


class Wanted(NamedTuple):
    """A comparison that the experiment asks for."""

    context: Context
    named: Mapping[str, Level]
    level: Level
    baseline: Level


class Asked(NamedTuple):
    """The same of one metric."""

    wanted: Wanted
    metric: str
    better: Better


def summarise(trials: Iterable[StoredTrial], experiment: Experiment) -> Analysis:
    """Summarise the compared metric of every condition, and compare levels with the baseline.

    Only valid trials count, and in a comparison only groups in which the trials of both levels count and
    whose calibrations agree. Conditions are summarised from all trials; comparisons and the host's modes see
    the blocks that the current look covers. The order of `trials` does not matter.
    """
    trials = sorted(trials, key=lambda trial: trial.ordinal)
    asked = experiment.comparison
    design = experiment.design.blocks
    wanted = _wanted(experiment)
    together = wholes([(one.named, one.level) for one in wanted], experiment)
    complete = _complete_blocks(trials, experiment)
    family = len(wanted) + len(together) if asked.correction == "holm" else 1
    look = reached(design, complete, family)
    waiting = waits(design, complete) if look is None else ""
    counted = counted_trials(trials, look)
    modes = host_modes(counted, experiment)
    groups = by_context(counted, experiment)
    question = Question(asked.smallest_effect_percent, asked.correction, look, waiting)
    main = [Asked(one, asked.metric, asked.better) for one in wanted]
    also = [Asked(one, metric, better) for metric, better in asked.also.items() for one in wanted]
    comparisons, aggregates = _compare(main, together, groups, question, modes)
    return Analysis(
        metric=asked.metric,
        factor=asked.factor,
        baseline=asked.against(),
        better=asked.better,
        smallest_effect_percent=asked.smallest_effect_percent,
        confidence=CONFIDENCE,
        conditions=_summarise_conditions(trials, experiment),
        comparisons=comparisons,
        also=_compare(also, [], groups, question, modes)[0],
        aggregates=aggregates,
        look=look,
        host_modes=modes,
        waits=waiting,
    )


def _wanted(experiment: Experiment) -> list[Wanted]:
    """Return every level of every context that has a baseline, in the experiment's order."""
    asked = experiment.comparison
    baselines = experiment.baseline_by_context()
    levels_of: dict[Context, list[Level]] = defaultdict(list)
    named: dict[Context, dict[str, Level]] = {}
    for condition in experiment.conditions():
        context = experiment.context(condition)
        levels_of[context].append(condition[asked.factor])
        named[context] = {name: level for name, level in condition.items() if name != asked.factor}
    return [
        Wanted(context, named[context], level, baselines[context])
        for context, levels in levels_of.items()
        if context in baselines
        for level in levels
        if level != baselines[context]
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
    asked: Sequence[Asked],
    together: Sequence[Whole],
    groups: Mapping[Context, Groups],
    question: Question,
    modes: HostModes | None,
) -> tuple[tuple[Comparison, ...], tuple[Aggregate, ...]]:
    """Return the comparisons of a family, and its aggregates, which put some of them together."""
    question = question.of(len(asked) + len(together))
    better = [*(one.better for one in asked), *(asked[whole.members[0]].better for whole in together)]

    def tested(chosen: Sequence[Pairs]) -> list[Tested]:
        """Test the whole family on some of its pairs."""
        samples = [
            by_block([chosen[index] for index in whole.members], whole.weights)[0] for whole in together
        ]
        return estimates([*(one.log_ratios for one in chosen), *samples], better, question)

    every = [
        pairs(groups.get(one.wanted.context, {}), one.wanted.level, one.wanted.baseline, one.metric)
        for one in asked
    ]
    counted = [one.without_mixed(modes) for one in every]
    found = tested(counted)
    decided = decide(found, question)
    all_groups = corrected(tested(every), question)
    in_mode: dict[HostMode, list[Estimate]] = {}
    if modes is not None:
        in_mode = {
            mode: corrected(tested([one.in_mode(modes, mode) for one in every]), question)
            for mode in modes.centers
        }
    comparisons = tuple(
        Comparison(
            metric=one.metric,
            context=one.wanted.named,
            level=one.wanted.level,
            baseline=one.wanted.baseline,
            ratio=found[index].estimate.ratio,
            interval=found[index].estimate.interval,
            p=found[index].estimate.p,
            p_adjusted=decided[index].p_adjusted,
            verdict=decided[index].verdict,
            pairs=found[index].estimate.pairs,
            dropped=counted[index].counted(),
            reason=decided[index].reason,
            all_groups=all_groups[index],
            modes={mode: estimated[index] for mode, estimated in in_mode.items()},
        )
        for index, one in enumerate(asked)
    )
    aggregates = tuple(
        aggregate(
            whole,
            comparisons,
            found[index].estimate,
            decided[index],
            by_block([counted[member] for member in whole.members], whole.weights)[1],
        )
        for index, whole in enumerate(together, len(asked))
    )
    return comparisons, aggregates
