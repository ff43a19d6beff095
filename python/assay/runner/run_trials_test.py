"""The order in which things happen, told by an executor and a clock that only take notes."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from assay.plan.types import PlannedTrial
from assay.runner.process import Interrupted
from assay.runner.run_trials import run_trials
from assay.runner.types import Outcome


def planned(ordinal: int) -> PlannedTrial:
    return PlannedTrial(ordinal, 0, 0, {"subject": "x"}, {}, "/x", {}, 1, 1)


def outcome(status: str = "valid") -> Outcome:
    return Outcome(status, "", 0, None, "", "", None, None, "", datetime.now(UTC), 0)  # type: ignore[arg-type]


@dataclass
class Notes:
    """Executor, record, progress and clock in one, so that all they do stands in one list."""

    statuses: dict[int, str] = field(default_factory=dict)
    interrupted_at: int = -1
    full_at: int = -1
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

    def ended(self, trial: PlannedTrial, ended: Outcome, took_s: float) -> None:
        self.happened.append(f"{trial.ordinal} took {took_s:g}")

    def clock(self) -> float:
        return self.now

    def run(self, count: int) -> None:
        run_trials([planned(number) for number in range(count)], self, self.record, self, self.clock)


def test_each_trial_is_recorded_before_the_next_begins() -> None:
    notes = Notes()
    notes.run(2)
    assert notes.happened == [
        "execute 0",
        "record 0 valid",
        "0 took 4",
        "execute 1",
        "record 1 valid",
        "1 took 4",
    ]


def test_a_trial_that_fails_is_recorded_like_any_other_and_the_next_one_runs() -> None:
    notes = Notes(statuses={0: "crashed", 1: "timed_out"})
    notes.run(3)
    assert [each for each in notes.happened if "record" in each] == [
        "record 0 crashed",
        "record 1 timed_out",
        "record 2 valid",
    ]


def test_an_interrupted_trial_is_not_recorded_and_nothing_runs_after_it() -> None:
    notes = Notes(interrupted_at=1)
    with pytest.raises(Interrupted):
        notes.run(3)
    assert notes.happened == ["execute 0", "record 0 valid", "0 took 4"]


def test_nothing_runs_after_a_record_that_could_not_be_written() -> None:
    notes = Notes(full_at=1)
    with pytest.raises(OSError, match="disk full"):
        notes.run(3)
    assert notes.happened == ["execute 0", "record 0 valid", "0 took 4", "execute 1"]


def test_trials_run_in_the_order_given() -> None:
    notes = Notes()
    run_trials([planned(5), planned(2), planned(9)], notes, notes.record, notes, notes.clock)
    assert [each for each in notes.happened if "execute" in each] == ["execute 5", "execute 2", "execute 9"]


def test_no_trials_are_no_work() -> None:
    notes = Notes()
    notes.run(0)
    assert notes.happened == []
