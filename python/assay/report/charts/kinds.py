"""The kinds of chart that a `Chart` may be: for each the rows of a condition, and what draws those of all.

A `Chart` has the axes that its kind needs: the reader of experiments sees to that.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import altair as alt
import numpy as np

from assay.experiment.types import Chart
from assay.report.charts import style
from assay.report.charts.axes import Across, Up, drawable, same, ticks, wide
from assay.report.charts.drawings import (
    ENDS,
    HEIGHT,
    TO_CONDITION,
    clickable,
    clickable_median,
    cumulative,
    lines,
    points,
    table,
)
from assay.report.charts.drawn import Row, Specification, noted, numbers
from assay.report.charts.panels import (
    ITERATIONS,
    QUARTILES,
    Condition,
    Panels,
    in_order,
    quartiles,
    steps,
    summary,
)
from assay.report.charts.style import ONE, Series
from assay.report.metrics import measured

BINS = 40  # at most in a histogram
GAP = 0.3  # between the bars or boxes of two levels, a share of their distance
LEGEND_CHARACTERS = 24  # in a line of a title that must fit below a narrow plane


@dataclass(frozen=True)
class Drawing:
    """A chart of some conditions, with what its axes show."""

    panels: Panels
    chart: Chart
    conditions: Sequence[Condition]

    def name(self, factor: str, condition: Condition) -> str:
        """Return the name of a condition's level."""
        return self.panels.names[factor][condition.levels[factor]]

    def across(self, factor: str) -> Across:
        """Return the axis of a factor, with those of its levels that are drawn, in the experiment's order."""
        drawn = {condition.levels[factor] for condition in self.conditions}
        levels = [
            name if isinstance(level, str) else level
            for level, name in self.panels.names[factor].items()
            if level in drawn
        ]
        return Across(factor, levels, aside=self.chart.color != factor)

    @cached_property
    def x(self) -> Across | None:
        """The horizontal axis, if that is of a factor."""
        return self.across(self.chart.x) if self.chart.x in self.panels.names else None

    @cached_property
    def series(self) -> Series:
        """What the colours tell apart."""
        color = self.chart.color
        if color is None:
            return ONE
        drawn = {self.name(color, condition) for condition in self.conditions}
        names = self.panels.names[color].values()
        return Series.of(color, names, legend=color != self.chart.x).only(drawn)

    def of(self, condition: Condition) -> str:
        """Return the series of a condition."""
        return ONE.names[0] if self.chart.color is None else self.name(self.chart.color, condition)

    def values(self, condition: Condition, metric: str | None) -> list[float]:
        """Return the values of a metric in the condition's trials."""
        return [value for value, _ in condition.values(str(metric))]

    def up(self, metric: str | None, values: Sequence[float], *, log: bool, zero: bool = True) -> Up:
        """Return the axis of a metric for some of its values."""
        return Up.sharing(measured(self.panels.experiment, str(metric)), values, log=log, zero=zero)

    @cached_property
    def edges(self) -> list[float]:
        """Where the bins of a histogram begin and where the last one ends."""
        samples = [self.values(condition, self.chart.x) for condition in self.conditions]
        return _edges([[value for value in sample if drawable(value)] for sample in samples])


def _medians(drawing: Drawing, condition: Condition) -> Iterator[Row]:
    chart, series = drawing.chart, drawing.of(condition)
    median = summary(drawing.values(condition, chart.y))
    if drawing.x is not None:
        x, names = drawing.name(chart.x, condition), drawing.series.names
        at = drawing.x.at(condition.levels[chart.x], names.index(series), len(names))
    elif over := summary(drawing.values(condition, chart.x)):
        x, at = f"{over['value']:.5g}", over["value"]
    else:
        return
    if median:
        hollow = chart.y == drawing.panels.report.analysis.metric and not condition.typical
        part = "hollow" if hollow else "point"
        ratio = drawing.panels.ratio(condition, str(chart.y), median["value"])
        place = {"part": part, "series": series, "x": x, "at": at}
        yield {**place, **median, "ratio": ratio, "condition": condition.number}


def _lines(drawing: Drawing, rows: Sequence[Row]) -> Specification:
    chart, series = drawing.chart, drawing.series
    medians, ends, over = numbers(rows, "value"), numbers(rows, "value", *ENDS), numbers(rows, "at")
    up = drawing.up(chart.y, ends, log=wide(medians) and min(ends) > 0)
    parts = {row["part"] for row in rows}
    if chart.x != chart.color:
        across = drawing.x or drawing.up(chart.x, over, log=wide(over), zero=False)
        return lines(across, up, series, parts)
    # where the levels of the axis are the series, each has a row
    y = alt.Y("series:N", title=None).scale(domain=series.names).axis(labelLimit=180)
    base = table(TO_CONDITION, y=y, **series.by("color"), **clickable_median(series, up))
    layers = [
        base.mark_rule(strokeWidth=2).encode(x=up.on("x", "low"), x2="high:Q"),
        *points(base, 70, parts, x=up.on("x", "value"), **series.by("shape")),
    ]
    return style.to_dict(alt.layer(*layers), {"step": 30})


def _bars(drawing: Drawing, rows: Sequence[Row]) -> Specification:
    series, across = drawing.series, drawing.across(drawing.chart.x)
    # A bar's length is its value, so it begins at 0.
    up = drawing.up(drawing.chart.y, [0.0, *numbers(rows, "value", *ENDS)], log=False)
    leads_on = clickable_median(series, up, x=across.what)
    base = table(TO_CONDITION, **across.named_axis(series, GAP), **leads_on)
    colored = base.encode(y=up.on("y", "value"), **series.by("color"))
    layers = [
        colored.mark_bar(fillOpacity=0.6),
        base.mark_rule(strokeWidth=1.6).encode(y=up.on("y", "low"), y2="high:Q"),
        colored.mark_point(filled=True, size=45, opacity=1).encode(**series.by("shape")),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)


def _quartiles(drawing: Drawing, condition: Condition) -> Iterator[Row]:
    place = {"x": drawing.name(drawing.chart.x, condition), "series": drawing.of(condition)}
    trials, number = len(condition.trials), condition.number
    if drawing.chart.y == ITERATIONS:
        if iterations := condition.iterations:
            yield {**place, **iterations, "values": trials, "condition": number}
    elif values := drawing.values(condition, drawing.chart.y):
        yield {**place, **quartiles(values), "values": len(values), "condition": number}


def _boxes(drawing: Drawing, rows: Sequence[Row]) -> Specification:
    """Draw a box from quartile to quartile with the median, and whiskers to the extremes."""
    series, across = drawing.series, drawing.across(drawing.chart.x)
    ends = numbers(rows, "least", "most")
    share = str(drawing.chart.y).endswith("_share")  # how far it is from nothing is what matters
    up = drawing.up(drawing.chart.y, ends, log=wide(ends) and not share, zero=share)
    least, lower, median, upper, _ = (up.on("y", column) for column in QUARTILES)
    base = table(
        TO_CONDITION,
        **series.by("color"),
        **across.named_axis(series, GAP),
        **clickable({"series": series.title, "x": across.what}, {**QUARTILES, "values": "trials"}),
    )
    layers = [
        base.mark_rule(strokeWidth=1.2).encode(y=least, y2="lower:Q"),
        base.mark_rule(strokeWidth=1.2).encode(y=upper, y2="most:Q"),
        base.mark_bar(fillOpacity=0.35).encode(y=lower, y2="upper:Q"),
        base.mark_tick(thickness=2).encode(y=median),
        base.mark_point(filled=True, size=45, opacity=1).encode(y=median, **series.by("shape")),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)


def _counts(drawing: Drawing, condition: Condition) -> Iterator[Row]:
    values, edges = drawing.values(condition, drawing.chart.x), drawing.edges
    series = {"series": drawing.of(condition), "condition": condition.number}
    if counted := [value for value in values if drawable(value)]:
        counts = np.histogram(counted, bins=edges)[0]
        for (low, high), count in zip(pairwise(edges), counts, strict=True):
            yield {**series, "from": low, "to": high, "count": int(count)}
    # Those beyond all bins are rows as well, so that they are counted where they are left out.
    yield from ({**series, "from": value} for value in values if not drawable(value))


def _histogram(drawing: Drawing, rows: Sequence[Row]) -> Specification:
    """Draw how many trials have a value in each bin: outlines over each other, or one filled."""
    series, edges = drawing.series, drawing.edges
    what = measured(drawing.panels.experiment, drawing.chart.x)
    x = alt.X("from:Q", title=what)
    y = alt.Y("count:Q", title="trials", stack=None).scale(domain=[0, max(numbers(rows, "count"))])
    base = table(
        TO_CONDITION,
        x=x.scale(domain=[edges[0], edges[-1]], nice=False, zero=False).axis(
            labelExpr=ticks("x", what=what)["labelExpr"], grid=False
        ),
        y=y.axis(format="d", tickMinStep=1),
        **series.by("color", **style.LINES),
    )
    bars = base.encode(
        x2="to:Q",
        y2=alt.datum(0),
        **clickable({"series": series.title}, {"from": "from", "to": "to", "count": "trials"}),
    ).transform_filter("datum.count > 0")
    tops = base.transform_calculate(ends="[datum.from, datum.to]").transform_flatten(["ends"])
    layers = [
        bars.mark_bar(fillOpacity=0 if len(series.names) > 1 else 0.3, strokeWidth=0),
        tops.mark_line(strokeWidth=1.6, strokeJoin="miter").encode(
            x=alt.X("ends:Q", title=what), order=alt.Order("ends:Q"), **series.by("strokeDash", **style.LINES)
        ),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)


def _curve(drawing: Drawing, condition: Condition) -> Iterator[Row]:
    """Yield the steps of a condition's curve, and where its unperturbed system lies on it.

    Where some trials were perturbed and some were not, the curve is of those that were.
    """
    values, series = condition.values(drawing.chart.x), drawing.of(condition)
    unperturbed = in_order([value for value in values if value[1].unperturbed])
    curve = [value for value in values if not value[1].unperturbed]
    for value, share, trial in steps(curve or values):
        yield {"series": series, "value": value, "share": share, "trial": trial}
    if curve and unperturbed:
        at, typical = unperturbed[(len(unperturbed) - 1) // 2]
        share = sum(value <= at for value, _ in curve) / len(curve)
        yield {"series": series, "at": at, "share": share, "trial": typical.id, "trials": len(unperturbed)}


def of_curves(rows: Sequence[Row], metric: str, conditions: Sequence[Condition]) -> str:
    """Return what is marked on some curves, and how many of their trials are not drawn."""
    counted = sum(row.get("trials", 0) for row in rows)
    every = sum(len(condition.values(metric)) for condition in conditions)
    between = every - counted - len({row["trial"] for row in rows if row.get("value") is not None} - {None})
    return noted(
        f"{between} trials between those drawn are left out; the shares count all." * bool(between),
        f"Curves: trials in perturbed configurations. Large hollow: median of the {counted} unperturbed."
        * bool(counted),
    )


def _cumulative(drawing: Drawing, rows: Sequence[Row]) -> Specification:
    values = numbers(rows, "value", "at")
    up = drawing.up(drawing.chart.x, values, log=min(values) > 0, zero=False)
    return cumulative(up, drawing.series, marked=any("at" in row for row in rows))


def _edges(samples: Sequence[Sequence[float]]) -> list[float]:
    """Return the edges of bins for all samples together, the width that the narrowest sample needs.

    That is by the rule of Sturges, or of Freedman and Diaconis where it gives less.
    """
    values = [value for sample in samples for value in sample]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if same(low, high):
        room = 0.05 * abs(high) or 1.0
        return [low - room, high + room]
    needed = [
        np.diff(np.histogram_bin_edges(sample, "auto"))[0]
        for sample in samples
        if sample and not same(min(sample), max(sample))
    ]
    bins = round(min(BINS, (high - low) / min(needed, default=high - low)))
    return [float(edge) for edge in np.linspace(low, high, max(1, bins) + 1)]


def _cells(drawing: Drawing, condition: Condition) -> Iterator[Row]:
    chart = drawing.chart
    if median := summary(drawing.values(condition, chart.value)):
        x, y = (drawing.name(str(axis), condition) for axis in (chart.x, chart.y))
        yield {"x": x, "y": y, "value": median["value"], "condition": condition.number}


def _heat_map(drawing: Drawing, rows: Sequence[Row]) -> Specification:
    """Draw medians as colours, with their numbers, which are light on dark."""
    across, down = drawing.across(drawing.chart.x), drawing.across(str(drawing.chart.y))
    medians = numbers(rows, "value")
    low, high = min(medians), max(medians)
    value = Up(measured(drawing.panels.experiment, str(drawing.chart.value)), wide(medians), (low, high))
    middle = (low * high) ** 0.5 if value.log else (low + high) / 2
    y = alt.Y("y:N", title=down.what, sort=None).scale(domain=[str(level) for level in down.levels])
    base = table(
        TO_CONDITION,
        x=across.named_axis(ONE)["x"],
        y=y.axis(grid=False, labelLimit=150),
        **clickable({"x": across.what, "y": down.what}, {"value": value.what}),
    )
    color = (
        alt.Color("value:Q", title=textwrap.wrap(value.title, LEGEND_CHARACTERS))
        .scale(scheme="viridis", type="log" if value.log else "linear", domain=[low, high])
        .legend(orient="bottom", direction="horizontal", format="~s", tickCount=3, gradientLength=90)
    )
    layers = [
        base.mark_rect(stroke=style.GREY, strokeWidth=0.5).encode(color=color),
        base.mark_text(fontSize=10).encode(
            text=alt.Text("value:Q", format=".3~s"),
            color=alt.condition(alt.datum.value < middle, alt.value("#ffffff"), alt.value("#000000")),
        ),
    ]
    return style.to_dict(alt.layer(*layers), {"step": 36})


KINDS: Mapping[
    str,
    tuple[
        Callable[[Drawing, Condition], Iterator[Row]],
        Callable[[Drawing, Sequence[Row]], Specification],
    ],
] = {
    "lines": (_medians, _lines),
    "bars": (_medians, _bars),
    "box": (_quartiles, _boxes),
    "histogram": (_counts, _histogram),
    "cumulative": (_curve, _cumulative),
    "heat_map": (_cells, _heat_map),
}
"""Kind of chart -> the rows of a condition, and what draws the rows of all."""
