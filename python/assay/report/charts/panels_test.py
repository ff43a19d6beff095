"""How tables for charts are thinned and named."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from assay.report.charts.panels import NAME_CHARACTERS, STEPS, names_of, quartiles, steps, thinned
from assay.store.types import StoredTrial


def trial(number: int) -> StoredTrial:
    return StoredTrial(
        id=number,
        ordinal=number,
        block=0,
        group=0,
        levels={},
        status="valid",
        reason="",
        metrics={},
        calibration_before={},
        calibration_after={},
        started_at=datetime(2024, 1, 1, tzinfo=UTC),
        wall_s=0.1,
        environment=None,
    )


@given(st.lists(st.integers(-1000, 1000).map(float), min_size=1, max_size=900))
def test_a_curve_tells_the_share_of_values_up_to_each_whatever_is_left_out(values: list[float]) -> None:
    curve = steps([(value, trial(number)) for number, value in enumerate(values)])
    begin, kept = curve[0], curve[1:]
    assert begin == (min(values), 0, None)
    assert len(kept) <= STEPS + 1
    assert (len(values) > STEPS) or len(kept) == len(values)
    assert kept[0][0] == min(values)
    assert (kept[-1][0], kept[-1][1]) == (max(values), 1)
    assert kept == sorted(kept, key=lambda step: step[:2])
    for value, share, number in kept:
        assert number is not None
        assert values[number] == value
        assert sum(other < value for other in values) < share * len(values) + 1e-9
        assert share * len(values) <= sum(other <= value for other in values) + 1e-9


def test_no_values_have_no_curve() -> None:
    assert steps([]) == []


@given(st.lists(st.integers(), max_size=300), st.integers(1, 50))
def test_every_nth_row_is_kept(rows: list[int], most: int) -> None:
    kept, every = thinned(rows, most)
    assert len(kept) <= most
    assert list(kept) == rows[::every]
    assert every == 1 or len(rows) > most


@given(st.lists(st.text(max_size=80), min_size=1, max_size=8, unique=True))
def test_names_are_short_and_stay_apart(levels: list[str]) -> None:
    names = names_of(levels)
    assert len(set(names.values())) == len(levels)
    if names[levels[0]] != levels[0]:
        assert max(map(len, names.values())) <= NAME_CHARACTERS


def test_a_long_name_loses_its_middle() -> None:
    names = names_of([f"a map with a name that goes on and on, version {number}" for number in (1, 2)])
    assert list(names.values()) == ["a map with a nam…d on, version 1", "a map with a nam…d on, version 2"]
    alike = [f"{'x' * 40}{number}{'x' * 40}" for number in (1, 2)]
    assert list(names_of(alike).values()) == alike


def test_quartiles_are_those_of_order_statistics() -> None:
    expected = {"least": 1, "lower": 2, "median": 3, "upper": 4, "most": 5}
    assert quartiles([5, 1, 2, 3, 4]) == expected
