"""The summary of a campaign in Markdown, for a pull request or a paper's artifact."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import astuple

from assay.report import sensitivity, words
from assay.report.answers import AnswerRow
from assay.report.gather import Report
from assay.report.headline import headline
from assay.report.metrics import measured, unit_in
from assay.report.trust import trust
from assay.words import printable


def summary(report: Report) -> str:
    """Return question, headline, trust, verdicts and findings of a campaign, and which campaign it was."""
    campaign, analysis = report.campaign, report.analysis
    trusted = trust(report)
    unit = unit_in(report.experiment, analysis.metric)
    median = f"median ({unit})" if unit else "median"
    metric = measured(report.experiment, analysis.metric)
    findings = [
        f"- {finding.severity}, {finding.rule}: {text(finding.message)}" for finding in report.findings
    ]
    origin = (
        f"Campaign {campaign.id} of {campaign.experiment}, begun {campaign.started_at:%Y-%m-%d %H:%M} UTC "
        f"on {campaign.host.get('name', 'a host without a name')}; {campaign.ended} of {campaign.planned} "
        f"trials ended: {words.statuses(campaign.counts)}; seed {campaign.seed}. "
        f"{words.look(analysis, report.experiment)}"
    )
    gated = [] if analysis.gate_percent is None else ["gate"]
    parts = [
        f"## {text(campaign.question)}",
        text(headline(report)),
        " ".join([f"**Trust: {trusted.degree}.**", *map(text, trusted.reasons)]),
        text(f"{metric} as a ratio to {analysis.baseline}; {analysis.better} is better."),
        *([text(report.gate)] if gated else []),
        *_sensitivity(report),
        table(
            ["context", analysis.factor, "verdict", *gated, "ratio", "interval", median],
            _verdicts(report),
        ),
        *_rungs(report),
        *_reported(report),
        "\n".join(["Findings:", "", *findings]) if findings else "The audit found nothing.",
        text(origin),
    ]
    return "\n\n".join(parts) + "\n"


def _sensitivity(report: Report) -> Iterator[str]:
    """Yield the table of each condition of a campaign about sensitivity, and what else it says."""
    conditions = sensitivity.measured(report) if report.experiment.varied else []
    for condition in conditions:
        yield text(sensitivity.name_of(condition))
        yield table([*sensitivity.HEADINGS], ([*astuple(row)] for row in sensitivity.rows(condition)))
        yield "\n".join(map(text, sensitivity.about(condition, report.experiment)))
    yield from map(text, sensitivity.relations(conditions, report.experiment))


def _rungs(report: Report) -> Iterator[str]:
    """Yield the table of each level of a ladder over the one before it."""
    if report.answers.rungs:
        yield table(
            ["context", "from rung to rung", "verdict", "ratio", "interval"],
            ([row.context, row.level, row.word, *row.brief] for row in report.answers.rungs),
        )


def _reported(report: Report) -> Iterator[str]:
    """Yield the table of what others report, where the experiment says so."""
    if report.answers.reported:
        headings = [report.analysis.factor, "here", "reported", "where"]
        yield table(headings, ([*astuple(others)] for others in report.answers.reported))


def _verdicts(report: Report) -> Iterator[list[str]]:
    """Yield a row for each condition and for each ratio over workloads."""
    for context in report.answers.contexts:
        for row in context.rows:
            yield [context.name, *_cells(row, report)]
    for row in report.answers.aggregates:
        context_name = ", ".join(filter(None, [row.context, f"over={row.workloads}"]))
        yield [context_name, *_cells(row, report)]


def _cells(row: AnswerRow, report: Report) -> list[str]:
    """Return the cells of a row, less its context."""
    gate = [] if report.analysis.gate_percent is None else [row.by_itself or row.gate]
    interval = "; ".join(filter(None, [row.brief.interval, row.zeros]))
    return [row.level, row.word, *gate, row.brief.value, interval, row.median]


def table(columns: list[str], rows: Iterable[list[str]], numbers: Collection[str] = ()) -> str:
    """Return a table of text of others' making; columns of `numbers` are set to the right."""
    line = ["---:" if column in numbers else "---" for column in columns]
    lines = [[text(cell) for cell in row] for row in [columns, *rows]]
    lines.insert(1, line)
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def text(raw: str) -> str:
    """Return text of others' making so that Markdown shows it as it is, in one line."""
    return re.sub(r"([\\`*<>|\[\]#]|\b_|_\b)", r"\\\1", printable(raw))
