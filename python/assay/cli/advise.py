"""`assay advise`: which guidelines for transactional memory a program breaks."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, print_json, real, whole_option
from assay.errors import AssayError
from assay.words import printable

if TYPE_CHECKING:
    from assay.advice import Judged, Settings
    from assay.advice.types import Observed
    from assay.runner.process import StopSignals

_MOST = 65536


def advise(
    command: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM [ARGS]...", hidden=True)] = None,
    *,
    sets: Annotated[int, whole_option("Of the cache: sets.", 1, _MOST)] = 64,
    ways: Annotated[int, whole_option("Lines written that a set keeps.", 1, _MOST)] = 8,
    read_ways: Annotated[int, whole_option("Lines read that a set keeps.", 1, _MOST)] = 128,
    timeout: Annotated[
        float,
        typer.Option(parser=real(0.1, 1e6), metavar="SECONDS", help="End the program after this time."),
    ] = 300.0,
    trial: Annotated[
        int | None, whole_option("Instead of a program: this trial of the store, again with its draws.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say which guidelines a program's transactions break.

    Each critical section that runs as a transaction is named with function, source line and the addresses
    that matter: lines that threads write and share, falsely or not; the system call, allocation or
    instruction that ends it; how much it touches, how early it writes, and how small it is. Build the program
    with -g. Its options come after its name. It takes long, and no timing of it means anything.

    The exit code is 1 where there is something to say.

    Example: `assay advise ./my_test --threads 2`, `assay advise --trial 17`
    """
    from rich.console import Console

    from assay.advice import Settings, judge, observe, print_judged
    from assay.runner.process import Interrupted, StopSignals

    if (trial is None) == (not command):
        raise AssayError("name a program, or a trial with --trial")
    settings = Settings(sets=sets, ways=ways, read_ways=read_ways, timeout_s=timeout)
    with StopSignals() as stop:
        try:
            observed = (
                _of_trial(trial, store, settings, stop) if trial else observe(command or (), settings, stop)
            )
        except Interrupted as interrupted:
            typer.echo("stopped", err=True)
            raise typer.Exit(128 + interrupted.signum) from None
    judged = judge(observed, settings)
    if as_json:
        print_json(_as_json(judged))
    else:
        print_judged(judged, Console())
    if judged.trouble or any(section.advice or section.limits for section in judged.sections):
        raise typer.Exit(1)


def _of_trial(trial: int, place: Path, settings: "Settings", stop: "StopSignals") -> "Observed":
    from dataclasses import replace

    from assay.advice import recording
    from assay.campaign.replay import replay
    from assay.store import Store

    with Store.open(place, create=False) as opened, recording(settings) as (started_from, read):
        outcome = replay(opened, trial, stop, lambda line: typer.echo(line, err=True), started_from).outcome
        observed = read(f"trial {trial}")
    if outcome.status == "valid":
        return observed
    return replace(
        observed, trouble=f"It was {outcome.status.replace('_', ' ')}: {printable(outcome.reason)}."
    )


def _as_json(judged: "Judged") -> dict[str, Any]:
    sections = [asdict(section) | {"transactions": section.transactions} for section in judged.sections]
    return asdict(judged) | {"emulated": True, "sections": sections}
