"""`assay-governor`: trains and runs the power governor of this machine."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import __version__
from assay.cli.options import JsonOption, print_json, seconds
from assay.cli.usage import Command

if TYPE_CHECKING:
    from assay.host.system import System

IMPROVEMENTS = ("parallelism", "cheaper-experiments", "precision", "overlap")
DEFAULT_TRAINING = Path("/var/lib/assay/governor-training.json")

app = typer.Typer(
    name="assay-governor",
    help="A power governor: sets the processors' frequencies so that energy * time^N is least.",
    epilog="Exit codes: 0 fine; 1 something is lacking or left; 2 wrong usage or environment, and nothing is"
    " changed. More: satellites/lab/docs/governor.md",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay-governor {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take what stands before a command."""


@app.command("train", cls=Command)
def train(
    output: Annotated[
        Path, typer.Option("--output", help="Where the training is written; -: standard output.")
    ] = DEFAULT_TRAINING,
    within: Annotated[
        Any,
        typer.Option(
            parser=seconds, metavar="TIME", help="How long each load runs at each frequency: 500ms, 2s."
        ),
    ] = "1s",
    load_mib: Annotated[
        int, typer.Option("--load-mib", help="Memory of each thread that waits for memory.", min=1, max=2**20)
    ] = 256,
    converge: Annotated[
        float,
        typer.Option(
            "--converge",
            help="Repeat all until each mean has a standard error of at most this many percent; 0: once.",
            min=0,
            max=100,
        ),
    ] = 1,
) -> None:
    """Measure what two loads cost at each frequency on one processor, two, four and so on, and write it down.

    The machine should have nothing else to do. What is changed meanwhile is put back.

    Example: `assay-governor train`
    """
    from assay.files import STANDARD_OUTPUT, check_writable
    from assay.host.system import System
    from assay_lab.governor.control import look
    from assay_lab.governor.training import numbers_of_processors, save

    check_writable(output, "--output")
    system = System()
    machine = look(system)
    _refuse(machine, "energy", "a training needs a counter of energy")
    request = {
        "action": "train",
        "seconds": within,
        "processors": numbers_of_processors(system, machine),
        "load_bytes": load_mib * 2**20,
        "converged_within": converge / 100,
    }
    training = _governed(system, request)
    save(output, training)
    said = f"{len(training['measured'])} measurements of {training['machine']}: {output}"
    typer.echo(said, err=output == STANDARD_OUTPUT)


@app.command("run", cls=Command)
def run(
    training: Annotated[
        Path, typer.Option("--training", help="What `assay-governor train` wrote on this machine.")
    ] = DEFAULT_TRAINING,
    optimize: Annotated[
        str, typer.Option("--optimize", help="E, ED, ED2, or ED^N with an N above 0.", metavar="OBJECTIVE")
    ] = "ED",
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="IMPROVEMENT",
            help="Leave out an improvement on the thesis's procedure: `parallelism`, `cheaper-experiments`,"
            " `precision` or `overlap`. May be repeated.",
        ),
    ] = None,
) -> None:
    """Govern until a signal ends it, and put back what was there.

    Energy counters are not needed: the training knows what power costs.

    Example: `assay-governor run --optimize ED2`
    """
    from assay.errors import AssayError
    from assay.host.system import System
    from assay.words import nearest
    from assay_lab.governor.state import forget, make_folder, state_file
    from assay_lab.governor.training import exponent, load

    for name in without or []:
        if name not in IMPROVEMENTS:
            raise AssayError(f"--without: there is no improvement {name}; {nearest(name, IMPROVEMENTS)}")
    file = state_file()
    request = {
        "action": "run",
        "exponent": exponent(optimize),
        "without": without or [],
        "training": load(training),
        "state": str(file),
    }
    make_folder(file)
    try:
        done = _governed(System(), request)
    finally:
        forget(file)
    typer.echo(f"{done['decisions']} decisions in {done['seconds']:.1f} s; all is put back")


@app.command("status", cls=Command)
def status(*, as_json: JsonOption = False) -> None:
    """Say what this machine has and lacks, what works with that, and what a governor that runs does.

    The exit code is 1 where no governor could run.

    Example: `assay-governor status`
    """
    from assay.host.journal import journal_folder
    from assay.host.system import System
    from assay_lab.governor.control import look
    from assay_lab.governor.state import explained, objective, running, state_file

    machine = look(System())
    lacking = machine["lacking"]
    state = running(state_file())
    journal = journal_folder() / "host.journal"
    able = not {"frequencies", "counters"} & lacking.keys()
    if as_json:
        print_json({"machine": machine, "able": able, "running": state})
    else:
        for name, works in (("run", able), ("train", able and "energy" not in lacking)):
            typer.echo(f"assay-governor {name}: {'works here' if works else 'cannot work here'}")
        for what in ("frequencies", "counters", "energy"):
            typer.echo(f"{what}: {lacking.get(what) or _had(machine, what)}")
        if able and "energy" in lacking:
            typer.echo("With a training of this same machine, run works without energy counters.")
        if state:
            typer.echo(f"running: process {state['process']}, for {objective(state['exponent'])}")
            for line in [*state["notes"], *explained(state)]:
                typer.echo(f"  {line}")
        elif journal.exists():
            typer.echo(
                f"running: none; {journal} holds what is to be put back: assay-governor restore, or assay"
                " host restore"
            )
        else:
            typer.echo("running: none")
    if not able:
        raise typer.Exit(1)


@app.command("explain", cls=Command)
def explain(*, as_json: JsonOption = False) -> None:
    """Say why each processor has its present frequency. The exit code is 1 where no governor runs.

    Example: `assay-governor explain`
    """
    from assay_lab.governor.state import explained, running, state_file

    state = running(state_file())
    if as_json:
        print_json(state or {})
    elif state:
        for line in explained(state):
            typer.echo(line)
    else:
        typer.echo("No governor runs: start one with assay-governor run", err=True)
    if state is None:
        raise typer.Exit(1)


@app.command("restore", cls=Command)
def restore() -> None:
    """Put back what a governor left that was killed; what `assay host tune` changed stays.

    The exit code is 1 while something is left.

    Example: `assay-governor restore`
    """
    from assay.host.journal import journal_folder, open_journal
    from assay.host.system import System
    from assay.host.tune import outcome_in_words
    from assay_lab.governor.control import put_back
    from assay_lab.governor.state import forget, state_file

    system = System()
    with open_journal(journal_folder(), system) as journal:
        pending, booted = len(journal.pending), journal.boot != system.boot
        left = put_back(system, journal) if pending else []
        forget(state_file())
    if not pending:
        typer.echo("Nothing to put back.")
    elif booted:
        typer.echo("The machine was started since: what is there now stays.")
    else:
        typer.echo(f"{pending - len(left)} of {pending} places put back")
    for outcome in left:
        typer.echo(outcome_in_words(outcome), err=True)
    if left:
        raise typer.Exit(1)


def _governed(system: "System", request: dict[str, Any]) -> dict[str, Any]:
    from assay.host.journal import journal_folder
    from assay_lab.governor.control import governed

    return governed(system, journal_folder(), request, lambda line: typer.echo(line, err=True))


def _refuse(machine: dict[str, Any], what: str, says: str) -> None:
    from assay.errors import AssayError

    for lacking in ("frequencies", "counters", what):
        if why := machine["lacking"].get(lacking):
            raise AssayError(f"{says if lacking == what else 'frequencies cannot be governed'}: {why}")


def _had(machine: dict[str, Any], what: str) -> str:
    if what == "counters":
        return "instructions and cache misses of all programs can be counted"
    if what == "energy":
        return "of all packages"
    policies = machine["policies"]
    drivers = ", ".join(sorted({policy["driver"] or "unknown driver" for policy in policies}))
    may = "" if os.geteuid() == 0 else "; to set them needs root"
    return f"{machine['machine']}, by {drivers}{may}"
