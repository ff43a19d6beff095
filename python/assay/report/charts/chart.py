"""The one way in which factors and metrics are drawn: a `Chart`, of the experiment's file or of every report.

Nothing is pooled: a mark stands for one condition. Each combination of the levels of the facets gets a
figure, all on the same axes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial
from itertools import pairwise
from math import log2

import numpy as np

from assay.experiment.types import Chart
from assay.plan.types import Level
from assay.report.charts import drawings
from assay.report.charts.drawings import Across, Row, Specification, Up, drawable, same
from assay.report.charts.drawn import Figure, Table, column, left_out, measured, titled, together, wide
from assay.report.charts.panels import Condition, Panels, cut, quartiles, summary
from assay.report.charts.style import ONE, Series

BINS = 40  # at most in a histogram
TRIALS_HEADING = "Every valid trial"
HOLLOW = f"Hollow: no typical value, see its distribution under “{TRIALS_HEADING}”."

Beside = Callable[[Sequence[Condition]], tuple[list[Row], str]]


def own(panels: Panels) -> Iterator[Figure]:
    """Yield the figures of every chart that the experiment asks for.

    Each combination of the factors that a chart does not name gets figures on axes of their own.
    """
    factors = panels.experiment.factors
    for number, chart in enumerate(panels.experiment.charts, start=1):
        conditions = [
            condition
            for condition in panels.conditions
            if all(condition.levels[factor] in levels for factor, levels in chart.filter.items())
        ]
        if why := _nothing(panels, chart, conditions):
            yield Figure("charts", f"chart-{number}", chart.heading, note=why)
            continue
        # what else varies is what a line over a metric runs along
        along = chart.kind == "lines" and chart.x not in factors
        named = {chart.x, chart.y, chart.color, *chart.facet}
        free = [name for name in factors if not along and name not in named]
        varying = [name for name in free if len({condition.levels[name] for condition in conditions}) > 1]
        note = _only(panels, chart, conditions, free)
        for group, panel in enumerate(cut(conditions, varying), start=1):
            kind = f"chart-{number}-{group}"
            yield from draw(
                panels,
                chart,
                panel.conditions,
                section="charts",
                kind=kind,
                note=note,
                shared=panel.shared,
            )


def draw(
    panels: Panels,
    chart: Chart,
    conditions: Sequence[Condition],
    *,
    section: str,
    kind: str,
    note: str = "",
    shared: Mapping[str, Level] | None = None,
    beside: Beside = lambda _: ([], ""),
) -> list[Figure]:
    """Return a figure of a chart for each combination of the levels of the facets.

    Args:
        shared: what else stands in the titles.
        beside: the conditions of a figure -> what else is drawn with them, and what to say of it.
    """
    drawing = _Drawing(panels, chart, conditions)
    columns, rows_of, specification = _KINDS[chart.kind]
    tables = []
    for panel in cut(conditions, chart.facet):
        rows = [row for condition in panel.conditions for row in rows_of(drawing, condition)]
        title = titled(chart.heading, {**panel.shared, **(shared or {})})
        beyond = sum(map(drawing.beyond, panel.conditions)) if chart.kind == "histogram" else 0
        if not rows and not beyond:
            why = f"No valid trial of these conditions reports {' and '.join(_metrics(panels, chart))}."
            tables.append(Table(title, [], why))
            continue
        more, about = beside(panel.conditions)
        hollow = HOLLOW if chart.kind == "lines" and any(row[0] == "hollow" for row in rows) else ""
        notes = (note, about, hollow, left_out(beyond, "value"))
        tables.append(Table(title, [*more, *rows], " ".join(filter(None, notes))))
    return together(section, kind, columns, tables, partial(specification, drawing))


def _metrics(panels: Panels, chart: Chart) -> list[str]:
    return [
        name for name in (chart.x, chart.y, chart.value) if name and name not in panels.experiment.factors
    ]


def _nothing(panels: Panels, chart: Chart, conditions: Sequence[Condition]) -> str:
    """Return why there is nothing to draw, or nothing."""
    if not conditions:
        return "The filter leaves no condition."
    if not any(condition.trials for condition in conditions):
        return "There is no valid trial yet."
    reported = panels.reported
    for metric in _metrics(panels, chart):
        if metric not in reported:
            near = get_close_matches(metric, reported, n=1)
            return f"No valid trial reports {metric}." + (f" Is {near[0]} meant?" if near else "")
    return ""


def _only(panels: Panels, chart: Chart, conditions: Sequence[Condition], free: Collection[str]) -> str:
    """Return what the filter leaves of its factors, and where those factors stand that are not seen."""
    parts = []
    for factor in panels.experiment.factors:
        levels = dict.fromkeys(condition.levels[factor] for condition in conditions)
        if factor in chart.filter or (factor in free and len(levels) == 1):
            parts.append(f"{factor}={' or '.join(panels.name(factor, level) for level in levels)}")
    return f"Only {', '.join(parts)}." if parts else ""


@dataclass(frozen=True)
class _Drawing:
    """A chart of some conditions, with what its axes show."""

    panels: Panels
    chart: Chart
    conditions: Sequence[Condition]

    def levels(self, factor: str) -> list[Level]:
        """Return the levels of a factor that are drawn, in the experiment's order."""
        drawn = {condition.levels[factor] for condition in self.conditions}
        return [
            self.panels.name(factor, level) if isinstance(level, str) else level
            for level in self.panels.experiment.factors[factor]
            if level in drawn
        ]

    @cached_property
    def series(self) -> Series:
        """Return what the colours tell apart."""
        color = self.chart.color
        if color is None:
            return ONE
        levels = [self.panels.name(color, level) for level in self.panels.experiment.factors[color]]
        series = Series.of(color, levels, {self.named(color, condition) for condition in self.conditions})
        return series.without_legend() if color == self.chart.x else series

    def name(self, condition: Condition) -> str:
        """Return the series of a condition."""
        return ONE.names[0] if self.chart.color is None else self.named(self.chart.color, condition)

    def named(self, factor: str, condition: Condition) -> str:
        """Return the name of a condition's level."""
        return self.panels.name(factor, condition.levels[factor])

    @cached_property
    def across(self) -> Across | None:
        """Return the horizontal axis of a factor; None where that is of a metric."""
        if self.chart.x not in self.panels.experiment.factors:
            return None
        return Across(self.chart.x, self.levels(self.chart.x), aside=self.chart.color != self.chart.x)

    def values(self, condition: Condition, metric: str | None) -> list[float]:
        """Return the values of a metric in the condition's trials."""
        return [value for value, _ in condition.values(self.panels.value(str(metric)))]

    def measured(self, metric: str | None) -> str:
        """Return the title of the axis of a metric."""
        return measured(self.panels.experiment, str(metric))

    @cached_property
    def edges(self) -> list[float]:
        """Return where the bins of a histogram begin and where the last one ends."""
        samples = [self.values(condition, self.chart.x) for condition in self.conditions]
        return _edges([[value for value in sample if drawable(value)] for sample in samples])

    def beyond(self, condition: Condition) -> int:
        """Return how many values a histogram cannot show."""
        return sum(not drawable(value) for value in self.values(condition, self.chart.x))


def _medians(drawing: _Drawing, condition: Condition) -> Iterator[Row]:
    chart, across = drawing.chart, drawing.across
    median = summary(drawing.values(condition, chart.y))
    if median is None:
        return
    name = drawing.name(condition)
    if across is not None:
        x = drawing.named(chart.x, condition)
        at = across.at(condition.levels[chart.x], drawing.series.names.index(name), len(drawing.series.names))
    elif over := summary(drawing.values(condition, chart.x)):
        x, at = f"{over[0]:.5g}", over[0]
    else:
        return
    hollow = chart.y == drawing.panels.report.analysis.metric and not drawing.panels.typical(condition)
    yield ["hollow" if hollow else "point", name, x, at, *median, condition.number, None]


def _lines(drawing: _Drawing, rows: Sequence[Row]) -> Specification:
    chart = drawing.chart
    medians, ends = column(rows, 4), column(rows, 4, 5, 6)
    up = Up.sharing(drawing.measured(chart.y), ends, log=wide(medians) and min(ends) > 0)
    parts = {row[0] for row in rows}
    if chart.x == chart.color:
        return drawings.rows(up, drawing.series, parts)
    over = column(rows, 3)
    across = drawing.across or Up.sharing(drawing.measured(chart.x), over, log=wide(over), zero=False)
    return drawings.lines(across, up, drawing.series, parts)


def _bars(drawing: _Drawing, rows: Sequence[Row]) -> Specification:
    ends = [0.0, *column(rows, 4, 5, 6)]  # a bar's length is its value, so it begins at 0
    up = Up.sharing(drawing.measured(drawing.chart.y), ends, log=False)
    assert drawing.across is not None  # the reader sees to it that only lines have a metric there
    return drawings.bars(drawing.across, up, drawing.series)


def _quartiles(drawing: _Drawing, condition: Condition) -> Iterator[Row]:
    if values := drawing.values(condition, drawing.chart.y):
        x = drawing.named(drawing.chart.x, condition)
        yield [x, drawing.name(condition), *quartiles(values), len(values), condition.number]


def _boxes(drawing: _Drawing, rows: Sequence[Row]) -> Specification:
    metric = str(drawing.chart.y)
    ends = column(rows, 2, 6)
    share = metric.endswith("_share")  # how far it is from nothing is what matters
    up = Up.sharing(drawing.measured(metric), ends, log=wide(ends) and not share, zero=share)
    assert drawing.across is not None
    return drawings.boxes(drawing.across, up, drawing.series)


def _counts(drawing: _Drawing, condition: Condition) -> Iterator[Row]:
    values = [value for value in drawing.values(condition, drawing.chart.x) if drawable(value)]
    counts = np.histogram(values, bins=drawing.edges)[0]
    for (low, high), count in zip(pairwise(drawing.edges), counts, strict=True):
        if count:
            yield [drawing.name(condition), low, high, int(count), condition.number]


def _histogram(drawing: _Drawing, rows: Sequence[Row]) -> Specification:
    edges = drawing.edges
    title = drawing.measured(drawing.chart.x)
    return drawings.histogram(title, (edges[0], edges[-1]), max(row[3] for row in rows), drawing.series)


def _edges(samples: Sequence[Sequence[float]]) -> list[float]:
    """Return the edges of bins for all samples together, the width that the narrowest sample needs."""
    every = [value for sample in samples for value in sample]
    low, high = min(every, default=0.0), max(every, default=0.0)
    if same(low, high):
        room = 0.05 * abs(high) or 1.0
        return [low - room, high + room]
    widths = [_width(sample) for sample in samples if sample and min(sample) < max(sample)]
    bins = round(min(BINS, (high - low) / min(widths, default=(high - low) / BINS)))
    return [float(edge) for edge in np.linspace(low, high, max(1, bins) + 1)]


def _width(sample: Sequence[float]) -> float:
    """Return the width of bins after Sturges, or after Freedman and Diaconis where that is less."""
    least, lower, _, upper, most = quartiles(sample)
    sturges = (most - least) / (log2(len(sample)) + 1)
    return min(sturges, 2 * (upper - lower) / len(sample) ** (1 / 3) or sturges)


def _cells(drawing: _Drawing, condition: Condition) -> Iterator[Row]:
    chart = drawing.chart
    if median := summary(drawing.values(condition, chart.value)):
        x, y = (drawing.named(str(axis), condition) for axis in (chart.x, chart.y))
        yield [x, y, median[0], condition.number]


def _heat_map(drawing: _Drawing, rows: Sequence[Row]) -> Specification:
    values = column(rows, 2)
    colors = Up(drawing.measured(drawing.chart.value), wide(values), (min(values), max(values)))
    down = str(drawing.chart.y)
    assert drawing.across is not None
    return drawings.heat_map(drawing.across, Across(down, drawing.levels(down)), colors)


_KINDS: Mapping[
    str,
    tuple[
        Sequence[str],
        Callable[[_Drawing, Condition], Iterator[Row]],
        Callable[[_Drawing, Sequence[Row]], Specification],
    ],
] = {
    "lines": (drawings.MEDIAN_COLUMNS, _medians, _lines),
    "bars": (drawings.MEDIAN_COLUMNS, _medians, _bars),
    "box": (drawings.BOX_COLUMNS, _quartiles, _boxes),
    "histogram": (drawings.HISTOGRAM_COLUMNS, _counts, _histogram),
    "heat_map": (drawings.HEAT_MAP_COLUMNS, _cells, _heat_map),
}
"""Kind of chart -> the columns of its table, the rows of a condition, and what draws the rows of all."""
