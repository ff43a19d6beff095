"""Campaigns that another tool measured: the satellite that put one into the store reads and shows it."""

from collections.abc import Collection
from typing import Any, Protocol, cast

from assay.findings import Finding
from assay.satellites import added, lacking
from assay.store import Store, UnreadableError
from assay.store.types import READ_BY, CampaignSummary


class ImportedReport(Protocol):
    """What a function in the entry points `assay.campaigns` returns for a store and a campaign's number."""

    @property
    def campaign(self) -> CampaignSummary:
        """The campaign."""

    @property
    def findings(self) -> list[Finding]:
        """What the satellite's rules say of it, the most severe first."""

    def print(self, *, verbose: bool) -> None:
        """Print a screen; with `verbose` all numbers and findings."""

    def as_object(self) -> dict[str, Any]:
        """Return what `assay report --json` prints, but for the paths of store and page."""

    def page(self, guide: Collection[str]) -> str:
        """Return its page; the rules in `guide` have a page of their own in `../guide/`."""


def gather_imported(store: Store, campaign_id: int) -> ImportedReport:
    """Read and audit a campaign that was imported.

    Raises:
        AssayError: there is no such campaign.
        UnreadableError: the satellite that reads it is not installed, or it is damaged.
    """
    campaign = store.campaign(campaign_id)
    assert campaign.imported
    reader = added("assay.campaigns").get(READ_BY)
    if reader is None:
        tool, remedy = campaign.imported.tool, lacking(f"assay-{READ_BY}")
        raise UnreadableError(f"campaign {campaign_id} was imported from {tool}; its reader {remedy}")
    return cast(ImportedReport, reader.load()(store, campaign_id))
