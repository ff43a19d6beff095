"""How far a verdict holds beyond its own trials: Blackwell 1998, section 3.5.

Four questions, each about a larger change: the same trial again, a slightly different configuration, another
campaign or host, another level of the other factors. Each is answered from measurements; without any, the
answer is None.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.intervals import NEGLIGIBLE
from assay.analysis.pairs import Context, by_context, counting_pairs, value_of
from assay.analysis.types import Analysis, Comparison, Verdict
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial
from assay.words import condition_name


@dataclass(frozen=True)
class Repeatability:
    """How close trials of one configuration are: the same condition with the same perturbations.

    Their seeds differ, unless a plan says otherwise: a workload's random numbers are part of the system.

    Attributes:
        spread_percent: pooled standard deviation of the metric within configurations.
        configurations, trials: their numbers, level and baseline together; only configurations with at least
            two trials count.
    """

    spread_percent: float
    configurations: int
    trials: int


@dataclass(frozen=True)
class Robustness:
    """Whether the verdict holds in single configurations: pairs of two perturbed trials.

    Attributes:
        spread_percent: standard deviation of the pairs' ratios.
        pairs: their number, at least two.
        agreeing: number of pairs whose ratio has the verdict's direction, or lies within the smallest effect
            if the verdict is equivalent; None if it is undecided.
    """

    spread_percent: float
    pairs: int
    agreeing: int | None


@dataclass(frozen=True)
class Agreement:
    """How other verdicts compare with one.

    Attributes:
        of: number of other verdicts.
        agreeing: number of equal verdicts; None if this one is undecided.
        contradicting: number of opposite verdicts: faster against slower.
    """

    of: int
    agreeing: int | None
    contradicting: int


@dataclass(frozen=True)
class Reproducibility:
    """The same comparison in other campaigns with the same question.

    Attributes:
        verdicts: how their verdicts compare with this one.
        hosts: number of other hosts on which they ran.
    """

    verdicts: Agreement
    hosts: int


@dataclass(frozen=True)
class PredictiveValue:
    """The same level in the other contexts.

    Attributes:
        verdicts: how their verdicts compare with this one.
        predicted: the geometric mean of their ratios; None if there is no ratio.
    """

    verdicts: Agreement
    predicted: float | None


@dataclass(frozen=True)
class OtherCampaignVerdict:
    """A verdict of another campaign with the same question.

    Attributes:
        host: the name of its host.
        compared: the key of the comparison, from the function `compared`.
    """

    campaign: int
    host: str
    compared: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Meaning:
    """How far the verdict of a comparison holds; None for what has not been measured.

    Attributes:
        asked_otherwise: if no other campaign had the same question, how that of the latest one differed.
    """

    comparison: Comparison
    repeatability: Repeatability | None
    robustness: Robustness | None
    reproducibility: Reproducibility | None
    predictive_value: PredictiveValue | None
    asked_otherwise: str = ""


def meanings(
    trials: Iterable[StoredTrial],
    experiment: Experiment,
    analysis: Analysis,
    *,
    host: str,
    elsewhere: Sequence[OtherCampaignVerdict],
    replicates: Iterable[StoredTrial] = (),
    asked_otherwise: str = "",
) -> list[Meaning]:
    """Return how far each verdict holds, for the comparisons of the main metric that have a ratio.

    Args:
        trials: the trials from which `analysis` was made.
        host: the name of the campaign's host.
        elsewhere: the verdicts of other campaigns with the same question.
        replicates: the trials of a sensitivity campaign with the experiment's conditions.
        asked_otherwise: as in `Meaning`.
    """
    trials = list(trials)
    repeated = _repeated([*trials, *replicates], experiment)
    groups = by_context(trials, experiment)
    of_comparisons = zip(analysis.comparisons, counting_pairs(trials, experiment, analysis), strict=True)
    found = []
    for comparison, pairs in of_comparisons:
        if comparison.ratio is None or any(comparison.zeros):  # spreads are those of ratios
            continue
        key = tuple(comparison.context.values())
        sides = (comparison.level, comparison.baseline)
        perturbed = [
            pair.log_ratio
            for pair in pairs
            if not any(groups[key][pair.group][side].unperturbed for side in sides)
        ]
        found.append(
            Meaning(
                comparison,
                _repeatability([values for side in sides for values in repeated[key, side]]),
                _robustness(perturbed, comparison.verdict, analysis),
                _reproducibility(comparison, host, elsewhere),
                _predictive_value(comparison, analysis),
                asked_otherwise,
            )
        )
    return found


def compared(metric: str, context: str, level: Level, baseline: Level) -> tuple[str, ...]:
    """Return the key that identifies a comparison within an experiment, with the context's name."""
    return metric, context, str(level), str(baseline)


def _repeated(
    trials: Iterable[StoredTrial], experiment: Experiment
) -> Mapping[tuple[Context, Level], list[list[float]]]:
    """Return context and level -> logarithms of the metric in each configuration that ran twice or more."""
    comparison = experiment.comparison
    configurations: dict[tuple[Context, Level, str], list[float]] = defaultdict(list)
    for trial in trials:
        value = value_of(trial, comparison.metric)
        if isinstance(value, float) and value > 0:
            drawn = repr(sorted(trial.perturbation.items()))
            place = (experiment.context(trial.levels), trial.levels[comparison.factor], drawn)
            configurations[place].append(math.log(value))
    by_side: dict[tuple[Context, Level], list[list[float]]] = defaultdict(list)
    for (context, level, _), values in configurations.items():
        if len(values) > 1:
            by_side[context, level].append(values)
    return by_side


def _repeatability(configurations: Sequence[Sequence[float]]) -> Repeatability | None:
    if not configurations:
        return None
    trials = sum(map(len, configurations))
    squares = sum(float(np.var(values)) * len(values) for values in configurations)
    return Repeatability(
        _in_percent(math.sqrt(squares / (trials - len(configurations)))), len(configurations), trials
    )


def _robustness(log_ratios: Sequence[float], verdict: Verdict, analysis: Analysis) -> Robustness | None:
    if len(log_ratios) < 2:
        return None
    agreeing = None
    if verdict == "equivalent":
        bound = math.log1p(analysis.smallest_effect_percent / 100)
        agreeing = sum(abs(log_ratio) <= bound + NEGLIGIBLE for log_ratio in log_ratios)
    elif verdict != "undecided":
        above = (verdict == "faster") == (analysis.better == "higher")
        agreeing = sum((log_ratio if above else -log_ratio) > NEGLIGIBLE for log_ratio in log_ratios)
    return Robustness(_in_percent(float(np.std(log_ratios, ddof=1))), len(log_ratios), agreeing)


def _reproducibility(
    comparison: Comparison, host: str, elsewhere: Sequence[OtherCampaignVerdict]
) -> Reproducibility | None:
    context = condition_name(comparison.context) if comparison.context else ""
    same = compared(comparison.metric, context, comparison.level, comparison.baseline)
    others = [other for other in elsewhere if other.compared == same]
    if not others:
        return None
    verdicts = _agreement(comparison.verdict, [other.verdict for other in others])
    return Reproducibility(verdicts, len({other.host for other in others} - {host}))


def _predictive_value(comparison: Comparison, analysis: Analysis) -> PredictiveValue | None:
    others = [
        other
        for other in analysis.comparisons
        if (other.level, other.baseline) == (comparison.level, comparison.baseline)
        and other.context != comparison.context
        and not other.withheld
    ]
    if not others:
        return None
    logs = [math.log(other.ratio) for other in others if other.ratio]  # none of 0, which has no logarithm
    predicted = math.exp(sum(logs) / len(logs)) if logs else None
    return PredictiveValue(_agreement(comparison.verdict, [other.verdict for other in others]), predicted)


def _agreement(verdict: Verdict, others: Sequence[Verdict]) -> Agreement:
    agreeing = None if verdict == "undecided" else others.count(verdict)
    opposite = {"faster": "slower", "slower": "faster"}.get(verdict)
    return Agreement(len(others), agreeing, sum(other == opposite for other in others))


def _in_percent(log_spread: float) -> float:
    """Return a standard deviation of logarithms in percent of the values; it never overflows."""
    return 100 * math.expm1(min(log_spread, 700))
