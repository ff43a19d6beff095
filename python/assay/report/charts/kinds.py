"""The kinds of chart that a `Chart` may be: for each the rows of a condition, and what draws those of all.

A `Chart` has the axes that its kind needs: the reader of experiments sees to that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.experiment.types import Chart
from assay.report.charts import alt, style
from assay.report.charts.axes import Across, Up, wide
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
    independent,
    of_hosts,
    quartiles,
    steps,
    summary,
    with_band,
)
from assay.report.charts.style import ONE, Series
from assay.report.metrics import measured

BAND = "Band: with 95% confidence it holds the whole distribution."
GAP = 0.3  # between the bars or boxes of two levels, a share of their distance


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


def _medians(drawing: Drawing, condition: Condition) -> Iterator[Row]:
    chart, series = drawing.chart, drawing.of(condition)
    median = summary(of_hosts(condition.values(str(chart.y))))
    if drawing.x is not None:
        x, names = drawing.name(chart.x, condition), drawing.series.names
        at = drawing.x.at(condition.levels[chart.x], names.index(series), len(names))
    elif over := summary(of_hosts(condition.values(str(chart.x)))):
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
    base = table(
        TO_CONDITION, **across.named_axis(series, GAP), **clickable_median(series, up, x=across.what)
    )
    colored = base.encode(y=up.on("y", "value"), **series.by("color"))
    layers = [
        colored.mark_bar(fillOpacity=0.6),
        base.mark_rule(strokeWidth=1.6).encode(y=up.on("y", "low"), y2="high:Q"),
        colored.mark_point(filled=True, size=45, opacity=1).encode(**series.by("shape")),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)


def _quartiles(drawing: Drawing, condition: Condition) -> Iterator[Row]:
    x, series = drawing.name(drawing.chart.x, condition), drawing.of(condition)
    place = {"x": x, "series": series, "condition": condition.number}
    if drawing.chart.y == ITERATIONS:
        if iterations := condition.iterations:
            yield {**place, **iterations, "values": len(condition.trials)}
    elif values := drawing.values(condition, drawing.chart.y):
        yield {**place, **quartiles(values), "values": len(values)}


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


def _curve(drawing: Drawing, condition: Condition) -> Iterator[Row]:
    """Yield the steps of a condition's curve, and where its unperturbed system lies on it.

    Where some trials were perturbed and some were not, the curve is of those that were.
    """
    values, series = condition.values(drawing.chart.x), drawing.of(condition)
    unperturbed = in_order([value for value in values if value[1].unperturbed])
    curve = [value for value in values if not value[1].unperturbed]
    drawn, curves = curve or values, 1 if drawing.series.apart else len(drawing.series.names)
    rows = [
        {"series": series, "value": value, "share": share, "trial": trial}
        for value, share, trial in steps(drawn)
    ]
    yield from with_band(rows, len(drawn), curves) if independent(drawn) else rows
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
        BAND * any("low" in row for row in rows),
        f"Curves: trials in perturbed configurations. Large hollow: median of the {counted} unperturbed."
        * bool(counted),
    )


def _cumulative(drawing: Drawing, rows: Sequence[Row]) -> Specification:
    values = numbers(rows, "value", "at")
    up = drawing.up(drawing.chart.x, values, log=min(values) > 0, zero=False)
    return cumulative(up, drawing.series, rows)


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
    "cumulative": (_curve, _cumulative),
}
"""Kind of chart -> the rows of a condition, and what draws the rows of all."""
