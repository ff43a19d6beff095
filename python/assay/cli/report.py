"""`assay report`: what a campaign says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.audit import audit as audit_campaign
from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    FailOnOption,
    JsonOption,
    StoreOption,
    VerboseOption,
    campaign_option,
    end,
    folder_option,
    print_json,
)
from assay.errors import AssayError
from assay.words import listed, printable

if TYPE_CHECKING:
    from assay.analysis.meaningfulness import Meaning
    from assay.report import Report
    from assay.store import Store
    from assay.store.names import StoreName


def report(
    campaign: Annotated[int | None, campaign_option("every campaign's pages")] = None,
    *,
    verbose: VerboseOption = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="Print each finding in full, and write no page.")
    ] = False,
    citation: Annotated[
        bool, typer.Option("--citation", help="Print how to cite it, also for BibTeX, and write no page.")
    ] = False,
    fail_on: FailOnOption = None,
    store: StoreOption = DEFAULT_STORE,
    folder: Annotated[
        Path | None,
        folder_option("--output", text="Folder for the site. Default: STORE-report beside the store."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the verdicts of a campaign, and write its pages.

    Without a number it prints the campaign begun last, and writes the pages of every campaign that changed.
    With --json it prints the analysis and the findings, and writes pages only where --output says so.

    --audit prints the numbers and the trials that a finding rests on, and the page of the guide that explains
    it. --citation prints how to cite the campaign, in a sentence and as an entry for BibTeX.

    The exit code is 1 where --fail-on asks for it.

    Example: `assay report --campaign 2`, `assay report --audit --fail-on error`
    """
    different = {"--audit": audit, "--citation": citation, "--output": folder is not None}
    if len(given := [option for option, wanted in different.items() if wanted]) > 1:
        raise AssayError(f"assay report: {listed(given)} print different things; give one")
    if citation:
        _cite(store, campaign, as_json)
        return
    if audit:
        audit_campaign(store, campaign=campaign, fail_on=fail_on, as_json=as_json)
        return
    from assay.report import Report
    from assay.report.site import write_page, write_site
    from assay.report.verdicts import gather_and_record, gather_any, record
    from assay.store import Store

    with Store.open(store, create=False) as opened, _others(opened, campaign, as_json, folder):
        summary = opened.campaign(campaign)
        gathered = gather_any(opened, summary.id)

        def write() -> Path:
            record(gathered, opened)
            if campaign is None:
                known = {summary.id: gathered}
                return write_site(
                    opened,
                    folder,
                    lambda store, number: known.get(number) or gather_and_record(store, number),
                )
            return write_page(gathered, opened, folder)

        if not isinstance(gathered, Report):
            if not as_json:
                gathered.print(verbose=verbose)
            page = None if as_json and folder is None else write()
            if as_json:
                print_json({**gathered.as_object(), "store": str(store), "page": page})
            elif page:
                tell_page(page, invocation("report", store=store))
            end(fail_on, gathered.findings)
            return
        print_result(
            gathered, opened, as_json, None if as_json and folder is None else write, verbose=verbose
        )
    end(fail_on, gathered.findings, gathered.analysis.answers)


def _cite(name: "StoreName", campaign: int | None, as_json: bool) -> None:
    """Print how to cite a campaign."""
    from assay.report.citation import citation
    from assay.store import Store

    with Store.open(name, create=False) as store:
        summary = store.campaign(campaign)
        cited = citation(summary, store.hosts_that_ran(summary.id))
    if as_json:
        print_json({"campaign": summary.id, "text": cited.text, "bibtex": cited.bibtex})
    else:
        typer.echo(f"{printable(cited.text)}\n\n{cited.bibtex}")


@contextmanager
def _others(store: "Store", campaign: int | None, as_json: bool, folder: Path | None) -> Iterator[None]:
    """Write the pages of all other campaigns where the last one cannot be read."""
    from assay.report.site import write_site
    from assay.report.verdicts import gather_and_record
    from assay.store import UnreadableError

    try:
        yield
    except UnreadableError:
        if campaign is None and not (as_json and folder is None):
            typer.echo(f"page of the others: {write_site(store, folder, gather_and_record)}", err=True)
        raise


def print_result(
    report: "Report",
    store: "Store",
    as_json: bool,
    write: Callable[[], Path] | None,
    *,
    verbose: bool = False,
) -> None:
    """Print what a campaign says, its page where one is written, and what to do next.

    It is one screen; with `verbose`, every finding and number.

    Raises:
        AssayError: the page cannot be written; all else has been printed.
    """
    from rich.console import Console

    from assay.report.screen import print_screen
    from assay.report.terminal import print_report

    if not as_json:
        (print_report if verbose else print_screen)(report, Console())
    page, failure = None, None
    try:
        page = write() if write else None
    except AssayError as error:
        failure = error
    if as_json:
        print_json(_as_object(report, store, page))
    elif page:
        tell_page(page, invocation("report", store=store.name))
    if failure:
        raise failure
    if not as_json:
        typer.echo(f"next: {_next(report, store, verbose=verbose)}")


def tell_page(page: Path, again: str) -> None:
    """Print where a page is, and what its charts lack; `again` is the command that writes it again."""
    from assay import extras

    typer.echo(f"page: {page}")
    if not extras.available("vl_convert"):
        typer.echo(f"charts on it: {extras.remedy('vl_convert')}, then: {again}")


def _next(report: "Report", store: "Store", *, verbose: bool) -> str:
    """Return the command that most readers will want next."""
    number = ("--campaign", str(report.campaign.id))
    failed = next((trial for trial in report.trials if trial.status != "valid"), None)
    if failed is not None:
        return invocation("store", "show", str(failed.id), store=store.name)
    if not report.campaign.finished:
        return invocation("resume", *number, store=store.name)
    if verbose:
        return invocation("store", "list", "trials", *number, store=store.name)
    return invocation("report", *number, "--verbose", store=store.name)


def _as_object(report: "Report", store: "Store", page: Path | None) -> dict[str, Any]:
    from assay.analysis.aa import false_alarms
    from assay.report.trust import trust
    from assay.report.verdicts import how_far

    campaign = report.campaign
    measured = report.configurations if report.experiment.varied else None
    alarms = false_alarms(report.analysis) if report.experiment.identical else None
    return {
        "campaign": campaign.id,
        **{name: getattr(campaign, name) for name in ("experiment", "question", "seed", "planned", "counts")},
        "overrides": report.experiment.overrides,
        "mark": report.experiment.mark,
        "trust": trust(report).degree,
        "findings": report.findings,
        "analysis": report.analysis,
        "gate_takes": report.gate_forecast,
        "sensitivity": measured,
        "how_far": None if report.experiment.varied else [_how_far(of) for of in how_far(report, store)],
        "false_alarms": alarms,
        "compatible": None if alarms is None else alarms.compatible,
        "store": str(store.name),
        "page": page,
    }


def _how_far(meaning: "Meaning") -> dict[str, Any]:
    """Return how far a verdict holds, and what it is about."""
    comparison = meaning.comparison
    names = ("context", "level", "baseline", "verdict")
    return vars(meaning) | {"comparison": {name: getattr(comparison, name) for name in names}}
