import dataclasses
import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis import (
    Comparison,
    Estimate,
    Interval,
    Look,
    stop_reason,
    summarise,
    verdict,
)
from assay.experiment.types import ComparisonDesign, Design, Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

SUBJECTS = ("base", "other", "third")
THREADS = (1, 2)
TEN = Design(blocks=10)


def experiment(
    better: str = "higher",
    exclude: tuple[Any, ...] = (),
    blocks: Design = TEN,
    **comparison: Any,
) -> Experiment:
    return Experiment(
        name="example",
        question="?",
        comparison=ComparisonDesign(
            metric="throughput",
            factor="subject",
            baseline="base",
            smallest_effect_percent=5.0,
            better=better,  # type: ignore[arg-type]
            **comparison,
        ),
        design=blocks.altered(seed=1, exclude=exclude),
        programs={},
        fixed={},
        changes={"subject": {name: {} for name in SUBJECTS}, "threads": {n: {"threads": n} for n in THREADS}},
        path=Path("example.toml"),
    )


def trial(ordinal: int, block: int, group: int, levels: dict[str, Level], **changes: Any) -> StoredTrial:
    given: dict[str, Any] = {
        "status": "valid",
        "reason": "",
        "metrics": {"throughput": 100.0},
        "calibration_before": {},
        "calibration_after": {},
    }
    started = datetime(2024, 1, 1, tzinfo=UTC)
    return StoredTrial(
        id=ordinal + 1000,
        ordinal=ordinal,
        block=block,
        group=group,
        levels=levels,
        started_at=started,
        wall_s=1.0,
        environment=None,
        **given | changes,
    )


def campaign(blocks: int, change: Callable[[int, str, int], dict[str, Any]]) -> list[StoredTrial]:
    """Trials of every condition; `change` gives what is special about one from block, subject, threads."""
    trials: list[StoredTrial] = []
    for block in range(blocks):
        for context, threads in enumerate(THREADS):
            for subject in SUBJECTS:
                levels: dict[str, Level] = {"subject": subject, "threads": threads}
                group = block * len(THREADS) + context
                trials.append(trial(len(trials), block, group, levels, **change(block, subject, threads)))
    return trials


def throughput(value: float) -> dict[str, Any]:
    return {"metrics": {"throughput": value}}


def only(comparisons: Sequence[Comparison], level: str, threads: int) -> Comparison:
    (comparison,) = [
        comparison
        for comparison in comparisons
        if comparison.level == level and comparison.context == {"threads": threads}
    ]
    return comparison


def numbers(comparison: Comparison) -> list[float]:
    assert comparison.ratio is not None
    assert comparison.interval is not None
    return [comparison.ratio, comparison.interval.low, comparison.interval.high]


# Verdicts


@pytest.mark.parametrize(
    ("low", "high", "higher", "lower"),
    [
        (1 / 1.05, 1.05, "equivalent", "equivalent"),
        (1.01, 1.05, "equivalent", "equivalent"),  # excludes 1, but by less than anybody cares for
        (1.01, 1.06, "faster", "slower"),
        (0.5, 0.99, "slower", "faster"),
        (0.95, 1.0, "undecided", "undecided"),  # 0.95 is below 1 / 1.05
        (1.0, 1.06, "undecided", "undecided"),
        (0.9, 1.1, "undecided", "undecided"),
    ],
)
def test_a_verdict_says_what_the_interval_allows(low: float, high: float, higher: str, lower: str) -> None:
    assert verdict(Interval(low, high, 0.95), "higher", 5) == higher
    assert verdict(Interval(low, high, 0.95), "lower", 5) == lower


def test_without_an_interval_the_verdict_is_undecided() -> None:
    assert verdict(None, "higher", 5) == "undecided"


# Summaries


def test_a_planted_difference_is_found_in_its_context_alone() -> None:
    rng = random.Random(1)

    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        twice = subject == "other" and threads == 2
        return throughput((200 if twice else 100) * (1 + block) * rng.uniform(0.999, 1.001))

    analysis = summarise(campaign(8, change), experiment(blocks=Design(blocks=8)))
    assert len(analysis.comparisons) == 4
    comparison = only(analysis.comparisons, "other", 2)
    assert comparison.verdict == "faster"
    assert comparison.ratio == pytest.approx(2, rel=0.01)
    assert comparison.pairs == 8
    assert only(analysis.comparisons, "other", 1).verdict == "equivalent"
    assert only(analysis.comparisons, "third", 2).verdict == "equivalent"


def test_five_blocks_are_undecided_and_say_why() -> None:
    trials = campaign(5, lambda _, s, __: throughput(9 if s == "other" else 1))
    analysis = summarise(trials, experiment(blocks=Design(blocks=5)))
    comparison = only(analysis.comparisons, "other", 1)
    assert (comparison.verdict, comparison.interval) == ("undecided", None)
    assert comparison.ratio == pytest.approx(9)
    assert "5 pairs are too few" in comparison.reason


@pytest.mark.parametrize(
    ("other", "reason"), [(throughput(9), "1 pair is too few"), ({"metrics": {}}, "no pairs are too few")]
)
def test_one_pair_and_none_are_named_in_words(other: dict[str, Any], reason: str) -> None:
    trials = campaign(1, lambda _, s, __: other if s == "other" else throughput(1))
    comparison = only(summarise(trials, experiment(blocks=Design(blocks=1))).comparisons, "other", 1)
    assert reason in comparison.reason


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        ({"status": "invalid", "metrics": {"throughput": 1e9}}, "not valid"),
        ({"status": "crashed", "metrics": {}}, "not valid"),
        ({"metrics": {}}, "metric missing"),
        ({"metrics": {"throughput": float("inf")}}, "not finite"),
        ({"metrics": {"throughput": float("nan")}}, "not finite"),
    ],
)
@pytest.mark.parametrize("spoils", ["base", "other"])
def test_a_pair_counts_only_where_both_trials_do(spoils: str, spoiled: dict[str, Any], reason: str) -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        return spoiled if (block, subject, threads) == (3, spoils, 1) else throughput(100)

    analysis = summarise(campaign(8, change), experiment(accept_invalid=True))
    comparison = only(analysis.comparisons, "other", 1)
    assert (comparison.pairs, comparison.dropped) == (7, {reason: 1})
    assert comparison.ratio == 1
    assert only(analysis.comparisons, "other", 2).pairs == 8
    assert only(analysis.comparisons, "third", 1).pairs == (7 if spoils == "base" else 8)


@given(
    status=st.sampled_from(["invalid", "crashed", "timed_out"]),
    failed=st.sets(
        st.tuples(st.integers(0, 11), st.sampled_from(SUBJECTS), st.sampled_from(THREADS)), max_size=5
    ),
    blocks=st.sampled_from(
        [Design(blocks=12), Design(blocks=60, until="verdict"), Design(blocks=60, until_width_percent=9.0)]
    ),
    host_changes=st.sets(st.integers(0, 11), max_size=3),
)
@settings(max_examples=40)
def test_a_failed_trial_takes_all_verdicts_of_its_condition_and_gives_none_to_others(
    status: str, failed: set[tuple[int, str, int]], blocks: Design, host_changes: set[int]
) -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        speed = {"base": 1.0, "other": 2.0, "third": 1.0}[subject] * (1 + block % 3 / 100)
        changed = calibrated(50, 500 if block in host_changes else 50, speed)
        return changed | ({"status": status, "reason": "?"} if (block, subject, threads) in failed else {})

    trials = campaign(12, change)
    asked = experiment(blocks=blocks, also={"throughput": "lower"}, across={"threads": {}})
    analysis = summarise(trials, asked)
    without = summarise(campaign(12, lambda *place: {**change(*place), "status": "valid"}), asked)
    for comparison in (*analysis.comparisons, *analysis.also):
        places = {(subject, comparison.context["threads"]) for subject in ("base", comparison.level)}
        expected = any((subject, threads) in places for _, subject, threads in failed)
        assert comparison.withheld == expected
    for answer in (*analysis.answers, *analysis.also):
        estimates: list[Estimate] = [answer]
        if isinstance(answer, Comparison):
            estimates += [answer.all_groups, *answer.modes.values()]
        if answer.withheld:
            assert {estimate.verdict for estimate in estimates} == {"undecided"}
            assert {estimate.ratio for estimate in estimates} == {None}
            assert all(status.replace("_", " ") in estimate.reason for estimate in estimates)
    for answer in analysis.aggregates:
        workloads = [other for other in analysis.comparisons if other.level == answer.level]
        assert answer.withheld == any(workload.withheld for workload in workloads)
    # What has no failure is decided as in a campaign without any, or not decided: never otherwise.
    for answer, whole in zip(analysis.answers, without.answers, strict=True):
        assert answer.verdict in {whole.verdict, "undecided"}
    # A campaign that runs until a verdict does not wait for one that cannot come.
    if blocks.until == "verdict" and all(answer.withheld for answer in analysis.answers):
        assert "can have no verdict" in stop_reason(analysis, blocks)


def test_a_failure_is_told_in_words() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        failed = {
            ("other", 1): ["invalid"] * 7,
            ("base", 2): ["crashed"],
            ("third", 2): ["invalid", "timed_out"],
        }
        statuses = dict(enumerate(failed.get((subject, threads), [])))
        return {"status": statuses.get(block, "valid"), **throughput(100)}

    analysis = summarise(campaign(10, change), experiment(across={"threads": {}}))
    assert [answer.reason for answer in analysis.answers] == [
        "7 of 10 trials of other were invalid",
        "",
        "1 of 10 trials of base crashed",
        "2 of 10 trials of third were not valid (1 invalid, 1 timed out) and 1 of 10 trials of base crashed",
        "7 of 10 trials of other were invalid in the workload threads=1, and in 1 other workload",
        "2 of 10 trials of third were not valid (1 invalid, 1 timed out) and 1 of 10 trials of base crashed"
        " in the workload threads=2",
    ]
    assert only(analysis.comparisons, "third", 1).verdict == "equivalent"
    by_threads = analysis.comparisons[0].dropped
    assert by_threads == {"not valid": 7, "withheld": 3}


def test_an_interrupted_campaign_drops_the_pairs_that_did_not_run() -> None:
    trials = campaign(7, lambda *_: throughput(100))[:-1]  # the last trial is "third" with 2 threads
    comparison = only(summarise(trials, experiment()).comparisons, "third", 2)
    assert (comparison.pairs, comparison.dropped) == (6, {"not run": 1})


def test_a_campaign_without_trials_has_conditions_but_nothing_to_say() -> None:
    analysis = summarise([], experiment())
    assert len(analysis.conditions) == 6
    assert {comparison.verdict for comparison in analysis.comparisons} == {"undecided"}
    assert {(comparison.ratio, comparison.p, comparison.pairs) for comparison in analysis.comparisons} == {
        (None, None, 0)
    }


def test_only_valid_trials_reach_the_median() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        if block < 2:
            return {"status": "timed_out", "metrics": {"throughput": 1e9}}
        return throughput(float(block)) if block < 9 else {"metrics": {}}

    (condition, *_) = summarise(campaign(10, change), experiment()).conditions
    assert condition.levels == {"subject": "base", "threads": 1}
    assert condition.counts == {"timed_out": 2, "valid": 8}
    assert (condition.values, condition.missing, condition.median) == (7, 1, 5.0)
    assert condition.interval is not None
    assert (condition.interval.low, condition.interval.high) == (2.0, 8.0)


def test_an_excluded_level_or_baseline_makes_no_comparison() -> None:
    exclude = ({"subject": ("third",), "threads": (2,)}, {"subject": ("base",), "threads": (1,)})
    analysis = summarise([], experiment(exclude=exclude))
    assert [(comparison.level, comparison.context) for comparison in analysis.comparisons] == [
        ("other", {"threads": 2})
    ]


def test_a_stand_in_is_the_baseline_where_that_is_not() -> None:
    planned = experiment(exclude=({"subject": ("base",), "threads": (2,)},), stand_ins=("third",))
    trials = [
        trial for trial in campaign(10, lambda *_: throughput(100)) if trial.levels in planned.conditions()
    ]
    analysis = summarise(trials, planned)
    assert analysis.baseline == "base or third"
    assert [
        (comparison.context["threads"], comparison.level, comparison.baseline, comparison.pairs)
        for comparison in analysis.comparisons
    ] == [
        (1, "other", "base", 10),
        (1, "third", "base", 10),
        (2, "other", "third", 10),
    ]


values = st.lists(st.floats(1e-3, 1e3), min_size=7 * 6, max_size=7 * 6)


@given(values, st.floats(1e-3, 1e3), st.randoms())
def test_neither_the_unit_nor_the_order_of_trials_matters(
    values: list[float], unit: float, chance: random.Random
) -> None:
    given_values = iter(values)
    trials = campaign(7, lambda *_: throughput(next(given_values)))
    scaled_values = iter(values)
    scaled = campaign(7, lambda *_: throughput(unit * next(scaled_values)))
    chance.shuffle(scaled)
    before, after = (summarise(ended, experiment(correction="none")) for ended in (trials, scaled))
    for first, second in zip(before.comparisons, after.comparisons, strict=True):
        assert numbers(first) == pytest.approx(numbers(second), rel=1e-6)


def test_extreme_values_do_not_overflow() -> None:
    analysis = summarise(
        campaign(10, lambda _, s, __: throughput(1e300 if s == "other" else 1e-300)), experiment()
    )
    comparison = only(analysis.comparisons, "other", 1)
    assert comparison.verdict == "faster"
    assert comparison.interval is not None
    assert np.isfinite(comparison.interval.high)


@pytest.mark.filterwarnings("error")
def test_metrics_near_the_largest_double_give_numbers() -> None:
    largest = 1.7e308
    trials = campaign(8, lambda block, _subject, _threads: throughput(largest if block % 2 else 1e-308))
    analysis = summarise(trials, experiment())
    assert all(condition.median == pytest.approx(largest / 2) for condition in analysis.conditions)
    same = summarise(campaign(8, lambda *_: throughput(largest)), experiment())
    assert all(condition.median == largest for condition in same.conditions)


# Values of 0 and below


def planted(values: Mapping[str, Sequence[float]], **changed: Any) -> Comparison:
    """The comparison of `other` with `base`, with 1 thread, in blocks with these values."""
    blocks = len(values["other"])
    trials = campaign(
        blocks, lambda block, subject, _: throughput(values.get(subject, values["base"])[block])
    )
    return only(
        summarise(trials, experiment(blocks=Design(blocks=blocks), **changed)).comparisons, "other", 1
    )


STARVED = [0.0] * 8 + [113.3] * 12
"""A side that starved in 8 of 20 trials; its mean is 68, and 113 where it did not."""


def test_a_side_that_starves_in_some_trials_is_not_better() -> None:
    base = [103.0 + block % 3 - 1 for block in range(20)]
    comparison = planted({"base": base, "other": STARVED})
    assert comparison.ratio is not None
    assert comparison.ratio == pytest.approx(sum(STARVED) / sum(base))
    assert (comparison.pairs, comparison.dropped, comparison.zeros) == (20, {}, (8, 0))
    assert comparison.verdict != "faster"
    assert comparison.interval is not None
    assert comparison.interval.low < comparison.ratio < comparison.interval.high
    worse = planted({"base": base, "other": [0.0] * 15 + [104.0] * 5})
    assert (worse.verdict, worse.zeros) == ("slower", (15, 0))


def test_a_baseline_that_is_always_0_is_compared_by_difference() -> None:
    comparison = planted({"base": [0.0] * 20, "other": [0.0, 0.0, *(5.0 + block for block in range(18))]})
    assert (comparison.ratio, comparison.verdict, comparison.zeros) == (None, "faster", (2, 20))
    assert comparison.difference == pytest.approx(sum(5 + block for block in range(18)) / 20)
    nothing = planted({"base": [0.0] * 20, "other": [0.0] * 20})
    assert (nothing.ratio, nothing.difference, nothing.verdict) == (None, 0, "undecided")
    assert "holds 0" in nothing.reason


def test_what_is_below_0_is_compared_by_difference() -> None:
    base = [-10.0 - block % 3 for block in range(12)]
    comparison = planted({"base": base, "other": [value + 4 + block % 2 for block, value in enumerate(base)]})
    assert (comparison.ratio, comparison.verdict) == (None, "faster")
    assert comparison.difference == pytest.approx(4.5)
    assert comparison.interval is not None
    assert 4 <= comparison.interval.low <= 4.5 <= comparison.interval.high <= 5


def test_a_smallest_effect_in_units_says_what_is_none() -> None:
    base = [1.0 + block % 2 for block in range(12)]
    near = {"base": base, "other": [value + 0.4 for value in base]}
    assert planted(near).verdict == "faster"
    assert planted(near, smallest_effect=1.0).verdict == "equivalent"
    far = planted({"base": base, "other": [value + 1.4 for value in base]}, smallest_effect=1.0)
    assert (far.verdict, far.ratio) == ("faster", None)
    assert far.difference == pytest.approx(1.4)


def test_zeros_count_over_workloads_too() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        starved = subject == "other" and threads == 2 and block < 15
        return throughput(0.0 if starved else (1.0 if threads == 2 else 1000.0) + block / 100)

    [other, third] = summarise(
        campaign(20, change), experiment(blocks=Design(blocks=20), across={"threads": {}})
    ).aggregates
    assert (other.verdict, other.zeros, other.dropped) == ("slower", (15, 0), {})
    assert other.ratio is not None
    assert 0.55 < other.ratio < 0.75  # 1 of 4 trials of one of two workloads is left, and all of the other
    assert (third.ratio, third.verdict) == (1, "equivalent")


# Families


def drawn(rng: random.Random, effects: dict[tuple[str, int], float], scatter: float = 0.01) -> Any:
    """Throughput with log-normal scatter, moved by an amount for each (subject, threads)."""
    return lambda _, subject, threads: throughput(
        math.exp(effects.get((subject, threads), 0) + rng.gauss(0, scatter))
    )


def corrected(family: Sequence[Estimate]) -> list[float]:
    return [min(1, len(family) * (estimate.p or 0)) for estimate in family]


def test_p_values_are_corrected_for_all_comparisons_of_the_metric() -> None:
    trials = campaign(10, drawn(random.Random(2), {("other", 1): 0.03, ("third", 2): 0.1}))
    comparisons = summarise(trials, experiment()).comparisons
    assert [comparison.p_adjusted for comparison in comparisons] == corrected(comparisons)
    alone = summarise(trials, experiment(correction="none")).comparisons
    assert [comparison.p_adjusted for comparison in alone] == [comparison.p for comparison in comparisons]


def test_what_is_shown_of_a_comparison_alone_may_be_undecided_among_many() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        planted = (subject, threads) == ("other", 1)
        return throughput((0.98 if block == 3 else 1.1 + block / 1000) if planted else 1)

    trials = campaign(8, change)  # two of 2**8 flips are as far above: p is 4 / 2**8, and times 4 above 5%
    comparison = only(summarise(trials, experiment(blocks=Design(blocks=8))).comparisons, "other", 1)
    assert comparison.p == pytest.approx(4 / 2**8)
    assert comparison.p_adjusted == pytest.approx(16 / 2**8)
    assert comparison.interval is not None
    assert comparison.interval.low < 1
    assert comparison.verdict == "undecided"
    assert "the interval holds 1" in comparison.reason
    uncorrected = experiment(correction="none", blocks=Design(blocks=8))
    alone = only(summarise(trials, uncorrected).comparisons, "other", 1)
    assert (alone.verdict, alone.reason) == ("faster", "")
    assert alone.interval is not None
    assert alone.interval.low > 1


def test_too_few_pairs_for_the_number_of_comparisons_are_said_to_be_so() -> None:
    trials = campaign(7, lambda _, s, __: throughput(9 if s == "other" else 1))
    comparison = only(summarise(trials, experiment(blocks=Design(blocks=7))).comparisons, "other", 1)
    assert all(words in comparison.reason for words in ("7 pairs", "among 4 comparisons", "takes 8"))
    trials = campaign(8, lambda _, s, __: throughput(9 if s == "other" else 1))
    assert (
        only(summarise(trials, experiment(blocks=Design(blocks=8))).comparisons, "other", 1).verdict
        == "faster"
    )


def test_equivalence_is_corrected_too() -> None:
    trials = campaign(7, lambda *_: throughput(1))
    comparison = only(summarise(trials, experiment(blocks=Design(blocks=7))).comparisons, "other", 1)
    assert comparison.verdict == "undecided"
    assert "too few for an interval among 4" in comparison.reason
    uncorrected = experiment(correction="none", blocks=Design(blocks=7))
    assert only(summarise(trials, uncorrected).comparisons, "other", 1).verdict == "equivalent"


@given(st.integers(0, 10_000), st.sampled_from([{}, {"threads": {}}]))
def test_where_no_group_is_left_out_all_groups_say_the_same(seed: int, across: dict[str, Any]) -> None:
    trials = campaign(10, drawn(random.Random(seed), {("other", 1): 0.1}, scatter=0.1))
    for comparison in summarise(trials, experiment(across=across)).comparisons:
        assert comparison.all_groups == Estimate(
            comparison.ratio,
            comparison.interval,
            comparison.p,
            comparison.verdict,
            comparison.pairs,
            comparison.p_adjusted,
            comparison.reason,
        )


def test_the_aggregates_are_of_the_family_of_the_main_metric() -> None:
    trials = campaign(8, lambda _, s, __: throughput(9 if s == "other" else 1))
    analysis = summarise(trials, experiment(across={"threads": {}}, blocks=Design(blocks=8)))
    family = analysis.answers
    assert [comparison.p_adjusted for comparison in family] == corrected(family)
    assert {comparison.p_adjusted for comparison in family} == {6 * 2 / 2**8, 1.0}
    few = summarise(trials[: 7 * 6], experiment(across={"threads": {}}, blocks=Design(blocks=7)))
    assert "7 pairs are too few for an interval among 6 comparisons" in few.comparisons[0].reason


def test_a_look_is_left_out_that_could_decide_nothing_among_comparisons_and_aggregates() -> None:
    until = Design(blocks=30, until="verdict", at_least=10)
    trials = campaign(10, lambda *_: throughput(1))
    look = summarise(trials, experiment(blocks=until)).look
    assert look is not None
    assert look.blocks == 10
    assert summarise(trials, experiment(blocks=until, across={"threads": {}})).look is None


def test_further_metrics_are_not_corrected_for_the_aggregates() -> None:
    trials = campaign(8, lambda _, s, __: throughput(9 if s == "other" else 1))
    planned = experiment(across={"threads": {}}, also={"throughput": "higher"}, blocks=Design(blocks=8))
    assert {comparison.p_adjusted for comparison in summarise(trials, planned).also} == {4 * 2 / 2**8, 1.0}


def test_further_metrics_are_a_family_of_their_own_with_their_own_direction() -> None:
    def change(_block: int, subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": {"throughput": 1.0, "p99": 2.0 if subject == "other" else 1.0, "bytes": 1.0}}

    analysis = summarise(campaign(12, change), experiment(also={"p99": "lower", "bytes": "lower"}))
    assert {comparison.metric for comparison in analysis.comparisons} == {"throughput"}
    assert [comparison.metric for comparison in analysis.also] == ["p99"] * 4 + ["bytes"] * 4
    slower = only([comparison for comparison in analysis.also if comparison.metric == "p99"], "other", 1)
    assert slower.verdict == "slower"
    assert slower.p is not None
    assert slower.p_adjusted == pytest.approx(8 * slower.p)


def test_along_a_ladder_each_level_is_compared_with_the_one_before_it_in_a_family_of_its_own() -> None:
    speeds = dict(zip(SUBJECTS, (1.0, 4.0, 2.0), strict=True))

    def change(_block: int, subject: str, _threads: int) -> dict[str, Any]:
        return throughput(speeds[subject])

    _, other, third = SUBJECTS
    asked = experiment(ladders=((other, third),), exclude=({"subject": (third,), "threads": (2,)},))
    trials = [trial for trial in campaign(12, change) if trial.levels in asked.conditions()]
    analysis = summarise(trials, asked)
    assert len(analysis.comparisons) == 3
    [rung] = analysis.rungs  # with one thread alone are both there
    assert (rung.level, rung.baseline, dict(rung.context)) == (third, other, {"threads": 1})
    assert rung.ratio == pytest.approx(0.5)
    assert rung.verdict == "slower"
    assert rung.p_adjusted == rung.p


# Modes of the host


def calibrated(before: float, after: float, value: float) -> dict[str, Any]:
    return {
        "calibration_before": {"core_to_core_ns": before},
        "calibration_after": {"core_to_core_ns": after},
        **throughput(value),
    }


def on_a_host_with_modes(block: int, subject: str, threads: int) -> dict[str, Any]:
    """The host is slow in every third block, and in block 5 it changes before the first two threads run."""
    slow = block % 3 == 0
    if block == 5 and threads == 2:
        return calibrated(50, 50, 100) if subject == "base" else calibrated(120, 120, 50)
    return calibrated(120, 120, 50) if slow else calibrated(50, 50, 100)


def test_groups_in_which_the_host_changed_do_not_count_in_the_verdict_but_are_shown() -> None:
    analysis = summarise(campaign(12, on_a_host_with_modes), experiment(blocks=Design(blocks=12)))
    assert analysis.host_modes is not None
    two = only(analysis.comparisons, "other", 2)
    assert (two.pairs, two.dropped, two.ratio) == (11, {"host changed": 1}, 1)
    assert two.verdict == "equivalent"
    assert two.all_groups.pairs == 12
    assert two.all_groups.ratio == pytest.approx(0.5 ** (1 / 12))
    assert {mode: estimate.pairs for mode, estimate in two.modes.items()} == {"fast": 7, "slow": 4}
    comparison = only(analysis.comparisons, "other", 1)
    assert (comparison.pairs, comparison.dropped) == (12, {})


def test_the_verdicts_in_a_mode_are_corrected_too() -> None:
    trials = campaign(12, on_a_host_with_modes)
    corrected = summarise(trials, experiment(blocks=Design(blocks=12)))
    alone = summarise(trials, experiment(blocks=Design(blocks=12), correction="none"))
    fast = [only(analysis.comparisons, "other", 2).modes["fast"] for analysis in (corrected, alone)]
    assert [(comparison.pairs, comparison.verdict) for comparison in fast] == [
        (7, "undecided"),
        (7, "equivalent"),
    ]


def test_the_repetition_of_a_group_takes_its_place_within_the_same_block() -> None:
    trials = campaign(12, on_a_host_with_modes)
    repeats = next(trial.group for trial in trials if (trial.block, trial.levels["threads"]) == (5, 2))
    for subject in SUBJECTS:
        levels: dict[str, Level] = {"subject": subject, "threads": 2}
        repeated = trial(len(trials), 5, 1000, levels, **calibrated(50, 50, 100))
        trials.append(dataclasses.replace(repeated, repeats=repeats))
    two = only(summarise(trials, experiment(blocks=Design(blocks=12))).comparisons, "other", 2)
    assert (two.pairs, two.dropped) == (12, {"host changed": 1})
    assert two.all_groups.pairs == 13


def test_a_host_with_one_mode_excludes_nothing() -> None:
    analysis = summarise(campaign(10, lambda *_: calibrated(50, 51, 1)), experiment())
    assert {(comparison.pairs, *comparison.modes) for comparison in analysis.comparisons} == {(10,)}


# Looks


def test_a_fixed_number_of_blocks_is_decided_when_all_have_ended_however_they_ended() -> None:
    def change(_block: int, subject: str, threads: int) -> dict[str, Any]:
        crash = (subject, threads) == ("third", 2)
        return {"status": "crashed", "metrics": {}} if crash else throughput(9 if subject == "other" else 1)

    trials = campaign(10, change)
    asked = experiment(across={"threads": {}}, accept_invalid=True)
    whole = summarise(trials, asked)
    assert (whole.look, whole.waits) == (Look(1, 1, 10, 0.95), "")
    assert only(whole.comparisons, "other", 1).verdict == "faster"
    interrupted = summarise(trials[:-1], asked)
    assert interrupted.look is None
    assert interrupted.waits.startswith("9 of 10 blocks")
    family = interrupted.answers
    for comparison in family:
        assert (comparison.verdict, comparison.p_adjusted, comparison.reason) == (
            "undecided",
            None,
            interrupted.waits,
        )
    assert {comparison.all_groups.verdict for comparison in interrupted.comparisons} == {"undecided"}
    assert only(interrupted.comparisons, "other", 1).ratio == pytest.approx(9)
    assert only(interrupted.comparisons, "other", 1).interval is not None


def test_before_the_first_look_nothing_is_decided_but_the_estimates_are_there() -> None:
    until = experiment(blocks=Design(blocks=60, until="verdict"))
    trials = campaign(11, lambda _, s, __: throughput(9 if s == "other" else 1))
    analysis = summarise(trials, until)
    assert analysis.look is None
    assert {(comparison.verdict, comparison.p_adjusted) for comparison in analysis.comparisons} == {
        ("undecided", None)
    }
    assert only(analysis.comparisons, "other", 1).ratio == pytest.approx(9)
    assert "first planned look" in analysis.comparisons[0].reason


def test_only_blocks_that_the_look_covers_count() -> None:
    until = experiment(blocks=Design(blocks=60, until="verdict"))
    trials = campaign(20, lambda block, s, _: throughput(9 if s == "other" and block < 18 else 1))
    analysis = summarise(trials, until)
    assert analysis.look is not None
    assert analysis.look.blocks == 18
    other = only(analysis.comparisons, "other", 1)
    assert (other.pairs, other.verdict) == (18, "faster")
    assert other.ratio == pytest.approx(9)
    assert other.interval is not None
    assert other.interval.confidence >= analysis.look.confidence > 0.95
    assert other.p is not None
    assert other.p_adjusted == pytest.approx(4 * other.p * 0.05 / (1 - analysis.look.confidence))


def test_what_ran_after_a_look_does_not_change_what_it_says_of_modes() -> None:
    """The host's second mode shows itself only after the look at 12 blocks."""
    until = experiment(blocks=Design(blocks=60, until="verdict"), correction="none")

    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        if block >= 12:
            return calibrated(200, 200, 1)
        return calibrated(50, 52 if block % 2 or subject == "base" else 90, 1 + block / 100)

    trials = campaign(17, change)
    at_the_look = summarise([trial for trial in trials if trial.block < 12], until)
    assert at_the_look.look is not None
    assert at_the_look.look.blocks == 12
    later = summarise(trials, until)
    assert (later.host_modes, later.comparisons) == (at_the_look.host_modes, at_the_look.comparisons)


def test_a_time_budget_counts_the_blocks_that_were_completed() -> None:
    budget = experiment(blocks=Design(blocks=1000, minutes=10))
    analysis = summarise(campaign(9, lambda *_: throughput(1))[:-1], budget)
    assert analysis.look == Look(1, 1, 8, 0.95)
    assert {comparison.pairs for comparison in analysis.comparisons} == {8}


# Aggregates


def test_an_aggregate_weighs_workloads_equally_and_names_those_that_go_the_other_way() -> None:
    effects = {("other", 1): 0.3, ("other", 2): -0.1}
    analysis = summarise(campaign(10, drawn(random.Random(3), effects)), experiment(across={"threads": {}}))
    other, third = analysis.aggregates
    assert (other.level, other.context, other.weights, other.pairs) == ("other", {}, (0.5, 0.5), 10)
    with_one, with_two = (only(analysis.comparisons, "other", threads) for threads in THREADS)
    assert other.ratio == pytest.approx(math.sqrt((with_one.ratio or 0) * (with_two.ratio or 0)))
    assert other.verdict == "faster"
    assert other.against == (({"threads": 2}, "slower"),)
    assert third.verdict == "equivalent"
    family = analysis.answers
    assert [comparison.p_adjusted for comparison in family] == corrected(family)


def test_an_aggregate_weighs_workloads_as_it_is_told() -> None:
    """With nine tenths of the weight, the workload that is slower decides what is said of both."""
    effects = {("other", 1): 0.3, ("other", 2): -0.1}
    planned = experiment(across={"threads": {"1": 1, "2": 9}})
    analysis = summarise(campaign(10, drawn(random.Random(3), effects)), planned)
    other, _ = analysis.aggregates
    with_one, with_two = (only(analysis.comparisons, "other", threads) for threads in THREADS)
    assert other.weights == (0.1, 0.9)
    assert other.ratio == pytest.approx((with_one.ratio or 0) ** 0.1 * (with_two.ratio or 0) ** 0.9)
    assert other.verdict == "slower"
    assert other.against == (({"threads": 1}, "faster"),)


def test_a_block_counts_in_an_aggregate_only_where_every_workload_has_a_pair() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        crash = (block, subject, threads) in {(3, "other", 1), (4, "base", 2), (4, "other", 1)}
        return {"status": "crashed", "metrics": {}} if crash else throughput(1)

    asked = experiment(across={"threads": {}}, accept_invalid=True)
    other, third = summarise(campaign(10, change), asked).aggregates
    assert (other.pairs, other.dropped) == (8, {"not valid": 2})
    assert (third.pairs, third.dropped) == (9, {"not valid": 1})


def test_a_repeated_workload_weighs_no_more_than_the_others() -> None:
    trials = campaign(10, lambda _, s, t: throughput(4 if (s, t) == ("other", 1) else 1))
    for subject in SUBJECTS:
        levels: dict[str, Level] = {"subject": subject, "threads": 1}
        trials.append(trial(len(trials), 5, 1000, levels, **throughput(4 if subject == "other" else 1)))
    other, _ = summarise(trials, experiment(across={"threads": {}})).aggregates
    assert other.pairs == 10
    assert other.ratio == pytest.approx(2)


def test_without_workloads_there_is_no_aggregate() -> None:
    assert summarise(campaign(8, lambda *_: throughput(1)), experiment()).aggregates == ()
