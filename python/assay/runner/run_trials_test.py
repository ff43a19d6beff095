"""The order in which things happen, told by an executor, a course and a clock that only take notes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from assay.plan.types import PlannedTrial
from assay.runner.process import Interrupted
from assay.runner.run_trials import run_trials
from assay.runner.types import Outcome
from assay.store.ended import ended_trial


def planned(ordinal: int, block: int = 0, group: int | None = None) -> PlannedTrial:
    """Return a trial; without a group, groups are of two and blocks of four."""
    if group is None:
        block, group = ordinal // 4, ordinal // 2
    return PlannedTrial(ordinal, block, group, {"subject": "x"}, {}, "/x", {}, 1, 1)


def outcome(status: str = "valid") -> Outcome:
    return Outcome(status, "", 0, None, "", "", None, None, "", datetime.now(UTC), 0)  # type: ignore[arg-type]


@dataclass
class Notes:
    """Executor, course, progress and clock in one, so that all they do stands in one list."""

    statuses: dict[int, str] = field(default_factory=dict)
    interrupted_at: int = -1
    full_at: int = -1
    repetitions: dict[int, list[PlannedTrial]] = field(default_factory=dict)
    ends_after: int = -1
    happened: list[str] = field(default_factory=list)
    now: float = 100.0

    def execute(self, trial: PlannedTrial) -> Outcome:
        if trial.ordinal == self.interrupted_at:
            raise Interrupted(2)
        self.happened.append(f"execute {trial.ordinal}")
        self.now += 3
        return outcome(self.statuses.get(trial.ordinal, "valid"))

    def record(self, trial: PlannedTrial, ended: Outcome) -> None:
        if trial.ordinal == self.full_at:
            raise OSError("disk full")
        self.happened.append(f"record {trial.ordinal} {ended.status}")
        self.now += 1

    def group_ended(self, group: int) -> list[PlannedTrial]:
        self.happened.append(f"group {group} ended")
        return self.repetitions.pop(group, [])

    def block_ended(self, block: int) -> bool:
        self.happened.append(f"block {block} ended")
        return block != self.ends_after

    def ended(self, trial: PlannedTrial, ended: Outcome, took_s: float) -> None:
        self.happened.append(f"{trial.ordinal} took {took_s:g}")

    def added(self, trials: Sequence[PlannedTrial]) -> None:
        self.happened.append(f"{len(trials)} added")

    def clock(self) -> float:
        return self.now

    def run(self, trials: Sequence[PlannedTrial], last: PlannedTrial | None = None) -> None:
        ended = None if last is None else ended_trial(1, last, outcome())
        run_trials(trials, self, self, self, self.clock, last=ended)

    def those_with(self, *words: str) -> list[str]:
        return [each for each in self.happened if any(word in each for word in words)]


# One after another


def test_each_trial_is_recorded_before_the_next_begins() -> None:
    notes = Notes()
    notes.run([planned(0), planned(1)])
    assert notes.happened == [
        "execute 0",
        "record 0 valid",
        "0 took 4",
        "execute 1",
        "record 1 valid",
        "1 took 4",
        "group 0 ended",
        "block 0 ended",
    ]


def test_a_trial_that_fails_is_recorded_like_any_other_and_the_next_one_runs() -> None:
    notes = Notes(statuses={0: "crashed", 1: "timed_out"})
    notes.run([planned(number) for number in range(3)])
    assert notes.those_with("record") == ["record 0 crashed", "record 1 timed_out", "record 2 valid"]


def test_an_interrupted_trial_is_not_recorded_and_nothing_runs_after_it() -> None:
    notes = Notes(interrupted_at=1)
    with pytest.raises(Interrupted):
        notes.run([planned(number) for number in range(3)])
    assert notes.happened == ["execute 0", "record 0 valid", "0 took 4"]


def test_nothing_runs_after_a_record_that_could_not_be_written() -> None:
    notes = Notes(full_at=1)
    with pytest.raises(OSError, match="disk full"):
        notes.run([planned(number) for number in range(3)])
    assert notes.happened == ["execute 0", "record 0 valid", "0 took 4", "execute 1"]


def test_trials_run_in_the_order_given() -> None:
    notes = Notes()
    notes.run([planned(5), planned(2), planned(9)])
    assert notes.those_with("execute") == ["execute 5", "execute 2", "execute 9"]


def test_no_trials_are_no_work() -> None:
    notes = Notes()
    notes.run([])
    assert notes.happened == []


# What is decided between them


def test_a_group_has_ended_with_the_last_of_its_trials_and_a_block_with_the_last_of_its_groups() -> None:
    notes = Notes()
    notes.run([planned(number) for number in range(8)])
    assert notes.those_with("execute", "ended") == [
        *("execute 0", "execute 1", "group 0 ended", "execute 2", "execute 3", "group 1 ended"),
        "block 0 ended",
        *("execute 4", "execute 5", "group 2 ended", "execute 6", "execute 7", "group 3 ended"),
        "block 1 ended",
    ]


def test_a_repetition_runs_at_once_and_may_be_repeated_itself() -> None:
    again = [planned(8, 0, 4), planned(9, 0, 4)]
    once_more = [planned(10, 0, 5), planned(11, 0, 5)]
    notes = Notes(repetitions={0: again, 4: once_more})
    notes.run([planned(number) for number in range(4)])
    assert notes.those_with("execute", "ended", "added") == [
        *("execute 0", "execute 1", "group 0 ended", "2 added"),
        *("execute 8", "execute 9", "group 4 ended", "2 added"),
        *("execute 10", "execute 11", "group 5 ended"),
        *("execute 2", "execute 3", "group 1 ended", "block 0 ended"),
    ]


def test_a_block_whose_last_group_is_repeated_ends_with_the_repetition() -> None:
    notes = Notes(repetitions={1: [planned(8, 0, 4), planned(9, 0, 4)]})
    notes.run([planned(number) for number in range(8)])
    assert notes.those_with("ended", "execute 9") == [
        *("group 0 ended", "group 1 ended", "execute 9", "group 4 ended", "block 0 ended"),
        *("group 2 ended", "group 3 ended", "block 1 ended"),
    ]


def test_nothing_runs_after_the_block_with_which_the_campaign_ends() -> None:
    notes = Notes(ends_after=0)
    notes.run([planned(number) for number in range(12)])
    assert notes.those_with("execute", "block") == [f"execute {each}" for each in range(4)] + [
        "block 0 ended"
    ]


# After a kill


def test_a_group_that_was_cut_runs_its_remaining_trials_and_then_has_ended() -> None:
    notes = Notes()
    notes.run([planned(1), planned(2), planned(3)], last=planned(0))
    assert notes.those_with("execute", "ended") == [
        *("execute 1", "group 0 ended", "execute 2", "execute 3", "group 1 ended", "block 0 ended")
    ]


def test_what_follows_upon_a_group_that_had_ended_is_decided_first() -> None:
    notes = Notes(repetitions={0: [planned(8, 0, 4), planned(9, 0, 4)]})
    notes.run([planned(2), planned(3)], last=planned(1))
    assert notes.those_with("execute", "ended") == [
        *("group 0 ended", "execute 8", "execute 9", "group 4 ended"),
        *("execute 2", "execute 3", "group 1 ended", "block 0 ended"),
    ]


def test_what_follows_upon_a_block_that_had_ended_is_decided_first() -> None:
    for ends_after, executed in ((-1, 4), (0, 0)):
        notes = Notes(ends_after=ends_after)
        notes.run([planned(number) for number in range(4, 8)], last=planned(3))
        assert notes.happened[:2] == ["group 1 ended", "block 0 ended"]
        assert len(notes.those_with("execute")) == executed
