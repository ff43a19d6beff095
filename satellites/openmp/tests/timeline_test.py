"""The model of running ahead of barriers predicts what can be worked out by hand."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "experiments" / "timeline.py"


@pytest.fixture(scope="module")
def timeline() -> ModuleType:
    spec = importlib.util.spec_from_file_location("timeline", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for its dataclasses
    spec.loader.exec_module(module)
    return module


BY_TURNS = [[100.0, 0.0], [0.0, 100.0]] * 50


def test_threads_that_wait_take_the_longest_work_of_each_round(timeline: ModuleType) -> None:
    machine = timeline.Machine(release=0)
    assert timeline.follow(machine, BY_TURNS, ahead=False).time == 100 * 100


def test_free_transactions_halve_the_time_of_two_threads_by_turns(timeline: ModuleType) -> None:
    machine = timeline.Machine(begin=0, commit=0, release=0, lost=0)
    outcome = timeline.follow(machine, BY_TURNS, ahead=True)
    assert outcome.time == pytest.approx(100 * 100 / 2, rel=0.03)
    assert outcome.commits > 0


def test_a_call_that_comes_too_early_saves_nothing(timeline: ModuleType) -> None:
    # The second thread's work ends long before the first one arrives.
    rounds = [[100.0, 0.0], [100.0, 10.0]] * 50
    machine = timeline.Machine(begin=1, commit=1, release=0, lost=0)
    waits, ahead = (timeline.follow(machine, rounds, ahead=way) for way in (False, True))
    assert ahead.commits == 1  # at the beginning, where both come at once
    assert ahead.time == waits.time


def test_transactions_that_are_always_lost_save_nothing(timeline: ModuleType) -> None:
    machine = timeline.Machine(lost=1)
    waits, ahead = (timeline.follow(machine, BY_TURNS, ahead=way) for way in (False, True))
    assert ahead.time >= waits.time


def test_running_ahead_costs_where_threads_share_a_processor(timeline: ModuleType) -> None:
    machine = timeline.Machine(cores=1, lost=0)
    waits, ahead = (timeline.follow(machine, BY_TURNS, ahead=way) for way in (False, True))
    assert ahead.time > 0.9 * waits.time


def test_it_says_that_it_predicts() -> None:
    printed = subprocess.run(
        [sys.executable, SCRIPT, "--threads", "2"], check=True, capture_output=True, text=True
    ).stdout
    assert printed.startswith("PREDICTED by a model, not measured:\n  2 threads:")
