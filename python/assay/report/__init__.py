"""The report: findings and verdicts of a campaign in the terminal, and a static site of the store.

gathered = gather(store, campaign)                      # once; all the others show what it holds
assay.report.terminal.print_report(gathered, Console())
page = assay.report.site.write_page(gathered, store)    # the campaign's pages and the index
index = assay.report.site.write_site(store)             # those of every campaign that has changed
"""

from dataclasses import asdict
from typing import Any

from assay.analysis.aa import false_alarms
from assay.report.gather import Report, gather

__all__ = ["Report", "as_json", "gather"]


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
