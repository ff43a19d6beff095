"""The resolved experiment, as the plan, the audit and the report read it and as the store keeps it.

What is here is written to stores as JSON, which later versions have to read: see `Experiment.version`.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, pairwise, product
from os.path import normpath
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PositiveFloat,
    TypeAdapter,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)

from assay.errors import AssayError
from assay.experiment import placeholders
from assay.experiment.events import Simulate, host_independent, is_simulated
from assay.experiment.flaws import PitfallTable, flaws_of, marked
from assay.experiment.metrics import Better
from assay.experiment.perturb import UNMOVED, Perturb
from assay.experiment.settings import SURROUNDINGS, Settings
from assay.experiment.tables import (
    FOLLOWS,
    Listed,
    Metric,
    Name,
    NonEmptyWord,
    OneOrMore,
    PositiveEffect,
    PositivePercent,
    Resolved,
    Table,
    ValueOrTable,
    WithoutNul,
    Word,
    in_file,
    misplaced,
    read_as,
)
from assay.experiment.workload import with_threads
from assay.findings import Severity
from assay.words import listed, printable, show

EXPERIMENT_NAME_PATTERN = r"^[a-z][a-z0-9_-]*$"
ExperimentName = Annotated[str, Field(pattern=EXPERIMENT_NAME_PATTERN, max_length=64)]
BlockCount = Annotated[int, Field(ge=1, le=100_000)]
Minutes = Annotated[float, Field(gt=0, le=1_000_000)]
Seed = Annotated[int, Field(ge=0, lt=2**53)]
Repetitions = Annotated[int, Field(ge=0, le=5)]
RepeatMs = Annotated[int, Field(ge=0, le=3_600_000)]
Weight = Annotated[float, Field(gt=0, le=1e6)]
PathologicalShare = Annotated[float, Field(gt=0, lt=1)]

Level = str | int | float
Levels = Annotated[tuple[Level, ...], in_file(tuple[Any, ...])]
Ladder = Annotated[tuple[Level, ...], in_file(Annotated[tuple[Any, ...], Field(min_length=2)]), Listed]
_MOST_CHARTS = 100  # a page draws each, and each takes some 100 ms and 20 kB
_FACETS = {"anyOf": [{"type": "string"}, {"type": "array", "maxItems": 2, "items": {"type": "string"}}]}


class ComparisonDesign(Table):
    """[comparison]: what the verdicts are about."""

    metric: Metric = FOLLOWS
    """What is compared; throughput, or wall_ms of commands, where nothing says."""
    factor: str = FOLLOWS
    """Its levels are compared; needed where there are several factors."""
    baseline: Annotated[Level, in_file(Any)] = FOLLOWS
    """The level that every other is compared with: the first where nothing says."""
    stand_ins: Annotated[tuple[Level, ...], Listed, Resolved] = ()
    """Levels that are the baseline where it is not there, the first that is."""
    smallest_effect_percent: PositivePercent = 3.0
    """Smaller differences do not interest you: intervals within it are called equivalent. Where nothing says,
    a gate below 3 is the smallest effect too.
    """
    smallest_effect: PositiveEffect | None = None
    """The same in the metric's own units, which is then compared by differences and not by ratios."""
    gate_percent: PositivePercent | None = None
    """A level fails if it is shown to be worse than the baseline by more than this."""
    better: Better = FOLLOWS
    """Whether more is better, where neither the metric's unit nor its name says."""
    also: Annotated[dict[Metric, Better], in_file(ValueOrTable[list[Metric], dict[Metric, Better]])] = Field(
        default_factory=dict
    )
    """Further metrics, compared in the same way as a family of their own."""
    across: Annotated[
        dict[str, dict[str, Weight]], in_file(ValueOrTable[list[str], dict[str, dict[str, Weight]]])
    ] = Field(default_factory=dict)
    """Factors whose levels are workloads, over all of which verdicts are given too; or their weights."""
    correction: Literal["family", "none"] = "family"
    """Whether the intervals and verdicts of a family hold all together, or each by itself."""
    accept_invalid: bool = False
    """Whether levels some of whose trials are not valid get a verdict from their other trials."""
    accept_idle: bool = False
    """Whether trials in which practically nothing happens get a verdict, as those of an empty map."""
    ladders: Annotated[tuple[Ladder, ...], Listed] = ()
    """Levels in an order in which each is also compared with the one before it."""
    pathological: PathologicalShare | None = None
    """An outcome is pathological if it is worse than this share of the median of its condition."""
    campaigns: Annotated[int, Field(ge=1), Resolved] = 1
    """How many campaigns share the error of 5%, as the steps of a bisection do."""

    def baselines(self) -> tuple[Level, ...]:
        """Return the levels of which each context has one that its others are compared with."""
        return (self.baseline, *self.stand_ins)

    def rungs(self) -> list[tuple[Level, Level]]:
        """Return each level of a ladder but the first, after the one before it; each such pair once."""
        return list(dict.fromkeys(chain.from_iterable(map(pairwise, self.ladders))))

    def against(self) -> str:
        """Return in words what is compared with."""
        return " or ".join(str(level) for level in self.baselines())

    @property
    def metrics(self) -> list[tuple[str, str]]:
        """Return the key of each compared metric, and the metric."""
        return [("metric", self.metric), *(("also", metric) for metric in self.also)]

    @property
    def host_independent(self) -> bool:
        """Return whether nothing that is compared depends on the host and its load."""
        return all(map(host_independent, (self.metric, *self.also)))

    def gated(self, percent: float) -> Self:
        """Return the same with a gate, and with a smallest effect that is not above it."""
        smallest = min(self.smallest_effect_percent, percent)
        return self.altered(gate_percent=percent, smallest_effect_percent=smallest)


def about(factor: str, baseline: Level) -> dict[str, Any]:
    """Return what a comparison has of its own that is about another factor than that of the file."""
    return {"factor": factor, "baseline": baseline, "stand_ins": (), "ladders": (), "across": {}}


LevelsOfFactors = dict[str, Annotated[Levels, OneOrMore, WithJsonSchema({}, mode="validation")]]
"""Factor -> one of its levels, or several."""
Rules = Annotated[tuple[LevelsOfFactors, ...], Listed]
"""Each names factors, with those of their levels that match it."""
Busy = Literal["wait", "withhold", "count"]
Until = Literal["verdict", "gate"] | PositivePercent


_MOST_BLOCKS = 60  # where the results end a campaign and nothing else says how many


class Design(Table):
    """[design]: how often and with what chance the conditions are run."""

    blocks: BlockCount = FOLLOWS
    """How many times every condition is run; the most, where something else ends the campaign."""
    minutes: Minutes | None = None
    """The campaign ends with the block in which this many minutes have passed."""
    until: Literal["verdict", "gate"] | None = None
    """The campaign ends when every comparison has a verdict, or when each has passed or failed the gate."""
    until_width_percent: PositivePercent | None = None
    """The campaign ends when every interval is at most this many percent wide: 100 (high / low - 1)."""
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
    include: Rules = ()
    """Only conditions that match one of these rules are run: factor = level, or a list of levels."""
    exclude: Rules = ()
    """Conditions that match one of these rules are not run."""

    @property
    def end(self) -> Until | None:
        """Return what ends a campaign early: what is seen at a look, or the width of intervals in percent."""
        return self.until or self.until_width_percent

    def exactly(self, blocks: int, minutes: float | None = None) -> Self:
        """Return the same design with a fixed number of blocks, which only `minutes` can end early."""
        return self.altered(blocks=blocks, minutes=minutes, until=None, until_width_percent=None)

    @model_validator(mode="before")
    @classmethod
    def _runs_until_a_verdict(cls, table: Any) -> Any:
        """Fill in what ends a campaign where nothing says, and the blocks that it then has at most."""
        if not isinstance(table, dict):
            return table
        if all(table.get(key) is None for key in ("blocks", "minutes", "until", "until_width_percent")):
            table = {**table, "until": "verdict"}
        if table.get("until") or table.get("until_width_percent"):
            table = {"blocks": _MOST_BLOCKS} | table
        return table

    @model_validator(mode="after")
    def _ends_in_one_way(self, info: ValidationInfo) -> Self:
        if self.until is not None and self.until_width_percent is not None:
            raise ValueError("give one of until and until_width_percent")
        if not info.context:  # not of a file
            return self
        if self.end is None and "at_least" in self.model_fields_set:
            raise ValueError(
                "at_least belongs to until and until_width_percent; give one of them, or remove it"
            )
        if self.end is not None and self.at_least > self.blocks:
            if "at_least" not in self.model_fields_set:
                why = f"{self.blocks} is fewer than at_least, by default {self.at_least}; give more blocks"
                raise misplaced("blocks", f"{why}, or a smaller at_least" if self.blocks >= 6 else why)
            raise ValueError(
                f"at_least is {self.at_least} and blocks {self.blocks}; give blocks at least as many"
            )
        return self


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}; correct it") from error


def _regular_expression(pattern: str) -> str:
    groups = _compiled(pattern).groups
    if groups != 1:
        raise ValueError(
            f"has {groups} groups; put one, (...), around the number, and (?:...) around anything else"
        )
    return pattern


def _pointer(text: str) -> str:
    if re.fullmatch(r"(/([^~/]|~[01])*)*", text):
        return text
    raise ValueError(
        f'{show(text)} is not a JSON Pointer; write keys and indices, each after a slash: "/runs/0/rate"'
    )


_LINK_PLACEHOLDERS = {"output": "the file to be written", "layout": "the seed of the order of its sections"}


def _link_command(command: str) -> str:
    named = set(placeholders.names(command))
    if unknown := sorted(named - {*_LINK_PLACEHOLDERS, "lld"}):
        shown = show("{" + unknown[0] + "}")
        raise ValueError(
            f"{shown} is neither {{output}} nor {{layout}} nor {{lld}}; write {{{{ for a brace of the shell"
        )
    for placeholder, meaning in _LINK_PLACEHOLDERS.items():
        if placeholder not in named:
            raise ValueError(f"does not say {{{placeholder}}}, {meaning}; put it in its place")
    return command


LinkCommand = Annotated[NonEmptyWord, AfterValidator(_link_command)]
Pattern = Annotated[str, AfterValidator(_regular_expression)]
Pointer = Annotated[str, Field(max_length=200), AfterValidator(_pointer)]


class Extraction(Table):
    """Where a metric is in what a program prints: one [subjects.NAME.extract] METRIC that is a table."""

    metric: Annotated[Metric, read_as(Metric | None), Resolved] = FOLLOWS
    pattern: Pattern | None = None
    """A regular expression with one group around the number; it matches in one place."""
    line: Annotated[str, Field(min_length=1)] | None = None
    """The NAME of the one line NAME=DATA that holds it."""
    pointer: Annotated[Pointer | None, Field(alias="json")] = None
    """The number's place in JSON, such as "/runs/0/rate": a JSON Pointer (RFC 6901)."""
    unit: Annotated[str, Field(max_length=16)] = ""
    """What the metric is counted in, such as "ms" or "MB/s"."""

    @model_validator(mode="after")
    def _looks_for_one_thing(self) -> Self:
        given = sum(place is not None for place in (self.pattern, self.line, self.pointer))
        if given == 0:
            raise ValueError("says nowhere to look; give one of pattern, line and json")
        if given > 1:
            raise ValueError("has several places to look; keep one of pattern, line and json")
        return self

    @model_validator(mode="before")
    @classmethod
    def _leaves_better_to_the_comparison(cls, table: Any) -> Any:
        if isinstance(table, dict) and "better" in table:
            raise misplaced("better", "belongs in [comparison]; move it there")
        return table


Output = Literal["kept", "discarded", "same"]


Tool = Literal["google-benchmark", "catch2"]
"""Whose output a program's is: that of one benchmark holds its metrics."""

Extract = Literal["protocol", "lines"] | Tool | tuple[Extraction, ...]


class CommandRun(Table):
    """How a trial runs a command."""

    repeat_ms: RepeatMs = 0
    """A command is run again and again until this many milliseconds have passed."""
    input: NonEmptyWord | None = None
    """A file, relative to this one, that a command reads on standard input."""
    prepare: NonEmptyWord | None = None
    """A command for the shell that runs before each trial of a command."""
    ignore_failure: bool = False
    """Whether a command may exit with another code than 0."""
    wait_for_children: bool = False
    """Whether a command has ended only when the processes that it started have, too."""
    output: Output = "kept"
    """What becomes of a command's output: "same" compares it with that of the others of its group."""


class Program(CommandRun):
    """[subjects.NAME]: a program of one's own that is a subject. Resolved, its files have absolute paths."""

    table: Annotated[Name, Resolved] = FOLLOWS
    """NAME, which perhaps describes several subjects."""
    program: NonEmptyWord
    """An executable, relative to this file."""
    names: Annotated[list[Name], Field(min_length=1)] | None = None
    """The subjects that the program runs, where they are several."""
    arguments: Annotated[tuple[Word, ...], Listed] = ()
    """The words after the program on its command line, with placeholders such as {threads}."""
    build: NonEmptyWord | None = None
    """A command for the shell that runs once, before the campaign."""
    link: LinkCommand | None = None
    """A command for the shell that links the program to {output} in the order of the seed {layout}."""
    cleanup: NonEmptyWord | None = None
    """A command for the shell that runs once, when the campaign ends."""
    protocol: bool | None = None
    """Whether it speaks the trial protocol: false for a command of which only the time is measured."""
    fixture: bool = False
    """Whether it is a program of fixtures (assay::fixture), which have neither keys nor a mix."""
    extract: ValueOrTable[Literal["lines"] | Tool, dict[Metric, ValueOrTable[Pattern, Extraction]]] | None = (
        None
    )
    """How metrics are found in what it prints."""

    @property
    def path(self) -> Path:
        """Return the executable; the bare name of a command that is not on the PATH."""
        return Path(self.program)

    @property
    def is_command(self) -> bool:
        """Return whether it knows nothing of the trial protocol."""
        return self.extract is not None or self.protocol is False

    @property
    def extraction(self) -> Extract:
        """Return how metrics are found in what it prints, as plans say it."""
        if isinstance(self.extract, dict):
            return tuple(
                (Extraction(pattern=rule) if isinstance(rule, str) else rule).altered(metric=metric)
                for metric, rule in self.extract.items()
            )
        return self.extract or (() if self.protocol is False else "protocol")

    @property
    def rules(self) -> tuple[Extraction, ...]:
        """Return its rules for metrics, where it has any."""
        return self.extraction if isinstance(self.extraction, tuple) else ()


class Validation(Table):
    """A rule of the user's own about a metric or a text: one [[validate]], with one demand."""

    metric: Metric | None = None
    text: NonEmptyWord | None = None
    """What trials report in words: NAME of a line NAME=DATA, or of a text in the result's details."""
    is_: Annotated[Literal["present", "positive"] | None, Field(alias="is")] = None
    """In every valid trial."""
    equals: float | str | None = None
    matches: Annotated[str, AfterValidator(lambda pattern: _compiled(pattern).pattern)] | None = None
    """A regular expression that is somewhere in the text."""
    between: Annotated[tuple[float, ...], Listed, Field(min_length=2, max_length=2)] | None = None
    """The lowest value and the highest."""
    increases_with: str | None = None
    """A factor: medians of conditions that differ in it alone do not fall in the order of its levels."""
    decreases_with: str | None = None
    """A factor: medians of conditions that differ in it alone do not rise in the order of its levels."""
    severity: Severity = "error"

    @property
    def factor(self) -> str | None:
        """Return the factor whose levels the rule is about."""
        return self.increases_with or self.decreases_with

    @property
    def about(self) -> str:
        """Return the name of the metric or of the text."""
        return self.metric or self.text or ""

    @model_validator(mode="after")
    def _demands_one_thing(self) -> "Validation":
        if (self.metric is None) == (self.text is None):
            raise ValueError("give metric, for a number, or text, for words; one of the two")
        keys = ["is", "equals", "matches"]
        if self.text is None:
            keys = ["is", "equals", "between", "increases_with", "decreases_with"]
        demands = self.given().keys() - {"metric", "text", "severity"}
        if len(demands) != 1 or not demands <= set(keys):
            raise ValueError(f"give one of {listed(keys)}")
        if self.text is not None and self.is_ == "positive":
            raise ValueError('a text is not positive; give equals, matches or is = "present"')
        if self.equals is not None and isinstance(self.equals, str) != (self.text is not None):
            raise ValueError("equals is a number for a metric and words in quotes for a text; change it")
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError("between gives the lowest value first, then the highest; swap them")
        return self


# kind of chart -> its axes -> what each may show. Whatever is not a factor is taken for a metric.
AXES: Mapping[str, Mapping[str, Literal["factor", "metric", "either"]]] = {
    "lines": {"x": "either", "y": "metric"},
    "bars": {"x": "factor", "y": "metric"},
    "cumulative": {"x": "metric"},
    "box": {"x": "factor", "y": "metric"},
}
_HEADINGS = {
    "lines": "{y} over {x}",
    "bars": "{y} by {x}",
    "cumulative": "cumulative distribution of {x}",
    "box": "{y} by {x}",
}


class Chart(Table):
    """A chart of the user's own: one [[chart]]. Names are factors or metrics."""

    kind: Literal["lines", "bars", "cumulative", "box"]
    title: Annotated[str, Field(min_length=1)] | None = None
    x: str
    y: str | None = None
    """A metric; a cumulative chart has none."""
    color: str | None = None
    """A factor whose levels are told apart."""
    facet: Annotated[tuple[str, ...], OneOrMore, WithJsonSchema(_FACETS, mode="validation")] = ()
    """Factors; each combination of their levels gets a chart of its own."""
    filter: LevelsOfFactors = Field(default_factory=dict)
    """Factor -> the levels that are drawn."""

    @property
    def heading(self) -> str:
        """Return what stands above the chart."""
        return self.title or _HEADINGS[self.kind].format(x=self.x, y=self.y)

    @model_validator(mode="after")
    def _has_its_axes(self) -> "Chart":
        if self.y is None and "y" in AXES[self.kind]:
            raise ValueError(f"y is missing; a chart of kind {self.kind} needs it")
        if self.y is not None and "y" not in AXES[self.kind]:
            raise misplaced("y", f"a chart of kind {self.kind} has no y; remove it")
        return self


class Reported(Table):
    """What somebody else reports of a level of the compared factor: one [[reported]]."""

    level: Annotated[Level, in_file(Any)]
    over: Annotated[Level | None, in_file(Any)] = None
    """The level before it on a ladder, where they say something of that step; None: the baseline."""
    where: LevelsOfFactors = Field(default_factory=dict)
    """Factor -> the levels with which it was measured; in all contexts where nothing says."""
    says: NonEmptyWord
    """In words, with what it was measured on."""
    source: NonEmptyWord
    """Where it stands."""
    ratio: Annotated[list[PositiveFloat], Field(min_length=2, max_length=2)] | None = None
    """From and to which ratio to the baseline, or to `over`, where they say so in numbers."""

    @field_validator("ratio")
    @classmethod
    def _ascending(cls, ends: list[float] | None) -> list[float] | None:
        if ends and ends[0] > ends[1]:
            raise ValueError(f"begins at {ends[0]:g}, above its end {ends[1]:g}; exchange them")
        return ends


def _read_as_settings(table: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Return the settings of a file's table in their long form, which those in JSON must have."""
    if info.context:
        return Settings.model_validate(table, context=info.context).given()
    if info.mode == "json":
        settings = Settings.model_validate(table)
        if settings.model_dump(mode="json", exclude_none=True) != table:
            raise ValueError("holds settings that are not written in full; do so")
    return handler(table)


def _by_level(levels: Any) -> Any:
    """Return level -> settings, of the pairs that JSON has because its keys are strings."""
    if not isinstance(levels, list):
        return levels
    pairs = TypeAdapter(list[tuple[Level, dict[str, Any]]]).validate_python(levels)
    if len(dict(pairs)) < len(pairs):
        raise ValueError("has a level twice; remove one")
    return dict(pairs)


Changes = Annotated[
    dict[Level, Annotated[dict[str, Any], WrapValidator(_read_as_settings)]],
    BeforeValidator(_by_level),
    PlainSerializer(lambda changes: list(changes.items()), when_used="json"),
]
"""Level -> the settings that it changes."""


class Varied(Table):
    """What a level of the factor `perturbed` draws: see `sensitivity`."""

    moved: Perturb = UNMOVED
    """What is drawn once for a configuration."""
    redrawn: Perturb = UNMOVED
    """What is drawn, around the configuration, for each of its trials."""
    scale: Annotated[float, Field(ge=0)] = 0
    """How many times the C of `moved` that of `redrawn` is."""


SHORT = 10
"""Digits of a commit's hash that people read."""


@dataclass(frozen=True)
class Revision:
    """A commit of a project, or its working tree as it was at a moment.

    Attributes:
        commit: its hash; for a working tree with changes, the hash of a commit made from it.
        name: as the user calls it: main, HEAD~3.
        subject: the first line of its message.
        committed_at: when it was committed.
        tree: the hash of its files: equal where all files are.
        changed: the files of the working tree that are not as committed; none of a commit.
    """

    __pydantic_config__: ClassVar = ConfigDict(strict=False)  # JSON has neither times nor tuples

    commit: str
    name: str
    subject: str
    committed_at: datetime
    tree: str
    changed: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The start of the hash, as people write it."""
        return self.commit[:SHORT]

    def __str__(self) -> str:
        """Return name and hash, for messages."""
        return self.short if self.commit.startswith(self.name) else f"{printable(self.name)} ({self.short})"


@dataclass(frozen=True, kw_only=True)
class MeasuredRevision(Revision):
    """A revision that is built in a worktree.

    Attributes:
        folder: its worktree.
        changed_by_build: the tracked files that building it changed.
    """

    folder: Path
    changed_by_build: tuple[str, ...] = ()


class Revisions(Table):
    """The revisions that are the levels of the factor `revision`.

    Attributes:
        root: the user's checkout, in which the experiment's file is; nothing in it is run.
        levels: level -> what it is.
    """

    root: Path
    levels: dict[str, MeasuredRevision]

    def place(self, path: Path, level: Level) -> Path:
        """Return where a file of the checkout is in the worktree of a level; others stay where they are."""
        inside = Path(normpath(path))
        if not inside.is_relative_to(self.root):
            return path
        return self.levels[str(level)].folder / inside.relative_to(self.root)


class AcrossRevisions(Table):
    """[ab]: what `assay ab` and `assay bisect` do in the worktree of each revision."""

    build: NonEmptyWord | None = None
    """A command for the shell that builds a revision, in the top folder of its worktree."""


REVISION = "revision"
"""The factor whose levels are revisions of one project."""


class Experiment(Table):
    """A question about software, as one TOML file asks it; once `read_experiment` has resolved it, in full.

    What a file has not is `Resolved`. Its JSON, which stores keep, is the same experiment again.
    """

    version: Annotated[Literal[2], Resolved] = 2
    """The version of this model, by which a reader knows how to read a stored experiment."""
    name: Annotated[str, in_file(ExperimentName)] = FOLLOWS
    """Names the experiment in the store: the file's name where nothing says."""
    question: Annotated[str, in_file(Annotated[str, Field(min_length=1)])] = FOLLOWS
    """What you want to know; it stands above the report."""
    changes: Annotated[dict[Name, Changes], in_file(dict[str, Any])] = Field(alias="factors")
    """Factor -> level -> the settings that this level changes, in the order of the file."""
    fixed: Annotated[dict[str, Any], WrapValidator(_read_as_settings, json_schema_input_type=Settings)] = (
        Field(alias="trial", default_factory=dict)
    )
    """What stays the same in every trial."""
    design: Design = Design()
    """How often it is run, and what ends it."""
    perturb: Perturb = Perturb()
    """What is moved at random in each trial."""
    comparison: ComparisonDesign = ComparisonDesign()
    """What is asked."""
    simulate: Simulate = Simulate()
    """What is simulated of each trial beside what it counts."""
    programs: dict[Name, Program] = Field(alias="subjects", default_factory=dict)
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
    path: Annotated[Path, WithoutNul, Resolved] = FOLLOWS
    """The file."""
    source: Annotated[str, Field(exclude=True, repr=False), Resolved] = ""
    """The file's text, which is kept beside the JSON and not in it."""
    made: Annotated[bool, Resolved] = False
    """A command made it, and the user has no file of it."""
    identical: Annotated[bool, Resolved] = False
    """Every condition is compared with a second copy of itself, by the factor `copy`."""
    varied: Annotated[dict[str, Varied], Resolved] = Field(default_factory=dict)
    """Level of the factor `perturbed` -> what it draws, where sensitivity is measured."""
    revisions: Annotated[Revisions | None, Resolved] = None
    """Those that are compared by the factor `revision`."""
    digests: Annotated[dict[str, str], Resolved] = Field(default_factory=dict)
    """File of an empirical distribution -> the digest of its bytes, where `load` read them."""
    overrides: Annotated[tuple[str, ...], Listed, Resolved] = ()
    """Options of the command line that changed what the file says, such as `--blocks 4`."""

    @model_validator(mode="after")
    def _is_whole(self, info: ValidationInfo) -> Self:
        """Refuse what leaves out what a file may: it was read already."""
        if info.context:
            return self
        for table, keys in (
            (self, ("name", "question", "path")),
            (self.design, ("blocks",)),
            (self.comparison, ("metric", "factor", "baseline", "better")),
        ):
            if missing := [key for key in keys if getattr(table, key) is None]:
                raise ValueError(f"{missing[0]} is missing")
        if info.mode == "json":
            self._check_names()
        return self

    def _check_names(self) -> None:
        """Refuse what names a factor that is not there, a rule that names none, and trials of no subject."""
        rules = (*self.design.include, *self.design.exclude)
        named = {self.comparison.factor, *self.comparison.across, *chain.from_iterable(rules)}
        named.update(*(chart.filter for chart in self.charts), *(other.where for other in self.reported))
        if unknown := sorted(named - self.changes.keys()):
            raise ValueError(f"{show(unknown[0])} is not a factor")
        if not all(rules):
            raise ValueError("an empty rule matches everything")
        if not all(self.changes.values()):
            raise ValueError("a factor has no levels")
        if self.changes[self.comparison.factor].keys().isdisjoint(self.comparison.baselines()):
            raise ValueError("the baseline is not a level of the compared factor")
        changed = (all("subject" in change for change in of.values()) for of in self.changes.values())
        if "subject" not in self.fixed and not any(changed):
            raise ValueError("subject is missing")

    @property
    def events(self) -> frozenset[str]:
        """Return the events that any trial names."""
        every = (self.settings(condition).get("events", ()) for condition in self.conditions())
        return frozenset(chain.from_iterable(every))

    @property
    def simulates_everywhere(self) -> bool:
        """Return whether events are simulated also where the host counts them."""
        compared = (self.comparison.metric, *self.comparison.also)
        return bool(self.simulate.operations) or any(map(is_simulated, compared))

    @property
    def factors(self) -> dict[str, tuple[Level, ...]]:
        """Return factor -> its levels, in the order of the file."""
        return {factor: tuple(levels) for factor, levels in self.changes.items()}

    @property
    def origin(self) -> tuple[Path | None, str | None, dict[str, str]]:
        """Return its file and text, where the user has them, and setting -> the option that gave it."""
        options = [option for option in self.overrides if option.startswith("--set ")]
        names = [option.removeprefix("--set ").partition("=")[0].strip() for option in options]
        return None if self.made else self.path, self.source or None, dict(zip(names, options, strict=True))

    def tables(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Yield each table of settings, [trial] and every level, with its key."""
        yield ("trial",), self.fixed
        for factor, levels in self.changes.items():
            for level, settings in levels.items():
                yield ("factors", factor, str(level)), settings

    def flaws(self) -> tuple[str, ...]:
        """Return all flaws that trials of any condition have, each once."""
        conditions = map(self.settings, self.conditions())
        return tuple(dict.fromkeys(flaw for settings in conditions for flaw in flaws_of(settings)))

    @property
    def mark(self) -> str:
        """Return in words that trials mislead on purpose, and how; empty where none does."""
        deliberate = "misleads on purpose" if self.pitfall.deliberate else ""
        return marked(self.flaws()) or deliberate

    def reject_pitfall(self, command: str) -> None:
        """Refuse it to a command whose answer would be taken for one about the code.

        Raises:
            AssayError: it misleads on purpose.
        """
        if self.mark:
            raise AssayError(
                f"{self.path}: {self.mark}; {command} takes honest experiments alone: see this one with"
                " assay run, or take its flaws and [pitfall] out"
            )

    def unit(self, metric: str) -> str:
        """Return the unit that the extraction rules give a metric; empty where none does."""
        rules = (rule for program in self.programs.values() for rule in program.rules)
        return next((rule.unit for rule in rules if rule.metric == metric), "")

    def conditions(self) -> list[dict[str, Level]]:
        """Return every condition that is not left out, as factor -> level; the last factor varies fastest."""
        every = (dict(zip(self.changes, levels, strict=True)) for levels in product(*self.changes.values()))
        included, excluded = _matcher(self.design.include), _matcher(self.design.exclude)
        return [
            condition
            for condition in every
            if (not self.design.include or included(condition)) and not excluded(condition)
        ]

    def subjects(self) -> set[str]:
        """Return the subjects of the conditions: those that are measured."""
        return {self.settings(condition)["subject"] for condition in self.conditions()}

    def context(self, condition: Mapping[str, Level]) -> tuple[Level, ...]:
        """Return the levels of a condition less that of the compared factor."""
        return tuple(condition[factor] for factor in self.changes if factor != self.comparison.factor)

    def groups(self) -> dict[tuple[Level, ...], list[dict[str, Level]]]:
        """Return context -> its conditions, which differ in the compared factor alone."""
        groups: dict[tuple[Level, ...], list[dict[str, Level]]] = {}
        for condition in self.conditions():
            groups.setdefault(self.context(condition), []).append(condition)
        return groups

    def reported_of(self, context: Mapping[str, Level], level: Level, over: Level) -> list[Reported]:
        """Return what others report of one level over another in a context."""
        return [
            other
            for other in self.reported
            if other.level == level
            and (over in self.comparison.baselines() if other.over is None else over == other.over)
            and all(context.get(factor) in levels for factor, levels in other.where.items())
        ]

    def weight(self, context: Mapping[str, Level]) -> float:
        """Return the weight of the workload that a context belongs to: the product of its levels' weights."""
        across = self.comparison.across.items()
        return math.prod(weights.get(str(context[factor]), 1.0) for factor, weights in across)

    def baseline_by_context(self) -> dict[tuple[Level, ...], Level]:
        """Return context -> the level that its others are compared with, for those that have one."""
        baselines: dict[tuple[Level, ...], Level] = {}
        for context, group in self.groups().items():
            levels = {condition[self.comparison.factor] for condition in group}
            held = [level for level in self.comparison.baselines() if level in levels]
            if held:
                baselines[context] = held[0]
        return baselines

    def settings(self, condition: Mapping[str, Level]) -> dict[str, Any]:
        """Return the trial settings of a condition, before any perturbation; each role has its threads."""
        settings = dict(self.fixed)
        for factor, level in condition.items():
            change = self.changes[factor][level]
            parameters = settings.get("parameters", {}) | change.get("parameters", {})
            settings |= change
            if parameters:
                settings["parameters"] = parameters
        return with_threads(settings)

    def surroundings(self, condition: Mapping[str, Level]) -> dict[str, Any]:
        """Return the settings of a condition that the runner gives to its process."""
        settings = self.settings(condition)
        return {name: settings[name] for name in sorted(SURROUNDINGS) if name in settings}

    @property
    def moved(self) -> Perturb:
        """Return all that is moved at random in any trial."""
        return self.varied["everything"].moved if "everything" in self.varied else self.perturb

    def randomness(self) -> dict[str, float]:
        """Return levels of `perturbed` at which each trial is moved once more -> how many times C."""
        return {name: varied.scale for name, varied in self.varied.items() if varied.scale}

    @property
    def folder(self) -> Path:
        """Return where its commands and its steps run: the folder of its file."""
        return self.path.parent.absolute()

    def folder_of(self, condition: Mapping[str, Level]) -> Path:
        """Return the same for a condition: of several revisions, that in the worktree of its own."""
        return self.revisions.place(self.folder, condition[REVISION]) if self.revisions else self.folder

    def program_in_worktree(self, condition: Mapping[str, Level], subject: str) -> Program | None:
        """Return the program of a subject where a condition runs: in the worktree of its revision."""
        program, revisions = self.programs.get(subject), self.revisions
        if program is None or revisions is None:
            return program
        level = condition[REVISION]
        input_file = program.input and str(revisions.place(Path(program.input), level))
        return program.altered(program=str(revisions.place(program.path, level)), input=input_file)

    def in_worktree(self, condition: Mapping[str, Level]) -> Self:
        """Return the experiment as it is where a condition runs: in the worktree of its revision."""
        revisions = self.revisions
        if revisions is None:
            return self
        programs = {subject: self.program_in_worktree(condition, subject) for subject in self.programs}
        path = revisions.place(self.path.absolute(), condition[REVISION])
        return self.altered(path=path, programs=programs, revisions=None)

    def in_worktrees(self) -> dict[str, Self]:
        """Return level of `revision` -> the experiment in its worktree; without revisions "" -> itself."""
        levels = self.revisions.levels if self.revisions else [""]
        return {level: self.in_worktree({REVISION: level}) for level in levels}

    def is_command(self, subject: str) -> bool:
        """Return whether a subject is a program that knows nothing of the trial protocol."""
        return subject in self.programs and self.programs[subject].is_command

    def is_fixture(self, subject: str) -> bool:
        """Return whether a subject is a fixture."""
        return subject in self.programs and self.programs[subject].fixture


def _matcher(rules: Rules) -> Callable[[Mapping[str, Level]], bool]:
    """Return what tells whether a condition matches a rule; it looks at the rules of its levels alone."""
    leading: dict[tuple[str, Level], list[dict[str, frozenset[Level]]]] = {}
    for rule in rules:
        levels_of = {factor: frozenset(levels) for factor, levels in rule.items()}
        factor = min(levels_of, key=lambda name: len(levels_of[name]))
        for level in levels_of[factor]:
            leading.setdefault((factor, level), []).append(levels_of)

    def matches(condition: Mapping[str, Level]) -> bool:
        return any(
            all(condition[other] in levels for other, levels in rule.items())
            for led in condition.items()
            for rule in leading.get(led, ())
        )

    return matches
