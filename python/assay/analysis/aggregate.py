"""One level against the baseline over several workloads, without hiding one that goes the other way.

Blackwell (1998, section 3.3, figure 4) measures a system as a distribution for each input and averages
these distributions. Here the inputs are the levels of the factors that `comparison.across` names, each with
the same weight.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.analysis.pairs import Pairs, by_context, counted_trials, pairs
from assay.analysis.types import Aggregate, Analysis, Comparison, Verdict
from assay.analysis.verdicts import Question, decide, estimates
from assay.experiment.types import Comparison as Asked
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

NOT_RUN = "not run"


def aggregate(
    comparisons: Sequence[Comparison], paired: Sequence[Pairs], asked: Asked, question: Question
) -> tuple[Aggregate, ...]:
    """Aggregate comparisons of one metric over the workloads in which they were made.

    The value of a block is the mean of its workloads' log ratios, the mean first of a workload's own where a
    group was repeated. A block in which a workload has none does not count.

    Args:
        comparisons: of every context and level.
        paired: the pairs that each rests on.
        asked: what the experiment compares, with the factors whose levels are the workloads.
    """
    across = asked.across
    if not across:
        return ()
    members: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, one in enumerate(comparisons):
        members[(*_outside(one, across).values(), one.level)].append(index)
    samples, dropped = [], []
    for indices in members.values():
        sample, reasons = _by_block([paired[index] for index in indices])
        samples.append(sample)
        dropped.append(reasons)
    question = question.of(len(samples))
    tested = estimates(samples, [asked.better] * len(samples), question)
    found = []
    for indices, outcome, said, reasons in zip(
        members.values(), tested, decide(tested, question), dropped, strict=True
    ):
        first = comparisons[indices[0]]
        found.append(
            Aggregate(
                metric=first.metric,
                context=_outside(first, across),
                across=across,
                workloads=len(indices),
                level=first.level,
                baseline=first.baseline,
                ratio=outcome.estimate.ratio,
                interval=outcome.estimate.interval,
                p=outcome.estimate.p,
                p_adjusted=said.p_adjusted,
                verdict=said.verdict,
                pairs=outcome.estimate.pairs,
                dropped=reasons,
                reason=said.reason,
                against=_against(outcome.estimate.ratio, [comparisons[index] for index in indices], across),
            )
        )
    return tuple(found)


def averaged_distribution(
    trials: Iterable[StoredTrial], experiment: Experiment, analysis: Analysis, aggregate: Aggregate
) -> list[tuple[float, float]]:
    """Return the average of the workloads' distributions of ratios, for drawing as a cumulative curve.

    It is what Blackwell (1998, section 3.3, figure 4) compares systems by: the mixture of the distributions
    with equal weights. It shows how far single pairs lie apart, over workloads and trials alike, whereas the
    interval of the aggregate is that of its mean.

    Args:
        trials: those that `analysis` was made from.
        aggregate: one of `analysis.aggregates`.

    Returns:
        (ratio, share of the distribution at or below it), the ratios increasing and the last share 1; empty
        where a workload has no pairs.
    """
    groups = by_context(counted_trials(trials, analysis.look), experiment)
    compared = experiment.comparison.factor
    ratios, weights = [], []
    for comparison in analysis.comparisons:
        same = {name: comparison.context[name] for name in aggregate.context} == dict(aggregate.context)
        if comparison.level != aggregate.level or not same:
            continue
        context = tuple(comparison.context[name] for name in experiment.factors if name != compared)
        of_workload = pairs(
            groups.get(context, {}), aggregate.level, aggregate.baseline, aggregate.metric
        ).steady(analysis.host_modes)
        if not of_workload.log_ratios.size:
            return []
        ratios.append(np.exp(of_workload.log_ratios))
        weights.append(np.full(of_workload.log_ratios.size, 1 / of_workload.log_ratios.size))
    values, places = np.unique(np.concatenate(ratios), return_inverse=True)
    shares = np.cumsum(np.bincount(places, np.concatenate(weights))) / aggregate.workloads
    shares[-1] = 1
    return list(zip(values.tolist(), shares.tolist(), strict=True))


def _outside(comparison: Comparison, across: tuple[str, ...]) -> dict[str, Level]:
    return {name: level for name, level in comparison.context.items() if name not in across}


def _by_block(workloads: Sequence[Pairs]) -> tuple[NDArray[np.float64], Mapping[str, int]]:
    """Return the mean log ratio of each block that has every workload, and why other blocks do not count."""
    means = [_means(one) for one in workloads]
    lacking: dict[int, str] = {}
    for one, of_block in zip(workloads, means, strict=True):
        reasons = {each.block: each.reason for each in one.dropped.values()}
        for block in {*reasons, *(block for other in means for block in other)} - of_block.keys():
            lacking.setdefault(block, reasons.get(block, NOT_RUN))
    counting = [block for block in means[0] if block not in lacking]
    sample = np.array([np.mean([of_block[block] for of_block in means]) for block in counting])
    return sample, dict(Counter(lacking.values()))


def _means(one: Pairs) -> dict[int, float]:
    """Return block -> mean log ratio."""
    of_block: dict[int, list[float]] = defaultdict(list)
    for block, log_ratio in zip(one.blocks.tolist(), one.log_ratios.tolist(), strict=True):
        of_block[block].append(log_ratio)
    return {block: sum(log_ratios) / len(log_ratios) for block, log_ratios in of_block.items()}


def _against(
    ratio: float | None, comparisons: Sequence[Comparison], across: tuple[str, ...]
) -> tuple[tuple[Mapping[str, Level], Verdict], ...]:
    """Return the workloads whose ratio lies on the other side of 1."""
    if ratio is None:
        return ()
    return tuple(
        ({name: one.context[name] for name in across}, one.verdict)
        for one in comparisons
        if one.ratio is not None and (one.ratio - 1) * (ratio - 1) < 0
    )
