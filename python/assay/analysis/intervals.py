"""Intervals and tests that assume no shape of distribution: pure functions over arrays.

`docs/statistics.md` derives them and says what they assume.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.analysis.types import Interval

CONFIDENCE = 0.95

GENERATORS = 14
"""Sign flips are drawn from a group of at most 2**14: all of them up to 14 pairs, a subgroup beyond."""

NEGLIGIBLE = 1e-12
"""Subset means of log ratios below this are zero: what rounding leaves of values that cancel."""

CHUNK = 256
"""Comparisons handled at once, so that the table of their subset means stays near 32 MiB."""


def median(values: ArrayLike) -> float:
    """Return the median: the middle value, or the mean of the two in the middle, which never overflows.

    Args:
        values: one-dimensional, finite, at least one.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, high = float(ordered[(ordered.size - 1) // 2]), float(ordered[ordered.size // 2])
    return low if low == high else low / 2 + high / 2


def median_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the interval between two order statistics that covers the median of the distribution.

    The r-th smallest and the r-th largest of n values miss the median with probability at most
    2 P(Binomial(n, 1/2) < r), whatever the distribution (David & Nagaraja 2003, section 7.1). The largest r
    that keeps this below 1 - `confidence` is taken, and the confidence attained is reported.

    Args:
        values: one-dimensional, finite, of independent trials.
        confidence: between 0 and 1.

    Returns:
        The interval, or None if even the extremes attain less than `confidence` (n < 6 for 95%).
    """
    # Loaded late because it is slow, and most commands need no statistics; SciPy ships no types.
    from scipy.special import bdtr  # type: ignore[import-untyped] # noqa: PLC0415

    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    misses = 2 * bdtr(np.arange(n // 2), n, 0.5)  # for r = 1, 2, ...
    r = int(np.searchsorted(misses, 1 - confidence, side="right"))
    if r == 0:
        return None
    return Interval(float(ordered[r - 1]), float(ordered[n - r]), float(1 - misses[r - 1]))


@dataclass(frozen=True)
class SignFlips:
    """Sign-flip tests of several comparisons with the same number of pairs.

    Attributes:
        center: the means of the log ratios.
        low, high: the ends of the intervals of the center of symmetry; None if there are too few pairs for
            the confidence asked for.
        p: two-sided p-values of a center of 0.
        confidence: what the intervals attain, at least what was asked for; 0 without intervals.
    """

    center: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    p: NDArray[np.float64]
    confidence: float


def sign_flips(log_ratios: ArrayLike, confidence: float = CONFIDENCE) -> SignFlips:
    """Test by sign flips whether log ratios are centered on 0, and invert the test to intervals.

    For pairs that are independent and symmetric about theta, flipping the signs of `log_ratios` - theta
    changes nothing in distribution. Under a group G of flips, the one-sided p-value of theta with the mean as
    statistic is the share of G whose flipped mean is at least the mean. Flipping the pairs of a set S
    lowers the mean by 2/n times the sum of S less theta for each, so that share is

        (1 + number of sets S with mean of S <= theta) / |G|,

    the 1 for the empty set. The interval's ends are therefore order statistics of the subset means
    (Hartigan 1969, "typical values"): with k the largest number such that 2k/|G| <= 1 - confidence, the
    k-th smallest and the k-th largest. Ties only make the test more careful.

    Up to 14 pairs G holds all flips. Beyond, it is a fixed subgroup of 2**14, with which the level stays
    exact because it is a group (Hartigan 1969; Hemerik & Goeman 2018; Koning & Hemerik 2024).

    Args:
        log_ratios: shape (comparisons, pairs), finite, at least one pair.
        confidence: between 0 and 1.
    """
    data = np.asarray(log_ratios, dtype=np.float64)
    members = _subsets(data.shape[1])
    sizes = members.sum(axis=0)
    order = len(sizes) + 1  # of the group: the subsets and the empty set
    k = int((1 - confidence) / 2 * order * (1 + NEGLIGIBLE))
    low, high, p = (np.empty(len(data)) for _ in range(3))
    for start in range(0, len(data), CHUNK):
        rows = slice(start, start + CHUNK)
        means = data[rows] @ members / sizes
        means[np.abs(means) < NEGLIGIBLE] = 0
        fewer = np.minimum((means <= 0).sum(axis=1), (means >= 0).sum(axis=1))
        p[rows] = np.minimum(1, 2 * (1 + fewer) / order)
        if k > 0:
            means.partition((k - 1, order - 1 - k), axis=1)
            low[rows], high[rows] = means[:, k - 1], means[:, order - 1 - k]
    center = data.mean(axis=1)
    if k == 0:
        return SignFlips(center, None, None, p, 0)
    return SignFlips(center, low, high, p, 1 - 2 * k / order)


def _subsets(pairs: int) -> NDArray[np.float64]:
    """Return a group of subsets without the empty one, shape (pairs, subsets), as 0 and 1.

    Pair i has a code c_i of m = min(pairs, GENERATORS) bits, and belongs to subset g where g and c_i share an
    odd number of bits. The first m codes are the single bits, so that up to GENERATORS pairs the subsets are
    all there are. The codes are of odd weight, and distinct as far as there are enough: then the complement
    of a subset is a subset (the test is symmetric), and any three pairs are flipped independently.
    """
    m = min(pairs, GENERATORS)
    numbers = np.arange(1 << m, dtype=np.uint32)
    single = np.uint32(1) << np.arange(m, dtype=np.uint32)
    odd = numbers[np.bitwise_count(numbers) % 2 == 1]
    others = np.random.default_rng(m).permutation(np.setdiff1d(odd, single))
    codes = np.resize(np.concatenate((single, others)), pairs)
    shared: NDArray[np.uint8] = np.bitwise_count(codes[:, None] & numbers[None, 1:])
    return (shared % 2).astype(np.float64)
