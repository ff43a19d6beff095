"""What the verdicts' method was chosen against: other intervals, and other ways to look early."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student  # type: ignore[import-untyped]

from assay.analysis.intervals import codes_of, signed_sums
from simulation import Array

LEVEL = 0.05
NEVER = np.iinfo(np.int64).max


def student_interval(log_ratios: Array) -> tuple[Array, Array]:
    """Return Student's 95% interval of the mean of each row: the narrowest there is for normal noise."""
    n = log_ratios.shape[1]
    center = log_ratios.mean(axis=1)
    reach = student.ppf(1 - LEVEL / 2, n - 1) * log_ratios.std(axis=1, ddof=1) / np.sqrt(n)
    return center - reach, center + reach


def wilcoxon_interval(log_ratios: Array) -> tuple[Array, Array]:
    """Return the 95% interval that inverts Wilcoxon's signed-rank test, around the Hodges-Lehmann estimate.

    Its ends are order statistics of the means of all pairs of values (Hollander, Wolfe & Chicken 2014, 3.3).
    """
    n = log_ratios.shape[1]
    first, second = np.triu_indices(n)
    means = np.sort((log_ratios[:, first] + log_ratios[:, second]) / 2, axis=1)
    k = _wilcoxon_rank(n)
    return means[:, k - 1], means[:, -k]


@cache
def _wilcoxon_rank(n: int) -> int:
    """Return the largest k such that a rank sum is below k with probability at most 2.5%."""
    ways = np.ones(1)
    for rank in range(1, n + 1):
        ways = np.convolve(ways, np.bincount([0, rank]))
    return int(np.searchsorted(np.cumsum(ways) / 2**n, LEVEL / 2, side="right"))


# Each of the following returns after how many blocks each row is decided, NEVER where it is not. They test a
# center of `theta` against any other (side 0), or at half the level against one above (+1) or below (-1).


def exact_spending(
    log_ratios: Array, theta: float, side: int, counts: Sequence[int], levels: Array
) -> NDArray[np.int64]:
    """Spend the levels exactly: by the joint distribution of all looks under sign flips.

    Of the flips that no earlier look has rejected, each look rejects the most extreme ones until as many are
    rejected in all as the levels so far allow (Lan & DeMets 1983, with the flips as the distribution).
    """
    generators = 14
    codes = codes_of(counts[-1], generators)
    levels = levels if side == 0 else levels / 2
    decided = np.full(len(log_ratios), NEVER)
    for row, values in enumerate(log_ratios - theta):
        alive = np.ones(1 << generators, dtype=bool)
        for look, count in enumerate(counts):
            sums = signed_sums(values[None, :count], codes[:count], generators)[0]
            extreme = np.where(alive, np.abs(sums) if side == 0 else side * sums, -np.inf)
            may = int(levels[: look + 1].sum() * len(alive) + 1e-9) - int((~alive).sum())
            if may <= 0:
                continue
            rejected = extreme > np.partition(extreme, -may - 1)[-may - 1] + 1e-12
            if rejected[0]:
                decided[row] = count
                break
            alive &= ~rejected
    return decided


def martingale(log_ratios: Array, theta: float, side: int, level: float) -> NDArray[np.int64]:
    """Decide at any block, by a mixture of martingales.

    For x symmetric about 0, exp(a x) / cosh(a x) has expectation 1 whatever a is (compare de la Peña 1999),
    so that the product over blocks ever reaches 1 / level with at most that chance (Ville 1939). The mixture
    is over a from 1 / 30% to 1 / 0.3%.
    """
    scales = np.geomspace(3, 300, 13)
    weights = np.concatenate((scales, -scales)) if side == 0 else side * scales
    exponents = weights[None, :, None] * (log_ratios - theta)[:, None, :]
    growth = exponents - np.logaddexp(exponents, -exponents) + np.log(2)
    wealth = np.exp(np.cumsum(growth, axis=2)).mean(axis=1)
    wealth[:, :7] = 0  # 8 blocks are the fewest
    hit = wealth >= (1 if side == 0 else 2) / level
    return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, NEVER)
