"""Steps and drift over commits: planted ones are found, noise is not, and what differs is not joined."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.experiment import Experiment
from assay.experiment.perturb import UNMOVED
from assay.experiment.testing import experiment
from assay.store.types import CampaignSummary, StoredTrial
from assay_trend.history import (
    ERROR,
    FEWEST_COMMITS,
    Changepoint,
    Drift,
    History,
    MeasuredCampaign,
    MetricSeries,
    described,
    history,
)

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
HOST = {"name": "here", "processors": 2}
TRIALS = 8


def campaign(
    number: int,
    value: float,
    of: Experiment | None = None,
    calibration: float = 2.0,
    committed: float | None = None,
    **host: Any,
) -> MeasuredCampaign:
    """A campaign of one commit a day, whose throughput is `value` for `base` and twice that for `other`."""
    of = of or experiment()
    commit = {
        "hash": f"{number:040x}",
        "subject": f"Change {number}",
        "committed_at": (BEGUN + timedelta(days=number if committed is None else committed)).isoformat(),
        "changed": [],
    }
    summary = CampaignSummary(
        id=number,
        experiment=of.name,
        question=of.question,
        seed=1,
        source="",
        started_at=BEGUN + timedelta(days=100 + number),
        planned=2 * TRIALS,
        counts={"valid": 2 * TRIALS},
        host={**HOST, "commit": commit, **host},
    )
    trials = [
        StoredTrial(
            id=ordinal,
            ordinal=ordinal,
            block=ordinal // 2,
            group=ordinal // 2,
            levels=condition,
            status="valid",
            reason="",
            metrics={"throughput": value * (1 + (condition["subject"] == "other"))},
            calibration_before={"arithmetic_ns": calibration},
            calibration_after={},
            started_at=BEGUN,
            wall_s=1,
            environment=None,
        )
        for ordinal, condition in enumerate(of.conditions() * TRIALS)
    ]
    return MeasuredCampaign(summary, of, trials)


def over(logarithms: Sequence[float] | NDArray[np.float64], **changes: Any) -> History:
    return history(campaign(i, 1e6 * math.exp(value), **changes) for i, value in enumerate(logarithms))


def noise(commits: int, scale: float = 0.01, seed: int = 1) -> NDArray[np.float64]:
    return scale * np.random.default_rng(seed).standard_normal(commits)


def told(of: History) -> list[Changepoint | Drift]:
    changes: list[Changepoint | Drift] = [step for series in of.series for step in series.steps]
    return changes + [series.drift for series in of.series if series.drift is not None]


# What is planted


@pytest.mark.parametrize("size", [-0.1, 0.1])
def test_a_planted_step_is_found_at_its_commit(size: float) -> None:
    values = noise(20)
    values[12:] += size
    result = over(values)
    assert len(result.series) == 2
    for series in result.series:
        (step,) = series.steps
        assert (step.commit.subject, step.before.subject) == ("Change 12", "Change 11")
        assert step.ratio == pytest.approx(math.exp(size), rel=0.015)
        assert step.worse == (size < 0)
        assert step.host == ()
        assert series.drift is None
        assert [segment.first.subject for segment in series.segments] == ["Change 0", "Change 12"]


def test_several_steps_are_found_each_at_its_commit() -> None:
    values = noise(24)
    values[8:] -= 0.1
    values[16:] += 0.2
    for series in over(values).series:
        assert [step.commit.subject for step in series.steps] == ["Change 8", "Change 16"]
        assert [step.worse for step in series.steps] == [True, False]


def test_a_large_step_is_found_in_a_short_history() -> None:
    values = noise(FEWEST_COMMITS + 2)
    values[4:] -= 0.3
    assert [step.commit.subject for step in over(values).series[0].steps] == ["Change 4"]


@pytest.mark.parametrize("scale", [0.002, 0.01])
def test_a_drift_of_half_a_percent_a_commit_is_found_over_twenty_commits(scale: float) -> None:
    result = over(noise(20, scale) - 0.005 * np.arange(20))
    for series in result.series:
        assert series.steps == ()
        drift = series.drift
        assert drift is not None
        assert drift.worse
        assert drift.percent_per_commit == pytest.approx(-0.5, abs=0.1)
        assert drift.interval.low <= math.exp(-0.005 * 19) <= drift.interval.high
        assert (drift.first.subject, drift.last.subject, drift.commits) == ("Change 0", "Change 19", 20)
        assert series.segments[0].end / series.segments[0].begin == pytest.approx(drift.ratio)


def test_a_step_in_a_drift_and_a_drift_after_a_step_are_both_found() -> None:
    step_in_drift = over(noise(40, 0.005) - 0.005 * np.arange(40) - 0.15 * (np.arange(40) >= 20))
    assert "Change 20" in [step.commit.subject for step in step_in_drift.series[0].steps]
    assert step_in_drift.series[0].drift is not None
    later = noise(30, 0.003) - 0.5 * (np.arange(30) >= 10) - 0.005 * np.maximum(np.arange(30) - 10, 0)
    series = over(later).series[0]
    assert [step.commit.subject for step in series.steps] == ["Change 10"]
    assert series.drift is not None
    assert series.drift.first.subject == "Change 10"


def test_of_a_cost_more_is_worse() -> None:
    of = experiment()
    comparison = of.comparison.model_copy(update={"better": "lower"})
    values = noise(12)
    values[6:] += 0.2
    result = over(values, of=of.model_copy(update={"comparison": comparison}))
    assert [step.worse for series in result.series for step in series.steps] == [True, True]


def test_a_single_bad_hour_is_no_step() -> None:
    values = noise(15, 0.005)
    values[7] -= 0.4
    values[14] -= 0.4
    assert told(over(values)) == []


def test_a_step_that_the_host_has_too_says_so() -> None:
    values = noise(12, 0.005) - 0.2 * (np.arange(12) >= 6)
    result = history(campaign(i, math.exp(v), calibration=2.0 * math.exp(-v)) for i, v in enumerate(values))
    assert [step.commit.subject for step in result.calibrations[0].steps] == ["Change 6"]
    assert [step.host for step in result.series[0].steps] == [("arithmetic_ns",)]
    assert result.calibrations[0].steps[0].worse is None


# What is not there

NOISES: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "normal": lambda chance, commits: chance.standard_normal(commits),
    "heavy-tailed": lambda chance, commits: chance.standard_t(3, commits),
}


@pytest.mark.parametrize("kind", NOISES)
def test_of_noise_alone_nothing_is_told_in_more_than_is_promised(kind: str) -> None:
    """`docs/statistics.md` has the rates of many more series; here they would have to be twice as bad."""
    chance = np.random.default_rng(4)
    series, alarms = 300, 0
    for number in range(series):
        steps, drift = described(0.01 * NOISES[kind](chance, (8, 14, 21)[number % 3]), ERROR / 2)
        alarms += bool(steps) or drift is not None
    assert alarms <= ERROR * series + 3 * math.sqrt(ERROR * series)


@given(st.sampled_from([FEWEST_COMMITS, 13]), st.floats(0.001, 1e9))
def test_what_never_changes_has_neither_step_nor_drift(commits: int, value: float) -> None:
    result = history(campaign(i, value) for i in range(commits))
    assert told(result) == []
    assert all(series.visible_percent and series.visible_percent < 1 for series in result.series)


def test_of_few_commits_nothing_is_told() -> None:
    result = over([0.0] * 2 + [1.0] * (FEWEST_COMMITS - 3))
    assert told(result) == []
    assert {series.noise_percent for series in result.series} == {None}


# What is joined


def commits(series: MetricSeries) -> list[str]:
    return [point.commit.subject for point in series.points]


def test_points_stand_in_the_order_of_commits_and_campaigns_of_one_commit_together() -> None:
    first = campaign(5, 1e6, committed=1)
    again = campaign(6, 2e6, committed=1)
    again.campaign.host["commit"].update(first.campaign.host["commit"])
    result = history([campaign(3, 1e6), first, again, campaign(7, 1e6)])
    assert commits(result.series[0]) == ["Change 5", "Change 5", "Change 3", "Change 7"]
    assert [commit.subject for commit in result.commits] == ["Change 5", "Change 3", "Change 7"]
    assert result.series[0].points[0].interval is not None


def test_commits_of_one_second_stand_as_they_were_measured() -> None:
    result = history(campaign(i, 1e6, committed=0) for i in (4, 2, 9))
    assert [commit.subject for commit in result.commits] == ["Change 2", "Change 4", "Change 9"]


def test_what_cannot_be_compared_is_left_out_with_its_reason() -> None:
    changed = campaign(0, 1e6).campaign.host["commit"] | {"changed": ["a.c"]}
    others = experiment(fixed={"key_range": 200})
    failed = campaign(5, 1e6)
    result = history(
        [
            campaign(1, 1e6, commit=None),
            campaign(2, 1e6, commit=changed),
            campaign(3, 1e6, name="there"),
            campaign(4, 1e6, of=others),
            replace(failed, trials=[replace(trial, status="crashed") for trial in failed.trials]),
            campaign(6, 1e6),
        ]
    )
    assert commits(result.series[0]) == ["Change 6"]
    assert result.campaigns == 1
    reasons = {of.campaign: of.reason for of in result.left_out}
    assert list(reasons) == [1, 2, 3, 4, 5]
    for number, word in enumerate(
        (
            "not in a git repository",
            "uncommitted changes of 1 file",
            "another host: there",
            "campaign 6",
            "valid",
        ),
        1,
    ):
        assert word in reasons[number]
    assert reasons[4].endswith("campaign 6, the latest: it has key_range = 200, not 100")


def test_a_median_of_zero_or_below_is_not_dropped_without_a_word() -> None:
    of = history(campaign(i, 0.0 if i >= 8 else 1e6 * (i != 3) - (i == 3)) for i in range(10))
    assert [part.campaigns for part in of.unplaced] == [(3, 8, 9)] * 2
    assert [commit.subject for commit in of.unplaced[0].commits] == ["Change 3", "Change 8", "Change 9"]
    assert [len(series.points) for series in of.series] == [7, 7]


def test_other_perturbations_make_another_history() -> None:
    moved = experiment(perturb=UNMOVED.altered(stack=64))
    result = history([campaign(1, 1e6), campaign(2, 1e6, of=moved)])
    assert [(of.campaign, of.reason.partition(": ")[2]) for of in result.left_out] == [
        (1, "it has perturb.stack = false, not 64")
    ]


def test_a_condition_that_was_added_later_has_a_shorter_history() -> None:
    subjects = {name: {"subject": name} for name in ("base", "other", "new")}
    larger = experiment(changes={"subject": subjects})
    result = history([campaign(1, 1e6), campaign(2, 1e6), campaign(3, 1e6, of=larger)])
    assert [len(series.points) for series in result.series] == [3, 3, 1]
    assert result.left_out == ()
