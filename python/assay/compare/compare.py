"""Compares sides block by block.

The unit is the block. Two conditions of one campaign meet in each of its blocks, within minutes of each
other. The blocks of two campaigns never ran beside each other: the first of one is set against the first of
the other, and whatever changed in between, in the code or in the host, is in the ratio. A finding says so.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis import Comparison, Look
from assay.analysis.intervals import CONFIDENCE
from assay.analysis.modes import host_modes
from assay.analysis.verdicts import Better, Question, decide, estimates
from assay.audit import Finding
from assay.compare.rules import RULES
from assay.compare.sides import Side
from assay.errors import AssayError
from assay.plan.types import Level

Values = Mapping[int, float]
"""Block -> mean logarithm of the metric over the valid trials of a condition."""


@dataclass(frozen=True)
class Compared:
    """What sides have to say of each other.

    Attributes:
        metric, better, smallest_effect_percent: as the first side's experiment has them.
        comparisons: by condition, then by side; `context` is the condition (empty where sides are
            conditions), `level` and `baseline` are the sides' names. They are one family.
        findings: what to know before believing them.
    """

    metric: str
    better: Better
    smallest_effect_percent: float
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]


def compare(sides: Sequence[Side]) -> Compared:
    """Compare every later side with the first.

    Raises:
        AssayError: there is nothing that they have in common, a metric is missing, or units differ.
    """
    first, others = sides[0], sides[1:]
    asked = first.experiment.comparison
    for side in sides:
        _check_metric(first, side)
    samples: list[NDArray[np.float64]] = []
    everywhere: list[NDArray[np.float64]] = []
    described: list[tuple[Mapping[str, Level], Side, dict[str, int]]] = []
    for context, wanted in _conditions(sides):
        for other in others:
            if other.name in wanted:
                pair = (first, wanted[first.name]), (other, wanted[other.name])
                sample, unpaired = _paired(*pair, mixed=False)
                samples.append(sample)
                everywhere.append(_paired(*pair, mixed=True)[0])
                described.append((context, other, unpaired))
    question = Question(
        asked.smallest_effect_percent,
        asked.correction,
        Look(1, 1, first.experiment.design.blocks.most, CONFIDENCE),
    ).of(len(samples))
    better = [asked.better] * len(samples)
    tested = estimates(samples, better, question)
    without = estimates(everywhere, better, question)
    comparisons = [
        Comparison(
            metric=asked.metric,
            context=context,
            level=other.name,
            baseline=first.name,
            ratio=one.estimate.ratio,
            interval=one.estimate.interval,
            p=one.estimate.p,
            p_adjusted=said.p_adjusted,
            verdict=said.verdict,
            pairs=one.estimate.pairs,
            dropped=unpaired,
            reason=said.reason,
            all_groups=every.estimate,
        )
        for (context, other, unpaired), one, said, every in zip(
            described, tested, decide(tested, question), without, strict=True
        )
    ]
    return Compared(
        asked.metric,
        asked.better,
        asked.smallest_effect_percent,
        tuple(comparisons),
        tuple(finding for rule in RULES for finding in rule.check(sides)),
    )


def _check_metric(first: Side, side: Side) -> None:
    metric = first.experiment.comparison.metric
    if not any(metric in trial.metrics for trial in side.trials if trial.status == "valid"):
        raise AssayError(
            f"{side.name}: no valid trial of campaign {side.campaign.id} in {side.store} reports {metric}, "
            f"which {first.name} is compared by"
        )
    units = first.experiment.unit(metric), side.experiment.unit(metric)
    if units[0] != units[1]:
        raise AssayError(
            f"{metric} is in {units[0] or 'no unit'} for {first.name} but in {units[1] or 'no unit'} for "
            f"{side.name}; give both the same unit in [subjects.NAME.extract]"
        )


def _conditions(
    sides: Sequence[Side],
) -> Iterator[tuple[Mapping[str, Level], Mapping[str, Mapping[str, Level]]]]:
    """Yield each context, and for every side that has it the condition that is meant."""
    first, others = sides[0], sides[1:]
    if first.condition is not None:
        yield {}, {side.name: side.condition for side in sides if side.condition is not None}
        return
    common = 0
    for condition in first.experiment.conditions():
        having = {other.name: condition for other in others if condition in other.experiment.conditions()}
        if having:
            common += 1
            yield condition, {first.name: condition} | having
    if not common:
        raise AssayError(
            f"{first.name} and {', '.join(other.name for other in others)} have no condition in common; "
            "compare single conditions: assay compare FACTOR=LEVEL,... FACTOR=LEVEL,..."
        )


def _paired(
    one: tuple[Side, Mapping[str, Level]], other: tuple[Side, Mapping[str, Level]], *, mixed: bool
) -> tuple[NDArray[np.float64], dict[str, int]]:
    """Return the log ratios of the blocks of `other` to those of `one`, and how many found no partner.

    `mixed` says whether trials count in whose group the host changed.
    """
    low, high = _values(*one, mixed=mixed), _values(*other, mixed=mixed)
    if one[0].campaign.id == other[0].campaign.id and one[0].store == other[0].store:
        blocks = sorted(low.keys() & high.keys())
        pairs = [high[block] - low[block] for block in blocks]
    else:
        in_order = zip(sorted(low.items()), sorted(high.items()), strict=False)
        pairs = [after - before for (_, before), (_, after) in in_order]
    lacking = max(len(low), len(high)) - len(pairs)
    return np.array(pairs, dtype=np.float64), {"block without a partner": lacking} if lacking else {}


def _values(side: Side, condition: Mapping[str, Level], *, mixed: bool) -> Values:
    modes = host_modes(side.trials, side.experiment)
    of_group = {} if modes is None or mixed else modes.of_group
    metric = side.experiment.comparison.metric
    found: dict[int, list[float]] = defaultdict(list)
    for trial in side.trials:
        value = trial.metrics.get(metric, 0)
        counts = trial.status == "valid" and 0 < value < math.inf and of_group.get(trial.group) != "mixed"
        if counts and trial.levels == condition:
            found[trial.block].append(math.log(value))
    return {block: sum(values) / len(values) for block, values in found.items()}
