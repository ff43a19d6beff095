"""The rank correlation of values with their order, beside SciPy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr  # type: ignore[import-untyped]

from assay.analysis.ranks import rank_correlation_p


@given(st.lists(st.integers(0, 20), min_size=3, max_size=60).filter(lambda values: len({*values}) > 1))
def test_it_is_that_of_scipy(values: list[int]) -> None:
    assert rank_correlation_p(values) == pytest.approx(spearmanr(range(len(values)), values).pvalue, abs=1e-9)


def test_what_never_changes_is_no_drift() -> None:
    assert rank_correlation_p([2.5] * 10) == 1


@pytest.mark.parametrize("values", [range(10), range(10, 0, -1)])
def test_what_always_rises_or_falls_is_certain(values: range) -> None:
    assert rank_correlation_p(values) < 1e-9
