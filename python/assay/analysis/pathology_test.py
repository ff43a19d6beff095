"""Tests of the probability of pathological outcomes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.summary import worse_than_share
from assay.analysis.types import Pathology

VALUES = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=60)
SHARES = st.floats(0.01, 0.99)


def test_what_is_below_a_tenth_of_the_median_is_pathological() -> None:
    found = worse_than_share([100.0] * 18 + [9.9, 10.0], 0.1, "higher")
    assert found is not None
    assert (found.bound, found.count, found.of, found.probability) == (10.0, 1, 20, 0.05)
    # the table of exact 95% intervals of 1 of 20
    assert found.interval.low == pytest.approx(0.00127, abs=1e-5)
    assert found.interval.high == pytest.approx(0.24873, abs=1e-5)


def test_of_a_time_what_is_above_ten_times_the_median_is() -> None:
    found = worse_than_share([1.0] * 8 + [10.0, 10.1], 0.1, "lower")
    assert found is not None
    assert (found.bound, found.count, found.of) == (10.0, 1, 10)


def test_none_seen_is_not_none_possible() -> None:
    found = worse_than_share([1.0] * 30, 0.1, "higher")
    assert found is not None
    assert (found.count, found.interval.low) == (0, 0)
    assert found.interval.high == pytest.approx(1 - 0.025 ** (1 / 30))


@pytest.mark.parametrize("values", [[], [0.0, 0.0, 1.0], [-1.0]])
def test_without_a_median_above_zero_nothing_is_said(values: list[float]) -> None:
    assert worse_than_share(values, 0.1, "higher") is None


@given(VALUES, SHARES)
def test_reciprocals_are_judged_alike(values: list[float], share: float) -> None:
    values = values[: len(values) - (len(values) + 1) % 2]  # an odd number, whose median is one of them
    higher = worse_than_share(values, share, "higher")
    lower = worse_than_share([1 / value for value in values], share, "lower")
    assert higher is not None
    assert lower is not None
    near = any(math.isclose(value, higher.bound, rel_tol=1e-9) for value in values)  # rounding may decide
    assert near or higher.count == lower.count
    assert _holds_its_share(higher)
    assert higher.count <= len(values) / 2  # no more than half of all values are below their median


def _holds_its_share(found: Pathology) -> bool:
    return 0 <= found.interval.low <= found.probability <= found.interval.high <= 1
