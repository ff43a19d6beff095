"""The result of a lesson: how much the flawed and the honest version differ, and their findings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis import Interval
from assay.audit import audit
from assay.experiment import Experiment
from assay.findings import Finding
from assay.store.types import StoredTrial

VERSION = "version"
"""The factor of lessons' experiments with the levels `FLAWED` and `HONEST`."""
FLAWED, HONEST = "flawed", "honest"


@dataclass(frozen=True)
class LessonCampaign:
    """A campaign of a lesson.

    Attributes:
        host, environments: as from `Store`.
        result: returns the output of a trial's process, given its number.
    """

    experiment: Experiment
    trials: Sequence[StoredTrial]
    host: Mapping[str, Any]
    environments: Mapping[str, Any] = field(default_factory=dict)
    result: Callable[[int], Mapping[str, Any]] = field(default=lambda _: {})

    def findings(self) -> list[Finding]:
        """Return the audit's findings about the whole campaign."""
        return audit(self.experiment, self.trials, self.host, environments=self.environments)

    def trials_of(self, version: str) -> list[StoredTrial]:
        """Return the trials of a version, in the order of their blocks."""
        of_version = (trial for trial in self.trials if trial.levels.get(VERSION) == version)
        return sorted(of_version, key=lambda trial: (trial.block, trial.ordinal))


@dataclass(frozen=True)
class Observations:
    """The single numbers behind a result, for its picture.

    Attributes:
        what: their name, with the unit.
        rows: version or group -> its numbers.
    """

    what: str
    rows: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class LessonResult:
    """The result of a lesson.

    Attributes:
        measured: the measurement in words, with the numbers.
        shows: these trials show the effect, in the direction that the lesson teaches.
        caught: the rule's findings about the flawed version.
        clean: the rule finds nothing in the honest version.
        flawed, honest: the compared numbers; None if there are none.
        ratio: flawed over honest.
        interval: the ratio's interval; None with fewer than 6 pairs.
        seen: the numbers of single trials, or numbers derived from them; None if there are none.
    """

    measured: str
    shows: bool
    caught: tuple[Finding, ...]
    clean: bool
    flawed: float | None = None
    honest: float | None = None
    ratio: float | None = None
    interval: Interval | None = None
    seen: Observations | None = None

    @property
    def taught(self) -> bool:
        """Whether the lesson succeeded: the effect shows, and the rule distinguishes the two versions."""
        return self.shows and bool(self.caught) and self.clean
