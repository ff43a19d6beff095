"""What the trials of an experiment about sensitivity say: each of its conditions, by what is perturbed."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.busy import is_busy, lost, without_busy
from assay.analysis.sensitivity import Enough, Sensitivity, enough, sensitivity
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
class Condition:
    """One condition of the experiment, near which configurations were drawn.

    Attributes:
        levels: factor -> level, without the two that measuring sensitivity adds.
        perturbed: what was perturbed -> how sensitive the metric is to it; None where fewer than two
            configurations have a valid trial with a positive metric, too many are left out, or layouts could
            not be drawn.
        left_out: what was perturbed -> the configurations that other work on the host disturbed, where there
            are any.
        medians: what was perturbed -> the median of the metric of each configuration, ascending.
        unperturbed: the median of the metric where nothing was perturbed; None without a trial.
        enough: how much randomness, in units of C, takes the sensitivity away as far as any does; None where
            none was added.
        one_layout: why the program's layout was not drawn, where it was to be and could not.
    """

    levels: Mapping[str, Level]
    perturbed: Mapping[str, Sensitivity | None]
    left_out: Mapping[str, LeftOut]
    medians: Mapping[str, tuple[float, ...]]
    unperturbed: float | None
    enough: Enough | None
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
    by_condition: dict[tuple[Level, ...], dict[str, dict[Level, list[StoredTrial]]]] = {}
    for condition in experiment.conditions():
        rest = tuple(condition[name] for name in names)
        by_level = by_condition.setdefault(rest, defaultdict(dict))
        by_level[str(condition[PERTURBED])][condition[CONFIGURATION]] = []
    for trial in without_busy(trials, experiment):
        rest = tuple(trial.levels[name] for name in names)
        by_condition[rest][str(trial.levels[PERTURBED])][trial.levels[CONFIGURATION]].append(trial)
    return [
        _condition(dict(zip(names, rest, strict=True)), by_level, experiment, one_layout)
        for rest, by_level in by_condition.items()
    ]


def _logarithms(trials: Sequence[StoredTrial], metric: str) -> list[float]:
    values = (trial.metrics.get(metric, 0) for trial in trials if trial.status == "valid")
    return [math.log(value) for value in values if value > 0]


def _median(logarithms: Sequence[float]) -> float:
    return math.exp(float(np.median(logarithms)))


def _condition(
    levels: Mapping[str, Level],
    by_level: Mapping[str, Mapping[Level, Sequence[StoredTrial]]],
    experiment: Experiment,
    one_layout: Mapping[str, str],
) -> Condition:
    reason = one_layout.get(experiment.settings(levels)["subject"], "")
    metric = experiment.comparison.metric
    left_out: dict[str, LeftOut] = {}
    quiet: dict[str, list[list[float]]] = {}  # what was perturbed -> the logarithms of each configuration
    for name, by_configuration in by_level.items():
        drawn = list(by_configuration.values())
        if experiment.design.busy != "count":
            drawn = [trials for trials in drawn if not is_busy(lost(trials))]
        if busy := len(by_configuration) - len(drawn):
            left_out[name] = LeftOut(busy, len(by_configuration))
        as_built = bool(reason) and name == LAYOUT
        quiet[name] = [] if as_built else [_logarithms(trials, metric) for trials in drawn]
    rows = {name: [row for row in of_level if row] for name, of_level in quiet.items()}
    said = {
        name: len(row) > 1 and not (name in left_out and left_out[name].too_many)
        for name, row in rows.items()
    }
    unperturbed = [value for row in rows.get(NOTHING, ()) for value in row]
    amounts = {0.0: EVERYTHING} | {scale: name for name, scale in experiment.randomness().items()}
    added = len(amounts) > 1 and all(said.get(name) for name in amounts.values())
    return Condition(
        levels=levels,
        perturbed={name: sensitivity(quiet[name]) if said[name] else None for name in rows},
        left_out=left_out,
        medians={name: tuple(sorted(_median(row) for row in of_level)) for name, of_level in rows.items()},
        unperturbed=_median(unperturbed) if unperturbed else None,
        enough=enough({scale: rows[name] for scale, name in amounts.items()}) if added else None,
        one_layout=reason,
    )
