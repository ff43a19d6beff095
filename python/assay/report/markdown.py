"""The summary of a campaign in Markdown, for a pull request or a paper's artifact."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import astuple

from assay.analysis import Comparison
from assay.analysis.types import Aggregate, Answer
from assay.analysis.verdicts import verdict_word
from assay.experiment import Experiment
from assay.report import gate, sensitivity, words
from assay.report.gather import Report
from assay.report.headline import headline
from assay.report.metrics import measured, unit_in
from assay.report.trust import trust
from assay.words import condition_name, printable


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
    parts = [
        f"## {text(campaign.question)}",
        text(headline(report)),
        " ".join([f"**Trust: {trusted.degree}.**", *map(text, trusted.reasons)]),
        text(f"{metric} over that of {analysis.baseline}; {analysis.better} is better."),
        *([text(gate.sentences(report))] if analysis.gate_percent is not None else []),
        *_sensitivity(report),
        table(
            ["context", analysis.factor, "verdict", *_gate("gate", report), "ratio", "interval", median],
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
    analysis, unit = report.analysis, report.experiment.unit(report.analysis.metric)
    if analysis.rungs:
        yield table(
            ["context", "from rung to rung", "verdict", "ratio", "interval"],
            (
                [
                    condition_name(answer.context) if answer.context else "",
                    words.rung(answer),
                    verdict_word(answer.verdict, answer.metric, unit),
                    *words.glance_size(answer, report.experiment),
                ]
                for answer in analysis.rungs
            ),
        )


def _reported(report: Report) -> Iterator[str]:
    """Yield the table of what others report, where the experiment says so."""
    if report.experiment.reported:
        headings = [report.analysis.factor, "here", "reported", "where"]
        yield table(headings, ([*row] for row in words.reported(report)))


def _verdicts(report: Report) -> Iterator[list[str]]:
    """Yield a row for each condition and for each ratio over workloads."""
    analysis = report.analysis
    unit = report.experiment.unit(analysis.metric)
    accept = report.experiment.comparison.accept_invalid
    for context, rows in words.by_context(report):
        for condition, comparison in rows:
            median = words.typical(condition, accept_invalid=accept)
            level = str(condition.levels[analysis.factor])
            if comparison is None:
                yield [context, level, "baseline", *_gate("", report), "1", "", median]
            else:
                verdict = [
                    verdict_word(comparison.verdict, analysis.metric, unit),
                    *_gate(_passes(comparison), report),
                ]
                yield [context, level, *verdict, *_numbers(comparison, report.experiment), median]
    for whole in analysis.aggregates:
        context = condition_name({**whole.context, "over": words.workloads(whole)})
        verdict = [verdict_word(whole.verdict, analysis.metric, unit), *_gate(_passes(whole), report)]
        yield [context, str(whole.level), *verdict, *_numbers(whole, report.experiment), ""]


def _passes(answer: Answer) -> str | None:
    """Return whether an answer passes the gate, and by which interval where that is not the one shown."""
    return words.passes_alone(answer) or answer.gate


def _gate(text: str | None, report: Report) -> list[str]:
    """Return what stands in the column of the gate, where there is one."""
    return [] if report.analysis.gate_percent is None else [text or ""]


def _numbers(answer: Comparison | Aggregate, experiment: Experiment) -> list[str]:
    size, ends = words.glance_size(answer, experiment)
    return [size, "; ".join(filter(None, [ends, words.zeros(answer)]))]


def table(columns: list[str], rows: Iterable[list[str]], numbers: Collection[str] = ()) -> str:
    """Return a table of text of others' making; columns of `numbers` are set to the right."""
    line = ["---:" if column in numbers else "---" for column in columns]
    lines = [[text(cell) for cell in row] for row in [columns, *rows]]
    lines.insert(1, line)
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def text(raw: str) -> str:
    """Return text of others' making so that Markdown shows it as it is, in one line."""
    return re.sub(r"([\\`*<>|\[\]#]|\b_|_\b)", r"\\\1", printable(raw))
