"""`assay run`, `assay resume`: carry out an experiment."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.browse import DEFAULT_STORE, JsonOption, StoreOption
from assay.cli.invocation import invocation
from assay.errors import AssayError
from assay.words import printable

if TYPE_CHECKING:
    from assay.experiment import Experiment, SubjectOffer
    from assay.plan.types import Plan
    from assay.report import Report
    from assay.runner.course import Judgement
    from assay.runner.local import LocalExecutor
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
    from assay.experiment import load

    read = load(experiment)
    _warn(read)
    carry_out(read, store, as_json)


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
        with _carried_out(opened, opened.experiment(number), number):
            _report(opened, number, as_json)


def carry_out(experiment: "Experiment", path: Path, as_json: bool) -> "Report":
    """Run a new campaign of an experiment into the store at a path, and report it as `assay run` does.

    Args:
        experiment: what to run.
        path: of the store.
        as_json: whether verdicts are printed as JSON.

    Raises:
        AssayError: it cannot run, or a trial was not valid.
    """
    from assay.store import Store, runner_lock

    plan = _plan(experiment)
    with (
        Store.open(path) as opened,
        runner_lock(path),
        _carried_out(opened, experiment, lambda: _begin(opened, experiment, plan)) as campaign,
    ):
        return _report(opened, campaign, as_json)


def run_campaign(
    store: "Store", experiment: "Experiment", *, quiet: bool = False, pilot: int | None = None
) -> int:
    """Run a new campaign of an experiment into an open store, and return its number.

    A signal ends it as it ends `assay run`. The caller holds the store's `runner_lock`.

    Args:
        store: where its trials are recorded.
        experiment: what to run.
        quiet: whether nothing is said of how far it is.
        pilot: after how many blocks it ends because it is a pilot; None where it is none.
    """
    plan = _plan(experiment)
    with _carried_out(
        store, experiment, lambda: _begin(store, experiment, plan), quiet=quiet, pilot=pilot
    ) as campaign:
        return campaign


def _warn(experiment: "Experiment") -> None:
    """Say before hours are spent why the verdicts could not be believed whatever is measured."""
    from assay.audit import audit_experiment

    for finding in audit_experiment(experiment, _host()):
        if finding.severity == "error":
            typer.echo(f"{finding.rule}: {finding.message} {finding.remedy}", err=True)


def check_machine(experiment: "Experiment") -> None:
    """Check that the programs and the processors of this machine can do what an experiment asks for.

    Raises:
        AssayError: they cannot.
    """
    import os

    from assay import programs
    from assay.experiment import (
        EngineOffer,
        check_engines,
        check_latest,
        check_memory,
        check_metrics,
        check_processors,
        check_subjects,
    )
    from assay.runner.allocators import check_allocators

    trial = programs.find("assay-trial")
    check_subjects(experiment, {each["name"]: _offer(each) for each in programs.listing(trial)})
    check_engines(
        experiment,
        {
            each["name"]: EngineOffer(each["state_bits"], each["available"], each["shared"])
            for each in programs.engines(trial)
        },
    )
    check_latest(experiment)
    check_metrics(experiment)
    check_allocators(experiment)
    check_processors(experiment, os.sched_getaffinity(0))
    check_memory(experiment, _memory_limit_mb())


def _memory_limit_mb() -> int:
    """Return what a trial may use where its settings do not say: three quarters of the memory, MiB."""
    import os

    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 * 3 // 4


def _plan(experiment: "Experiment") -> "Plan":
    """Check an experiment against the programs of this machine, and plan its trials."""
    import secrets

    from assay import programs
    from assay.plan.make_plan import make_plan

    check_machine(experiment)
    trial = programs.find("assay-trial")
    seed = experiment.design.seed
    return make_plan(
        experiment,
        secrets.randbelow(2**53) if seed is None else seed,
        lambda subject: str(experiment.programs[subject].path if subject in experiment.programs else trial),
        _memory_limit_mb(),
    )


def _offer(entry: Mapping[str, Any]) -> "SubjectOffer":
    """Return what a subject offers, of its entry in the list of its program."""
    from assay.experiment import SubjectOffer

    return SubjectOffer(
        structure=entry["structure"],
        max_threads=entry["max_threads"],
        types=frozenset((key, value) for key, value in entry["types"]),
        operations=frozenset(entry["operations"]),
    )


def _host() -> dict[str, object]:
    """Return what the laboratory itself knows of the machine: `processors` are those that it may use."""
    import os
    import platform

    return {"name": platform.node(), "processors": len(os.sched_getaffinity(0)), "kernel": platform.release()}


def _begin(store: "Store", experiment: "Experiment", plan: "Plan") -> int:
    """Write a new campaign to a store, and return its number."""
    return store.begin_campaign(experiment=experiment, plan=plan, host=_host())


@contextmanager
def _carried_out(
    store: "Store",
    experiment: "Experiment",
    begin: int | Callable[[], int],
    *,
    quiet: bool = False,
    pilot: int | None = None,
) -> Iterator[int]:
    """Build what is measured and run what is pending of a campaign; within, it is reported.

    A signal ends any of it with the shell's usual exit code.

    `begin` is the campaign's number, or begins one and returns its number. It is called when signals are
    handled already, so that no campaign begins without word of how to go on with it.
    """
    from assay import programs
    from assay.runner.build import run_builds
    from assay.runner.course import NothingExtractedError
    from assay.runner.local import LocalExecutor
    from assay.runner.process import CannotStartError, Interrupted, StopSignals

    def say(line: str) -> None:
        typer.echo(line, err=True)

    calibrate = programs.find("assay-calibrate")
    with StopSignals() as stop:
        try:
            run_builds(experiment, (lambda _: None) if quiet else say, say, stop)
        except Interrupted as interrupted:
            say(
                "stopped while building; no trial has run"
                if callable(begin)
                else "stopped while building\n"
                f"resume with: {invocation('resume', str(begin), store=store.path)}"
            )
            raise typer.Exit(128 + interrupted.signum) from None
        campaign = begin() if callable(begin) else begin
        executor = LocalExecutor(calibrate, stop, experiment.path.parent.absolute())
        try:
            _run_pending(store, campaign, experiment, executor, quiet=quiet, pilot=pilot)
            stop.act_at_once()
            yield campaign
        except NothingExtractedError as error:
            show = invocation("show", str(error.trial_id), store=store.path)
            raise AssayError(f"{error}; what it printed: {show}") from error
        except CannotStartError as error:
            raise AssayError(
                f"{error}; nothing is lost: put it right (build it), then go on with: "
                f"{invocation('resume', str(campaign), store=store.path)}"
            ) from error
        except Interrupted as interrupted:
            summary = store.campaign(campaign)
            command = "report" if summary.finished else "resume"
            say(
                f"stopped: {summary.ended} of {summary.planned} trials have ended and are kept\n"
                f"{command} with: {invocation(command, str(campaign), store=store.path)}"
            )
            raise typer.Exit(128 + interrupted.signum) from None


def _run_pending(
    store: "Store",
    campaign: int,
    experiment: "Experiment",
    executor: "LocalExecutor",
    *,
    quiet: bool,
    pilot: int | None,
) -> None:
    """Run the trials of a campaign that have not ended, and record each."""
    import math
    import time

    from rich.console import Console

    from assay.runner.course import CampaignCourse
    from assay.runner.process import check_startable
    from assay.runner.progress import ProgressDisplay
    from assay.runner.run_trials import run_trials

    summary = store.campaign(campaign)
    pending = store.pending(campaign)
    for program in {trial.program for trial in pending}:
        check_startable(program)
    ended = sorted(store.trials(campaign), key=lambda trial: trial.id)
    blocks = experiment.design.blocks
    console = Console(stderr=True, quiet=quiet)
    course = CampaignCourse(
        store,
        campaign,
        summary.seed,
        experiment,
        judgement=_judgement(experiment),
        pending=pending,
        ended=ended,
        decisions=store.decisions(campaign),
        clock=time.monotonic,
        say=lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True),
        pilot=pilot,
    )
    with ProgressDisplay(
        console,
        pending,
        summary.ended,
        summary.ended - summary.counts.get("valid", 0),
        may_end_early=(blocks.until, blocks.minutes, pilot) != (None, None, None),
        budget_s=math.inf if blocks.minutes is None else 60 * blocks.minutes - course.running_s(),
    ) as display:
        run_trials(pending, executor, course, display, time.monotonic, last=ended[-1] if ended else None)


def _judgement(experiment: "Experiment") -> "Judgement":
    """Return what the course of a campaign rests on."""
    from assay.analysis import summarise
    from assay.analysis.modes import disagreement
    from assay.analysis.sequential import looks, settled
    from assay.analysis.steadiness import derive
    from assay.runner.course import Judgement

    blocks = experiment.design.blocks
    return Judgement(
        derive=derive,
        disagreement=disagreement,
        summarise=summarise,
        settled=lambda analysis: settled(analysis, blocks),
        looks=frozenset(look.blocks for look in looks(blocks)) if blocks.until is not None else frozenset(),
    )


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
        raise AssayError(
            f"{failed} of {summary.planned} trials are not valid and count nowhere; trial {first.id} "
            f"{first.status.replace('_', ' ')}: {printable(first.reason)}; all: {listing}"
        )
    return gathered
