"""The kinds of drawing, as Vega-Lite specifications made with Vega-Altair.

Each function says which columns of the table `rows` it draws. What others have written (names of levels,
factors and metrics) is in a specification only as the text of a scale or a title, never in an expression.
"""

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from assay.plan.types import Level
from assay.report.charts import style
from assay.report.charts.style import Series

Row = list[Any]
Specification = dict[str, Any]

TO_CONDITION = "'trials.html' + (isValid(datum.condition) ? '#condition-' + datum.condition : '')"
TO_TRIAL = "'trial.html#' + datum.trial"

LEAST, MOST = 1e-150, 1e150
"""Numbers of other sizes are not drawn: ratios and squares of those between them are numbers, too."""
SAME = 1e-7  # relative distance of numbers that a chart shows in one place

HEIGHT = 240  # of a chart's plane, pixels
MEDIAN_COLUMNS = ("part", "series", "x", "at", "value", "low", "high", "values", "condition", "label")
HISTOGRAM_COLUMNS = ("series", "from", "to", "count", "condition")
HEAT_MAP_COLUMNS = ("x", "y", "value", "condition")
BOX_COLUMNS = ("x", "series", "least", "lower", "median", "upper", "most", "values", "condition")
CURVE_COLUMNS = ("series", "value", "share", "trial")
TIME_COLUMNS = ("time", "value", "series", "trial")
GAP = 0.3  # between the bars or boxes of two levels, a share of their distance
CAP = 9  # length of the caps of an interval, pixels
LEGEND_CHARACTERS = 24  # in a line of a title that must fit below a narrow plane
LONG_NAMES = 44  # characters of all names on an axis, beyond which they are slanted


def drawable(value: Any) -> bool:
    """Tell whether axes can show a value, if it is a number; a chart's drawing computes with doubles."""
    return not isinstance(value, int | float) or value == 0 or LEAST <= abs(value) <= MOST


def same(low: float, high: float) -> bool:
    """Tell whether two numbers are too near to each other to be told apart in a chart."""
    return high - low <= SAME * max(abs(low), abs(high))


@dataclass(frozen=True)
class Across:
    """The horizontal axis of a factor.

    Attributes:
        title: the factor.
        levels: those that are drawn, in order.
        aside: whether series stand side by side; they need not where they are the levels themselves.
    """

    title: str
    levels: Sequence[Level]
    aside: bool = True

    @property
    def numeric(self) -> bool:
        """Whether the levels are numbers that differ, so that their distances mean something."""
        return (
            all(isinstance(level, int | float) and not isinstance(level, bool) for level in self.levels)
            and all(map(drawable, self.levels))
            and not same(min(map(float, self.levels)), max(map(float, self.levels)))
        )

    @property
    def logarithmic(self) -> bool:
        """Whether the levels double rather than step."""
        numbers = [float(level) for level in self.levels] if self.numeric else [0.0]
        return min(numbers) > 0 and max(numbers) >= 8 * min(numbers)

    def domain(self) -> tuple[float, float]:
        """Return where a numeric axis begins and ends, a little beyond its levels."""
        low, high = min(map(float, self.levels)), max(map(float, self.levels))
        if self.logarithmic:
            room = (high / low) ** 0.07
            return low / room, high * room
        room = 0.07 * (high - low)
        return low - room, high + room

    def at(self, level: Level, place: int, of: int) -> float | None:
        """Return where a numeric level is drawn for one of several series, moved aside so that none hides."""
        if not self.numeric:
            return None
        low, high = self.domain()
        aside = (place - (of - 1) / 2) * min(0.012, 0.06 / of) * self.aside
        if self.logarithmic:
            return float(float(level) * (high / low) ** aside)
        return float(level) + (high - low) * aside

    def numeric_axis(self) -> Any:
        """Return the axis of column `at`."""
        scale = {"type": "log", "base": 2} if self.logarithmic else {"type": "linear"}
        return (
            alt.X("at:Q", title=self.title)
            .scale(domain=list(self.domain()), nice=False, zero=False, **scale)
            .axis(values=[float(level) for level in self.levels], format="~r", grid=False)
        )

    def named_axis(self, series: Series, gap: float = 0) -> dict[str, Any]:
        """Return the axis of column `x`, the series side by side; `gap` parts its levels, a share of 1."""
        levels = [str(level) for level in self.levels]
        axis: dict[str, Any]
        slanted = sum(map(len, levels)) > LONG_NAMES
        axis = {"labelAngle": -30, "labelAlign": "right", "labelLimit": 150} if slanted else {"labelAngle": 0}
        x = (
            alt.X("x:N", title=self.title, sort=None)
            .scale(domain=levels, padding=gap or alt.Undefined)
            .axis(grid=False, **axis)
        )
        if not self.aside or len(series.names) < 2:
            return {"x": x}
        beside = alt.XOffset("series:N").scale(domain=series.names, paddingInner=0.15)
        return {"x": x, "xOffset": beside}


@dataclass(frozen=True)
class Up:
    """The vertical axis of a number.

    Attributes:
        title: what it is, with its unit.
        log: whether equal distances are equal ratios.
        domain: where several charts are to share it.
    """

    title: str
    log: bool = False
    domain: tuple[float, float] | None = None

    def scale(self, zero: bool = True) -> Any:
        """Return the scale; a linear one begins at 0 unless told otherwise."""
        shared: dict[str, Any] = {} if self.domain is None else {"domain": list(self.domain)}
        if self.log:
            return alt.Scale(type="log", nice=False, padding=16, **shared)
        return alt.Scale(zero=zero, nice=True, **shared)

    def axis(self, channel: Literal["x", "y"] = "y") -> Any:
        """Return the axis."""
        axis = alt.Axis(tickCount=5, labelOverlap="greedy", labelSeparation=4, labelExpr=_number(channel))
        return _logarithmic(axis, channel) if self.log else axis

    def on(self, channel: Literal["x", "y"], column: str, *, zero: bool = True) -> Any:
        """Return a column along this axis; a linear one without a domain begins at 0 if `zero`."""
        along = {"x": alt.X, "y": alt.Y}[channel](f"{column}:Q", title=self.described())
        return along.scale(self.scale(zero)).axis(self.axis(channel))

    def described(self) -> str:
        """Return the title, which says so where the scale is not linear."""
        return f"{self.title}, log scale" if self.log else self.title

    @classmethod
    def sharing(cls, title: str, values: Sequence[float], *, log: bool, zero: bool = True) -> "Up":
        """Return the axis that all charts of these values share; a linear one begins at 0 if `zero`."""
        if not values:
            return cls(title, log)
        low, high = min(values), max(values)
        if log:
            ratio = 1.1 if same(low, high) else (high / low) ** 0.05
            return cls(title, log, (low / ratio, high * ratio))
        room = 0.05 * (abs(high) if same(low, high) else high - low) or 1.0
        begin = 0 if zero and low >= 0 else low - room
        return cls(title, log, (begin, 0 if zero and high < 0 else high + room))


def _number(channel: Literal["x", "y"]) -> str:
    """Return what labels a tick: four digits, or as many as tell the ticks of a narrow axis apart."""
    ends = f"domain('{channel}')"
    span = f"abs({ends}[1] - {ends}[0])"
    needed = f"ceil(log(max(abs({ends}[0]), abs({ends}[1])) / {span}) / LN10) + 2"
    digits = f"({span} > 0 ? clamp({needed}, 4, 12) : 4)"
    # 0.5 rather than 500m
    return f"format(datum.value, '.' + {digits} + (abs(datum.value) < 1 ? '~g' : '~s'))"


def _logarithmic(axis: Any, channel: Literal["x", "y"]) -> Any:
    """Return a logarithmic axis with every tick labelled, at 1, 2 and 5 over a decade, at 1 over three.

    By itself Vega would label some ticks above a power of ten and none below.
    """
    span = f"domain('{channel}')[1] / domain('{channel}')[0]"
    first = "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))"
    shown = f"{span} < 8 || {first} == 1 || ({span} < 1000 && ({first} == 2 || {first} == 5))"
    axis["labelExpr"] = f"{shown} ? {_number(channel)} : ''"
    axis["gridOpacity"] = 0.5
    if channel == "x":
        axis["labelBound"] = True  # else one at the edge would be cut
    return axis


def _rows(to: str, **encoding: Any) -> Any:
    """Return a chart of the rows, with what all of its layers encode."""
    return alt.Chart(alt.NamedData("rows")).transform_calculate(href=to).encode(**encoding)


def _part(chart: Any, *parts: str) -> Any:
    """Return a chart of the rows of some parts."""
    return chart.transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=list(parts)))


def _clickable(*columns: tuple[str, str]) -> dict[str, Any]:
    """Return what makes a mark lead on, and show some columns under their titles."""
    number: dict[str, Any] = {"format": ".5~g"}
    tooltip = [
        alt.Tooltip(column, title=title, **(number if column.endswith(":Q") else {}))
        for column, title in columns
    ]
    return {"href": "href:N", "tooltip": tooltip}


def _clickable_median(series: Series, up: Up, *x: tuple[str, str]) -> dict[str, Any]:
    ends = (("low:Q", "95% from"), ("high:Q", "to"), ("values:Q", "trials"))
    return _clickable(("series:N", series.title), *x, ("value:Q", up.title), *ends)


def _points(base: Any, size: int, parts: Collection[str], **encoding: Any) -> list[Any]:
    """Return the medians as filled points and, where there are any, those that are not typical as hollow."""
    return [
        _part(base, part).mark_point(filled=filled, size=size, opacity=1).encode(**encoding)
        for part, filled in (("point", True), ("hollow", False))
        if filled or part in parts
    ]


def lines(across: Across | Up, up: Up, series: Series, parts: Collection[str] = ()) -> Specification:
    """Draw medians with intervals over a factor, one line for each series.

    Columns: MEDIAN_COLUMNS, where part is "point", "hollow", "boundary" or "best", x the level, and at where
    a numeric level is drawn. A line over a metric runs through its conditions in their order; it breaks at a
    hollow point, whose median is not typical. `parts` are those that some chart has.
    A boundary is a vertical rule at `at`; the best, where there is one, a horizontal rule at `value`.
    """
    along = {}
    if isinstance(across, Up):
        x = {"x": across.on("x", "at", zero=False)}
        along = {"order": alt.Order("condition:Q")}
    else:
        x = {"x": across.numeric_axis()} if across.numeric else across.named_axis(series)
    plain = _rows(TO_CONDITION)
    base = plain.encode(color=series.color(), **x)
    medians = _part(base, "point", "hollow")
    clickable = _clickable_median(series, up, ("x:N", across.title))
    layers = [
        medians.transform_calculate(typical="datum.part == 'point' ? datum.value : null")
        .mark_line(strokeWidth=1.2, opacity=0.8)
        .encode(y=up.on("y", "typical"), strokeDash=series.dash(), **along),
        medians.mark_rule(strokeWidth=1.6).encode(y=up.on("y", "low"), y2="high:Q", **clickable),
        *_points(base, 55, parts, y=up.on("y", "value"), shape=series.shape(), **clickable),
    ]
    if "boundary" in parts:
        boundary = _part(plain, "boundary").encode(x=x["x"])
        layers = [
            boundary.mark_rule(strokeWidth=1, strokeDash=[1, 2], color=style.GREY),
            boundary.mark_text(angle=270, align="left", baseline="bottom", dx=4, dy=-2).encode(
                y=alt.value("height"), text="label:N"
            ),
            *layers,
        ]
    if "best" in parts:
        best = _part(plain, "best")
        layers = [
            best.mark_rule(strokeWidth=1, strokeDash=[5, 3], color=style.GREY).encode(
                y=up.on("y", "value"), **_clickable(("label:N", "best with 1 thread"), ("value:Q", up.title))
            ),
            best.mark_text(align="right", baseline="bottom", dy=-3, limit=340).encode(
                x=alt.value("width"), y=alt.value(0), text="label:N"
            ),
            *layers,
        ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series.names)


def rows(up: Up, series: Series, parts: Collection[str] = ()) -> Specification:
    """Draw medians with intervals, one row for each series. Columns and parts as those of `lines`."""
    y = alt.Y("series:N", title=None).scale(domain=series.names).axis(labelLimit=180)
    base = _rows(TO_CONDITION, y=y, color=series.color(), **_clickable_median(series, up))
    chart = alt.layer(
        base.mark_rule(strokeWidth=2).encode(x=up.on("x", "low"), x2="high:Q"),
        *_points(base, 70, parts, x=up.on("x", "value"), shape=series.shape()),
    )
    return style.to_dict(chart, {"step": 30})


def _band(smallest_effect_percent: float, title: str) -> list[Any]:
    """Return the band of ratios within the smallest effect, with a rule at 1."""
    largest = 1 + smallest_effect_percent / 100
    return [
        alt.Chart()
        .mark_rect(color=style.GREY, opacity=0.25)
        .encode(x=alt.XDatum(1 / largest, title=title), x2=alt.datum(largest)),
        alt.Chart().mark_rule(color=style.GREY, strokeWidth=1).encode(x=alt.XDatum(1, title=title)),
    ]


def forest(
    ratios: Up,
    smallest_effect_percent: float,
    factor: str,
    step: int,
    verdicts: Collection[str],
    *,
    workloads: bool,
) -> Specification:
    """Draw ratios with intervals in rows, by verdict, over the band of the smallest effect.

    Columns: part ("ratio", or "workload" for one of those that a ratio sums up), row, ratio, low, high,
    verdict, pairs, about, condition. `step` is the height of a row, pixels; `verdicts` are those that occur.
    """
    occurring = {verdict: look for verdict, look in style.VERDICTS.items() if verdict in verdicts}
    looks = style.states(occurring, "verdict")
    axis = _logarithmic(
        alt.Axis(tickCount=6, labelOverlap="greedy", labelSeparation=4, titleAnchor="end"), "x"
    )
    x = alt.X("ratio:Q", title=ratios.described()).scale(ratios.scale()).axis(axis)
    base = _rows(
        TO_CONDITION,
        y=alt.Y("row:N", title=None, sort=None).axis(labelLimit=200, grid=True, tickSize=0),
        color=looks["color"],
        **_clickable(
            ("row:N", factor),
            ("about:N", "where"),
            ("verdict:N", "verdict"),
            ("ratio:Q", "ratio"),
            ("low:Q", "95% from"),
            ("high:Q", "to"),
            ("pairs:Q", "pairs"),
        ),
    )
    whole, workload = _part(base, "ratio"), _part(base, "workload")
    ends = [alt.X(f"{end}:Q", title=ratios.described()) for end in ("low", "high")]
    layers = [
        *_band(smallest_effect_percent, ratios.described()),
        # The mark is smaller than the caps, so that an interval narrower than it is still seen.
        whole.mark_point(filled=True, size=26, opacity=1).encode(x=x, shape=looks["shape"]),
        whole.mark_rule(strokeWidth=1.5).encode(x=ends[0], x2="high:Q"),
        *(whole.mark_tick(orient="vertical", size=CAP, thickness=1.5).encode(x=end) for end in ends),
    ]
    if workloads:
        layers.append(workload.mark_point(filled=False, size=40, yOffset=9).encode(x=x, shape=looks["shape"]))
    return style.to_dict(alt.layer(*layers), {"step": step}, list(occurring))


def cumulative(
    up: Up, series: Series, what: str = "trials", smallest_effect_percent: float | None = None
) -> Specification:
    """Draw distributions as cumulative curves: the share of trials, or of `what`, with at most each value.

    Of ratios, the band of the smallest effect is drawn with them. Columns: CURVE_COLUMNS, where trial may
    be None; of `what` other than trials it always is.
    """
    title = f"share of {what}"
    color, dash = series.color(), series.dash()
    if what != "trials" and series.legend:  # without points, the legend has to show lines
        color, dash = color.legend(**style.LINES), dash.legend(**style.LINES)
    base = _rows(
        TO_TRIAL,
        x=up.on("x", "value", zero=False),
        y=alt.Y("share:Q", title=title).scale(domain=[0, 1]).axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
        color=color,
    )
    median = alt.Chart().mark_rule(color=style.GREY, strokeWidth=0.8, strokeDash=[1, 2])
    layers = [
        median.encode(y=alt.YDatum(0.5, title=title)),
        base.mark_line(interpolate="step-after", strokeWidth=1.3).encode(strokeDash=dash),
    ]
    if smallest_effect_percent is not None:
        layers = [*_band(smallest_effect_percent, up.described()), *layers]
    if what == "trials":
        points = base.transform_filter("isValid(datum.trial)").mark_point(filled=True, size=22, opacity=0.9)
        columns = (
            ("series:N", series.title),
            ("value:Q", up.title),
            ("share:Q", "share"),
            ("trial:Q", "trial"),
        )
        layers.append(points.encode(shape=series.shape(), **_clickable(*columns)))
    return style.to_dict(alt.layer(*layers), HEIGHT, series.names)


def _over_time(up: Up, unit: str, told: tuple[str, str], size: int, **looks: Any) -> Any:
    """Return points over the time of the campaign, in a unit; `told` is a column that tells more of each."""
    return (
        _rows(TO_TRIAL)
        .mark_point(filled=True, size=size, opacity=0.75)
        .encode(
            x=alt.X("time:Q", title=f"{unit} since the first trial").axis(grid=False).scale(nice=False),
            y=up.on("y", "value", zero=False),
            **_clickable(("time:Q", unit), told, ("value:Q", up.title), ("trial:Q", "trial")),
            **looks,
        )
    )


def over_time(up: Up, unit: str, series: Series) -> Specification:
    """Draw every trial over the time of the campaign, in a unit. Columns: TIME_COLUMNS."""
    looks = {"color": series.color(), "shape": series.shape()}
    points = _over_time(up, unit, ("series:N", series.title), 20, **looks)
    return style.to_dict(points, HEIGHT, series.names)


def host_over_time(up: Up, unit: str, boundary: float | None) -> Specification:
    """Draw calibrations over the time of the campaign, by their side of the boundary where there is one.

    Columns: time, value, when ("before" or "after" the trial), side ("fast" or "slow", None without a
    boundary), trial.
    """
    sides = {"color": alt.value(style.COLORS[0])} if boundary is None else style.states(style.SIDES, "side")
    layers = [_over_time(up, unit, ("when:N", "calibration"), 18, **sides)]
    if boundary is not None:
        between = alt.Chart().mark_rule(color=style.GREY, strokeDash=[5, 3])
        layers.insert(0, between.encode(y=alt.YDatum(boundary, title=up.described())))
    return style.to_dict(alt.layer(*layers), 180, list(style.SIDES))


def boxes(across: Across, up: Up, series: Series) -> Specification:
    """Draw a box from quartile to quartile with the median, and whiskers to the extremes.

    Columns: BOX_COLUMNS. A scale without a domain need not begin at 0.
    """
    named = {"least": "least", "lower": "lower quartile", "median": "median"}
    named |= {"upper": "upper quartile", "most": "most", "values": "trials"}
    columns = [(f"{column}:Q", title) for column, title in named.items()]
    base = _rows(
        TO_CONDITION,
        color=series.color(),
        **across.named_axis(series, GAP),
        **_clickable(("series:N", series.title), ("x:N", across.title), *columns),
    )
    least, lower, median, upper = (up.on("y", column, zero=False) for column in BOX_COLUMNS[2:6])
    layers = [
        base.mark_rule(strokeWidth=1.2).encode(y=least, y2="lower:Q"),
        base.mark_rule(strokeWidth=1.2).encode(y=upper, y2="most:Q"),
        base.mark_bar(fillOpacity=0.35).encode(y=lower, y2="upper:Q"),
        base.mark_tick(thickness=2).encode(y=median),
        base.mark_point(filled=True, size=45, opacity=1).encode(y=median, shape=series.shape()),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series.names)


def bars(across: Across, up: Up, series: Series) -> Specification:
    """Draw medians as bars from 0, with intervals. Columns: MEDIAN_COLUMNS."""
    clickable = _clickable_median(series, up, ("x:N", across.title))
    base = _rows(TO_CONDITION, **across.named_axis(series, GAP), **clickable)
    colored = base.encode(y=up.on("y", "value"), color=series.color())
    layers = [
        colored.mark_bar(fillOpacity=0.6),
        base.mark_rule(strokeWidth=1.6).encode(y=up.on("y", "low"), y2="high:Q"),
        colored.mark_point(filled=True, size=45, opacity=1).encode(shape=series.shape()),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series.names)


def histogram(title: str, ends: tuple[float, float], most: int, series: Series) -> Specification:
    """Draw how many trials have a value in each bin, the series over each other. Columns: HISTOGRAM_COLUMNS.

    Args:
        ends: where the first bin begins and the last one ends.
        most: the largest number.
    """
    x = alt.X("from:Q", title=title).scale(domain=list(ends), nice=False, zero=False)
    y = alt.Y("count:Q", title="trials", stack=None).scale(domain=[0, most])
    columns = ("series:N", series.title), ("from:Q", "from"), ("to:Q", "to"), ("count:Q", "trials")
    chart = _rows(
        TO_CONDITION,
        x=x.axis(labelExpr=_number("x"), grid=False),
        x2="to:Q",
        y=y.axis(format="d", tickMinStep=1),
        y2=alt.datum(0),
        color=series.color(),
        stroke=series.color(),
        strokeDash=series.dash(),
        **_clickable(*columns),
    ).mark_bar(fillOpacity=0.3, strokeWidth=1.4)
    return style.to_dict(chart, HEIGHT, series.names)


def heat_map(across: Across, down: Across, value: Up) -> Specification:
    """Draw medians as colours, with their numbers, which are light on dark. Columns: HEAT_MAP_COLUMNS."""
    y = alt.Y("y:N", title=down.title, sort=None).scale(domain=[str(level) for level in down.levels])
    base = _rows(
        TO_CONDITION,
        x=across.named_axis(style.ONE)["x"],
        y=y.axis(grid=False, labelLimit=150),
        **_clickable(("x:N", across.title), ("y:N", down.title), ("value:Q", value.title)),
    )
    low, high = value.domain or (0.0, 1.0)
    middle = (low * high) ** 0.5 if value.log else (low + high) / 2
    color = alt.Color("value:Q", title=textwrap.wrap(value.described(), LEGEND_CHARACTERS))
    scale = alt.Scale(
        scheme="viridis", type="log" if value.log else "linear", domain=list(value.domain or ())
    )
    legend = alt.Legend(orient="bottom", direction="horizontal", format="~s", tickCount=3, gradientLength=90)
    layers = [
        base.mark_rect(stroke=style.GREY, strokeWidth=0.5).encode(color=color.scale(scale).legend(legend)),
        base.mark_text(fontSize=10).encode(
            text=alt.Text("value:Q", format=".3~s"),
            color=alt.condition(alt.datum.value < middle, alt.value("#ffffff"), alt.value("#000000")),
        ),
    ]
    return style.to_dict(alt.layer(*layers), {"step": 36})
