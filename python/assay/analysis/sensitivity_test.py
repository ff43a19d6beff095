import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.analysis.sensitivity import (
    NEARLY,
    Sensitivity,
    enough,
    least_enough,
    pathological,
    relative,
    sensitivity,
    spread_ratio,
)

logarithms = st.integers(-500, 500).map(lambda hundredths: hundredths / 100)
rows = st.lists(st.lists(logarithms, max_size=5), min_size=2, max_size=12).filter(
    lambda values: sum(map(bool, values)) > 1
)


def systems(
    between: float, within: float, configurations: int = 30, replicates: int = 8
) -> list[NDArray[np.float64]]:
    rng = np.random.default_rng(7)
    medians = between * rng.standard_normal((configurations, 1))
    return list(medians + within * rng.standard_normal((configurations, replicates)))


def numbers(result: Sensitivity) -> list[float]:
    """Return what it says that a change of unit may not change."""
    split = result.split
    parts = (result.spread.deviation, result.spread.extent, result.single.typical, result.repeated.seldom)
    return [*parts, *((split.between, split.within, split.share) if split else ())]


# What is known by hand


def test_the_deviation_is_that_of_the_medians_and_the_extent_their_range() -> None:
    spread = sensitivity([[0, 1, 9], [2], [3, 3, 5, 3]]).spread
    assert spread.deviation == pytest.approx(np.std([1, 2, 3], ddof=1))
    assert spread.extent == pytest.approx(math.exp(2))
    assert spread.interval is None


@pytest.mark.parametrize(("configurations", "share"), [(6, 0.418), (20, 0.784), (59, 0.922), (93, 0.950)])
def test_the_extent_holds_the_share_of_wilks(configurations: int, share: float) -> None:
    """A table of Wilks's says that 93 values hold 95% between the least and the greatest with 95%."""
    assert sensitivity([[float(n)] for n in range(configurations)]).spread.share == pytest.approx(
        share, abs=1e-3
    )


def test_the_split_is_that_of_the_analysis_of_variance() -> None:
    values = systems(0.1, 0.2)
    split = sensitivity(values).split
    assert split is not None
    table = np.array(values)
    within = table.var(axis=1, ddof=1).mean()
    between = table.mean(axis=1).var(ddof=1) - within / 8
    assert split.within == pytest.approx(math.sqrt(within))
    assert split.between == pytest.approx(math.sqrt(between))
    assert split.share == pytest.approx(between / (between + within))


def test_a_configuration_with_one_trial_says_nothing_of_replicates() -> None:
    values = systems(0.1, 0.2)
    assert sensitivity([*values, [9.0]]).split == sensitivity(values).split


def test_replicates_that_agree_exactly_leave_all_variance_to_the_configurations() -> None:
    result = sensitivity([[n / 10] * 3 for n in range(10)])
    assert result.split is not None
    assert (result.split.within, result.split.share, result.split.share_interval) == (0, 1, None)
    assert result.spread.interval is not None
    assert result.single == result.repeated


def test_a_system_that_never_varies_is_not_sensitive() -> None:
    result = sensitivity([[math.log(3)] * 2] * 7)
    assert numbers(result) == [0, 1, 1, 1, 0, 0, 0]
    assert result.spread.interval is None
    assert result.single.interval is not None
    assert (result.single.interval.low, result.single.interval.high) == (1, 1)


def test_the_typical_error_is_the_median_difference_of_two_configurations() -> None:
    result = sensitivity([[0.0], [1.0], [3.0]])
    assert result.repeated.typical == pytest.approx(math.exp(2))  # of differences 1, 2 and 3
    assert result.repeated.seldom == pytest.approx(math.exp(3))


def test_repeating_trials_cures_noise_and_not_the_configuration() -> None:
    noisy, fixed = sensitivity(systems(0.01, 0.3, 40, 40)), sensitivity(systems(0.3, 0.01, 40, 40))
    assert noisy.repeated.typical < 1.1 < noisy.single.typical
    assert fixed.repeated.typical == pytest.approx(fixed.single.typical, rel=0.02)


def test_more_trials_than_are_held_at_once_give_an_estimate_from_the_first_replicates() -> None:
    rng = np.random.default_rng(1)
    result = sensitivity(list(rng.standard_normal((400, 30))))
    assert math.log(result.single.typical) == pytest.approx(0.6745 * math.sqrt(2), rel=0.05)


# What always holds


@settings(max_examples=60)
@given(rows, st.floats(-3, 3), st.randoms())
def test_neither_unit_nor_order_matters(values: list[list[float]], shift: float, chance: object) -> None:
    shifted = [[value + shift for value in row] for row in values]
    assert numbers(sensitivity(shifted)) == pytest.approx(numbers(sensitivity(values)), rel=1e-6, abs=1e-6)
    assert numbers(sensitivity(shifted[::-1])) == pytest.approx(
        numbers(sensitivity(shifted)), rel=1e-6, abs=1e-6
    )


@settings(max_examples=60)
@given(rows)
def test_every_estimate_lies_in_its_interval(values: list[list[float]]) -> None:
    result = sensitivity(values)
    split = result.split
    estimated = [
        (result.spread.deviation, result.spread.interval),
        (result.single.typical, result.single.interval),
        (result.repeated.typical, result.repeated.interval),
    ]
    if split is not None:
        estimated += [
            (split.between, split.between_interval),
            (split.within, split.within_interval),
            (split.share, split.share_interval),
        ]
    assert all(
        interval.low * (1 - 1e-9) <= estimate <= interval.high * (1 + 1e-9)
        for estimate, interval in estimated
        if interval is not None
    )
    assert result.configurations + result.without == len(values)
    assert result.trials == sum(map(len, values))
    assert result.single.typical <= result.single.seldom


@pytest.mark.parametrize("values", [[], [[1.0]], [[1.0], []]])
def test_one_configuration_has_no_sensitivity(values: Sequence[list[float]]) -> None:
    with pytest.raises(ValueError, match="two configurations"):
        sensitivity(values)


def test_what_several_intervals_hold_together_takes_wider_ones() -> None:
    alone, together = sensitivity(systems(0.1, 0.1)), sensitivity(systems(0.1, 0.1), together=20)
    assert alone.single.typical == together.single.typical
    assert alone.single.interval is not None
    assert together.single.interval is not None
    assert together.single.interval.low < alone.single.interval.low
    assert together.single.interval.high > alone.single.interval.high
    assert alone.spread == together.spread


def test_beyond_logarithms_what_differs_is_a_difference() -> None:
    result = sensitivity([[0.0], [1.0], [3.0]], "mean")
    assert (result.repeated.typical, result.spread.extent) == (2, 3)


# How much randomness is enough


def measured(
    *deviations: float, within: float = 0.05, configurations: int = 100
) -> dict[float, list[NDArray[np.float64]]]:
    rng = np.random.default_rng(3)
    return {
        amount / 100: list(
            deviation * rng.standard_normal((configurations, 1))
            + within * rng.standard_normal((configurations, 4))
        )
        for amount, deviation in enumerate(deviations)
    }


def test_blackwells_choice_on_his_table_5_is_five_percent_of_traffic() -> None:
    percent = (0, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
    sensitivities = (0.453, 0.427, 0.403, 0.374, 0.314, 0.238, 0.143, 0.073, 0.032, 0.020)
    assert percent[least_enough(sensitivities)] == 5
    left = [(value - sensitivities[-1]) / sensitivities[0] for value in sensitivities]
    assert left[percent.index(5)] < NEARLY < left[percent.index(2)]


def test_enough_is_where_the_sensitivity_stops_falling() -> None:
    result = enough(measured(0.4, 0.2, 0.05, 0.05, 0.05))
    assert (result.amount, result.low, result.high) == (0.02, 0.02, 0.02)
    assert result.known
    assert result.measured == (0, 0.01, 0.02, 0.03, 0.04)


def test_what_replicates_differ_by_is_no_sensitivity_that_randomness_takes_away() -> None:
    """By their medians, which lie 45, 25, 20 and 20% apart, the second amount would do."""
    assert least_enough([math.hypot(between, 0.2) for between in (0.4, 0.15, 0, 0)]) == 1
    result = enough(measured(0.4, 0.15, 0.0, 0.0, within=0.4))
    assert result.amount == 0.02
    assert result.low <= 0.02 <= result.high


def test_the_greatest_amount_is_never_known_to_be_enough() -> None:
    result = enough(measured(0.8, 0.4, 0.1))
    assert (result.amount, result.low, result.high, result.known) == (0.02, 0.02, 0.02, False)
    assert not enough(measured(0.1)).known


def test_few_configurations_leave_every_amount_possible() -> None:
    result = enough(measured(0.4, 0.2, 0.05, configurations=5))
    assert (result.low, result.high) == (0, 0.02)


def test_a_sensitivity_of_nothing_ends_every_fall() -> None:
    result = enough(measured(0.4, 0.0, 0.0, within=0))
    assert (result.amount, result.low, result.high) == (0.01, 0.01, 0.01)


def test_a_system_that_never_varies_needs_no_randomness() -> None:
    result = enough(measured(0, 0, within=0))
    assert (result.amount, result.low, result.high) == (0, 0, 0)


def test_it_takes_an_amount_two_configurations_and_replicates() -> None:
    with pytest.raises(ValueError, match="at least one amount"):
        enough({})
    with pytest.raises(ValueError, match="two configurations"):
        enough({0.1: [[1.0, 2.0]]})
    with pytest.raises(ValueError, match="two valid trials"):
        enough({0.1: [[1.0], [2.0]]})


# One system against another


def test_a_system_is_less_sensitive_whatever_its_replicates_scatter_by() -> None:
    found = relative(systems(0.05, 0.1, 100, 10), systems(0.2, 0.02, 100, 10))
    assert found is not None
    assert found.times is not None
    assert found.low < 0.25 < (found.high or 0)
    assert 0.2 < found.times < 0.3
    assert found.verdict == "less sensitive"
    back = relative(systems(0.2, 0.02, 100, 10), systems(0.05, 0.1, 100, 10))
    assert back is not None
    assert back.verdict == "more sensitive"
    assert (back.low, back.high) == pytest.approx((1 / (found.high or 0), 1 / found.low))


def test_what_chance_may_explain_is_undecided_and_its_ratio_has_no_bound() -> None:
    found = relative(systems(0.1, 0.1), systems(0.0, 0.3))
    assert found is not None
    assert (found.verdict, found.high) == ("undecided", None)
    same = relative(systems(0.1, 0.1), systems(0.1, 0.1))
    assert same is not None
    assert (same.times, same.verdict) == (1, "undecided")
    assert relative([[1.0], [2.0]], systems(0.1, 0.1)) is None


def test_against_a_system_that_never_varies_any_other_is_more_sensitive() -> None:
    still, moved = systems(0, 0), systems(0.1, 0.1)
    more, less, alike = relative(moved, still), relative(still, moved), relative(still, still)
    assert more is not None
    assert less is not None
    assert alike is not None
    assert (more.times, more.low, more.high, more.verdict) == (None, 1e6, None, "more sensitive")
    assert (less.times, less.low, less.verdict) == (0, 0, "less sensitive")
    assert (alike.low, alike.high, alike.verdict) == (0, None, "undecided")


# Pathological outcomes


def test_worse_is_below_a_bound_or_above_it() -> None:
    values = np.log([2, 10, 10, 10, 200])
    bound = float(np.median(values))
    low = pathological(values, bound + math.log(0.1), "higher")
    assert (low.count, low.of, low.probability) == (0, 5, 0)
    high = pathological(values, bound + math.log(10), "lower")
    assert (high.count, high.probability) == (1, 0.2)
    assert high.interval.low < 0.2 < high.interval.high
    assert low.interval.high == pytest.approx(1 - 0.025 ** (1 / 5))


def test_a_ratio_of_spreads_is_covered_in_95_of_100_cases() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        interval = spread_ratio(2 * rng.standard_normal(30), 5 + rng.standard_normal(50))
        assert interval is not None
        covered += interval.low <= 2 <= interval.high
    assert covered >= 0.93 * 400


def test_equal_or_few_values_have_no_ratio_of_spreads() -> None:
    assert spread_ratio([1.0] * 9, [1.0, 2, 3, 4, 5, 6]) is None
    assert spread_ratio([1.0, 2, 3, 4, 5], [1.0, 2, 3, 4, 5, 6]) is None
