"""`assay check`: whether a concurrent map is right."""

import itertools
import re
import secrets
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.cli.completion import complete_subjects
from assay.cli.invocation import invocation
from assay.cli.options import (
    LARGEST_WHOLE,
    LONGEST_S,
    JsonOption,
    print_json,
    real,
    seconds,
    whole_option,
)
from assay.errors import AssayError
from assay.words import elapsed, listed, nearest, number, printable, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from assay.runner.process import StopSignals
    from assay_rig.checks import CheckResult

WITHIN_S = 18
"""Together, of all checks: nobody waits for more after each change of a map."""
_MOST_RANDOMNESS = 10  # `most_randomness` of assay/random/decision.h
SHOWN_LINES = 12
"""The most lines of each check's output, if several failed."""
_DID_WIDTH = 27
"""Width of the second column: the first and the third share about what remains of 80."""
_DRAWN = re.compile("[┌│└]")
"""What histories are drawn with."""
_OWN = "assay-rig"
"""The program with Assay's own maps."""
_FOUND = {
    "passed": ("no mistake", "green"),
    "failed": ("FAILED", "bold red"),
    "incomplete": ("no mistake so far, but incomplete", "bold yellow"),
    "nothing_to_check": ("nothing to check", ""),
    "not_checked": ("NOT CHECKED", "bold yellow"),
    "not_run": ("not run", ""),
}
Sanitizer = Literal["address", "thread"]


def check(
    name: Annotated[str, typer.Argument(metavar="NAME", hidden=True, autocompletion=complete_subjects)],
    *,
    within: Annotated[
        Any,
        typer.Option(
            parser=seconds, metavar="TIME", help="How long all checks may take together: 30s, 10m, 1h."
        ),
    ] = f"{WITHIN_S}s",
    checks: Annotated[
        list[str] | None,
        typer.Option(
            "--check", metavar="CHECK", help="Make this check only, such as `stress`. May be repeated."
        ),
    ] = None,
    sanitizer: Annotated[
        Sanitizer | None,
        typer.Option(
            metavar="SANITIZER",
            help="Build with a sanitizer: `address` finds misuse of memory and undefined behaviour, `thread`"
            " finds data races.",
        ),
    ] = None,
    seed: Annotated[
        int | None, whole_option("Seed of every check. Default: a new one.", 0, LARGEST_WHOLE - 1)
    ] = None,
    randomness: Annotated[
        float | None,
        typer.Option(
            parser=real(0.01, _MOST_RANDOMNESS),
            metavar="C",
            help="Stop threads at random, rarely and long: 5 is very high. Makes only the checks that delay"
            " threads.",
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of the project. Default: the folder NAME, or else the present one."
        ),
    ] = None,
    program: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check the map in this program, which is linked with assay::rig."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Look for mistakes in a concurrent map.

    NAME is a map of your own or one of Assay's. Your own is in a project as `assay new subject NAME` writes
    it: its experiment.toml describes the map, and its CMakeLists.txt says assay_subject(). What changed is
    built first.

    The checks that apply to the map run one after the other, each in a process of its own. What each did and
    found is printed as it ends, then the answer, the smallest case that fails, and the command that repeats
    it. The exit code is 1 unless every check passed or had nothing to check. A check that had too little time
    for some of what it looks for says so, and has not passed.

    Example: `assay check my_map --within 5m`
    """
    from rich.console import Console

    from assay.runner.process import Interrupted, StopSignals
    from assay_rig.checks import offered, run_checks

    chosen_seed = secrets.randbits(32) if seed is None else seed
    words = [
        *("check", name),
        *(["--sanitizer", sanitizer] if sanitizer else []),
        *(["--randomness", f"{randomness:g}"] if randomness else []),
        *(["--directory", str(directory)] if directory else []),
        *(["--program", str(program)] if program else []),
    ]
    budget = ["--within", f"{within:g}s"] if within != WITHIN_S else []
    with StopSignals() as stop:
        try:
            rig = _rig_of(name, sanitizer, directory, program, stop)
        except Interrupted as interrupted:
            typer.echo("stopped while building; no check has run", err=True)
            raise typer.Exit(128 + interrupted.signum) from None
        project_built = program is None and rig.name != _OWN
        names = _applying(name, checks or [], offered(rig)[name], randomness)
        table = None if as_json else _Table(Console(highlight=False), names)
        running = run_checks(
            rig,
            name,
            names,
            seed=chosen_seed,
            seconds=within,
            randomness=randomness or 0,
            stop=stop,
        )
        outcomes, signum = _run(running, names, table)
    seeded = [*budget, "--seed", str(chosen_seed)]
    again = {check: invocation(*words, "--check", check, *seeded) for check in names}
    wrong = [outcome for outcome in outcomes if outcome.result in {"failed", "not_checked"}]
    if table is None:
        print_json(
            {
                "map": name,
                "program": str(rig),
                "sanitizer": sanitizer,
                "seed": chosen_seed,
                "randomness": randomness,
                "checks": [{**asdict(outcome), "again": again[outcome.check]} for outcome in outcomes],
            }
        )
    else:
        _print_answer(name, chosen_seed, outcomes, table.console)
        for outcome in wrong:
            most = None if len(wrong) == 1 else SHOWN_LINES
            _print_case(outcome, again[outcome.check], rig.resolve().name, most)
        incomplete = [outcome.check for outcome in outcomes if outcome.result == "incomplete"]
        if incomplete and not signum:
            only = [word for check in incomplete for word in ("--check", check)]
            from assay.campaign.time_budget import written

            longer = ["--within", written(min(10 * within, LONGEST_S))]
            typer.echo(f"\nTen times as long: {invocation(*words, *only, *longer)}")
        crashed = next((outcome.check for outcome in wrong if (outcome.exit_code or 0) < 0), None)
        if crashed and project_built and not sanitizer:
            typer.echo(f"\nWhere it crashed: {again[crashed]} --sanitizer address")
        if not wrong and not incomplete and not signum:
            _print_advice(invocation(*words), names, built=project_built)
    if signum:
        raise typer.Exit(128 + signum)
    if wrong or any(outcome.result == "incomplete" for outcome in outcomes):
        raise typer.Exit(1)


def _rig_of(
    name: str,
    sanitizer: "Sanitizer | None",
    directory: Path | None,
    program: Path | None,
    stop: "StopSignals",
) -> Path:
    """Return the program that checks the map; that of a project is built.

    Raises:
        AssayError: there is no such map, or the program cannot be built.
        Interrupted: the user asked to stop.
    """
    from assay import programs
    from assay_rig.checks import offered
    from assay_rig.project import build_rig, find_project

    def say(line: str) -> None:
        typer.echo(line, err=True)

    if Path(name).suffix in {".toml", ".json"}:
        remedy = f"give a map's name; {invocation('plan', name, '--audit')} looks at an experiment"
        raise AssayError(f"{name} is not a map but an experiment's file: {remedy}")
    described: dict[str, Path] = {}
    if program:
        if sanitizer or directory:
            raise AssayError("--program names what is built already; leave out --sanitizer and --directory")
        rig = program.absolute()
    else:
        project, described = find_project(name, directory)
        if project:
            rig = build_rig(project, sanitizer, say, say, stop)
        elif directory:
            raise AssayError(
                f"{directory / 'experiment.toml'} describes no map {name}; {nearest(name, list(described))}"
            )
        else:
            rig = programs.find(_OWN)
    maps = offered(rig)
    if name in maps:
        if sanitizer and rig.name == _OWN:
            raise AssayError(
                f"--sanitizer builds a map of your own; {name} is one of Assay's, which `make test` checks so"
            )
        return rig
    if program or rig.name != _OWN:
        raise AssayError(f"{rig} has no map {name}; {nearest(name, sorted(maps))}")
    if name in described:
        raise AssayError(_elsewhere(name, described[name]))
    missing = (
        f"there is no map {name}: Assay has none, and no experiment.toml in {name}/ or here describes one"
    )
    [meant] = get_close_matches(name, [*described, *maps], n=1) or [""]
    if meant in described and described[meant] not in (Path(), Path(meant)):
        raise AssayError(f"{missing}; did you mean {meant}? {_elsewhere(meant, described[meant])}")
    here = [known for known, folder in described.items() if folder in (Path(), Path(known))]
    raise AssayError(f"{missing}; {nearest(name, [*here, *maps])}")


def _elsewhere(name: str, folder: Path) -> str:
    """Say that the project of a map is neither here nor in the folder of its name."""
    command = invocation("check", name, "--directory", folder)
    return f"{name} is described in {folder / 'experiment.toml'}: {command}"


def _applying(
    name: str, chosen: Sequence[str], offered: Sequence[str], randomness: float | None
) -> list[str]:
    """Return the checks to make: the chosen ones, or all that apply to the map."""
    from assay_rig.checks import RANDOMISED

    for check in chosen:
        if check not in offered:
            raise AssayError(f"--check: {name} has no check {check}; {nearest(check, offered)}")
        if randomness and check not in RANDOMISED:
            raise AssayError(f"--randomness: {check} delays no threads; {listed(RANDOMISED)} do")
    applying = [check for check in chosen or offered if not randomness or check in RANDOMISED]
    if not applying:
        raise AssayError(f"--randomness: no check of {name} delays threads, as {listed(RANDOMISED)} would")
    return list(dict.fromkeys(applying))


def _run(
    running: "Iterator[CheckResult]", names: Sequence[str], table: "_Table | None"
) -> "tuple[list[CheckResult], int]":
    """Return what came of each check, shown as it ends, and the signal that interrupted them, or 0."""
    from rich.console import Console

    from assay.runner.process import Interrupted
    from assay_rig.checks import CheckResult

    outcomes: list[CheckResult] = []
    signum = 0

    def add(outcome: CheckResult) -> None:
        outcomes.append(outcome)
        if table:
            table.add(outcome)

    with Console(stderr=True).status("") as status:
        try:
            for check in names:
                status.update(f"{check} ({len(outcomes) + 1} of {len(names)})")
                outcome = next(running)
                status.stop()  # What it shows would stand in the row's way.
                add(outcome)
                status.start()
        except Interrupted as interrupted:
            signum = interrupted.signum
    for check in names[len(outcomes) :]:
        add(CheckResult(check=check, result="not_run"))
    return outcomes, signum


class _Table:
    """Prints what each check did and found as soon as it has ended."""

    def __init__(self, console: "Console", checks: Sequence[str]) -> None:
        self.console = console
        first = max(map(len, ["check", *checks]))
        self._widths = (first, _DID_WIDTH, max(console.width - first - _DID_WIDTH - 4, 20))
        self._print("check", "what it did", "what it found", "bold")

    def add(self, outcome: "CheckResult") -> None:
        word, style = _FOUND[outcome.result]
        found = ": ".join(part for part in (word, printable(outcome.found)) if part)
        self._print(outcome.check, _did(outcome), shortened(found, 150), style)

    def _print(self, check: str, did: str, found: str, style: str) -> None:
        from rich.table import Table
        from rich.text import Text

        row = Table.grid(padding=(0, 2, 0, 0))
        for width in self._widths:
            row.add_column(width=width, overflow="fold")
        bold = style if check == "check" else ""
        row.add_row(Text(check, bold), Text(did, bold), Text(found, style))
        self.console.print(row)


def _print_answer(name: str, seed: int, outcomes: "Sequence[CheckResult]", console: "Console") -> None:
    """Print the answer in a line, below the table."""

    def named(result: str) -> str:
        names = [outcome.check for outcome in outcomes if outcome.result == result]
        return listed(names) if len(names) <= 3 else f"{len(names)} of {len(outcomes)} checks"

    parts = [
        f"{named(result)} {said}"
        for result, said in (
            ("failed", "failed"),
            ("not_checked", "could not be made"),
            ("incomplete", "found no mistake so far, but had too little time"),
            ("not_run", "not run: interrupted"),
        )
        if named(result)
    ]
    answer = f"{name}: {'; '.join(parts) or 'no mistake found'} (seed {seed})"
    console.print(f"\n{answer}", style="bold", markup=False)
    if any(outcome.result == "passed" and outcome.found for outcome in outcomes):
        typer.echo(
            f"\n{name} prints to standard output, which belongs to the result of a trial:\n"
            "print to standard error"
        )


def _did(outcome: "CheckResult") -> str:
    if outcome.result == "not_run":
        return ""
    done = [
        f"{number(count, 3)} {noun}"
        for count, noun in ((outcome.histories, "histories"), (outcome.operations, "operations"))
        if count
    ]
    return f"{', '.join(done)}{' in ' if done else ''}{elapsed(outcome.seconds)}"


def _print_case(outcome: "CheckResult", again: str, program: str, most: int | None) -> None:
    """Print what a check that failed said, at most this many lines, and the command that repeats it."""
    from assay_rig.checks import readable

    report = readable(outcome.text.splitlines(), program)
    width = max(shutil.get_terminal_size().columns, 20)
    said = list(_wrapped([f"  {printable(line.expandtabs())}".rstrip() for line in report], width))
    typer.echo(f"\n{outcome.check}: {'' if said else printable(outcome.found)}".rstrip())
    for line in said[:most]:
        typer.echo(line)
    if most is not None and len(said) > most:
        typer.echo(f"  ... and {len(said) - most} more lines, which the next command shows")
    typer.echo(f"again: {again}")


def _wrapped(lines: Sequence[str], width: int) -> Iterator[str]:
    """Break long lines between words, but not those of a history, or the heading of its columns."""
    for line, following in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        if len(line) <= width or _DRAWN.search(line + following):
            yield line
        else:
            indent = " " * (len(line) - len(line.lstrip()))
            yield from textwrap.wrap(
                line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )


def _print_advice(command: str, checks: Sequence[str], *, built: bool) -> None:
    """Print how rarer mistakes are found."""
    from assay_rig.checks import RANDOMISED

    typer.echo(f"\nWhat is rare takes longer: {command} --within 10m")
    if "--randomness" not in command and set(checks).intersection(RANDOMISED):
        typer.echo(f"What takes a long delay: {command} --randomness 5")
    if built and "--sanitizer" not in command:
        typer.echo(f"Misuse of memory: {command} --sanitizer address")
        typer.echo(f"Data races: {command} --sanitizer thread")
