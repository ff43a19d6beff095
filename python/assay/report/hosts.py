"""What a report says about the hosts of a campaign that ran on several."""

from collections.abc import Iterator
from typing import NamedTuple

from assay.analysis.population import FEWEST_HOSTS
from assay.analysis.types import Estimate
from assay.analysis.verdicts import verdict_word
from assay.findings import Finding
from assay.report import words
from assay.report.gather import Report
from assay.words import condition_name, counted, listed_briefly, number


class HostRow(NamedTuple):
    """An answer by one host, or by all together, in words."""

    host: str
    word: str
    value: str
    interval: str
    pairs: str
    remark: str = ""


def scope(report: Report) -> str:
    """Return of which hosts the verdicts speak; empty if one host ran all trials."""
    hosts = report.analysis.hosts
    if hosts is None:
        return ""
    names = [host.name or "a host without a name" for host in hosts.each]
    named = listed_briefly(names)
    if hosts.population:
        return f"The verdicts are about all hosts like these {len(names)}: {named}."
    return f"The verdicts are about {named} alone: it takes {FEWEST_HOSTS} hosts to speak of others."


def disagreement(report: Report) -> Finding | None:
    """Return the worst finding that hosts contradict each other or all together; None if they do not."""
    found = (of for of in report.findings if of.rule == "hosts-disagree" and of.severity != "note")
    return next(found, None)


def rows_of_hosts(report: Report) -> Iterator[tuple[str, list[HostRow]]]:
    """Yield for each answer its name, and what all hosts together and then each one say."""
    hosts = report.analysis.hosts
    for index, answer in enumerate(report.analysis.answers if hosts else ()):
        assert hosts is not None
        rows = [_row(report, "all together", answer)]
        for host in hosts.each:
            row = _row(report, host.name, host.answers[index])
            rows.append(row._replace(remark="not like the others" * bool(host.odd)))
        yield words.place(report.analysis, answer), rows


def medians_of_hosts(report: Report) -> list[tuple[str, dict[str, str]]]:
    """Return for each condition its name, and the median of each host."""
    return [
        (
            condition_name(condition.levels),
            {host: number(median) for host, median in condition.of_host.items()},
        )
        for condition in report.analysis.conditions
        if condition.of_host
    ]


def host_lines(report: Report) -> Iterator[str]:
    """Yield the name of each answer, and then a line for each host."""
    for name, [_, *rows] in rows_of_hosts(report):
        yield f"{name}, by host:"
        width = max(len(row.host) for row in rows)
        for row in rows:
            interval = f" ({row.interval})" * bool(row.interval)
            remark = f"; {row.remark}" * bool(row.remark)
            yield f"  {row.host:<{width}} {row.word} {row.value}{interval}, {row.pairs}{remark}"


def _row(report: Report, host: str, estimate: Estimate) -> HostRow:
    metric = report.analysis.metric
    value, interval = words.glance_size(estimate, report.analysis) if estimate.pairs else ("", "")
    word = verdict_word(estimate.verdict, metric, report.experiment.unit(metric))
    return HostRow(host, word, value, interval, counted(estimate.pairs, "pair"))
