import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.false_discovery import benjamini_yekutieli, harmonic

p_values = st.lists(st.floats(1e-9, 1), min_size=1, max_size=12)


def test_each_is_multiplied_by_their_number_and_its_harmonic_sum_over_its_rank() -> None:
    assert benjamini_yekutieli([0.01, 0.001]) == pytest.approx([0.01 * 2 * 1.5 / 2, 0.001 * 2 * 1.5])
    assert benjamini_yekutieli([0.02, 0.019]) == pytest.approx([0.03, 0.03])
    assert benjamini_yekutieli([0.9, 0.5]) == [1, 1]


def test_one_p_value_stays_as_it_is_and_none_is_none() -> None:
    assert benjamini_yekutieli([0.04]) == pytest.approx([0.04])
    assert benjamini_yekutieli([]) == []
    assert harmonic(4) == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4)


@given(p_values, st.floats(0.001, 0.5))
def test_it_finds_what_the_step_up_procedure_finds(p: list[float], rate: float) -> None:
    """All up to the largest k whose k-th smallest p-value is at most its limit."""
    number = len(p)
    limits = [rate * rank / number / harmonic(number) for rank in range(1, number + 1)]
    pairs = list(zip(sorted(p), limits, strict=True))
    if any(abs(value / limit - 1) < 1e-9 for value, limit in pairs):
        return  # rounding decides
    last = max((rank for rank, (value, limit) in enumerate(pairs, 1) if value <= limit), default=0)
    assert sum(adjusted <= rate for adjusted in benjamini_yekutieli(p)) >= last
    found = [value for value, adjusted in zip(p, benjamini_yekutieli(p), strict=True) if adjusted <= rate]
    assert sorted(found)[:last] == sorted(p)[:last]
    assert len(found) == last
