"""`assay run`, `assay resume`: carry out an experiment."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.audit import say_before
from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    BlocksOption,
    ExperimentArgument,
    FailOnOption,
    JsonOption,
    Level,
    OnlyOption,
    OnOption,
    QuietOption,
    SeedOption,
    SetOption,
    StoreOption,
    VerboseOption,
    WithinOption,
    campaign_option,
    end,
    hosts_in,
    print_json,
    whole_option,
    with_options,
)
from assay.cli.running import running_campaign
from assay.errors import AssayError
from assay.words import agreed, counted, printable

if TYPE_CHECKING:
    from assay.experiment import Experiment
    from assay.report import Report
    from assay.store import Store, StoreName

CONFIGURATIONS = 12
REPLICATES = 4

SensitivityOption = Annotated[
    bool,
    typer.Option("--sensitivity", help="Measure instead what arbitrary decisions do to the results."),
]
ConfigurationsOption = Annotated[
    int | None,
    whole_option(f"With --sensitivity: draw N configurations. Default: {CONFIGURATIONS}.", 2, 10_000),
]
ReplicatesOption = Annotated[
    int | None,
    whole_option(f"With --sensitivity: run each configuration N times. Default: {REPLICATES}.", 1, 10_000),
]
RandomnessOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIMES,...",
        help="With --sensitivity: multiples of C to add anew in every trial; none leaves it out."
        " Default: 0.5,1,2.",
    ),
]


@dataclass(frozen=True)
class Reporting:
    """How a campaign runs and is reported."""

    tuned: bool
    isolated: bool
    quiet: bool
    no_page: bool
    verbose: bool
    fail_on: list[Level] | None
    store: "StoreName"
    as_json: bool
    on: Path | None


_REPORTING: dict[str, Any] = {
    "tuned": Annotated[
        bool,
        typer.Option(
            "--tuned", help="Tune the host while it runs, as `assay host tune` does, and put it back."
        ),
    ],
    "isolated": Annotated[
        bool,
        typer.Option(
            "--isolated", help="As --tuned, and leave everything else the last processor meanwhile."
        ),
    ],
    "quiet": QuietOption,
    "no_page": Annotated[bool, typer.Option("--no-page", help="Write no page.")],
    "verbose": VerboseOption,
    "fail_on": FailOnOption,
    "store": StoreOption,
    "as_json": JsonOption,
    "on": OnOption,
}


def _with_reporting(command: Callable[..., None]) -> Callable[..., None]:
    defaults = {**dict.fromkeys(_REPORTING, False), "fail_on": None, "store": DEFAULT_STORE, "on": None}
    return with_options(command, "how", Reporting, _REPORTING, defaults)


@_with_reporting
def run(
    experiment: ExperimentArgument,
    *,
    blocks: BlocksOption = None,
    within: WithinOption = None,
    seed: SeedOption = None,
    only: OnlyOption = None,
    settings: SetOption = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Run it even if it has too few blocks for any verdict.")
    ] = False,
    identical: Annotated[
        bool, typer.Option("--identical", help="Compare instead each condition with a copy of itself.")
    ] = False,
    sensitivity: SensitivityOption = False,
    configurations: ConfigurationsOption = None,
    replicates: ReplicatesOption = None,
    randomness: RandomnessOption = None,
    how: Reporting,
) -> None:
    """Run an experiment, print its verdicts and write its page.

    EXPERIMENT is its file: TOML, or a resolved experiment as JSON from a campaign's page.

    Ctrl-C ends it cleanly: every trial that has ended is kept, and `assay resume` goes on from there.
    It refuses an experiment that has too few blocks for any verdict, unless --anyway is given. It ends
    early if a program's first valid trial lacks a compared metric, or if a metric cannot be found in
    the first output of a command. The exit code is 1 if a trial was not valid, or if --fail-on asks for it.

    With --tuned the host is tuned while it runs, and trials have the highest priority that is allowed; with
    --isolated they also have processors of their own. The host is put back however the run ends, also by
    `kill -9`.

    --identical says in how many comparisons identical code was called different. The exit code is 1 also if
    that is more than the promised 5% allows, or if no comparison had enough pairs to tell.

    --sensitivity says how far what [perturb] calls arbitrary moves the results. Near each condition
    configurations are drawn: with nothing perturbed, with each thing alone, and with everything; each is run
    several times. It says how far their medians lie apart, how wrong a comparison of two single systems would
    be, how much randomness in every trial is enough, and which level of a factor is less sensitive than its
    first.

    With --on each host of the file runs the whole plan in an order of its own, and the report answers for
    the hosts together and apart.

    The campaign and its report keep what --blocks, --within, --seed, --only and --set changed.

    Example: `assay run experiments/quickstart.toml --set threads=1,2`
    """
    from assay.analysis.aa import false_alarms
    from assay.audit import audit_experiment
    from assay.experiment import load, overridden
    from assay.runner.machine import host

    _check_options(
        {"--sensitivity": sensitivity, "--identical": identical},
        {"--configurations": configurations, "--replicates": replicates, "--randomness": randomness},
        {"--blocks": blocks, "--within": within},
    )
    loaded = overridden(
        load(experiment, identical=identical),
        blocks=blocks,
        minutes=within and within / 60,
        seed=seed,
        only=only or (),
        settings=settings or (),
    )
    if identical:
        loaded.reject_pitfall("assay run --identical")
    elif sensitivity:
        loaded = _with_configurations(loaded, configurations, replicates, randomness)
    else:
        loaded = _with_enough_blocks(loaded, anyway=anyway)
        errors = [finding for finding in audit_experiment(loaded, host()) if finding.severity == "error"]
        say_before(str(experiment), errors)  # before hours are spent
    report = _run_and_report(loaded, how)
    if identical and not false_alarms(report.analysis).compatible:
        raise typer.Exit(1)  # the report says why
    end(how.fail_on, report.findings, report.analysis.answers)


def _check_options(
    questions: Mapping[str, bool], of_sensitivity: Mapping[str, object], of_length: Mapping[str, object]
) -> None:
    """Refuse options that contradict each other, or belong to another one."""
    if all(questions.values()):
        raise AssayError("--identical and --sensitivity ask different things; give one of them")
    for option, value in of_sensitivity.items():
        if value is not None and not questions["--sensitivity"]:
            raise AssayError(f"{option}: belongs to --sensitivity; leave it out, or add --sensitivity")
    for option, value in of_length.items():
        if value is not None and questions["--sensitivity"]:
            raise AssayError(f"{option}: --sensitivity takes --configurations and --replicates in its place")


def _with_enough_blocks(experiment: "Experiment", *, anyway: bool) -> "Experiment":
    """Return an experiment whose blocks can decide something, or which is to run anyway.

    Raises:
        AssayError: they can decide nothing.
    """
    from assay.audit import too_few_for
    from assay.experiment import check
    from assay.runner.machine import present_machine

    hopeless = too_few_for(experiment)
    if hopeless and anyway:
        return experiment.altered(overrides=(*experiment.overrides, "--anyway"))
    if hopeless and "--anyway" not in experiment.overrides:  # of a campaign whose experiment.json this is
        check(experiment, present_machine())  # what is wrong in the file comes first
        comparisons, needed = hopeless
        raise AssayError(
            f"{experiment.path}: {counted(experiment.design.blocks, 'block')} can decide none of"
            f" {counted(comparisons, 'comparison')}; it takes {needed} (--blocks {needed});"
            " --anyway runs it as it is"
        )
    return experiment


@_with_reporting
def resume(
    campaign: Annotated[int | None, campaign_option("the latest unfinished one")] = None,
    *,
    how: Reporting,
) -> None:
    """Go on with a campaign that was stopped or killed.

    The trials that have not ended are run. The exit code is that of `assay run`, and 2 if none is left.

    Example: `assay resume --campaign 3`
    """
    from assay.store import Store

    with Store.open(how.store, create=False) as opened:
        summaries = opened.campaigns() if campaign is None else [opened.campaign(campaign)]
    unfinished = [summary.id for summary in summaries if not summary.finished]
    if not unfinished:
        named = f"every campaign in {how.store}" if campaign is None else f"campaign {campaign}"
        if how.as_json:
            print_json({"campaign": None})
        raise AssayError(f"nothing to resume: {named} is finished")
    report = _run_and_report(unfinished[-1], how)
    end(how.fail_on, report.findings, report.analysis.answers)


def _run_and_report(experiment_or_number: "Experiment | int", how: Reporting) -> "Report":
    """Run a new campaign or resume one, and report it.

    Raises:
        AssayError: it cannot run.
        Exit: a trial was not valid, or the campaign was stopped.
    """
    from assay.report.site import check_folder
    from assay.store import store_name

    check_folder(store_name(how.store))
    tuned = how.tuned or how.isolated
    hosts = hosts_in(how.on, isolated=how.isolated)
    with (
        _tuned_host(tuned and hosts is None, isolated=how.isolated),
        running_campaign(how.store, experiment_or_number, quiet=how.quiet, tuned=tuned, on=hosts) as (
            report,
            store,
        ),
    ):
        _show(report, store, how)
    return report


@contextmanager
def _tuned_host(wanted: bool, *, isolated: bool) -> Iterator[None]:
    """Tune the host within, if `wanted`. Signals wait until it is put back."""
    if not wanted:
        yield
        return
    from assay.host.journal import journal_folder
    from assay.host.priority import awake
    from assay.host.system import System
    from assay.host.tune import chosen, tuned
    from assay.runner.process import StopSignals

    def say(line: str) -> None:
        typer.echo(line, err=True)

    with StopSignals() as stop:
        settings = [*chosen(()), *(chosen(["isolation"]) if isolated else [])]
        with tuned(System(), journal_folder(), say, settings), awake() as asleep:
            if asleep:
                say(f"idle-latency: not changed: /dev/cpu_dma_latency: {asleep}")
            yield
        if stop.signum:
            raise typer.Exit(128 + stop.signum)


def _show(report: "Report", store: "Store", how: Reporting) -> None:
    """Print a campaign's verdicts, write its page, and name the trials that are not valid.

    Raises:
        Exit: a trial was not valid.
    """
    from assay.cli.report import print_result
    from assay.report.site import write_page

    write = None if how.no_page else partial(write_page, report, store)
    print_result(report, store, how.as_json, write, verbose=how.verbose)
    failed = [trial for trial in report.trials if trial.status != "valid"]
    if failed:
        from assay.audit import maps_of

        listing = invocation(
            "store", "list", "trials", "--campaign", str(report.campaign.id), store=store.name
        )
        maps = maps_of(failed, report.experiment, report.campaign.host)
        check = f"\nlook for the defect: {invocation('check', *maps[:1])}" if maps else ""
        typer.echo(
            f"{len(failed)} of {counted(report.trials, 'trial')} {agreed(failed, 'is', 'are')} not valid and"
            f" {agreed(failed, 'counts', 'count')} nowhere;"
            f" trial {failed[0].id} {failed[0].status.replace('_', ' ')}: {printable(failed[0].reason)};"
            f" all: {listing}{check}",
            err=True,
        )
        raise typer.Exit(1)


def _with_configurations(
    experiment: "Experiment", configurations: int | None, replicates: int | None, randomness: str | None
) -> "Experiment":
    """Return the experiment that measures how far what is arbitrary moves the results of another one.

    Raises:
        AssayError: it misleads on purpose, or the randomness is not what the option takes.
    """
    from assay.experiment.sensitivity import sensitive

    experiment.reject_pitfall("assay run --sensitivity")
    amounts = None if randomness is None else _amounts(randomness)
    return sensitive(experiment, configurations or CONFIGURATIONS, replicates or REPLICATES, amounts)


def _amounts(text: str) -> list[float]:
    """Return the multiples of C that a user names."""
    if text == "none":
        return []
    amounts: list[float] = []
    for word in text.split(","):
        try:
            amounts.append(float(word))
        except ValueError:
            amounts.append(math.nan)
        if not 0 < amounts[-1] <= 1000:
            raise AssayError(f"--randomness {text}: {word} is not a number above 0 and at most 1000")
    if len({f"{amount:g}" for amount in amounts}) < len(amounts):  # as the levels are called
        raise AssayError(f"--randomness {text}: an amount is named twice; remove it")
    return sorted(amounts)
