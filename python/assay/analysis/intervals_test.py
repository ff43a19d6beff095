from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.analysis import intervals, median_interval, sign_flips

Array = NDArray[np.float64]
thousandths = st.integers(-2000, 2000).map(lambda number: number / 1000)  # so that some tie and some cancel
log_ratios = st.lists(thousandths, min_size=6, max_size=11)


def brute_force_p(data: Array, theta: float, sign: int) -> float:
    """The share of all flips whose mean is at least what was seen, from the definition of the test."""
    centered = sign * (data - theta)
    return float(np.mean(flips(len(data)) @ centered / len(data) >= centered.mean() - 1e-12))


@cache
def flips(pairs: int) -> Array:
    return np.array(list(product((1.0, -1.0), repeat=pairs)))


def subsets(pairs: int, generators: int) -> Array:
    """The members of each non-empty subset of the group, as 0 and 1, from what the codes are said to mean."""
    codes = intervals.codes_of(pairs, min(pairs, generators))
    numbers = range(1, 1 << min(pairs, generators))
    return np.array([[bin(number & int(code)).count("1") % 2 for code in codes] for number in numbers], float)


def single(data: Array, confidence: float = 0.95) -> tuple[float, float, float]:
    tested = sign_flips([data], confidence)
    assert tested.low is not None
    assert tested.high is not None
    return float(tested.low[0]), float(tested.high[0]), float(tested.p[0])


# The interval of a median


def test_the_median_interval_of_ten_values_runs_from_the_second_to_the_ninth() -> None:
    interval = median_interval(np.arange(10.0) ** 2)
    assert interval is not None
    assert (interval.low, interval.high) == (1, 64)
    assert interval.confidence == pytest.approx(1 - 2 * (1 + 10) / 2**10)


@pytest.mark.parametrize("n", range(6))
def test_five_values_or_fewer_have_no_interval_of_95_percent(n: int) -> None:
    assert median_interval(np.arange(n)) is None


@given(st.integers(1, 200), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_median_interval_is_the_narrowest_that_attains_its_confidence(n: int, confidence: float) -> None:
    def attained(r: int) -> float:
        return 1 - 2 * sum(comb(n, i) for i in range(r)) / float(2**n)

    interval = median_interval(np.arange(n), confidence)
    r = 0 if interval is None else int(interval.low) + 1
    if interval is not None:
        assert interval.high == n - r
        assert interval.confidence == pytest.approx(attained(r))
        assert attained(r) >= confidence - 1e-9
    assert r + 1 > n // 2 or attained(r + 1) < confidence + 1e-9


# The band around a distribution


@pytest.mark.parametrize("n", [1, 5, 20, 100, 400])
def test_the_band_holds_the_whole_distribution_in_95_percent(n: int) -> None:
    values = np.sort(np.random.default_rng(1).random((20_000, n)))
    shares = np.arange(n + 1) / n
    # The distribution function of these values at x is x; the curve steps at each value.
    farthest = np.maximum(shares[1:] - values, values - shares[:-1]).max(axis=1)
    assert np.mean(farthest <= intervals.distribution_band(n)) >= 0.95
    thirds = [abs(np.mean(values <= x, axis=1) - x) for x in (1 / 3, 2 / 3)]  # of a distribution of 3 values
    assert np.mean(np.maximum(*thirds) <= intervals.distribution_band(n)) >= 0.95


# The sign-flip test against its definition


@given(log_ratios)
def test_the_p_value_is_that_of_trying_every_flip(values: list[float]) -> None:
    data = np.array(values)
    expected = min(1, 2 * min(brute_force_p(data, 0, 1), brute_force_p(data, 0, -1)))
    assert sign_flips([data]).p[0] == pytest.approx(expected)


@given(log_ratios, st.floats(-2, 2))
def test_the_interval_holds_what_the_test_does_not_reject(values: list[float], theta: float) -> None:
    data = np.array(values)
    low, high, _ = single(data)
    if min(abs(theta - low), abs(theta - high)) > 1e-9:
        rejected = min(brute_force_p(data, theta, 1), brute_force_p(data, theta, -1)) <= 0.025
        assert rejected == (not low <= theta <= high)


@given(st.lists(st.floats(-2, 2), min_size=6, max_size=40))
def test_the_interval_excludes_equality_exactly_when_p_is_at_most_5_percent(values: list[float]) -> None:
    low, high, p = single(np.array(values))
    assert (low > 0 or high < 0) == (p <= 0.05)


def test_the_ends_are_order_statistics_of_all_subset_means() -> None:
    data = np.array([0.3, -0.1, 0.7, 0.2, 0.05, -0.4, 0.9])
    means = sorted(
        float(np.mean(subset)) for size in range(1, 8) for subset in combinations(data, size)
    )  # 127 of them: k = floor(0.025 * 128) = 3
    low, high, _ = single(data)
    assert [low, high] == pytest.approx([means[2], means[-3]])


def test_six_pairs_on_one_side_are_the_fewest_that_decide() -> None:
    assert sign_flips([[0.1, 0.2, 0.3, 0.4, 0.5]]).low is None
    assert sign_flips([[0.1, 0.2, 0.3, 0.4, 0.5]]).p[0] == 2 / 2**5
    low, high, p = single(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    assert [low, high, p] == pytest.approx([0.1, 0.6, 2 / 2**6])


@pytest.mark.parametrize("pairs", [1, 6, 14, 15, 40])
def test_identical_values_are_never_told_apart(pairs: int) -> None:
    tested = sign_flips(np.zeros((1, pairs)))
    assert tested.p[0] == 1
    assert tested.center[0] == 0


def test_values_that_cancel_up_to_rounding_are_ties() -> None:
    data = np.array([0.1, 0.2, -0.3] * 4)  # 0.1 + 0.2 - 0.3 is 5.6e-17
    assert sign_flips([data]).p[0] == pytest.approx(min(1, 2 * brute_force_p(data, 0, 1)))


# Beyond 14 pairs: a subgroup of the flips


@given(st.lists(st.floats(-2, 2), min_size=6, max_size=60))
def test_the_mean_lies_in_its_interval(values: list[float]) -> None:
    data = np.array(values)
    low, high, _ = single(data)
    assert low - 1e-9 <= data.mean() <= high + 1e-9


@pytest.mark.parametrize("pairs", [9, 15, 20])
def test_the_subgroup_keeps_its_level_exactly(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under identical code the signs of given differences are equally likely: of the data that the subgroup's
    own flips make of any data, exactly 2 k / |G| must be rejected."""
    monkeypatch.setattr(intervals, "GENERATORS", 8)
    monkeypatch.setattr(intervals, "MOST_GENERATORS", 8)
    signs = 1 - 2 * np.vstack((np.zeros(pairs), subsets(pairs, 8))).T
    sizes = np.random.default_rng(1).lognormal(size=pairs)
    assert len(np.unique(signs, axis=1).T) == 2**8
    rejected = np.mean(sign_flips((signs * sizes[:, None]).T).p <= 0.05)
    assert rejected == 2 * 6 / 2**8  # k = floor(0.025 * 256)


@pytest.mark.parametrize("pairs", [1, 6, 14, 15, 40])
def test_the_subsets_are_a_group_that_is_closed_under_complement(pairs: int) -> None:
    members = subsets(pairs, min(pairs, 14)).astype(bool)
    known = {subset.tobytes() for subset in members} | {np.zeros(pairs, bool).tobytes()}
    assert len(known) == 2 ** min(pairs, 14)
    rng = np.random.default_rng(2)
    for first, second in rng.integers(0, len(members), size=(200, 2)):
        assert (members[first] ^ members[second]).tobytes() in known
        assert (~members[first]).tobytes() in known


def test_the_codes_never_change() -> None:
    assert intervals.codes_of(20, 14)[14:].tolist() == [12899, 14834, 11081, 5671, 12391, 4139]
    codes = intervals.codes_of(2**13, 14)
    assert len(set(codes.tolist())) == 2**13


def test_the_subgroup_gives_nearly_the_interval_of_all_flips() -> None:
    data = np.random.default_rng(3).normal(0.02, 0.05, size=16)
    low, high, _ = single(data)
    every = (np.arange(1, 2**16)[:, None] >> np.arange(16) & 1).astype(float)
    means = np.sort(every @ data / every.sum(axis=1))
    k = 2**16 // 40
    assert abs(low - means[k - 1]) < 0.1 * (means[-k] - means[k - 1])
    assert abs(high - means[-k]) < 0.1 * (means[-k] - means[k - 1])


# Ratios of sums


def two_sided(data: Array) -> float:
    return min(1, 2 * min(brute_force_p(data, 0, sign) for sign in (1, -1)))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=6, max_size=9))
def test_the_interval_of_a_ratio_of_means_is_what_the_test_does_not_reject(
    pairs: list[tuple[int, int]],
) -> None:
    level, baseline = np.array(pairs, dtype=float).T
    assume(baseline.any())
    tests = sign_flips([level], over=[baseline])
    assert tests.low is not None
    assert tests.high is not None
    assert tests.p[0] == pytest.approx(two_sided(level - baseline))
    for theta in (0.05, 0.51, 1.01, 1.99, 7.3):
        rejected = two_sided(level - theta * baseline) <= 0.05
        assert rejected == (not tests.low[0] <= theta <= tests.high[0])
    assert tests.low[0] <= tests.center[0] <= tests.high[0]


# Families


def test_among_many_comparisons_the_flips_are_as_many_as_the_correction_needs() -> None:
    data = np.full((1, 40), 0.1) + np.random.default_rng(4).normal(0, 0.001, 40)
    assert sign_flips(data).p[0] == 2 / 2**14
    assert sign_flips(data, family=400).p[0] == 2 / 2**17
    assert sign_flips(data[:, :15], family=10**6).p[0] == 2 / 2**15


# Invariances


@given(st.lists(st.floats(-2, 2), min_size=6, max_size=30))
def test_swapping_level_and_baseline_mirrors_the_interval(values: list[float]) -> None:
    low, high, p = single(np.array(values))
    assert single(-np.array(values)) == pytest.approx((-high, -low, p))


@given(st.permutations([0.31, -0.12, 0.73, 0.24, 0.05, -0.46, 0.97, 0.08, -0.29]))
def test_the_order_of_the_pairs_does_not_matter(values: list[float]) -> None:
    assert single(np.array(values)) == pytest.approx(single(np.array(sorted(values))))


# Honesty by simulation with a fixed seed; that of the sign flips is in tests/calibration_test.py


@pytest.mark.parametrize("n", [6, 9, 20])
def test_the_median_interval_covers_the_median(n: int) -> None:
    samples = np.exp(np.random.default_rng(5).normal(0, 1, size=(2000, n)))
    intervals = [median_interval(sample) for sample in samples]
    covered = np.mean([interval is not None and interval.low <= 1 <= interval.high for interval in intervals])
    assert covered >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 2000)
