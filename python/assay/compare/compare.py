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
from assay.audit import Finding, condition_name
from assay.compare.sides import Side
from assay.errors import AssayError
from assay.experiment import Experiment
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
        tuple(_findings(sides)),
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


def _findings(sides: Sequence[Side]) -> Iterator[Finding]:
    first, others = sides[0], sides[1:]
    apart = [each for each in others if (each.store, each.campaign.id) != (first.store, first.campaign.id)]
    if apart:
        hours = max(
            abs((each.campaign.started_at - first.campaign.started_at).total_seconds()) for each in apart
        )
        yield Finding(
            "not-interleaved",
            f"The campaigns began up to {hours / 3600:.1f} hours apart and ran one after the other: whatever"
            " changed in between, in the code or in the host, is in the ratios.",
            tuple(f"{each.name}: {each.campaign.started_at:%Y-%m-%d %H:%M} UTC" for each in (first, *apart)),
            {"campaigns": 1 + len(apart), "hours": hours / 3600},
            "Measure both as levels of one factor in one experiment, so that they take turns.",
        )
    hosts = {each.name: _host(each) for each in (first, *apart)}
    if len(set(hosts.values())) > 1:
        yield Finding(
            "different-hosts",
            f"The campaigns ran on {len(set(hosts.values()))} different hosts: they can only be compared as"
            " blocks, and no difference can be put down to the software.",
            tuple(f"{name}: {host}" for name, host in hosts.items()),
            {"hosts": len(set(hosts.values()))},
            "Run both on one host, in one experiment.",
            "error",
        )
    different = [
        each
        for each in apart
        if first.condition is None and _settings_differ(first.experiment, each.experiment)
    ]
    if different:
        yield Finding(
            "different-settings",
            "Conditions of the same name have different settings: "
            + "; ".join(
                f"{each.name} has {', '.join(_settings_differ(first.experiment, each.experiment))}"
                for each in different
            )
            + ".",
            tuple(each.name for each in different),
            {"campaigns": len(different)},
            "Compare campaigns of the same experiment.",
            "error",
        )


def _host(side: Side) -> str:
    host = side.campaign.host
    return (
        f"{host.get('name', 'unknown')}, {host.get('processors', '?')} processors, {host.get('kernel', '?')}"
    )


def _settings_differ(one: Experiment, other: Experiment) -> list[str]:
    """Return the settings that differ in some condition that both have, in the words of the other."""
    found: dict[str, None] = {}
    theirs = other.conditions()
    for condition in one.conditions():
        if condition in theirs:
            mine, yours = one.settings(condition), other.settings(condition)
            for name in sorted({*mine, *yours}):
                if mine.get(name) != yours.get(name):
                    found[f"{name} = {yours.get(name)} in {condition_name(condition)}"] = None
    return list(found)[:3]
