"""How sensitive each condition of an experiment is, for each thing that is perturbed."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from assay.analysis.busy import is_busy, lost, without_busy
from assay.analysis.hosts import on_one_scale
from assay.analysis.pairs import by_host
from assay.analysis.sensitivity import Enough, Relative, Scale, Sensitivity, enough, relative, sensitivity
from assay.analysis.summary import worse_than_share
from assay.experiment import Experiment
from assay.experiment.sensitivity import CONFIGURATION, EVERYTHING, NOTHING, PERTURBED
from assay.experiment.types import Level
from assay.plan.types import LAYOUT
from assay.store.types import StoredTrial

LEFT_OUT_AT_MOST = 0.2
"""If the host was busy for more than this share of the configurations, their sensitivity is not reported.
Configurations that are lost at random only widen the interval. If load always hits the most extreme ones,
losing a fifth makes the typical error a sixth too small, and losing half a quarter (`docs/statistics.md`)."""


@dataclass(frozen=True)
class DisturbedConfigurations:
    """Configurations that do not count because other work disturbed their trials.

    Attributes:
        busy: number of disturbed configurations.
        drawn: number of all configurations.
    """

    busy: int
    drawn: int

    @property
    def too_many(self) -> bool:
        """Whether the result without them may differ from that of all configurations."""
        return self.busy > LEFT_OUT_AT_MOST * self.drawn


@dataclass(frozen=True)
class Zeros:
    """The number of trials in which the metric is 0 or below, and the number of all trials."""

    count: int
    of: int


@dataclass(frozen=True)
class SensitivityRatio:
    """The sensitivity to everything in one condition, relative to the condition with a factor's first level.

    Attributes:
        factor: the factor in which the two conditions differ.
        baseline: its first level.
        relative: the ratio of the deviations between configurations; None if a condition has no deviation.
    """

    factor: str
    baseline: Level
    relative: Relative | None


@dataclass(frozen=True)
class ConditionSensitivity:
    """How sensitive the metric is in one condition.

    Attributes:
        levels: factor -> level, without the two factors that a sensitivity experiment adds.
        scale: the scale of the sensitivities, the same in all conditions.
        perturbed: what was perturbed -> the metric's sensitivity to it; None if fewer than two configurations
            have a valid trial with the metric, the scale needs a mean and it is 0, too many configurations
            were disturbed, or layouts could not be drawn.
        left_out: what was perturbed -> the disturbed configurations, if there are any.
        medians: what was perturbed -> each configuration's median of the metric, ascending.
        zeros: what was perturbed -> in how many valid trials the metric is 0 or below.
        unperturbed: the median of the metric without perturbation; None without a trial.
        enough: the amount of randomness, in units of C, beyond which more does not help; None if none was
            added, or a configuration has no replicates.
        against: the sensitivity relative to each factor's first level, unless that is the level here.
        one_layout: why the program's layout could not be drawn as requested; else empty.
    """

    levels: Mapping[str, Level]
    scale: Scale
    perturbed: Mapping[str, Sensitivity | None]
    left_out: Mapping[str, DisturbedConfigurations]
    medians: Mapping[str, tuple[float, ...]]
    zeros: Mapping[str, Zeros]
    unperturbed: float | None
    enough: Enough | None
    against: tuple[SensitivityRatio, ...] = ()
    one_layout: str = ""


def condition_sensitivities(
    trials: Sequence[StoredTrial], experiment: Experiment, one_layout: Mapping[str, str]
) -> list[ConditionSensitivity]:
    """Return the sensitivity in each condition from the campaign's valid trials, in the factors' order.

    Args:
        trials: all trials of the campaign.
        experiment: a sensitivity experiment.
        one_layout: subject -> why its layout could not be drawn as requested.
    """
    names = [name for name in experiment.factors if name not in (PERTURBED, CONFIGURATION)]
    by_condition: dict[_Levels, dict[str, dict[Level, list[StoredTrial]]]] = {}
    for condition in experiment.conditions():
        rest = tuple(condition[name] for name in names)
        by_level = by_condition.setdefault(rest, defaultdict(dict))
        by_level[str(condition[PERTURBED])][condition[CONFIGURATION]] = []
    for trial in _on_one_scale(without_busy(trials, experiment), names, experiment.comparison.metric):
        rest = tuple(trial.levels[name] for name in names)
        by_condition[rest][str(trial.levels[PERTURBED])][trial.levels[CONFIGURATION]].append(trial)
    values: dict[_Levels, _Values] = {}
    for rest, by_level in by_condition.items():
        levels = dict(zip(names, rest, strict=True))
        reason = one_layout.get(experiment.settings(levels)["subject"], "")
        values[rest] = _Values(levels, by_level, experiment, reason)
    scale = _scale(value for near in values.values() for value in near.each())
    pairs = {rest: list(_baselines(rest, names, experiment, values)) for rest in values}
    ratios = sum(map(len, pairs.values()))
    found = []
    for rest, near in values.items():
        own = near.scaled(EVERYTHING, scale)
        against = tuple(
            SensitivityRatio(factor, level, relative(own, base.scaled(EVERYTHING, scale), scale, ratios))
            for factor, level, base in pairs[rest]
        )
        found.append(near.summary(scale, len(values), against))
    return found


_Levels = tuple[Level, ...]


def _on_one_scale(trials: Sequence[StoredTrial], names: Sequence[str], metric: str) -> Sequence[StoredTrial]:
    """Return the trials of several hosts as if each host had the same median in a condition.

    Configurations run on every host: how fast a host is must not count as what a configuration does.
    """
    if len(by_host(trials)) < 2:
        return trials
    by_condition: dict[_Levels, list[StoredTrial]] = defaultdict(list)
    for trial in trials:
        if trial.status == "valid" and _finite([trial], metric):
            by_condition[tuple(trial.levels[name] for name in names)].append(trial)
    scaled: dict[int, float] = {}
    for members in by_condition.values():
        hosts = by_host(members)
        values = on_one_scale({host: _finite(there, metric) for host, there in hosts.items()})
        ordinals = (trial.ordinal for there in hosts.values() for trial in there)
        scaled |= zip(ordinals, values, strict=True)
    return [
        replace(trial, metrics={**trial.metrics, metric: scaled[trial.ordinal]})
        if trial.ordinal in scaled
        else trial
        for trial in trials
    ]


class _Values:
    """The values of the metric in one condition.

    Attributes:
        quiet: what was perturbed -> the values of each configuration that other work did not disturb.
    """

    def __init__(
        self,
        levels: Mapping[str, Level],
        by_level: Mapping[str, Mapping[Level, Sequence[StoredTrial]]],
        experiment: Experiment,
        reason: str,
    ) -> None:
        self.levels = levels
        self.experiment = experiment
        self.reason = reason
        self.left_out: dict[str, DisturbedConfigurations] = {}
        self.quiet: dict[str, list[list[float]]] = {}
        for name, by_configuration in by_level.items():
            drawn = list(by_configuration.values())
            if experiment.design.busy != "count":
                drawn = [trials for trials in drawn if not is_busy(lost(trials))]
            if busy := len(by_configuration) - len(drawn):
                self.left_out[name] = DisturbedConfigurations(busy, len(by_configuration))
            as_built = bool(reason) and name == LAYOUT
            metric = experiment.comparison.metric
            self.quiet[name] = [] if as_built else [_finite(trials, metric) for trials in drawn]

    def each(self) -> Iterator[float]:
        """Yield every value."""
        return chain.from_iterable(chain.from_iterable(self.quiet.values()))

    def scaled(self, name: str, scale: Scale) -> list[list[float]]:
        """Return the values of each configuration on a scale; empty if they are too few or disturbed."""
        rows = self.quiet.get(name, [])
        present = [value for row in rows for value in row]
        withheld = name in self.left_out and self.left_out[name].too_many
        if withheld or sum(map(bool, rows)) < 2 or (scale == "mean" and not any(present)):
            return []
        if scale == "logarithm":
            return [[math.log(value) for value in row] for row in rows]
        unit = math.fsum(present) / len(present) if scale == "mean" else 1.0
        return [[value / unit for value in row] for row in rows]

    def summary(
        self, scale: Scale, together: int, against: tuple[SensitivityRatio, ...]
    ) -> ConditionSensitivity:
        """Return the sensitivities; `together` is the number of conditions that are estimated."""
        of_level = {name: self.scaled(name, scale) for name in self.quiet}
        rows = {name: [row for row in level if row] for name, level in self.quiet.items()}
        counts = {name: list(chain.from_iterable(level)) for name, level in rows.items()}
        comparison = self.experiment.comparison
        amounts = {0.0: EVERYTHING} | {amount: name for name, amount in self.experiment.randomness().items()}
        added = len(amounts) > 1 and all(
            sum(len(row) > 1 for row in of_level.get(name, ())) > 1 for name in amounts.values()
        )
        unperturbed = [value for row in rows.get(NOTHING, ()) for value in row]
        share = comparison.pathological
        return ConditionSensitivity(
            levels=self.levels,
            scale=scale,
            perturbed={
                name: replace(
                    sensitivity(level, scale, together),
                    pathological=None
                    if share is None
                    else worse_than_share([row[0] for row in rows[name]], share, comparison.better),
                )
                if level
                else None
                for name, level in of_level.items()
            },
            left_out=self.left_out,
            medians={
                name: tuple(sorted(_median(row, scale) for row in level)) for name, level in rows.items()
            },
            zeros={
                name: Zeros(sum(value <= 0 for value in values), len(values))
                for name, values in counts.items()
            },
            unperturbed=_median(unperturbed, scale) if unperturbed else None,
            enough=enough({at: of_level[name] for at, name in amounts.items()}, scale=scale)
            if added
            else None,
            against=against,
            one_layout=self.reason,
        )


def _baselines(
    rest: _Levels, names: Sequence[str], experiment: Experiment, values: Mapping[_Levels, _Values]
) -> Iterator[tuple[str, Level, _Values]]:
    """Yield each factor whose level is not its first, its first level, and the condition with that level."""
    for place, name in enumerate(names):
        first = experiment.factors[name][0]
        base = values.get((*rest[:place], first, *rest[place + 1 :]))
        if rest[place] != first and base is not None:
            yield name, first, base


def _scale(values: Iterable[float]) -> Scale:
    least = min(values, default=1.0)
    if least > 0:
        return "logarithm"
    return "mean" if least == 0 else "unit"


def _finite(trials: Sequence[StoredTrial], metric: str) -> list[float]:
    values = (trial.metrics.get(metric) for trial in trials if trial.status == "valid")
    return [value for value in values if value is not None and math.isfinite(value)]


def _median(values: Sequence[float], scale: Scale) -> float:
    """Return the median; on a logarithmic scale, the middle of two values is their geometric mean."""
    if scale == "logarithm":
        return math.exp(float(np.median(np.log(values))))
    return float(np.median(values))
