import pytest

from assay.analysis import Comparison, ConditionSummary, Estimate, Interval
from assay.report import words

ALL = Estimate(1.0, None, 1.0, "undecided", 6)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.0123456, "0.01235"),
        (999.96, "1000"),
        (12345.6, "12.35k"),
        (12_345_600.0, "12.35M"),
        (-2.5e9, "-2.5G"),
        (1e15, "1e+15"),
    ],
)
def test_numbers_have_four_digits(value: float | None, written: str) -> None:
    assert words.number(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "-"),
        (1.0, "1.000"),
        (0.9876, "0.988"),
        (250.0, "250"),
        (1060.4, "1060"),
        (2e9, "2e+09"),
        (0.0012, "0.0012"),
    ],
)
def test_ratios_have_three_digits(value: float | None, written: str) -> None:
    assert words.ratio(value) == written


def test_an_interval_is_written_from_low_to_high() -> None:
    assert words.interval(Interval(0.97, 1.04, 0.95)) == "0.970 to 1.040"
    assert words.interval(None) == "-"


def test_what_does_not_count_is_noted() -> None:
    condition = ConditionSummary({}, {"valid": 4, "timed_out": 2, "crashed": 0}, 4, 0, 1.0, None)
    comparison = Comparison(
        "m", {}, "b", "a", 1.0, None, 1.0, 1.0, "undecided", 4, {"not valid": 2}, "too few", ALL
    )
    assert words.notes(condition, comparison) == [
        "2 timed out",
        "pairs that do not count: 2 not valid",
        "too few",
    ]


def test_where_all_counts_there_is_nothing_to_note() -> None:
    condition = ConditionSummary({}, {"valid": 6}, 6, 0, 1.0, Interval(1, 1, 0.97))
    interval = Interval(0.9, 1.1, 0.97)
    comparison = Comparison("m", {}, "b", "a", 1.0, interval, 1.0, 1.0, "undecided", 6, {}, "holds 1", ALL)
    assert words.notes(condition, comparison) == []
    assert words.notes(condition, None) == []
