"""The report: findings and verdicts of a campaign in the terminal, and a static site of the store.

gathered = gather(store, campaign)          # once; all the others show what it holds
print_verdicts(gathered, Console())
page = write_page(gathered, store)          # the campaign's pages and the index
index = write_site(store)                   # those of every campaign that has changed
"""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.aa import false_alarms
from assay.report.gather import Report, gather
from assay.store import Store

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Report", "as_json", "gather", "print_verdicts", "site_of", "write_page", "write_site"]


def as_json(report: Report) -> dict[str, Any]:
    """Return a campaign's findings and analysis as values that JSON can express."""
    campaign = report.campaign
    return {
        "campaign": campaign.id,
        "experiment": campaign.experiment,
        "question": campaign.question,
        "seed": campaign.seed,
        "planned": campaign.planned,
        "counts": campaign.counts,
        "findings": [asdict(finding) for finding in report.findings],
        "analysis": asdict(report.analysis),
    } | (_false_alarms(report) if report.experiment.identical else {})


def _false_alarms(report: Report) -> dict[str, Any]:
    alarms = false_alarms(report.analysis)
    return {"false_alarms": asdict(alarms) | {"compatible": alarms.compatible}}


def print_verdicts(report: Report, console: "Console") -> None:
    """Print the findings and then the verdicts of a campaign."""
    from assay.report.terminal import print_report  # noqa: PLC0415 - Rich is slow to load

    print_report(report, console)


def write_page(report: Report, store: Store, directory: Path | None = None) -> Path:
    """Write the pages of a campaign and the index of its site, and return the campaign's index.html.

    Args:
        report: the campaign.
        store: holds its raw records, and the campaigns that the index lists.
        directory: the site's folder, made where it is missing; by default that of `site_of`.

    Raises:
        AssayError: the folder cannot be written, or holds something else.
    """
    from assay.report.site import write_campaign  # noqa: PLC0415 - Altair and vl-convert are slow to load

    return write_campaign(report, store, directory or site_of(store))


def write_site(store: Store, directory: Path | None = None, gathered: Iterable[Report] = ()) -> Path:
    """Write the index of a store and the pages of campaigns that have none up to date; return the index.

    Args:
        store: what the site shows.
        directory: the site's folder, as for `write_page`.
        gathered: campaigns that need not be gathered again.

    Raises:
        AssayError: the folder cannot be written, or holds something else.
    """
    from assay.report.site import write_site as write  # noqa: PLC0415 - as above

    return write(store, directory or site_of(store), gathered)


def site_of(store: Store) -> Path:
    """Return the folder of a store's site: that of `assay.sqlite` is `assay-report` beside it."""
    return store.path.with_name(f"{store.path.name.removesuffix('.sqlite')}-report")
