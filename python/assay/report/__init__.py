"""The report of a campaign: findings and verdicts in the terminal, and a static page."""

from pathlib import Path
from typing import TYPE_CHECKING

from assay.report.gather import Report, gather
from assay.store import Store

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Report", "gather", "print_verdicts", "write_page"]


def print_verdicts(store: Store, campaign_id: int, console: "Console") -> None:
    """Print the findings and then the verdicts of a campaign.

    Raises:
        AssayError: there is no such campaign.
    """
    from assay.report.terminal import print_report  # noqa: PLC0415 - Rich is slow to load

    print_report(gather(store, campaign_id), console)


def write_page(store: Store, campaign_id: int, directory: Path | None = None) -> Path:
    """Write the page of a campaign, which opens from disk without a network, and return its index.html.

    Args:
        store: holds the campaign.
        campaign_id: its number.
        directory: folder to write, made where it is missing; by default report/campaign-N beside the store.

    Raises:
        AssayError: there is no such campaign, or the folder cannot be written.
    """
    from assay.report.page import write  # noqa: PLC0415 - Altair and vl-convert are slow to load

    if directory is None:
        directory = store.path.parent / "report" / f"campaign-{campaign_id}"
    return write(gather(store, campaign_id), store, directory)
