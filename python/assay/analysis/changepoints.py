"""Changepoints of a series: over the commits of a history, and over the intervals of a trial."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

WINDOW = 3

Values = NDArray[np.float64]


def changepoints(smoothed: Values, noise: float, penalty: float, shortest: int) -> list[int]:
    """Return the index at which each segment begins, except the first (Killick et al. 2012).

    The segments minimise the squared error within them plus a penalty for each.

    Args:
        noise: the noise of neighbouring values, from `noises`.
        penalty: the penalty of a segment, in units of the squared noise.
        shortest: the fewest values in a segment.
    """
    # Loaded late because it is slow; it ships no types.
    from ruptures import KernelCPD  # type: ignore[import-untyped] # noqa: PLC0415

    finder = KernelCPD(kernel="linear", min_size=shortest).fit((smoothed / noise).reshape(-1, 1))
    return [int(end) for end in finder.predict(pen=penalty)[:-1]]


def smooth(rows: Values) -> Values:
    """Return running medians of three, which remove single outliers, also at both ends."""
    first, second, third = rows[:, :-2], rows[:, 1:-1], rows[:, 2:]
    middle = np.maximum(np.minimum(first, second), np.minimum(np.maximum(first, second), third))
    return np.concatenate((middle[:, :1], middle, middle[:, -1:]), axis=1)


def noises(
    rows: Values, spread: Callable[[Values], Values], least: float, windows_from: int = WINDOW + 1
) -> Values:
    """Return the noise between the neighbouring values of each row.

    It is taken from the differences of neighbours, or of the means of neighbouring windows if these differ
    more: correlated neighbours differ too little.

    Args:
        spread: the spread of each row's differences, robust against steps.
        least: the least noise of a row.
        windows_from: the shortest row in which windows are compared too.
    """
    near = np.maximum(spread(np.diff(rows, axis=1) / math.sqrt(2)), least)
    if rows.shape[1] < windows_from:
        return near
    sums = np.cumsum(np.pad(rows, ((0, 0), (1, 0))), axis=1)
    means = (sums[:, WINDOW:] - sums[:, :-WINDOW]) / WINDOW
    return np.maximum(near, spread((means[:, WINDOW:] - means[:, :-WINDOW]) * math.sqrt(WINDOW / 2)))
