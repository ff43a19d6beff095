"""From a campaign's trials to medians and verdicts."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from assay.analysis.intervals import CONFIDENCE, SignFlips, median, median_interval, sign_flips
from assay.analysis.types import Analysis, Comparison, ConditionSummary, Estimate, Interval, Verdict
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

Key = tuple[Level, ...]


def summarise(trials: Iterable[StoredTrial], experiment: Experiment) -> Analysis:
    """Summarise the compared metric of every condition, and compare its levels with the baseline.

    Only valid trials count, and in a comparison only groups in which the trials of both levels count. The
    order of `trials` does not matter.
    """
    trials = sorted(trials, key=lambda trial: trial.ordinal)
    asked = experiment.comparison
    conditions = experiment.conditions()
    by_condition: dict[Key, list[StoredTrial]] = defaultdict(list)
    by_context: dict[Key, dict[int, dict[Level, StoredTrial]]] = defaultdict(lambda: defaultdict(dict))
    for trial in trials:
        by_condition[_key(trial.levels, experiment)].append(trial)
        by_context[experiment.context(trial.levels)][trial.group][trial.levels[asked.factor]] = trial
    return Analysis(
        metric=asked.metric,
        factor=asked.factor,
        baseline=asked.baseline,
        better=asked.better,
        smallest_effect_percent=asked.smallest_effect_percent,
        confidence=CONFIDENCE,
        conditions=tuple(
            _summarise_condition(condition, by_condition[_key(condition, experiment)], asked.metric)
            for condition in conditions
        ),
        comparisons=tuple(_compare(conditions, by_context, experiment)),
    )


def verdict(
    interval: Interval | None, better: Literal["higher", "lower"], smallest_effect_percent: float
) -> Verdict:
    """Return what the interval of a ratio allows to be said.

    Equivalent: it lies within the smallest effect of 1, that is, in [1 / (1 + e), 1 + e]. Otherwise faster or
    slower: it excludes 1. Otherwise, and without an interval, undecided.
    """
    if interval is None:
        return "undecided"
    largest = 1 + smallest_effect_percent / 100
    if 1 / largest <= interval.low and interval.high <= largest:
        return "equivalent"
    if interval.low > 1:
        return "faster" if better == "higher" else "slower"
    if interval.high < 1:
        return "slower" if better == "higher" else "faster"
    return "undecided"


def _key(levels: Mapping[str, Level], experiment: Experiment) -> Key:
    return tuple(levels[factor] for factor in experiment.factors)


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
    )


def _compare(
    conditions: Sequence[Mapping[str, Level]],
    by_context: Mapping[Key, Mapping[int, Mapping[Level, StoredTrial]]],
    experiment: Experiment,
) -> list[Comparison]:
    """Compare every level with the baseline of its context, in the experiment's order."""
    asked = experiment.comparison
    levels_of: dict[Key, list[Level]] = defaultdict(list)
    context_of: dict[Key, dict[str, Level]] = {}
    for condition in conditions:
        context = experiment.context(condition)
        levels_of[context].append(condition[asked.factor])
        context_of[context] = {name: level for name, level in condition.items() if name != asked.factor}

    wanted = [
        (context, level)
        for context, levels in levels_of.items()
        if asked.baseline in levels
        for level in levels
        if level != asked.baseline
    ]
    paired = [
        _pair(by_context.get(context, {}).values(), level, asked.baseline, asked.metric)
        for context, level in wanted
    ]
    same_size: dict[int, list[int]] = defaultdict(list)
    for index, (log_ratios, _) in enumerate(paired):
        same_size[len(log_ratios)].append(index)
    tested: dict[int, tuple[SignFlips, int]] = {}
    for size, indices in same_size.items():
        if size:
            tests = sign_flips([paired[index][0] for index in indices])
            tested |= {index: (tests, row) for row, index in enumerate(indices)}

    comparisons = []
    for index, (context, level) in enumerate(wanted):
        log_ratios, dropped = paired[index]
        ratio = p = interval = None
        if index in tested:
            tests, row = tested[index]
            ratio, p = _exp(tests.center[row]), float(tests.p[row])
            if tests.low is not None and tests.high is not None:
                interval = Interval(_exp(tests.low[row]), _exp(tests.high[row]), tests.confidence)
        found = verdict(interval, asked.better, asked.smallest_effect_percent)
        reason = ""
        if interval is None:
            reason = f"{len(log_ratios)} pairs are too few for an interval of {CONFIDENCE:.0%}: it takes 6"
        elif found == "undecided":
            reason = "the interval holds 1 and reaches beyond the smallest effect"
        comparisons.append(
            Comparison(
                metric=asked.metric,
                context=context_of[context],
                level=level,
                baseline=asked.baseline,
                ratio=ratio,
                interval=interval,
                p=p,
                p_adjusted=p,
                verdict=found,
                pairs=len(log_ratios),
                dropped=dropped,
                reason=reason,
                all_groups=Estimate(ratio, interval, p, found, len(log_ratios)),
            )
        )
    return comparisons


def _exp(log_ratio: float) -> float:
    """Return the ratio, short of where a double overflows."""
    return math.exp(min(max(log_ratio, -700), 700))


def _pair(
    groups: Iterable[Mapping[Level, StoredTrial]], level: Level, baseline: Level, metric: str
) -> tuple[list[float], dict[str, int]]:
    """Return the log ratios of the groups that count, and how many do not for each reason."""
    log_ratios = []
    dropped: Counter[str] = Counter()
    for group in groups:
        pair = [group[one] for one in (level, baseline) if one in group]
        values = [trial.metrics.get(metric) for trial in pair]
        usable = [value for value in values if value is not None and 0 < value < math.inf]
        if any(trial.status != "valid" for trial in pair):
            dropped["not valid"] += 1
        elif len(pair) < 2:
            dropped["not run"] += 1
        elif None in values:
            dropped["metric missing"] += 1
        elif len(usable) < 2:
            dropped["not above zero"] += 1
        else:
            log_ratios.append(math.log(usable[0]) - math.log(usable[1]))
    return log_ratios, dict(dropped)
