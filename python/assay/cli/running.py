"""Runs campaigns for every command that measures, and puts into words how they ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from assay.cli.invocation import invocation
from assay.errors import AssayError
from assay.words import agreed, counted

if TYPE_CHECKING:
    from assay.campaign.hosts import Hosts
    from assay.experiment import Experiment
    from assay.report import Report
    from assay.store import Store, StoreName


@contextmanager
def running_campaign(
    path: "StoreName",
    experiment_or_number: "Experiment | int",
    *,
    quiet: bool = False,
    built: bool = False,
    tuned: bool = False,
    pilot: int | None = None,
    on: "Hosts | None" = None,
    stopped: "Callable[[Report, Store], None] | None" = None,
) -> "Iterator[tuple[Report, Store]]":
    """Run a campaign with `run_campaign`; within, the caller shows its report, with the store open.

    If a signal stops the campaign or the caller, the command ends with the shell's usual exit code. Whatever
    ends it, a message says how to go on.

    Args:
        path, experiment_or_number, built, tuned, pilot, on: are as for `run_campaign`.
        quiet: show no progress.
        stopped: gets the report of a campaign that was stopped, if any trial has ended.

    Raises:
        AssayError: the campaign cannot run, or cannot go on.
        Exit: it was stopped.
    """
    from assay.campaign import BrokenCampaignError, NothingExtractedError, Reporter, run_campaign
    from assay.report import gather
    from assay.report.verdicts import record
    from assay.runner.process import Interrupted, StopSignals
    from assay.store import Store, store_name

    path = store_name(path)
    with StopSignals() as stop:
        try:
            result = run_campaign(
                path,
                experiment_or_number,
                stop,
                Reporter(quiet=quiet),
                built=built,
                tuned=tuned,
                pilot=pilot,
                on=on,
            )
        except NothingExtractedError as error:
            show = invocation("store", "show", str(error.trial_id), store=path)
            raise AssayError(f"{error}; what it printed: {show}") from error
        except BrokenCampaignError as error:
            resume = invocation("resume", "--campaign", str(error.number), store=path)
            raise AssayError(
                f"{error}; nothing is lost: once that is corrected, go on with: {resume}"
            ) from error
        if result.number is None:
            typer.echo("stopped while building; no trial has run", err=True)
            raise typer.Exit(128 + (result.signal or 0))
        with Store.open(path, create=False) as store:
            try:
                if result.report is not None:
                    yield result.report, store
                    return
                signum = result.signal or 0
            except Interrupted as interrupted:
                signum = interrupted.signum
            _say_stopped(store, result.number)
            if stopped and store.trials(result.number):
                report = gather(store, result.number)
                record(report, store)
                stopped(report, store)
            raise typer.Exit(128 + signum)


def _say_stopped(store: "Store", number: int) -> None:
    """Say which trials a stopped campaign has kept, and which command goes on."""
    summary = store.campaign(number)
    command = "report" if summary.finished else "resume"
    typer.echo(
        f"stopped: {summary.ended} of {counted(summary.planned, 'trial')}"
        f" {agreed(summary.ended, 'has ended and is', 'have ended and are')} kept\n"
        f"{command} with: {invocation(command, '--campaign', str(number), store=store.name)}",
        err=True,
    )
