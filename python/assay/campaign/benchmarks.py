"""Reads what `assay ab` and `assay bisect` measure: an experiment, commands, or another tool's benchmarks."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay import programs
from assay.errors import AssayError
from assay.experiment import Experiment, load, made
from assay.experiment.metrics import Better, better
from assay.experiment.race import METRICS, REPEAT_MS, Entrant, Race, race_tables, split
from assay.experiment.tools import METRIC, tool_tables
from assay.experiment.types import MeasuredRevision
from assay.report.ab import SkippedBenchmark
from assay.runner.process import StopSignals
from assay.runner.tools import benchmarks_of
from assay.words import listed, printable

SMALLEST_EFFECT_PERCENT = 1.0
_SUFFIX = ".toml"


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest:
    """What a command line requests to be measured.

    Attributes:
        words: an experiment's file, or commands; empty if another tool's benchmarks are measured.
        google_benchmark: a program of Google Benchmark with its arguments, to measure its benchmarks; or "".
        catch2: the same for Catch2.
        chosen: which benchmarks of the program; "" for all.
        shell: whether a shell reads the commands; None: if one of them needs it.
        gate: percent; None without a gate.
        on_hosts: hosts measure it, which do not link programs anew.

    Raises:
        AssayError: the options do not go together, or nothing is to be measured.
    """

    words: Sequence[str] = ()
    build: str = ""
    google_benchmark: str = ""
    catch2: str = ""
    chosen: str = ""
    metric: str = ""
    gate: float | None = None
    link: str = ""
    setup: str = ""
    shell: bool | None = None
    same_output: bool = False
    seed: int | None = None
    on_hosts: bool = False

    def __post_init__(self) -> None:
        """Check that the options go together."""
        files = [word for word in self.words if word.endswith(_SUFFIX) and Path(word).exists()]
        ways = {
            "an experiment": bool(files),
            "commands": len(self.words) > len(files),
            "--google-benchmark": bool(self.google_benchmark),
            "--catch2": bool(self.catch2),
        }
        given = [way for way, is_given in ways.items() if is_given]
        if not given:
            raise AssayError(
                "nothing is to be measured; name an experiment's file or commands, or give --google-benchmark"
                " or --catch2"
            )
        if len(given) > 1 or len(files) > 1:
            several = listed(given) if len(given) > 1 else f"{len(files)} experiments"
            raise AssayError(f"{several} are measured one at a time; leave all but one out")
        of_commands = {
            "--setup": self.setup,
            "--shell": self.shell is not None,
            "--same-output": self.same_output,
        }
        for option, value in of_commands.items():
            if value and given != ["commands"]:
                raise AssayError(f"{option} is for commands; leave it out")
        if self.chosen and not self.tool:
            raise AssayError("--filter is for --google-benchmark and --catch2; leave it out")
        if self.link and files:
            raise AssayError("--link is for what has no file; write [subjects.NAME] link in the experiment's")
        if self.metric and self.metric not in METRICS and not files:
            _direction(self.metric)  # before anything is built

    @property
    def tool(self) -> Literal["", "google-benchmark", "catch2"]:
        """Return the tool whose benchmarks are measured; "" if an experiment or commands are measured."""
        return "google-benchmark" if self.google_benchmark else "catch2" if self.catch2 else ""

    @property
    def program(self) -> str:
        """Return the tool's program, with its arguments."""
        return self.google_benchmark or self.catch2

    @property
    def folder(self) -> Path:
        """Return the project's folder: the folder of the experiment, or the present one."""
        return self.file.resolve().parent if self.file else Path.cwd()

    @property
    def file(self) -> Path | None:
        """Return the experiment's file, if an experiment is measured."""
        return Path(self.words[0]) if self.words and self.words[0].endswith(_SUFFIX) else None


def own_experiment(request: ComparisonRequest) -> Experiment | None:
    """Return the experiment in the requested file; None if no file is measured.

    Raises:
        AssayError: there is a mistake in it, or it misleads on purpose.
    """
    if request.file is None:
        return None
    # Its programs need not exist yet: they are built in the worktrees.
    experiment = load(request.file.resolve(), identical=True, built=False)
    experiment.reject_pitfall("a comparison of revisions")
    return experiment


def apply_overrides(experiment: Experiment, request: ComparisonRequest) -> Experiment:
    """Return an experiment with the changes that the command line requests."""
    changed: dict[str, Any] = {}
    comparison: dict[str, Any] = {}
    if request.gate is not None:  # differences within the gate are of no interest either
        comparison = {"gate_percent": request.gate, "smallest_effect_percent": request.gate}
    if request.file and request.metric:
        direction = _direction(request.metric, experiment.unit(request.metric))
        also = {name: better for name, better in experiment.comparison.also.items() if name != request.metric}
        comparison |= {"metric": request.metric, "better": direction, "also": also}
    if not (request.on_hosts or _forbids_layouts(experiment)):
        changed["perturb"] = {"layout": True}
    if request.seed is not None:
        changed["design"] = {"seed": request.seed}
    if request.build:
        changed["ab"] = {"build": request.build}
    return experiment.altered(comparison=comparison, **changed)


def _direction(metric: str, unit: str = "") -> Better:
    """Return which values of a metric are better.

    Raises:
        AssayError: the metric's name does not say so.
    """
    direction = better(metric, unit)
    if direction is None:
        raise AssayError(
            f"--metric {printable(metric)}: its name does not say which values are better; call it"
            f" {metric}_ns, {metric}_bytes or {metric}_per_s, or write an experiment, which can say it"
        )
    return direction


def _forbids_layouts(experiment: Experiment) -> bool:
    """Return whether the experiment's file forbids to draw layouts; it may also say nothing."""
    return tomllib.loads(experiment.source).get("perturb", {}).get("layout") is False


def written_experiment(
    request: ComparisonRequest, root: Path, levels: Mapping[str, MeasuredRevision], stop: StopSignals
) -> tuple[Experiment | None, tuple[SkippedBenchmark, ...]]:
    """Return the experiment that a command line describes, and the benchmarks that some revision lacks."""
    folder = Path.cwd().resolve()
    skipped: tuple[SkippedBenchmark, ...] = ()
    if request.tool:
        tables, skipped = _tables_of_tool(request, folder.relative_to(root), levels, stop)
    else:
        tables = _tables_of_commands(request)
    return made(tables, folder / "ab.toml", identical=True) if tables else None, skipped


def _tables_of_commands(request: ComparisonRequest) -> dict[str, Any]:
    metric = METRICS.get(request.metric or "time", request.metric)
    printed = metric not in METRICS.values()
    options: dict[str, Any] = {"output": "same"} if request.same_output else {}
    if printed:
        options["extract"] = "lines"
    elif not request.same_output:
        options |= {"output": "discarded", "repeat_ms": REPEAT_MS}
    if request.link:
        options["link"] = request.link
    race = Race(
        entrants=[Entrant(words, command=True) for words in request.words],
        metric=metric,
        better=_direction(metric) if printed else "lower",
        smallest_effect_percent=SMALLEST_EFFECT_PERCENT,
        shell=request.shell,
        commands=options,
        setup=request.setup,
        factor="benchmark",
    )
    if request.link and race.uses_shell and not all("{linked}" in words for words in request.words):
        raise AssayError("--link: sh reads the commands; write {linked} where the program's name stands")
    taken = [entry["name"] for entry in programs.listing(programs.find("assay-trial"))]
    return race_tables(race, taken, {"blocks": 1})


def _tables_of_tool(
    request: ComparisonRequest, folder: Path, levels: Mapping[str, MeasuredRevision], stop: StopSignals
) -> tuple[dict[str, Any], tuple[SkippedBenchmark, ...]]:
    """Return an experiment's tables about another tool's benchmarks; none if the revisions share none."""
    assert request.tool
    words = split(request.program)
    by_level = {
        level: benchmarks_of(request.tool, revision.folder / folder, words, request.chosen, stop)
        for level, revision in levels.items()
    }
    every = {name: parameters for named in by_level.values() for name, parameters in named.items()}
    if not every:
        chosen = f" that {request.chosen} chooses" if request.chosen else ""
        why = f"{printable(request.program)} has no benchmark{chosen} in any revision"
        raise AssayError(f"{why}; look at its list, or give the command that builds it: --build")
    shared = {
        name: parameters
        for name, parameters in every.items()
        if all(name in named for named in by_level.values())
    }
    skipped = tuple(
        missing_benchmark(name, levels, [level for level in levels if name not in by_level[level]])
        for name in every
        if name not in shared
    )
    if not shared:
        return {}, skipped
    metric = request.metric or METRIC[request.tool]
    comparison = {
        "metric": metric,
        "better": _direction(metric),
        "smallest_effect_percent": SMALLEST_EFFECT_PERCENT,
    }
    return tool_tables(request.tool, words, shared, comparison, request.link), skipped


def missing_benchmark(
    name: str, levels: Mapping[str, MeasuredRevision], lacking: Sequence[str]
) -> SkippedBenchmark:
    """Return a benchmark that some levels lack, as skipped; the first of all levels is the baseline."""
    return SkippedBenchmark(name, "new" if next(iter(levels)) in lacking else "gone")
