"""`assay race`: which of some commands, programs or maps is best, from one command line."""

import math
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    JsonOption,
    OnOption,
    QuietOption,
    SeedOption,
    StoreOption,
    hosts_in,
    real,
    seconds,
    whole,
)
from assay.cli.running import running_campaign
from assay.errors import AssayError
from assay.files import STANDARD_OUTPUT, write
from assay.words import nearest, printable

if TYPE_CHECKING:
    from assay.campaign import RehearsalError
    from assay.campaign.hosts import Hosts
    from assay.experiment import Experiment
    from assay.experiment.race import Entrant, Race
    from assay.report import Report
    from assay.store import Store, StoreName

_OPERATIONS = ("insert", "erase", "find")
_NOT_EXECUTED = (126, 127)  # exit codes of a shell that finds no program
SEVERAL_LOOKS = 10  # blocks; of fewer, a first look after 8 spares at most one, and takes half of the 5%
_LONGER = 20  # times as long, where the rehearsal alone took all the time
_SHORTEST_TRIAL_S, _USUAL_TRIAL_S = 0.03, 0.15  # with its calibrations; of a short command
_BLOCK = "every entrant once"
_MIX = {"insert": 5, "erase": 5, "find": 90}
_KEYS = 20_000
_LATENCY = 64  # one operation in this many is timed where a latency is compared

WithinOption = Annotated[
    Any, typer.Option(parser=seconds, metavar="TIME", help="End after this time: 10s, 5m, 1h.")
]
SmallestEffectOption = Annotated[
    float,
    typer.Option(
        parser=real(0.01, 100),
        metavar="PERCENT",
        help="Differences below this do not interest you: they are called equivalent.",
    ),
]
InputOption = Annotated[
    Path | None, typer.Option("--input", metavar="FILE", help="What commands read on standard input.")
]
IgnoreFailureOption = Annotated[
    bool, typer.Option("--ignore-failure", help="Count runs that exit with another code than 0.")
]


def list_of(parse: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Return a parser of values with commas between them."""
    return lambda text: [parse(part) for part in text.split(",")]


def _mix(text: str) -> dict[str, float]:
    shares = [real(0, 100)(part) for part in text.split("/")]
    if len(shares) != len(_OPERATIONS) or abs(sum(shares) - 100) > 1e-9:
        raise ValueError(f"{text} is not a mix; write percentages of insert/erase/find: 20/10/70")
    return {
        name: int(share) if share.is_integer() else share
        for name, share in zip(_OPERATIONS, shares, strict=True)
        if share
    }


def _parameter(text: str) -> tuple[str, list[str]]:
    name, equals, values = text.partition("=")
    levels = [value.strip() for value in values.split(",")]
    if not (equals and re.fullmatch("[a-z][a-z0-9_]*", name) and all(levels)):
        raise ValueError(f"{text} is not a parameter; write NAME=VALUE,VALUE with a lower-case name")
    return name, list(dict.fromkeys(levels))


def race(
    entrants: Annotated[list[str], typer.Argument(metavar="A B", hidden=True)],
    *,
    metric: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is compared: time, user_time, system_time, peak_memory or instructions of a command;"
            " of maps throughput, or any other metric. Default: time, or throughput.",
        ),
    ] = "",
    within: WithinOption = "60s",
    smallest_effect: SmallestEffectOption = 1.0,
    threads: Annotated[
        Any,
        typer.Option(parser=list_of(whole()), metavar="N,N", help="Of maps: their numbers of threads."),
    ] = None,
    mix: Annotated[
        Any,
        typer.Option(
            parser=list_of(_mix),
            metavar="I/E/F",
            help="Of maps: percentages of inserts, erases and finds. Default: 5/5/90.",
        ),
    ] = None,
    keys: Annotated[
        Any,
        typer.Option(parser=list_of(whole()), metavar="N,N", help="Of maps: key ranges. Default: 20000."),
    ] = None,
    parameter: Annotated[
        list[Any] | None,
        typer.Option(
            parser=_parameter,
            metavar="NAME=A,B",
            help="Race with each of these values where commands hold the name in braces. May be repeated.",
        ),
    ] = None,
    shell: Annotated[
        bool | None,
        typer.Option(
            "--shell/--no-shell",
            help="Whether sh reads the commands. Default: where one of them needs it.",
            show_default=False,
        ),
    ] = None,
    input_file: InputOption = None,
    setup: Annotated[
        str, typer.Option(metavar="COMMAND", help="Run this in a shell once, before all else.")
    ] = "",
    prepare: Annotated[
        str, typer.Option(metavar="COMMAND", help="Run this in a shell before each run of a command.")
    ] = "",
    cleanup: Annotated[
        str, typer.Option(metavar="COMMAND", help="Run this in a shell once, at the end.")
    ] = "",
    ignore_failure: IgnoreFailureOption = False,
    wait_for_children: Annotated[
        bool,
        typer.Option(
            "--wait-for-children", help="A command ends when the processes that it started have ended, too."
        ),
    ] = False,
    same_output: Annotated[
        bool, typer.Option("--same-output", help="Refuse commands that print something else than others.")
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Write the experiment that this is, for `assay run`; -: to standard output.",
        ),
    ] = None,
    seed: SeedOption = None,
    on: OnOption = None,
    quiet: QuietOption = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Race commands or maps until it is certain which is best.

    A and B are command lines, subjects of `assay store list subjects`, or programs that speak the trial
    protocol; the first is what the others are compared with. Each run is a fresh process, in random
    order. Every run is kept: `assay report` and the other commands show more.

    Example: `assay race 'gzip -6 <f' 'gzip -5 <f'`
    """
    from assay.experiment.race import REPEAT_MS, Race

    began = time.monotonic()
    if save == STANDARD_OUTPUT and as_json:
        raise AssayError("--save - and --json both print; save the experiment to a file")
    sides = _entrants(entrants)
    commands = [side.words for side in sides if side.command]
    maps = [side.words for side in sides if not side.command]
    for_commands = {
        "--parameter": parameter,
        "--shell": shell,
        "--input": input_file,
        "--setup": setup,
        "--prepare": prepare,
        "--cleanup": cleanup,
        "--ignore-failure": ignore_failure,
        "--wait-for-children": wait_for_children,
        "--same-output": same_output,
    }
    _check_options(commands, maps, for_commands, {"--mix": mix, "--keys": keys})
    trial = {"threads": threads, "mix": mix, "key_range": keys}
    if maps:
        trial |= {"mix": mix or [_MIX], "key_range": keys or [_KEYS]}
        trial |= {"latency": [_LATENCY]} if "latency_" in metric else {}
    once = bool(prepare or same_output)
    options = {
        "repeat_ms": 0 if once else REPEAT_MS,
        "input": str(input_file.absolute()) if input_file else "",
        "prepare": prepare,
        "cleanup": cleanup,
        "ignore_failure": ignore_failure,
        "wait_for_children": wait_for_children,
        "output": "same" if same_output else "discarded",
    }
    race = Race(
        entrants=sides,
        metric=_metric(metric, commands),
        better="lower" if commands else "",
        smallest_effect_percent=smallest_effect,
        trial={name: values for name, values in trial.items() if values},
        parameters=_parameters(parameter or [], commands),
        shell=shell,
        commands={key: value for key, value in options.items() if value},
        setup=setup,
    )
    hosts = hosts_in(on)  # mistakes in its file come before the rehearsal
    path = _path(save, commands)
    run_race(
        race, path, began, within, seed=seed, store=store, on=hosts, as_json=as_json, quiet=quiet, save=save
    )


def run_race(
    race: "Race",
    path: Path,
    began: float,
    within_s: float,
    *,
    seed: int | None,
    store: "StoreName",
    as_json: bool,
    quiet: bool,
    on: "Hosts | None" = None,
    save: Path | None = None,
) -> None:
    """Rehearse a race, run it, and print its answer.

    Args:
        race: the entrants and what is compared.
        path: the file of its experiment, which need not exist; commands run in its folder.
        began: when the command did, on the monotonic clock.
        within_s: how long it may take from then on.
        seed: of the plan; None draws it.
        store: where its campaign goes.
        as_json: whether the answer is printed as JSON.
        quiet: whether progress is not shown.
        on: the hosts to run on; None: this one.
        save: where the experiment is written to, if anywhere.

    Raises:
        AssayError: the race cannot be run.
        typer.Exit: it was stopped, or a trial was not valid.
    """
    from assay.runner.build import cleaned_up

    rehearsal = _experiment(race, {"blocks": 1}, path, seed)
    with cleaned_up(rehearsal, lambda line: typer.echo(line, err=True)):
        experiment = _experiment(race, _rehearsed(rehearsal, began, within_s, quiet=quiet), path, seed)
        if save:
            write(save, experiment.source, "--save")
        if save and save != STANDARD_OUTPUT:
            typer.echo(f"saved: run it again with: {invocation('run', save, store=store)}", err=True)
        note = _shell_start(experiment) if race.uses_shell and race.metric == "wall_ms" else ""
        printed = save == STANDARD_OUTPUT
        _race(experiment, store, began, note, on=on, as_json=as_json, quiet=quiet, to_stderr=printed)


def _entrants(words: Sequence[str]) -> "list[Entrant]":
    """Return what is raced, in the order of the command line.

    Raises:
        AssayError: there are fewer than two, or one is nothing that can be run.
    """
    from assay import programs
    from assay.experiment.race import Entrant

    if len(words) < 2:
        raise AssayError("a race needs two entrants; name what to compare it with, as in: assay race A B")
    subjects = [entry["name"] for entry in programs.listing(programs.find("assay-trial"))]
    entrants = []
    for text in words:
        if not text.isprintable() and not text.replace("\n", " ").replace("\t", " ").isprintable():
            raise AssayError(f"{printable(text)} holds characters that cannot be printed; leave them out")
        entrants.append(Entrant(text) if text in subjects else _program(text, subjects))
    return entrants


def _program(text: str, subjects: Sequence[str]) -> "Entrant":
    """Return a program that speaks the protocol, or else a command."""
    from assay import programs
    from assay.experiment.race import Entrant, needs_shell, split
    from assay.runner.subjects import subjects_of

    if needs_shell(text):
        return Entrant(text, command=True)
    program, *more = split(text)
    if not shutil.which(program):
        name = not more and "/" not in program
        hint = (
            nearest(program, subjects) + programs.further_subjects()
            if name
            else "is it installed and executable?"
        )
        raise AssayError(f"there is no command {printable(program)}, nor a subject of this name; {hint}")
    if "/" not in program or len(more) > 1:
        return Entrant(text, command=True)
    own = subjects_of(Path(program).absolute())
    if not own or (more and more[0] not in own):
        return Entrant(text, command=True)
    if not more and len(own) > 1:
        raise AssayError(f"{printable(program)} has several subjects; name one: '{program} {min(own)}'")
    return Entrant(more[0] if more else next(iter(own)), program=str(Path(program).absolute()))


def _check_options(
    commands: Sequence[str], maps: Sequence[str], for_commands: Mapping[str, Any], for_maps: Mapping[str, Any]
) -> None:
    if commands and maps:
        raise AssayError(
            f"{printable(commands[0])} is a command and {maps[0]} a subject, which have no metric in common; "
            "race commands with commands, or subjects with subjects"
        )
    others = for_maps if commands else for_commands
    given = [option for option, value in others.items() if value]
    if given:
        kind, whose = ("subjects", "a command") if commands else ("commands", "a subject")
        side = printable([*commands, *maps][0])
        raise AssayError(f"{given[0]} is for {kind}, and {side} is {whose}; leave it out")


def _metric(name: str, commands: Sequence[str]) -> str:
    from assay.experiment.race import METRICS

    if not commands:
        return name or "throughput"
    metric = METRICS.get(name or "time", name)
    if metric not in METRICS.values():
        hint = nearest(name, list(METRICS))
        raise AssayError(f"--metric: commands have no metric {printable(name)}; {hint}")
    return metric


def _parameters(given: Sequence[tuple[str, list[str]]], commands: Sequence[str]) -> dict[str, list[str]]:
    for name, _ in given:
        if not any(f"{{{name}}}" in command for command in commands):
            raise AssayError(
                f"--parameter: no command holds {{{name}}}; write it where the value is to stand"
            )
    return dict(given)


def _path(save: Path | None, commands: Sequence[str]) -> Path:
    """Return the file of the experiment; commands run in its folder."""
    if save in (None, STANDARD_OUTPUT):
        return Path("race.toml").absolute()
    if save.suffix != ".toml":
        raise AssayError(
            f"--save {save}: the name of a file ends in .toml; write {save.with_suffix('.toml')}"
        )
    if save.exists():
        raise AssayError(f"--save {save}: the file exists; name another")
    if commands and save.absolute().parent != Path.cwd():
        why = "commands run in the folder of the experiment's file"
        raise AssayError(f"--save {save}: {why}; save it in this one: {save.name}")
    return save.absolute()


def _experiment(race: "Race", design: Mapping[str, Any], path: Path, seed: int | None) -> "Experiment":
    """Return the experiment that a race describes.

    Raises:
        AssayError: there is a mistake in it.
    """
    from assay import programs
    from assay.experiment import made
    from assay.experiment.race import race_tables

    taken = [entry["name"] for entry in programs.listing(programs.find("assay-trial"))]
    drawn = {} if seed is None else {"seed": seed}
    return made(race_tables(race, taken, {**design, **drawn}), path)


def _rehearsed(experiment: "Experiment", began: float, within_s: float, *, quiet: bool) -> dict[str, Any]:
    """Rehearse a race, and return its design: as many blocks as there is time for.

    Raises:
        AssayError: the machine cannot do it, something in it does not work, or there is too little time.
    """
    from assay.campaign import RehearsalError, Reporter, rehearse
    from assay.campaign.time_budget import blocks_within, cut, fewest_blocks
    from assay.runner.process import Interrupted, StopSignals

    ends = began + within_s
    before_s = time.monotonic() - began  # seconds on a machine that is busy or reads its disk
    check = cut(fewest_blocks(experiment), ends, _BLOCK, before_s=before_s)
    trials = len(experiment.conditions())
    check(_SHORTEST_TRIAL_S * trials, _USUAL_TRIAL_S * trials)
    with StopSignals() as stop:
        try:
            block_s = rehearse(experiment, ends, stop, Reporter(quiet=quiet), check=check)
        except RehearsalError as error:
            raise AssayError(_explained(experiment.comparison.metric, error, within_s)) from error
        except Interrupted as interrupted:
            typer.echo("stopped in the rehearsal; nothing has been recorded", err=True)
            raise typer.Exit(128 + interrupted.signum) from None
    left_s = ends - time.monotonic()
    blocks = blocks_within(experiment, block_s, left_s, _BLOCK, before_s=before_s)
    return design(blocks, block_s, left_s)


def design(blocks: int, block_s: float, left_s: float) -> dict[str, Any]:
    """Return the design of a race: few blocks are seen once, when the time is over, many as they come.

    Args:
        blocks: that there is surely time for.
        block_s: how long one takes.
        left_s: the time that is left.
    """
    minutes = round(left_s / 60, 4)
    if blocks < SEVERAL_LOOKS:
        return {"blocks": math.floor(left_s / block_s), "minutes": minutes}
    return {"until": "verdict", "blocks": blocks, "minutes": minutes}


def _shell_start(experiment: "Experiment") -> str:
    """Measure what it takes to start a shell, and return it in words."""
    from assay.experiment.race import REPEAT_MS
    from assay.runner.local import trial_environment
    from assay.runner.process import run_process

    ended = run_process(
        str(next(iter(experiment.programs.values())).path),
        "",
        environment=trial_environment(0),
        arguments=["-c", ":"],
        measured=True,
        repeat_ms=REPEAT_MS,
    )
    return f"sh reads the commands: its start, about {ended.used['wall_ms']:.2g} ms, is in each time"


def _explained(metric: str, error: "RehearsalError", within_s: float) -> str:
    """Return what is wrong with a trial that cannot be counted, and the remedy where that is known."""
    from assay.campaign.time_budget import written

    outcome = error.outcome
    if outcome.status == "crashed" and outcome.exit_code > 0 and outcome.exit_code not in _NOT_EXECUTED:
        return f"{error}; correct it, or count it all the same with --ignore-failure"
    if outcome.status == "timed_out":
        return f"{error}; give the race much more time: --within {written(_LONGER * within_s)}"
    if outcome.status == "valid" and metric == "instructions":
        why = "this machine counts none, or /proc/sys/kernel/perf_event_paranoid forbids it"
        return f"--metric instructions: {why}; compare user_time"
    return str(error)


def _race(
    experiment: "Experiment",
    path: "StoreName",
    began: float,
    note: str,
    *,
    on: "Hosts | None",
    as_json: bool,
    quiet: bool,
    to_stderr: bool,
) -> None:
    """Run the campaign of a race, and print its answer; if it is stopped, what the race has shown so far."""
    from assay.cli.report import print_result
    from assay.report.race import race_answer

    def show(report: "Report", store: "Store") -> None:
        more = invocation("report", "--campaign", str(report.campaign.id), store=path)
        for line in (*race_answer(report, time.monotonic() - began), *filter(None, [note]), f"more: {more}"):
            typer.echo(line, err=to_stderr)

    stopped = None if as_json else show
    with running_campaign(path, experiment, quiet=quiet, built=True, on=on, stopped=stopped) as (
        report,
        store,
    ):
        if as_json:
            print_result(report, store, as_json, None)
        else:
            show(report, store)
        if any(trial.status != "valid" for trial in report.trials):
            raise typer.Exit(1)
