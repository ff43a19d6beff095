"""The course of a campaign: which groups are repeated, when the results are looked at, and when it ends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, Literal, Protocol

from assay.analysis.types import Aggregate, Analysis, Comparison
from assay.errors import AssayError
from assay.experiment.types import Experiment
from assay.plan.make_plan import repeat_group
from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store.ended import ended_trial, metrics_of
from assay.store.types import Decision, StoredTrial
from assay.words import nearest


class NothingExtractedError(AssayError):
    """No trial of a command has been valid, and in what it printed its metrics are not to be found.

    `trial_id` is the number of the trial that shows it.
    """

    def __init__(self, message: str, trial_id: int) -> None:
        super().__init__(message)
        self.trial_id = trial_id


MOST_REPEATED = 0.5
"""Repetitions are at most this share of the groups that have run: a restless host must not double them."""

AT_FIRST = 3
"""Repetitions that there may always be, since a share of the first few groups is less than one."""


class Keeper(Protocol):
    """The store, as far as the course of a campaign needs it."""

    def record(self, campaign_id: int, ordinal: int, outcome: Outcome, /) -> int:
        """Write what became of a trial, and return its number."""

    def planned(self, campaign_id: int, ordinals: Sequence[int], /) -> list[PlannedTrial]:
        """Return some trials of the plan."""

    def extend(
        self, campaign_id: int, trials: Sequence[PlannedTrial], decision: Decision | None = None, /
    ) -> None:
        """Add trials to the plan together with the decision that led to them."""

    def decide(self, campaign_id: int, decision: Decision, /) -> None:
        """Write a decision."""


@dataclass(frozen=True)
class Judgement:
    """What the course of a campaign rests on; functions of data alone.

    Attributes:
        derive: result, request -> metrics that the laboratory derives from them.
        disagreement: the trials of a group, all ended trials in the order in which they ran, experiment ->
            why the group is to be repeated, or "". It looks at calibrations only.
        summarise: all ended trials, experiment -> their analysis.
        settled: analysis -> why the campaign may end at the look that it rests on, or "".
        looks: the numbers of blocks after which there may be a planned look.
    """

    derive: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, float]]
    disagreement: Callable[[Sequence[StoredTrial], Sequence[StoredTrial], Experiment], str]
    summarise: Callable[[Sequence[StoredTrial], Experiment], Analysis]
    settled: Callable[[Analysis], str]
    looks: frozenset[int]


class CampaignCourse:
    """The course of one campaign, from what the store holds of it on.

    Every decision is written in the transaction that carries it out, or can be made again from what is
    stored: a campaign that is killed at any moment goes on as if it had not been.
    """

    def __init__(
        self,
        store: Keeper,
        campaign_id: int,
        seed: int,
        experiment: Experiment,
        *,
        judgement: Judgement,
        pending: Sequence[PlannedTrial],
        ended: Sequence[StoredTrial],
        decisions: Sequence[Decision],
        clock: Callable[[], float],
        say: Callable[[str], None],
        pilot: int | None = None,
    ) -> None:
        """Take up a campaign.

        Args:
            store: holds it.
            campaign_id: its number.
            seed: of its plan.
            experiment: what it carries out.
            judgement: what its decisions rest on.
            pending: its trials that have not ended.
            ended: those that have, in the order in which they did.
            decisions: what was decided before.
            clock: seconds since some moment; the time budget runs by it from now on.
            say: is told of every look, and of an early end.
            pilot: after how many blocks it ends because it is a pilot; None where it is none.
        """
        self._store = store
        self._campaign_id = campaign_id
        self._seed = seed
        self._experiment = experiment
        self._judgement = judgement
        self._ended = list(ended)
        self._looked = {decision.block for decision in decisions if decision.kind == "look"}
        self._clock = clock
        self._say = say
        self._pilot = pilot
        self._began = clock()
        self._before_s = sum(map(_took_s, ended))
        compared = {experiment.comparison.metric, *experiment.comparison.also}
        # Subjects that have been seen to give every compared metric; what single trials lack later is
        # for the audit.
        self._complete = {
            self._subject(trial)
            for trial in ended
            if trial.status == "valid" and compared <= trial.metrics.keys()
        }

        planned: list[PlannedTrial | StoredTrial] = [*ended, *pending]
        self._next_group = max((trial.group for trial in planned), default=-1) + 1
        self._next_ordinal = max((trial.ordinal for trial in planned), default=-1) + 1
        self._last_block = max((trial.block for trial in planned), default=-1)
        groups = sorted({(trial.group, trial.repeats) for trial in planned}, key=lambda group: group[0])
        self._original = {group: group if repeats is None else repeats for group, repeats in groups}
        self._runs: dict[int, list[int]] = {}  # a planned group -> itself and its repetitions
        for group, original in self._original.items():
            self._runs.setdefault(original, []).append(group)
        self._begun = {self._original[trial.group] for trial in ended}  # planned groups

    def record(self, trial: PlannedTrial, outcome: Outcome) -> None:
        """Keep what became of a trial.

        Raises:
            AssayError: it is the first valid one of its subject, and lacks a metric that is compared.
            NothingExtractedError: it is one of a command that has had no valid one, and its metrics are not
                to be found.
        """
        if outcome.status == "valid" and outcome.result is not None:
            outcome = replace(outcome, derived=self._judgement.derive(outcome.result, trial.request))
        trial_id = self._store.record(self._campaign_id, trial.ordinal, outcome)
        self._ended.append(ended_trial(trial_id, trial, outcome))
        self._begun.add(self._original[trial.group])
        subject = self._subject(trial)
        if subject in self._complete:
            return
        if outcome.status == "valid":
            self._check_metrics(trial.program, metrics_of(outcome))
            self._complete.add(subject)
        elif outcome.status == "invalid" and trial.extract != "protocol":
            raise NothingExtractedError(
                f"subjects.{subject}.extract: {outcome.reason}. No trial of {subject} has been valid. Those "
                "that have ended are kept; put the experiment's file right and run that",
                trial_id,
            )

    def group_ended(self, group: int) -> Sequence[PlannedTrial]:
        """Repeat a group whose calibrations disagree, as often as its experiment allows; return its trials.

        The whole group is repeated with fresh chance, so that nothing in the first run favours any of its
        trials.
        """
        original = self._original[group]
        runs = self._runs[original]
        repetitions = len(self._original) - len(self._runs)
        if (
            group != runs[-1]
            or len(runs) > self._experiment.design.repeat
            or repetitions >= max(AT_FIRST, MOST_REPEATED * len(self._begun))
        ):
            return ()
        trials = list(takewhile(lambda trial: trial.group == group, reversed(self._ended)))[::-1]
        reason = self._judgement.disagreement(trials, self._ended, self._experiment)
        if not reason:
            return ()
        number = len(runs)
        repetition = repeat_group(
            self._experiment,
            self._store.planned(self._campaign_id, [trial.ordinal for trial in trials]),
            campaign_seed=self._seed,
            number=number,
            group_number=self._next_group,
            first_ordinal=self._next_ordinal,
        )
        content = {"group": original, "number": number, "as": self._next_group}
        decision = self._decision("repeat", trials[0].block, reason, content)
        self._store.extend(self._campaign_id, repetition, decision)
        runs.append(self._next_group)
        self._original[self._next_group] = original
        self._next_group += 1
        self._next_ordinal += len(repetition)
        return repetition

    def running_s(self) -> float:
        """Return how long the campaign has been running, seconds.

        Of earlier runs, which ended in a kill perhaps, it counts the processes of the trials that they
        recorded; of this one all that has passed.
        """
        return self._before_s + self._clock() - self._began

    def block_ended(self, block: int) -> bool:
        """Look at the results where that is planned; end the campaign where it may end or is to."""
        ended = block + 1
        minutes = self._experiment.design.blocks.minutes
        why = self._look(ended) if ended in self._judgement.looks else ""
        running_s = self.running_s()
        if not why and minutes is not None and running_s >= 60 * minutes:
            why = f"{running_s / 60:.3g} of {minutes:g} minutes have passed"
        if not why and ended == self._pilot:
            why = "it is a pilot"
        if not why or block == self._last_block:
            return True
        reason = f"{why}, after {ended} of at most {self._last_block + 1} blocks"
        self._store.decide(
            self._campaign_id, self._decision("stop", ended, reason, {"minutes": running_s / 60})
        )
        self._say(f"finished early: {reason}")
        return False

    def _look(self, ended: int) -> str:
        """Look at the results after so many blocks; return why the campaign may end, or ""."""
        analysis = self._judgement.summarise(self._ended, self._experiment)
        look = analysis.look
        if look is None or look.blocks != ended:
            return ""
        if ended not in self._looked:
            found: list[Comparison | Aggregate] = [*analysis.comparisons, *analysis.aggregates]
            undecided = sum(one.verdict == "undecided" for one in found)
            intervals = [one.interval for one in found if one.interval is not None]
            widest = max((100 * (each.high / each.low - 1) for each in intervals), default=None)
            reason = f"look {look.number} of at most {look.of}, after {ended} blocks: " + (
                f"{undecided} of {len(found)} comparisons are undecided"
                if self._experiment.design.blocks.until == "verdict"
                else "some intervals are missing"
                if widest is None or len(intervals) < len(found)
                else f"the widest interval is {widest:.3g}% wide"
            )
            content = {
                "number": look.number,
                "of": look.of,
                "confidence": look.confidence,
                "comparisons": len(found),
                "undecided": undecided,
                "widest_percent": widest,
            }
            self._store.decide(self._campaign_id, self._decision("look", ended, reason, content))
            self._say(reason)
        return self._judgement.settled(analysis)

    def _decision(
        self, kind: Literal["look", "repeat", "stop"], ended: int, reason: str, content: Mapping[str, Any]
    ) -> Decision:
        return Decision(kind=kind, block=ended, at=datetime.now(UTC), reason=reason, content=content)

    def _subject(self, trial: PlannedTrial | StoredTrial) -> str:
        return str(self._experiment.settings(trial.levels)["subject"])

    def _check_metrics(self, program: str, metrics: Mapping[str, float]) -> None:
        """Refuse to go on measuring what cannot be compared."""
        asked = self._experiment.comparison
        for key, names in (("metric", [asked.metric]), ("also", asked.also)):
            for name in names:
                if name not in metrics:
                    raise AssayError(
                        f"comparison.{key}: {program} does not give the metric {name}. The trials that have "
                        "ended are kept; put the experiment's file right and run that: "
                        f"{nearest(name, sorted(metrics))}"
                    )


def _took_s(trial: StoredTrial) -> float:
    """Return the seconds that the processes of a trial ran, those of its calibrations among them."""
    calibrations = (trial.calibration_before, trial.calibration_after)
    return trial.wall_s + sum(each.get("elapsed_ms", 0) for each in calibrations) / 1000
