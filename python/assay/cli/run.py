"""`assay run`, `assay resume`: carry out an experiment."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.browse import DEFAULT_STORE, JsonOption, StoreOption
from assay.cli.invocation import invocation
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.experiment import Experiment
    from assay.plan.types import Plan, PlannedTrial
    from assay.runner.process import StopSignals
    from assay.runner.types import Outcome
    from assay.store import Store


def run(
    experiment: Annotated[Path, typer.Argument(help="The experiment's TOML file.")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment, then print its verdicts and write its page.

    Ctrl-C ends it cleanly: every trial that has ended is kept, and `assay resume` goes on from there.
    The exit code is 1 where a trial was not valid. A metric that a program's first valid trial lacks ends it.

    Example: `assay run experiments/quickstart.toml`
    """
    from assay.experiment import load
    from assay.store import Store, runner_lock

    read = load(experiment)
    plan = _plan(read)
    with Store.open(store) as opened, runner_lock(store):

        def begin() -> int:
            return opened.begin_campaign(
                experiment=read.name,
                question=read.question,
                source=read.source,
                directory=str(experiment.parent.absolute()),
                plan=plan,
                host=_host(),
            )

        _carry_out(opened, begin, as_json)


def resume(
    campaign: Annotated[
        int | None,
        typer.Argument(
            min=1, max=2**63 - 1, help="Number of the campaign. Default: the latest unfinished one."
        ),
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
            number = unfinished[-1]
        else:
            number = campaign
            if opened.campaign(number).finished:
                typer.echo(f"Nothing to resume: campaign {number} is finished.", err=True)
                return
        _carry_out(opened, lambda: number, as_json)


def _plan(experiment: "Experiment") -> "Plan":
    """Check an experiment against the programs of this machine, and plan its trials."""
    import os
    import secrets

    from assay import programs
    from assay.experiment import check_processors, check_subjects
    from assay.plan.make_plan import make_plan

    trial = programs.find("assay-trial")
    check_subjects(experiment, {each["name"]: each["max_threads"] for each in programs.listing(trial)})
    check_processors(experiment, os.sched_getaffinity(0))
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    seed = experiment.design.seed
    return make_plan(
        experiment,
        secrets.randbelow(2**53) if seed is None else seed,
        lambda subject: str(experiment.programs[subject].path if subject in experiment.programs else trial),
        memory_mb * 3 // 4,
    )


def _host() -> dict[str, object]:
    """Return what the laboratory itself knows of the machine: `processors` are those that it may use."""
    import os
    import platform

    return {"name": platform.node(), "processors": len(os.sched_getaffinity(0)), "kernel": platform.release()}


def _carry_out(store: "Store", begin: Callable[[], int], as_json: bool) -> None:
    """Run what is pending of a campaign and report it; a signal ends it with the shell's usual exit code.

    `begin` gives the campaign's number. It is called when signals are handled already, so that no campaign
    begins without word of how to go on with it.
    """
    from assay import programs
    from assay.runner.process import CannotStartError, Interrupted, StopSignals

    calibrate = programs.find("assay-calibrate")
    with StopSignals() as stop:
        campaign = begin()
        try:
            _run_pending(store, campaign, calibrate, stop)
            stop.act_at_once()
            _report(store, campaign, as_json)
        except CannotStartError as error:
            raise AssayError(
                f"{error}; nothing is lost: put it right (build it), then go on with: "
                f"{invocation('resume', str(campaign), store=store.path)}"
            ) from error
        except Interrupted as interrupted:
            summary = store.campaign(campaign)
            command = "report" if summary.finished else "resume"
            typer.echo(
                f"stopped: {summary.ended} of {summary.planned} trials have ended and are kept\n"
                f"{command} with: {invocation(command, str(campaign), store=store.path)}",
                err=True,
            )
            raise typer.Exit(128 + interrupted.signum) from None


def _run_pending(store: "Store", campaign: int, calibrate: Path, stop: "StopSignals") -> None:
    """Run the trials of a campaign that have not ended, and record each."""
    import time

    from rich.console import Console

    from assay.experiment import parse
    from assay.runner.local import LocalExecutor
    from assay.runner.process import check_startable
    from assay.runner.progress import ProgressDisplay
    from assay.runner.run_trials import run_trials

    summary = store.campaign(campaign)
    metric = parse(summary.source, Path(f"{summary.experiment}.toml")).comparison.metric
    pending = store.pending(campaign)
    for program in {trial.program for trial in pending}:
        check_startable(program)
    measured: set[str] = set()

    def record(trial: "PlannedTrial", outcome: "Outcome") -> None:
        store.record(campaign, trial.ordinal, outcome)
        if outcome.status == "valid" and outcome.result and trial.program not in measured:
            measured.add(trial.program)
            _check_metric(metric, trial.program, outcome.result["metrics"])

    failed = summary.ended - summary.counts.get("valid", 0)
    with ProgressDisplay(Console(stderr=True), pending, summary.ended, failed) as display:
        run_trials(pending, LocalExecutor(calibrate, stop), record, display, time.monotonic)


def _check_metric(metric: str, program: str, metrics: Collection[str]) -> None:
    """Refuse to go on measuring what cannot be compared: a program's first valid trial lacks the metric."""
    from assay.experiment.schema import nearest

    if metric not in metrics:
        raise AssayError(
            f"comparison.metric: {program} does not give the metric {metric}. The trials that have ended are "
            f"kept; put the experiment's file right and run that: {nearest(metric, sorted(metrics))}"
        )


def _report(store: "Store", campaign: int, as_json: bool) -> None:
    """Print the verdicts of a campaign and write its page."""
    from rich.console import Console

    from assay.report import as_json as json_of
    from assay.report import gather, print_verdicts, write_page

    gathered = gather(store, campaign)
    if as_json:
        places = {"store": str(store.path), "page": str(write_page(gathered, store))}
        typer.echo(json.dumps(json_of(gathered) | places, indent=2))
    else:
        print_verdicts(gathered, Console())
        typer.echo(f"page: {write_page(gathered, store)}")
    summary = gathered.campaign
    failed = summary.ended - summary.counts.get("valid", 0)
    if failed:
        listing = invocation("list", "trials", "--campaign", str(campaign), store=store.path)
        raise AssayError(
            f"{failed} of {summary.planned} trials are not valid and count nowhere; why: {listing}"
        )
