"""What a lesson found: how far the flawed version is from the honest one, and what the audit says of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis import Interval
from assay.audit import audit
from assay.experiment import Experiment
from assay.findings import Finding
from assay.store.types import StoredTrial

VERSION = "version"
"""The factor of lessons' experiments whose levels are these two."""
FLAWED, HONEST = "flawed", "honest"


@dataclass(frozen=True)
class LessonCampaign:
    """A campaign of a lesson.

    Attributes:
        host, environments: as `Store` gives them.
        result: from the number of a trial to what its process printed.
    """

    experiment: Experiment
    trials: Sequence[StoredTrial]
    host: Mapping[str, Any]
    environments: Mapping[str, Any] = field(default_factory=dict)
    result: Callable[[int], Mapping[str, Any]] = field(default=lambda _: {})

    def findings(self) -> list[Finding]:
        """Return what the audit says of the whole campaign."""
        return audit(self.experiment, self.trials, self.host, environments=self.environments)

    def trials_of(self, version: str) -> list[StoredTrial]:
        """Return the trials of a version, in the order of their blocks."""
        of_version = (trial for trial in self.trials if trial.levels.get(VERSION) == version)
        return sorted(of_version, key=lambda trial: (trial.block, trial.ordinal))


@dataclass(frozen=True)
class Observations:
    """The single numbers behind an outcome, as its picture shows them.

    Attributes:
        what: what they are, with their unit.
        rows: whose they are -> the numbers.
    """

    what: str
    rows: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class LessonResult:
    """What was measured just now.

    Attributes:
        measured: in words, with the numbers.
        shows: the effect is there in these trials, in the direction that the lesson teaches.
        caught: what the rule says of the flawed version; empty where it is silent.
        clean: the rule is silent about the honest version.
        flawed, honest: the numbers that are compared; None where there is none.
        ratio: flawed over honest.
        interval: of the ratio; None with fewer than 6 pairs.
        seen: the numbers of single trials, or of what was made of them; None where there is none.
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
        """Whether all of the lesson was seen: the effect, and the rule that tells the two apart."""
        return self.shows and bool(self.caught) and self.clean
