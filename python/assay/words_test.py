import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay import words
from assay.findings import Finding


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
        (123_456_789_012_345.0, "123.5T"),
        (1e15, "1e15"),
        (-1.7976931348623157e308, "-1.798e308"),
        (5e-324, "4.941e-324"),
        (2**64, "1.845e19"),
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
        (12.3456, "12.35"),
        (1060.4, "1060"),
        (2e9, "2G"),
        (1e-300, "1e-300"),
        (0.0012, "0.0012"),
    ],
)
def test_ratios_have_three_digits(value: float | None, written: str) -> None:
    assert words.ratio(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "-"), (1.0, "1"), (0.0456, "0.046"), (0.00012, "0.00012"), (1e-9, "< 0.0001")],
)
def test_p_values_have_two_digits(value: float | None, written: str) -> None:
    assert words.p_value(value) == written


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("widest_percent", 453.6048370650314, ("widest", "454%")),
        ("worst_percent", -6.394, ("worst", "-6%")),
        ("worst_percent", 1.7e308, ("worst", "1.7e306 times")),
        ("worst_ratio", 1.23456, ("worst ratio", "1.23 times")),
        ("shortest_ms", 2e3, ("shortest ms", "2k")),
    ],
)
def test_evidence_is_rounded_and_has_units(name: str, value: float, text: tuple[str, str]) -> None:
    assert words.quantity(name, value) == text


def test_a_hint_lists_ten_names_at_most() -> None:
    assert words.nearest("x", list(range(10))) == "there are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert words.nearest("x", list(range(12))).endswith(", 8, 9 and 2 more")


def test_json_has_null_for_numbers_that_it_lacks() -> None:
    value = {"a": [1.5, float("inf"), (float("nan"),)], "b": 10**400}
    assert json.loads(words.json_text(value)) == {"a": [1.5, None, [None]], "b": 10**400}
    assert words.json_text({"a": [1, 2]}) == '{"a":[1,2]}'
    assert words.json_text({"a": 1}, indent=2) == '{\n  "a": 1\n}'


def test_json_holds_findings_paths_moments_and_half_surrogate_pairs() -> None:
    finding = Finding(
        message="half \ud800 a pair", where=("a",), evidence={"ratio": math.inf}, remedy="Run again."
    )
    value = json.loads(
        words.json_text({"f": finding, "p": Path("x"), "t": datetime(2025, 1, 31, tzinfo=UTC)})
    )
    assert value["f"]["message"] == "half \ud800 a pair"
    assert value["f"]["evidence"] == {"ratio": None}
    assert (value["p"], value["t"]) == ("x", "2025-01-31T00:00:00+00:00")


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0.0, "0 s"), (0.0612, "0.06 s"), (0.25, "0.25 s"), (3.0, "3 s"), (3.14, "3.1 s"), (126.4, "126 s")],
)
def test_a_length_of_time_is_written_without_powers_of_ten(seconds: float, written: str) -> None:
    assert words.elapsed(seconds) == written


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12_000, "ns", "12 µs"),
        (0.5, "ns", "0.5 ns"),
        (10_500_000, "op/s", "10.5M op/s"),
        (0, "bytes", "0 bytes"),
        (999, "bytes", "999 bytes"),
        (1023, "bytes", "0.999 KiB"),
        (3 * 2**20, "bytes", "3 MiB"),
        (3 * 2**30, "bytes", "3 GiB"),
    ],
)
def test_a_number_has_the_unit_that_people_say(value: float, unit: str, text: str) -> None:
    assert words.in_unit(value, unit) == text


def test_a_verb_agrees_with_the_number() -> None:
    assert [words.agreed(count, "rests", "rest") for count in (0, 1, 2)] == ["rest", "rests", "rest"]
    assert words.agreed(["one"], "rests", "rest") == "rests"


def test_a_message_keeps_the_start_and_the_end_of_a_long_word() -> None:
    (line,) = words.message(f"/{'a' * 1000}/map.toml: is not there")
    assert len(line) < 250
    assert line.startswith("/aaa")
    assert line.endswith("aaa/map.toml: is not there")


def test_a_message_of_many_lines_says_how_many_more() -> None:
    assert words.message("x\n" * 1000)[-1] == "and 900 more"


def test_words_that_were_given_stay_on_one_line() -> None:
    assert words.message("a=one\ntwo: no such level", ["--set", "a=one\ntwo"]) == [
        "a=one\\ntwo: no such level"
    ]
