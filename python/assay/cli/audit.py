"""`assay plan FILE --audit`, `assay report --audit`: what the rules say of an experiment and its campaign."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from assay.cli.invocation import invocation
from assay.cli.options import end, print_json
from assay.findings import SEVERITIES
from assay.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.experiment import Experiment
    from assay.findings import Finding
    from assay.store import Store, StoreName
    from assay.store.types import CampaignSummary

TRIALS_AT_MOST = 10
"""Named of each finding; `--json` names all."""


def audit(
    name: "StoreName",
    experiment: "Experiment | None" = None,
    *,
    campaign: int | None = None,
    fail_on: Collection[str] | None = None,
    as_json: bool = False,
) -> None:
    """Print what the audit finds in an experiment and its latest campaign, or in a campaign alone.

    Args:
        name: the store.
        experiment: gets every check that `assay run` makes before it starts; None to audit a campaign alone.
        campaign: its number; None for the one begun last, where there is no experiment.
        fail_on: what ends with exit code 1.
        as_json: print JSON.
    """
    from assay.audit import audit as audit_campaign
    from assay.audit import audit_experiment
    from assay.experiment import check, check_listed
    from assay.report.imported import gather_imported
    from assay.runner.machine import host, present_machine
    from assay.runner.subjects import facts_of_subjects, listings
    from assay.store import Store

    of_file: list[Finding] = []
    of_campaign: list[Finding] = []
    summary, note = None, ""
    if experiment is not None:
        check(experiment, present_machine())
        listed = listings(experiment)
        check_listed(experiment, listed, built=False)
        of_file = audit_experiment(experiment, {**host(), **facts_of_subjects(experiment, listed)})
    if experiment is None or not isinstance(name, Path) or name.exists():
        with Store.open(name, create=experiment is not None) as opened:
            summary, note = _campaign(opened, experiment, campaign)
            if summary is not None and summary.imported:
                of_campaign = gather_imported(opened, summary.id).findings
            elif summary is not None:
                audited = opened.experiment(summary.id) if experiment is None or note else experiment
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
            file = experiment.path if experiment else ""
            _print_findings(f"{file}, before it runs", of_file)
        if note:
            typer.echo(f"{note}\n")
        if summary is not None:
            ended = f"{summary.ended} of {summary.planned} trials ended"
            _print_findings(f"Campaign {summary.id} of {summary.experiment}, {ended}", new)
        severities = [finding.severity for finding in (*of_file, *new)]
        typer.echo(", ".join(counted(severities.count(severity), severity) for severity in SEVERITIES))
    end(fail_on, (*of_file, *new))


def say_before(file: str, findings: "Sequence[Finding]") -> None:
    """Name the rules of the errors and warnings in an experiment that has not run, a line for each."""
    from assay.audit import RULES

    titles = {rule.id: rule.title for rule in RULES}
    serious = [finding for finding in findings if finding.severity != "note"]
    for title in dict.fromkeys(titles[finding.rule] for finding in serious):
        more = invocation("plan", file, "--audit")
        typer.echo(f"before it runs: {title}; more: {more}", err=True)


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
        return None, f"{store.name} has no campaign of {experiment.name} yet."
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
