"""What the trials of an experiment about sensitivity say: each of its conditions, by what is perturbed."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from assay.analysis.busy import is_busy, lost, without_busy
from assay.analysis.sensitivity import Enough, Relative, Scale, Sensitivity, enough, relative, sensitivity
from assay.analysis.summary import worse_than_share
from assay.experiment import Experiment
from assay.experiment.sensitivity import CONFIGURATION, EVERYTHING, NOTHING, PERTURBED
from assay.experiment.types import Level
from assay.plan.types import LAYOUT
from assay.store.types import StoredTrial

LEFT_OUT_AT_MOST = 0.2
"""Of the configurations of one thing perturbed may be left out because the host was busy; else nothing is
said of it. Left out by chance they cost nothing but width. If load always meets those that lie farthest
out, a fifth makes the typical error a sixth too small, and a half a quarter (`docs/statistics.md`)."""


@dataclass(frozen=True)
class LeftOut:
    """Configurations whose trials other work disturbed, and which therefore count nowhere.

    Attributes:
        busy: how many.
        drawn: of how many.
    """

    busy: int
    drawn: int

    @property
    def too_many(self) -> bool:
        """Whether the others may say something else than all would."""
        return self.busy > LEFT_OUT_AT_MOST * self.drawn


@dataclass(frozen=True)
class Zeros:
    """In how many trials, of how many, the metric is 0 or below."""

    count: int
    of: int


@dataclass(frozen=True)
class Against:
    """How sensitive the metric is to everything in a condition, relative to that with a factor's first level.

    Attributes:
        factor: the one that differs.
        baseline: its first level.
        relative: of the deviations between configurations; None where one of the two has none.
    """

    factor: str
    baseline: Level
    relative: Relative | None


@dataclass(frozen=True)
class Condition:
    """One condition of the experiment, near which configurations were drawn.

    Attributes:
        levels: factor -> level, without the two that measuring sensitivity adds.
        scale: in what numbers the sensitivities are; that of all conditions.
        perturbed: what was perturbed -> how sensitive the metric is to it; None where fewer than two
            configurations have a valid trial with the metric, the scale needs a mean and it is 0, too many
            are left out, or layouts could not be drawn.
        left_out: what was perturbed -> the configurations that other work on the host disturbed, where there
            are any.
        medians: what was perturbed -> the median of the metric of each configuration, ascending.
        zeros: what was perturbed -> in how many valid trials the metric is 0 or below.
        unperturbed: the median of the metric where nothing was perturbed; None without a trial.
        enough: how much randomness, in units of C, takes the sensitivity away as far as any does; None where
            none was added, or a configuration has no replicates.
        against: the same with a factor's first level, for each factor that has another one here.
        one_layout: why the program's layout was not drawn, where it was to be and could not.
    """

    levels: Mapping[str, Level]
    scale: Scale
    perturbed: Mapping[str, Sensitivity | None]
    left_out: Mapping[str, LeftOut]
    medians: Mapping[str, tuple[float, ...]]
    zeros: Mapping[str, Zeros]
    unperturbed: float | None
    enough: Enough | None
    against: tuple[Against, ...] = ()
    one_layout: str = ""


def conditions_of(
    trials: Sequence[StoredTrial], experiment: Experiment, one_layout: Mapping[str, str]
) -> list[Condition]:
    """Return what the valid trials of a campaign say of each condition, in the order of the factors.

    Args:
        trials: of the campaign.
        experiment: about sensitivity.
        one_layout: subject -> why its layout could not be drawn, where it was to be and could not.
    """
    names = [name for name in experiment.factors if name not in (PERTURBED, CONFIGURATION)]
    by_condition: dict[_Levels, dict[str, dict[Level, list[StoredTrial]]]] = {}
    for condition in experiment.conditions():
        rest = tuple(condition[name] for name in names)
        by_level = by_condition.setdefault(rest, defaultdict(dict))
        by_level[str(condition[PERTURBED])][condition[CONFIGURATION]] = []
    for trial in without_busy(trials, experiment):
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
            Against(factor, level, relative(own, base.scaled(EVERYTHING, scale), scale, ratios))
            for factor, level, base in pairs[rest]
        )
        found.append(near.summary(scale, len(values), against))
    return found


_Levels = tuple[Level, ...]


class _Values:
    """The values of the metric in one condition: what was perturbed -> those of each configuration.

    Attributes:
        quiet: of the configurations that other work did not disturb.
        said: what was perturbed, of which enough is left.
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
        self.left_out: dict[str, LeftOut] = {}
        self.quiet: dict[str, list[list[float]]] = {}
        for name, by_configuration in by_level.items():
            drawn = list(by_configuration.values())
            if experiment.design.busy != "count":
                drawn = [trials for trials in drawn if not is_busy(lost(trials))]
            if busy := len(by_configuration) - len(drawn):
                self.left_out[name] = LeftOut(busy, len(by_configuration))
            as_built = bool(reason) and name == LAYOUT
            metric = experiment.comparison.metric
            self.quiet[name] = [] if as_built else [_finite(trials, metric) for trials in drawn]

    def each(self) -> Iterator[float]:
        """Yield every value."""
        return chain.from_iterable(chain.from_iterable(self.quiet.values()))

    def scaled(self, name: str, scale: Scale) -> list[list[float]]:
        """Return the values with one thing perturbed, on a scale; none of which nothing may be said."""
        rows = self.quiet.get(name, [])
        present = [value for row in rows for value in row]
        withheld = name in self.left_out and self.left_out[name].too_many
        if withheld or sum(map(bool, rows)) < 2 or (scale == "mean" and not any(present)):
            return []
        if scale == "logarithm":
            return [[math.log(value) for value in row] for row in rows]
        unit = math.fsum(present) / len(present) if scale == "mean" else 1.0
        return [[value / unit for value in row] for row in rows]

    def summary(self, scale: Scale, together: int, against: tuple[Against, ...]) -> Condition:
        """Return what they say, where so many conditions are looked at."""
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
        return Condition(
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
    """Yield each factor that has another level than its first, that level, and the condition with it."""
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
    """Return the median, between two values the geometric mean where a scale is logarithmic."""
    if scale == "logarithm":
        return math.exp(float(np.median(np.log(values))))
    return float(np.median(values))
