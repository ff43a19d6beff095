"""The answer of a comparison of two revisions, as a screen, as a comment and as JUnit."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from markdown_it import MarkdownIt

from assay.analysis import Comparison, Interval
from assay.analysis.types import Estimate, Gate, Verdict
from assay.experiment.types import ComparisonDesign, MeasuredRevision
from assay.report.ab import (
    Answer,
    BenchmarkComparison,
    SkippedBenchmark,
    benchmarks_of,
    change,
    ends,
    sentence,
)
from assay.report.ab_writers import comment, junit, screen
from assay.report.metrics import name_of_metric
from assay.report.trust import Trust
from example_report import example_report, experiment_text

HOSTILE = "a|b <script>alert(1)</script> `x` *y* \x1b[31m"


def revision(commit: str, name: str) -> MeasuredRevision:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return MeasuredRevision(
        commit=commit * 40, name=name, subject="Why", committed_at=at, tree=commit, folder=Path()
    )


DESIGN = ComparisonDesign(
    metric="wall_ms",
    factor="revision",
    baseline="base",
    better="lower",
    smallest_effect_percent=1,
    gate_percent=2,
)


def benchmark(name: str, ratio: float, verdict: Verdict, gate: Gate | None = None) -> BenchmarkComparison:
    interval = Interval(ratio - 0.005, ratio + 0.005, 0.95)
    comparison = Comparison(
        ratio=ratio,
        interval=interval,
        p=None,
        verdict=verdict,
        pairs=20,
        gate=gate,
        metric="wall_ms",
        context={"benchmark": name},
        level="head",
        baseline="base",
        dropped={},
        all_groups=Estimate(ratio=ratio, interval=interval, p=None, verdict=verdict, pairs=20),
    )
    why = "why not" if gate == "undecided" else ""
    shown = ("12.1ms", f"{12.1 * ratio:.4g}ms")
    return BenchmarkComparison(
        name,
        comparison,
        12.1,
        12.1 * ratio,
        shown,
        verdict,
        change(ratio),
        ends(interval, DESIGN),
        why,
    )


def answer(*benchmarks: BenchmarkComparison, **more: Any) -> Answer:
    given = {
        "revisions": {"base": revision("a", "main"), "head": revision("b", "HEAD")},
        "benchmarks": benchmarks,
        "metric": "wall_ms",
        "smallest_percent": 1.0,
        "trust": Trust("with confidence", (), "", ()),
        "blocks": 20,
        "took_s": 61.0,
        "campaign": 7,
    }
    return Answer(**{**given, **more})


FAILED = benchmark("parse", 1.034, "slower", "failed")
PASSED = benchmark("print", 1.001, "equivalent", "passed")
UNDECIDED = benchmark("load", 1.02, "undecided", "undecided")


@pytest.mark.parametrize(
    ("of", "exit_code", "said"),
    [
        (
            answer(FAILED, gate_percent=2),
            1,
            "slower by more than 2%: head takes 3.4% more time than base (+2.9% to +3.9%)",
        ),
        (
            answer(PASSED, gate_percent=2),
            0,
            "no regression beyond 2%: head takes 0.1% more time than base (-0.4% to +0.6%)",
        ),
        (
            answer(UNDECIDED, gate_percent=2),
            3,
            "undecided: head takes 2.0% more time than base (+1.5% to +2.5%); the gate is 2%",
        ),
        (answer(PASSED, PASSED, gate_percent=2), 0, "no regression beyond 2% in 2 benchmarks"),
        (
            answer(PASSED, UNDECIDED, gate_percent=2),
            3,
            "undecided: 1 of 2 benchmarks: load; no regression beyond 2% is shown",
        ),
        (
            answer(UNDECIDED, FAILED, FAILED, gate_percent=2),
            1,
            "slower by more than 2%: 2 of 3 benchmarks, most of all parse, +3.4% (+2.9% to +3.9%)",
        ),
        (
            answer(
                PASSED, skipped=[SkippedBenchmark("quit", "failed", "head: exited with 1")], gate_percent=2
            ),
            3,
            "undecided: 1 of 2 benchmarks: quit; no regression beyond 2% is shown",
        ),
        (
            answer(
                benchmark("a", 0.9, "faster"),
                benchmark("b", 1.0, "equivalent"),
                benchmark("c", 0.8, "faster"),
            ),
            0,
            "no regression in 3 benchmarks: 2 faster and 1 equivalent",
        ),
        (
            answer(skipped=[SkippedBenchmark("a", "new"), SkippedBenchmark("b", "gone")]),
            3,
            "nothing was compared: a is new and b is gone",
        ),
    ],
)
def test_the_answer_is_one_sentence_and_an_exit_code(of: Answer, exit_code: int, said: str) -> None:
    assert (sentence(of), of.exit_code) == (said, exit_code)


def test_a_screen_holds_what_matters_of_many_benchmarks() -> None:
    many = [
        benchmark(f"case {number} of a long name that goes on", 1.0, "equivalent", "passed")
        for number in range(40)
    ]
    lines = list(screen(answer(*many, FAILED, gate_percent=2), "assay report"))
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[2].split()[0] == "parse"
    assert "and 29 more without a regression" in lines


def test_a_comment_folds_what_nobody_needs_to_see() -> None:
    many = [benchmark(f"case {number}", 1.0, "equivalent", "passed") for number in range(40)]
    text = comment(answer(*many, FAILED, gate_percent=2))
    assert text.startswith("### ❌ Slower by more than 2%: 1 of 41 benchmarks: parse, +3.4%")
    assert text.index("| parse |") < text.index("| case 0 |") < text.index("<details>")
    assert "<summary>31 more without a regression</summary>" in text


def test_names_of_others_are_text_in_a_comment_and_in_junit() -> None:
    named = answer(benchmark(HOSTILE, 1.034, "slower", "failed"), gate_percent=2)
    named = replace(named, revisions={"base": revision("a", HOSTILE), "head": revision("b", "HEAD")})
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(comment(named))
    assert "<script>" not in html
    assert "<em>" not in html
    assert html.count("<td") == 7
    assert "\x1b" not in html
    case = Xml.fromstring(junit(named)).find("testcase")
    assert case is not None
    assert "<script>" in str(case.get("name"))


def test_junit_tells_regressions_from_what_fails_and_what_is_undecided() -> None:
    skipped = [SkippedBenchmark("quit", "failed", "head: exited with 1"), SkippedBenchmark("fresh", "new")]
    suite = Xml.fromstring(junit(answer(FAILED, PASSED, UNDECIDED, skipped=skipped, gate_percent=2)))
    kinds = {
        case.get("name"): [child.tag for child in case if child.tag != "system-out"]
        for case in suite.findall("testcase")
    }
    assert kinds == {
        "parse": ["failure"],
        "print": [],
        "load": ["skipped"],
        "quit": ["error"],
        "fresh": ["skipped"],
    }
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["5", "1", "1", "2"]


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0301, "+3.0%"), (0.9999, "0.0%"), (0.5, "-50.0%"), (2.5, "+150.0%"), (12.44, "12.4 times")],
)
def test_a_change_is_in_percent_or_in_times(ratio: float, text: str) -> None:
    assert change(ratio) == text


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("wall_ms", "time"),
        ("real_time_ns", "real time"),
        ("parse_ns", "parse time"),
        ("peak_resident_bytes", "peak memory"),
        ("items_per_s", "items per s"),
    ],
)
def test_metrics_have_names_for_people(metric: str, name: str) -> None:
    assert name_of_metric(metric) == name


def test_a_reason_does_not_contradict_the_interval_beside_it() -> None:
    text = experiment_text(
        'subject = ["noop", "std_map_mutex"]\nthreads = [1, 2, 3, 4, 5, 6]',
        "gate_percent = 5",
        trial="mix = { find = 100 }",
        blocks=6,
    )
    speed = {"noop": 1e6, "std_map_mutex": 5e5}
    report = example_report(text, lambda planned: {"throughput": speed[str(planned.levels["subject"])]})
    whys = {of.why for of in benchmarks_of(report)}
    assert whys == {"6 pairs are too few for an interval among 6 comparisons: it takes 8"}
    mixed = {"noop": 1.0, "std_map_mutex": 0.9}
    report = example_report(
        text.replace("blocks = 6", "blocks = 8"),
        lambda planned: {"throughput": 1e6 * mixed[str(planned.levels["subject"])] ** (planned.block % 2)},
    )
    assert {of.why for of in benchmarks_of(report)} == {"the interval holds the gate of 5%"}


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [
        (0.99, 1.01, "-1.0% to +1.0%"),
        (1.0002, 1.05, "+0.02% to +5.00%"),  # slower
        (0.95, 0.9998, "-5.00% to -0.02%"),  # faster
        (0.995, 1.0104, "-0.50% to +1.04%"),  # not equivalent
        (1.0203, 1.04, "+2.03% to +4.00%"),  # beyond the gate
        (0.999999999, 1.5, "-0.0% to +50.0%"),
    ],
)
def test_rounding_does_not_hide_on_which_side_an_end_lies(low: float, high: float, written: str) -> None:
    assert ends(Interval(low, high, 0.95), DESIGN) == written.replace("-0.0%", "0.0%")
