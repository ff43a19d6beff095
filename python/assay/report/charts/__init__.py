"""The charts of a page: which there are, in what order, on what data.

There is one specification for each kind of chart, and one figure for each panel: its rows are the chart's
data, a table `rows` that the page's script hands over when the figure comes into view. A mark of a
single trial leads to that.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from assay import extras
from assay.report.charts.chart import TRIALS_HEADING, own
from assay.report.charts.comparison import hosts, medians, ratios
from assay.report.charts.defaults import cost, inside
from assay.report.charts.drawn import Figure, Specification
from assay.report.charts.latency import latency
from assay.report.charts.over_time import host, trials
from assay.report.charts.panels import Panels
from assay.report.gather import Report

__all__ = ["SECTIONS", "Figure", "Specification", "figures", "page_content", "specifications"]

SECTIONS: Mapping[str, tuple[Callable[[Panels], Iterable[Figure]], str, str]] = {
    "ratios": (
        ratios,
        "Ratios to the baseline",
        "Over the band of the smallest effect, with 95% intervals. A page shows them as its first picture.",
    ),
    "hosts": (
        hosts,
        "Host by host",
        "What each host says by itself, under what all say together.",
    ),
    "medians": (
        medians,
        "Medians",
        "Over valid trials, with 95% intervals.",
    ),
    "charts": (
        own,
        "Charts of this experiment",
        "As its file asks for them.",
    ),
    "trials": (
        trials,
        TRIALS_HEADING,
        "The share of trials, or of perturbed configurations, with at most each value (Blackwell 1998, "
        "figure 1), and the same trials over the time of the campaign. Click a point to see its trial.",
    ),
    "latency": (
        latency,
        "How long operations take",
        "Percentiles of the latency of operations, from the start of each, or in an open loop from the "
        "moment at which it was due.",
    ),
    "inside": (
        inside,
        "Inside the trials",
        "Medians with 95% intervals of what each role of threads got done, and of what probes in the "
        "measured code recorded.",
    ),
    "cost": (
        cost,
        "What it costs",
        "Medians with 95% intervals of counters and memory, and how evenly the threads were served.",
    ),
    "host": (
        host,
        "The host over the campaign",
        "Calibrations in processes of their own, just before and just after each trial. "
        "Click a point to see its trial.",
    ),
}
"""Part of the page -> what yields its figures, its heading and a sentence, in order."""


def figures(report: Report) -> list[Figure]:
    """Return the figures of a page, section by section in the order of SECTIONS."""
    panels = Panels(report)
    numbers: Counter[str] = Counter()
    named = []
    for section, (figures_of, *_) in SECTIONS.items():
        for figure in figures_of(panels):
            numbers[figure.kind] += 1
            name = f"{figure.kind}-{numbers[figure.kind]}"
            rows = [{column: _short(value) for column, value in row.items()} for row in figure.rows]
            named.append(replace(figure, section=section, name=name, rows=rows))
    return named


def _short(value: Any) -> Any:
    """Return a number with nine digits, which is more than a chart shows; anything else as it is."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


def specifications(figures: Iterable[Figure]) -> dict[str, Specification]:
    """Return kind of chart -> Vega-Lite specification, of every kind that has something to draw."""
    kinds = {figure.kind: figure for figure in figures if figure.rows}
    return {kind: figure.specification() for kind, figure in kinds.items()}


def page_content(drawn: Iterable[Figure]) -> dict[str, Any]:
    """Return what a page needs to draw figures: their specifications by kind and their data by name.

    There is no specification without Altair; the page's script then says what is missing.
    """
    drawn = list(drawn)
    data = {figure.name: (figure.kind, *figure.table()) for figure in drawn if figure.rows}
    return {"specifications": specifications(drawn) if extras.available("altair") else {}, "data": data}
