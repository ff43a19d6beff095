import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis import summarise
from assay.errors import AssayError
from assay.experiment import parse
from assay.experiment.testing import WITH_FACTORS
from assay.experiment.types import Experiment
from assay.plan.make_plan import make_plan
from assay.plan.types import Level
from assay.store.types import StoredTrial
from assay_lab.exploration import (
    PARTITIONS_AT_MOST,
    Exploration,
    LogRatios,
    Partition,
    _splits,
    explore,
    search,
)

THREADS: tuple[Level, ...] = (1, 2, 4)
MIXES: tuple[Level, ...] = ("searches", "updates")
FACTORS: Mapping[str, tuple[Level, ...]] = {"threads": THREADS, "mix": MIXES}
CONTEXTS: list[dict[str, Level]] = [{"threads": threads, "mix": mix} for threads in THREADS for mix in MIXES]


def ratios(
    effect: Callable[[Mapping[str, Level]], float],
    blocks: int = 12,
    contexts: list[dict[str, Level]] = CONTEXTS,
) -> LogRatios:
    """Return log ratios with an effect on each context, and noise of 1%."""
    noise = 0.01 * np.random.default_rng(5).standard_normal((blocks, len(contexts)))
    return LogRatios("fast", "slow", contexts, noise + [effect(context) for context in contexts])


def named(partition: Partition) -> dict[str, tuple[Level, ...]]:
    return dict(partition.inside.levels)


# Which partitions there are


def test_numbers_are_split_at_thresholds_and_few_names_by_every_subset() -> None:
    assert _splits((4, 1, 2.5)) == [(2.5, 4), (4,)]
    assert _splits(("a", "b")) == [("a",)]
    assert _splits(("a", "b", "c")) == [("a",), ("b",), ("c",)]
    assert len(_splits(tuple("abcd"))) == 2**3 - 1
    assert len(_splits(tuple("abcde"))) == 2**4 - 1
    assert _splits(tuple("abcdef")) == [(name,) for name in "abcdef"]


def test_each_factor_is_split_alone_and_each_pair_at_every_corner() -> None:
    partitions, pairs_of_factors = search([ratios(lambda _: 0)], FACTORS)
    assert pairs_of_factors
    assert len(partitions) == (2 + 1) + 2 * 1 * 4
    wholes = [partition for partition in partitions if partition.outside.levels]
    assert {(*named(partition).values(), *partition.outside.levels.values()) for partition in wholes} == {
        ((2, 4), (1,)),
        ((4,), (1, 2)),
        (("searches",), ("updates",)),
    }


def test_pairs_of_factors_are_left_out_where_they_are_too_many() -> None:
    names = tuple("abcde")
    factors = {"one": names, "two": names}
    contexts: list[dict[str, Level]] = [{"one": one, "two": two} for one in names for two in names]
    partitions, pairs_of_factors = search([ratios(lambda _: 0, 8, contexts)], factors)
    assert not pairs_of_factors
    assert len(partitions) == 30
    assert PARTITIONS_AT_MOST < 15 * 15 * 4


def test_parts_are_compared_where_the_other_factors_agree() -> None:
    """Without updates at one thread, more threads would look slower: updates are."""
    kept = [context for context in CONTEXTS if context != {"threads": 1, "mix": "updates"}]
    partitions, _ = search([ratios(lambda context: -0.5 * (context["mix"] == "updates"), 12, kept)], FACTORS)
    of_threads = next(partition for partition in partitions if named(partition) == {"threads": (2, 4)})
    assert of_threads.change == pytest.approx(1, abs=0.02)
    assert not of_threads.found
    of_mix = next(partition for partition in partitions if named(partition) == {"mix": ("searches",)})
    assert of_mix.found
    assert of_mix.change == pytest.approx(math.exp(0.5), rel=0.02)


# What is found


def test_what_is_planted_is_found_first_with_both_ratios() -> None:
    planted = ratios(lambda context: 0.1 + 0.4 * (context["threads"] != 1))
    first = search([planted], FACTORS)[0][0]
    assert named(first) == {"threads": (2, 4)}
    assert first.found
    assert first.inside.ratio == pytest.approx(math.exp(0.5), rel=0.01)
    assert first.outside.ratio == pytest.approx(math.exp(0.1), rel=0.01)
    assert first.change == pytest.approx(math.exp(0.4), rel=0.01)
    for part in (first.inside, first.outside):
        assert part.ratio is not None
        assert part.interval is not None
        assert part.interval.low < part.ratio < part.interval.high


def test_a_corner_is_found_and_nothing_that_it_does_not_touch() -> None:
    corner = {"threads": 4, "mix": "updates"}
    partitions, _ = search([ratios(lambda context: 0.4 * (context == corner))], FACTORS)
    assert named(partitions[0]) == {"threads": (4,), "mix": ("updates",)}
    assert partitions[0].outside.levels == {}


def test_a_difference_that_is_the_same_everywhere_is_not_found() -> None:
    partitions, _ = search([ratios(lambda _: 0.7)], FACTORS)
    assert not any(partition.found for partition in partitions)


def test_a_block_counts_if_it_has_every_context_and_none_is_needed() -> None:
    table = ratios(lambda _: 0).table
    table[3, 0] = table[7, 1] = math.nan
    partitions, _ = search([LogRatios("fast", "slow", CONTEXTS, table)], FACTORS)
    assert {partition.blocks for partition in partitions} == {10}
    empty = LogRatios("fast", "slow", CONTEXTS, np.full((4, len(CONTEXTS)), math.nan))
    without = search([empty], FACTORS)[0][0]
    assert (without.change, without.p, without.p_adjusted, without.blocks) == (None, None, 1, 0)


def test_a_look_spends_its_share_of_the_level() -> None:
    planted = [ratios(lambda context: 0.02 * (context["threads"] == 4))]
    at_the_end, early = (search(planted, FACTORS, confidence)[0] for confidence in (0.95, 0.99))
    assert early[0].p_adjusted == pytest.approx(5 * at_the_end[0].p_adjusted)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(-2, 2))
def test_swapping_level_and_baseline_gives_reciprocal_ratios(seed: int, effect: float) -> None:
    table = np.random.default_rng(seed).standard_normal((9, len(CONTEXTS))) + effect
    one, other = (
        {str(named(partition)): partition for partition in search([of_level], FACTORS)[0]}
        for of_level in (LogRatios("a", "b", CONTEXTS, table), LogRatios("b", "a", CONTEXTS, -table))
    )
    for name, partition in one.items():
        mirrored = other[name]
        assert partition.change is not None
        assert mirrored.change is not None
        assert partition.change * mirrored.change == pytest.approx(1)
        assert partition.p == mirrored.p


# From trials


def experiment(source: str = WITH_FACTORS) -> Experiment:
    return parse(source, Path("maps.toml"))


def campaign(asked: Experiment, effect: Callable[[Mapping[str, Level]], float]) -> list[StoredTrial]:
    """Return trials of all that is planned, with noise of 1%."""
    rng = np.random.default_rng(11)
    return [
        StoredTrial(
            id=trial.ordinal,
            ordinal=trial.ordinal,
            block=trial.block,
            group=trial.group,
            levels=trial.levels,
            status="valid",
            reason="",
            metrics={"throughput": 1e6 * math.exp(effect(trial.levels) + 0.01 * rng.standard_normal())},
            calibration_before={},
            calibration_after={},
            started_at=datetime(2025, 1, 31, tzinfo=UTC),
            wall_s=1.0,
            environment=None,
        )
        for trial in make_plan(asked, 5, lambda _: "/bin/true", 1000).trials
    ]


def explored(asked: Experiment, trials: list[StoredTrial]) -> Exploration:
    return explore(trials, asked, summarise(trials, asked))


def where_more_threads(levels: Mapping[str, Level]) -> float:
    return 0.5 * (levels["subject"] == "fast" and levels["threads"] != 1)


def test_a_campaign_says_where_its_difference_differs() -> None:
    asked = experiment()
    result = explored(asked, campaign(asked, where_more_threads))
    assert named(result.found[0]) == {"threads": (2, 4)}
    assert (result.metric, result.factor, result.factors) == ("throughput", "subject", ("threads", "mix"))
    assert (result.blocks, result.fewest, result.left_out) == (10, 11, ())


def test_trials_that_fail_leave_out_their_context_and_say_so() -> None:
    asked = experiment()
    trials = campaign(asked, where_more_threads)
    failed = {"subject": "fast", "threads": 4, "mix": "updates"}
    broken = [replace(trial, status="invalid") if trial.levels == failed else trial for trial in trials]
    result = explored(asked, broken)
    assert result.left_out == ("threads=4, mix=updates: 10 of 10 trials of fast were invalid",)
    assert named(result.found[0]) == {"threads": (2, 4)}
    everything = [replace(trial, status="invalid") for trial in trials]
    with pytest.raises(AssayError, match="maps can be searched: threads=1, mix=searches: 10 of 10 trials"):
        explored(asked, everything)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("threads = [1, 2, 4]", "threads = [4]", "no factor beside subject"),
        ("blocks = 10", "blocks = 6", "6 blocks .* too few to find anything among 11 partitions; it takes 7"),
    ],
)
def test_a_campaign_that_cannot_be_searched_says_why(old: str, new: str, said: str) -> None:
    source = WITH_FACTORS.replace(old, new)
    if "beside" in said:
        source = source.replace("updates = { insert = 50, erase = 50, find = 0 }\n", "")
    asked = experiment(source)
    with pytest.raises(AssayError, match=said):
        explored(asked, campaign(asked, where_more_threads))


def test_an_unfinished_campaign_is_to_be_finished_first() -> None:
    asked = experiment()
    begun = [trial for trial in campaign(asked, where_more_threads) if trial.block < 9]
    with pytest.raises(
        AssayError, match=r"9 of 10 blocks have ended.*: finish the campaign with assay resume"
    ):
        explored(asked, begun)
