"""`assay audit`: what the rules say of an experiment and its campaign."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from assay.cli.options import DEFAULT_STORE, CampaignOption, JsonOption, StoreOption, end, print_json
from assay.errors import AssayError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from assay.experiment import Experiment
    from assay.findings import Finding
    from assay.store import Store
    from assay.store.types import CampaignSummary

TRIALS_AT_MOST = 10
"""Named of each finding; `--json` names all."""


class _Audited(NamedTuple):
    """What there is to say; `note` tells how campaign and file belong together where that is not plain."""

    of_file: "list[Finding]"
    note: str
    campaign: "CampaignSummary | None"
    of_campaign: "list[Finding]"

    @property
    def distinct(self) -> "list[Finding]":
        """Both without what is said twice."""
        return [*self.of_file, *(finding for finding in self.of_campaign if finding not in self.of_file)]


def audit(
    experiment: Annotated[
        Path | None, typer.Argument(help="An experiment's file. Default: a campaign is audited alone.")
    ] = None,
    campaign: CampaignOption = None,
    fail_on: Annotated[
        Literal["error", "warning"],
        typer.Option("--fail-on", help="End with exit code 1 where there is an error, or also a warning."),
    ] = "error",
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Print what the audit finds: in an experiment's file before it runs, and in a campaign's data.

    Of a file it makes every check that `assay run` makes before it starts and, where the store has campaigns
    of it, audits the latest that asked the same. What it finds in a campaign is kept in the store:
    `assay query "select * from findings"`.

    The exit code is 1 where a finding is an error (do not believe the verdicts), with --fail-on warning also
    where one is a warning (know this before you believe them), and 2 where the experiment cannot run.

    Example: `assay audit experiments/quickstart.toml`
    """
    if experiment is None:
        audited = _audit_campaign(campaign, store)
    elif campaign is None:
        audited = _audit_file(experiment, store)
    else:
        raise AssayError("--campaign: name a campaign or an experiment's file, not both")
    if as_json:
        print_json(_as_json(audited))
    else:
        _print(audited, experiment)
    end([fail_on], audited.distinct)


def _audit_campaign(number: int | None, path: Path) -> _Audited:
    from assay.store import Store

    with Store.open(path, create=False) as store:
        campaign = store.campaign(number)
        return _Audited([], "", campaign, _of_campaign(store, campaign, store.experiment(campaign.id)))


def _audit_file(file: Path, path: Path) -> _Audited:
    from assay.audit import audit_experiment
    from assay.experiment import check, load
    from assay.runner.machine import host, present_machine
    from assay.store import Store

    experiment = load(file)
    check(experiment, present_machine())
    of_file = audit_experiment(experiment, host())
    if not path.exists():
        return _Audited(of_file, "", None, [])
    with Store.open(path, create=False) as store:
        campaigns = [each for each in reversed(store.campaigns()) if each.experiment == experiment.name]
        if not campaigns:
            return _Audited(of_file, f"{path} has no campaign of {experiment.name} yet.", None, [])
        for campaign in campaigns:
            if _asks_the_same(experiment, store.experiment(campaign.id)):
                return _Audited(of_file, "", campaign, _of_campaign(store, campaign, experiment))
        latest = campaigns[0]
        note = (
            f"{file} asks something else since campaign {latest.id} was run: what is said of the campaign is"
            " about the experiment as it was."
        )
        return _Audited(of_file, note, latest, _of_campaign(store, latest, store.experiment(latest.id)))


def _asks_the_same(experiment: "Experiment", campaign: "Experiment") -> bool:
    """Tell whether a campaign planned and compared the same; charts and rules of one's own may differ."""
    differing = {"question", "path", "validations", "charts"}
    return experiment.model_dump(exclude=differing) == campaign.model_dump(exclude=differing)


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


def _as_json(audited: _Audited) -> dict[str, Any]:
    from assay.audit import guide_page

    def explained(findings: "Sequence[Finding]") -> list[dict[str, Any]]:
        return [vars(finding) | {"guide": guide_page(finding.rule)} for finding in findings]

    return {
        "campaign": audited.campaign.id if audited.campaign else None,
        "note": audited.note,
        "experiment_findings": explained(audited.of_file),
        "campaign_findings": explained(audited.of_campaign),
    }


def _print(audited: _Audited, file: Path | None) -> None:
    from rich.console import Console

    from assay.findings import SEVERITIES
    from assay.words import counted

    console = Console()
    campaign = audited.campaign
    of_file, new = audited.of_file, audited.distinct[len(audited.of_file) :]
    if campaign is None or audited.of_file or audited.note:
        _print_findings(f"{file}, before it runs", of_file, console)
    if audited.note:
        typer.echo(f"{audited.note}\n")
    if campaign is not None:
        ended = f"{campaign.ended} of {campaign.planned} trials ended"
        _print_findings(f"Campaign {campaign.id} of {campaign.experiment}, {ended}", new, console)
    severities = [finding.severity for finding in audited.distinct]
    typer.echo(", ".join(counted(severities.count(severity), severity) for severity in SEVERITIES))


def _print_findings(heading: str, findings: "Sequence[Finding]", console: "Console") -> None:
    """Print findings with the numbers that they rest on and the page of the guide that explains them."""
    from rich.padding import Padding
    from rich.text import Text

    from assay.audit import guide_page
    from assay.report.terminal import print_finding

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
