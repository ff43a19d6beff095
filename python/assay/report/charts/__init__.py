"""The charts of a page: which there are, in what order, on what data.

There is one specification for each kind of chart, and one figure for each panel: its rows are the chart's
data, a table `rows` that the page's script hands over when the figure comes into view. A mark leads to the
trials of its `condition`, or to its `trial`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from assay.report.charts.chart import TRIALS_HEADING, own
from assay.report.charts.comparison import comparison
from assay.report.charts.defaults import cost, inside
from assay.report.charts.distribution import distribution
from assay.report.charts.drawings import Specification
from assay.report.charts.drawn import Figure
from assay.report.charts.host import host
from assay.report.charts.latency import latency
from assay.report.charts.panels import Panels, short
from assay.report.gather import Report

__all__ = ["SECTIONS", "Figure", "figures", "specifications"]

SECTIONS: Mapping[str, tuple[str, str]] = {
    "comparison": (
        "The comparison",
        "Medians over valid trials, and ratios to the baseline over the band of the smallest effect, "
        "with 95% intervals. Click a mark to see its trials.",
    ),
    "charts": ("Charts of this experiment", "As its file asks for them. Click a mark to see its trials."),
    "trials": (
        TRIALS_HEADING,
        "The share of trials with at most each value (Blackwell 1998, figure 1), and the same trials over "
        "the time of the campaign. Click a point to see its trial.",
    ),
    "latency": (
        "How long operations take",
        "Percentiles of the latency of operations, from the start of each, or in an open loop from the "
        "moment at which it was due. Click a mark to see its trials.",
    ),
    "inside": (
        "Inside the trials",
        "Medians with 95% intervals of what each role of threads got done, and of what probes in the "
        "measured code recorded. Click a mark to see its trials.",
    ),
    "cost": (
        "What it costs",
        "Medians with 95% intervals of counters and memory, and how evenly the threads were served. "
        "Click a mark to see its trials.",
    ),
    "host": (
        "The host over the campaign",
        "Calibrations in processes of their own, just before and just after each trial. "
        "Click a point to see its trial.",
    ),
}
"""Part of the page -> its heading and a sentence, in order."""


def figures(report: Report) -> list[Figure]:
    """Return the figures of a page, section by section in the order of SECTIONS."""
    panels = Panels(report)
    numbers: Counter[str] = Counter()
    named = []
    for section in (comparison, own, distribution, latency, inside, cost, host):
        for figure in section(panels):
            numbers[figure.kind] += 1
            rows = [[short(value) for value in row] for row in figure.rows]
            named.append(replace(figure, name=f"{figure.kind}-{numbers[figure.kind]}", rows=rows))
    return named


def specifications(figures: Iterable[Figure]) -> dict[str, Specification]:
    """Return kind of chart -> Vega-Lite specification, of every kind that has something to draw."""
    kinds = {figure.kind: figure for figure in figures if figure.rows}
    return {kind: figure.specification() for kind, figure in kinds.items()}
