"""Where a difference itself differs: a search through the partitions of the levels of other factors.

Blackwell (1998, section 3.6) divides inputs into two classes and asks whether a modification helps one more
than the other. There are many ways to divide them, so what is found has to be corrected for their number.
`docs/statistics.md` says what is tested, and why the false-discovery rate holds.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from assay.analysis.busy import without_busy
from assay.analysis.intervals import CONFIDENCE, NEGLIGIBLE, as_ratio, sign_flips
from assay.analysis.pairs import (
    Pairs,
    PlannedComparison,
    Unit,
    by_condition,
    by_context,
    counted_trials,
    failures,
    pairs,
    planned_comparisons,
)
from assay.analysis.types import Analysis, Interval
from assay.errors import AssayError
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial
from assay.words import condition_name, counted

RATE = 1 - CONFIDENCE
"""The largest expected share of false findings."""

SUBSETS_AT_MOST = 5
"""With up to this many names of a factor, every subset is split off; with more, only single names."""

PARTITIONS_AT_MOST = 300
"""Beyond this many, pairs of factors are not tried: they would take longer than they are worth."""

Array = NDArray[np.float64]
Sides = Mapping[str, tuple[Level, ...]]
"""Factor -> its levels that belong to a part."""


@dataclass(frozen=True)
class PartitionSide:
    """One of the two parts of a partition.

    Attributes:
        levels: factor -> its levels in this part; empty for the remainder of a partition by two factors.
        ratio: the geometric mean of the ratio to the baseline over its contexts; None without blocks.
        interval: the ratio's interval, uncorrected; None with too few blocks.
    """

    levels: Sides
    ratio: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Partition:
    """The contexts of a comparison in two parts, and whether its ratio differs between them.

    Attributes:
        level, baseline: the two levels of the ratio.
        inside, outside: the two parts.
        change: the ratio inside over the ratio outside; None without blocks.
        interval: the change's interval, uncorrected; None with too few blocks.
        blocks: number of blocks in which every context has a pair that counts.
        p: two-sided p-value of a change of 1; None without blocks.
        p_adjusted: p corrected for the number of partitions and for looks: among partitions with at most 5%,
            at most 5% are expected to be false.
    """

    level: Level
    baseline: Level
    inside: PartitionSide
    outside: PartitionSide
    change: float | None
    interval: Interval | None
    blocks: int
    p: float | None
    p_adjusted: float

    @property
    def found(self) -> bool:
        """Whether the ratio differs between the parts."""
        return self.p_adjusted <= RATE * (1 + NEGLIGIBLE)


@dataclass(frozen=True)
class Exploration:
    """The result of a search for partitions between which a ratio differs.

    Attributes:
        metric, factor: the compared metric, and the factor whose levels are compared.
        factors: the other factors, which split the contexts.
        pairs_of_factors: whether partitions by two factors were tried, too.
        partitions: all partitions that were tried; findings first, the most certain of them first.
        blocks: number of blocks in which every context of a partition has a pair that counts.
        fewest: number of blocks needed to find a single partition that differs.
        left_out: contexts whose comparison is withheld, and why, in words.
    """

    metric: str
    factor: str
    factors: tuple[str, ...]
    pairs_of_factors: bool
    partitions: tuple[Partition, ...]
    blocks: int
    fewest: int
    left_out: tuple[str, ...]

    @property
    def found(self) -> tuple[Partition, ...]:
        """The partitions between whose parts the ratio differs."""
        return tuple(partition for partition in self.partitions if partition.found)


@dataclass(frozen=True)
class LogRatios:
    """One level against one baseline, in several contexts.

    Attributes:
        contexts: factor -> level, of each.
        table: shape (blocks, contexts), NaN where a block has no pair that counts.
    """

    level: Level
    baseline: Level
    contexts: Sequence[Mapping[str, Level]]
    table: Array


@dataclass(frozen=True)
class _Parted:
    """A partition before its test: what each context weighs in the means of the two parts."""

    ratios: LogRatios
    inside: Sides
    outside: Sides
    weights: tuple[Array, Array]

    def samples(self) -> tuple[Array, Array]:
        """Return the mean log ratio inside and outside for each block that has all contexts."""
        table = self.ratios.table
        used = (self.weights[0] != 0) | (self.weights[1] != 0)
        rows = table[np.isfinite(table[:, used]).all(axis=1)][:, used]
        inside, outside = (rows @ weights[used] for weights in self.weights)
        return inside, outside


def explore(trials: Iterable[StoredTrial], experiment: Experiment, analysis: Analysis) -> Exploration:
    """Search the partitions of the other factors' levels for those between which a ratio differs.

    Args:
        trials: those that `analysis` was made from.
        experiment: the campaign's.
        analysis: of its trials; the search sees what its verdicts rest on.

    Raises:
        AssayError: there is nothing to search, no look has been reached, or the blocks are too few to find
            anything.
    """
    name, factor = experiment.name, experiment.comparison.factor
    factors = {other: levels for other, levels in experiment.factors.items() if other != factor}
    factors = {other: levels for other, levels in factors.items() if len(levels) > 1}
    if not analysis.comparisons:
        raise AssayError(f"{name} compares nothing: no context has two levels of {factor}")
    if not factors:
        raise AssayError(
            f"{name} has no factor beside {factor}, so no difference can differ: give another setting several"
            " levels, such as --set threads=1,2"
        )
    if analysis.look is None:
        raise AssayError(f"{analysis.waits}: finish the campaign with assay resume")
    ratios, left_out = _ratios(list(trials), experiment, analysis)
    partitions, pairs_of_factors = search(ratios, factors, analysis.look.confidence)
    if not partitions:
        reason = left_out[0] if left_out else "no two of its contexts differ in one factor alone"
        raise AssayError(f"no comparison of {name} can be searched: {reason}")
    cost = _cost(len(partitions), analysis.look.confidence)
    blocks, takes = max(partition.blocks for partition in partitions), _fewest(cost)
    if blocks < takes:
        raise AssayError(
            f"{counted(blocks, 'block')} with a pair in every context: too few"
            f" to find anything among {counted(partitions, 'partition')}; it takes {takes}"
        )
    return Exploration(
        metric=analysis.metric,
        factor=factor,
        factors=tuple(factors),
        pairs_of_factors=pairs_of_factors,
        partitions=partitions,
        blocks=blocks,
        fewest=_fewest(cost * len(partitions)),
        left_out=tuple(left_out),
    )


def search(
    ratios: Sequence[LogRatios], factors: Mapping[str, tuple[Level, ...]], confidence: float = CONFIDENCE
) -> tuple[tuple[Partition, ...], bool]:
    """Try every partition of every comparison.

    Args:
        ratios: the comparisons.
        factors: those by which contexts are parted -> their levels.
        confidence: of the look; partitions share what it leaves of the 5%.

    Returns:
        The partitions, what is found first and of that the most certain first; whether those by two factors
        were tried.
    """
    parted, pairs_of_factors = _all_parted(ratios, factors)
    return tuple(sorted(_tested(parted, confidence), key=_certainty)), pairs_of_factors


def _harmonic(number: int) -> float:
    """Return 1 + 1/2 + ... + 1/number: what not knowing how p-values depend on each other costs."""
    return float(np.sum(1 / np.arange(1, number + 1)))


def _cost(tried: int, confidence: float) -> float:
    """Return by what the p-values are multiplied if all that are tried differ."""
    return _harmonic(tried) * RATE / (1 - confidence)


def _fewest(cost: float) -> int:
    """Return the least number of blocks whose smallest p-value, 2 / 2**n, is at most 5% / cost."""
    return ceil(log2(2 * cost / RATE) - NEGLIGIBLE)


def _certainty(partition: Partition) -> tuple[bool, float, float]:
    size = 0.0 if partition.change is None else abs(math.log(partition.change))
    return not partition.found, partition.p_adjusted, -size


def _ratios(
    trials: list[StoredTrial], experiment: Experiment, analysis: Analysis
) -> tuple[list[LogRatios], list[str]]:
    """Return the log ratios by block and context, and the contexts that are left out."""
    groups = by_context(counted_trials(without_busy(trials, experiment), analysis.look), experiment)
    failed = failures(by_condition(trials, experiment).values(), experiment)
    together: dict[tuple[Level, Level], list[tuple[PlannedComparison, Mapping[Unit, float]]]] = defaultdict(
        list
    )
    left_out: list[str] = []
    for target in planned_comparisons(experiment):
        of_level = pairs(groups, target, analysis.metric, failed).without_mixed(analysis.host_modes)
        if of_level.withheld:
            left_out.append(f"{condition_name(target.context)}: {of_level.withheld}")
        elif of_level.without_ratio:
            left_out.append(f"{condition_name(target.context)}: {of_level.without_ratio}")
        else:
            together[target.level, target.baseline].append((target, _means_by_block(of_level)))
    result = []
    for (level, baseline), members in together.items():
        blocks = sorted({block for _, means in members for block in means})
        table = np.array([[means.get(block, math.nan) for _, means in members] for block in blocks])
        contexts = [target.context for target, _ in members]
        result.append(LogRatios(level, baseline, contexts, table.reshape(len(blocks), len(members))))
    return result, left_out


def _means_by_block(of_level: Pairs) -> dict[Unit, float]:
    """Return block -> mean log ratio."""
    of_block: dict[Unit, list[float]] = defaultdict(list)
    for pair in of_level.counting:
        of_block[pair.unit].append(pair.log_ratio)
    return {block: sum(log_ratios) / len(log_ratios) for block, log_ratios in of_block.items()}


def _all_parted(
    compared: Sequence[LogRatios], factors: Mapping[str, tuple[Level, ...]]
) -> tuple[list[_Parted], bool]:
    """Return every partition of every comparison, and whether those by two factors are among them."""
    alone = [_parted(of_level, part) for of_level in compared for part in _by_one(factors)]
    both = [(of_level, part) for of_level in compared for part in _by_two(factors)]
    with_pairs = bool(both) and len(alone) + len(both) <= PARTITIONS_AT_MOST
    candidates = alone + [_parted(*pair) for pair in both if with_pairs]
    distinct: dict[object, _Parted] = {}
    for candidate in candidates:
        if candidate is not None:
            inside, outside = (weights.round(9).tobytes() for weights in candidate.weights)
            same = id(candidate.ratios), frozenset((inside, outside))
            distinct.setdefault(same, candidate)
    return list(distinct.values()), with_pairs


def _by_one(factors: Mapping[str, tuple[Level, ...]]) -> Iterator[tuple[Sides, Sides]]:
    for name, levels in factors.items():
        for inside in _splits(levels):
            yield {name: inside}, {name: _rest(levels, inside)}


def _by_two(factors: Mapping[str, tuple[Level, ...]]) -> Iterator[tuple[Sides, Sides]]:
    """Yield each corner of each pair of splits; the other part is all that is not in it."""
    for (one, of_one), (two, of_two) in combinations(factors.items(), 2):
        for first, second in product(_splits(of_one), _splits(of_two)):
            for corner in product((first, _rest(of_one, first)), (second, _rest(of_two, second))):
                yield {one: corner[0], two: corner[1]}, {}


def _splits(levels: tuple[Level, ...]) -> list[tuple[Level, ...]]:
    """Return one part of each binary split: numbers from a threshold on; of few names, every subset."""
    if not any(isinstance(level, str) for level in levels):
        ordered = sorted(levels, key=float)
        return [tuple(ordered[start:]) for start in range(1, len(ordered))]
    if len(levels) > SUBSETS_AT_MOST:
        return [(level,) for level in levels]
    # The smaller one of a subset and its complement; of two halves, the one with the first name.
    return [
        subset
        for size in range(1, len(levels) // 2 + 1)
        for subset in combinations(levels, size)
        if 2 * size < len(levels) or levels[0] in subset
    ]


def _rest(levels: tuple[Level, ...], inside: tuple[Level, ...]) -> tuple[Level, ...]:
    return tuple(level for level in levels if level not in inside)


def _parted(of_level: LogRatios, parts: tuple[Sides, Sides]) -> _Parted | None:
    """Return a partition, or None where its parts have no level of the other factors in common.

    The parts are compared where all factors but those that part them agree, so that conditions that an
    experiment leaves out do not make the parts differ by something else; the mean is taken over these places.
    """
    inside, outside = parts
    places: dict[tuple[Level, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for index, context in enumerate(of_level.contexts):
        place = tuple(level for name, level in context.items() if name not in inside)
        belongs = all(context[name] in levels for name, levels in inside.items())
        places[place][not belongs].append(index)
    both = [sides for sides in places.values() if all(sides)]
    if not both:
        return None
    weights = np.zeros((2, len(of_level.contexts)))
    for sides in both:
        for part, members in zip(weights, sides, strict=True):
            part[members] = 1 / len(both) / len(members)
    return _Parted(of_level, inside, outside, (weights[0], weights[1]))


def _tested(parted: Sequence[_Parted], confidence: float) -> list[Partition]:
    """Test partitions by sign flips of blocks, those with the same number of blocks together."""
    from scipy.stats import false_discovery_control  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load

    samples = [of_parts.samples() for of_parts in parted]
    same_size: dict[int, list[int]] = defaultdict(list)
    for index, (inside, _) in enumerate(samples):
        same_size[len(inside)].append(index)
    p = np.ones(len(parted))
    family = ceil(len(parted) * _harmonic(len(parted)))
    share = RATE / (1 - confidence)
    estimates: list[tuple[tuple[float | None, Interval | None], ...]] = [((None, None),) * 3] * len(parted)
    for size, indices in same_size.items():
        if not size:
            continue
        sides = [np.array([samples[index][side] for index in indices]) for side in (0, 1)]
        change = sign_flips(sides[0] - sides[1], confidence, family=family)
        p[indices] = change.p
        tests = (sign_flips(sides[0], confidence), sign_flips(sides[1], confidence), change)
        for row, index in enumerate(indices):
            estimates[index] = tuple(
                (
                    as_ratio(test.center[row]),
                    None
                    if test.low is None or test.high is None
                    else Interval(as_ratio(test.low[row]), as_ratio(test.high[row]), test.confidence),
                )
                for test in tests
            )
    return [
        Partition(
            level=of_parts.ratios.level,
            baseline=of_parts.ratios.baseline,
            inside=PartitionSide(of_parts.inside, *inside),
            outside=PartitionSide(of_parts.outside, *outside),
            change=change[0],
            interval=change[1],
            blocks=len(sample),
            p=float(alone) if len(sample) else None,
            p_adjusted=min(1.0, adjusted * share),
        )
        for of_parts, (sample, _), (inside, outside, change), alone, adjusted in zip(
            parted, samples, estimates, p, false_discovery_control(p, method="by").tolist(), strict=True
        )
    ]
