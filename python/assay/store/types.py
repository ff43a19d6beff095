"""The plain types that the store hands to analysis, audit and report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import FiniteFloat

from assay.plan.types import Level, Status

Number = FiniteFloat | int  # in this order pydantic checks it in two thirds of the time


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """One ended trial, without its raw record.

    Attributes:
        id: the trial's number in the store, for links and `assay store show`.
        group: number of the group in the campaign; the column `group_number` of views.
        metrics: name -> value as the trial reported them; use them only if `status` is valid.
        calibration_before, calibration_after: name -> value, including `elapsed_ms`; empty if calibration
            failed.
        environment: digest of what it reported about machine and program; None if it reported nothing.
        host: digest of the host's settings when it started; None if unknown.
        repeats: the group of which this trial's group is a repetition; None in the first plan.
        perturbation: its random perturbations, as in `PlannedTrial`.
        ran_on: the name of the host that ran it; None if unknown.
        host_number: the host of the campaign for which it was planned, from 0.
    """

    id: int
    ordinal: int
    block: int
    group: int
    levels: Mapping[str, Level | bool]
    status: Status
    reason: str
    metrics: Mapping[str, Number]
    calibration_before: Mapping[str, Number]
    calibration_after: Mapping[str, Number]
    started_at: datetime
    wall_s: FiniteFloat
    environment: str | None
    host: str | None = None
    repeats: int | None = None
    perturbation: Mapping[str, float | str] = field(default_factory=dict)
    ran_on: str | None = None
    host_number: int = 0

    @property
    def unperturbed(self) -> bool:
        """Whether it has no perturbation: every percent and number of bytes is 0, and nothing was chosen.

        Addresses that the experiment fixes for all of its trials are not a perturbation.
        """
        moved = {name: drawn for name, drawn in self.perturbation.items() if drawn != "fixed"}
        return all(drawn == 0 for drawn in moved.values())


def representative(trials: Sequence[StoredTrial]) -> list[StoredTrial]:
    """Return the perturbed trials; all trials if none was perturbed."""
    return [trial for trial in trials if not trial.unperturbed] or [*trials]


@dataclass(frozen=True)
class Decision:
    """A decision of the runner during a campaign, stored so that the campaign can be resumed.

    Attributes:
        kind: look: the results were looked at, as planned; repeat: a group is repeated; stop: the campaign
            is finished although planned trials have not run.
        block: number of blocks that had ended.
        reason: in words.
        content: the facts behind it, JSON values; for repeat the `group`, for look the `confidence`, the
            numbers of comparisons still `undecided` and `withheld`, and the widest interval.
    """

    kind: Literal["look", "repeat", "stop"]
    block: int
    at: datetime
    reason: str
    content: Mapping[str, Any]


READ_BY = "foreign"
"""The satellite that reads imported campaigns; their hosts have a key of this name, which marks them."""


@dataclass(frozen=True)
class Imported:
    """The origin of a campaign that another tool measured.

    Attributes:
        file: the file's path when it was imported.
        sha256: digest of the file's content, by which it is recognised.
    """

    tool: str
    version: str
    file: str
    sha256: str

    @classmethod
    def of(cls, host: Mapping[str, Any]) -> Self | None:
        """Return the origin of a campaign with this host; None if Assay ran it."""
        return cls(**host[READ_BY]) if READ_BY in host else None


@dataclass(frozen=True)
class CampaignSummary:
    """One campaign as `assay store list` shows it.

    Attributes:
        source: the experiment's TOML text as it was when the campaign began.
        planned: number of trials in its plan.
        counts: status -> number of ended trials.
        host: facts at the start: the machine's name, processors and kernel; `subjects`: whether each is a
            map, a multimap, a queue or nothing; the `commit` of the experiment's folder: hash, subject,
            committed_at and the changed files in git; None outside git.
        stopped: why it ended before its whole plan had run; else empty.
        damage: why its row cannot be read; empty if it can.
    """

    id: int
    experiment: str
    question: str
    seed: int
    source: str
    started_at: datetime
    planned: int
    counts: Mapping[Status, int]
    host: Mapping[str, Any]
    stopped: str = ""
    damage: str = ""

    @property
    def imported(self) -> Imported | None:
        """Its origin, if another tool measured it; such a campaign has no experiment."""
        return Imported.of(self.host)

    @property
    def ended(self) -> int:
        """Number of trials that have ended, whatever their status."""
        return sum(self.counts.values())

    @property
    def finished(self) -> bool:
        """Whether nothing of it remains to be run."""
        return bool(self.stopped) or self.ended == self.planned
