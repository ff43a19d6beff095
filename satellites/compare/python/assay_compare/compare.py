"""Compares sides block by block.

sides = [campaign_side(store, 3, "before"), campaign_side(store, 5, "after")]
compared = compare(sides)           # every later side against the first
compared.changes                    # which verdicts of the first side the others do not share
compared.findings                   # what to know before believing a verdict

The unit is the block. Two conditions of one campaign meet in each of its blocks, within minutes of each
other. The blocks of two campaigns never ran side by side: the first of one is set against the first of
the other, and whatever changed in between, in the code or in the host, is in the ratio. A finding says so.

A campaign that may end early counts as far as its last planned look, at the confidence of that look.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from assay.analysis import CONFIDENCE, Analysis, Comparison, Look, summarise
from assay.analysis.busy import disturbance, lost, without_busy
from assay.analysis.idle import idleness
from assay.analysis.pairs import (
    HOST_CHANGED,
    NOT_RUN,
    WITHHELD,
    Sample,
    counted_trials,
    not_valid,
    sample_of,
    value_of,
)
from assay.analysis.verdicts import Better, Question, decide
from assay.errors import AssayError
from assay.experiment.types import ComparisonDesign
from assay.findings import Finding
from assay.plan.types import Level
from assay.store import StoreName
from assay.store.types import StoredTrial
from assay_compare.changes import Changes, changes
from assay_compare.rules import RULES
from assay_compare.sides import Side

BlockValues = Mapping[int, list[float] | str]
"""Block -> the values of the metric in the trials of a condition that count, or why none does."""


@dataclass(frozen=True)
class Compared:
    """The comparison of several sides with the first.

    Attributes:
        metric, better, smallest_effect_percent, smallest_effect: as the first side's experiment has
            them; where the last one is given, differences are compared.
        unit: of the metric, the same on all sides; empty where no side gives one.
        confidence: of the intervals; more than 95% where a campaign may end early.
        correction: "family" where they hold with it all together, "none" where each does by itself.
        comparisons: by condition, then by side; `context` is the condition (empty where sides are
            conditions), `level` and `baseline` are the sides' names. They are one family.
        changes: which verdicts of the first side each later side does not share; empty if sides are
            conditions.
        findings: what to know before believing them.
    """

    metric: str
    unit: str
    better: Better
    smallest_effect_percent: float
    confidence: float
    correction: Literal["family", "none"]
    comparisons: tuple[Comparison, ...]
    changes: tuple[Changes, ...]
    findings: tuple[Finding, ...]
    smallest_effect: float | None = None


def compare(sides: Sequence[Side]) -> Compared:
    """Compare every later side with the first.

    Raises:
        AssayError: two are the same, there is nothing that they have in common, a metric is missing, or
            units differ.
    """
    first, others = sides[0], sides[1:]
    design = first.experiment.comparison
    for side, other in combinations(sides, 2):
        if side.held_in == other.held_in and side.condition == other.condition:
            raise AssayError(
                f"{side.name} and {other.name} are the same; `assay run EXPERIMENT --identical`"
                " compares identical code"
            )
    for side in sides:
        _check_metric(first, side)
        _check_flaws(first, side)
    analyses = {side.held_in: summarise(side.trials, side.experiment) for side in sides}
    samples: list[Sample] = []
    everywhere: list[Sample] = []
    described: list[tuple[Mapping[str, Level], Side, dict[str, int]]] = []
    withheld: list[str] = []
    for context, conditions in _conditions(sides):
        for other in others:
            if other.name in conditions:
                blocks, all_blocks = [], []
                for side in (first, other):
                    analysis = analyses[side.held_in]
                    mixed = frozenset(analysis.host_modes.mixed if analysis.host_modes else ())
                    trials = _grouped(side, conditions[side.name], analysis.look)
                    blocks.append(_blocks(trials, design.metric, mixed))
                    all_blocks.append(_blocks(trials, design.metric, frozenset()))
                withheld.append(
                    " and ".join(filter(None, (_failures(side, conditions) for side in (other, first))))
                )
                sample, dropped = _paired(blocks[0], blocks[1], design, withheld=withheld[-1])
                samples.append(sample)
                sample, _ = _paired(all_blocks[0], all_blocks[1], design, withheld=withheld[-1])
                everywhere.append(sample)
                described.append((context, other, dropped))
    look = _joint_look([analysis.look for analysis in analyses.values()])
    question = Question(
        design.smallest_effect_percent, design.correction, look, smallest_effect=design.smallest_effect
    )
    better = [design.better] * len(samples)
    decided = decide(samples, better, question, withheld)
    all_groups = decide(everywhere, better, question, withheld)
    comparisons = [
        Comparison(
            metric=design.metric,
            context=context,
            level=other.name,
            baseline=first.name,
            dropped=dropped,
            withheld=bool(why),
            all_groups=estimate,
            **vars(answer),
        )
        for (context, other, dropped), answer, estimate, why in zip(
            described, decided, all_groups, withheld, strict=True
        )
    ]
    return Compared(
        design.metric,
        first.experiment.unit(design.metric),
        design.better,
        design.smallest_effect_percent,
        question.confidence,
        design.correction,
        tuple(comparisons),
        _changes(sides, analyses),
        tuple(finding for rule in RULES for finding in rule.check(sides)),
        design.smallest_effect,
    )


def _changes(
    sides: Sequence[Side], analyses: Mapping[tuple[StoreName, int], Analysis]
) -> tuple[Changes, ...]:
    if sides[0].condition is not None:
        return ()
    others = [(side.name, analyses[side.held_in]) for side in sides[1:]]
    return changes(analyses[sides[0].held_in], others)


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


def _check_flaws(first: Side, side: Side) -> None:
    """Refuse to compare trials that mislead on purpose with others, unless one experiment has both."""
    if side.held_in != first.held_in and side.experiment.mark != first.experiment.mark:
        flawed, other = (first, side) if first.experiment.mark else (side, first)
        raise AssayError(
            f"{flawed.name}: {flawed.experiment.mark}, and {other.name} is not so: they are compared only"
            " within one experiment that says [pitfall] deliberate = true"
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
            "compare single conditions: assay store compare FACTOR=LEVEL,... FACTOR=LEVEL,..."
        )


def _joint_look(looks: Sequence[Look | None]) -> Look | None:
    """Return the look that a comparison of campaigns rests on; None where one of them has reached none.

    Each campaign may have ended at any of its looks. The levels of its looks sum to 5%, so the products of
    their shares in 5%, over all that the campaigns may have ended at together, sum to 1: at 5% of its product
    each, all of them together are wrong at most 5% of the time.
    """
    reached = [look for look in looks if look is not None]
    if len(reached) < len(looks):
        return None
    share = math.prod((1 - look.confidence) / (1 - CONFIDENCE) for look in reached)
    return Look(1, 1, min(look.blocks for look in reached), 1 - share * (1 - CONFIDENCE))


def _failures(side: Side, conditions: Mapping[str, Mapping[str, Level]]) -> str:
    """Return why trials of a side's condition do not count: some are not valid, or all are idle, or the host
    was busy.

    Empty if they do, or its experiment counts them all the same.
    """
    experiment, whose, condition = side.experiment, f"of {side.name}", conditions[side.name]
    statuses = Counter(trial.status for trial in side.trials if trial.levels == condition)
    quiet = without_busy(side.trials, experiment)
    share = lost(trial for trial in quiet if trial.levels == condition)
    failed = "" if experiment.comparison.accept_invalid else not_valid(statuses, whose)
    disturbed = "" if experiment.design.busy == "count" else disturbance(share, whose)
    idle = idleness((trial for trial in side.trials if trial.levels == condition), experiment)
    return " and ".join(filter(None, (failed, disturbed, idle and f"trials {whose} measured {idle}")))


def _grouped(
    side: Side, condition: Mapping[str, Level], look: Look | None
) -> Mapping[int, list[StoredTrial]]:
    """Return block -> the trials of a condition that the look sees."""
    blocks: dict[int, list[StoredTrial]] = defaultdict(list)
    for trial in counted_trials(side.trials, look):
        if trial.levels == condition:
            blocks[trial.block].append(trial)
    return blocks


def _blocks(trials: Mapping[int, list[StoredTrial]], metric: str, without: frozenset[int]) -> BlockValues:
    """Return the blocks of a condition; `without` are the groups that do not count."""
    of_blocks: dict[int, list[float] | str] = {}
    for block, ended in trials.items():
        found = [
            HOST_CHANGED if isinstance(value, float) and trial.group in without else value
            for trial in ended
            for value in [value_of(trial, metric)]
        ]
        reasons = [value for value in found if isinstance(value, str)]
        of_blocks[block] = [value for value in found if isinstance(value, float)] or reasons[-1]
    return of_blocks


def _paired(
    first: BlockValues, other: BlockValues, design: ComparisonDesign, *, withheld: str
) -> tuple[Sample, dict[str, int]]:
    """Return the changes of blocks, from `first` to `other`, and reason -> blocks without one.

    If they are withheld, there is none.
    """
    levels: list[list[float]] = []
    baselines: list[list[float]] = []
    reasons: list[str] = []
    for block in sorted({*first, *other}):
        base, values = first.get(block, NOT_RUN), other.get(block, NOT_RUN)
        if isinstance(base, str):
            reasons.append(base)
        elif isinstance(values, str):
            reasons.append(values)
        elif withheld:
            reasons.append(WITHHELD)
        else:
            levels.append(values)
            baselines.append(base)
    by_difference = design.smallest_effect is not None
    return sample_of(levels, baselines, by_difference=by_difference), dict(Counter(reasons))
