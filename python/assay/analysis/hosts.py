"""What each host of a campaign says by itself, and which hosts are not like the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.aggregate import WorkloadGroup, samples_of, withheld_of
from assay.analysis.intervals import NEGLIGIBLE, median, median_interval
from assay.analysis.pairs import Pairs, Side, common_blocks
from assay.analysis.population import FEWEST_HOSTS
from assay.analysis.shape import shape
from assay.analysis.types import Estimate, HostAnswers, Hosts, Interval, OddHost, Shape
from assay.analysis.verdicts import Better, Question, decide
from assay.words import counted

PERMUTATIONS = 999

MOST_BLOCKS, LEAST_BLOCKS = 600, 20
"""At most the first number of blocks of all hosts are compared, but this many of each host if it has them.
They are spread evenly over the host's blocks."""

MOST_NAMED = 10
"""If more hosts are unlike the others, there is no typical host."""

GATHERED = 1 << 20
"""Values of the kernel that are held at once."""

_Blocks = NDArray[np.float64]  # a row for each block


def answers_of_hosts(
    hosts: Mapping[str, int],
    chosen: Sequence[Pairs],
    together: Sequence[WorkloadGroup],
    better: Better,
    question: Question,
) -> Hosts:
    """Return what each host says by itself, and what all say without each one that is not like the others.

    The answers of all hosts are one family: all of their intervals hold together.

    Args:
        hosts: name of host -> number of its trials, in the order of their first trials.
        chosen: the pairs of each comparison that count.
        together: the aggregates of the family.
        better: which values of the metric are better.
        question: the question about the hosts together.
    """
    by_difference = question.smallest_effect is not None

    def answers(families: Sequence[Sequence[Pairs]], asked: Question) -> list[tuple[Estimate, ...]]:
        samples = [
            sample for of in families for sample in samples_of(of, together, by_difference=by_difference)
        ]
        withheld = [reason for of in families for reason in withheld_of(of, together)]
        decided = decide(samples, [better] * len(samples), asked, withheld)
        size = len(chosen) + len(together)
        return [tuple(decided[start : start + size]) for start in range(0, len(decided), size)]

    alone = replace(question, gate_percent=None, population=False)
    own = answers([[pairs.on(host) for pairs in chosen] for host in hosts], alone)
    others = replace(question, population=len(hosts) - 1 >= FEWEST_HOSTS)
    odd = {
        unlike.host: OddHost(
            unlike.distance,
            unlike.p,
            answers([[pairs.without_host(unlike.host) for pairs in chosen]], others)[0],
        )
        for unlike in (
            [] if question.look is None else unlike_others(_blocks(chosen), 1 - question.confidence)
        )
    }
    return Hosts(
        question.population,
        tuple(
            HostAnswers(host, trials, of_host, odd.get(host))
            for (host, trials), of_host in zip(hosts.items(), own, strict=True)
        ),
    )


def _blocks(chosen: Sequence[Pairs]) -> dict[str, _Blocks]:
    """Return host -> the changes in each of its blocks that has a pair of every comparison.

    A change is 2 (y - x) / (y + x): for small ones the log ratio, and finite if a value is 0.
    """
    compared = [pairs for pairs in chosen if pairs.units]
    if not compared:
        return {}
    indices = common_blocks(compared)
    changes = np.column_stack([_changes(*pairs.in_blocks(indices)) for pairs in compared])
    hosts: dict[str, list[int]] = {}
    for block, index in indices.items():
        hosts.setdefault(block.host, []).append(index)
    return {host: changes[of_host] for host, of_host in hosts.items()}


def _changes(level: Side, baseline: Side) -> NDArray[np.float64]:
    """Return the mean change of each block's pairs."""
    sizes = np.abs(level.values) / 2 + np.abs(baseline.values) / 2
    with np.errstate(over="ignore"):
        differences = level.values - baseline.values
    return level.means(np.divide(differences, sizes, out=np.zeros_like(sizes), where=sizes > 0))


class Unlike(NamedTuple):
    """A host that is not like the others; see `OddHost`."""

    host: str
    distance: float
    p: float


def unlike_others(blocks: Mapping[str, _Blocks], level: float) -> list[Unlike]:
    """Return the hosts whose blocks are not like those of the others, the least alike first.

    The distance of a host from the others is the maximum mean discrepancy with a Gaussian kernel as wide as
    the median distance of two blocks (Gretton et al. 2012). The largest of all is tested by permuting the
    names of hosts over blocks: so it is corrected for the number of hosts, and the comparisons of a block may
    depend on each other. A host that is found is left out, and the others are tested again (Maricq et al.
    2018), as long as most hosts are left.

    Args:
        blocks: host -> its blocks, each with the same number of values.
        level: of each test.
    """
    thin = max(LEAST_BLOCKS, MOST_BLOCKS // max(1, len(blocks)))
    left = {
        host: rows[np.unique(np.linspace(0, len(rows) - 1, min(thin, len(rows))).astype(int))]
        for host, rows in blocks.items()
    }
    found: list[Unlike] = []
    chance = np.random.default_rng(0)  # the same result each time
    for _ in range(min(MOST_NAMED, (len(blocks) - 1) // 2)):
        values = np.concatenate([*left.values()])
        ends = np.cumsum([len(rows) for rows in left.values()])
        kernel = _kernel(values)
        [scaled], [distances] = _discrepancies(kernel, ends, np.arange(len(values))[None, :])
        most = int(np.argmax(scaled))
        as_far, chunk = 0, max(1, GATHERED // int(np.diff(ends, prepend=0).max()) ** 2)
        for start in range(0, PERMUTATIONS, chunk):
            count = min(chunk, PERMUTATIONS - start)
            orders = chance.permuted(np.tile(np.arange(len(values)), (count, 1)), axis=1)
            largest = _discrepancies(kernel, ends, orders)[0].max(axis=1)
            as_far += int(np.sum(largest >= scaled[most] - NEGLIGIBLE))
        p = (1 + as_far) / (1 + PERMUTATIONS)
        if p > level:
            break
        host = [*left][most]
        found.append(Unlike(host, float(distances[most]), p))
        del left[host]
    return found


def _kernel(values: _Blocks) -> _Blocks:
    """Return the Gaussian kernel between all blocks, each value in units of its standard deviation."""
    deviations = values.std(axis=0)
    units = values / np.where(deviations > 0, deviations, 1)
    squares = (units**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * units @ units.T, 0)
    width = float(np.median(distances[np.triu_indices(len(values), 1)])) or 1.0
    return np.asarray(np.exp(-distances / width))


def _discrepancies(
    kernel: _Blocks, ends: NDArray[np.int64], orders: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared discrepancy of each host from the others, scaled to be comparable, and as it is.

    Args:
        kernel: between all blocks.
        ends: where the blocks of each host end in an order.
        orders: orders of the blocks, one in each row; so are the results.
    """
    starts = np.concatenate(([0], ends[:-1]))
    of_host = ends - starts
    others = orders.shape[1] - of_host
    rows = np.add.reduceat(kernel.sum(axis=1)[orders], starts, axis=1)
    within = np.empty(rows.shape)
    for host, (start, end) in enumerate(zip(starts, ends, strict=True)):
        mine = orders[:, start:end]
        within[:, host] = kernel[mine[:, :, None], mine[:, None, :]].sum(axis=(1, 2))
    rest = kernel.sum() - 2 * rows + within
    distances = within / of_host**2 + rest / others**2 - 2 * (rows - within) / (of_host * others)
    return distances * of_host * others / orders.shape[1], distances


def typical(of_host: Mapping[str, Sequence[float]]) -> tuple[float | None, Interval | None, Shape]:
    """Return the median of a condition, its interval and its shape: of several hosts, of their medians.

    Two hosts are not two clusters: the shape is judged on each host.
    """
    known = {host: values for host, values in of_host.items() if values}
    if len(known) < 2:
        values = next(iter(known.values()), [])
        return (median(values) if values else None), median_interval(values), shape(values)
    centers = [median(values) for values in known.values()]
    shapes = {host: shape(values) for host, values in known.items()}
    noted = [host for host, of in shapes.items() if of.note]
    seen = Shape()
    if noted:
        more = f", and on {counted(noted[1:], 'other host')}" * (len(noted) > 1)
        first = shapes[noted[0]]
        seen = replace(first, note=f"{first.note} on {noted[0]}{more}")
    return median(centers), median_interval(centers), seen


def on_one_scale(of_host: Mapping[str, Sequence[float]]) -> list[float]:
    """Return the values of all hosts as if each had the same median, the median of the hosts' medians."""
    centers = {host: median(values) for host, values in of_host.items() if values}
    if len(centers) < 2 or min(centers.values()) <= 0:
        return [value for values in of_host.values() for value in values]
    same = median([*centers.values()])
    return [value / centers[host] * same for host, values in of_host.items() for value in values]
