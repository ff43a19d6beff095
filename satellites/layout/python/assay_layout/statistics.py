"""What distributions over layouts say: pure functions over arrays. Layouts are independent draws."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from assay.analysis.types import Interval

_QUANTILE_975 = 1.959964  # of the standard normal distribution


@dataclass(frozen=True)
class Errors:
    """How wrong a single layout may be, each as a share of the level: widths of intervals of 90%.

    Attributes:
        measurement: of one measurement in one layout.
        comparison: of a comparison of two programs, each in one layout of its own.
    """

    measurement: float
    comparison: float


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
    differences = (distances[:, None] - distances[None, :]).ravel()
    return Errors(_width(distances) / middle, _width(differences) / middle)


def _width(values: NDArray[np.float64]) -> float:
    low, high = np.quantile(values, [0.05, 0.95])
    return float(high - low)


def geometric_spread(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return by which factors the 10th percentile lies below the median, and the 90th above it."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return float(middle / low) if low else float("inf"), float(high / middle) if middle else 1.0


def ratio(values: NDArray[np.float64], baseline: NDArray[np.float64]) -> Interval:
    """Return the interval of 95% of how many times the values are those of independent layouts.

    The ratios of all pairs are put in order, and those are taken that the rank-sum test of a shift of the
    logarithms does not refuse, in its normal approximation (Lehmann 1975, section 2.6).

    Args:
        values: above 0, some of each side.
        baseline: above 0.
    """
    n, m = len(values), len(baseline)
    ratios = np.sort((np.log(values)[:, None] - np.log(baseline)[None, :]).ravel())
    inside = n * m / 2 - _QUANTILE_975 * sqrt(n * m * (n + m + 1) / 12)
    first = max(int(inside) - 1, 0)
    low, high = np.exp(ratios[[first, n * m - 1 - first]])
    return Interval(float(low), float(high), 0.95)
