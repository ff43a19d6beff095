import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import sign_flips, summarise
from assay.audit.testing import CALIBRATION, ENVIRONMENT, HOST, METRICS
from assay.store.types import StoredTrial
from assay_course.catalog import LESSONS
from assay_course.judges import (
    FIRST_LOOK,
    cut,
    distance_to_mean,
    halves,
    looking,
    peeked,
    spread,
    student_interval,
)
from assay_course.lesson import Lesson, find
from assay_course.machine import lacking
from assay_course.outcome import FLAWED, HONEST, VERSION, LessonCampaign

numbers = st.integers(-3000, 3000).map(lambda n: n / 1000)
logs = st.lists(numbers, min_size=4, max_size=40, unique=True)
pairs = st.lists(numbers, min_size=FIRST_LOOK, max_size=14, unique=True)
"""Few enough for every flip of their signs."""


@given(logs, st.floats(-1, 1))
def test_halves_find_a_step_whatever_else_is_common(values: Sequence[float], step: float) -> None:
    stepped = [*values, *(value + step for value in values)]
    assert halves(stepped) == pytest.approx(math.exp(step))


@given(pairs)
def test_peeking_finds_whatever_a_test_at_the_end_finds(values: Sequence[float]) -> None:
    [stopped] = peeked(np.array([values]))
    if sign_flips([values]).p[0] < 0.05:
        assert stopped
    if stopped:
        assert sign_flips([values[:stopped]]).p[0] < 0.05


@given(logs)
def test_an_interval_is_narrower_where_the_same_is_repeated(values: Sequence[float]) -> None:
    alone, repeated = student_interval(values), student_interval([*values] * 10)
    assert alone is not None
    assert repeated is not None
    assert repeated.high - repeated.low <= alone.high - alone.low + 1e-12


@given(st.floats(1, 100), st.floats(2, 10), st.integers(1, 20))
def test_the_mean_of_two_modes_is_near_neither(low: float, apart: float, count: int) -> None:
    values = [low] * count + [low * apart] * count
    assert distance_to_mean(values) == pytest.approx((apart - 1) / (apart + 1))


Told = Callable[[int, str, int], Mapping[str, float]]
"""From the block of a trial, its version and its place in the order of time to metrics of it."""
Series = Callable[[int], Sequence[int]]
"""From the number of a trial to the operations of its intervals."""


def run(
    lesson: Lesson, told: Told, series: Series = lambda _: (), *, blocks: int = 12, file: int = 0
) -> LessonCampaign:
    """Return a campaign of a lesson, made up; versions change places from block to block."""
    experiment = lesson.experiments()[file]
    levels = [str(level) for level in experiment.factors[VERSION]]
    made: list[StoredTrial] = []
    for block in range(blocks):
        for level in levels[:: 1 if block % 2 else -1]:
            at = len(made)
            made.append(
                StoredTrial(
                    id=at + 1,
                    ordinal=at,
                    block=block,
                    group=block,
                    levels={VERSION: level},
                    status="valid",
                    reason="",
                    metrics={**METRICS, **told(block, level, at)},
                    calibration_before=CALIBRATION,
                    calibration_after=CALIBRATION,
                    started_at=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=at),
                    wall_s=1.0,
                    environment="usual",
                )
            )
    design = experiment.design.exactly(max(blocks, 1))

    def result(number: int) -> dict[str, Any]:
        return {"threads": [{"series": [*series(number), 1]}]}  # the end cuts the last interval

    experiment = experiment.model_copy(update={"design": design})
    return LessonCampaign(experiment, made, HOST, {"usual": ENVIRONMENT}, result)


def by_version(name: str, flawed: float, honest: float, **more: Mapping[str, float]) -> Told:
    """Return what tells a number of each version that differs a little from block to block."""

    def told(block: int, version: str, _at: int) -> dict[str, float]:
        center = {FLAWED: flawed, HONEST: honest}[version]
        others = {other: values[version] for other, values in more.items()}
        return {name: center * (1 + 0.001 * (block % 5)), **others}

    return told


def scattered(flawed: float, honest: float) -> Told:
    """Return what tells a throughput that lies this far to either side of 100."""

    def told(block: int, version: str, _at: int) -> dict[str, float]:
        return {"throughput": 100 + {FLAWED: flawed, HONEST: honest}[version] * (-1) ** block}

    return told


def of_ratios(*ratios: float) -> Told:
    """Return what tells that flawed is this many times honest, for three blocks each."""

    def told(block: int, version: str, _at: int) -> dict[str, float]:
        return {"throughput": 100 * ratios[block // 3 % len(ratios)] if version == FLAWED else 100.0}

    return told


def usual(*_: object) -> dict[str, float]:
    return {}


def of_processes(apart: float) -> Series:
    """Return operations around a center of each process, these many to either side of 1,000."""
    return lambda number: [round(1000 + apart * (-1) ** number + i % 7) for i in range(30)]


FILLED = {"prefill_threads": {FLAWED: 1.0, HONEST: 2.0}}
KNOWN: Mapping[str, tuple[LessonCampaign, LessonCampaign]] = {
    "single-threaded-prefill": (
        run(find(LESSONS, "9"), by_version("prefill_ms", 24, 20, **FILLED)),
        run(find(LESSONS, "9"), by_version("prefill_ms", 20, 24, **FILLED)),
    ),
    "short-trials": (
        run(find(LESSONS, "12"), scattered(20, 1)),
        run(find(LESSONS, "12"), scattered(1, 20)),
    ),
    "oversubscribed": (
        run(find(LESSONS, "23"), by_version("longest_ns", 30e6, 4e6)),
        run(find(LESSONS, "23"), by_version("longest_ns", 4e6, 30e6)),
    ),
    "too-few-blocks": (
        run(find(LESSONS, "30"), of_ratios(1.1, 0.9)),
        run(find(LESSONS, "30"), of_ratios(1.1)),
    ),
    "one-process": (
        run(find(LESSONS, "33"), usual, of_processes(100)),
        run(find(LESSONS, "33"), usual, of_processes(0)),
    ),
    "baseline-first": (
        run(find(LESSONS, "34"), lambda _block, _version, at: {"throughput": 100.0 + at}),
        run(find(LESSONS, "34"), by_version("throughput", 120, 100)),
    ),
}
"""Lesson -> a campaign with the effect that it teaches, and one with the reverse."""


def judged(name: str) -> Lesson:
    """Return a lesson; skip the test where the satellite that judges it is not installed."""
    lesson = find(LESSONS, name)
    if "other tools" in lesson.needs and (missing := lacking(lesson.needs)):
        pytest.skip(f"needs {missing}")
    return lesson


@pytest.mark.parametrize("name", KNOWN)
def test_an_effect_shows_and_its_reverse_does_not(name: str) -> None:
    lesson = judged(name)
    there, reversed_ = (lesson.outcome([made]) for made in KNOWN[name])
    assert (there.shows, bool(there.caught), there.clean) == (True, True, True), there
    assert (reversed_.shows, bool(reversed_.caught), reversed_.clean) == (False, True, True), reversed_


def test_every_effect_that_chance_may_hide_has_a_known_answer() -> None:
    assert [*KNOWN] == [lesson.name for lesson in LESSONS if not lesson.certain]


@pytest.mark.parametrize("name", KNOWN)
def test_no_trials_teach_nothing(name: str) -> None:
    lesson = judged(name)
    outcome = lesson.outcome([run(lesson, usual, blocks=0)])
    assert not outcome.shows
    assert not outcome.taught
    if name in ("one-process", "baseline-first"):
        assert not outcome.caught


def test_a_spread_needs_trials_of_both_versions() -> None:
    lesson = find(LESSONS, "12")
    made = run(lesson, scattered(20, 1))
    outcome = spread("nothing", lambda _: None)(lesson.rule, [made])
    assert outcome.measured == "nothing: too few trials."


def test_a_process_alone_tells_nothing_of_others() -> None:
    lesson = judged("33")
    outcome = lesson.outcome([run(lesson, usual, lambda number: [5, 6] if number == 1 else [])])
    assert (outcome.shows, outcome.caught, outcome.clean) == (False, (), False)


def test_versions_that_ran_one_after_the_other_are_not_clean() -> None:
    lesson = judged("34")
    made = run(lesson, by_version("throughput", 120, 100))
    first = [
        replace(trial, started_at=trial.started_at + timedelta(days=trial.levels[VERSION] == FLAWED))
        for trial in made.trials
    ]
    assert not lesson.outcome([replace(made, trials=first)]).clean
    assert lesson.outcome([made]).clean


def of_times(file: int, draw: Callable[[Random], float]) -> LessonCampaign:
    """Return a campaign of the lesson of two modes with such nanoseconds of an operation."""
    random = Random(5)
    return run(
        find(LESSONS, "two-modes"),
        lambda *_: {"processor_ns_per_operation": draw(random)},
        blocks=30,
        file=file,
    )


def one_mode(random: Random) -> float:
    return random.gauss(20, 0.2)


def test_two_modes_are_told_from_one() -> None:
    lesson, honest = find(LESSONS, "two-modes"), of_times(1, one_mode)
    flawed = of_times(0, lambda random: random.choice((10, 30)) + random.gauss(0, 0.2))
    outcome = lesson.outcome([flawed, honest])
    assert (outcome.shows, bool(outcome.caught), outcome.clean) == (True, True, True), outcome
    alike = lesson.outcome([of_times(0, one_mode), honest])
    assert (alike.shows, bool(alike.caught), alike.clean) == (False, False, True), alike
    assert not lesson.outcome([honest, flawed]).clean


def looked_at(blocks: int) -> LessonCampaign:
    """Return a campaign of 30 blocks, of which these many have ended, that all say 1.2 times."""
    lesson = find(LESSONS, "looking")
    whole = run(lesson, by_version("throughput", 120, 100), blocks=30)
    return replace(whole, trials=[trial for trial in whole.trials if trial.block < blocks])


def test_what_is_looked_at_before_its_planned_end_has_no_verdict() -> None:
    """The page of lesson 35 says so: it is why no rule has to see that somebody looked."""
    for ended, verdict in ((12, "undecided"), (29, "undecided"), (30, "faster")):
        made = looked_at(ended)
        (comparison,) = summarise(made.trials, made.experiment).comparisons
        assert comparison.verdict == verdict
    waiting = summarise(looked_at(12).trials, made.experiment)
    assert waiting.look is None
    page = " ".join(find(LESSONS, "looking").page.read_text(encoding="utf-8").split())
    assert f"that {waiting.waits}" in page


@pytest.mark.parametrize(("stopped", "seen"), [(FIRST_LOOK, True), (9, True), (10, False), (12, False)])
def test_a_campaign_that_is_cut_short_is_seen_where_it_has_few_pairs(stopped: int, *, seen: bool) -> None:
    """The page of lesson 35 says so, too."""
    found = {finding.rule for finding in cut(looked_at(30), stopped).findings()}
    assert ("too-few-blocks" in found) == seen


def test_looking_says_how_many_false_alarms_no_rule_sees() -> None:
    lesson, random = find(LESSONS, "looking"), Random(5)
    outcome = looking(lesson.rule, [run(lesson, lambda *_: {"throughput": random.gauss(100, 1)}, blocks=30)])
    assert outcome.seen is not None
    stops = outcome.seen.rows["tested after every pair"]
    share = sum(stop >= 10 for stop in stops) / len(stops)
    assert f"pairs ({share:.0%} after 10 or more)" in outcome.measured
    assert 0.4 < share < 0.8
