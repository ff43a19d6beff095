"""What distributions over layouts say: pure functions over arrays. Layouts are independent draws."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from assay.analysis.types import Interval

_MOST = 2000  # values of which all pairs are formed: 32 MB
_QUANTILE_975 = 1.959964  # of the standard normal distribution


@dataclass(frozen=True)
class Errors:
    """How wrong a single layout may be, as shares of the level.

    Attributes:
        measurement: the width of the interval of 90% of one measurement in one layout.
        comparison: that of a comparison of two programs, each in one layout of its own.
        measurement_within: how far nine of ten measurements are from the level at most.
        comparison_within: how far nine of ten comparisons of equal programs are from none at most.
    """

    measurement: float
    comparison: float
    measurement_within: float
    comparison_within: float


@dataclass(frozen=True)
class Line:
    """A straight line, fitted by least squares.

    Attributes:
        at_one: its height at 1.
        residuals: the distance of each value from it.
    """

    at_one: float
    residuals: NDArray[np.float64]


def fitted_line(x: NDArray[np.float64], values: NDArray[np.float64]) -> Line:
    """Fit a line to values at x."""
    slope, height = np.polyfit(x, values, 1)
    return Line(float(slope + height), values - (slope * x + height))


def errors(
    values: NDArray[np.float64], residuals: NDArray[np.float64] | None = None, level: float | None = None
) -> Errors:
    """Return how wrong single layouts may be (Blackwell 1998, section 4.2, table 2).

    The thesis calls 3.7% the error of a measurement in its text and that of a comparison in its table 2, so
    that both are here, each by its name.

    Args:
        values: one of each layout, above 0.
        residuals: their distances from a fitted line; by default, from the median.
        level: of which the errors are shares; by default, the median.
    """
    middle = float(np.median(values)) if level is None else level
    distances = values - middle if residuals is None else residuals
    differences = _all_pairs(distances, distances)
    return Errors(
        _width(distances) / middle,
        _width(differences) / middle,
        float(np.quantile(np.abs(distances), 0.9)) / middle,
        float(np.quantile(np.abs(differences), 0.9)) / middle,
    )


def _all_pairs(values: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all differences; where there are very many values, of a sample of them, the same each time."""
    draw = np.random.default_rng(0)
    few, few_others = (
        draw.choice(each, _MOST, replace=False) if len(each) > _MOST else each for each in (values, others)
    )
    return (few[:, None] - few_others[None, :]).ravel()


def _width(values: NDArray[np.float64]) -> float:
    low, high = np.quantile(values, [0.05, 0.95])
    return float(high - low)


def geometric_spread(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return by which factors the 10th percentile lies below the median, and the 90th above it."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return float(middle / low) if low else float("inf"), float(high / middle) if middle else 1.0


def ratio(values: NDArray[np.float64], baseline: NDArray[np.float64]) -> Interval | None:
    """Return the interval of 95% of how many times the values are those of independent layouts.

    There is none for too few values.

    The ratios of all pairs are put in order, and those are taken that the rank-sum test of a shift of the
    logarithms does not refuse, in its normal approximation (Lehmann 1975, section 2.6).

    Args:
        values: above 0, some of each side.
        baseline: above 0.
    """
    n, m = min(len(values), _MOST), min(len(baseline), _MOST)
    ratios = np.sort(_all_pairs(np.log(values), np.log(baseline)))
    first = int(n * m / 2 - _QUANTILE_975 * sqrt(n * m * (n + m + 1) / 12)) - 1
    if first < 0:
        return None
    low, high = np.exp(ratios[[first, n * m - 1 - first]])
    return Interval(float(low), float(high), 0.95)
