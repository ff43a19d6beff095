import dataclasses
import math
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import (
    Comparison,
    Estimate,
    Interval,
    Look,
    averaged_distribution,
    holm,
    summarise,
    verdict,
)
from assay.experiment.types import Blocks, ComparisonDesign, Design, Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

SUBJECTS = ("base", "other", "third")
THREADS = (1, 2)
TEN = Blocks(most=10)


def experiment(
    better: str = "higher",
    exclude: tuple[Any, ...] = (),
    blocks: Blocks = TEN,
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
        design=Design(blocks=blocks, seed=1, exclude=exclude),
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
    (found,) = [one for one in comparisons if one.level == level and one.context == {"threads": threads}]
    return found


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

    analysis = summarise(campaign(8, change), experiment(blocks=Blocks(most=8)))
    assert len(analysis.comparisons) == 4
    found = only(analysis.comparisons, "other", 2)
    assert found.verdict == "faster"
    assert found.ratio == pytest.approx(2, rel=0.01)
    assert found.pairs == 8
    assert only(analysis.comparisons, "other", 1).verdict == "equivalent"
    assert only(analysis.comparisons, "third", 2).verdict == "equivalent"


def test_five_blocks_are_undecided_and_say_why() -> None:
    trials = campaign(5, lambda _, s, __: throughput(9 if s == "other" else 1))
    analysis = summarise(trials, experiment(blocks=Blocks(most=5)))
    found = only(analysis.comparisons, "other", 1)
    assert (found.verdict, found.interval) == ("undecided", None)
    assert found.ratio == pytest.approx(9)
    assert "5 pairs are too few" in found.reason


@pytest.mark.parametrize(
    ("other", "said"), [(throughput(9), "1 pair is too few"), ({"metrics": {}}, "no pairs are too few")]
)
def test_one_pair_and_none_are_named_in_words(other: dict[str, Any], said: str) -> None:
    trials = campaign(1, lambda _, s, __: other if s == "other" else throughput(1))
    found = only(summarise(trials, experiment(blocks=Blocks(most=1))).comparisons, "other", 1)
    assert said in found.reason


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        ({"status": "invalid", "metrics": {"throughput": 1e9}}, "not valid"),
        ({"status": "crashed", "metrics": {}}, "not valid"),
        ({"metrics": {}}, "metric missing"),
        ({"metrics": {"throughput": 0.0}}, "not above zero"),
        ({"metrics": {"throughput": -1.0}}, "not above zero"),
        ({"metrics": {"throughput": float("inf")}}, "not above zero"),
    ],
)
@pytest.mark.parametrize("spoils", ["base", "other"])
def test_a_pair_counts_only_where_both_trials_do(spoils: str, spoiled: dict[str, Any], reason: str) -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        return spoiled if (block, subject, threads) == (3, spoils, 1) else throughput(100)

    analysis = summarise(campaign(8, change), experiment())
    found = only(analysis.comparisons, "other", 1)
    assert (found.pairs, found.dropped) == (7, {reason: 1})
    assert found.ratio == 1
    assert only(analysis.comparisons, "other", 2).pairs == 8
    assert only(analysis.comparisons, "third", 1).pairs == (7 if spoils == "base" else 8)


def test_an_interrupted_campaign_drops_the_pairs_that_did_not_run() -> None:
    trials = campaign(7, lambda *_: throughput(100))[:-1]  # the last trial is "third" with 2 threads
    found = only(summarise(trials, experiment()).comparisons, "third", 2)
    assert (found.pairs, found.dropped) == (6, {"not run": 1})


def test_a_campaign_without_trials_has_conditions_but_nothing_to_say() -> None:
    analysis = summarise([], experiment())
    assert len(analysis.conditions) == 6
    assert {one.verdict for one in analysis.comparisons} == {"undecided"}
    assert {(one.ratio, one.p, one.pairs) for one in analysis.comparisons} == {(None, None, 0)}


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
    assert [(one.level, one.context) for one in analysis.comparisons] == [("other", {"threads": 2})]


def test_a_stand_in_is_the_baseline_where_that_is_not() -> None:
    asked = experiment(exclude=({"subject": ("base",), "threads": (2,)},), stand_ins=("third",))
    trials = [one for one in campaign(10, lambda *_: throughput(100)) if one.levels in asked.conditions()]
    analysis = summarise(trials, asked)
    assert analysis.baseline == "base or third"
    assert [(one.context["threads"], one.level, one.baseline, one.pairs) for one in analysis.comparisons] == [
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
    before, after = summarise(trials, experiment()), summarise(scaled, experiment())
    for one, other in zip(before.comparisons, after.comparisons, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), rel=1e-6)


def test_extreme_values_do_not_overflow() -> None:
    analysis = summarise(
        campaign(10, lambda _, s, __: throughput(1e300 if s == "other" else 1e-300)), experiment()
    )
    found = only(analysis.comparisons, "other", 1)
    assert found.verdict == "faster"
    assert found.interval is not None
    assert np.isfinite(found.interval.high)


@pytest.mark.filterwarnings("error")
def test_metrics_near_the_largest_double_give_numbers() -> None:
    largest = 1.7e308
    trials = campaign(8, lambda block, _subject, _threads: throughput(largest if block % 2 else 1e-308))
    analysis = summarise(trials, experiment())
    assert all(each.median == pytest.approx(largest / 2) for each in analysis.conditions)
    same = summarise(campaign(8, lambda *_: throughput(largest)), experiment())
    assert all(each.median == largest for each in same.conditions)


# Families


def drawn(rng: random.Random, effects: dict[tuple[str, int], float], scatter: float = 0.01) -> Any:
    """Throughput with log-normal scatter, moved by so much for each (subject, threads)."""
    return lambda _, subject, threads: throughput(
        math.exp(effects.get((subject, threads), 0) + rng.gauss(0, scatter))
    )


def test_p_values_are_corrected_for_all_comparisons_of_the_metric() -> None:
    trials = campaign(10, drawn(random.Random(2), {("other", 1): 0.03, ("third", 2): 0.1}))
    found = summarise(trials, experiment()).comparisons
    assert [one.p_adjusted for one in found] == holm([one.p or 0 for one in found])
    alone = summarise(trials, experiment(correction="none")).comparisons
    assert [one.p_adjusted for one in alone] == [one.p for one in found]


def test_what_the_interval_says_alone_may_be_chance_among_many_and_the_reason_says_so() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        planted = (subject, threads) == ("other", 1)
        return throughput((0.98 if block == 3 else 1.1 + block / 1000) if planted else 1)

    trials = campaign(
        8, change
    )  # two of 2**8 flips are as far above: p is 2 * 2 / 2**8, and times 4 above 5%
    found = only(summarise(trials, experiment(blocks=Blocks(most=8))).comparisons, "other", 1)
    assert found.p == pytest.approx(4 / 2**8)
    assert found.p_adjusted == pytest.approx(16 / 2**8)
    assert found.interval is not None
    assert found.interval.low > 1
    assert found.verdict == "undecided"
    assert found.reason == "the interval excludes 1, but among 4 comparisons chance alone does that"
    uncorrected = experiment(correction="none", blocks=Blocks(most=8))
    alone = only(summarise(trials, uncorrected).comparisons, "other", 1)
    assert (alone.verdict, alone.reason) == ("faster", "")


def test_too_few_pairs_for_the_number_of_comparisons_are_said_to_be_so() -> None:
    trials = campaign(7, lambda _, s, __: throughput(9 if s == "other" else 1))
    found = only(summarise(trials, experiment(blocks=Blocks(most=7))).comparisons, "other", 1)
    assert found.reason == "7 pairs are too few for a verdict among 4 comparisons: it takes 8"
    trials = campaign(8, lambda _, s, __: throughput(9 if s == "other" else 1))
    assert (
        only(summarise(trials, experiment(blocks=Blocks(most=8))).comparisons, "other", 1).verdict == "faster"
    )


def test_equivalence_is_corrected_too() -> None:
    trials = campaign(7, lambda *_: throughput(1))
    found = only(summarise(trials, experiment(blocks=Blocks(most=7))).comparisons, "other", 1)
    assert found.verdict == "undecided"
    assert "too few for a verdict among 4" in found.reason
    uncorrected = experiment(correction="none", blocks=Blocks(most=7))
    assert only(summarise(trials, uncorrected).comparisons, "other", 1).verdict == "equivalent"


@given(st.integers(0, 10_000), st.sampled_from([{}, {"threads": {}}]))
def test_where_no_group_is_left_out_all_groups_say_the_same(seed: int, across: dict[str, Any]) -> None:
    trials = campaign(10, drawn(random.Random(seed), {("other", 1): 0.1}, scatter=0.1))
    for one in summarise(trials, experiment(across=across)).comparisons:
        assert one.all_groups == Estimate(
            one.ratio, one.interval, one.p, one.verdict, one.pairs, one.p_adjusted, one.reason
        )


def test_the_aggregates_are_of_the_family_of_the_main_metric() -> None:
    trials = campaign(8, lambda _, s, __: throughput(9 if s == "other" else 1))
    found = summarise(trials, experiment(across={"threads": {}}, blocks=Blocks(most=8)))
    family = found.answers
    assert [one.p_adjusted for one in family] == holm([one.p or 0 for one in family])
    assert {one.p_adjusted for one in family} == {6 * 2 / 2**8, 1.0}
    few = summarise(trials[: 7 * 6], experiment(across={"threads": {}}, blocks=Blocks(most=7)))
    assert "7 pairs are too few for a verdict among 6 comparisons" in few.comparisons[0].reason


def test_a_look_is_left_out_that_could_decide_nothing_among_comparisons_and_aggregates() -> None:
    until = Blocks(most=30, until="verdict", fewest=10)
    trials = campaign(10, lambda *_: throughput(1))
    look = summarise(trials, experiment(blocks=until)).look
    assert look is not None
    assert look.blocks == 10
    assert summarise(trials, experiment(blocks=until, across={"threads": {}})).look is None


def test_further_metrics_are_not_corrected_for_the_aggregates() -> None:
    trials = campaign(8, lambda _, s, __: throughput(9 if s == "other" else 1))
    asked = experiment(across={"threads": {}}, also={"throughput": "higher"}, blocks=Blocks(most=8))
    assert {one.p_adjusted for one in summarise(trials, asked).also} == {4 * 2 / 2**8, 1.0}


def test_further_metrics_are_a_family_of_their_own_with_their_own_direction() -> None:
    def change(_block: int, subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": {"throughput": 1.0, "p99": 2.0 if subject == "other" else 1.0, "bytes": 1.0}}

    found = summarise(campaign(12, change), experiment(also={"p99": "lower", "bytes": "lower"}))
    assert {one.metric for one in found.comparisons} == {"throughput"}
    assert [one.metric for one in found.also] == ["p99"] * 4 + ["bytes"] * 4
    slower = only([one for one in found.also if one.metric == "p99"], "other", 1)
    assert slower.verdict == "slower"
    assert slower.p is not None
    assert slower.p_adjusted == pytest.approx(8 * slower.p)


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
    found = summarise(campaign(12, on_a_host_with_modes), experiment(blocks=Blocks(most=12)))
    assert found.host_modes is not None
    two = only(found.comparisons, "other", 2)
    assert (two.pairs, two.dropped, two.ratio) == (11, {"host changed": 1}, 1)
    assert two.verdict == "equivalent"
    assert two.all_groups.pairs == 12
    assert two.all_groups.ratio == pytest.approx(0.5 ** (1 / 12))
    assert {mode: estimate.pairs for mode, estimate in two.modes.items()} == {"fast": 7, "slow": 4}
    one = only(found.comparisons, "other", 1)
    assert (one.pairs, one.dropped) == (12, {})


def test_the_verdicts_in_a_mode_are_corrected_too() -> None:
    trials = campaign(11, on_a_host_with_modes)
    corrected = summarise(trials, experiment(blocks=Blocks(most=11)))
    alone = summarise(trials, experiment(blocks=Blocks(most=11), correction="none"))
    fast = [only(found.comparisons, "other", 1).modes["fast"] for found in (corrected, alone)]
    assert [(one.pairs, one.verdict) for one in fast] == [(7, "undecided"), (7, "equivalent")]


def test_the_repetition_of_a_group_takes_its_place_within_the_same_block() -> None:
    trials = campaign(12, on_a_host_with_modes)
    repeats = next(one.group for one in trials if (one.block, one.levels["threads"]) == (5, 2))
    for subject in SUBJECTS:
        levels: dict[str, Level] = {"subject": subject, "threads": 2}
        repeated = trial(len(trials), 5, 1000, levels, **calibrated(50, 50, 100))
        trials.append(dataclasses.replace(repeated, repeats=repeats))
    two = only(summarise(trials, experiment(blocks=Blocks(most=12))).comparisons, "other", 2)
    assert (two.pairs, two.dropped) == (12, {"host changed": 1})
    assert two.all_groups.pairs == 13


def test_a_host_with_one_mode_excludes_nothing() -> None:
    found = summarise(campaign(10, lambda *_: calibrated(50, 51, 1)), experiment())
    assert {(one.pairs, *one.modes) for one in found.comparisons} == {(10,)}


# Looks


def test_a_fixed_number_of_blocks_is_decided_when_all_have_ended_however_they_ended() -> None:
    def change(_block: int, subject: str, threads: int) -> dict[str, Any]:
        crash = (subject, threads) == ("third", 2)
        return {"status": "crashed", "metrics": {}} if crash else throughput(9 if subject == "other" else 1)

    trials = campaign(10, change)
    whole = summarise(trials, experiment(across={"threads": {}}))
    assert (whole.look, whole.waits) == (Look(1, 1, 10, 0.95), "")
    assert only(whole.comparisons, "other", 1).verdict == "faster"
    interrupted = summarise(trials[:-1], experiment(across={"threads": {}}))
    assert interrupted.look is None
    assert interrupted.waits == "9 of 10 blocks have ended, and verdicts rest on all of them"
    family = interrupted.answers
    for one in family:
        assert (one.verdict, one.p_adjusted, one.reason) == ("undecided", None, interrupted.waits)
    assert {one.all_groups.verdict for one in interrupted.comparisons} == {"undecided"}
    assert only(interrupted.comparisons, "other", 1).ratio == pytest.approx(9)
    assert only(interrupted.comparisons, "other", 1).interval is not None


def test_before_the_first_look_nothing_is_decided_but_the_estimates_are_there() -> None:
    until = experiment(blocks=Blocks(most=60, until="verdict"))
    trials = campaign(11, lambda _, s, __: throughput(9 if s == "other" else 1))
    found = summarise(trials, until)
    assert found.look is None
    assert {(one.verdict, one.p_adjusted) for one in found.comparisons} == {("undecided", None)}
    assert only(found.comparisons, "other", 1).ratio == pytest.approx(9)
    assert "first planned look" in found.comparisons[0].reason


def test_only_blocks_that_the_look_covers_count() -> None:
    until = experiment(blocks=Blocks(most=60, until="verdict"))
    trials = campaign(20, lambda block, s, _: throughput(9 if s == "other" and block < 18 else 1))
    found = summarise(trials, until)
    assert found.look is not None
    assert found.look.blocks == 18
    other = only(found.comparisons, "other", 1)
    assert (other.pairs, other.verdict) == (18, "faster")
    assert other.ratio == pytest.approx(9)
    assert other.interval is not None
    assert other.interval.confidence >= found.look.confidence > 0.95
    assert other.p is not None
    assert other.p_adjusted == pytest.approx(4 * other.p * 0.05 / (1 - found.look.confidence))


def test_what_ran_after_a_look_does_not_change_what_it_says_of_modes() -> None:
    """The host's second mode shows itself only after the look at 12 blocks."""
    until = experiment(blocks=Blocks(most=60, until="verdict"), correction="none")

    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        if block >= 12:
            return calibrated(200, 200, 1)
        return calibrated(50, 52 if block % 2 or subject == "base" else 90, 1 + block / 100)

    trials = campaign(17, change)
    at_the_look = summarise([one for one in trials if one.block < 12], until)
    assert at_the_look.look is not None
    assert at_the_look.look.blocks == 12
    later = summarise(trials, until)
    assert (later.host_modes, later.comparisons) == (at_the_look.host_modes, at_the_look.comparisons)


def test_a_time_budget_counts_the_blocks_that_were_completed() -> None:
    budget = experiment(blocks=Blocks(most=1000, minutes=10))
    found = summarise(campaign(9, lambda *_: throughput(1))[:-1], budget)
    assert found.look == Look(1, 1, 8, 0.95)
    assert {one.pairs for one in found.comparisons} == {8}


# Aggregates


def test_an_aggregate_weighs_workloads_equally_and_names_those_that_go_the_other_way() -> None:
    effects = {("other", 1): 0.3, ("other", 2): -0.1}
    found = summarise(campaign(10, drawn(random.Random(3), effects)), experiment(across={"threads": {}}))
    other, third = found.aggregates
    assert (other.level, other.context, other.weights, other.pairs) == ("other", {}, (0.5, 0.5), 10)
    one, two = (only(found.comparisons, "other", threads) for threads in THREADS)
    assert other.ratio == pytest.approx(math.sqrt((one.ratio or 0) * (two.ratio or 0)))
    assert other.verdict == "faster"
    assert other.against == (({"threads": 2}, "slower"),)
    assert third.verdict == "equivalent"
    family = found.answers
    assert [each.p_adjusted for each in family] == holm([each.p or 0 for each in family])


def test_an_aggregate_weighs_workloads_as_it_is_told() -> None:
    """With nine tenths of the weight, the workload that is slower decides what is said of both."""
    effects = {("other", 1): 0.3, ("other", 2): -0.1}
    asked = experiment(across={"threads": {"1": 1, "2": 9}})
    found = summarise(campaign(10, drawn(random.Random(3), effects)), asked)
    other, _ = found.aggregates
    one, two = (only(found.comparisons, "other", threads) for threads in THREADS)
    assert other.weights == (0.1, 0.9)
    assert other.ratio == pytest.approx((one.ratio or 0) ** 0.1 * (two.ratio or 0) ** 0.9)
    assert other.verdict == "slower"
    assert other.against == (({"threads": 1}, "faster"),)


def test_a_block_counts_in_an_aggregate_only_where_every_workload_has_a_pair() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        crash = (block, subject, threads) in {(3, "other", 1), (4, "base", 2), (4, "other", 1)}
        return {"status": "crashed", "metrics": {}} if crash else throughput(1)

    other, third = summarise(campaign(10, change), experiment(across={"threads": {}})).aggregates
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


def test_the_averaged_distribution_gives_each_workload_the_same_weight() -> None:
    trials = [
        one
        for one in campaign(
            8, lambda block, s, t: throughput({1: 2.0, 2: 3.0 + block}[t] if s == "other" else 1)
        )
        if one.block < 4 or one.levels["threads"] == 2
    ]
    asked = experiment(across={"threads": {}})
    analysis = summarise(trials, asked)
    other, third = analysis.aggregates
    points = averaged_distribution(trials, asked, analysis, other)
    assert [ratio for ratio, _ in points] == pytest.approx([2, *range(3, 11)])
    assert [share for _, share in points] == pytest.approx([0.5, *(0.5 + 0.5 * n / 8 for n in range(1, 9))])
    assert averaged_distribution(trials, asked, analysis, third) == [(1, 1)]
