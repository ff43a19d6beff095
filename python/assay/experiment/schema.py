"""The shape of an experiment's TOML file: which keys there are, and what each may hold.

What spans several keys, such as a baseline that is not a level, is checked in `read`, `roles` and `programs`.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from assay.experiment.events import Simulate
from assay.experiment.flaws import PitfallTable
from assay.experiment.perturb import PerturbTable
from assay.experiment.settings import Settings
from assay.experiment.tables import (
    Listed,
    Name,
    PositivePercent,
    Table,
    misplaced,
)
from assay.experiment.types import (
    AcrossRevisions,
    BlockCount,
    Busy,
    Chart,
    ComparisonDesign,
    ExperimentName,
    Minutes,
    Program,
    Repetitions,
    Reported,
    Seed,
    Until,
    Validation,
)

_MOST_CHARTS = 100  # a page draws each, and each takes some 100 ms and 20 kB
_MOST_BLOCKS = 60  # where the results end a campaign and nothing else says how many


class DesignTable(Table):
    """[design]."""

    blocks: BlockCount | None = None
    """How many times every condition is run; the most, where something else ends the campaign."""
    minutes: Minutes | None = None
    """The campaign ends with the block in which this many minutes have passed."""
    until: Literal["verdict", "gate"] | None = None
    """The campaign ends when every comparison has a verdict, or when each has passed or failed the gate."""
    until_width_percent: PositivePercent | None = None
    """The campaign ends when every interval is at most this many percent wide."""
    at_least: Annotated[int, Field(ge=6, le=100_000)] = 8
    """Blocks before the first look at the results."""
    seed: Seed | None = None
    """Where order, trial seeds and perturbations come from; drawn at random where nothing says."""
    repeat: Repetitions = 2
    """How often a group is run again because the host changed meanwhile."""
    busy: Busy = "withhold"
    """What is done where other work takes much of the trials' processor time: wait until the host is
    quiet and repeat them, withhold their verdicts, or count them.
    """
    include: list[dict[str, Any]] = Field(default_factory=list)
    """Only conditions that match one of these rules are run: factor = level, or a list of levels."""
    exclude: list[dict[str, Any]] = Field(default_factory=list)
    """Conditions that match one of these rules are not run."""

    @property
    def end(self) -> Until | None:
        """What ends a campaign early: a verdict where nothing says how long it runs."""
        stated = self.until or self.until_width_percent
        return stated if stated or self.blocks or self.minutes else "verdict"

    @property
    def most(self) -> int:
        """At most this many blocks."""
        return self.blocks or _MOST_BLOCKS

    @model_validator(mode="after")
    def _ends_in_one_way(self) -> "DesignTable":
        if self.until is not None and self.until_width_percent is not None:
            raise ValueError("give one of until and until_width_percent")
        if self.end is None and "at_least" in self.model_fields_set:
            raise ValueError(
                "at_least belongs to until and until_width_percent; give one of them, or remove it"
            )
        if self.end is not None and self.at_least > self.most:
            if "at_least" not in self.model_fields_set:
                why = f"{self.most} is fewer than at_least, by default {self.at_least}; give more blocks"
                raise misplaced("blocks", f"{why}, or a smaller at_least" if self.most >= 6 else why)
            raise ValueError(
                f"at_least is {self.at_least} and blocks {self.most}; give blocks at least as many"
            )
        return self


class Document(Table):
    """The whole file."""

    name: ExperimentName | None = None
    """Names the experiment in the store: the file's name where nothing says."""
    question: Annotated[str, Field(min_length=1)] | None = None
    """What you want to know; it stands above the report."""
    factors: dict[str, Any]
    trial: Settings = Settings()
    """What stays the same in every trial."""
    design: DesignTable = DesignTable()
    """How often it is run, and what ends it."""
    perturb: PerturbTable = PerturbTable()
    """What is moved at random in each trial."""
    comparison: ComparisonDesign = ComparisonDesign()
    """What is asked."""
    simulate: Simulate = Simulate()
    """What is simulated of each trial beside what it counts."""
    subjects: dict[Name, Program] = Field(default_factory=dict)
    """Programs of your own."""
    ab: AcrossRevisions = AcrossRevisions()
    """How `assay ab` and `assay bisect` build each revision."""
    pitfall: PitfallTable = PitfallTable()
    """Whether the experiment misleads on purpose."""
    validations: Annotated[tuple[Validation, ...], Listed] = Field(alias="validate", default=())
    """Rules that every result must pass."""
    charts: Annotated[tuple[Chart, ...], Listed, Field(max_length=_MOST_CHARTS)] = Field(
        alias="chart", default=()
    )
    """Charts that the report has beside its own."""
    reported: Annotated[tuple[Reported, ...], Listed] = ()
    """What others report of the levels that are compared."""
