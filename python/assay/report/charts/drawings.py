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

    def named_axis(self, series: Series) -> dict[str, Any]:
        """Return the axis of column `x` with the series side by side."""
        levels = [str(level) for level in self.levels]
        axis: dict[str, Any]
        slanted = sum(map(len, levels)) > LONG_NAMES
        axis = {"labelAngle": -30, "labelAlign": "right", "labelLimit": 150} if slanted else {"labelAngle": 0}
        x = alt.X("x:N", title=self.title, sort=None).scale(domain=levels).axis(grid=False, **axis)
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
        return alt.Scale(zero=zero, **shared)

    def axis(self, channel: Literal["x", "y"] = "y") -> Any:
        """Return the axis."""
        axis = alt.Axis(tickCount=5, labelOverlap="greedy", labelSeparation=4, labelExpr=_number(channel))
        return _logarithmic(axis, channel) if self.log else axis

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


def _rows(href: str | None = None) -> Any:
    base = alt.Chart(alt.NamedData("rows"))
    return base.transform_calculate(href=href) if href else base


def _tooltip(*columns: tuple[str, str]) -> list[Any]:
    number: dict[str, Any] = {"format": ".5~g"}
    return [
        alt.Tooltip(column, title=title, **(number if column.endswith(":Q") else {}))
        for column, title in columns
    ]


def _median_tooltip(series: Series, x: str | None, value: str) -> list[Any]:
    return _tooltip(
        ("series:N", series.title),
        *([] if x is None else [("x:N", x)]),
        ("value:Q", value),
        ("low:Q", "95% from"),
        ("high:Q", "to"),
        ("values:Q", "trials"),
    )


def lines(across: Across | Up, up: Up, series: Series, parts: Collection[str] = ()) -> Specification:
    """Draw medians with intervals over a factor, one line for each series.

    Columns: MEDIAN_COLUMNS, where part is "point", "hollow", "boundary" or "best", x the level, and at where
    a numeric level is drawn. A line over a metric runs through its conditions in their order; it breaks at a
    hollow point, whose median is not typical. `parts` are those that some chart has.
    A boundary is a vertical rule at `at`; the best, where there is one, a horizontal rule at `value`.
    """
    base = _rows(TO_CONDITION)
    medians = base.transform_filter("datum.part == 'point' || datum.part == 'hollow'")
    along_typical = medians.transform_calculate(typical="datum.part == 'point' ? datum.value : null")
    if isinstance(across, Up):
        x = {
            "x": alt.X("at:Q", title=across.described())
            .scale(across.scale(zero=False))
            .axis(across.axis("x"))
        }
    else:
        x = {"x": across.numeric_axis()} if across.numeric else across.named_axis(series)
    along = {"order": alt.Order("condition:Q")} if isinstance(across, Up) else {}
    color = series.color()
    y = alt.Y("value:Q", title=up.described()).scale(up.scale()).axis(up.axis())
    tooltip = _median_tooltip(series, across.title, up.title)
    dash, shape = series.dash(), series.shape()
    layers = [
        along_typical.mark_line(strokeWidth=1.2, opacity=0.8).encode(
            y=alt.Y("typical:Q", title=up.described()), color=color, strokeDash=dash, **along, **x
        ),
        medians.mark_rule(strokeWidth=1.6).encode(
            y=alt.Y("low:Q", title=up.described()), y2="high:Q", color=color, tooltip=tooltip, **x
        ),
        *_points(base, 55, parts, y=y, color=color, shape=shape, href="href:N", tooltip=tooltip, **x),
    ]
    if "boundary" in parts:
        boundary = base.transform_filter(alt.datum.part == "boundary")
        layers = [
            boundary.mark_rule(strokeWidth=1, strokeDash=[1, 2], color=style.GREY).encode(x=x["x"]),
            boundary.mark_text(angle=270, align="left", baseline="bottom", dx=4, dy=-2).encode(
                x=x["x"], y=alt.value("height"), text="label:N"
            ),
            *layers,
        ]
    if "best" in parts:
        rule = base.transform_filter(alt.datum.part == "best")
        about = _tooltip(("label:N", "best with 1 thread"), ("value:Q", up.title))
        layers = [
            rule.mark_rule(strokeWidth=1, strokeDash=[5, 3], color=style.GREY).encode(
                y=y, href="href:N", tooltip=about
            ),
            rule.mark_text(align="right", baseline="bottom", dy=-3, limit=340).encode(
                x=alt.value("width"), y=alt.value(0), text="label:N"
            ),
            *layers,
        ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series.names)


def _points(base: Any, size: int, parts: Collection[str], **encoding: Any) -> list[Any]:
    """Return the medians as filled points and, where there are any, those that are not typical as hollow."""
    filled = base.transform_filter(alt.datum.part == "point").mark_point(filled=True, size=size, opacity=1)
    if "hollow" not in parts:
        return [filled.encode(**encoding)]
    empty = base.transform_filter(alt.datum.part == "hollow").mark_point(filled=False, size=size, opacity=1)
    return [filled.encode(**encoding), empty.encode(**encoding)]


def rows(up: Up, series: Series, parts: Collection[str] = ()) -> Specification:
    """Draw medians with intervals, one row for each series. Columns and parts as those of `lines`."""
    base = _rows(TO_CONDITION)
    y = alt.Y("series:N", title=None).scale(domain=series.names).axis(labelLimit=180)
    color = series.color()
    x = alt.X("value:Q", title=up.described()).scale(up.scale()).axis(up.axis("x"))
    tooltip = _median_tooltip(series, None, up.title)
    chart = alt.layer(
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", title=up.described()), x2="high:Q", y=y, color=color, tooltip=tooltip
        ),
        *_points(
            base, 70, parts, x=x, y=y, color=color, shape=series.shape(), href="href:N", tooltip=tooltip
        ),
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
    title = ratios.described()
    base = _rows(TO_CONDITION)
    y = alt.Y("row:N", title=None, sort=None).axis(labelLimit=200, grid=True, tickSize=0)
    axis = _logarithmic(
        alt.Axis(tickCount=6, labelOverlap="greedy", labelSeparation=4, titleAnchor="end"), "x"
    )
    x = alt.X("ratio:Q", title=title).scale(ratios.scale()).axis(axis)
    occurring = {verdict: look for verdict, look in style.VERDICTS.items() if verdict in verdicts}
    looks = style.states(occurring, "verdict")
    tooltip = _tooltip(
        ("row:N", factor),
        ("about:N", "where"),
        ("verdict:N", "verdict"),
        ("ratio:Q", "ratio"),
        ("low:Q", "95% from"),
        ("high:Q", "to"),
        ("pairs:Q", "pairs"),
    )
    whole = base.transform_filter(alt.datum.part == "ratio")
    each = base.transform_filter(alt.datum.part == "workload").mark_point(filled=False, size=40, yOffset=9)
    chart = alt.layer(
        *_band(smallest_effect_percent, title),
        # The mark is smaller than the caps, so that an interval narrower than it is still seen.
        whole.mark_point(filled=True, size=26, opacity=1).encode(
            x=x, y=y, href="href:N", tooltip=tooltip, **looks
        ),
        whole.mark_rule(strokeWidth=1.5).encode(
            x=alt.X("low:Q", title=title), x2="high:Q", y=y, color=looks["color"], tooltip=tooltip
        ),
        *(
            whole.mark_tick(orient="vertical", size=CAP, thickness=1.5).encode(
                x=alt.X(f"{end}:Q", title=title), y=y, color=looks["color"]
            )
            for end in ("low", "high")
        ),
        *([each.encode(x=x, y=y, href="href:N", tooltip=tooltip, **looks)] if workloads else []),
    )
    return style.to_dict(chart, {"step": step}, list(occurring))


def cumulative(
    up: Up, series: Series, what: str = "trials", smallest_effect_percent: float | None = None
) -> Specification:
    """Draw distributions as cumulative curves: the share of trials, or of `what`, with at most each value.

    Of ratios, the band of the smallest effect is drawn with them. Columns: CURVE_COLUMNS, where trial may
    be None; of `what` other than trials it always is.
    """
    base = _rows(TO_TRIAL)
    y_title = f"share of {what}"
    x = alt.X("value:Q", title=up.described()).scale(up.scale(zero=False)).axis(up.axis("x"))
    y = alt.Y("share:Q", title=y_title).scale(domain=[0, 1]).axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    color, dash = series.color(), series.dash()
    if what != "trials" and series.legend:  # without points, the legend has to show lines
        line = {"symbolType": "stroke", "symbolStrokeWidth": 1.3, "symbolSize": 300}
        color, dash = color.legend(**line), dash.legend(**line)
    curve = base.mark_line(interpolate="step-after", strokeWidth=1.3).encode(
        x=x, y=y, color=color, strokeDash=dash
    )
    points = (
        base.transform_filter("isValid(datum.trial)")
        .mark_point(filled=True, size=22, opacity=0.9)
        .encode(
            x=x,
            y=y,
            color=color,
            shape=series.shape(),
            href="href:N",
            tooltip=_tooltip(
                ("series:N", series.title), ("value:Q", up.title), ("share:Q", "share"), ("trial:Q", "trial")
            ),
        )
    )
    median = alt.Chart().mark_rule(color=style.GREY, strokeWidth=0.8, strokeDash=[1, 2])
    median = median.encode(y=alt.YDatum(0.5, title=y_title))
    around_one = [] if smallest_effect_percent is None else _band(smallest_effect_percent, up.described())
    return style.to_dict(
        alt.layer(*around_one, median, curve, *([points] if what == "trials" else [])), HEIGHT, series.names
    )


def over_time(up: Up, unit: str, series: Series) -> Specification:
    """Draw every trial over the time of the campaign, in a unit. Columns: TIME_COLUMNS."""
    points = (
        _rows(TO_TRIAL)
        .mark_point(filled=True, size=20, opacity=0.75)
        .encode(
            x=_since_first_trial(unit),
            y=alt.Y("value:Q", title=up.described()).scale(up.scale(zero=False)).axis(up.axis()),
            color=series.color(),
            shape=series.shape(),
            href="href:N",
            tooltip=_tooltip(
                ("time:Q", unit),
                ("series:N", series.title),
                ("value:Q", up.title),
                ("trial:Q", "trial"),
            ),
        )
    )
    return style.to_dict(points, HEIGHT, series.names)


def _since_first_trial(unit: str) -> Any:
    return alt.X("time:Q", title=f"{unit} since the first trial").axis(grid=False).scale(nice=False)


def host_over_time(up: Up, unit: str, boundary: float | None) -> Specification:
    """Draw calibrations over the time of the campaign, by their side of the boundary where there is one.

    Columns: time, value, when ("before" or "after" the trial), side ("fast" or "slow", None without a
    boundary), trial.
    """
    sides = {"color": alt.value(style.COLORS[0])} if boundary is None else style.states(style.SIDES, "side")
    points = (
        _rows(TO_TRIAL)
        .mark_point(filled=True, size=18, opacity=0.75)
        .encode(
            x=_since_first_trial(unit),
            y=alt.Y("value:Q", title=up.described()).scale(up.scale()).axis(up.axis()),
            href="href:N",
            tooltip=_tooltip(
                ("time:Q", unit),
                ("value:Q", up.title),
                ("when:N", "calibration"),
                ("trial:Q", "trial"),
            ),
            **sides,
        )
    )
    layers = [points]
    if boundary is not None:
        between = alt.Chart().mark_rule(color=style.GREY, strokeDash=[5, 3])
        layers.insert(0, between.encode(y=alt.YDatum(boundary, title=up.described())))
    return style.to_dict(alt.layer(*layers), 180, list(style.SIDES))


def boxes(across: Across, up: Up, series: Series) -> Specification:
    """Draw a box from quartile to quartile with the median, and whiskers to the extremes.

    Columns: BOX_COLUMNS. A scale without a domain need not begin at 0.
    """
    base = _rows(TO_CONDITION)
    x = across.named_axis(series)
    color = series.color()
    tooltip = _tooltip(
        ("series:N", series.title),
        ("x:N", across.title),
        ("least:Q", "least"),
        ("lower:Q", "lower quartile"),
        ("median:Q", "median"),
        ("upper:Q", "upper quartile"),
        ("most:Q", "most"),
        ("values:Q", "trials"),
    )

    def y(column: str) -> Any:
        return alt.Y(f"{column}:Q", title=up.described()).scale(up.scale(zero=False)).axis(up.axis())

    layers = [
        base.mark_rule(strokeWidth=1.2).encode(y=y("least"), y2="lower:Q", color=color, **x),
        base.mark_rule(strokeWidth=1.2).encode(y=y("upper"), y2="most:Q", color=color, **x),
        base.mark_bar(fillOpacity=0.35).encode(
            y=y("lower"), y2="upper:Q", color=color, href="href:N", tooltip=tooltip, **x
        ),
        base.mark_tick(thickness=2).encode(y=y("median"), color=color, **x),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            y=y("median"),
            color=color,
            shape=series.shape(),
            href="href:N",
            tooltip=tooltip,
            **x,
        ),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series.names)


def bars(across: Across, up: Up, series: Series) -> Specification:
    """Draw medians as bars from 0, with intervals. Columns: MEDIAN_COLUMNS."""
    base = _rows(TO_CONDITION)
    x = across.named_axis(series)
    color, shape = series.color(), series.shape()
    y = alt.Y("value:Q", title=up.described()).scale(up.scale()).axis(up.axis())
    tooltip = _median_tooltip(series, across.title, up.title)
    layers = [
        base.mark_bar(fillOpacity=0.6).encode(y=y, color=color, href="href:N", tooltip=tooltip, **x),
        base.mark_rule(strokeWidth=1.6).encode(y=alt.Y("low:Q", title=up.described()), y2="high:Q", **x),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            y=y, color=color, shape=shape, href="href:N", tooltip=tooltip, **x
        ),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series.names)


def histogram(title: str, ends: tuple[float, float], most: int | None, series: Series) -> Specification:
    """Draw how many trials have a value in each bin, the series over each other. Columns: HISTOGRAM_COLUMNS.

    Args:
        ends: where the first bin begins and the last one ends.
        most: the largest number, where several charts are to share the axis.
    """
    up = alt.Scale() if most is None else alt.Scale(domain=[0, most])
    chart = (
        _rows(TO_CONDITION)
        .mark_bar(fillOpacity=0.3, strokeWidth=1.4)
        .encode(
            x=alt.X("from:Q", title=title)
            .scale(domain=list(ends), nice=False, zero=False)
            .axis(labelExpr=_number("x"), grid=False),
            x2="to:Q",
            y=alt.Y("count:Q", title="trials", stack=None).scale(up).axis(format="d", tickMinStep=1),
            y2=alt.datum(0),
            color=series.color(),
            stroke=series.color(),
            strokeDash=series.dash(),
            href="href:N",
            tooltip=_tooltip(
                ("series:N", series.title), ("from:Q", "from"), ("to:Q", "to"), ("count:Q", "trials")
            ),
        )
    )
    return style.to_dict(chart, HEIGHT, series.names)


def heat_map(across: Across, down: Across, value: Up) -> Specification:
    """Draw medians as colours, with their numbers, which are light on dark. Columns: HEAT_MAP_COLUMNS."""
    base = _rows(TO_CONDITION)
    levels = [str(level) for level in down.levels]
    x = across.named_axis(style.ONE)["x"]
    y = alt.Y("y:N", title=down.title, sort=None).scale(domain=levels).axis(grid=False, labelLimit=150)
    scale = alt.Scale(
        scheme="viridis", type="log" if value.log else "linear", domain=list(value.domain or ())
    )
    tooltip = _tooltip(("x:N", across.title), ("y:N", down.title), ("value:Q", value.title))
    low, high = value.domain or (0.0, 1.0)
    middle = (low * high) ** 0.5 if value.log else (low + high) / 2
    layers = [
        base.mark_rect(stroke=style.GREY, strokeWidth=0.5).encode(
            x=x,
            y=y,
            color=alt.Color("value:Q", title=textwrap.wrap(value.described(), LEGEND_CHARACTERS))
            .scale(scale)
            .legend(orient="bottom", direction="horizontal", format="~s", tickCount=3, gradientLength=90),
            href="href:N",
            tooltip=tooltip,
        ),
        base.mark_text(fontSize=10).encode(
            x=x,
            y=y,
            text=alt.Text("value:Q", format=".3~s"),
            color=alt.condition(alt.datum.value < middle, alt.value("#ffffff"), alt.value("#000000")),
            href="href:N",
            tooltip=tooltip,
        ),
    ]
    return style.to_dict(alt.layer(*layers), {"step": 36})
