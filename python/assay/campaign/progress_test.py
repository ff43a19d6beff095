import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from assay.campaign.progress import ConditionTimes, ProgressDisplay, time_left
from assay.plan.types import PlannedTrial
from assay.words import duration


def planned(subject: str, duration_ms: int = 1000) -> PlannedTrial:
    return PlannedTrial(0, 0, 0, {"subject": subject}, {"duration_ms": duration_ms}, "/x", {}, 1, 1)


def test_before_anything_is_known_a_trial_takes_its_interval_and_a_usual_overhead() -> None:
    assert 20 < time_left([ConditionTimes(1.0, remaining=20)]) < 30


def test_a_condition_that_has_run_takes_what_it_took() -> None:
    assert time_left([ConditionTimes(1.0, remaining=3, took=[4.0, 6.0])]) == 15


def test_a_condition_that_has_not_run_takes_its_interval_and_what_others_took_beyond_theirs() -> None:
    others = [ConditionTimes(1.0, took=[4.0]), ConditionTimes(3.0, took=[4.0])]
    assert time_left([*others, ConditionTimes(2.0, remaining=10)]) == 40


times = st.floats(0.001, 1000)
conditions = st.lists(st.builds(ConditionTimes, times, st.integers(0, 100), st.lists(st.just(2000.0))))


@given(conditions, times)
def test_more_trials_never_take_less(known: list[ConditionTimes], interval_s: float) -> None:
    assert time_left([*known, ConditionTimes(interval_s, remaining=1)]) > time_left(known)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "a few seconds"),
        (9.9, "a few seconds"),
        (44, "about 40 seconds"),
        (89, "about 90 seconds"),
        (130, "about 2 minutes"),
        (5000, "about 83 minutes"),
        (5400, "about 1.5 hours"),
    ],
)
def test_an_estimate_is_said_as_roughly_as_it_is_known(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_without_a_terminal_a_line_is_printed_now_and_then() -> None:
    printed = io.StringIO()
    trials = [planned("a")] * 100
    with ProgressDisplay(Console(file=printed), trials, ended=0, failed=0) as display:
        for number, trial in enumerate(trials):
            display.ended(trial, "crashed" if number == 3 else "valid", 12.0)
    lines = printed.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "10 of 100 trials, 1 not valid, about 18 minutes left"
    assert lines[-1] == "100 of 100 trials, 1 not valid, none left"


def test_a_resumed_campaign_counts_what_ended_before() -> None:
    printed = io.StringIO()
    with ProgressDisplay(Console(file=printed), [planned("a")], ended=7, failed=2) as display:
        display.ended(planned("a"), "valid", 1.0)
    assert printed.getvalue() == "8 of 8 trials, 2 not valid, none left\n"


def test_on_a_terminal_there_is_a_bar_that_moves_only_when_a_trial_has_ended() -> None:
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=True, width=100)
    with ProgressDisplay(console, [planned("a")] * 2, ended=0, failed=0) as display:
        display.ended(planned("a"), "invalid", 1.0)
        drawn = printed.getvalue()
    assert "1/2" in drawn
    assert "1 not valid, a few seconds left" in drawn


def test_repeated_groups_add_to_the_total() -> None:
    printed = io.StringIO()
    with ProgressDisplay(Console(file=printed), [planned("a")] * 2, ended=0, failed=0) as display:
        display.ended(planned("a"), "valid", 1.0)
        display.added([planned("a")] * 2)
        for _ in range(3):
            display.ended(planned("a"), "valid", 1.0)
    assert printed.getvalue().splitlines()[-2:] == [
        "3 of 4 trials, 1 repeated, a few seconds left",
        "4 of 4 trials, 1 repeated, none left",
    ]


def test_what_may_end_early_is_planned_at_most_and_leaves_no_more_than_its_budget() -> None:
    printed = io.StringIO()
    trials = [planned("a", 60_000)] * 100
    console = Console(file=printed)
    with ProgressDisplay(console, trials, ended=0, failed=0, may_end_early=True, budget_s=1200) as display:
        for trial in trials[:20]:
            display.ended(trial, "valid", 70.0)
    assert printed.getvalue().splitlines() == [
        "10 of at most 100 trials, at most about 8 minutes left",
        "20 of at most 100 trials, at most a few seconds left",
    ]


def test_the_time_that_it_will_probably_take_stands_before_the_most_it_may_take() -> None:
    printed = io.StringIO()
    trials = [planned("a", 60_000)] * 100
    with ProgressDisplay(Console(file=printed), trials, ended=0, failed=0, may_end_early=True) as display:
        for number, trial in enumerate(trials[:60]):
            if number == 15:
                display.expects(0.25)  # 15 and a quarter of 85 trials
            display.ended(trial, "valid", 60.0)
    assert printed.getvalue().splitlines() == [
        "10 of at most 100 trials, at most about 1.5 hours left",
        "20 of at most 100 trials, about 16 minutes left, at most 80 minutes",
        "30 of at most 100 trials, about 6 minutes left, at most 70 minutes",
        *(
            f"{ended} of at most 100 trials, at most about {100 - ended} minutes left"
            for ended in (40, 50, 60)
        ),
    ]


def test_what_is_not_expected_to_end_early_has_its_bound_alone() -> None:
    printed = io.StringIO()
    with ProgressDisplay(Console(file=printed), [planned("a")] * 10, 0, 0, may_end_early=True) as display:
        display.expects(1)
        display.ended(planned("a"), "valid", 60.0)
    assert printed.getvalue() == "1 of at most 10 trials, at most about 9 minutes left\n"


def test_a_command_needs_no_measured_interval() -> None:
    trial = PlannedTrial(0, 0, 0, {"subject": "a"}, {}, "/x", {}, 1, 1)
    with ProgressDisplay(Console(file=io.StringIO()), [trial], ended=0, failed=0) as display:
        display.ended(trial, "valid", 1.0)
