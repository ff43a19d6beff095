"""What commands print with `--json`; `docs/reference/json.md` describes it, and its schema comes from here.

python -m assay.cli.output > docs/reference/output.schema.json
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from assay.analysis import Analysis, Comparison
from assay.analysis.aa import FalseAlarms
from assay.analysis.planning import ComparisonForecast
from assay.engines import Engine
from assay.engines.types import Speed
from assay.experiment import Level
from assay.findings import Finding
from assay.runner.types import Status


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Output(_Part):
    """What a command prints.

    Attributes:
        version: of the shape. Keys may be added to it; a key that goes or changes its meaning raises it.
    """

    version: Literal[1] = 1


class Report(Output):
    """What `assay run`, `resume`, `aa` and `report` print: a campaign's findings and verdicts.

    Attributes:
        seed: from which order, seeds and perturbations were drawn.
        planned: number of trials in the plan.
        counts: status -> number of ended trials.
        overrides: options of `assay run` that changed what the experiment's file says.
        false_alarms: of an experiment that compares identical code; else null.
        compatible: whether these are no more than is promised; null where there are none.
        store: the store's file.
        page: the campaign's page; null where none was written.
    """

    campaign: int
    experiment: str
    question: str
    seed: int
    planned: int
    counts: Mapping[Status, int]
    overrides: tuple[str, ...]
    findings: tuple[Finding, ...]
    analysis: Analysis
    false_alarms: FalseAlarms | None
    compatible: bool | None
    store: Path
    page: Path | None


@dataclass(frozen=True)
class AuditFinding(Finding):
    """A finding, and the page of the guide that explains it."""

    guide: Path = Path()


class Audit(Output):
    """What `assay audit` prints.

    Attributes:
        campaign: number of the campaign that was audited; null where there was none.
        note: how campaign and file belong together, where that is not plain.
        experiment_findings: what is wrong before it runs.
        campaign_findings: what is wrong with the data.
    """

    campaign: int | None
    note: str
    experiment_findings: tuple[AuditFinding, ...]
    campaign_findings: tuple[AuditFinding, ...]


class Compared(Output):
    """What `assay compare` prints.

    Attributes:
        confidence: what was asked of every interval, from 0 to 1.
        comparisons: by condition, then by side; `level` and `baseline` are the names of sides.
    """

    metric: str
    better: Literal["higher", "lower"]
    smallest_effect_percent: float
    confidence: float
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]


class Forecast(Output):
    """What `assay plan` prints.

    Attributes:
        campaigns: those that the forecast rests on.
        blocks, minutes: what the slowest comparison takes; null where there is no forecast.
        width_percent: the full width of every interval, 100 (high / low - 1).
        confidence: of the intervals, from 0 to 1.
        planned: the blocks that the experiment plans.
        minutes_per_block: the time that a block takes.
        assumes: what it rests on, in sentences.
    """

    experiment: str
    campaigns: tuple[int, ...]
    blocks: int | None
    minutes: float | None
    width_percent: float
    confidence: float
    planned: int
    minutes_per_block: float
    comparisons: tuple[ComparisonForecast, ...]
    assumes: tuple[str, ...]


class Campaign(_Part):
    """A campaign of `assay list`; planned to timed_out are numbers of trials."""

    campaign: int
    experiment: str
    started: datetime
    planned: int
    ended: int
    valid: int
    invalid: int
    crashed: int
    timed_out: int
    state: str


class Campaigns(Output):
    """What `assay list` prints."""

    campaigns: tuple[Campaign, ...]


class Trial(_Part):
    """A trial of `assay list trials`; wall_s is how long its process lived, seconds."""

    trial: int
    block: int
    group: int
    levels: Mapping[str, Level]
    status: Status
    wall_s: float
    reason: str


class Trials(Output):
    """What `assay list trials` prints."""

    campaign: int
    trials: tuple[Trial, ...]


class Subject(_Part):
    """A subject of `assay list subjects`; max_threads is null where there is no limit."""

    subject: str
    structure: str
    max_threads: int | None
    keys: tuple[str, ...]
    values: tuple[str, ...]
    operations: tuple[str, ...]
    description: str


class Subjects(Output):
    """What `assay list subjects` prints."""

    subjects: tuple[Subject, ...]


class Record(Output):
    """What `assay show` prints: everything that is kept of a trial.

    Attributes:
        levels: factor -> level.
        request, result: what the trial was asked and what it printed: see the protocol; result is null where
            it printed none.
    """

    model_config = ConfigDict(extra="allow")

    trial: int
    campaign: int
    experiment: str
    levels: Mapping[str, Level]
    status: Status
    reason: str
    request: Mapping[str, Any]
    result: Mapping[str, Any] | None


class Query(Output):
    """What `assay query` prints.

    Attributes:
        rows: of each column a number, a text or null; an infinity is "Infinity" or "-Infinity", a BLOB
            its bytes in hexadecimal.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[int | float | str | None, ...], ...]


class TestKind(_Part):
    """The tests of one kind of an engine: how many, and their smallest corrected p-value."""

    kind: str
    done: int
    smallest_p_adjusted: float


class JudgedEngine(_Part):
    """An engine as it was judged.

    Attributes:
        numbers: how many were drawn.
        reseed_every: numbers between two draws of new entropy; null where there was none.
        unavailable: why it could not be judged; else empty.
        speed_ns: nanoseconds a number.
    """

    engine: Engine
    numbers: int
    seed: int
    reseed_every: int | None
    unavailable: str
    verdict: Literal["accepted", "suspect", "rejected"] | None
    why: str
    effect: str
    tests: tuple[TestKind, ...]
    speed_ns: Speed | None


class Engines(Output):
    """What `assay engines` prints: what engines there are or, with names or --all, how they were judged."""

    engines: tuple[Engine, ...] | tuple[JudgedEngine, ...]


OUTPUTS: dict[str, type[Output]] = {
    "run": Report,
    "resume": Report,
    "aa": Report,
    "report": Report,
    "audit": Audit,
    "compare": Compared,
    "plan": Forecast,
    "list campaigns": Campaigns,
    "list trials": Trials,
    "list subjects": Subjects,
    "show": Record,
    "query": Query,
    "engines": Engines,
}
"""Command -> what it prints."""


def schema() -> str:
    """Return the JSON Schema of all that commands print, `$defs` by name of what is printed."""
    models = [(model, "serialization") for model in dict.fromkeys(OUTPUTS.values())]
    _, whole = models_json_schema(models, title="What assay prints with --json")  # type: ignore[arg-type]
    return json.dumps(whole, indent=2) + "\n"


if __name__ == "__main__":
    print(schema(), end="")
