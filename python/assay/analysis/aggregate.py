"""One level against the baseline over several workloads, without hiding one that contradicts the rest.

Blackwell (1998, section 3.3, figure 4) measures a system as a distribution for each input and averages
these distributions, each with the weight that its input has in practice. Here the inputs are the levels of
the factors that `comparison.across` names, with the weights that it gives them.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.pairs import NOT_RUN, Pairs, Sample, Unit, common_blocks, of_means, sample_of_sides
from assay.analysis.types import Aggregate, Comparison, Estimate
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.words import condition_name, counted


@dataclass(frozen=True)
class WorkloadGroup:
    """The comparisons that one aggregate puts together.

    Attributes:
        context: factor -> level, without the compared factor and the workloads'.
        across: the factors whose levels are the workloads.
        members: their indices among the family's comparisons.
        weights: the share of each member in the aggregate; they add up to 1.
        workloads: factor -> level, for each member.
    """

    context: Mapping[str, Level]
    across: tuple[str, ...]
    members: Sequence[int]
    weights: tuple[float, ...]
    workloads: tuple[Mapping[str, Level], ...]

    def withheld(self, of_all: Sequence[Pairs]) -> str:
        """Return why there can be no verdict, as a workload has none; empty if all may have one."""
        reasons = [
            f"{of_all[index].withheld} in the workload {condition_name(workload)}"
            for index, workload in zip(self.members, self.workloads, strict=True)
            if of_all[index].withheld
        ]
        more = f", and in {counted(len(reasons) - 1, 'other workload')}" * (len(reasons) > 1)
        return f"{reasons[0]}{more}" if reasons else ""


def wholes(
    members: Sequence[tuple[Mapping[str, Level], Level]], experiment: Experiment
) -> list[WorkloadGroup]:
    """Return the groups of comparisons that aggregates combine, given each one's context and level."""
    across = tuple(experiment.comparison.across)
    if not across:
        return []
    together: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, (context, level) in enumerate(members):
        together[(*_outside(context, across).values(), level)].append(index)
    result = []
    for indices in together.values():
        weights = np.array([experiment.weight(members[index][0]) for index in indices])
        context = _outside(members[indices[0]][0], across)
        workloads = tuple({name: members[index][0][name] for name in across} for index in indices)
        shares = tuple((weights / weights.sum()).tolist())
        result.append(WorkloadGroup(context, across, indices, shares, workloads))
    return result


def samples_of(
    chosen: Sequence[Pairs], together: Sequence[WorkloadGroup], *, by_difference: bool
) -> list[Sample]:
    """Return the sample of each comparison of a family, then of each aggregate."""
    return [
        *(pairs.sample(by_difference=by_difference) for pairs in chosen),
        *(
            by_block([chosen[index] for index in whole.members], whole.weights, by_difference=by_difference)
            for whole in together
        ),
    ]


def withheld_of(chosen: Sequence[Pairs], together: Sequence[WorkloadGroup]) -> list[str]:
    """Return for each comparison of a family, then for each aggregate, why it has no verdict, or ""."""
    return [*(pairs.withheld for pairs in chosen), *(whole.withheld(chosen) for whole in together)]


def by_block(workloads: Sequence[Pairs], weights: Sequence[float], *, by_difference: bool) -> Sample:
    """Return the change in each block that has every workload.

    Blocks of different hosts are kept apart, whatever their numbers.

    The change is the weighted mean of the workloads' log ratios. A workload whose group was repeated first
    gets the mean of its own. If a value is 0, the sample has the weighted sums of each side's values instead,
    each value divided by the mean over both sides of its workload. If there is no ratio, the change is the
    weighted mean of the differences. A block in which a workload has no pair does not count.
    """
    indices = common_blocks(workloads)
    hosts = [block.host for block in indices]
    members = [
        sample_of_sides(*workload.in_blocks(indices), by_difference=by_difference, hosts=hosts)
        for workload in workloads
    ]
    return _together(members, weights, by_difference=by_difference)


def dropped_blocks(workloads: Sequence[Pairs]) -> dict[str, int]:
    """Return reason -> number of blocks in which a workload has no pair for this reason."""
    lacking: dict[Unit, str] = {}
    of_workloads = [{*workload.units} for workload in workloads]
    blocks = set[Unit]().union(*of_workloads)
    for workload, having in zip(workloads, of_workloads, strict=True):
        reasons = {pair.unit: pair.reason for pair in workload.pairs if pair.reason}
        for block in sorted({*reasons, *blocks} - having):
            lacking.setdefault(block, reasons.get(block, NOT_RUN))
    return dict(Counter(lacking.values()))


def _together(members: Sequence[Sample], weights: Sequence[float], *, by_difference: bool) -> Sample:
    """Return the sample of all workloads from each workload's sample; all have the same blocks."""
    if all(member.scale == "logs" for member in members):
        changes = np.dot(weights, [member.changes for member in members])
        return Sample("logs", changes, hosts=members[0].hosts)
    zeros = tuple(sum(member.zeros[side] for member in members) for side in (0, 1))
    by_difference = by_difference or any(member.below_zero for member in members)
    as_they_are = by_difference or not any(member.baseline.any() for member in members)
    level, baseline = np.zeros((2, len(members[0].level)))
    for member, weight in zip(members, weights, strict=True):
        mean = np.mean([member.level, member.baseline]) if member.level.size else 0
        unit = 1 if as_they_are or not mean else mean
        level += weight * (member.level / unit)
        baseline += weight * (member.baseline / unit)
    hosts = members[0].hosts
    return of_means(level, baseline, (zeros[0], zeros[1]), by_difference=by_difference, hosts=hosts)


def aggregate(
    whole: WorkloadGroup,
    comparisons: Sequence[Comparison],
    decided: Estimate,
    dropped: Mapping[str, int],
    *,
    withheld: bool,
) -> Aggregate:
    """Return the result over all workloads.

    Args:
        whole: the workloads.
        comparisons: the comparisons of the family.
        decided, dropped: the estimate from the sample of `by_block`, and the blocks that do not count.
        withheld: whether there can be no verdict.
    """
    members = [comparisons[index] for index in whole.members]
    first = members[0]
    return Aggregate(
        metric=first.metric,
        context=whole.context,
        level=first.level,
        baseline=first.baseline,
        dropped=dropped,
        withheld=withheld,
        across=whole.across,
        weights=whole.weights,
        against=tuple(
            (workload, member.verdict)
            for workload, member in zip(whole.workloads, members, strict=True)
            if _direction(member) * _direction(decided) < 0
        ),
        **vars(decided),
    )


def _direction(estimate: Estimate) -> float:
    """Return the direction of an estimate: above 0 if the level has more, 0 if nothing is known."""
    return estimate.difference or (0 if estimate.ratio is None else estimate.ratio - 1)


def _outside(context: Mapping[str, Level], across: tuple[str, ...]) -> dict[str, Level]:
    return {name: level for name, level in context.items() if name not in across}
