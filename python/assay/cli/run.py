"""`assay run`, `assay resume`: carry out an experiment."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    ExperimentArgument,
    FailOnOption,
    JsonOption,
    StoreOption,
    end,
    print_json,
)
from assay.errors import AssayError
from assay.words import printable

if TYPE_CHECKING:
    from assay.campaign import Campaign
    from assay.experiment import Experiment
    from assay.report import Report
    from assay.store import Store

QuietOption = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
NoPageOption = Annotated[bool, typer.Option("--no-page", help="Write no page.")]


def run(
    experiment: ExperimentArgument,
    *,
    blocks: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="Run this many blocks, whatever the file says of `until`."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=1_000_000,
            help="End with the block in which this many minutes have passed, whatever the file says of"
            " `until`; with --blocks, after that many blocks at the latest.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**53 - 1, help="Draw the plan from this seed.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=LEVEL",
            help="Run only this level of a factor, or these: LEVEL,LEVEL. May be repeated.",
        ),
    ] = None,
    quiet: QuietOption = False,
    no_page: NoPageOption = False,
    fail_on: FailOnOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment, then print its verdicts and write its page.

    Ctrl-C ends it cleanly: every trial that has ended is kept, and `assay resume` goes on from there.
    It ends early if a program's first valid trial lacks a compared metric, or if a metric cannot be found in
    the first output of a command. The exit code is 1 if a trial was not valid, or if --fail-on asks for it.

    The campaign and its report keep what --blocks, --minutes, --seed and --only changed.

    Example: `assay run experiments/quickstart.toml`
    """
    from assay.audit import audit_experiment
    from assay.experiment import load, overridden
    from assay.runner.machine import host

    loaded = overridden(load(experiment), blocks=blocks, minutes=minutes, seed=seed, only=only or ())
    for finding in audit_experiment(loaded, host()):
        if finding.severity == "error":  # known before hours are spent on it
            typer.echo(f"finding: {finding.rule}: {finding.message} {finding.remedy}", err=True)
    report = run_and_report(loaded, store, as_json, quiet=quiet, page=not no_page)
    end(fail_on, report.findings, (*report.analysis.comparisons, *report.analysis.aggregates))


def resume(
    campaign: Annotated[
        int | None, typer.Option(help="Number of the campaign. Default: the latest unfinished one.")
    ] = None,
    *,
    quiet: QuietOption = False,
    no_page: NoPageOption = False,
    fail_on: FailOnOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Go on with a campaign that was stopped or killed, with the trials that have not ended.

    The exit code is that of `assay run`.

    Example: `assay resume --campaign 3`
    """
    from assay.campaign import Campaign
    from assay.report.site import check_folder
    from assay.store import Store, runner_lock

    with Store.open(store, create=False) as opened, runner_lock(store):
        summaries = opened.campaigns() if campaign is None else [opened.campaign(campaign)]
        unfinished = [summary.id for summary in summaries if not summary.finished]
        if not unfinished:
            named = f"every campaign in {store}" if campaign is None else f"campaign {campaign}"
            typer.echo(f"Nothing to resume: {named} is finished.", err=True)
            if as_json:
                print_json({"campaign": None})
            return
        number = unfinished[-1]
        check_folder(opened)
        with carried_out(opened, Campaign(opened, opened.experiment(number), number), quiet=quiet):
            report = _report(opened, number, as_json, page=not no_page)
    end(fail_on, report.findings, (*report.analysis.comparisons, *report.analysis.aggregates))


def run_and_report(
    experiment: "Experiment", path: Path, as_json: bool, *, quiet: bool = False, page: bool = True
) -> "Report":
    """Run a new campaign of an experiment into the store at a path, and report it as `assay run` does.

    Args:
        experiment: what to run.
        path: of the store.
        as_json: whether verdicts are printed as JSON.
        quiet: whether no progress is shown.
        page: whether its page is written.

    Raises:
        AssayError: it cannot run.
        Exit: a trial was not valid.
    """
    from assay.campaign import Campaign, plan_trials
    from assay.report.site import check_folder
    from assay.store import Store, runner_lock

    plan = plan_trials(experiment)
    with Store.open(path) as opened, runner_lock(path):
        check_folder(opened)
        with carried_out(opened, Campaign(opened, experiment, plan), quiet=quiet) as number:
            return _report(opened, number, as_json, page=page)


@contextmanager
def carried_out(
    store: "Store", campaign: "Campaign", *, quiet: bool = False, pilot: int | None = None
) -> Iterator[int]:
    """Carry out a campaign; within, its number is given, and it is reported.

    A signal ends it with the shell's usual exit code. Whatever ends it, a message says how to go on.
    """
    from rich.console import Console

    from assay.campaign import NothingExtractedError
    from assay.runner.process import CannotStartError, Interrupted, StopSignals

    def say(line: str) -> None:
        typer.echo(line, err=True)

    with StopSignals() as stop:
        try:
            number = campaign.carry_out(stop, Console(stderr=True, quiet=quiet), say, pilot=pilot)
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
                f"{invocation('resume', '--campaign', str(campaign.number), store=store.path)}"
            ) from error
        except Interrupted as interrupted:
            if campaign.number is None:
                say("stopped while building; no trial has run")
            else:
                summary = store.campaign(campaign.number)
                command = "report" if summary.finished else "resume"
                go_on = invocation(command, "--campaign", str(campaign.number), store=store.path)
                say(
                    f"stopped: {summary.ended} of {summary.planned} trials have ended and are kept\n"
                    f"{command} with: {go_on}"
                )
            raise typer.Exit(128 + interrupted.signum) from None


def _report(store: "Store", campaign: int, as_json: bool, *, page: bool) -> "Report":
    """Store the findings of a campaign, print its verdicts, and write its page if that is wanted."""
    from assay.cli.report import tell
    from assay.report import gather
    from assay.report.site import write_page

    gathered = gather(store, campaign)
    store.write_findings(campaign, gathered.findings)
    tell(gathered, store, as_json, partial(write_page, gathered, store) if page else None)
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
