import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.analysis import verdicts
from assay.analysis.pairs import Sample, sample_of
from assay.analysis.types import Estimate, Gate, Look, Verdict
from assay.analysis.verdicts import Better, Question, fewest_pairs, verdict_word


def decide(
    samples: Sequence[NDArray[np.float64]],
    better: Sequence[Better],
    question: Question,
    withheld: Sequence[str] = (),
) -> list[Estimate]:
    return verdicts.decide([Sample("logs", sample) for sample in samples], better, question, withheld)


QUESTION = Question(5.0, "none", Look(number=1, of=1, blocks=12, confidence=0.95))


@pytest.mark.parametrize(
    ("of_the_smallest_effect", "word"),
    [(0.98, "equivalent"), (-0.98, "equivalent"), (1.02, "faster"), (-1.02, "slower")],
)
def test_equivalent_is_what_lies_within_the_smallest_effect(
    of_the_smallest_effect: float, word: Verdict
) -> None:
    ratios = of_the_smallest_effect * math.log1p(0.05) + np.linspace(-1e-5, 1e-5, 12)
    (decided,) = decide([ratios], ["higher"], QUESTION)
    assert decided.verdict == word


@given(
    st.integers(1, 20).flatmap(
        lambda size: st.lists(
            st.lists(st.floats(-0.2, 0.2), min_size=size, max_size=size), min_size=1, max_size=12
        )
    ),
    st.floats(0.1, 20),
    st.sampled_from(["family", "none"]),
    st.sampled_from(["higher", "lower"]),
    st.sampled_from([0.95, 0.99]),
    st.integers(1, 4),
)
def test_an_interval_and_its_verdict_say_the_same(
    values: list[list[float]],
    smallest: float,
    correction: Literal["family", "none"],
    better: Better,
    confidence: float,
    campaigns: int,
) -> None:
    look = Look(1, 1, len(values[0]), confidence)
    question = Question(smallest, correction, look, campaigns=campaigns)
    family = [np.array(sample) for sample in values]
    for decided in decide(family, [better] * len(family), question):
        interval = decided.interval
        assert decided.p_adjusted is not None
        if interval is None:
            assert decided.verdict == "undecided"
            assert decided.pairs < fewest_pairs(question.sharing(len(family)), confidence)
            assert "too few for an interval" in decided.reason
            continue
        assert interval.confidence >= 1 - (1 - confidence) / question.sharing(len(family)) - 1e-12
        band = 1 + smallest / 100
        inside = 1 / band <= interval.low and interval.high <= band
        excludes = interval.low > 1 or interval.high < 1
        assert excludes == (decided.p_adjusted <= 0.05 * (1 + 1e-9))
        assert (decided.verdict == "equivalent") == inside
        assert (decided.verdict in {"faster", "slower"}) == (excludes and not inside)
        if decided.verdict in {"faster", "slower"}:
            assert (decided.verdict == "faster") == ((interval.low > 1) == (better == "higher"))
        assert (decided.reason == "") == (decided.verdict != "undecided")


# The gate

GATED = replace(QUESTION, gate_percent=2.0, smallest_effect_percent=2.0)
Gates = list[Gate | None]


def gates(samples: Sequence[NDArray[np.float64]], better: Better, question: Question) -> Gates:
    return [decided.gate for decided in decide(samples, [better] * len(samples), question)]


@given(st.lists(st.floats(-0.1, 0.1), min_size=6, max_size=20))
def test_one_comparison_passes_or_fails_by_its_interval(values: list[float]) -> None:
    (decided,) = decide([np.array(values)], ["lower"], GATED)
    assert decided.interval is not None
    low, high = decided.interval.low, decided.interval.high
    if min(abs(low - 1.02), abs(high - 1.02)) > 1e-9:
        assert decided.gate == ("failed" if low > 1.02 else "passed" if high < 1.02 else "undecided")


@given(st.lists(st.floats(-0.1, 0.1), min_size=6, max_size=20))
def test_a_rate_is_worse_by_as_much_as_its_time_is(values: list[float]) -> None:
    sample = np.array(values)
    assert gates([sample], "lower", GATED) == gates([-sample], "higher", GATED)


@given(
    st.lists(st.lists(st.floats(-0.1, 0.1), min_size=9, max_size=9), min_size=2, max_size=6),
    st.integers(2, 5),
)
def test_the_family_corrects_what_fails_and_campaigns_what_is_decided(
    values: list[list[float]], campaigns: int
) -> None:
    samples = [np.array(sample) for sample in values]
    corrected = replace(GATED, correction="family")
    alone, family, shared = (
        gates(samples, "lower", question)
        for question in (GATED, corrected, replace(corrected, campaigns=campaigns))
    )
    for by_itself, among, among_campaigns in zip(alone, family, shared, strict=True):
        assert among in (by_itself, "undecided")
        assert among_campaigns in (among, "undecided")
        assert (among == "passed") == (by_itself == "passed")


@given(st.lists(st.lists(st.floats(-0.05, 0.05), min_size=9, max_size=9), min_size=1, max_size=6))
def test_what_passes_does_so_by_the_interval_that_is_shown_or_by_one_that_is_named(
    values: list[list[float]],
) -> None:
    question = replace(GATED, correction="family")
    for decided in decide([np.array(sample) for sample in values], ["lower"] * len(values), question):
        assert decided.interval is not None
        alone = decided.by_itself
        assert (decided.gate == "passed") == (decided.interval.high < 1.02 or alone is not None)
        if alone is not None:
            assert decided.interval.low <= alone.low <= alone.high < 1.02 <= decided.interval.high


@given(st.lists(st.lists(st.floats(-0.1, 0.1), min_size=9, max_size=9), min_size=1, max_size=6))
def test_what_fails_is_slower(values: list[list[float]]) -> None:
    question = replace(GATED, correction="family")
    for decided in decide([np.array(sample) for sample in values], ["lower"] * len(values), question):
        assert decided.gate != "failed" or decided.verdict == "slower"


def test_the_most_pairs_that_cannot_fail_among_comparisons_and_campaigns() -> None:
    slower = np.linspace(0.1, 0.2, 8)  # p = 2 / 2**8, which is 0.05 / 6.4
    for comparisons, campaigns, gate in ((6, 1, "failed"), (7, 1, "undecided"), (3, 2, "failed")):
        question = replace(GATED, correction="family", campaigns=campaigns)
        assert gates([slower] * comparisons, "lower", question) == [gate] * comparisons
    assert gates([slower] * 9, "higher", replace(GATED, correction="family")) == ["passed"] * 9
    assert gates([slower], "higher", replace(GATED, campaigns=7)) == ["undecided"]


def test_what_has_no_pairs_or_no_look_is_undecided_and_without_a_gate_nothing_is_said() -> None:
    clear = np.linspace(0.1, 0.2, 12)
    empty = np.empty(0)
    estimates = decide([empty, clear], ["lower"] * 2, GATED, ["a trial failed", ""])
    assert [estimate.gate for estimate in estimates] == ["undecided", "failed"]
    assert gates([clear], "lower", replace(GATED, look=None)) == ["undecided"]
    assert gates([clear], "lower", QUESTION) == [None]


def test_the_gate_has_the_errors_that_are_promised() -> None:
    """At the gate itself both answers are wrong; each is given in at most 2.5% of campaigns."""
    chance = np.random.default_rng(3)
    noise = 0.03 * chance.standard_t(3, size=(2000, 12))
    answers = gates(list(math.log1p(0.02) + noise), "lower", GATED)
    for answer in ("passed", "failed"):
        assert answers.count(answer) <= 0.025 * 2000 + 3 * math.sqrt(0.025 * 2000)


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        *(
            (metric, "")
            for metric in (
                "throughput",
                "find_throughput",
                "interval_throughput_p95",
                "processor_ns_per_operation",
                "wall_s",
                "elapsed",
                "latency_p99",
                "operations_per_second",
            )
        ),
        ("score", "ms"),
        ("score", "MB/s"),
        ("score", "ns per operation"),
    ],
)
def test_rates_and_times_are_faster_or_slower(metric: str, unit: str) -> None:
    assert verdict_word("faster", metric, unit) == "faster"
    assert verdict_word("slower", metric, unit) == "slower"


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        *(
            (metric, "")
            for metric in (
                "peak_resident_bytes",
                "throughput_variation",
                "throughput_drift",
                "migrations",
                "score",
                "misses",
            )
        ),
        ("time", "MB"),
    ],
)
def test_of_other_metrics_more_is_better_or_worse(metric: str, unit: str) -> None:
    assert verdict_word("faster", metric, unit) == "better"
    assert verdict_word("slower", metric, unit) == "worse"
    assert verdict_word("equivalent", metric, unit) == "equivalent"
    assert verdict_word("undecided", metric, unit) == "undecided"


@pytest.mark.parametrize(("better", "gate"), [("higher", "failed"), ("lower", "passed")])
def test_what_always_starves_is_beyond_a_gate(better: Better, gate: Gate) -> None:
    zeros, ones = [[0.0]] * 12, [[1.0 + place / 100] for place in range(12)]
    sample = sample_of(zeros, ones, by_difference=False)
    question = Question(2.0, "family", Look(1, 1, 12, 0.95), gate_percent=2.0)
    [estimate] = verdicts.decide([sample], [better], question)
    assert estimate.interval is not None
    assert estimate.interval.low == 0
    assert estimate.gate == gate
