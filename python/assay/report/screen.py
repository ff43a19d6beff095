"""The end of a run: what ran, one table of verdicts and how far to trust them, on a screen of 80 by 24."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from assay.analysis.aa import false_alarms
from assay.analysis.types import Verdict
from assay.analysis.verdicts import verdict_word
from assay.experiment import Experiment
from assay.experiment.events import SIMULATION_S
from assay.plan.types import Level, Status
from assay.report import hosts, sensitivity, words
from assay.report.answers import AnswerRow
from assay.report.gather import Report
from assay.report.terminal import SEVERITY_STYLES, STYLES
from assay.report.trust import Degree, short, trust
from assay.words import condition_name, counted, duration, printable

WIDTH = 80
MARKS: Mapping[Verdict, str] = {"faster": "▲", "slower": "▼", "equivalent": "=", "undecided": "?"}
LETTERS: Mapping[Verdict, str] = {"faster": "F", "slower": "S", "equivalent": "=", "undecided": "?"}
"""In place of marks where the terminal's encoding has none."""

_GAP = 2
_HEADING_AT_MOST = 40
_OVERALL = "over all"
_ZEROS_AT_MOST = 3
_HOST_LINES_AT_MOST = 7
_RELATIONS_AT_MOST = 3
_DEGREE_STYLES: dict[Degree, str] = {
    "with confidence": "bold green",
    "with care": "bold yellow",
    "not": "bold red",
}


def print_screen(report: Report, console: Console) -> None:
    """Print what a campaign says, as briefly as it can be said: all else is in `terminal.print_report`."""
    marks = LETTERS if console.options.ascii_only else MARKS
    width = min(console.width, WIDTH)
    if report.experiment.varied:
        lines = (*_beginning(report), *_sensitivity(report, width), *_trust(report, width))
    else:
        lines = (
            *_beginning(report),
            *_idle(report, width),
            *_table(report, marks, width),
            *_by_host(report, width),
            *_end(report, marks, width),
        )
    for line in lines:
        console.print(line)


def _beginning(report: Report) -> Iterator[Text]:
    campaign, analysis = report.campaign, report.analysis
    trials = counted(campaign.planned, "trial")
    if campaign.ended < campaign.planned:
        trials = f"{campaign.ended} of {trials}"
    failed: dict[Status, int] = {**campaign.counts, "valid": 0}
    took_s = sum(trial.wall_s + trial.metrics.get(SIMULATION_S, 0) for trial in report.trials)
    became = f" in {duration(took_s)}, "
    became += words.statuses(failed) or "all valid"
    ran = Text.assemble(
        (printable(campaign.experiment), "bold"),
        f": {trials}{became * bool(campaign.ended)} (campaign {campaign.id})",
    )
    if report.experiment.overrides:
        ran.append(printable(f"; run with {' '.join(report.experiment.overrides)}"))
    yield ran
    if mark := report.experiment.mark:
        yield Text(mark, "bold red")
    if campaign.stopped:
        yield Text(printable(f"It ended early: {campaign.stopped}."))
    if not report.experiment.varied:
        ratio = f"{analysis.metric} as a ratio to {analysis.baseline}; {analysis.better} is better"
        yield Text(printable(ratio))
    for line in wrap(printable(hosts.scope(report)), WIDTH):
        yield Text(line)
    if disagree := hosts.disagreement(report):
        yield from (Text(line, "bold red") for line in wrap(printable(disagree.message), WIDTH))
    yield Text()


def _idle(report: Report, width: int) -> Iterator[Text]:
    """Yield before all numbers that trials measured nothing."""
    if said := words.idle(report.analysis):
        yield from (Text(line, "bold red") for line in wrap(printable(said), width))
        yield Text()


def _by_host(report: Report, width: int) -> Iterator[Text]:
    """Yield a line for each host if they disagree: those of the first answers, which fit the screen."""
    if hosts.disagreement(report) is None:
        return
    said = list(hosts.host_lines(report))
    for line in said[:_HOST_LINES_AT_MOST]:
        text = Text(printable(line))
        text.truncate(width, overflow="ellipsis")
        yield text
    if len(said) > _HOST_LINES_AT_MOST:
        yield Text(f"  and {len(said) - _HOST_LINES_AT_MOST} more lines: see --verbose")


def _end(report: Report, marks: Mapping[Verdict, str], width: int) -> Iterator[Text]:
    analysis, unit = report.analysis, report.experiment.unit(report.analysis.metric)
    legend = Text()
    for verdict, mark in marks.items():
        word = verdict_word(verdict, analysis.metric, unit)
        if verdict == "equivalent":
            word = f"equivalent, within {words.effect(analysis)}"
        legend.append(f"{mark} {word}   ", STYLES[verdict])
    legend.rstrip()
    yield legend
    compared = [row for context in report.answers.contexts for row in context.compared]
    yield Text(f"Verdicts: {_counts(compared)}", "bold")
    for row in [of for of in (*compared, *report.answers.aggregates) if of.zeros][:_ZEROS_AT_MOST]:
        assert row.answer is not None
        place = condition_name({**row.answer.context, "level": row.answer.level})
        yield from map(Text, wrap(f"  {printable(f'{place}: {row.zeros}')}", width))
    withheld = next((answer for answer in analysis.comparisons if answer.withheld), None)
    if withheld is not None:
        for line in wrap(f"  withheld, as {printable(withheld.reason)}", width):
            yield Text(line)
    for name, answers in (
        (_OVERALL, report.answers.aggregates),
        ("from rung to rung", report.answers.rungs),
        ("further metrics", report.answers.also),
    ):
        if answers:
            yield Text(f"  {name}: {_counts(answers)}")
    for line in wrap(report.gate, width):
        yield Text(line, "bold")
    if report.experiment.identical:
        yield Text(false_alarms(analysis).summary)
    yield from _trust(report, width)


def _sensitivity(report: Report, width: int) -> Iterator[Text]:
    """Yield the answer, and the table of the most sensitive condition."""
    for line in wrap(sensitivity.sentence(report), width):
        yield Text(printable(line), "bold")
    conditions = sensitivity.measured(report)
    if not conditions:
        return
    worst, experiment = conditions[0], report.experiment
    yield Text()
    yield from map(Text, sensitivity.table(worst))
    for text in sensitivity.further(worst, experiment):
        yield from map(Text, wrap(text, width))
    relations = sensitivity.relations(conditions, experiment)
    for text in relations[:_RELATIONS_AT_MOST]:
        yield from map(Text, wrap(printable(text), width))
    if len(conditions) > 1:
        more = len(relations) - _RELATIONS_AT_MOST
        other = f" and {counted(more, 'other ratio')}" if more > 0 else ""
        yield Text(f"{counted(len(conditions) - 1, 'other condition')}{other}: see --verbose")


def _trust(report: Report, width: int) -> Iterator[Text]:
    trusted = trust(report)
    yield Text.assemble("Trust: ", (trusted.summary, _DEGREE_STYLES[trusted.degree]))
    for finding in trusted.worst:
        line = Text(f"  {finding.severity} ", SEVERITY_STYLES[finding.severity])
        line.append(printable(short(finding, width - line.cell_len)), "not bold default")
        line.truncate(width, overflow="ellipsis")
        yield line


def _counts(rows: Iterable[AnswerRow]) -> str:
    """Return how many answers have which verdict, in the words for their metrics."""
    ordered = sorted(rows, key=lambda row: [*words.VERDICTS, None].index(row.verdict))
    said = Counter("withheld" if row.lacks == "withheld" else row.word for row in ordered)
    return ", ".join(f"{count} {word}" for word, count in said.items()) or "none"


@dataclass
class _Block:
    """A block of the table: the contexts that differ in the factors of the columns alone."""

    name: str
    cells: dict[str, dict[Level, AnswerRow]] = field(default_factory=dict)  # heading -> level -> its row


def _table(report: Report, marks: Mapping[Verdict, str], width: int) -> Iterator[Text]:
    """Yield the blocks of the table, each in as many parts as its columns take."""
    blocks = _blocks(report)
    cells = [cell for block in blocks for rows in block.cells.values() for cell in rows.values()]
    answers = [row for row in cells if row.verdict is not None and not row.lacks]
    ratio_width = max((len(row.brief.value) for row in answers), default=0)
    interval_width = max((len(_interval(row)) for row in answers), default=0)

    def written(row: AnswerRow) -> Text:
        if row.verdict is None:
            return Text(row.median_in_unit)
        text = row.lacks or f"{row.brief.value:>{ratio_width}} {_interval(row):>{interval_width}}"
        return Text(f"{marks[row.verdict]} {text}", STYLES[row.verdict])

    widest = max((written(cell).cell_len for cell in cells), default=0)
    levels = [f" {printable(str(level))}" for level in report.experiment.factors[report.analysis.factor]]
    for block in blocks:
        widths = {heading: max(widest, cell_len(heading)) for heading in block.cells}
        room = width - _GAP - max(widths.values(), default=0)
        names = min(max(map(cell_len, (*levels, block.name))), room)
        for headings in _parts(widths, width - names):
            row = partial(_row, widths=[names, *(widths[heading] for heading in headings)])
            yield from row(block.name, [Text(heading, "italic") for heading in headings], style="italic")
            for level in dict.fromkeys(level for heading in headings for level in block.cells[heading]):
                cells_of = [block.cells[heading].get(level) for heading in headings]
                texts = [Text() if cell is None else written(cell) for cell in cells_of]
                yield from row(f" {printable(str(level))}", texts)


def _row(name: str, cells: Sequence[Text], *, widths: Sequence[int], style: str = "") -> Iterator[Text]:
    """Yield a row of the table; a name that is too long for its column has a line of its own."""
    if cell_len(name) > widths[0]:
        yield Text(name, style)
        name = ""
    line = Text()
    for text, takes in zip((Text(name, style), *cells), widths, strict=True):
        line.append(" " * (_GAP * bool(line))).append_text(text)
        line.append(" " * (takes - text.cell_len))
    line.rstrip()
    yield line


def _parts(widths: Mapping[str, int], width: int) -> list[list[str]]:
    """Return the headings of the columns, as many together as fit next to each other."""
    parts: list[list[str]] = []
    left = 0
    for heading, takes in widths.items():
        if not parts or left < _GAP + takes:
            parts.append([])
            left = width
        parts[-1].append(heading)
        left -= _GAP + takes
    return parts


def _blocks(report: Report) -> list[_Block]:
    """Return the table's content: the experiment's contexts as columns within blocks, and its answers."""
    experiment, analysis = report.experiment, report.analysis
    columns = column_factors(experiment)
    blocks: dict[tuple[Level, ...], _Block] = {}

    def block_of(context: Mapping[str, Level]) -> _Block:
        rest = {factor: level for factor, level in context.items() if factor not in columns}
        name = printable(condition_name(rest)) if rest else analysis.factor
        return blocks.setdefault(tuple(rest.values()), _Block(name))

    for there in report.answers.contexts:
        context = report.context(there.condition)
        heading = condition_name({factor: context[factor] for factor in columns}) if columns else "ratio"
        cells = block_of(context).cells.setdefault(printable(heading)[:_HEADING_AT_MOST], {})
        cells.update(
            (answer.condition.levels[analysis.factor], answer) for answer in there.rows if answer.condition
        )
    for whole in report.answers.aggregates:
        assert whole.answer is not None
        block_of(whole.answer.context).cells.setdefault(_OVERALL, {})[whole.answer.level] = whole
    return list(blocks.values())


def column_factors(experiment: Experiment) -> tuple[str, ...]:
    """Return the factors whose levels are the columns: the workloads that an experiment names as such.

    Where it names none it is the factor with most levels, thread counts only if there is no other.
    """
    others = [factor for factor in experiment.factors if factor != experiment.comparison.factor]
    across = tuple(factor for factor in others if factor in experiment.comparison.across)
    if across or not others:
        return across
    return (max(others, key=lambda factor: (factor != "threads", len(experiment.factors[factor]))),)


def _interval(row: AnswerRow) -> str:
    """Return the interval as briefly as it can be read: differences have signs, which need the word."""
    differs = row.answer is not None and row.answer.difference is not None
    return row.brief.interval.replace(" to ", " to " if differs else "-") or "-"
