import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.analysis.shape import shape

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

ONE_MODE: dict[str, Draw] = {
    "log-normal": lambda chance, size: np.exp(0.03 * chance.normal(size=size)),
    "uniform": lambda chance, size: 1 + chance.random(size),
    "heavy tails": lambda chance, size: 100 + chance.standard_cauchy(size),
    "skewed": lambda chance, size: chance.exponential(size=size),
    "rounded": lambda chance, size: np.round(20 + 3 * chance.normal(size=size)),
    "counts": lambda chance, size: chance.poisson(4, size).astype(np.float64),
    "drifting": lambda chance, size: np.exp(np.linspace(0, 0.2, size) + 0.03 * chance.normal(size=size)),
}


@pytest.mark.parametrize("name", ONE_MODE)
@pytest.mark.parametrize("size", [10, 20, 60])
def test_one_mode_is_rarely_taken_for_several(name: str, size: int) -> None:
    chance = np.random.default_rng(1)
    alarms = sum(bool(shape(ONE_MODE[name](chance, size).tolist()).clusters) for _ in range(400))
    assert alarms <= (0.03 if name in {"uniform", "drifting"} else 0.01) * 400


def test_a_report_of_twenty_bell_shaped_conditions_rarely_raises_an_alarm() -> None:
    chance = np.random.default_rng(2)
    draw = ONE_MODE["log-normal"]
    alarms = sum(any(shape(draw(chance, 12).tolist()).clusters for _ in range(20)) for _ in range(100))
    assert alarms <= 5


@pytest.mark.parametrize("size", [10, 12])
@pytest.mark.parametrize("deviation", [0.5, 1, 2])
def test_nor_does_one_of_rounded_values(size: int, deviation: float) -> None:
    chance = np.random.default_rng(2)
    for unit in (1, 10):
        draws = np.round(100 + deviation * chance.normal(size=(400, size))) / unit
        alarms = sum(bool(shape(draw).clusters) for draw in draws.tolist())
        assert alarms <= 0.005 * 400


@pytest.mark.parametrize(("share", "size"), [(0.5, 12), (0.25, 20), (0.15, 40)])
def test_two_modes_as_a_host_makes_them_are_found(share: float, size: int) -> None:
    # A factor of 1.8 with noise of 3%, as between the modes of a virtual machine's host.
    chance = np.random.default_rng(3)
    detected = 0
    for _ in range(100):
        slow = chance.permutation(size) < round(share * size)
        values = np.exp(0.03 * chance.normal(size=size)) * np.where(slow, 1, 1.8)
        seen = shape(values.tolist())
        if len(seen.clusters) == 2:
            detected += 1
            assert [mode.center for mode in seen.clusters] == pytest.approx([1, 1.8], rel=0.1)
            assert [mode.share for mode in seen.clusters] == pytest.approx([share, 1 - share], abs=0.06)
            assert "2 places" in seen.note
    assert detected >= 98


def test_three_modes_are_found_in_order() -> None:
    chance = np.random.default_rng(4)
    values = np.concatenate([center * (1 + 0.01 * chance.normal(size=20)) for center in (4, 1, 2)])
    seen = shape(values.tolist())
    assert [mode.center for mode in seen.clusters] == pytest.approx([1, 2, 4], rel=0.02)
    assert sum(mode.share for mode in seen.clusters) == pytest.approx(1)


def test_modes_that_overlap_are_found_by_the_dip_test() -> None:
    chance = np.random.default_rng(5)
    values = np.concatenate((chance.normal(10, 1, 100), chance.normal(16, 1, 100)))
    assert np.diff(np.sort(values)).max() < 2  # no clear gap
    seen = shape(values.tolist())
    assert seen.dip_p is not None
    assert seen.dip_p < 0.001
    assert [mode.center for mode in seen.clusters] == pytest.approx([10, 16], rel=0.05)


def test_modes_that_nobody_would_tell_apart_are_one() -> None:
    assert shape([100.0] * 10 + [100.5] * 10).clusters == ()
    assert len(shape([100.0] * 10 + [103.0] * 10).clusters) == 2


def test_outliers_are_no_mode() -> None:
    values = [100 + (7 * number % 10) / 10 for number in range(20)]
    assert shape([*values, 300, 310]).clusters == ()


def test_an_outlier_hides_no_mode() -> None:
    values = [*np.linspace(99, 101, 36).tolist(), 149, 150, 151, 150.5, 149.5]
    for outlier in ([], [300.0], [30.0]):
        assert [mode.center for mode in shape(values + outlier).clusters] == pytest.approx(
            [100, 150], rel=0.02
        )
    few = [*(100 + at / 10 for at in range(36)), 150, 150.3, 149.8, 150.1]  # with 300, these are a tenth
    assert len(shape(few).clusters) == len(shape([*few, 300]).clusters) == 2


def test_an_outlier_is_no_mode_beside_two() -> None:
    values = [*np.linspace(99.5, 100.5, 15).tolist(), *np.linspace(104.5, 105.5, 15).tolist()]
    for outlier in (1000.0, 10.0):
        seen = shape([*values, outlier])
        assert [mode.center for mode in seen.clusters] == pytest.approx([100, 105], rel=0.01)
        assert "2 places" in seen.note


def test_outliers_do_not_draw_the_split_of_modes_that_overlap() -> None:
    chance = np.random.default_rng(5)
    values = np.concatenate((chance.normal(10, 1, 100), chance.normal(16, 1, 100), [1000, 2000]))
    assert [mode.center for mode in shape(values.tolist()).clusters] == pytest.approx([10, 16], rel=0.05)


def test_a_clear_gap_is_found_beside_a_wider_one_that_is_not() -> None:
    # The widest gap is that from 1.52 to 50, but what is above it is spread as widely.
    values = [1.0, 1.005, 1.01, *np.linspace(1.48, 1.52, 24).tolist(), 50.0, 500.0, 5000.0]
    assert [mode.center for mode in shape(values).clusters] == pytest.approx([1, 1.5], rel=0.02)


def test_a_median_of_values_far_apart_is_not_typical() -> None:
    spread = [1.3**power for power in range(20)]
    assert shape(spread).clusters == ()
    assert "half of them lie outside" in shape(spread).note
    assert shape([1.03**power for power in range(20)]).note == ""


def test_few_values_say_nothing() -> None:
    assert shape([1, 1, 1, 1, 9, 9, 9, 9, 9]) == shape([]) == shape([5.0])
    assert shape([]).dip_p is None


@pytest.mark.parametrize("value", [0.0, -3.0, 1e300, 1e-300])
def test_values_that_are_all_the_same_have_one_mode(value: float) -> None:
    assert (shape([value] * 20).clusters, shape([value] * 20).note) == ((), "")


def test_values_that_are_not_positive_are_tested_as_they_are() -> None:
    seen = shape([-1.0, -1.1, -0.9, -1.05, -0.95, -1.02] * 3 + [2.0, 2.1, 1.9, 2.05, 1.95, 2.02] * 3)
    assert [mode.center for mode in seen.clusters] == pytest.approx([-1.01, 2.01])


@given(st.lists(st.floats(1e-3, 1e3), min_size=10, max_size=40))
def test_the_order_of_values_does_not_matter_and_modes_share_all_of_them(
    values: list[float],
) -> None:
    seen = shape(values)
    assert shape(sorted(values)) == seen
    assert sum(mode.share for mode in seen.clusters) == pytest.approx(1 if seen.clusters else 0)
    assert [mode.center for mode in seen.clusters] == sorted(mode.center for mode in seen.clusters)
    assert bool(seen.clusters) <= bool(seen.note)


def test_values_on_both_sides_of_zero_may_be_as_large_as_a_double() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert shape([-1e308] * 6 + [1e308] * 20).clusters
        shape([1e308, 0.0, 1.7976931348623157e308, -1e308] * 3)
