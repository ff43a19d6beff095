"""What a campaign says now, for the store's views `findings` and `verdicts`."""

from collections.abc import Iterator
from typing import Any

from assay.analysis.types import Aggregate
from assay.analysis.verdicts import verdict_word
from assay.report import words
from assay.report.gather import Report
from assay.store import Store
from assay.words import condition_name


def record(report: Report, store: Store) -> None:
    """Store what the findings and the verdicts of a campaign are now."""
    store.write_findings(report.campaign.id, report.findings)
    store.write_verdicts(report.campaign.id, list(_rows(report)))


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    """Yield a row for each comparison of every compared metric and for each ratio over workloads."""
    for answer in (*report.analysis.answers, *report.analysis.also):
        context = condition_name(answer.context) if answer.context else ""
        if isinstance(answer, Aggregate):
            context = ", ".join(filter(None, [context, f"over {words.workloads(answer)}"]))
        interval = answer.interval
        yield {
            "metric": answer.metric,
            "context": context,
            "level": str(answer.level),
            "baseline": str(answer.baseline),
            "verdict": verdict_word(answer.verdict, answer.metric, report.experiment.unit(answer.metric)),
            "ratio": answer.ratio,
            "low": interval and interval.low,
            "high": interval and interval.high,
            "p": answer.p_adjusted,
            "pairs": answer.pairs,
            "reason": answer.reason,
        }
