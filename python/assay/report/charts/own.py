"""The charts that an experiment's file asks for: one [[chart]], one or more figures.

Nothing is pooled: a mark stands for one condition. Each level of the facet gets a figure, on the same axes,
and so does each combination of the factors that the chart does not name, on axes of its own.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from assay.experiment.types import Chart
from assay.plan.types import Level
from assay.report.charts import drawings
from assay.report.charts.drawings import Across, OfMetric, Specification, Up
from assay.report.charts.drawn import Drawn, measured, titled, wide
from assay.report.charts.panels import Condition, Panels, of_metric, quartiles, summary
from assay.report.charts.style import ONE, Series

BINS = 40  # at most in a histogram

Row = list[Any]
Shared = tuple[tuple[str, Level], ...]


def own(panels: Panels) -> Iterator[Drawn]:
    """Yield the figures of every chart that the experiment asks for."""
    for number, chart in enumerate(panels.experiment.charts, start=1):
        yield from _chart(panels, chart, f"chart-{number}")


def _chart(panels: Panels, chart: Chart, kind: str) -> Iterator[Drawn]:
    factors = panels.experiment.factors
    drawn = [
        condition
        for condition in panels.conditions
        if all(condition.levels[factor] in levels for factor, levels in chart.filter.items())
    ]
    metrics = [name for name in (chart.x, chart.y, chart.value) if name is not None and name not in factors]
    note = _nothing(panels, drawn, metrics)
    if note:
        yield Drawn("charts", kind, chart.title, (), (), dict, note)
        return
    named = {chart.x, chart.y, chart.color, chart.facet}
    along = chart.kind == "lines" and chart.x not in factors  # what else varies is what a line runs along
    free = [] if along else [factor for factor in factors if factor not in named]
    varying = [factor for factor in free if len({condition.levels[factor] for condition in drawn}) > 1]
    only = _only(panels, chart, drawn, free)
    groups: dict[Shared, list[Condition]] = defaultdict(list)
    for condition in drawn:
        groups[tuple((factor, condition.levels[factor]) for factor in varying)].append(condition)
    for number, (shared, conditions) in enumerate(groups.items(), start=1):
        facets: dict[Shared, list[Condition]] = defaultdict(list)
        for condition in conditions:
            facet: Shared = () if chart.facet is None else ((chart.facet, condition.levels[chart.facet]),)
            facets[facet].append(condition)
        columns, tables, specification = _KINDS[chart.kind](
            _Asked(panels, chart, drawn), list(facets.values())
        )
        for facet, rows in zip(facets, tables, strict=True):
            yield Drawn(
                section="charts",
                kind=f"{kind}-{number}",
                title=titled(chart.title, dict(facet + shared)),
                columns=columns,
                rows=rows,
                specification=specification,
                note=only if rows else f"No valid trial of these conditions reports {' and '.join(metrics)}.",
            )


def _only(panels: Panels, chart: Chart, drawn: Sequence[Condition], free: Collection[str]) -> str:
    """Return what the filter leaves of its factors, and where those factors stand that are not seen."""
    said = []
    for factor, every in panels.experiment.factors.items():
        levels = [level for level in every if any(each.levels[factor] == level for each in drawn)]
        if factor in chart.filter or (factor in free and len(levels) == 1):
            said.append(f"{factor}={' or '.join(panels.name(factor, level) for level in levels)}")
    return f"Only {', '.join(said)}." if said else ""


def _nothing(panels: Panels, drawn: Sequence[Condition], metrics: Sequence[str]) -> str:
    """Return why there is nothing to draw, or nothing."""
    if not drawn:
        return "The filter leaves no condition."
    if not any(condition.trials for condition in drawn):
        return "There is no valid trial yet."
    reported = {
        name for condition in panels.conditions for trial in condition.trials for name in trial.metrics
    }
    for metric in metrics:
        if metric not in reported:
            near = get_close_matches(metric, reported, n=1)
            return f"No valid trial reports {metric}." + (f" Is {near[0]} meant?" if near else "")
    return ""


@dataclass(frozen=True)
class _Asked:
    """A chart with what its axes show.

    Attributes:
        drawn: every condition that some figure of the chart shows.
    """

    panels: Panels
    chart: Chart
    drawn: Sequence[Condition]

    def levels(self, factor: str) -> list[Level]:
        """Return the levels of a factor that are drawn, in the experiment's order."""
        found = {condition.levels[factor] for condition in self.drawn}
        return [
            self.panels.name(factor, level) if isinstance(level, str) else level
            for level in self.panels.experiment.factors[factor]
            if level in found
        ]

    @property
    def series(self) -> Series:
        """Return what the colours tell apart."""
        if self.chart.color is None:
            return ONE
        color = self.chart.color
        levels = [self.panels.name(color, level) for level in self.panels.experiment.factors[color]]
        drawn = {self.named(color, condition) for condition in self.drawn}
        series = Series.of(self.chart.color, levels, drawn)
        return series.without_legend() if self.chart.color == self.chart.x else series

    def name(self, condition: Condition) -> str:
        """Return the series of a condition."""
        return ONE.names[0] if self.chart.color is None else self.named(self.chart.color, condition)

    def named(self, factor: str, condition: Condition) -> str:
        """Return the name of a condition's level."""
        return self.panels.name(factor, condition.levels[factor])

    @property
    def across(self) -> Across:
        """Return the horizontal axis, of a factor."""
        return Across(self.chart.x, self.levels(self.chart.x), aside=self.chart.color != self.chart.x)

    def up(self, metric: str, ends: Sequence[float], zero: bool = True) -> Up:
        """Return the vertical axis; figures of several facets share it."""
        return Up.sharing(measured(self.panels.experiment, metric), ends, log=wide(ends), zero=zero)


_Made = tuple[Sequence[str], list[list[Row]], Callable[[], Specification]]


def _ends(tables: Sequence[Sequence[Row]], *columns: int) -> list[float]:
    return [row[column] for rows in tables for row in rows for column in columns if row[column] is not None]


def _lines(asked: _Asked, facets: Sequence[Sequence[Condition]]) -> _Made:
    chart, series = asked.chart, asked.series
    of_factor = chart.x in asked.panels.experiment.factors
    across = asked.across if of_factor else OfMetric(measured(asked.panels.experiment, chart.x))

    def rows(conditions: Sequence[Condition]) -> Iterator[Row]:
        for condition in conditions:
            found = summary(condition, of_metric(str(chart.y)))
            if found is None:
                continue
            name = asked.name(condition)
            if isinstance(across, Across):
                level = condition.levels[chart.x]
                x, at = (
                    asked.named(chart.x, condition),
                    across.at(level, series.names.index(name), len(series.names)),
                )
            else:
                also = summary(condition, of_metric(chart.x))
                if also is None:
                    continue
                x, at = f"{also[0]:.5g}", also[0]
            yield ["point", name, x, at, *found, condition.number, None]

    tables = [list(rows(conditions)) for conditions in facets]
    up = asked.up(str(chart.y), _ends(tables, 4, 5, 6))
    return (
        drawings.MEDIAN_COLUMNS,
        tables,
        partial(drawings.lines, across, up, series),
    )


def _bars(asked: _Asked, facets: Sequence[Sequence[Condition]]) -> _Made:
    chart = asked.chart
    tables = [
        [
            [
                "point",
                asked.name(condition),
                asked.named(chart.x, condition),
                None,
                *found,
                condition.number,
                None,
            ]
            for condition in conditions
            if (found := summary(condition, of_metric(str(chart.y)))) is not None
        ]
        for conditions in facets
    ]
    ends = _ends(tables, 4, 5, 6)
    up = asked.up(str(chart.y), [*ends, 0.0])  # a bar's length is its value, so it begins at 0
    return (
        drawings.MEDIAN_COLUMNS,
        tables,
        partial(drawings.bars, asked.across, up, asked.series),
    )


def _box(asked: _Asked, facets: Sequence[Sequence[Condition]]) -> _Made:
    chart = asked.chart

    def rows(conditions: Sequence[Condition]) -> Iterator[Row]:
        for condition in conditions:
            values = [value for value, _ in condition.values(of_metric(str(chart.y)))]
            if values:
                x = asked.named(chart.x, condition)
                yield [x, asked.name(condition), *quartiles(values), len(values), condition.number]

    tables = [list(rows(conditions)) for conditions in facets]
    up = asked.up(str(chart.y), _ends(tables, 2, 6), zero=False)
    return (
        drawings.BOX_COLUMNS,
        tables,
        partial(drawings.boxes, asked.across, up, asked.series),
    )


def _histogram(asked: _Asked, facets: Sequence[Sequence[Condition]]) -> _Made:
    chart = asked.chart
    of = {
        condition.number: [value for value, _ in condition.values(of_metric(chart.x))]
        for conditions in facets
        for condition in conditions
    }
    every = [value for values in of.values() for value in values]
    edges = np.linspace(min(every), max(every), _bins(list(of.values())) + 1) if every else np.zeros(1)
    tables = [
        [
            [asked.name(condition), float(low), float(high), int(count), condition.number]
            for condition in conditions
            for low, high, count in zip(
                edges, edges[1:], np.histogram(of[condition.number], bins=edges)[0], strict=False
            )
            if count
        ]
        for conditions in facets
    ]
    most = int(max(_ends(tables, 3), default=1)) if chart.facet is not None else None
    return (
        drawings.HISTOGRAM_COLUMNS,
        tables,
        partial(
            drawings.histogram,
            measured(asked.panels.experiment, chart.x),
            (float(edges[0]), float(edges[-1])),
            most,
            asked.series,
        ),
    )


def _bins(samples: Sequence[Sequence[float]]) -> int:
    """Return how many bins all samples together take, so that the narrowest one is shown as NumPy would."""
    span = max(map(max, filter(None, samples))) - min(map(min, filter(None, samples)))
    widths = [
        float(edges[1] - edges[0])
        for edges in (np.histogram_bin_edges(each, "auto") for each in samples if len(set(each)) > 1)
    ]
    return max(1, min(BINS, round(span / min(widths)))) if widths else 1


def _heat_map(asked: _Asked, facets: Sequence[Sequence[Condition]]) -> _Made:
    chart = asked.chart
    found = [
        [
            (condition, median[0])
            for condition in conditions
            if (median := summary(condition, of_metric(str(chart.value)))) is not None
        ]
        for conditions in facets
    ]
    values = [value for each in found for _, value in each]
    low, high = min(values, default=0.0), max(values, default=1.0)
    log = wide(values)
    middle = (low * high) ** 0.5 if log else (low + high) / 2
    tables = [
        [
            [
                asked.named(chart.x, condition),
                asked.named(str(chart.y), condition),
                value,
                value < middle,
                condition.number,
            ]
            for condition, value in each
        ]
        for each in found
    ]
    return (
        drawings.HEAT_MAP_COLUMNS,
        tables,
        partial(
            drawings.heat_map,
            asked.across,
            Across(str(chart.y), asked.levels(str(chart.y))),
            Up(measured(asked.panels.experiment, str(chart.value)), log, (low, high)),
        ),
    )


_KINDS: Mapping[str, Callable[[_Asked, Sequence[Sequence[Condition]]], _Made]] = {
    "lines": _lines,
    "bars": _bars,
    "box": _box,
    "histogram": _histogram,
    "heat_map": _heat_map,
}
