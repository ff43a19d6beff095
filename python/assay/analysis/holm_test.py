from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_the_smallest_is_multiplied_by_their_number_and_each_next_by_one_less() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.001, 0.002, 0.5]) == pytest.approx([0.003, 0.004, 0.5])


def test_one_p_value_stays_as_it_is_and_none_is_none() -> None:
    assert holm([0.04]) == [0.04]
    assert holm([]) == []


@given(p_values, st.floats(0.001, 0.5))
def test_it_rejects_what_the_closed_test_of_bonferroni_rejects(p: list[float], level: float) -> None:
    """A hypothesis is rejected where every intersection that it belongs to is, by its own Bonferroni test."""
    everything = range(len(p))
    intersections = [set(some) for size in everything for some in combinations(everything, size + 1)]
    for index, adjusted in enumerate(holm(p)):
        smallest = max(min(p[i] for i in some) * len(some) for some in intersections if index in some)
        assert adjusted == pytest.approx(min(1, smallest))


@given(p_values)
def test_it_never_says_more_than_the_p_values_do_and_keeps_their_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(after >= before for before, after in zip(p, adjusted, strict=True))
    order = sorted(range(len(p)), key=p.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
