"""`assay omp`: is a program with OpenMP faster with Assay's runtime than with its own."""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import DEFAULT_STORE, JsonOption, QuietOption, SeedOption, StoreOption, whole
from assay.cli.race import (
    IgnoreFailureOption,
    InputOption,
    SmallestEffectOption,
    WithinOption,
    list_of,
    run_race,
)
from assay.errors import AssayError
from assay.words import counted, printable

if TYPE_CHECKING:
    from assay.experiment.race import Race

OURS = "assay"
"""What our runtime is called in results."""
_OF_RUNTIMES = ("OMP_", "GOMP_", "KMP_", "ASSAY_OMP_")
_THREADS = "OMP_NUM_THREADS"
_STATISTICS = "assay-omp: "
"""How the first line of statistics begins."""


def omp(
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM", hidden=True)],
    *,
    threads: Annotated[
        Any,
        typer.Option(
            parser=list_of(whole()),
            metavar="N,N",
            help=f"Compare with each of these numbers of threads. Default: {_THREADS}, or one a processor.",
        ),
    ] = None,
    within: WithinOption = "60s",
    smallest_effect: SmallestEffectOption = 1.0,
    input_file: InputOption = None,
    ignore_failure: IgnoreFailureOption = False,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Compare the runtime of a program with OpenMP with Assay's.

    It says with which the program is faster: it runs the program, unchanged, by turns with both until the
    answer is certain. Then it runs it once more with Assay's, to say how often it used each construct and how
    long its threads waited there.

    Write -- before PROGRAM if its arguments begin with a dash. Variables of the environment that begin with
    OMP_, GOMP_, KMP_ or ASSAY_OMP_, and LD_LIBRARY_PATH, hold for all runs; of others, PATH alone.

    Example: `assay omp --threads 2,8 build/release/bin/openmp/fib 40 10`
    """
    from assay.experiment.race import plain_name

    began = time.monotonic()
    found = shutil.which(program[0])
    if found is None:
        raise AssayError(f"there is no program {printable(program[0])}; is it installed and executable?")
    words = [str(Path(found).absolute()), *program[1:]]
    own, library = _runtimes(words[0])
    environment = _environment(without=_THREADS if threads else "")
    commands = {own: [*environment, *words], OURS: [*environment, f"LD_PRELOAD={library}", *words]}
    race = _race(
        f"omp-{plain_name(words[0])}",
        commands,
        threads=threads or [],
        smallest_effect=smallest_effect,
        input_file=input_file,
        ignore_failure=ignore_failure,
    )
    path = Path(f"{race.name}.toml").absolute()
    run_race(race, path, began, within, seed=seed, store=store, as_json=as_json, quiet=quiet)
    if not as_json:
        most = [f"{_THREADS}={max(threads)}"] if threads else []
        for line in _waits(["ASSAY_OMP_STATISTICS=on", *most, *commands[OURS]], input_file):
            typer.echo(printable(line))


def _runtimes(program: str) -> tuple[str, str]:
    """Return the name of the runtime that a program was linked to, and the library that replaces it.

    Raises:
        AssayError: Assay has no runtime for this program.
    """
    from assay import programs
    from assay.runner.process import run_process

    launcher = str(programs.find("assay-omp"))
    loader = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    ended = run_process(launcher, "", environment=loader, arguments=["--check", "--", program])
    if ended.exit_code:
        raise AssayError(ended.stderr.decode(errors="replace").strip().removeprefix("error: "))
    own, library = ended.stdout.decode().splitlines()
    return own.partition(".")[0], library


def _environment(without: str) -> list[str]:
    """Return the assignments of the environment that the runs of a program get."""
    return [
        f"{name}={value}"
        for name, value in os.environ.items()
        if (name.startswith(_OF_RUNTIMES) or name == "LD_LIBRARY_PATH") and name != without
    ]


def _race(
    name: str,
    commands: Mapping[str, Sequence[str]],
    *,
    threads: Sequence[int],
    smallest_effect: float,
    input_file: Path | None,
    ignore_failure: bool,
) -> "Race":
    """Return the race of a program with its own runtime and with ours.

    Args:
        name: of the race's experiment.
        commands: what each is called, and its assignments and words.
        threads: numbers of threads to race with; none: as many as the environment says.
        smallest_effect: in percent; smaller differences are called equivalent.
        input_file: what the program reads on standard input, if anything.
        ignore_failure: whether runs count that exit with another code than 0.
    """
    import shlex

    from assay.experiment.race import REPEAT_MS, Entrant, Race

    varied = [f"{_THREADS}={{threads}}"] if threads else []
    options = {
        "repeat_ms": REPEAT_MS,
        "output": "discarded",
        "input": str(input_file.absolute()) if input_file else "",
        "ignore_failure": ignore_failure,
    }
    entrants = [
        Entrant(shlex.join(["env", *varied, *command]), command=True, label=name)
        for name, command in commands.items()
    ]
    return Race(
        entrants=entrants,
        metric="wall_ms",
        better="lower",
        smallest_effect_percent=smallest_effect,
        trial={"threads": threads} if threads else {},
        shell=False,
        commands={key: value for key, value in options.items() if value},
        factor="runtime",
        name=name,
    )


def _waits(command: Sequence[str], input_file: Path | None) -> list[str]:
    """Run a program once more, and return lines that say where its threads waited."""
    from assay.runner.local import trial_environment
    from assay.runner.process import run_process

    ended = run_process(
        "/usr/bin/env",
        "",
        environment=trial_environment(0),
        arguments=command,
        directory=Path.cwd(),
        stdin_file=input_file.absolute() if input_file else None,
        discard=True,
    )
    lines = ended.stderr.decode(errors="replace").splitlines()
    first = max((at for at, line in enumerate(lines) if _is_first(line)), default=None)
    if first is None:
        return ["", f"no waits were counted: the program ended with {ended.exit_code} before it said any"]
    threads = int(lines[first].split()[1])
    title = f"one more run with {OURS}, its waits summed over {counted(threads, 'thread')}:"
    return ["", title, *lines[first + 1 :]]


def _is_first(line: str) -> bool:
    """Return whether a line of standard error is the first one of statistics."""
    name, _, rest = line.partition(_STATISTICS)
    number, _, unit = rest.partition(" ")
    return not name and number.isdigit() and unit.startswith("thread")
