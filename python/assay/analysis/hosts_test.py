"""Campaigns on several hosts: what is said of each, of all together, and which are not like the others."""

import dataclasses
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis import Analysis, Interval, summarise
from assay.analysis.hosts import on_one_scale, typical, unlike_others
from assay.analysis.modes import host_modes
from assay.analysis.pairs import Sample
from assay.analysis.population import host_effects, population
from assay.analysis.summary_test import SUBJECTS, THREADS, experiment, trial
from assay.experiment.types import Design
from assay.store.types import StoredTrial

BLOCKS = 12
NAMES = ("ant", "bee", "cow", "dog", "elk", "fox")
PLANNED = experiment(blocks=Design(blocks=BLOCKS), across={"threads": {}})


def campaign(
    effects: Sequence[float], *, names: Sequence[str | None] = NAMES, noise: float = 0.02, seed: int = 1
) -> list[StoredTrial]:
    """Trials of hosts of different speeds, each with its own effect on the level `other`, as logarithms."""
    chance = random.Random(seed)
    made: list[StoredTrial] = []
    group = 0
    for number, effect in enumerate(effects):
        for block in range(BLOCKS):
            for threads in THREADS:
                for subject in SUBJECTS:
                    log = chance.gauss(0, noise) + (effect if subject == "other" else 0)
                    made.append(
                        trial(
                            len(made),
                            block,
                            group,
                            {"subject": subject, "threads": threads},
                            metrics={"throughput": 100 * 3**number * math.exp(log)},
                            calibration_before={"core_to_core_ns": 50.0 * 3**number},
                            calibration_after={"core_to_core_ns": 50.0 * 3**number},
                            ran_on=names[number],
                            host_number=number,
                        )
                    )
                group += 1
    return made


def verdicts(analysis: Analysis, level: str = "other") -> set[str]:
    return {answer.verdict for answer in analysis.answers if answer.level == level}


def test_one_host_is_as_a_host_without_a_name() -> None:
    named, unnamed = (summarise(campaign([0.1], names=[name]), PLANNED) for name in ("ant", None))
    assert named.hosts is None
    assert named == unnamed
    assert verdicts(named) == {"faster"}


@pytest.mark.parametrize("hosts", [2, 3, 4, 6])
def test_identical_code_on_hosts_of_different_speeds_has_no_verdict(hosts: int) -> None:
    analysis = summarise(campaign([0] * hosts), PLANNED)
    assert analysis.hosts is not None
    assert analysis.hosts.population == (hosts >= 4)
    for answers in [analysis.answers, *(host.answers for host in analysis.hosts.each)]:
        assert not {"faster", "slower"} & {answer.verdict for answer in answers}
    assert not analysis.hosts.odd
    # Neither speeds nor calibrations of different hosts are modes or clusters.
    assert analysis.host_modes is not None
    assert not analysis.host_modes.centers
    assert not any(condition.shape.note for condition in analysis.conditions)


def test_a_host_that_differs_is_named_and_verdicts_are_given_without_it() -> None:
    analysis = summarise(campaign([0.1, 0.1, 0.1, -0.2]), PLANNED)
    assert analysis.hosts is not None
    assert verdicts(analysis) == {"undecided"}
    (odd,) = analysis.hosts.odd
    assert odd.name == "dog"
    assert odd.odd is not None
    for answer, own, without in zip(analysis.answers, odd.answers, odd.odd.without, strict=True):
        if answer.level == "other":
            assert (own.verdict, without.verdict) == ("slower", "faster")


def test_blocks_of_hosts_are_kept_apart_over_workloads() -> None:
    analysis = summarise(campaign([0.1, 0.1]), PLANNED)
    assert {aggregate.pairs for aggregate in analysis.aggregates} == {2 * BLOCKS}


def without_names(analysis: Analysis, names: Sequence[str]) -> Any:
    """Return an analysis in which hosts have their places as names."""
    assert analysis.hosts is not None
    each = tuple(dataclasses.replace(host, name=str(names.index(host.name))) for host in analysis.hosts.each)
    conditions = [
        dataclasses.replace(
            condition, of_host={str(names.index(host)): value for host, value in condition.of_host.items()}
        )
        for condition in analysis.conditions
    ]
    return dataclasses.replace(analysis, hosts=dataclasses.replace(analysis.hosts, each=each)), conditions


@settings(deadline=None, max_examples=5)
@given(st.permutations(NAMES[:4]))
def test_the_names_of_hosts_mean_nothing(names: list[str]) -> None:
    effects = [0.1, 0.12, 0.08, -0.1]
    before, after = (summarise(campaign(effects, names=of), PLANNED) for of in (NAMES[:4], names))
    (one, conditions), (other, others) = without_names(before, NAMES), without_names(after, names)
    assert conditions == others
    assert dataclasses.replace(one, conditions=()) == dataclasses.replace(other, conditions=())


def test_what_a_busy_host_measured_is_left_out_and_the_others_are_not() -> None:
    trials = [
        dataclasses.replace(of, metrics={**of.metrics, "lost_share": 0.5 if of.ran_on == "dog" else 0.0})
        for of in campaign([0.1] * 5)
    ]
    analysis = summarise(trials, PLANNED)
    assert not any(answer.withheld for answer in analysis.answers)
    assert verdicts(analysis) == {"faster"}
    assert not analysis.busy  # which would keep a campaign from ending early
    assert {answer.pairs for answer in analysis.comparisons} == {4 * BLOCKS}
    assert analysis.comparisons[0].dropped == {"withheld": BLOCKS}


def test_a_block_is_complete_when_every_planned_host_has_run_it() -> None:
    trials = campaign([0.1] * 2)
    assert summarise(trials, PLANNED, hosts_planned=2).look is not None
    early = summarise(trials, PLANNED, hosts_planned=3)
    assert early.look is None
    assert early.waits.startswith(f"0 of {BLOCKS} blocks")


def test_a_trial_that_is_not_valid_counts_on_every_host() -> None:
    trials = campaign([0.1] * 4)
    trials[1] = dataclasses.replace(trials[1], status="invalid")
    assert any(answer.withheld for answer in summarise(trials, PLANNED).answers)


def test_a_group_that_two_hosts_ran_does_not_count() -> None:
    trials = campaign([0.1] * 2)
    trials[0] = dataclasses.replace(trials[0], ran_on="bee")
    assert any("host changed" in answer.dropped for answer in summarise(trials, PLANNED).comparisons)


def test_a_host_has_modes_of_its_own() -> None:
    trials = [
        dataclasses.replace(
            of,
            calibration_before={"core_to_core_ns": 500.0 if of.ran_on == "ant" and of.block % 2 else 50.0},
            calibration_after={"core_to_core_ns": 500.0 if of.ran_on == "ant" and of.block % 2 else 50.0},
        )
        for of in campaign([0, 0], noise=0.01)
    ]
    modes = host_modes(trials, PLANNED)
    assert modes is not None
    for host, expected in {"ant": {"fast", "slow"}, "bee": {"unknown"}}.items():
        groups = {of.group for of in trials if of.ran_on == host and of.levels["threads"] == 2}
        assert {modes.of_group[group] for group in groups} == expected


def test_the_population_is_of_hosts_and_not_of_blocks() -> None:
    changes = np.array([0.0, 0.2, 0.1, 0.1, 0.1, 0.3, -0.1])
    sample = Sample("logs", changes, hosts=["a", "a", "b", "b", "b", "c", "d"])
    effects = host_effects(sample)
    assert effects == pytest.approx([0.1, 0.1, 0.3, -0.1])
    estimate = population(sample, 0.05)
    assert estimate.ratio == pytest.approx(math.exp(0.1))
    half = 3.182446 * effects.std(ddof=1) / 2
    assert estimate.interval is not None
    assert np.log([estimate.interval.low, estimate.interval.high]) == pytest.approx([0.1 - half, 0.1 + half])


@given(st.lists(st.floats(-1, 1), min_size=8, max_size=24), st.floats(0.001, 0.2))
def test_p_and_interval_agree(changes: list[float], level: float) -> None:
    hosts = [str(at % 4) for at in range(len(changes))]
    estimate = population(Sample("logs", np.array(changes), hosts=hosts), level)
    assert estimate.p is not None
    assert estimate.interval is not None
    assert estimate.ratio is not None
    assert estimate.interval.low <= estimate.ratio * (1 + 1e-9)
    assert estimate.ratio <= estimate.interval.high * (1 + 1e-9)
    if abs(estimate.p - level) > 1e-6:
        assert (estimate.p <= level) == (not estimate.interval.low <= 1 <= estimate.interval.high)


def test_a_host_on_which_a_side_is_always_0_has_no_effect() -> None:
    side = np.array([0.0, 1, 1, 1])
    hosts = list("abcd")
    estimate = population(Sample("means", side, side, np.ones(4), hosts=hosts), 0.05)
    assert (estimate.ratio, estimate.interval) == (0.75, None)
    assert "values of 0" in estimate.reason
    known = population(Sample("means", side, side, np.ones(4), hosts=list("aabb")), 0.05)
    assert "it takes 4" in known.reason


def test_differences_keep_their_unit() -> None:
    changes = np.array([1e300, 2e300, 3e300, 4e300])
    estimate = population(Sample("differences", changes, hosts=list("abcd")), 0.05)
    assert estimate.difference == pytest.approx(2.5e300)
    assert estimate.interval is not None
    assert math.isfinite(estimate.interval.high)


def test_alike_hosts_are_rarely_named() -> None:
    chance = np.random.default_rng(1)
    named = sum(
        bool(unlike_others({name: chance.normal(size=(8, 2)) for name in NAMES[:4]}, 0.05))
        for _ in range(100)
    )
    assert named <= 12  # 5 are expected; more than 12 have a chance of 0.15%


def test_most_hosts_are_never_unlike_the_others() -> None:
    blocks = {name: np.full((12, 1), float(at)) for at, name in enumerate(NAMES[:5])}
    assert len(unlike_others(blocks, 0.05)) == 2
    assert not unlike_others(dict(list(blocks.items())[:2]), 0.05)
    assert not unlike_others(dict.fromkeys(NAMES, np.zeros((12, 1))), 0.05)


def test_a_median_is_of_the_medians_of_hosts() -> None:
    values = {name: [10.0**at * share for share in (0.9, 1, 1, 1, 1.1) * 2] for at, name in enumerate(NAMES)}
    center, interval, shape = typical(values)
    assert center == pytest.approx((100 + 1000) / 2)
    assert interval == Interval(1, 1e5, 1 - 2 / 2**6)
    assert not shape.note
    two_places = {**values, "ant": [1.0] * 6 + [9.0] * 6}
    assert "on ant" in typical(two_places)[2].note
    assert sorted({round(value, 6) for value in on_one_scale(values)}) == pytest.approx([495, 550, 605])
