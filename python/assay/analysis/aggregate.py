"""One level against the baseline over several workloads, without hiding one that contradicts the rest.

Blackwell (1998, section 3.3, figure 4) measures a system as a distribution for each input and averages
these distributions, each with the weight that its input has in practice. Here the inputs are the levels of
the factors that `comparison.across` names, with the weights that it gives them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.pairs import NOT_RUN, Pairs, by_context, counted_trials, pairs
from assay.analysis.types import Aggregate, Analysis, Comparison, Estimate
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial


@dataclass(frozen=True)
class Whole:
    """The comparisons that one aggregate puts together.

    Attributes:
        context: factor -> level, without the compared factor and the workloads'.
        across: the factors whose levels are the workloads.
        members: which of the family's comparisons they are.
        weights: the share of each member in the whole; they add to 1.
    """

    context: Mapping[str, Level]
    across: tuple[str, ...]
    members: Sequence[int]
    weights: tuple[float, ...]


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
        result.append(Whole(context, across, indices, tuple((weights / weights.sum()).tolist())))
    return result


def by_block(
    workloads: Sequence[Pairs], weights: Sequence[float]
) -> tuple[NDArray[np.float64], Mapping[str, int]]:
    """Return the mean log ratio of each block that has every workload, and why other blocks do not count.

    The value of a block is the weighted mean of its workloads' log ratios, the mean first of a workload's own
    where a group was repeated. A block in which a workload has none does not count.
    """
    means = [_means(workload) for workload in workloads]
    lacking: dict[int, str] = {}
    for workload, of_block in zip(workloads, means, strict=True):
        reasons = {group.block: group.reason for group in workload.dropped.values()}
        for block in {*reasons, *(block for other in means for block in other)} - of_block.keys():
            lacking.setdefault(block, reasons.get(block, NOT_RUN))
    counting = [block for block in means[0] if block not in lacking]
    sample = np.array([np.dot(weights, [of_block[block] for of_block in means]) for block in counting])
    return sample, dict(Counter(lacking.values()))


def aggregate(
    whole: Whole, comparisons: Sequence[Comparison], decided: Estimate, dropped: Mapping[str, int]
) -> Aggregate:
    """Return what is known of all workloads together.

    Args:
        whole: which of `comparisons` they are.
        comparisons: the family's.
        decided, dropped: from the sample of `by_block`.
    """
    members = [comparisons[index] for index in whole.members]
    first = members[0]
    return Aggregate(
        metric=first.metric,
        context=whole.context,
        level=first.level,
        baseline=first.baseline,
        dropped=dropped,
        across=whole.across,
        weights=whole.weights,
        against=tuple(
            ({name: member.context[name] for name in whole.across}, member.verdict)
            for member in members
            if member.ratio is not None
            and decided.ratio is not None
            and (member.ratio - 1) * (decided.ratio - 1) < 0
        ),
        **vars(decided),
    )


def averaged_distribution(
    trials: Iterable[StoredTrial], experiment: Experiment, analysis: Analysis, aggregate: Aggregate
) -> list[tuple[float, float]]:
    """Return the average of the workloads' distributions of ratios, for drawing as a cumulative curve.

    It is what Blackwell (1998, section 3.3, figure 4) compares systems by: the mixture of the distributions
    with the weights of the workloads. It shows how far single pairs lie apart, over workloads and trials
    alike, whereas the interval of the aggregate is that of its mean.

    Args:
        trials: those that `analysis` was made from.
        aggregate: one of `analysis.aggregates`.

    Returns:
        (ratio, share of the distribution at or below it), the ratios increasing and the last share 1; empty
        where a workload has no pairs.
    """
    groups = by_context(counted_trials(trials, analysis.look), experiment)
    compared = experiment.comparison.factor
    ratios: list[NDArray[np.float64]] = []
    weights: list[NDArray[np.float64]] = []
    for comparison in analysis.comparisons:
        same = {name: comparison.context[name] for name in aggregate.context} == dict(aggregate.context)
        if comparison.level != aggregate.level or not same:
            continue
        context = tuple(comparison.context[name] for name in experiment.factors if name != compared)
        of_workload = pairs(
            groups.get(context, {}), aggregate.level, aggregate.baseline, aggregate.metric
        ).without_mixed(analysis.host_modes)
        if not of_workload.log_ratios.size:
            return []
        ratios.append(np.exp(of_workload.log_ratios))
        weight = aggregate.weights[len(weights)]
        weights.append(np.full(of_workload.log_ratios.size, weight / of_workload.log_ratios.size))
    values, places = np.unique(np.concatenate(ratios), return_inverse=True)
    shares = np.cumsum(np.bincount(places, np.concatenate(weights)))
    shares[-1] = 1
    return list(zip(values.tolist(), shares.tolist(), strict=True))


def _outside(context: Mapping[str, Level], across: tuple[str, ...]) -> dict[str, Level]:
    return {name: level for name, level in context.items() if name not in across}


def _means(pairs: Pairs) -> dict[int, float]:
    """Return block -> mean log ratio."""
    of_block: dict[int, list[float]] = defaultdict(list)
    for block, log_ratio in zip(pairs.blocks.tolist(), pairs.log_ratios.tolist(), strict=True):
        of_block[block].append(log_ratio)
    return {block: sum(log_ratios) / len(log_ratios) for block, log_ratios in of_block.items()}
