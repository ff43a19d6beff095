"""Whether one number represents the values of a condition: one cluster or several, and how far apart."""

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
"""The level of the dip test. 5% would do for one condition, but a report tests many. Of 5,000 draws of 10 to
60 bell-shaped values, at most 0.2% seem to have several clusters, so that less than 5% of reports with 20
conditions have a false alarm."""

CLEAR_OF_SCATTER = 2.0
"""Two clusters are separate if the gap between them is at least this many times as wide as each of them
without its outliers."""

SMALLEST_CLUSTER = 3
SMALLEST_SHARE = 0.1
"""A cluster has at least this number and this share of the values; fewer are outliers."""

FEWEST_WITH_OUTLIERS = 15
"""With fewer values, none counts as an outlier: too often the remaining gap is clear by chance."""

SMALLEST_DISTANCE = 0.01
"""Clusters less than 1% apart do not make a median misleading."""

WIDE = 2.0
"""A median is not typical if the quartiles are more than this factor apart."""

LARGEST = float(np.finfo(np.float64).max)

_Values = NDArray[np.float64]


def shape(values: Sequence[float]) -> Shape:
    """Return whether a median represents the values: they form one cluster that is not too wide.

    There are several clusters if Hartigan's dip test rejects one (Hartigan & Hartigan 1985), or if a gap is
    much wider than the clusters next to it: the dip test has little power for unequal shares. Logarithms are
    tested if all values are positive. `docs/statistics.md` gives the rule and how often it is wrong.

    This cannot share code with `modes.gap`: neither works for the other's data (`modes_test.py`). Without its
    least factor, `modes.gap` finds two clusters in 0.7% of samples of 10 log-normal values, five times as
    often as here, where a report tests many conditions. A tenth of the values or less are outliers here, but
    may be a mode among 200 calibrations. Calibrations are also correlated in time: half of random walks of
    2,000 steps have two clusters here, and none of them two modes.

    Args:
        values: finite, of independent trials of one condition; fewer than 10 have no shape.
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
    """Return the increasing positions that split sorted values into clusters.

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
    """Return the fewest values of a cluster among this many values."""
    return max(SMALLEST_CLUSTER, math.ceil(SMALLEST_SHARE * size))


def _gap(values: _Values) -> int | None:
    """Return the position of the widest clear gap between two clusters, if there is one.

    The width of a cluster excludes the (rounded) tenth of its values that is farthest from the gap.
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
    """Return the split with the least sum of squared distances to the means of its two parts (Otsu 1979).

    Values beyond the outermost possible cluster are moved to its edge: outliers have no influence.
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
    """Return sorted values with ties spread evenly over the grain, as ties would seem to be clusters.

    The grain is the smallest difference between two values; if there are only two different values, it is one
    unit of their last decimal.
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
