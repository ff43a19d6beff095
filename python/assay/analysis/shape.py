"""Whether one number may stand for the values of a condition: one mode or several, and how far apart."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.analysis.intervals import median
from assay.analysis.types import Mode, Shape

FEWEST = 10
"""Below so many values neither test can tell one mode from several."""

LEVEL = 0.005
"""Of the dip test. One condition at a time 5% would do, but a report tests many at once. Uniform noise, the
worst case of the dip test, reaches the level; bell-shaped noise stays ten times below, so that 20 conditions
of it together give a false alarm in less than 5% of reports."""

CLEAR_OF_SCATTER = 2.0
"""Two clusters are modes where the gap between them is at least this many times as wide as either is."""

SMALLEST_CLUSTER = 3
SMALLEST_SHARE = 0.1
"""A cluster has at least so many values, and this share of them; what is less are outliers."""

SMALLEST_DISTANCE = 0.01
"""Modes less than 1% apart do not make a median misleading."""

WIDE = 2.0
"""A median is not typical where the quartiles are more than this factor apart."""

_Values = NDArray[np.float64]


def shape(values: Sequence[float]) -> Shape:
    """Say whether a median may stand for values: whether they have one mode, and are not spread too widely.

    There are several modes where Hartigan's dip test rejects one (Hartigan & Hartigan 1985), or where a gap
    parts the values that is much wider than what it parts: the dip test has little power for unequal shares,
    such as a host shows that is in its slow mode for a tenth of the time. The values are then split, at the
    gap or where the squared distances to the two means are least (Otsu 1979), and each part is tested anew.
    Logarithms are tested where all values are positive.

    Rounded values meet in ties, which the dip test would take for modes. They are spread evenly over the
    grain, the smallest difference between two values; two values alone show no grain and stay as they are.

    Args:
        values: finite, of independent trials of one condition.

    Returns:
        What is found; with fewer than 10 values nothing is.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    if data.size < FEWEST:
        return Shape()
    positive = bool(data[0] > 0)
    tested = np.log(data) if positive else data
    spread = _without_ties(data)
    dip_p = _dip_p(np.log(spread) if positive else spread)
    ends = _splits(tested, np.log(spread) if positive else spread, positive)
    if ends:
        parts = np.split(data, ends)
        modes = tuple(Mode(median(part), part.size / data.size) for part in parts)
        named = ", ".join(f"{mode.share:.0%} around {mode.center:.4g}" for mode in modes)
        return Shape(modes, dip_p, f"the values gather in {len(modes)} places: {named}")
    low, high = np.quantile(data, (0.25, 0.75))
    if positive and high / WIDE > low:
        return Shape((), dip_p, f"the values are far apart: half of them lie outside {low:.4g} to {high:.4g}")
    return Shape((), dip_p)


def _splits(values: _Values, spread: _Values, logarithmic: bool) -> list[int]:
    """Return where sorted values are to be split so that each part has one mode: positions, increasing.

    Args:
        values: sorted.
        spread: the same without ties.
        logarithmic: whether they are logarithms.
    """
    if values.size < FEWEST:
        return []
    at = _gap(values)
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
    return [*below, at, *(at + each for each in above)]


def _gap(values: _Values) -> int | None:
    """Return where the widest gap between two clusters is, if it is clear."""
    least = max(SMALLEST_CLUSTER, math.ceil(SMALLEST_SHARE * values.size))
    if values.size < 2 * least:
        return None
    gaps = np.diff(values)[least - 1 : values.size - least]
    at = least + int(np.argmax(gaps))
    width = float(values[at] - values[at - 1])
    scatter = float(max(values[at - 1] - values[0], values[-1] - values[at]))
    return at if width > 0 and width >= CLEAR_OF_SCATTER * scatter else None


def _two_means(values: _Values) -> int:
    """Return where to split values so that the sum of squared distances to the two means is least."""
    centered = values - values.mean()
    left = np.arange(1, values.size)
    between = np.cumsum(centered)[:-1] ** 2 / (left * (values.size - left))
    return int(left[np.argmax(between)])


def _dip_p(values: _Values) -> float:
    # Loaded late, because most commands need no statistics; it ships no types.
    from diptest import diptest  # type: ignore[import-untyped] # noqa: PLC0415

    return float(diptest(values, sort_x=False)[1])


def _without_ties(values: _Values) -> _Values:
    """Return sorted values with ties spread evenly over the grain: the smallest difference between two."""
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size == values.size or distinct.size < 3:
        return values
    grain = float(np.diff(distinct).min())
    steps = np.arange(values.size) - np.repeat(np.cumsum(counts) - counts, counts)
    offsets = (steps + 0.5) / np.repeat(counts, counts) - 0.5
    spread: _Values = np.maximum(values + grain * offsets, np.where(values > 0, values / 2, -np.inf))
    return spread
