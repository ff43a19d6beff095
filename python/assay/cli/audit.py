"""`assay audit`: what the rules say about an experiment and its campaign."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.cli.completion import complete_experiments
from assay.cli.options import (
    DEFAULT_STORE,
    BlocksOption,
    CampaignOption,
    JsonOption,
    MinutesOption,
    OnlyOption,
    SetOption,
    StoreOption,
    end,
    print_json,
)
from assay.errors import AssayError
from assay.findings import SEVERITIES
from assay.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.experiment import Experiment
    from assay.findings import Finding
    from assay.store import Store
    from assay.store.types import CampaignSummary

TRIALS_AT_MOST = 10
"""Named of each finding; `--json` names all."""


def audit(
    experiment: Annotated[
        Path | None, typer.Argument(metavar="EXPERIMENT", hidden=True, autocompletion=complete_experiments)
    ] = None,
    campaign: CampaignOption = None,
    *,
    blocks: BlocksOption = None,
    minutes: MinutesOption = None,
    only: OnlyOption = None,
    settings: SetOption = None,
    fail_on: Annotated[
        Literal["error", "warning"],
        typer.Option(
            metavar="LEVEL", help="End with exit code 1 where there is an `error`, or also a `warning`."
        ),
    ] = "error",
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Print what the audit finds in an experiment and its campaign.

    EXPERIMENT is an experiment's file; without it, a campaign is audited alone. For a file, the audit makes
    every check that `assay run` makes before it starts. If the store has campaigns of
    this experiment, it then audits the latest one that asked the same. The store keeps the findings of a
    campaign: `assay store query "select * from findings"`.

    The exit code is 1 if a finding is an error (do not believe the verdicts), with --fail-on warning also if
    one is a warning (know this before you believe them), and 2 if the experiment cannot run.

    Example: `assay audit experiments/quickstart.toml`
    """
    from assay.audit import audit as audit_campaign
    from assay.audit import audit_experiment, audit_foreign
    from assay.experiment import check, check_listed, load, overridden
    from assay.runner.machine import host, present_machine
    from assay.runner.subjects import kinds, listings, reclamations
    from assay.store import Store

    if experiment is not None and campaign is not None:
        raise AssayError("--campaign: name a campaign or an experiment's file, not both")
    if experiment is None and (blocks or minutes or only or settings):
        raise AssayError("--blocks, --minutes, --only and --set change an experiment; name its file")
    of_file: list[Finding] = []
    of_campaign: list[Finding] = []
    loaded, summary, note = None, None, ""
    if experiment is not None:
        loaded = overridden(
            load(experiment), blocks=blocks, minutes=minutes, only=only or (), settings=settings or ()
        )
        check(loaded, present_machine())
        listed = listings(loaded)
        check_listed(loaded, listed, built=False)
        of_file = audit_experiment(
            loaded, {**host(), "subjects": kinds(loaded, listed), "reclaims": reclamations(loaded, listed)}
        )
    if loaded is None or store.exists():
        with Store.open(store, create=False) as opened:
            summary, note = _campaign(opened, loaded, campaign)
            if summary is not None and summary.imported:
                of_campaign = audit_foreign(opened.foreign_run(summary.id))
            elif summary is not None:
                audited = opened.experiment(summary.id) if loaded is None or note else loaded
                trials = opened.trials(summary.id)
                of_campaign = audit_campaign(
                    audited,
                    trials,
                    summary.host,
                    environments=opened.environments(summary.id),
                    texts=opened.texts(trials, audited),
                )
            if summary is not None:
                opened.write_findings(summary.id, of_campaign)
    new = [finding for finding in of_campaign if finding not in of_file]
    if as_json:
        print_json(
            {
                "campaign": summary.id if summary else None,
                "note": note,
                "experiment_findings": _explained(of_file),
                "campaign_findings": _explained(of_campaign),
            }
        )
    else:
        if summary is None or of_file or note:
            _print_findings(f"{experiment}, before it runs", of_file)
        if note:
            typer.echo(f"{note}\n")
        if summary is not None:
            ended = f"{summary.ended} of {summary.planned} trials ended"
            _print_findings(f"Campaign {summary.id} of {summary.experiment}, {ended}", new)
        severities = [finding.severity for finding in (*of_file, *new)]
        typer.echo(", ".join(counted(severities.count(severity), severity) for severity in SEVERITIES))
    end([fail_on], (*of_file, *new))


def _campaign(
    store: "Store", experiment: "Experiment | None", number: int | None
) -> "tuple[CampaignSummary | None, str]":
    """Return the campaign that is audited, and a note where it is not one of the experiment as it is."""
    from assay.experiment.question import asked, differences
    from assay.store import UnreadableError

    if experiment is None:
        return store.campaign(number), ""
    campaigns = [summary for summary in store.campaigns() if summary.experiment == experiment.name]
    if not campaigns:
        return None, f"{store.path} has no campaign of {experiment.name} yet."
    wanted, differs = asked(experiment), ""
    for summary in reversed(campaigns):
        with suppress(UnreadableError):
            difference = next(differences(asked(store.experiment(summary.id)), wanted), None)
            if difference is None:
                return summary, ""
            differs = differs or f" ({difference})"
    return campaigns[-1], (
        f"{experiment.path} asks something else{differs} since campaign {campaigns[-1].id} was run: what is"
        " said of the campaign is about the experiment as it was."
    )


def _explained(findings: "Sequence[Finding]") -> list[dict[str, Any]]:
    from assay.audit import guide_page

    return [vars(finding) | {"guide": guide_page(finding.rule)} for finding in findings]


def _print_findings(heading: str, findings: "Sequence[Finding]") -> None:
    """Print findings with the numbers that they rest on and the page of the guide that explains them."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from assay.audit import guide_page
    from assay.report.terminal import print_finding

    console = Console()
    console.print(Text(heading, "bold"))
    for finding in findings:
        print_finding(finding, console)
        numbers = "; ".join(f"{name} {value:.6g}" for name, value in finding.evidence.items())
        trials = ", ".join(map(str, finding.trials[:TRIALS_AT_MOST]))
        more = len(finding.trials) - TRIALS_AT_MOST
        for label, value in (
            ("Numbers", numbers),
            ("Trials", f"{trials} and {more} more" if more > 0 else trials),
            ("Guide", str(_near(guide_page(finding.rule)))),
        ):
            if value:
                console.print(Padding(Text(f"{label}: {value}", "dim"), (0, 0, 0, 3)))
    if not findings:
        console.print(" No findings.")
    console.print()


def _near(path: Path) -> Path:
    """Return a path as it is named from the working directory, where it is inside."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
