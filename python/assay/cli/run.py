"""`assay run`, `assay resume`: carry out an experiment."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.browse import DEFAULT_STORE, JsonOption, StoreOption
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.experiment import Experiment
    from assay.plan.types import Plan
    from assay.store import Store


def run(
    experiment: Annotated[Path, typer.Argument(help="The experiment's TOML file.")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment, then print its verdicts and write its page.

    Ctrl-C ends it cleanly: every trial that has ended is kept, and `assay resume` goes on from there.
    The exit code is 1 where a trial was not valid.

    Example: `assay run experiments/quickstart.toml`
    """
    from assay.experiment import load
    from assay.store import Store, runner_lock

    read = load(experiment)
    plan = _plan(read)
    with runner_lock(store), Store.open(store) as opened:
        campaign = opened.begin_campaign(
            experiment=read.name,
            question=read.question,
            source=read.source,
            directory=str(experiment.parent.absolute()),
            plan=plan,
            host=_host(),
        )
        _carry_out(opened, campaign, as_json)


def resume(
    campaign: Annotated[
        int | None, typer.Argument(help="Number of the campaign. Default: the latest unfinished one.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Go on with a campaign that was stopped or killed, with the trials that have not ended.

    Example: `assay resume 3`
    """
    from assay.store import Store, runner_lock

    with Store.open(store, create=False) as opened, runner_lock(store):
        if campaign is None:
            unfinished = [each.id for each in opened.campaigns() if not each.finished]
            if not unfinished:
                typer.echo(f"Nothing to resume: every campaign in {store} is finished.", err=True)
                return
            campaign = unfinished[-1]
        elif opened.campaign(campaign).finished:
            typer.echo(f"Nothing to resume: campaign {campaign} is finished.", err=True)
            return
        _carry_out(opened, campaign, as_json)


def _plan(experiment: "Experiment") -> "Plan":
    """Check an experiment against the programs of this machine, and plan its trials."""
    import os
    import secrets

    from assay import programs
    from assay.experiment import check_subjects
    from assay.plan.make_plan import make_plan

    trial = programs.find("assay-trial")
    check_subjects(experiment, {each["name"]: each["max_threads"] for each in programs.listing(trial)})
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    seed = experiment.design.seed
    return make_plan(
        experiment,
        secrets.randbelow(2**53) if seed is None else seed,
        lambda subject: str(experiment.programs.get(subject, trial)),
        memory_mb * 3 // 4,
    )


def _host() -> dict[str, object]:
    """Return what the laboratory itself knows of the machine."""
    import os
    import platform

    return {"name": platform.node(), "processors": os.cpu_count(), "kernel": platform.release()}


def _carry_out(store: "Store", campaign: int, as_json: bool) -> None:
    """Run what is pending of a campaign and report it; a signal ends it with the shell's usual exit code."""
    import time

    from rich.console import Console

    from assay import programs
    from assay.runner.local import LocalExecutor
    from assay.runner.process import Interrupted, StopSignals
    from assay.runner.progress import ProgressDisplay
    from assay.runner.run_trials import run_trials

    calibrate = programs.find("assay-calibrate")
    summary = store.campaign(campaign)
    pending = store.pending(campaign)
    failed = summary.ended - summary.counts.get("valid", 0)
    display = ProgressDisplay(Console(stderr=True), pending, summary.ended, failed)
    try:
        with StopSignals() as stop, display:
            run_trials(
                pending,
                LocalExecutor(calibrate, stop),
                lambda trial, outcome: store.record(campaign, trial.ordinal, outcome),
                display,
                time.monotonic,
            )
    except Interrupted as interrupted:
        summary = store.campaign(campaign)
        where = "" if store.path == DEFAULT_STORE else f" --store {shlex.quote(str(store.path))}"
        typer.echo(
            f"stopped: {summary.ended} of {summary.planned} trials have ended and are kept\n"
            f"resume with: assay resume {campaign}{where}",
            err=True,
        )
        raise typer.Exit(128 + interrupted.signum) from None
    _report(store, campaign, as_json)


def _report(store: "Store", campaign: int, as_json: bool) -> None:
    """Write the page of a campaign, and print its verdicts or, for programs, its summary."""
    from rich.console import Console

    from assay.report import gather, print_verdicts, write_page

    gathered = gather(store, campaign)
    page = write_page(gathered, store)
    summary = store.campaign(campaign)
    if as_json:
        answer = {
            "campaign": summary.id,
            "experiment": summary.experiment,
            "seed": summary.seed,
            "planned": summary.planned,
            "counts": summary.counts,
            "store": str(store.path),
            "page": str(page),
        }
        typer.echo(json.dumps(answer, indent=2))
    else:
        print_verdicts(gathered, Console())
        typer.echo(f"page: {page}")
    failed = summary.ended - summary.counts.get("valid", 0)
    if failed:
        raise AssayError(
            f"{failed} of {summary.planned} trials are not valid and count nowhere; "
            f"assay list trials --campaign {campaign} says why"
        )
