"""Intervals and tests without an assumed distribution: pure functions over arrays.

`docs/statistics.md` derives them and says what they assume.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, exp, log, log2, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.analysis.types import Interval

CONFIDENCE = 0.95

GENERATORS = 14
"""Sign flips come from a group of 2**14; with at most 14 pairs, from all flips."""

MOST_GENERATORS = 18
"""The same for the level of one among many comparisons, which needs a finer group."""

NEGLIGIBLE = 1e-12
"""Subset means of log ratios below this are rounding errors and count as zero."""

CHUNK = 1 << 17
"""Subset means held at once: each table takes 1 MiB and stays in a cache."""


def median(values: ArrayLike) -> float:
    """Return the median: the middle value, or the mean of the two middle values, without overflow.

    Args:
        values: one-dimensional, finite, at least one.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, high = float(ordered[(ordered.size - 1) // 2]), float(ordered[ordered.size // 2])
    return low if low == high else low / 2 + high / 2


def as_ratio(log_ratio: float) -> float:
    """Return the ratio; it never overflows."""
    return exp(min(max(log_ratio, -700), 700))


def median_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the interval between two order statistics that covers the median of the distribution.

    The r-th smallest and the r-th largest of n values miss the median with probability at most
    2 P(Binomial(n, 1/2) < r) (David & Nagaraja 2003, section 7.1). The largest r that the confidence allows
    is taken.

    Args:
        values: one-dimensional, finite, of independent trials.
        confidence: between 0 and 1.

    Returns:
        The interval, or None if even the extremes attain less than `confidence` (n < 6 for 95%).
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    r, attained = _order(n, confidence)
    return Interval(float(ordered[r - 1]), float(ordered[n - r]), attained) if r else None


def distribution_band(n: int, confidence: float = CONFIDENCE) -> float:
    """Return how far an empirical distribution function is from the true one at most, with this confidence.

    It is the inequality of Dvoretzky, Kiefer and Wolfowitz (1956) with Massart's constant (1990): it holds at
    all values at once, for every distribution.

    Args:
        n: number of independent values, at least one.
        confidence: between 0 and 1.
    """
    return sqrt(log(2 / (1 - confidence)) / (2 * n))


@cache
def _order(n: int, confidence: float) -> tuple[int, float]:
    """Return the largest r whose interval of n values has the confidence (0 if none), and what it attains.

    It counts the 2**n equally likely ways to lie below or above the median: SciPy gives the same result, but
    takes as long to load as one block of a race.
    """
    most = int(Fraction(1 - confidence) * 2 ** (n - 1))
    r, ways, missed, below = 0, 1, 0, 1  # below: the ways in which at most r values lie below
    while r < n // 2 and below <= most:
        missed = below
        ways = ways * (n - r) // (r + 1)
        below += ways
        r += 1
    return r, 1 - missed / 2 ** (n - 1)


@dataclass(frozen=True)
class SignFlips:
    """Sign-flip tests of several comparisons with the same number of pairs.

    Attributes:
        center: the means of the changes, or the ratios of sums.
        low, high: the ends of the intervals of the center of symmetry; None if there are too few pairs for
            the requested confidence.
        p: two-sided p-values of no change; at most 1 - confidence exactly if the interval excludes no change.
        confidence: what the intervals attain, at least what was requested; 0 without intervals.
    """

    center: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    p: NDArray[np.float64]
    confidence: float


def sign_flips(
    changes: ArrayLike, confidence: float = CONFIDENCE, family: int = 1, over: ArrayLike | None = None
) -> SignFlips:
    """Test by sign flips whether changes are centered on 0, and invert the test to intervals.

    With G all flips, or a fixed subgroup of 2**14 or more beyond 14 pairs, the one-sided p-value of a center
    theta is (1 + number of sets S with mean of S <= theta) / |G|. The interval's ends are therefore the k-th
    smallest and the k-th largest of the subset means (Hartigan 1969, "typical values"), with k the largest
    number such that 2k/|G| <= 1 - confidence. `docs/statistics.md` proves it.

    With `over`, the test is whether values y have the same center as values x, and the intervals are for the
    ratio of their means: the signs of y - theta x are flipped, and the subset means become the ratios of
    subset sums. A subset whose x are all 0 counts as infinity; if its y are 0 too, it counts at both ends.

    Args:
        changes: log ratios or differences; with `over`, the values y, not negative. Shape (comparisons,
            pairs), finite, at least one pair.
        confidence: between 0 and 1.
        family: number of comparisons for which the p-values will be corrected; it makes G fine enough.
        over: the values x, not negative, not all 0 in any comparison; the largest value is about 1.
    """
    data = np.asarray(changes, dtype=np.float64)
    divisors = None if over is None else np.asarray(over, dtype=np.float64)
    generators = _generators(data.shape[1], confidence, family)
    order = 1 << generators  # of the group: the subsets and the empty set
    k = int((1 - confidence) / 2 * order * (1 + NEGLIGIBLE))
    low, high, p = np.empty((3, len(data)))
    step = max(1, CHUNK >> generators)
    for start in range(0, len(data), step):
        rows = slice(start, start + step)
        if divisors is None:
            same = 0
            below = _subset_means(data[rows], generators)
            below[np.abs(below) < NEGLIGIBLE] = 0
            above = below
        else:
            same = 1
            below, above = _subset_ratios(data[rows], divisors[rows], generators)
        fewer = [
            min(map(np.count_nonzero, sides)) for sides in zip(below <= same, above >= same, strict=True)
        ]
        p[rows] = np.minimum(1, 2 * (1 + np.array(fewer)) / order)
        if k > 0:
            below.partition(k - 1, axis=1)
            low[rows] = below[:, k - 1]
            above.partition(order - 1 - k, axis=1)
            high[rows] = above[:, order - 1 - k]
    center = data.mean(axis=1) if divisors is None else data.sum(axis=1) / divisors.sum(axis=1)
    if k == 0:
        return SignFlips(center, None, None, p, 0)
    return SignFlips(center, low, high, p, 1 - 2 * k / order)


def _generators(pairs: int, confidence: float, family: int) -> int:
    """Return the binary logarithm of the order of the group of flips.

    At the level of one comparison of the family, each side has at least 8 flips, if there are as many.
    """
    enough = ceil(log2(16 * family / (1 - confidence)))
    return min(pairs, max(GENERATORS, min(enough, MOST_GENERATORS)))


def codes_of(pairs: int, generators: int) -> NDArray[np.uint32]:
    """Return the code of each pair, which determines the subsets it belongs to.

    Pair i has a code c_i of `generators` bits, and belongs to subset g if g and c_i share an odd number of
    bits. The first codes are the single bits: with as many pairs as generators, every subset occurs. Codes
    have odd weight, and are distinct as long as there are enough: then the complement of a subset is a subset
    (the test is symmetric), and any three pairs are flipped independently.
    """
    numbers = np.arange(1 << generators, dtype=np.uint32)
    single = np.uint32(1) << np.arange(generators, dtype=np.uint32)
    odd = numbers[np.bitwise_count(numbers) % 2 == 1]
    others = np.setdiff1d(odd, single)
    codes: NDArray[np.uint32] = np.resize(np.concatenate((single, others[np.argsort(_mixed(others))])), pairs)
    return codes


def _mixed(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return distinct numbers that look random: the last steps of MurmurHash3 (Appleby 2011).

    They are the same on every machine and in every version, which a library's generator does not promise.
    """
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        numbers = (numbers ^ (numbers >> np.uint32(shift))) * np.uint32(factor)
    return numbers


def _subset_means(data: NDArray[np.float64], generators: int) -> NDArray[np.float64]:
    """Return the mean of each non-empty subset, shape (comparisons, 2**generators - 1).

    The sum over subset g is half the difference between the sum over all pairs and the sum in which the pairs
    of g have their signs turned. The latter, for all g at once, is the Walsh-Hadamard transform of the data
    laid out by code; its time does not depend on the number of pairs.
    """
    means = _subset_sums(data, generators)
    means /= _layout(data.shape[1], generators)[1]
    return means


def _subset_sums(data: NDArray[np.float64], generators: int) -> NDArray[np.float64]:
    codes, _ = _layout(data.shape[1], generators)
    sums = signed_sums(data, codes, generators)[:, 1:]
    np.subtract(data.sum(axis=1, keepdims=True), sums, out=sums)
    sums /= 2
    return sums


def _subset_ratios(
    level: NDArray[np.float64], baseline: NDArray[np.float64], generators: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ratio of sums over each non-empty subset: its least and its greatest possible value.

    They differ if both sums are 0, as the ratio is unknown.
    """
    sums = [_subset_sums(values, generators) for values in (level, baseline)]
    for of_side in sums:
        of_side[of_side < NEGLIGIBLE] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = sums[0] / sums[1]
    ratios[np.abs(ratios - 1) < NEGLIGIBLE] = 1
    unknown = np.isnan(ratios)
    return np.where(unknown, 0, ratios), np.where(unknown, np.inf, ratios)


@cache
def _layout(pairs: int, generators: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """Return the codes of pairs and the sizes of the non-empty subsets."""
    codes = codes_of(pairs, generators)
    signed = signed_sums(np.ones((1, pairs)), codes, generators)[0]
    return codes, (pairs - signed[1:]) / 2


def signed_sums(data: NDArray[np.float64], codes: NDArray[np.uint32], generators: int) -> NDArray[np.float64]:
    """Return the sum over all pairs with the signs of each subset turned, the empty set first.

    A code has odd weight, so its other bits give the lowest one: the transform is of half the size, for the
    subsets g without this bit. The complement of such a subset turns the other signs.
    """
    half = 1 << (generators - 1)
    laid_out = np.zeros((len(data), half))
    for start in range(0, len(codes), half):  # up to here codes are distinct
        columns = slice(start, start + half)
        laid_out[:, codes[columns] >> 1] += data[:, columns]
    signed = _walsh_hadamard(laid_out)
    return np.concatenate((signed, -signed), axis=1)


def _walsh_hadamard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the product of each row with the matrix (-1)**(number of bits that row and column share).

    Each step adds and subtracts neighbours; the results are the two halves of the next step (Pease 1968).
    The values are overwritten.
    """
    half = values.shape[1] // 2
    step, following = values, np.empty_like(values)
    for _ in range(values.shape[1].bit_length() - 1):
        even, odd = step[:, ::2], step[:, 1::2]
        np.add(even, odd, out=following[:, :half])
        np.subtract(even, odd, out=following[:, half:])
        step, following = following, step
    return step
