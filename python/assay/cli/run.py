"""`assay run`, `assay resume`: carry out an experiment."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.browse import DEFAULT_STORE, JsonOption, StoreOption
from assay.cli.invocation import invocation
from assay.errors import AssayError
from assay.words import printable

if TYPE_CHECKING:
    from assay.campaign import Campaign
    from assay.experiment import Experiment
    from assay.report import Report
    from assay.store import Store


def run(
    experiment: Annotated[Path, typer.Argument(help="The experiment's TOML file.")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment, then print its verdicts and write its page.

    Ctrl-C ends it cleanly: every trial that has ended is kept, and `assay resume` goes on from there.
    The exit code is 1 where a trial was not valid. A metric that a program's first valid trial lacks ends it,
    and so does a command in whose first output a metric is not to be found.

    Example: `assay run experiments/quickstart.toml`
    """
    from assay.audit import audit_experiment
    from assay.experiment import load
    from assay.runner.machine import host

    loaded = load(experiment)
    for finding in audit_experiment(loaded, host()):
        if finding.severity == "error":  # known before hours are spent on it
            typer.echo(f"{finding.rule}: {finding.message} {finding.remedy}", err=True)
    run_and_report(loaded, store, as_json)


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
    from assay.campaign import Campaign
    from assay.store import Store, runner_lock

    with Store.open(store, create=False) as opened, runner_lock(store):
        if campaign is None:
            unfinished = [summary for summary in opened.campaigns() if not summary.finished]
            if not unfinished:
                typer.echo(f"Nothing to resume: every campaign in {store} is finished.", err=True)
                return
            summary = unfinished[-1]
        else:
            summary = opened.campaign(campaign)
            if summary.finished:
                typer.echo(f"Nothing to resume: campaign {campaign} is finished.", err=True)
                return
        experiment = opened.experiment(summary.id)
        with carried_out(opened, Campaign(opened, experiment, summary.id)) as number:
            _report(opened, number, as_json)


def run_and_report(experiment: "Experiment", path: Path, as_json: bool) -> "Report":
    """Run a new campaign of an experiment into the store at a path, and report it as `assay run` does.

    Args:
        experiment: what to run.
        path: of the store.
        as_json: whether verdicts are printed as JSON.

    Raises:
        AssayError: it cannot run.
        Exit: a trial was not valid.
    """
    from assay.campaign import Campaign, plan_trials
    from assay.store import Store, runner_lock

    plan = plan_trials(experiment)
    with (
        Store.open(path) as opened,
        runner_lock(path),
        carried_out(opened, Campaign(opened, experiment, plan)) as number,
    ):
        return _report(opened, number, as_json)


@contextmanager
def carried_out(store: "Store", campaign: "Campaign", *, pilot: int | None = None) -> Iterator[int]:
    """Carry out a campaign; within, its number is given, and it is reported.

    A signal ends any of it with the shell's usual exit code, and whatever ends it says how to go on.
    """
    from rich.console import Console

    from assay.campaign import NothingExtractedError
    from assay.runner.process import CannotStartError, Interrupted, StopSignals

    def say(line: str) -> None:
        typer.echo(line, err=True)

    with StopSignals() as stop:
        try:
            number = campaign.carry_out(stop, Console(stderr=True), say, pilot=pilot)
            stop.act_at_once()
            yield number
        except NothingExtractedError as error:
            show = invocation("show", str(error.trial_id), store=store.path)
            raise AssayError(f"{error}; what it printed: {show}") from error
        except CannotStartError as error:
            if campaign.number is None:
                raise
            raise AssayError(
                f"{error}; nothing is lost: put it right (build it), then go on with: "
                f"{invocation('resume', str(campaign.number), store=store.path)}"
            ) from error
        except Interrupted as interrupted:
            if campaign.number is None:
                say("stopped while building; no trial has run")
            else:
                summary = store.campaign(campaign.number)
                command = "report" if summary.finished else "resume"
                say(
                    f"stopped: {summary.ended} of {summary.planned} trials have ended and are kept\n"
                    f"{command} with: {invocation(command, str(campaign.number), store=store.path)}"
                )
            raise typer.Exit(128 + interrupted.signum) from None


def _report(store: "Store", campaign: int, as_json: bool) -> "Report":
    """Keep what the audit finds, print the verdicts of a campaign and write its page."""
    from rich.console import Console

    from assay.report import as_json as json_of
    from assay.report import gather
    from assay.report.site import write_page
    from assay.report.terminal import print_report

    gathered = gather(store, campaign)
    store.write_findings(campaign, gathered.findings)
    if not as_json:
        print_report(gathered, Console())
    try:
        page: str | None = str(write_page(gathered, store))
        unwritten = None
    except AssayError as error:  # what was measured is said all the same
        page, unwritten = None, error
    if as_json:
        typer.echo(json.dumps(json_of(gathered) | {"store": str(store.path), "page": page}, indent=2))
    elif page:
        typer.echo(f"page: {page}")
    if unwritten:
        raise unwritten
    summary = gathered.campaign
    failed = summary.ended - summary.counts.get("valid", 0)
    if failed:
        listing = invocation("list", "trials", "--campaign", str(campaign), store=store.path)
        first = next(trial for trial in gathered.trials if trial.status != "valid")
        typer.echo(
            f"{failed} of {summary.planned} trials are not valid and count nowhere; trial {first.id} "
            f"{first.status.replace('_', ' ')}: {printable(first.reason)}; all: {listing}",
            err=True,
        )
        raise typer.Exit(1)
    return gathered
