"""Runs planned trials one after another. What executes them and what time it is are given, not assumed."""

from collections.abc import Callable, Sequence
from typing import Protocol

from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome


class Executor(Protocol):
    """Whatever can run a trial."""

    def execute(self, trial: PlannedTrial) -> Outcome:
        """Run one trial to its end, whatever that end is."""


class Progress(Protocol):
    """Whatever wishes to know how far the trials have come."""

    def ended(self, trial: PlannedTrial, outcome: Outcome, took_s: float) -> None:
        """Take note that a trial has been recorded, and how long it took with all around it."""


def run_trials(
    trials: Sequence[PlannedTrial],
    executor: Executor,
    record: Callable[[PlannedTrial, Outcome], object],
    progress: Progress,
    clock: Callable[[], float],
) -> None:
    """Run every trial in the order given; each is recorded before the next begins."""
    for trial in trials:
        began = clock()
        outcome = executor.execute(trial)
        record(trial, outcome)
        progress.ended(trial, outcome, clock() - began)
