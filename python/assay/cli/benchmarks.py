"""What `assay ab` and `assay bisect` measure: an experiment, commands, or the benchmarks of another tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.cli.options import real
from assay.cli.timed import without_place
from assay.errors import AssayError
from assay.words import listed, printable

if TYPE_CHECKING:
    from assay.experiment import Experiment
    from assay.experiment.metrics import Better
    from assay.experiment.types import MeasuredRevision
    from assay.report.ab import LeftOut
    from assay.runner.process import StopSignals

SMALLEST_EFFECT_PERCENT = 1.0
_SUFFIX = ".toml"


def _gate(text: str) -> float:
    return real(0.01, 100)(text.strip().removesuffix("%"))


WordsArgument = Annotated[list[str] | None, typer.Argument(metavar="BENCHMARK", hidden=True)]
BuildOption = Annotated[
    str,
    typer.Option(
        metavar="COMMAND",
        help="Build a revision: a command for the shell, run in the top folder of its worktree. Default:"
        " [ab] build of the experiment.",
    ),
]
GateOption = Annotated[
    Any,
    typer.Option(
        parser=_gate,
        metavar="PERCENT",
        help="What is slower by more than this fails: 2%. Without it, whatever is shown to be slower.",
    ),
]
MetricOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What is compared: of commands time, user_time, system_time, peak_memory or instructions, or"
        " whatever they print in a line NAME=DATA. Default: time, or what the experiment says.",
    ),
]
GoogleBenchmarkOption = Annotated[
    str,
    typer.Option(
        "--google-benchmark",
        metavar="COMMAND",
        help="Measure the benchmarks of this Google Benchmark program.",
    ),
]
Catch2Option = Annotated[
    str, typer.Option("--catch2", metavar="COMMAND", help="Measure the benchmarks of this Catch2 program.")
]
FilterOption = Annotated[
    str,
    typer.Option(
        "--filter",
        metavar="TEXT",
        help="Only these: a regular expression for Google Benchmark, a test specification for Catch2.",
    ),
]
LinkOption = Annotated[
    str,
    typer.Option(
        metavar="COMMAND",
        help="Link the program anew for each block: a command for the shell, as `link` of [subjects.NAME] in"
        " an experiment.",
    ),
]
SetupOption = Annotated[
    str,
    typer.Option(
        metavar="COMMAND", help="Of commands: run this in a shell in each worktree, once it is built."
    ),
]
ShellOption = Annotated[
    bool | None,
    typer.Option(
        "--shell/--no-shell",
        help="Whether sh reads the commands. Default: where one of them needs it.",
        show_default=False,
    ),
]
SameOutputOption = Annotated[
    bool,
    typer.Option("--same-output", help="Count no command that prints something else in the other revision."),
]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a command line asks to be measured.

    Attributes:
        words: an experiment's file, or commands; none where another tool's benchmarks are measured.
        google_benchmark: a program of that tool, with its arguments, whose benchmarks are measured; or "".
        catch2: the same of that tool.
        chosen: which of its benchmarks; "" for all.
        shell: whether a shell reads the commands; None: where one of them needs it.
        gate: percent; None without one.

    Raises:
        AssayError: the options do not go together, or nothing is to be measured.
    """

    words: Sequence[str]
    google_benchmark: str
    catch2: str
    chosen: str
    metric: str
    build: str
    link: str
    setup: str
    shell: bool | None
    same_output: bool
    gate: float | None
    seed: int | None

    def __post_init__(self) -> None:
        """Check that the options go together."""
        from assay.experiment.race import METRICS

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
        """Return whose benchmarks are measured; "" where there are words."""
        return "google-benchmark" if self.google_benchmark else "catch2" if self.catch2 else ""

    @property
    def program(self) -> str:
        """Return the program of that tool, with its arguments."""
        return self.google_benchmark or self.catch2

    @property
    def folder(self) -> Path:
        """Return where the project is that is meant: the folder of the experiment, or the present one."""
        return self.file.resolve().parent if self.file else Path.cwd()

    @property
    def file(self) -> Path | None:
        """Return the experiment's file, where one is measured."""
        return Path(self.words[0]) if self.words and self.words[0].endswith(_SUFFIX) else None


def own_experiment(asked: Asked) -> "Experiment | None":
    """Return the experiment in the file that is measured; None where none is.

    Raises:
        AssayError: there is a mistake in it, or it misleads on purpose.
    """
    from assay.experiment import load

    if asked.file is None:
        return None
    # Its programs are looked for in the worktrees, once they are built.
    experiment = load(asked.file.resolve(), identical=True, built=False)
    experiment.check_honest("a comparison of revisions")
    return experiment


def as_asked(experiment: "Experiment", asked: Asked) -> "Experiment":
    """Return an experiment with what the command line asks beyond its file."""
    comparison: dict[str, Any] = {}
    if asked.gate is not None:  # what is within the gate is of no interest either
        comparison = {"gate_percent": asked.gate, "smallest_effect_percent": asked.gate}
    if asked.file and asked.metric:
        direction = _direction(asked.metric, experiment.unit(asked.metric))
        also = {name: of for name, of in experiment.comparison.also.items() if name != asked.metric}
        comparison |= {"metric": asked.metric, "better": direction, "also": also}
    changed: dict[str, Any] = {"comparison": experiment.comparison.model_copy(update=comparison)}
    if not _forbids_layouts(experiment):
        changed["perturb"] = experiment.perturb.model_copy(update={"layout": True})
    if asked.seed is not None:
        changed["design"] = experiment.design.model_copy(update={"seed": asked.seed})
    if asked.build:
        changed["ab"] = experiment.ab.model_copy(update={"build": asked.build})
    return experiment.model_copy(update=changed)


def _direction(metric: str, unit: str = "") -> "Better":
    """Return which values of a metric are better.

    Raises:
        AssayError: nobody can know.
    """
    from assay.experiment.metrics import better

    direction = better(metric, unit)
    if direction is None:
        raise AssayError(
            f"--metric {printable(metric)}: its name does not say which values are better; call it"
            f" {metric}_ns, {metric}_bytes or {metric}_per_s, or write an experiment, which can say it"
        )
    return direction


def _forbids_layouts(experiment: "Experiment") -> bool:
    """Return whether the experiment's file says that layouts are not to be drawn, rather than nothing."""
    import tomllib

    return tomllib.loads(experiment.source).get("perturb", {}).get("layout") is False


def written_experiment(
    asked: Asked, root: Path, levels: "Mapping[str, MeasuredRevision]", stop: "StopSignals"
) -> "tuple[Experiment | None, tuple[LeftOut, ...]]":
    """Return the experiment that a command line is, and the benchmarks that are not in every revision."""
    from assay.experiment import parse
    from assay.report.ab import LeftOut

    path = Path("ab.toml").absolute()
    folder = path.parent.resolve()
    left_out: tuple[LeftOut, ...] = ()
    if asked.tool:
        text, left_out = _text_of_tool(asked, folder.relative_to(root), levels, stop)
    else:
        text = _text_of_commands(asked)
    if not text:
        return None, left_out
    try:
        return parse(text, folder / path.name, identical=True), left_out
    except AssayError as error:
        raise without_place(error, folder / path.name) from error


def _text_of_commands(asked: Asked) -> str:
    from assay import programs
    from assay.experiment.race import METRICS, REPEAT_MS, Entrant, Race, race_text

    metric = METRICS.get(asked.metric or "time", asked.metric)
    printed = metric not in METRICS.values()
    options: dict[str, Any] = {"output": "same"} if asked.same_output else {}
    if printed:
        options["extract"] = "lines"
    elif not asked.same_output:
        options |= {"output": "discarded", "repeat_ms": REPEAT_MS}
    if asked.link:
        options["link"] = asked.link
    race = Race(
        entrants=[Entrant(words, command=True) for words in asked.words],
        metric=metric,
        better=_direction(metric) if printed else "lower",
        smallest_effect_percent=SMALLEST_EFFECT_PERCENT,
        shell=asked.shell,
        commands=options,
        setup=asked.setup,
        factor="benchmark",
    )
    if asked.link and race.uses_shell and not all("{linked}" in words for words in asked.words):
        raise AssayError("--link: sh reads the commands; write {linked} where the program's name stands")
    taken = [entry["name"] for entry in programs.listing(programs.find("assay-trial"))]
    return race_text(race, taken, {"blocks": 1})


def _text_of_tool(
    asked: Asked, folder: Path, levels: "Mapping[str, MeasuredRevision]", stop: "StopSignals"
) -> "tuple[str, tuple[LeftOut, ...]]":
    """Return the text of an experiment about the benchmarks of another tool; "" if no revision shares one."""
    from assay.experiment.race import split
    from assay.experiment.tools import METRIC, tool_text
    from assay.runner.tools import benchmarks_of

    assert asked.tool
    words = split(asked.program)
    of = {
        level: benchmarks_of(asked.tool, revision.folder / folder, words, asked.chosen, stop)
        for level, revision in levels.items()
    }
    every = {name: parameters for there in of.values() for name, parameters in there.items()}
    if not every:
        chosen = f" that {asked.chosen} chooses" if asked.chosen else ""
        why = f"{printable(asked.program)} has no benchmark{chosen} in any revision"
        raise AssayError(f"{why}; look at its list, or give the command that builds it: --build")
    both = {name: one for name, one in every.items() if all(name in there for there in of.values())}
    left_out = tuple(
        left_out_of(name, levels, [level for level in levels if name not in of[level]])
        for name in every
        if name not in both
    )
    if not both:
        return "", left_out
    metric = asked.metric or METRIC[asked.tool]
    comparison = {
        "metric": metric,
        "better": _direction(metric),
        "smallest_effect_percent": SMALLEST_EFFECT_PERCENT,
    }
    return tool_text(asked.tool, words, both, comparison, asked.link), left_out


def left_out_of(name: str, levels: "Mapping[str, MeasuredRevision]", lacking: Sequence[str]) -> "LeftOut":
    """Return a benchmark that some levels lack; the first of all levels is the baseline."""
    from assay.report.ab import LeftOut

    return LeftOut(name, "new" if next(iter(levels)) in lacking else "gone")
