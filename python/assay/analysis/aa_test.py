from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest  # type: ignore[import-untyped]

from assay.analysis.aa import binomial_interval, false_alarms
from assay.analysis.types import Aggregate, Analysis, Comparison, Estimate, Interval, Look, Verdict


def comparison(p: float, verdict: Verdict = "undecided", *, interval: bool = True) -> Comparison:
    between = Interval(0.9, 1.1, 0.95) if interval else None
    fields: dict[str, Any] = {
        "metric": "throughput",
        "context": {},
        "level": "b",
        "baseline": "a",
        "dropped": {},
    }
    alone = Estimate(1.0, between, p, verdict, 20)
    return Comparison(
        **fields,
        ratio=1.0,
        interval=between,
        p=p,
        p_adjusted=p,
        verdict=verdict,
        pairs=20,
        reason="",
        all_groups=alone,
    )


ONLY = Look(1, 1, 20, 0.95)


def analysis(comparisons: list[Comparison], look: Look | None = ONLY) -> Analysis:
    return Analysis("throughput", "copy", "a", "higher", 3, 0.95, (), tuple(comparisons), look=look)


def test_false_alarms_are_counted_by_p_value_and_by_verdict() -> None:
    comparisons = [comparison(0.001, "faster"), comparison(0.05), *[comparison(0.5, "equivalent")] * 38]
    alarms = false_alarms(analysis(comparisons))
    assert (alarms.comparisons, alarms.uncorrected, alarms.verdicts) == (40, 2, 1)
    assert alarms.compatible
    for words in (
        "2 of 40",
        "0.6% to 16.9% (95% interval)",
        "compatible with at most 5%",
        "1 of 40, a false",
    ):
        assert words in alarms.summary


def test_two_verdicts_that_call_identical_code_different_are_not_compatible() -> None:
    alarms = false_alarms(analysis([comparison(0.001, "faster")] * 2 + [comparison(0.5)] * 38))
    assert (alarms.uncorrected, alarms.verdicts, alarms.compatible) == (2, 2, False)
    assert "which is compatible with at most 5%" in alarms.summary
    assert "2 of 40, which is not compatible" in alarms.summary


def test_verdicts_that_were_not_corrected_are_no_false_alarms_beyond_the_rate() -> None:
    alarms = false_alarms(analysis([comparison(0.04, "faster")] * 2 + [comparison(0.5)] * 38))
    assert (alarms.uncorrected, alarms.verdicts, alarms.compatible) == (2, 0, True)
    assert alarms.summary.endswith("0 of 40.")


def test_a_verdict_over_workloads_is_a_false_alarm_too() -> None:
    alarm = comparison(0.001, "faster")
    whole = Aggregate(
        ratio=1.1,
        interval=alarm.interval,
        p=0.001,
        p_adjusted=0.04,
        verdict="faster",
        pairs=20,
        metric="throughput",
        context={},
        level="b",
        baseline="a",
        dropped={},
        across=("mix",),
        weights=(0.5, 0.5),
        against=(),
    )
    both = replace(analysis([alarm, *[comparison(0.5)] * 39]), aggregates=(whole,))
    assert (false_alarms(both).verdicts, false_alarms(both).family) == (2, 41)
    assert not false_alarms(both).compatible


def test_before_the_planned_look_nothing_is_counted() -> None:
    alarms = false_alarms(analysis([comparison(0.001)] * 10, None))
    assert (alarms.comparisons, alarms.interval, alarms.compatible) == (0, None, False)
    assert "finish the campaign" in alarms.summary


def test_too_many_false_alarms_are_not_compatible_and_few_are() -> None:
    assert not false_alarms(analysis([comparison(0.01)] * 8 + [comparison(0.5)] * 32)).compatible
    assert false_alarms(analysis([comparison(0.5)] * 1000)).compatible


def test_at_a_look_the_level_is_that_of_the_look() -> None:
    look = Look(1, 4, 8, 0.99)
    alarms = false_alarms(analysis([comparison(0.02)] * 10, look))
    assert alarms.uncorrected == 0
    assert alarms.level == pytest.approx(0.01)


def test_comparisons_that_could_not_be_false_alarms_do_not_count() -> None:
    alarms = false_alarms(analysis([comparison(0.0625, interval=False)] * 10))
    assert (alarms.comparisons, alarms.interval, alarms.compatible) == (0, None, False)
    assert "run more blocks" in alarms.summary


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_that_of_clopper_and_pearson(case: tuple[int, int]) -> None:
    successes, trials = case
    interval = binomial_interval(successes, trials)
    known = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert [interval.low, interval.high] == pytest.approx([known.low, known.high])


@pytest.mark.parametrize("p", [0.01, 0.05, 0.5])
def test_the_interval_covers_the_rate_at_least_as_often_as_it_says(p: float) -> None:
    intervals = [binomial_interval(k, 40) for k in range(41)]
    covered = sum(
        binom.pmf(k, 40, p) for k, interval in enumerate(intervals) if interval.low <= p <= interval.high
    )
    assert covered >= 0.95
