from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.analysis.steadiness import FEWEST, classify, derive

REQUEST = {"interval_ms": 10}


def result(*threads: list[int]) -> dict[str, Any]:
    return {"threads": [{"series": series} for series in threads]}


def noise(chance: np.random.Generator, size: int, correlation: float = 0.0) -> NDArray[np.float64]:
    """Normal noise of variance 1 in which each value is correlated with the one before."""
    fresh = chance.normal(size=size + 50)
    values = np.zeros(size + 50)
    for at in range(1, size + 50):
        values[at] = correlation * values[at - 1] + np.sqrt(1 - correlation**2) * fresh[at]
    return values[50:]


@pytest.mark.parametrize("size", [FEWEST, 20, 100, 500])
@pytest.mark.parametrize("correlation", [0, 0.3, 0.5])
@pytest.mark.parametrize("scatter", [0.03, 0.15])
def test_stationary_noise_is_rarely_anything_but_flat(size: int, correlation: float, scatter: float) -> None:
    chance = np.random.default_rng(1)
    kinds = [classify(1 + scatter * noise(chance, size, correlation))[0] for _ in range(100)]
    assert sum(kind != "flat" for kind in kinds) <= 6


@pytest.mark.parametrize(("size", "slow"), [(20, 5), (100, 10), (500, 100)])
@pytest.mark.parametrize(("level", "kind"), [(0.8, "warm-up"), (1.25, "slowdown")])
def test_a_planted_change_is_found_where_it_is(size: int, slow: int, level: float, kind: str) -> None:
    chance = np.random.default_rng(2)
    for _ in range(30):
        series = 1 + 0.02 * noise(chance, size, 0.3)
        series[:slow] *= level
        classified, after = classify(series)
        assert classified == kind
        assert abs(after - slow) <= max(1, size / 50)


@pytest.mark.parametrize("size", range(FEWEST, 21))
@pytest.mark.parametrize(("level", "kind"), [(0.5, "slowdown"), (2.0, "warm-up")])
def test_a_step_half_way_is_found_however_short_the_series(size: int, level: float, kind: str) -> None:
    chance = np.random.default_rng(4)
    for _ in range(30):
        series = 1 + 0.02 * noise(chance, size, 0.3)
        series[size // 2 :] *= level
        classified, after = classify(series)
        assert classified == kind
        assert abs(after - size // 2) <= 1


def test_a_change_near_the_end_leaves_no_steady_state() -> None:
    assert classify([100.0] * 80 + [150.0] * 20)[0] == "no steady state"
    assert classify([100.0] * 70 + [150.0] * 30) == ("warm-up", 70)


@pytest.mark.parametrize("size", [20, 100, 400])
def test_a_series_that_never_stops_rising_has_no_steady_state(size: int) -> None:
    chance = np.random.default_rng(3)
    series = np.linspace(1, 3, size) + 0.01 * noise(chance, size)
    assert classify(series)[0] == "no steady state"


def test_changes_of_less_than_five_percent_are_one_state() -> None:
    assert classify([100.0] * 50 + [104.0] * 50) == ("flat", 0)
    assert classify([100.0] * 50 + [107.0] * 50) == ("warm-up", 50)


def test_a_single_interval_in_which_the_host_did_something_else_is_no_state() -> None:
    series = [100.0, 101.0, 99.0, 100.5] * 10
    series[7] = series[38] = 20.0
    assert classify(series) == ("flat", 0)


def test_intervals_without_any_operation_are_a_state_too() -> None:
    assert classify([0.0] * 30 + [100.0] * 70) == ("warm-up", 30)
    assert classify([100.0] * 90 + [0.0] * 10)[0] == "no steady state"


def test_the_metrics_are_of_all_threads_a_second_without_what_came_after_the_last_full_interval() -> None:
    first, second = [60 + at % 3 for at in range(20)], [40] * 20
    derived = derive(result([*first, 1], [*second, 7]), REQUEST)
    assert derived["interval_throughput_p5"] == pytest.approx(100 * 100)
    assert derived["interval_throughput_p50"] == pytest.approx(101 * 100)
    assert derived["interval_throughput_p95"] == pytest.approx(102 * 100)
    assert (derived["steady"], derived["steady_after_ms"]) == (1, 0)


def test_where_it_is_not_steady_there_is_no_time_from_which_it_is() -> None:
    derived = derive(result([100] * 80 + [200] * 20 + [3]), REQUEST)
    assert derived["steady"] == 0
    assert "steady_after_ms" not in derived
    assert derive(result([100] * 60 + [200] * 40 + [3]), REQUEST)["steady_after_ms"] == 600


def test_a_switch_of_work_from_thread_to_thread_is_flat() -> None:
    assert (
        derive(result([9] * 50 + [1] * 50 + [0], [1] * 50 + [9] * 50 + [0]), REQUEST)["steady_after_ms"] == 0
    )


@pytest.mark.parametrize(
    ("answer", "request_"),
    [
        ({}, REQUEST),
        ({"threads": []}, REQUEST),
        ({"threads": [{"seed": "0x1"}]}, REQUEST),
        (result([5] * FEWEST), REQUEST),  # one full interval too few
        (result([0] * 30), REQUEST),
        (result([5] * 30, [5] * 29), REQUEST),
        (result([5] * 30), {}),
    ],
)
def test_without_a_usable_series_nothing_is_said(answer: dict[str, Any], request_: dict[str, Any]) -> None:
    assert derive(answer, request_) == {}


@given(st.lists(st.integers(0, 10**9), min_size=FEWEST, max_size=300).filter(any), st.integers(1, 1000))
def test_any_series_gives_finite_metrics_that_follow_its_unit(series: list[int], times: int) -> None:
    derived = derive(result([*series, 0]), REQUEST)
    assert np.isfinite(list(derived.values())).all()
    assert ("steady_after_ms" in derived) == (derived["steady"] == 1)
    assert derived["interval_throughput_p5"] <= derived["interval_throughput_p95"]
    scaled = derive(result([*(times * throughput for throughput in series), 0]), REQUEST)
    assert scaled["interval_throughput_p50"] == pytest.approx(times * derived["interval_throughput_p50"])
