"""The plain types that the store hands to analysis, audit and report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import FiniteFloat

from assay.plan.types import Level, Status

Number = int | FiniteFloat


@dataclass(frozen=True)
class StoredTrial:
    """One ended trial, without its raw record.

    Attributes:
        id: the trial's number in the store, for links and `assay store show`.
        group: number of the group in the campaign; the column `group_number` of views.
        metrics: name -> value as the trial reported them; use them only where `status` is valid.
        calibration_before, calibration_after: name -> value, `elapsed_ms` among them; empty where calibration
            failed.
        environment: digest of what it reported of machine and program; None where it reported nothing.
        host: digest of the settings that the host had when it started; None where they are not known.
        repeats: the group of which this trial's group is a repetition; None in the first plan.
        perturbation: what was drawn for it besides its seed, as `PlannedTrial` has it.
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

    @property
    def unperturbed(self) -> bool:
        """Whether nothing was moved: every percent and number of bytes is 0, and nothing was chosen.

        Addresses that the experiment fixes for all of its trials move nothing either.
        """
        moved = {name: drawn for name, drawn in self.perturbation.items() if drawn != "fixed"}
        return all(drawn == 0 for drawn in moved.values())


def representative(trials: Sequence[StoredTrial]) -> list[StoredTrial]:
    """Return the trials of the distribution over perturbed configurations: all where none was perturbed."""
    return [trial for trial in trials if not trial.unperturbed] or [*trials]


@dataclass(frozen=True)
class Decision:
    """What the runner decided in the course of a campaign, kept so that it can be read and resumed.

    Attributes:
        kind: look: the results were looked at, as planned; repeat: a group is repeated; stop: the campaign
            is finished although planned trials have not run.
        block: number of blocks that had ended.
        reason: in words.
        content: what it rests on, JSON values; for repeat the `group`, for look the `confidence` and the
            number of comparisons still `undecided`, that of those `withheld`, and the widest interval.
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
    """Where a campaign came from that another tool measured.

    Attributes:
        file: as it was named.
        sha256: digest of what the file held, by which it is known again.
    """

    tool: str
    version: str
    file: str
    sha256: str

    @classmethod
    def of(cls, host: Mapping[str, Any]) -> Self | None:
        """Return where a campaign with this host came from; None of one that Assay ran."""
        return cls(**host[READ_BY]) if READ_BY in host else None


@dataclass(frozen=True)
class CampaignSummary:
    """One campaign as `assay store list` shows it.

    Attributes:
        source: the experiment's TOML text as it was when the campaign began.
        planned: number of trials in its plan.
        counts: status -> number of ended trials.
        host: what the laboratory knew at the start: of the machine its name, processors and kernel, of
            `subjects` which are a map, a multimap, a queue or nothing, and the `commit` of the experiment's
            folder: hash, subject, committed_at and the files of git's that are changed; None outside of git.
        stopped: why it ended before all of its plan had run; empty if it did not.
        damage: why its row cannot be read; empty where it can.
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
        """Where it came from, if another tool measured it; such a campaign has no experiment."""
        return Imported.of(self.host)

    @property
    def ended(self) -> int:
        """Number of trials that have ended, in whatever way."""
        return sum(self.counts.values())

    @property
    def finished(self) -> bool:
        """Whether nothing of it remains to be run."""
        return bool(self.stopped) or self.ended == self.planned
