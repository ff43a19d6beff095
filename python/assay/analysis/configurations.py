"""What the trials of an experiment about sensitivity say: each of its conditions, by what is perturbed."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.busy import without_busy
from assay.analysis.sensitivity import Enough, Sensitivity, enough, sensitivity
from assay.experiment import Experiment
from assay.experiment.sensitivity import CONFIGURATION, EVERYTHING, NOTHING, PERTURBED
from assay.experiment.types import Level
from assay.store.types import StoredTrial


@dataclass(frozen=True)
class Condition:
    """One condition of the experiment, near which configurations were drawn.

    Attributes:
        levels: factor -> level, without the two that measuring sensitivity adds.
        perturbed: what was perturbed -> how sensitive the metric is to it; None where fewer than two
            configurations have a valid trial with a positive metric.
        medians: what was perturbed -> the median of the metric of each configuration, ascending.
        unperturbed: the median of the metric where nothing was perturbed; None without a trial.
        enough: how much randomness, in units of C, takes the sensitivity away as far as any does; None where
            none was added.
    """

    levels: Mapping[str, Level]
    perturbed: Mapping[str, Sensitivity | None]
    medians: Mapping[str, tuple[float, ...]]
    unperturbed: float | None
    enough: Enough | None


def conditions_of(trials: Sequence[StoredTrial], experiment: Experiment) -> list[Condition]:
    """Return what the valid trials of a campaign say of each condition, in the order of the factors."""
    metric = experiment.comparison.metric
    names = [name for name in experiment.factors if name not in (PERTURBED, CONFIGURATION)]
    values: dict[tuple[Level, ...], dict[str, dict[Level, list[float]]]] = {}
    for condition in experiment.conditions():
        rest = tuple(condition[name] for name in names)
        by_level = values.setdefault(rest, defaultdict(dict))
        by_level[str(condition[PERTURBED])][condition[CONFIGURATION]] = []
    for trial in without_busy(trials, experiment):
        value = trial.metrics.get(metric, 0)
        if trial.status == "valid" and value > 0:
            rest = tuple(trial.levels[name] for name in names)
            values[rest][str(trial.levels[PERTURBED])][trial.levels[CONFIGURATION]].append(math.log(value))
    return [
        _condition(dict(zip(names, rest, strict=True)), by_level, experiment)
        for rest, by_level in values.items()
    ]


def _median(logarithms: Sequence[float]) -> float:
    return math.exp(float(np.median(logarithms)))


def _condition(
    levels: Mapping[str, Level], by_level: Mapping[str, Mapping[Level, list[float]]], experiment: Experiment
) -> Condition:
    rows = {name: [row for row in by.values() if row] for name, by in by_level.items()}
    unperturbed = [value for row in rows.get(NOTHING, ()) for value in row]
    amounts = {0.0: rows.get(EVERYTHING, [])}
    amounts |= {scale: rows.get(name, []) for name, scale in experiment.randomness().items()}
    added = len(amounts) > 1 and all(len(measured) > 1 for measured in amounts.values())
    return Condition(
        levels=levels,
        perturbed={
            name: sensitivity([*by.values()]) if len(rows[name]) > 1 else None
            for name, by in by_level.items()
        },
        medians={
            name: tuple(sorted(math.exp(np.median(value)) for value in row)) for name, row in rows.items()
        },
        unperturbed=_median(unperturbed) if unperturbed else None,
        enough=enough(amounts) if added else None,
    )
