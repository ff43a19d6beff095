"""Whether one number may stand for the values of a condition: one cluster or several, and how far apart."""

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from assay.analysis.intervals import median
from assay.analysis.types import Cluster, Shape

FEWEST = 10
"""With fewer values neither test can tell one cluster from several."""

LEVEL = 0.005
"""Of the dip test. One condition at a time 5% would do, but a report tests many at once. Of 10 to 60
bell-shaped values, at most 0.2% of 5,000 draws are taken for several clusters, so that 20 conditions together
give a false alarm in less than 5% of reports."""

CLEAR_OF_SCATTER = 2.0
"""Two clusters are apart where the gap between them is at least this many times as wide as either is, less
its outliers."""

SMALLEST_CLUSTER = 3
SMALLEST_SHARE = 0.1
"""A cluster has at least this many values, and this share of them; fewer are outliers."""

FEWEST_WITH_OUTLIERS = 15
"""With fewer values none is taken for an outlier: too often the gap that is left is clear by chance."""

SMALLEST_DISTANCE = 0.01
"""Clusters less than 1% apart do not make a median misleading."""

WIDE = 2.0
"""A median is not typical where the quartiles are more than this factor apart."""

LARGEST = float(np.finfo(np.float64).max)

_Values = NDArray[np.float64]


def shape(values: Sequence[float]) -> Shape:
    """Say whether a median may stand for values: whether they form one cluster that is not spread too widely.

    There are several where Hartigan's dip test rejects one (Hartigan & Hartigan 1985), or where a gap is much
    wider than what it parts: the dip test has little power for unequal shares. `docs/statistics.md` gives the
    rule and how often it errs. Logarithms are tested where all values are positive.

    It does not share its gaps with `modes.gap`: neither does for the other's data (`modes_test.py`). Without
    its least factor, `modes.gap` takes 0.7% of samples of 10 log-normal values for two clusters, five times
    as many as here, where a report tests many conditions. What is a tenth of the values or less is an outlier
    here, but may be a mode among 200 calibrations; and calibrations follow each other: half of random walks
    of 2,000 steps have two clusters here, and none of them two modes.

    Args:
        values: finite, of independent trials of one condition; with fewer than 10 there is nothing to say.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    if data.size < FEWEST:
        return Shape()
    positive = bool(data[0] > 0)
    exponent = -np.frexp(np.abs(data).max())[1]
    tested, spread = (
        np.log(values)
        if positive
        else np.ldexp(values, exponent)  # below 1, whose squares and sums are finite
        for values in (data, _without_ties(data))
    )
    dip_p = _dip_p(spread)
    ends = _splits(tested, spread, positive)
    if ends:
        parts = np.split(data, ends)
        clusters = tuple(Cluster(median(part), part.size / data.size) for part in parts)
        named = ", ".join(f"{cluster.share:.0%} around {cluster.center:.4g}" for cluster in clusters)
        return Shape(clusters, dip_p, f"the values gather in {len(clusters)} places: {named}")
    if positive:
        low, high = np.quantile(data, (0.25, 0.75))
        if high / WIDE > low:
            note = f"the values are far apart: half of them lie outside {low:.4g} to {high:.4g}"
            return Shape((), dip_p, note)
    return Shape((), dip_p)


def _splits(values: _Values, spread: _Values, logarithmic: bool) -> list[int]:
    """Return where sorted values are to be split so that each part is one cluster: positions, increasing.

    `spread` are the same values without ties.
    """
    if values.size < FEWEST:
        return []
    at = _gap(spread)
    if at is None:
        if _dip_p(spread) > LEVEL:
            return []
        at = _two_means(values)
    low, high = median(values[:at]), median(values[at:])
    near = math.log1p(SMALLEST_DISTANCE) if logarithmic else SMALLEST_DISTANCE * max(abs(low), abs(high))
    if high - low < near:
        return []
    below = _splits(values[:at], spread[:at], logarithmic)
    above = _splits(values[at:], spread[at:], logarithmic)
    return [*below, at, *(at + place for place in above)]


def _smallest_cluster(size: int) -> int:
    """Return the fewest values that make a cluster among this many."""
    return max(SMALLEST_CLUSTER, math.ceil(SMALLEST_SHARE * size))


def _gap(values: _Values) -> int | None:
    """Return where the widest clear gap between two clusters is, if there is one.

    The scatter of a cluster is without the tenth of its values, rounded, that are farthest from the gap.
    """
    least = _smallest_cluster(values.size)
    at = np.arange(least, values.size - least + 1)
    above = values.size - at
    may_drop = values.size >= FEWEST_WITH_OUTLIERS
    lowest, highest = (at + 5) // 10 * may_drop, values.size - 1 - (above + 5) // 10 * may_drop
    gaps = values[at] - values[at - 1]
    scatter = np.maximum(values[at - 1] - values[lowest], values[highest] - values[at])
    clear = (gaps > 0) & (gaps >= CLEAR_OF_SCATTER * scatter)
    return int(at[np.argmax(np.where(clear, gaps, 0))]) if clear.any() else None


def _two_means(values: _Values) -> int:
    """Return where the sum of squared distances to the means of two parts is least (Otsu 1979).

    What lies beyond the outermost values that could make a cluster is moved there: outliers have no say.
    """
    least = _smallest_cluster(values.size)
    clipped = np.clip(values, values[least - 1], values[-least])
    left = np.arange(least, values.size - least + 1)
    sums = np.cumsum(clipped - clipped.mean())[left - 1]
    return int(left[np.argmax(sums**2 / (left * (values.size - left)))])


def _dip_p(values: _Values) -> float:
    # Loaded late, because most commands need no statistics; it ships no types.
    from diptest import diptest  # type: ignore[import-untyped] # noqa: PLC0415

    return float(diptest(values, sort_x=False)[1])


def _without_ties(values: _Values) -> _Values:
    """Return sorted values with ties, which would be taken for clusters, spread evenly over the grain.

    It is the smallest difference between two values or, as two values alone show none, a unit of their last
    decimal.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size in (1, values.size):
        return values
    steps = np.arange(values.size) - np.repeat(np.cumsum(counts) - counts, counts)
    offsets = (steps + 0.5) / np.repeat(counts, counts) - 0.5
    least = np.where(values > 0, np.maximum(values / 2, np.nextafter(0, 1)), -LARGEST)
    with np.errstate(over="ignore"):
        grain = min(float(np.diff(distinct).min()), LARGEST) if distinct.size > 2 else _last_decimal(distinct)
        spread: _Values = np.clip(values + grain * offsets, least, LARGEST)
    return spread


def _last_decimal(values: _Values) -> float:
    """Return one unit of the last decimal that any of the values has, at most 1."""
    decimals = max(-int(Decimal(repr(value)).normalize().as_tuple().exponent) for value in values.tolist())
    return 10.0 ** -max(0, decimals)
