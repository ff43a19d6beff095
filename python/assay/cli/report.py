"""`assay report`: what a campaign says."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import DEFAULT_STORE, FailOnOption, JsonOption, StoreOption, end, print_json
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.report import Report
    from assay.store import Store


def report(
    campaign: Annotated[
        int | None, typer.Option(help="Number of the campaign. Default: every campaign's pages.")
    ] = None,
    fail_on: FailOnOption = None,
    store: StoreOption = DEFAULT_STORE,
    folder: Annotated[
        Path | None,
        typer.Option("--output", help="Folder for the site. Default: STORE-report beside the store."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the findings and verdicts of a campaign, and write its pages into the store's site.

    Without a number it prints the campaign begun last, and writes the pages of every campaign that changed.
    With --json it prints the analysis and the findings, and writes pages only where --output says so.
    The exit code is 1 where --fail-on asks for it.

    Example: `assay report --campaign 2`
    """
    from assay.report import gather
    from assay.report.site import write_page, write_site
    from assay.store import Store

    with Store.open(store, create=False) as opened:
        gathered = gather(opened, opened.campaign(campaign).id)

        def write() -> Path:
            if campaign is None:
                return write_site(opened, folder, [gathered])
            return write_page(gathered, opened, folder)

        tell(gathered, opened, as_json, None if as_json and folder is None else write)
    end(fail_on, gathered.findings, (*gathered.analysis.comparisons, *gathered.analysis.aggregates))


def tell(report: "Report", store: "Store", as_json: bool, write: Callable[[], Path] | None) -> None:
    """Print what a campaign says, and its page where one is written.

    Raises:
        AssayError: the page cannot be written; all else has been printed.
    """
    from rich.console import Console

    from assay.report.terminal import print_report

    if not as_json:
        print_report(report, Console())
    page, failure = None, None
    try:
        page = write() if write else None
    except AssayError as error:
        failure = error
    if as_json:
        print_json(_as_object(report, store, page))
    elif page:
        typer.echo(f"page: {page}")
    if failure:
        raise failure


def _as_object(report: "Report", store: "Store", page: Path | None) -> dict[str, Any]:
    from assay.analysis.aa import false_alarms

    campaign = report.campaign
    alarms = false_alarms(report.analysis) if report.experiment.identical else None
    return {
        "campaign": campaign.id,
        **{name: getattr(campaign, name) for name in ("experiment", "question", "seed", "planned", "counts")},
        "overrides": report.experiment.overrides,
        "findings": report.findings,
        "analysis": report.analysis,
        "false_alarms": alarms,
        "compatible": None if alarms is None else alarms.compatible,
        "store": store.path,
        "page": page,
    }
