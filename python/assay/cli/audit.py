"""`assay audit`: what the rules say of an experiment and its campaign."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.browse import DEFAULT_STORE, JsonOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.audit import Finding
    from assay.experiment import Experiment
    from assay.store import Store
    from assay.store.types import CampaignSummary

TRIALS_AT_MOST = 10
"""Named of each finding; `--json` names all."""


def audit(
    target: Annotated[
        str | None,
        typer.Argument(
            help="An experiment's file, or the number of a campaign. Default: the campaign begun last.",
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    strict: Annotated[bool, typer.Option("--strict", help="Let a warning end with exit code 1 too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print what the audit finds: in an experiment's file before it runs, and in a campaign's data.

    Of a file it checks the experiment itself and, where the store has a campaign of it, the latest one.
    What it finds in a campaign is kept in the store, where `assay query "select * from findings"` reads it.

    The exit code is 1 where a finding is an error (do not believe the verdicts), with --strict also where one
    is a warning (know this before you believe them), and 0 otherwise.

    Example: `assay audit experiments/quickstart.toml`
    """
    from assay.audit import SEVERITIES, audit_experiment
    from assay.audit.wording import counted
    from assay.experiment import load
    from assay.store import Store

    of_file: list[Finding] = []
    of_campaign: list[Finding] = []
    heading = note = ""
    campaign: CampaignSummary | None = None
    if target is None or (target.isdecimal() and len(target) < 20):  # longer ones are no number of ours
        with Store.open(store, create=False) as opened:
            campaign = opened.campaign(None if target is None else int(target))
            of_campaign = _of_campaign(opened, campaign, _as_it_was(campaign))
    else:
        read = load(Path(target))
        heading = f"{read.name}, before it runs"
        of_file = audit_experiment(read, _host())
        if store.exists():
            with Store.open(store, create=False) as opened:
                campaign = _latest(opened, read.name)
                if campaign is None:
                    note = f"{store} has no campaign of {read.name} yet."
                elif _asks_the_same(read, was := _as_it_was(campaign)):
                    of_campaign = _of_campaign(opened, campaign, read)
                else:
                    of_campaign = _of_campaign(opened, campaign, was)
                    note = (
                        f"{target} asks something else since campaign {campaign.id} was run: what is said of"
                        " the campaign is about the experiment as it was."
                    )
    new = [finding for finding in of_campaign if finding not in of_file]
    distinct = [*of_file, *new]
    if as_json:
        content = {
            "campaign": campaign.id if campaign else None,
            "note": note,
            "experiment_findings": [_as_json(finding) for finding in of_file],
            "campaign_findings": [_as_json(finding) for finding in of_campaign],
        }
        typer.echo(json.dumps(content, indent=2, allow_nan=False))
    else:
        if heading:
            _print(heading, of_file)
        if note:
            typer.echo(f"{note}\n")
        if campaign:
            ended = f"{campaign.ended} of {campaign.planned} trials ended"
            _print(f"Campaign {campaign.id} of {campaign.experiment}, {ended}", new)
        counts = {severity: sum(each.severity == severity for each in distinct) for severity in SEVERITIES}
        typer.echo(", ".join(counted(count, severity) for severity, count in counts.items()))
    if any(finding.severity == "error" or (strict and finding.severity == "warning") for finding in distinct):
        raise typer.Exit(1)


def _host() -> dict[str, Any]:
    """Return what the rules want to know of the machine that an experiment would run on."""
    import os

    return {"processors": len(os.sched_getaffinity(0))}


def _as_it_was(campaign: "CampaignSummary") -> "Experiment":
    from assay.experiment import parse

    return parse(campaign.source, Path(campaign.directory) / f"{campaign.experiment}.toml")


def _latest(store: "Store", experiment: str) -> "CampaignSummary | None":
    return next((each for each in reversed(store.campaigns()) if each.experiment == experiment), None)


def _asks_the_same(one: "Experiment", other: "Experiment") -> bool:
    """Tell whether two texts plan and compare the same; charts and rules of one's own may differ."""
    from dataclasses import replace

    bare = (
        replace(each, question="", source="", path=Path(), validations=(), charts=()) for each in (one, other)
    )
    return next(bare) == next(bare)


def _of_campaign(store: "Store", campaign: "CampaignSummary", experiment: "Experiment") -> "list[Finding]":
    """Audit a campaign, and keep what is found."""
    from assay.audit import audit as audit_campaign

    found = audit_campaign(
        experiment,
        store.trials(campaign.id),
        campaign.host,
        environments=store.environments(campaign.id),
    )
    store.write_findings(campaign.id, found)
    return found


def _as_json(finding: "Finding") -> dict[str, Any]:
    from assay.audit import guide_page

    return asdict(finding) | {"guide": str(guide_page(finding.rule))}


def _print(heading: str, findings: "Sequence[Finding]") -> None:
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
        console.print(" Nothing to say.")
    console.print()


def _near(path: Path) -> Path:
    """Return a path as it is named from the working directory, where it is inside."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
