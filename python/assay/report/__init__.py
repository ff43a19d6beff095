"""The report of a campaign: findings and verdicts in the terminal, and a static page.

gathered = gather(store, campaign)          # once; all the others show what it holds
print_verdicts(gathered, Console())
page = write_page(gathered, store)
"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.report.gather import Report, gather
from assay.store import Store

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Report", "as_json", "gather", "print_verdicts", "write_page"]


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
    }


def print_verdicts(report: Report, console: "Console") -> None:
    """Print the findings and then the verdicts of a campaign."""
    from assay.report.terminal import print_report  # noqa: PLC0415 - Rich is slow to load

    print_report(report, console)


def write_page(report: Report, store: Store, directory: Path | None = None) -> Path:
    """Write the page of a campaign, which opens from disk without a network, and return its index.html.

    Args:
        report: the campaign.
        store: holds its raw records.
        directory: folder to write, made where it is missing; by default report/campaign-N beside the store.

    Raises:
        AssayError: the folder cannot be written.
    """
    from assay.report.page import write  # noqa: PLC0415 - Altair and vl-convert are slow to load

    if directory is None:
        directory = store.path.parent / "report" / f"campaign-{report.campaign.id}"
    return write(report, store, directory)
