"""One level against the baseline over several workloads, without hiding one that contradicts the rest.

Blackwell (1998, section 3.3, figure 4) measures a system as a distribution for each input and averages
these distributions, each with the weight that its input has in practice. Here the inputs are the levels of
the factors that `comparison.across` names, with the weights that it gives them.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.pairs import NOT_RUN, Pairs
from assay.analysis.types import Aggregate, Comparison, Estimate
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.words import condition_name, counted


@dataclass(frozen=True)
class Whole:
    """The comparisons that one aggregate puts together.

    Attributes:
        context: factor -> level, without the compared factor and the workloads'.
        across: the factors whose levels are the workloads.
        members: which of the family's comparisons they are.
        weights: the share of each member in the whole; they add to 1.
        workloads: of each member, factor -> level.
    """

    context: Mapping[str, Level]
    across: tuple[str, ...]
    members: Sequence[int]
    weights: tuple[float, ...]
    workloads: tuple[Mapping[str, Level], ...]

    def withheld(self, of_all: Sequence[Pairs]) -> str:
        """Return why there can be no verdict: one of the workloads has none. Empty if all may."""
        reasons = [
            f"{of_all[index].withheld} in the workload {condition_name(workload)}"
            for index, workload in zip(self.members, self.workloads, strict=True)
            if of_all[index].withheld
        ]
        more = f", and in {counted(len(reasons) - 1, 'other workload')}" * (len(reasons) > 1)
        return f"{reasons[0]}{more}" if reasons else ""


def wholes(members: Sequence[tuple[Mapping[str, Level], Level]], experiment: Experiment) -> list[Whole]:
    """Return what is put together of comparisons, given the context and level of each."""
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
        result.append(Whole(context, across, indices, shares, workloads))
    return result


def by_block(
    workloads: Sequence[Pairs], weights: Sequence[float]
) -> tuple[NDArray[np.float64], Mapping[str, int]]:
    """Return the mean log ratio of each block that has every workload, and why other blocks do not count.

    The value of a block is the weighted mean of its workloads' log ratios, the mean first of a workload's own
    where a group was repeated. A block in which a workload has none does not count.
    """
    means = [means_by_block(workload) for workload in workloads]
    lacking: dict[int, str] = {}
    for workload, of_block in zip(workloads, means, strict=True):
        reasons = {pair.block: pair.reason for pair in workload.pairs if pair.reason}
        for block in {*reasons, *(block for other in means for block in other)} - of_block.keys():
            lacking.setdefault(block, reasons.get(block, NOT_RUN))
    counting = [block for block in means[0] if block not in lacking]
    sample = np.array([np.dot(weights, [of_block[block] for of_block in means]) for block in counting])
    return sample, dict(Counter(lacking.values()))


def aggregate(
    whole: Whole,
    comparisons: Sequence[Comparison],
    decided: Estimate,
    dropped: Mapping[str, int],
    *,
    withheld: bool,
) -> Aggregate:
    """Return what is known of all workloads together.

    Args:
        whole: which of `comparisons` they are.
        comparisons: the family's.
        decided, dropped: from the sample of `by_block`.
        withheld: whether `whole` has a reason for it.
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
            if member.ratio is not None
            and decided.ratio is not None
            and (member.ratio - 1) * (decided.ratio - 1) < 0
        ),
        **vars(decided),
    )


def _outside(context: Mapping[str, Level], across: tuple[str, ...]) -> dict[str, Level]:
    return {name: level for name, level in context.items() if name not in across}


def means_by_block(pairs: Pairs) -> dict[int, float]:
    """Return block -> mean log ratio."""
    of_block: dict[int, list[float]] = defaultdict(list)
    for pair in pairs.counting:
        of_block[pair.block].append(pair.log_ratio)
    return {block: sum(log_ratios) / len(log_ratios) for block, log_ratios in of_block.items()}
