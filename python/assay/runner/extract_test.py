import importlib
import json
import math
import re
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment.types import Extraction
from assay.runner.extract import MOST_METRICS, extract

extract_module = importlib.import_module("assay.runner.extract")

metrics = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,63}", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    min_size=1,
    max_size=10,
)
not_a_pair = st.text().filter(lambda text: "=" not in text)


@given(metrics, st.lists(not_a_pair, max_size=5), st.randoms())
def test_lines_are_found_among_anything_else(
    metrics: dict[str, float], other: list[str], random: object
) -> None:
    lines = [f"{name}={value}" for name, value in metrics.items()] + other
    random.shuffle(lines)  # type: ignore[attr-defined]
    assert extract("\n".join(lines), "lines") == metrics


@pytest.mark.parametrize(
    "ignored",
    [
        "Name=1",
        "a b=1",
        "=1",
        "a=",
        "a=nan",
        "a=inf",
        "a=1e999",
        "a=1_000",
        "a=0x10",
        "a=1 s",
        "a=1=2",
        "a=١",  # noqa: RUF001  # a digit that is not ASCII
        f"{'a' * 65}=1",
        "--a=1",
    ],
)
def test_lines_that_give_no_metric_are_ignored(ignored: str) -> None:
    assert extract(f"{ignored}\n  kept = -1.5e3 \r\n{ignored}", "lines") == {"kept": -1500}


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("", "no line NAME=DATA"),
        ("throughput: 3", "no line NAME=DATA"),
        ("a=1\nb=2\na=1", "a: there are two lines"),
        ("wall_ms=1", "wall_ms: is measured of every command"),
        (
            "\n".join(f"a{number}=1" for number in range(MOST_METRICS + 1)),
            f"more than {MOST_METRICS} lines",
        ),
    ],
)
def test_lines_that_are_none_or_too_many_are_refused(printed: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        extract(printed, "lines")


PATTERN = Extraction(metric="rate", pattern=r"^rate: ([\d.eE+-]*)(?: MB/s)?$", unit="MB/s")
LINE = Extraction(metric="rate", line="Mean rate", unit="MB/s")


def test_each_rule_finds_its_metric() -> None:
    rules = (Extraction(metric="a", pattern=r"a: (\S+)"), Extraction(metric="b", line="The B", unit="ms"))
    assert extract("x a: 1.5\nThe B = 2e3\n", rules) == {"a": 1.5, "b": 2000}


def test_without_rules_nothing_is_found_and_nothing_is_wrong() -> None:
    assert extract("anything", ()) == {}


@given(st.floats(allow_nan=False, allow_infinity=False), not_a_pair, not_a_pair)
def test_a_rule_finds_a_number_wherever_it_stands(value: float, before: str, after: str) -> None:
    assert extract(f"{before}\nMean rate={value!r}\n{after}", [LINE]) == {"rate": value}
    assert extract(f"{before}\nrate: {value!r} MB/s\n", [PATTERN]) == {"rate": value}


@pytest.mark.parametrize(
    ("rule", "printed", "reason"),
    [
        (
            PATTERN,
            "",
            r"rate: the pattern '^rate: ([\d.eE+-]*)(?: MB/s)?$' is nowhere",
        ),
        (PATTERN, "rate: 1\nrate: 1", "more than once; make it match one place"),
        (PATTERN, "rate: ", "gives '', which is not a finite number"),
        (PATTERN, "rate: 1e999", "gives '1e999', which is not a finite number"),
        (PATTERN, "rate: 1e", "gives '1e', which is not a finite number"),
        (
            Extraction(metric="a", pattern="a(b)?"),
            "a",
            "a: the pattern 'a(b)?' gives '', which is not a finite number",
        ),
        (LINE, "mean rate=1", "rate: the line 'Mean rate=...' is nowhere in the output"),
        (LINE, "Mean rate=1\nMean rate=2", "more than once; let the program print it once"),
        (LINE, "Mean rate=fast", "gives 'fast', which is not a finite number"),
        (LINE, "Mean rate=" + "9" * 1000, f"gives '{'9' * 60}...', which is not a finite number"),
        (LINE, "Mean rate=\x1b[31m", "gives '\\x1b[31m', which is not a finite number"),
    ],
)
def test_a_rule_that_finds_no_number_or_two_is_explained(rule: Extraction, printed: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        extract(printed, [rule])


JSON = Extraction(metric="rate", pointer="/summary/rps")


@pytest.mark.parametrize(
    ("printed", "pointer", "value"),
    [
        ('{"summary": {"rps": 12.5}}', "/summary/rps", 12.5),
        ('{\n  "runs": [1, {"a/b~c": -3}]\n}\n', "/runs/1/a~1b~0c", -3),
        ('{"": {"0": 1e3}}', "//0", 1000),
        ("17\n", "", 17),
        ('started\n{"at": 1}\n  {"summary": {"rps": 2}}\n{"broken": ', "/summary/rps", 2),
        ('{"summary": 1}\n{"summary": {"rps": 3}}', "/summary/rps", 3),
        ("{ not JSON }\n[4]", "/0", 4),
        (f'{{"a": {2**70}}}', "/a", 2.0**70),
    ],
)
def test_a_place_in_json_is_found(printed: str, pointer: str, value: float) -> None:
    assert extract(printed, [Extraction(metric="a", pointer=pointer)]) == {"a": value}


@given(metrics)
def test_every_number_of_json_is_found_at_its_place(values: dict[str, float]) -> None:
    rules = [Extraction(metric=name, pointer=f"/all/1/{name}") for name in values]
    assert extract(json.dumps({"all": [0, values]}), rules) == values


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("", "rate: the place '/summary/rps' is nowhere in the output, which is not JSON"),
        ("rps=1", "rate: the place '/summary/rps' is nowhere in the output, which is not JSON"),
        ("[" * 100_000, "is nowhere in the output, which is not JSON"),
        ('{"summary": {"rsp": 1}}', "rate: the place '/summary/rps' is nowhere"),
        ('{"summary": [1]}', "rate: the place '/summary/rps' is nowhere"),
        ('{"summary": 1}', "rate: the place '/summary/rps' is nowhere"),
        ('{"summary": {"rps": 1}}\n' * 2, "'/summary/rps' is in the output more than once"),
        ('{"summary": {"rps": "1"}}', "'/summary/rps' gives '\"1\"', which is not a finite number"),
        ('{"summary": {"rps": true}}', "gives 'true', which is not a finite number"),
        ('{"summary": {"rps": null}}', "gives 'null', which is not a finite number"),
        ('{"summary": {"rps": NaN}}', "gives 'NaN', which is not a finite number"),
        ('{"summary": {"rps": 1e999}}', "gives 'Infinity', which is not a finite number"),
        (f'{{"summary": {{"rps": {"9" * 5000}}}}}', "gives 'Infinity', which is not a finite number"),
        ('{"summary": {"rps": [1]}}', "gives '[1.0]', which is not a finite number"),
    ],
)
def test_a_place_in_json_without_a_number_is_explained(printed: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        extract(printed, [JSON])


@pytest.mark.parametrize("index", ["01", "-1", "1", "-", "+0", "1_0", "9" * 190, "١"])  # noqa: RUF001
def test_an_index_is_a_decimal_number_within_the_array(index: str) -> None:
    with pytest.raises(ValueError, match="is nowhere"):
        extract("[1]", [Extraction(metric="a", pointer=f"/{index}")])


def test_a_pattern_that_would_take_ages_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.runner.extract.SEARCH_LIMIT_S", 0.05)
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(ValueError, match=r"takes more than 0\.05 s to look for; make it simpler"):
        extract("a" * 60 + "b", [Extraction(metric="a", pattern="^(?:a+)+(c)$")])
    assert signal.getsignal(signal.SIGVTALRM) is before


@pytest.mark.parametrize("rules", ["lines", [LINE, Extraction(metric="a", line="a")]])
def test_lines_without_a_metric_cost_no_memory(rules: Any) -> None:
    printed = "=\nx=y\n" * 50_000
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"there is no line|is nowhere"):
        extract(printed, rules)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize(("rules", "line"), [("lines", "a=x\n"), ("lines", "1=x\n"), ([LINE], "Mean rate\n")])
def test_lines_are_looked_for_no_longer_than_a_pattern(
    rules: Any, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.runner.extract.SEARCH_LIMIT_S", 0.01)
    with pytest.raises(ValueError, match=r"lines NAME=DATA take more than 0\.01 s to look for; print fewer"):
        extract(line * 1_000_000, rules)


def test_lines_are_looked_for_once_and_no_further_than_the_second_of_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[str] = []

    def noted(*arguments: str) -> Iterator[tuple[str, str]]:
        for name, data in pairs(*arguments):
            looked_at.append(name)
            yield name, data

    pairs = extract_module.pairs
    monkeypatch.setattr(extract_module, "pairs", noted)
    rules = [Extraction(metric=name, line=name) for name in "ab"]
    assert extract("a=1\nc=1\nb=2", rules) == {"a": 1, "b": 2}
    assert looked_at == ["a", "b"]
    with pytest.raises(ValueError, match=r"b: the line 'b=\.\.\.' is in the output more than once"):
        extract("b=1\nb=2\n" + "a=1\n" * 9, rules)
    assert looked_at == ["a", "b", "b", "b"]


@pytest.mark.parametrize(
    ("pattern", "printed", "part"),
    [
        (r"ops=(\d+)", "ops=1.5e6", "'1', which is only a part of the number at '1.5'"),
        (r"ops=([\d.]+)", "ops=1.5e6", "'1.5', which is only a part of the number at '1.5e6'"),
        (r"ops=(\d+)", "ops=2e-3", "'2'"),
        (r"ops.*(\d+)", "ops=1234", "'4', which is only a part of the number at '34'"),
        (r"(\d{3})", "1234", "'123'"),
        (r"\.(\d+)", "1.5", "'5'"),
        (r"=\.(\d+)", "a=.5", "'5'"),
        (r"=\D*(\d+)", "a=-5", "'5', which is only a part of the number at '-5'"),
        (r"e-(\d+)", "1e-5", "'5'"),
        (r"=( *\d+)", "a= 1.5", "'1'"),
        (r"ops: (\d+)", "ops: 1,234,567", "'1', which is only a part of the number at '1,234'"),
        (r"(\d+) ops", "1 234 567 ops", "'567', which is only a part of the number at '1 234 567'"),
        (r".* (\d+) ops", "rate: 1 234 ops", "'234', which is only a part of the number at '1 234'"),
        (r"ops: ([\d.]+)", "ops: 1'234.5", "'1', which is only a part of the number at '1'234'"),
        (r"ops: (\d+)", "ops: 1_234", "'1', which is only a part of the number at '1_234'"),
        (r"ops: (\d+)", "ops: 1\N{NO-BREAK SPACE}234", "'1'"),
        (r"ops: (\d+),", "ops: 1,234,567, more", "'1', which is only a part of the number at '1,234'"),
        (r"s: ([\d.]+)", "s: 3,14", "'3', which is only a part of the number at '3,14'"),
        (r"took (\d+)", "took 1:23.45", "'1', which is only a part of the number at '1:23'"),
        (r"\W(\d+)$", "a: \N{MINUS SIGN}5", "'5', which is only a part of the number at '-5'"),
        (r"x(\d+)", "0x10", "'10', which is only a part of the number at '0x10'"),
        (r"a: ([\d.]+)", "a: 1.5 x 10^6", "'1.5', which is only a part of the number at '1.5 x 10^'"),
        (r"a: (\d+)", "a: 3\N{ARABIC DECIMAL SEPARATOR}14", "'3', which is only a part of the number at"),
        (r"(\d+) ops", "1\N{ARABIC THOUSANDS SEPARATOR}234 ops", "'234', which is only a part of the number"),
        (
            r"a: (\d+)",
            "a: 3\N{MIDDLE DOT}14",
            "'3', which is only a part of the number at '3\N{MIDDLE DOT}1'",
        ),
    ],
)
def test_a_part_of_a_number_is_refused(pattern: str, printed: str, part: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"' gives {part}")):
        extract(printed, [Extraction(metric="a", pattern=pattern)])


@pytest.mark.parametrize(
    ("pattern", "printed", "value"),
    [
        (r"([\d.]+)s", "took 12.5s", 12.5),
        (r"(\d+)e", "12eggs", 12),
        (r"took (\d+)", "took 12.", 12),
        (r"(\d+)-\d+", "10-20", 10),
        (r"-(\d+)", "10-20", 20),
        (r"-(\d+)", "run-5", 5),
        (r"\.+(\d+)", "time....5", 5),
        (r"p(\d+)", "p99", 99),
        (r"(\d+):", "12:34", 12),
        (r",(\d+),", "1,2,3", 2),
        (r"(\d+)%", "(5%)", 5),
        (r"(\S+) ops", "-1.5e+3 ops", -1500),
        (r"(\d+) \d+ \d+", "4 120 300", 4),
        (r"\d+,(\d+),\d+", "100,200,300", 200),
        (r"^[^,]*,(\d+),[^,]*,", "4,200,300,x", 200),
        (r"ops: (\d+)", "ops: 4  120", 4),
        (r"^summary: \d+ (\d+)", "summary: 205 12 345 678", 12),
        (r"(\d+) \d+$", "10 20 300", 20),
        (r"ops: (\d+)", "ops: 4, 120", 4),
        (r"(\S+) ops", "1,234,567 ops", 1_234_567),
        (r"(\S+) ops", "1.234.567,5 ops", 1_234_567.5),
        (r"(\S+) ops", "1,234.5 ops", 1234.5),
        (r"(\S+) ops", "1'234 ops", 1234),
        (r"(\S+) ops", "1_234 ops", 1234),
        (r"([\d ]+) ops", "1 234 567 ops", 1_234_567),
        (r"(.+) ops", "1\N{NARROW NO-BREAK SPACE}234,5 ops", 1234.5),
        (r"(\S+) s", "3,14 s", 3.14),
        (r"(\S+) s", "0,125 s", 0.125),
        (r"(\S+) s", "1234,567 s", 1234.567),
        (r"(\S+) s", "\N{MINUS SIGN}5 s", -5),
        (r"(\S+) s", "\N{MINUS SIGN}1,5e\N{MINUS SIGN}3 s", -0.0015),
    ],
)
def test_a_whole_number_is_taken_whatever_stands_beside_it(pattern: str, printed: str, value: float) -> None:
    assert extract(printed, [Extraction(metric="a", pattern=pattern)]) == {"a": value}


@pytest.mark.parametrize(
    ("pattern", "printed", "reason"),
    [
        (r"a: (\S+)", "a: 1,234", "gives '1,234', which may be 1234 or 1.234; print it without a comma"),
        (r"a: (\S+)", "a: 1,23,456", "gives '1,23,456', which is not a finite number"),
        (r"a: (\S+)", "a: 1.234,5.6", "which is not a finite number"),
        (r"a: (\S+)", "a: 12ms", "gives '12ms', which is not a finite number"),
        (r"a: (\S+)", "a: 12%", "gives '12%', which is not a finite number"),
        (r"a: (\S+)", "a: inf", "gives 'inf', which is not a finite number"),
        (r"a: (\S+)", "a: nan", "gives 'nan', which is not a finite number"),
        (r"a: (\S+)", "a: 0x1f", "gives '0x1f', which is not a finite number"),
        (
            r"a: ([\d.]+)",
            "a: 12ms",
            "gives '12', which has 'ms' right behind it; write this unit into the pattern",
        ),
        (r"a: ([\d.]+)", "a: 1.5k", "gives '1.5', which has 'k' right behind it"),
        (r"a: ([\d.]+).*", "a: 1.5k", "gives '1.5', which has 'k' right behind it"),
        (r"a: ([\d.]+)", "a: 12\N{MICRO SIGN}s", "right behind it"),
        (r"a: ([\d.]+)", "a: 12%", "gives '12', which has '%' right behind it"),
        (r"a: ([\d.]+)", "a: 1.#INF", "gives '1.', which has '#INF' right behind it"),
        (r"a: ([\d.]+)", "a: 1.5D+06", "gives '1.5', which has 'D' right behind it"),
        (r"a: (\d+)", "a: 0x1f", "gives '0', which has 'x1f' right behind it"),
        (r"a: (\d+)", "a: 10\N{SUPERSCRIPT TWO}", "right behind it"),
    ],
)
def test_what_may_be_another_number_is_refused(pattern: str, printed: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        extract(printed, [Extraction(metric="a", pattern=pattern)])


MINUS = "\N{MINUS SIGN}"
GROUP = [",", ".", " ", "'", "_", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"]


@st.composite
def written(draw: st.DrawFn) -> tuple[float, str]:
    """A number, and how somebody writes it."""
    number = draw(st.integers(0, 10**12))
    group = draw(st.sampled_from(["", *GROUP]))
    point = draw(st.sampled_from([mark for mark in ".," if mark != group]))
    decimals = draw(st.text("0123456789", max_size=4))
    sign = draw(st.sampled_from(["", "", "-", "+", "\N{MINUS SIGN}"]))
    exponent = "" if group else draw(st.sampled_from(["", "", "e3", "E-2", "e+06"]))
    digits = f"{number:,}".replace(",", group)
    text = f"{sign}{digits}{point if decimals else ''}{decimals}{exponent}"
    plain = f"{'-' if sign in ('-', MINUS) else ''}{number}.{decimals or 0}{exponent}"
    return float(plain), text


@given(
    written(),
    st.sampled_from(
        ["", " ", " ms", "ms", "%", "k", " op/s", ", more", ".", ")", ";", "/s", "\n7", "\t512", " x"]
    ),
    st.sampled_from(
        [
            r"v: ([\d.]+)",
            r"v: (\d+)",
            r"v: ([\d.,]+)",
            r"v: ([\d.,' _-]+)",
            r"v: (\S+)",
            r"v: (.+)$",
            r"(\d+)(?:\n|$)",
            r"(\d+(?:\.\d+)?) ?(?:ms|op/s)",
            r".*?(\d+)[ ,.;)]",
            r"[ ,.'_](\d+)",
            r"v:\D*(\d+)",
            r"(\d{1,3})",
            r"([-+\d.eE]+)",
        ]
    ),
)
def test_a_number_is_taken_whole_or_not_at_all(number: tuple[float, str], after: str, pattern: str) -> None:
    value, text = number
    with suppress(ValueError):
        taken = extract(f"v: {text}{after}", [Extraction(metric="a", pattern=pattern)])["a"]
        beside = {"\n7": 7, "\t512": 512}.get(after)
        single = text.count(".") == 1 and "," not in text and len(text.partition(".")[2]) == 3
        assert taken in (value, beside) or (single and taken == float(text.replace(MINUS, "-")))


@given(st.text())
def test_whatever_is_printed_gives_finite_numbers_or_a_reason_of_one_line(printed: str) -> None:
    for rules in (
        "lines",
        (PATTERN, LINE),
        (JSON,),
        (Extraction(metric="a", pointer=""),),
        (Extraction(metric="a", pattern=r"(?s)(.*)"),),
    ):
        try:
            metrics = extract(printed, rules)
        except ValueError as error:
            assert str(error).isprintable()  # noqa: PT017
        else:
            assert all(math.isfinite(value) for value in metrics.values())
