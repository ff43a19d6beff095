import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import sign_flips
from assay.lessons.judges import FIRST_LOOK, distance_to_mean, halves, peeked, student_interval

numbers = st.integers(-3000, 3000).map(lambda n: n / 1000)
logs = st.lists(numbers, min_size=4, max_size=40, unique=True)
pairs = st.lists(numbers, min_size=FIRST_LOOK, max_size=14, unique=True)
"""Few enough for every flip of their signs."""


@given(logs, st.floats(-1, 1))
def test_halves_find_a_step_whatever_else_is_common(values: Sequence[float], step: float) -> None:
    stepped = [*values, *(value + step for value in values)]
    assert halves(stepped) == pytest.approx(math.exp(step))


@given(pairs)
def test_peeking_finds_whatever_a_test_at_the_end_finds(values: Sequence[float]) -> None:
    [stopped] = peeked(np.array([values]))
    if sign_flips([values]).p[0] < 0.05:
        assert stopped
    if stopped:
        assert sign_flips([values[:stopped]]).p[0] < 0.05


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
