"""Runs planned trials one after another.

What executes them, what decides how it goes on and what time it is are given, not assumed.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store.types import StoredTrial


class Executor(Protocol):
    """Whatever can run a trial."""

    def execute(self, trial: PlannedTrial) -> Outcome:
        """Run one trial to its end, whatever that end is."""


class Course(Protocol):
    """Whatever keeps what trials come to, and decides between them how the campaign goes on."""

    def record(self, trial: PlannedTrial, outcome: Outcome) -> None:
        """Keep what became of a trial."""

    def group_ended(self, group: int) -> Sequence[PlannedTrial]:
        """Return the trials that repeat a group, all of whose trials have ended; none if nothing does."""

    def block_ended(self, block: int) -> bool:
        """Return whether the campaign goes on after a block, all of whose trials have ended."""


class Progress(Protocol):
    """Whatever wishes to know how far the trials have come."""

    def ended(self, trial: PlannedTrial, outcome: Outcome, took_s: float) -> None:
        """Take note that a trial has been recorded, and how long it took with all around it."""

    def added(self, trials: Sequence[PlannedTrial]) -> None:
        """Take note that a group is repeated."""


def run_trials(
    trials: Sequence[PlannedTrial],
    executor: Executor,
    course: Course,
    progress: Progress,
    clock: Callable[[], float],
    *,
    last: StoredTrial | None = None,
) -> None:
    """Run every trial in the order given; each is recorded before the next begins.

    A group that is repeated is so at once, and a block has ended when its last repetition has.

    Args:
        trials: those that have not ended, the trials of a group and the groups of a block one after another.
        executor: runs them.
        course: keeps what they come to, and decides.
        progress: is told.
        clock: seconds since some moment.
        last: the trial that ended last before; what follows upon it may not have been decided. None where
            none has ended.
    """
    todo = deque(trials)
    if last is not None and not _goes_on(last, todo, course, progress):
        return
    while todo:
        trial = todo.popleft()
        began = clock()
        outcome = executor.execute(trial)
        course.record(trial, outcome)
        progress.ended(trial, outcome, clock() - began)
        if not _goes_on(trial, todo, course, progress):
            return


def _goes_on(
    last: PlannedTrial | StoredTrial, todo: deque[PlannedTrial], course: Course, progress: Progress
) -> bool:
    """Decide what follows upon the trial that ended last; return whether anything does."""
    if todo and todo[0].group == last.group:
        return True
    repetition = course.group_ended(last.group)
    if repetition:
        todo.extendleft(reversed(repetition))
        progress.added(repetition)
    if todo and todo[0].block == last.block:
        return True
    return course.block_ended(last.block)
