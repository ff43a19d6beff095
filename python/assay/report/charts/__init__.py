"""The charts of a page: which there are, in what order, on what data.

There is one specification for each kind of chart, and one figure for each panel: its rows are the chart's
data, a table `rows` that the page's script hands over when the figure comes into view. A mark leads to the
trials of its `condition`, or to its `trial`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.report.charts.chart import TRIALS_HEADING, own
from assay.report.charts.comparison import comparison
from assay.report.charts.defaults import cost, inside
from assay.report.charts.distribution import distribution
from assay.report.charts.drawings import Specification
from assay.report.charts.drawn import Drawn
from assay.report.charts.host import host
from assay.report.charts.latency import latency
from assay.report.charts.panels import Panels, short
from assay.report.gather import Report

SECTIONS: Mapping[str, tuple[str, str]] = {
    "comparison": (
        "The comparison",
        "Medians over valid trials, and ratios to the baseline over the band of the smallest effect, "
        "with 95% intervals. A mark leads to the trials of its condition.",
    ),
    "charts": ("Charts of this experiment", "As its file asks for them. A mark leads to its trials."),
    "trials": (
        TRIALS_HEADING,
        "The share of trials with at most each value (Blackwell 1998, figure 1), and the same trials over "
        "the time of the campaign. A point leads to its trial.",
    ),
    "latency": (
        "How long operations take",
        "Percentiles of the latency of operations, from the start of each, or in an open loop from the "
        "moment at which it was due. A mark leads to the trials of its condition.",
    ),
    "inside": (
        "Inside the trials",
        "Medians with 95% intervals of what each role of threads got done, and of what probes in the "
        "measured code recorded. A mark leads to the trials of its condition.",
    ),
    "cost": (
        "What it costs",
        "Medians with 95% intervals of counters and memory, and how evenly the threads were served. "
        "A mark leads to the trials of its condition.",
    ),
    "host": (
        "The host over the campaign",
        "Calibrations in processes of their own, just before and just after each trial. A "
        "point leads to its trial.",
    ),
}
"""Part of the page -> its heading and a sentence, in order."""


@dataclass(frozen=True)
class Figure:
    """One chart on the page.

    Attributes:
        section: the part of the page that it belongs to, a key of SECTIONS.
        kind: which specification draws it.
        name: stem of a file's name, unique on the page: small letters, digits, `_` and `-`.
        title: of others' making.
        note: what has to be said with it, of others' making too; may be empty.
        columns, rows: its data. Without rows there is nothing to draw, and the note says why.
    """

    section: str
    kind: str
    name: str
    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def specifications(report: Report) -> dict[str, Specification]:
    """Return kind of chart -> Vega-Lite specification, of every kind that has something to draw."""
    kinds = {drawn.kind: drawn for drawn in _draw(report) if drawn.rows}
    return {kind: drawn.specification() for kind, drawn in kinds.items()}


def figures(report: Report) -> Iterator[Figure]:
    """Yield the figures of a page, section by section in the order of SECTIONS."""
    numbers: Counter[str] = Counter()
    for drawn in _draw(report):
        numbers[drawn.kind] += 1
        yield Figure(
            section=drawn.section,
            kind=drawn.kind,
            name=f"{drawn.kind}-{numbers[drawn.kind]}",
            title=drawn.title,
            note=drawn.note,
            columns=drawn.columns,
            rows=[[short(value) for value in row] for row in drawn.rows],
        )


def _draw(report: Report) -> Iterator[Drawn]:
    panels = Panels(report)
    for section in (comparison, own, distribution, latency, inside, cost, host):
        yield from section(panels)
