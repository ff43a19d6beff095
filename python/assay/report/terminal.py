"""The report in the terminal: findings first, then the verdicts, readable at 80 columns."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.analysis import median
from assay.analysis.aa import false_alarms
from assay.findings import Finding, Severity
from assay.report import hosts, sensitivity, words
from assay.report.answers import AnswerRow
from assay.report.gather import Report
from assay.words import condition_name, counted, number, printable

STYLES = {"faster": "bold green", "slower": "bold magenta", "equivalent": "bold blue", "undecided": "dim"}
SEVERITY_STYLES: dict[Severity, str] = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_LATENCIES = {"latency_p50_ns": "p50", "latency_p99_ns": "p99", "latency_p99_9_ns": "p99.9"}
_ROLE = re.compile(r"role_([a-z0-9_]+?)_throughput")


def print_report(report: Report, console: Console) -> None:
    """Print the findings and the verdicts of a campaign."""
    campaign, analysis = report.campaign, report.analysis
    overrides, statuses = " ".join(report.experiment.overrides), words.statuses(campaign.counts)
    console.print(_text(campaign.question, "bold"))
    console.print(
        _text(
            f"Campaign {campaign.id} of {campaign.experiment}: {campaign.ended} of {campaign.planned} trials"
            f" ended{', ' * bool(statuses)}{statuses}; seed {campaign.seed}"
            f"{'; run with ' * bool(overrides)}{overrides}."
        )
    )
    if mark := report.experiment.mark:
        console.print(_text(mark, "bold red"))
    console.print()
    console.print(_text("Findings", "bold") if report.findings else "Findings: none.")
    for finding in report.findings:
        print_finding(finding, console)
    if report.experiment.varied:
        _print_sensitivity(report, console)
    console.print()
    console.print(
        _text(
            f"Verdicts: {analysis.metric} by {analysis.factor} against {analysis.baseline}, "
            f"{analysis.better} is better, equivalent within {words.effect(analysis)}",
            "bold",
        )
    )
    console.print(_text(words.look(analysis, report.experiment)))
    console.print(_text(words.layout(report.experiment, on_hosts=report.analysis.hosts is not None)))
    for line in (hosts.scope(report), f"Stopped: {campaign.stopped}." * bool(campaign.stopped), report.gate):
        if line:
            console.print(_text(line))
    for context in report.answers.contexts:
        console.print(_text(context.name, "italic"))
        _print_verdicts(report, context.rows, console)
    alarms = [false_alarms(analysis).summary] if report.experiment.identical else []
    for line in (*_further(report), *hosts.host_lines(report), *alarms):
        console.print(Padding(_text(line), (0, 0, 0, 2)))
    _print_pathological(report, console)
    if rows := list(_inside(report)):
        console.print(_text("Roles and latency: medians over trials; times in ns", "bold"))
        titles = ("op/s", "longest", *_LATENCIES.values())
        table = _table("condition, role", dict.fromkeys(titles, 6))
        for name, *cells in rows:
            table.add_row(_text(name), *cells)
        console.print(table)
    console.print()


def _print_verdicts(report: Report, rows: Sequence[AnswerRow], console: Console) -> None:
    """Print the conditions of a context, each but the baseline with its comparison."""
    gated = report.analysis.gate_percent is not None
    # Names have 27 of 80 columns, or 17 if there is a gate.
    columns = {"median": 8, "ratio": 6, "interval": 16, "pairs": 5, "verdict": 10}
    table = _table(report.analysis.factor, columns | ({"gate": 9} if gated else {}))
    for row in rows:
        verdict = _text(row.word, "dim" if row.verdict is None else STYLES[row.verdict])
        cells = (_text(f"  {row.level}"), row.median, *row.exact, row.pairs, verdict)
        table.add_row(*cells, *([row.gate] if gated else []))
    console.print(table)
    for row in rows:
        if row.notes:
            console.print(Padding(_text(f"{row.level}: {'; '.join(row.notes)}", "yellow"), (0, 0, 0, 4)))


def _further(report: Report) -> Iterator[str]:
    """Yield the verdicts over several workloads, along ladders and on further metrics, a line each."""
    factor, answers = report.analysis.factor, report.answers
    for row in (*answers.aggregates, *answers.rungs, *answers.also):
        answer = row.answer
        assert answer is not None
        place = condition_name({factor: answer.level, **answer.context})
        if not row.workloads:
            yield f"{answer.metric}, {place}: {row.sentence}"
            continue
        against = ", ".join(f"{workload} {word}" for workload, word in row.against)
        contradicted = f"; contradicted by {against}" * bool(against)
        yield f"{place}, over {row.workloads}: {row.sentence}{contradicted}"


def _print_sensitivity(report: Report, console: Console) -> None:
    """Print what every condition of a campaign about sensitivity says."""
    conditions = sensitivity.measured(report)
    for condition in conditions:
        console.print()
        for line in (*sensitivity.table(condition), *sensitivity.about(condition, report.experiment)):
            console.print(_text(line))
    for line in sensitivity.relations(conditions, report.experiment):
        console.print(_text(line))


def _print_pathological(report: Report, console: Console) -> None:
    """Print how many outcomes of each condition are pathological, where the experiment says what is."""
    if report.experiment.comparison.pathological is None or report.experiment.varied:
        return
    console.print(_text(f"Pathological: {words.pathological_bound(report.experiment)}", "bold"))
    for condition in report.analysis.conditions:
        line = "no median above zero"
        if found := condition.pathological:
            share, ends = words.probability(found)
            line = f"{found.count} of {counted(found.of, 'outcome')}, {share} (95%: {ends})"
        console.print(Padding(_text(f"{condition_name(condition.levels)}: {line}"), (0, 0, 0, 2)))


def _inside(report: Report) -> Iterator[list[str]]:
    """Yield throughput, longest operation and latencies of conditions and roles: medians over valid trials.

    A condition whose trials report neither is left out.
    """
    for condition in report.experiment.conditions():
        values: dict[str, list[float]] = defaultdict(list)
        for trial in report.trials:
            if trial.status == "valid" and trial.levels == dict(condition):
                for name, value in trial.metrics.items():
                    values[name].append(value)

        def medians(prefix: str, *names: str, of: Mapping[str, list[float]] = values) -> list[str]:
            found = (of.get(prefix + name) for name in names)
            return [number(median(given)) if given else "" for given in found]

        roles = sorted(match[1] for name in values if (match := _ROLE.fullmatch(name)))
        latencies = medians("", *_LATENCIES)
        if roles or any(latencies):
            yield [condition_name(condition), "", "", *latencies]
        for role in roles:  # with its own percentiles, not those over all roles again
            yield [f"  {role}", *medians(f"role_{role}_", "throughput", "longest_ns", *_LATENCIES)]


def _table(first: str, columns: Mapping[str, int]) -> Table:
    """Return a table whose first column has the room that the others leave: heading -> width of these."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    table.add_column(_text(first), overflow="fold", ratio=1)
    for title, width in columns.items():
        left = title in ("verdict", "gate")
        table.add_column(title, justify="left" if left else "right", min_width=width, no_wrap=True)
    return table


def print_finding(finding: Finding, console: Console) -> None:
    """Print how severe a finding is, what was seen and where, and what to do."""
    heading = Text.assemble(
        (f"{finding.severity} ", SEVERITY_STYLES[finding.severity]),
        (finding.rule, "bold"),
        _text(f": {finding.message}"),
    )
    console.print(Padding(heading, (0, 0, 0, 1)))
    for line in (f"Where: {finding.places}" if finding.where else "", finding.remedy):
        if line:
            console.print(Padding(_text(line, "dim"), (0, 0, 0, 3)))


def _text(text: str, style: str = "") -> Text:
    """Return text of others' making as it is, without markup, and without what could upset a terminal."""
    return Text(printable(text), style)
