import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.lessons.judges import distance_to_mean, halves, p_of_t, peeked, student_interval

logs = st.lists(st.integers(-3000, 3000).map(lambda n: n / 1000), min_size=4, max_size=40, unique=True)


@given(logs, st.floats(-1, 1))
def test_halves_find_a_step_whatever_else_is_common(values: Sequence[float], step: float) -> None:
    stepped = [*values, *(value + step for value in values)]
    assert halves(stepped) == pytest.approx(math.exp(step))


@given(logs)
def test_peeking_finds_whatever_a_test_at_the_end_finds(values: Sequence[float]) -> None:
    [stopped] = peeked(np.array([values]))
    if p_of_t(values) < 0.05:
        assert stopped
    if stopped:
        assert p_of_t(values[:stopped]) < 0.05


@given(logs, st.floats(0.1, 10))
def test_the_t_test_knows_no_units(values: Sequence[float], unit: float) -> None:
    assert p_of_t([unit * value for value in values]) == pytest.approx(p_of_t(values), abs=1e-6)


def test_the_t_test_is_that_of_the_tables() -> None:
    # Half of Student's t with 9 degrees of freedom lies beyond 2.262 in 5% of samples.
    sample = [1.0, -1.0] * 5
    at = 2.262157 / math.sqrt(10) * math.sqrt(10 / 9)
    assert p_of_t([at + value for value in sample]) == pytest.approx(0.05, abs=1e-4)


@given(logs)
def test_an_interval_is_narrower_where_the_same_is_repeated(values: Sequence[float]) -> None:
    alone, repeated = student_interval(values), student_interval([*values] * 10)
    assert alone is not None
    assert repeated is not None
    assert repeated.high - repeated.low <= alone.high - alone.low + 1e-12


@given(st.floats(1, 100), st.floats(2, 10), st.integers(1, 20))
def test_the_mean_of_two_modes_is_near_neither(low: float, apart: float, count: int) -> None:
    values = [low] * count + [low * apart] * count
    assert distance_to_mean(values) == pytest.approx((apart - 1) / (apart + 1))
