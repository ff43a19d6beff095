"""Findings and verdicts of campaigns in the store's views, and how far they hold."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from assay.analysis.meaningfulness import Meaning, OtherCampaignVerdict, compared, meanings
from assay.analysis.types import Verdict
from assay.experiment import sensitivity
from assay.experiment.question import Asked, asked, differences, of_trials
from assay.report.gather import Report, gather
from assay.report.imported import ImportedReport, gather_imported
from assay.store import Store, UnreadableError
from assay.store.types import CampaignSummary, StoredTrial

_VERDICTS: Mapping[str, Verdict] = {"better": "faster", "worse": "slower"}
"""What `verdict_word` makes of verdicts, the other way."""


def gather_any(store: Store, campaign_id: int) -> Report | ImportedReport:
    """Analyse and audit a campaign, which may be an imported one.

    Raises:
        AssayError: there is no such campaign, or no satellite that reads it.
    """
    imported = store.campaign(campaign_id).imported
    return gather_imported(store, campaign_id) if imported else gather(store, campaign_id)


def gather_and_record(store: Store, campaign_id: int) -> Report | ImportedReport:
    """Do the same, and store the findings and verdicts."""
    report = gather_any(store, campaign_id)
    record(report, store)
    return report


def record(report: Report | ImportedReport, store: Store) -> None:
    """Store the findings of a campaign, and its verdicts if it is not imported."""
    store.write_findings(report.campaign.id, report.findings)
    if isinstance(report, Report):
        store.write_verdicts(report.campaign.id, list(_rows(report)))


def elsewhere(campaign: CampaignSummary, store: Store) -> list[OtherCampaignVerdict]:
    """Return the verdicts of other campaigns with the same question, as they were recorded last.

    Comparisons without a ratio are left out.
    """
    hosts = {other.id: other.host.get("name", "") for other in store.campaigns()}
    wanted = _asked(store, campaign.id)
    return [
        OtherCampaignVerdict(
            number,
            hosts.get(number, ""),
            compared(row["metric"], row["context"], row["level"], row["baseline"]),
            _VERDICTS.get(row["verdict"], row["verdict"]),
        )
        for number, rows in store.verdicts(campaign.experiment).items()
        if number != campaign.id and _asked(store, number) == wanted
        for row in rows
        if row["ratio"] is not None
    ]


def asked_otherwise(campaign: CampaignSummary, store: Store) -> str:
    """Return how the question of the experiment's latest other campaign with verdicts differs.

    Empty if another campaign has the same question, or if there is no other.
    """
    others = [number for number in store.verdicts(campaign.experiment) if number != campaign.id]
    wanted = _asked(store, campaign.id)
    known = {number: of for number in others if (of := _asked(store, number)) is not None}
    if not known or wanted is None or wanted in known.values():
        return ""
    latest = max(known)
    [difference, *_] = differences(wanted, known[latest])
    return f"campaign {latest} asked something else: it has {difference}"


@lru_cache(maxsize=4096)
def _asked(store: Store, campaign_id: int) -> Asked | None:
    """Return what a campaign's experiment requests, which never changes; None where it cannot be read."""
    try:
        return asked(store.experiment(campaign_id))
    except UnreadableError:
        return None


def about_sensitivity(campaign: CampaignSummary, store: Store) -> CampaignSummary | None:
    """Return the latest campaign about the sensitivity of a campaign's conditions; None without one."""
    name = sensitivity.name_of(campaign.experiment)
    about = [other for other in reversed(store.campaigns()) if other.experiment == name]
    if not about:
        return None
    wanted = _trials(store, campaign.id)
    return next((other for other in about if wanted and wanted <= _trials(store, other.id)), None)


@lru_cache(maxsize=4096)
def _trials(store: Store, campaign_id: int) -> frozenset[tuple[tuple[str, str], ...]]:
    """Return what is requested of the trials of each condition; nothing where that cannot be read."""
    try:
        experiment = store.experiment(campaign_id)
    except UnreadableError:
        return frozenset()
    return frozenset(tuple(of_trials(experiment, condition).items()) for condition in experiment.conditions())


def how_far(report: Report, store: Store) -> list[Meaning]:
    """Return how far the verdict of each comparison holds, as far as the store tells."""
    replicated = about_sensitivity(report.campaign, store)
    replicates: Sequence[StoredTrial] = ()
    if replicated:
        with suppress(UnreadableError):
            replicates = store.trials(replicated.id)
    return meanings(
        report.trials,
        report.experiment,
        report.analysis,
        host=str(report.campaign.host.get("name", "")),
        elsewhere=elsewhere(report.campaign, store),
        asked_otherwise=asked_otherwise(report.campaign, store),
        replicates=replicates,
    )


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    """Yield a row for each comparison of every compared metric and for each ratio over workloads."""
    for row in report.answers:
        answer = row.answer
        assert answer is not None
        interval = answer.interval if answer.difference is None else None
        yield {
            "metric": answer.metric,
            "context": ", ".join(filter(None, [row.context, row.workloads and f"over {row.workloads}"])),
            "level": str(answer.level),
            "baseline": str(answer.baseline),
            "verdict": row.word,
            "ratio": answer.ratio,
            "low": interval and interval.low,
            "high": interval and interval.high,
            "p": answer.p_adjusted,
            "pairs": answer.pairs,
            "reason": answer.reason,
        }
