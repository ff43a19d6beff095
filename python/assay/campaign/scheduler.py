"""Schedules a campaign: what runs next, what is repeated, when results are looked at, when it ends."""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby, zip_longest
from typing import Any, Literal

from assay.analysis import Analysis, summarise
from assay.analysis.busy import busy_reason
from assay.analysis.modes import disagreement
from assay.analysis.planning import FEWEST_PAIRS, forecast
from assay.analysis.sequential import GROWTH, looks, stop_reason
from assay.analysis.steadiness import derive
from assay.campaign.progress import ProgressDisplay
from assay.errors import AssayError
from assay.experiment.events import SIMULATION_S
from assay.experiment.metrics import lacks_operations, why_missing
from assay.experiment.types import Experiment
from assay.plan.make_plan import moved, repeat_group
from assay.plan.types import PlannedTrial
from assay.runner.types import Executor, Outcome
from assay.store import Store
from assay.store.ended import ended_trial
from assay.store.types import Decision, StoredTrial


class NothingExtractedError(AssayError):
    """No trial of a command has been valid: its output does not contain its metrics.

    `trial_id` is the number of a trial that shows this.
    """

    def __init__(self, message: str, trial_id: int) -> None:
        super().__init__(message)
        self.trial_id = trial_id


MOST_REPEATED = 0.5
"""Repetitions are at most this share of the groups that have run: a restless host must not double them."""

FORECAST_DRAWS = 20
"""`assay plan` draws five times as many. With so few, a forecast of 15 comparisons takes 0.3 s."""

SHORTEST_FORECAST_S = 10
"""If less time is left, nothing is forecast: the first forecast takes up to half a second, to load SciPy."""

AT_FIRST = 3
"""This many repetitions are always allowed: `MOST_REPEATED` of the first few groups is less than one."""


class Scheduler:
    """Schedules one campaign, from where the store says that it is.

    Every decision is written in the transaction that carries it out, or can be made again from what is
    stored: a campaign that is killed at any moment continues as if it had not been killed.

    Attributes:
        pending: the trials that have not ended, in the order in which they will run.
        analysis: of all trials that have ended, if results were looked at since the last of them; else None.
    """

    def __init__(
        self,
        store: Store,
        campaign: int,
        experiment: Experiment,
        *,
        clock: Callable[[], float],
        say: Callable[[str], None],
        pilot: int | None = None,
    ) -> None:
        """Take up a campaign.

        Args:
            store: where the campaign is.
            campaign: its number.
            experiment: what the campaign measures.
            clock: seconds since some moment; the time budget counts from now on.
            say: gets a line about every look, and about an early end.
            pilot: the campaign is a pilot, which ends after this many blocks.
        """
        self._store = store
        self._campaign = campaign
        self._seed = store.campaign(campaign).seed
        self._experiment = experiment
        self._clock = clock
        self._say = say
        self._pilot = pilot
        self._hosts = store.hosts_planned(campaign)
        self._planned_for = store.experiment(campaign).revisions if experiment.revisions else None
        self._began = clock()
        self.read()
        self._before_s = took_s(self._ended)

    def read(self) -> None:
        """Take the campaign's state from the store: at the start, and after a write of which nobody knows."""
        store, campaign, experiment = self._store, self._campaign, self._experiment
        pending = store.pending(campaign)
        self._ended = sorted(store.trials(campaign), key=lambda trial: trial.id)
        ended = {trial.ordinal for trial in self._ended}  # hosts may have recorded some in between
        self.pending = self._in_place([trial for trial in pending if trial.ordinal not in ended])
        self.analysis: Analysis | None = None
        self._looked = {decision.block for decision in store.decisions(campaign) if decision.kind == "look"}
        design = experiment.design
        self._looks = {look.blocks for look in looks(design)} if design.end is not None else set()
        self._next_forecast = FEWEST_PAIRS  # blocks
        compared = {experiment.comparison.metric, *experiment.comparison.also}
        # Subjects whose trials report every compared metric. If a later trial lacks one, the audit says so.
        self._complete = {
            self._subject(trial)
            for trial in self._ended
            if trial.status == "valid" and compared <= trial.metrics.keys()
        }

        planned: list[PlannedTrial | StoredTrial] = [*self._ended, *self.pending]
        self._next_group = max((trial.group for trial in planned), default=-1) + 1
        self._next_ordinal = max((trial.ordinal for trial in planned), default=-1) + 1
        self._last_block = max((trial.block for trial in planned), default=-1)
        groups = sorted({(trial.group, trial.repeats) for trial in planned}, key=lambda group: group[0])
        self._original = {group: group if repeats is None else repeats for group, repeats in groups}
        self._runs: dict[int, list[int]] = {}  # a planned group -> itself and its repetitions
        for group, original in self._original.items():
            self._runs.setdefault(original, []).append(group)
        self._begun = {self._original[trial.group] for trial in self._ended}  # planned groups

    def run(self, executor: Executor, progress: ProgressDisplay) -> None:
        """Run what is pending, group by group; each outcome is recorded the moment its trial has ended.

        A group is repeated at once, and a block has ended when its last repetition has ended. What follows
        from the last trial is decided first: the runner may have been killed before it decided that.

        Raises:
            AssayError: the first valid trial of a subject lacks a metric that is compared.
            NothingExtractedError: no trial of a command is valid, because its metrics are not found.
            CannotStartError: a program does not start.
        """
        todo = deque(list(trials) for _, trials in groupby(self.pending, key=lambda trial: trial.group))
        if self._ended and not self._after_group(todo, progress):
            return
        while todo:
            group = todo.popleft()
            began = self._clock()
            for trial, measured in zip(group, executor.execute(group), strict=True):
                outcome = with_derived(measured, trial)
                trial_id = self._store.record(self._campaign, trial.ordinal, outcome)
                self.took(trial, ended_trial(trial_id, trial, outcome))
                ended = self._clock()
                progress.ended(trial, outcome.status, ended - began)
                began = ended
            if not self._after_group(todo, progress):
                return

    def _after_group(self, todo: deque[list[PlannedTrial]], progress: ProgressDisplay) -> bool:
        """Decide what follows the last trial; return whether the campaign goes on."""
        last = self._ended[-1]
        if todo and todo[0][0].group == last.group:
            return True
        repetition = self.repetition(last.group)
        if repetition:
            todo.appendleft(repetition)
            progress.added(repetition)
        if todo and todo[0][0].block == last.block:
            return True
        return self.block_ended(last.block, progress)

    def running_s(self) -> float:
        """Return how long the campaign has been running, seconds.

        All the time since this run began counts. From earlier runs, which may have been killed, only the
        processes of recorded trials count.
        """
        return self._before_s + self._clock() - self._began

    def took(self, trial: PlannedTrial, ended: StoredTrial) -> None:
        """Take note of a trial that has ended and is in the store.

        Raises:
            AssayError: it is the first valid trial of its subject, and lacks a metric that is compared.
            NothingExtractedError: it is the first of a command, and its metrics are not found.
        """
        self._ended.append(ended)
        self.analysis = None
        self._begun.add(self._original[trial.group])
        subject = self._subject(trial)
        if subject in self._complete:
            return
        if ended.status == "valid":
            self._check_metrics(trial.program, ended.metrics)
            self._complete.add(subject)
        elif ended.status == "invalid" and trial.extract != "protocol":
            table = self._experiment.programs[subject].table
            raise NothingExtractedError(
                f"subjects.{table}.extract: {ended.reason}. No trial of {subject} has been valid. Those "
                "that have ended are kept; correct the experiment's file and run it",
                ended.id,
            )

    def repetition(self, group: int) -> list[PlannedTrial]:
        """Plan and return the trials that repeat a group that has ended, if it must be repeated.

        That is if its calibrations disagree or other work disturbed it.

        The experiment says how often a group may be repeated. It is not repeated if the compared metric does
        not depend on the host. The whole group is repeated with new random numbers, so that its first run
        favours none of its trials.
        """
        original = self._original[group]
        runs = self._runs[original]
        repetitions = len(self._original) - len(self._runs)
        if (
            self._experiment.comparison.host_independent
            or group != runs[-1]
            or len(runs) > self._experiment.design.repeat
            or repetitions >= max(AT_FIRST, MOST_REPEATED * len(self._begun))
        ):
            return []
        trials = [trial for trial in self._ended if trial.group == group]
        on_host = [trial for trial in self._ended if trial.ran_on == trials[0].ran_on]
        reason = disagreement(trials, on_host, self._experiment)
        if not reason and self._experiment.design.busy == "wait":
            reason = busy_reason(trials)
        if not reason:
            return []
        planned = self._in_place(self._store.planned(self._campaign, [trial.ordinal for trial in trials]))
        return self.again(planned, reason, partial(self._store.decide, self._campaign))

    def again(
        self,
        group: Sequence[PlannedTrial],
        reason: str,
        write: Callable[[Decision, Sequence[PlannedTrial]], None],
    ) -> list[PlannedTrial]:
        """Plan a whole group again, and return its new trials; `write` writes the decision and the trials."""
        original = self._original[group[0].group]
        runs = self._runs[original]
        repetition = repeat_group(
            self._experiment,
            group,
            campaign_seed=self._seed,
            number=len(runs),
            group_number=self._next_group,
            first_ordinal=self._next_ordinal,
        )
        content = {"group": original, "number": len(runs), "as": self._next_group}
        write(self._decision("repeat", group[0].block, reason, content), repetition)
        runs.append(self._next_group)
        self._original[self._next_group] = original
        self._next_group += 1
        self._next_ordinal += len(repetition)
        return list(repetition)

    def _in_place(self, trials: list[PlannedTrial]) -> list[PlannedTrial]:
        """Return stored trials in the present worktrees: a resumed campaign has new ones."""
        before, now = self._planned_for, self._experiment.revisions
        if before is None or now is None:
            return trials
        return [moved(trial, before, now) for trial in trials]

    def block_ended(self, block: int, progress: ProgressDisplay) -> bool:
        """Decide what follows a block that has ended; return whether the campaign goes on.

        The results are looked at if that is planned, and the campaign ends if it may or must end.
        """
        self._store.check_ended(self._campaign, len(self._ended))
        if not self._goes_on(block):
            return False
        self._forecast(block + 1, progress)
        return True

    def _goes_on(self, block: int) -> bool:
        ended = block + 1
        why = self._look(ended) if ended in self._looks else ""
        if not why and ended == self._pilot:
            why = "it is a pilot"
        if not why:
            return self.has_time(ended)
        return self._stops(ended, why)

    def has_time(self, ended: int) -> bool:
        """Return whether there is time for more when this many blocks have ended; if not, the campaign ends.

        At least one block ends, however little time there is.
        """
        minutes = self._experiment.design.minutes
        running_s = self.running_s()
        if not ended or minutes is None or running_s < 60 * minutes:
            return True
        unit, unit_s = ("minutes", 60) if minutes >= 2 else ("seconds", 1)
        return self._stops(ended, f"{running_s / unit_s:.3g} of {60 * minutes / unit_s:g} {unit} have passed")

    def may_begin(self, ended: int) -> int:
        """Return how many blocks hosts may have begun when this many have ended on all of them.

        The campaign may end at the next look, and what a fast host runs beyond is in vain. But it would wait
        there for the slowest host, so that it goes on to the look after that one.
        """
        return next(iter(sorted(look for look in self._looks if look > ended)[1:]), self._last_block + 1)

    def _stops(self, ended: int, why: str) -> bool:
        """End the campaign after this many blocks, unless they are all; return whether it goes on."""
        if ended == self._last_block + 1:
            return True
        reason = f"{why}, after {ended} of at most {self._last_block + 1} blocks"
        content = {"minutes": self.running_s() / 60}
        self._store.decide(self._campaign, self._decision("stop", ended, reason, content))
        self._say(f"finished early: {reason}")
        return False

    def _forecast(self, ended: int, progress: ProgressDisplay) -> None:
        """Show at which look the results will probably end the campaign, if they may."""
        until = self._experiment.design.end
        last = self._last_block + 1
        if (
            until is None
            or not self._next_forecast <= ended < last
            or progress.left_s() < SHORTEST_FORECAST_S
        ):
            return
        self._next_forecast = math.ceil(GROWTH * ended)
        expected = forecast([self._ended], self._experiment, until, FORECAST_DRAWS)
        needed = [comparison.blocks for comparison in expected.comparisons if not comparison.withheld]
        most = max((math.inf if blocks is None else blocks for blocks in needed), default=math.inf)
        look = min((look for look in self._looks if look > ended and look >= most), default=last)
        progress.expects((look - ended) / (last - ended))

    def _look(self, ended: int) -> str:
        """Look at the results after this many blocks; return why the campaign may end, or ""."""
        analysis = self.analysis = summarise(self._ended, self._experiment, self._hosts)
        look = analysis.look
        if look is None or look.blocks != ended:
            return ""
        if ended not in self._looked:
            end = self._experiment.design.end
            answers = [answer for answer in analysis.answers if not answer.withheld]
            withheld = len(analysis.answers) - len(answers)
            by_gate = end == "gate"
            undecided = sum((answer.gate if by_gate else answer.verdict) == "undecided" for answer in answers)
            intervals = [
                answer.interval
                for answer in answers
                if answer.ratio is not None and answer.interval is not None and answer.interval.low > 0
            ]
            widest = max((100 * (interval.high / interval.low - 1) for interval in intervals), default=None)
            reason = f"look {look.number} of at most {look.of}, after {ended} blocks: " + (
                f"{undecided} of {len(analysis.answers)} comparisons undecided"
                if isinstance(end, str)
                else "some intervals are missing"
                if widest is None or len(intervals) < len(answers)
                else f"the widest interval is {widest:.3g}% wide"
            )
            if withheld:
                reason += f", {withheld} withheld"
            content = {
                "number": look.number,
                "of": look.of,
                "confidence": look.confidence,
                "comparisons": len(analysis.answers),
                "undecided": undecided,
                "withheld": withheld,
                "widest_percent": widest,
            }
            self._store.decide(self._campaign, self._decision("look", ended, reason, content))
            self._say(reason)
        return stop_reason(analysis, self._experiment.design)

    def _decision(
        self, kind: Literal["look", "repeat", "stop"], ended: int, reason: str, content: Mapping[str, Any]
    ) -> Decision:
        return Decision(kind=kind, block=ended, at=datetime.now(UTC), reason=reason, content=content)

    def _subject(self, trial: PlannedTrial | StoredTrial) -> str:
        return str(self._experiment.settings(trial.levels)["subject"])

    def _check_metrics(self, program: str, metrics: Mapping[str, float]) -> None:
        """Refuse to go on measuring what cannot be compared."""
        comparison = self._experiment.comparison
        for key, names in (("metric", [comparison.metric]), ("also", comparison.also)):
            for name in names:
                if name not in metrics and not (key == "also" and lacks_operations(name, metrics)):
                    raise AssayError(
                        f"comparison.{key}: {program} {why_missing(name, metrics)}. The trials that have "
                        "ended are kept; correct the experiment's file and run it"
                    )


def with_derived(outcome: Outcome, trial: PlannedTrial) -> Outcome:
    """Return an outcome with the metrics that are derived from its result."""
    if outcome.status != "valid" or outcome.result is None:
        return outcome
    return replace(outcome, derived={**outcome.derived, **derive(outcome.result, trial.request)})


def took_s(trials: Sequence[StoredTrial]) -> float:
    """Return how long the processes of trials ran, with calibrations and simulations, seconds.

    Two trials share a calibration if the second began before the first and its calibrations could have ended.
    """
    took = 0.0
    for trial, following in zip_longest(trials, trials[1:]):
        calibrations = (trial.calibration_before, trial.calibration_after)
        alone = trial.wall_s + sum(calibration.get("elapsed_ms", 0) for calibration in calibrations) / 1000
        until_next = (
            math.inf if following is None else (following.started_at - trial.started_at).total_seconds()
        )
        took += min(alone, max(0, until_next)) + trial.metrics.get(SIMULATION_S, 0)
    return took
