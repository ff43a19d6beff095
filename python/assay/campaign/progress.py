"""Shows how far a campaign is and how long the rest will take, without disturbing the trials."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from assay.plan.types import Level, PlannedTrial, Status
from assay.words import duration

_USUAL_OVERHEAD_S = 0.25
_LINES = 10  # printed over a whole campaign where there is no terminal to draw a bar on


@dataclass
class ConditionTimes:
    """How long a condition's trials take.

    Attributes:
        interval_s: length of the measured interval, seconds.
        remaining: number of trials still to run.
        took: seconds that each ended trial took, with its calibrations and its recording.
    """

    interval_s: float
    remaining: int = 0
    took: list[float] = field(default_factory=list)


def time_left(conditions: Collection[ConditionTimes]) -> float:
    """Estimate the seconds that the remaining trials will take.

    A trial takes as long as trials of its condition took on average. If none has ended yet, it takes its
    measured interval plus the average time that other trials took beyond theirs.
    """
    overheads = [took - condition.interval_s for condition in conditions for took in condition.took]
    overhead = fmean(overheads) if overheads else _USUAL_OVERHEAD_S
    return sum(
        condition.remaining * (fmean(condition.took) if condition.took else condition.interval_s + overhead)
        for condition in conditions
    )


class ProgressDisplay:
    """A bar on a terminal, or else a line now and then.

    It draws only between trials: a bar that moves by itself would take processor time from a trial.
    """

    def __init__(
        self,
        console: Console,
        trials: Sequence[PlannedTrial],
        ended: int,
        failed: int,
        *,
        may_end_early: bool = False,
        budget_s: float = math.inf,
    ) -> None:
        """Begin with the trials still to run, and how many have ended and failed before.

        If the campaign may end early, the planned trials are the most that may run; `budget_s` is the time
        that is left.
        """
        self._expected = math.inf  # of all trials: how many will probably have run when it ends
        self._console = console
        self._at_most = "at most " if may_end_early else ""
        self._conditions: dict[frozenset[tuple[str, Level]], ConditionTimes] = {}
        for trial in trials:
            self._times(trial).remaining += 1
        self._ended = ended
        self._failed = failed
        self._planned = ended + len(trials)
        self._repeated = 0
        self._budget_s = budget_s
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            console=console,
            auto_refresh=False,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("trials", completed=ended, total=self._planned, state=self._state())

    def __enter__(self) -> "ProgressDisplay":
        """Show it."""
        self._bar.start()
        self._bar.refresh()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave its last state on the terminal."""
        self._bar.stop()

    def ended(self, trial: PlannedTrial, status: Status, took_s: float) -> None:
        """Take note that a trial has been recorded, and show it."""
        times = self._times(trial)
        times.remaining -= 1
        times.took.append(took_s)
        self._budget_s -= took_s
        self._ended += 1
        self._failed += status != "valid"
        self._bar.update(self._task, completed=self._ended, state=self._state(), refresh=True)
        line_due = self._ended * _LINES // self._planned > (self._ended - 1) * _LINES // self._planned
        if not self._console.is_terminal and line_due:
            line = f"{self._ended} of {self._at_most}{self._planned} trials, {self._state()}"
            self._console.print(line, highlight=False)

    def added(self, trials: Sequence[PlannedTrial]) -> None:
        """Take note that a group is repeated: these trials come in addition, and next."""
        for trial in trials:
            self._times(trial).remaining += 1
        self._planned += len(trials)
        self._repeated += 1
        self._bar.update(self._task, total=self._planned, state=self._state(), refresh=True)

    def left_s(self) -> float:
        """Return the most seconds that are left."""
        return min(time_left(self._conditions.values()), max(self._budget_s, 0))

    def expects(self, share: float) -> None:
        """Take note of the share of the planned trials left after which the campaign will probably end."""
        self._expected = self._ended + share * (self._planned - self._ended) if share < 1 else math.inf
        self._bar.update(self._task, state=self._state(), refresh=True)

    def _state(self) -> str:
        counts = ((self._failed, "not valid"), (self._repeated, "repeated"))
        failures = "".join(f"{count} {what}, " for count, what in counts if count)
        if self._ended == self._planned:
            return f"{failures}none left"
        planned_s, most_s = time_left(self._conditions.values()), self.left_s()
        most = f"{self._at_most}{duration(most_s)}"
        probable_s = planned_s * (self._expected - self._ended) / (self._planned - self._ended)
        if not 0 < probable_s < most_s or (probable := duration(probable_s)) == duration(most_s):
            return f"{failures}{most} left"
        return f"{failures}{probable} left, {most.replace('about ', '')}"

    def _times(self, trial: PlannedTrial) -> ConditionTimes:
        condition = frozenset(trial.levels.items())
        interval_s = trial.request.get("duration_ms", 0) / 1000
        return self._conditions.setdefault(condition, ConditionTimes(interval_s))
