"""The kinds of drawing, as Vega-Lite specifications made with Vega-Altair.

Each function says which columns of the table `rows` it draws.
"""

from collections.abc import Collection, Mapping
from typing import Any, Literal

import altair as alt

from assay.report.charts import style
from assay.report.charts.axes import Across, Up
from assay.report.charts.drawn import Specification
from assay.report.charts.style import Series

TO_CONDITION = "'trials.html' + (isValid(datum.condition) ? '#condition-' + datum.condition : '')"
TO_TRIAL = "'trial.html#' + datum.trial"
TO_CAMPAIGN = "isValid(datum.campaign) ? '../campaign-' + datum.campaign + '/index.html' : ''"

HEIGHT = 240  # of a chart's plane, pixels
CAP = 9  # length of the caps of an interval, pixels
ENDS = {"low": "95% from", "high": "to"}


def table(to: str, **encoding: Any) -> Any:
    """Return a chart of the rows, with what all of its layers encode."""
    return alt.Chart(alt.NamedData("rows")).transform_calculate(href=to).encode(**encoding)


def of_part(chart: Any, *parts: str) -> Any:
    """Return a chart of the rows of some parts."""
    return chart.transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=list(parts)))


def clickable(names: Mapping[str, str], numbers: Mapping[str, str]) -> dict[str, Any]:
    """Return what makes a mark lead on, and show some columns (column -> title)."""
    tooltip = [alt.Tooltip(f"{column}:N", title=title) for column, title in names.items()]
    tooltip += [alt.Tooltip(f"{column}:Q", title=title, format=".5~g") for column, title in numbers.items()]
    return {"href": "href:N", "tooltip": tooltip}


def clickable_median(series: Series, up: Up, **names: str) -> dict[str, Any]:
    """Return what makes a median lead on, and show itself with its interval."""
    ratio = {"ratio": "ratio to the baseline"}
    return clickable(
        {"series": series.title, **names}, {"value": up.what, **ENDS, **ratio, "values": "trials"}
    )


def points(base: Any, size: int, parts: Collection[str], **encoding: Any) -> list[Any]:
    """Return the medians as filled points and, where there are any, those that are not typical as hollow."""
    return [
        of_part(base, name).mark_point(filled=filled, size=size, opacity=1).encode(**encoding)
        for name, filled in (("point", True), ("hollow", False))
        if filled or name in parts
    ]


def lines(
    across: Across | Up, up: Up, series: Series, parts: Collection[str] = (), gap: float = 0
) -> Specification:
    """Draw medians with intervals over a factor, one line for each series.

    Columns: part ("point", "hollow", "boundary" or "best"), series, x (the level), at (where a numeric level
    is drawn), value, low, high, values (their number), condition, label. A line over a metric runs through
    its conditions in their order; it breaks at a hollow point, whose median is not typical. A boundary is a
    vertical rule at `at`, the best a horizontal one at `value`. `parts` are those that some chart has; `gap`
    parts named levels, a share of 1.
    """
    along = {}
    if isinstance(across, Up):
        x = {"x": across.on("x", "at")}
        along = {"order": alt.Order("condition:Q")}
    else:
        x = {"x": across.numeric_axis()} if across.numeric else across.named_axis(series, gap)
    plain = table(TO_CONDITION)
    base = plain.encode(**series.by("color"), **x)
    medians = of_part(base, "point", "hollow")
    leads_on = clickable_median(series, up, x=across.what)
    layers = [
        medians.transform_calculate(typical="datum.part == 'point' ? datum.value : null")
        .mark_line(strokeWidth=1.2, opacity=0.8)
        .encode(y=up.on("y", "typical"), **series.by("strokeDash"), **along),
        medians.mark_rule(strokeWidth=1.6).encode(y=up.on("y", "low"), y2="high:Q", **leads_on),
        *points(base, 55, parts, y=up.on("y", "value"), **series.by("shape"), **leads_on),
    ]
    if "boundary" in parts:
        boundary = of_part(plain, "boundary").encode(x=x["x"])
        layers = [
            boundary.mark_rule(strokeWidth=1, strokeDash=[1, 2], color=style.GREY),
            boundary.mark_text(angle=270, align="left", baseline="bottom", dx=4, dy=-2).encode(
                y=alt.value("height"), text="label:N"
            ),
            *layers,
        ]
    if "best" in parts:
        best = of_part(plain, "best")
        layers = [
            best.mark_rule(strokeWidth=1, strokeDash=[5, 3], color=style.GREY).encode(
                y=up.on("y", "value"), **clickable({"label": "best with 1 thread"}, {"value": up.what})
            ),
            best.mark_text(align="right", baseline="bottom", dy=-3, limit=340).encode(
                x=alt.value("width"), y=alt.value(0), text="label:N"
            ),
            *layers,
        ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)


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
    verdicts: Series,
    *,
    step: int,
    workloads: bool,
) -> Specification:
    """Draw ratios with intervals in rows, by verdict, over the band of the smallest effect.

    Columns: part ("ratio", or "workload" for one of those that a ratio sums up), row, ratio, low, high,
    series (the verdict), pairs, about, condition. `step` is the height of a row, pixels.
    """
    base = table(
        TO_CONDITION,
        y=alt.Y("row:N", title=None, sort=None).axis(labelLimit=200, grid=True, tickSize=0),
        **verdicts.by("color"),
        **clickable(
            {"row": factor, "about": "where", "series": verdicts.title},
            {"ratio": "ratio", **ENDS, "pairs": "pairs"},
        ),
    )
    whole, workload = of_part(base, "ratio"), of_part(base, "workload")
    x = {"x": ratios.on("x", "ratio", titleAnchor="end"), **verdicts.by("shape")}
    ends = [alt.X(f"{end}:Q", title=ratios.title) for end in ENDS]
    layers = [
        *_band(smallest_effect_percent, ratios.title),
        # The mark is smaller than the caps, so that an interval narrower than it is still seen.
        whole.mark_point(filled=True, size=26, opacity=1).encode(**x),
        whole.mark_rule(strokeWidth=1.5).encode(x=ends[0], x2="high:Q"),
        *(whole.mark_tick(orient="vertical", size=CAP, thickness=1.5).encode(x=end) for end in ends),
    ]
    if workloads:
        layers.append(workload.mark_point(filled=False, size=40, yOffset=9).encode(**x))
    return style.to_dict(alt.layer(*layers), {"step": step}, verdicts)


def cumulative(
    up: Up,
    series: Series,
    of: Literal["trials", "pairs", "configurations"] = "trials",
    *,
    smallest_effect_percent: float | None = None,
    marked: bool = False,
) -> Specification:
    """Draw distributions as cumulative curves: the share of all that have at most each value.

    Columns: series, value, share, trial (of a trial). Ratios lie over the band of their smallest effect. If
    `marked`, rows with `at` instead of a value mark the unperturbed system on the curve: at, share, trial,
    trials (their number).
    """
    title = f"share of {of}"
    legend = {} if of == "trials" else style.LINES  # without points, the legend has to show lines
    base = table(
        TO_TRIAL if of == "trials" else TO_CONDITION,
        y=alt.Y("share:Q", title=title).scale(domain=[0, 1]).axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
        **series.by("color", **legend),
    )
    values = base.encode(x=up.on("x", "value"))
    curve = values.transform_filter("isValid(datum.value)") if marked else values
    median = alt.Chart().mark_rule(color=style.GREY, strokeWidth=0.8, strokeDash=[1, 2])
    layers = [
        median.encode(y=alt.YDatum(0.5, title=title)),
        curve.mark_line(interpolate="step-after", strokeWidth=1.3).encode(
            **series.by("strokeDash", **legend)
        ),
    ]
    about = {"series": series.title}
    if smallest_effect_percent is not None:
        layers = [*_band(smallest_effect_percent, up.title), *layers]
    if of == "trials":
        numbers = {"value": up.what, "share": "share", "trial": "trial"}
        marks = curve.transform_filter("isValid(datum.trial)").mark_point(filled=True, size=22, opacity=0.9)
        layers.append(marks.encode(**series.by("shape"), **clickable(about, numbers)))
    if marked:
        system = base.transform_filter("isValid(datum.at)").encode(x=up.on("x", "at"))
        shapes = series.by("shape") if of == "trials" else {}
        numbers = {"at": f"{up.what}, unperturbed", "share": "share of perturbed", "trials": "trials"}
        layers += [
            system.mark_rule(strokeWidth=1, strokeDash=[3, 2]).encode(y2=alt.datum(0)),
            system.mark_point(filled=False, size=140, strokeWidth=2, opacity=1).encode(
                **shapes, **clickable(about, numbers)
            ),
        ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)


def over_time(
    up: Up,
    unit: str,
    series: Series,
    *,
    about: Mapping[str, str],
    boundary: float | None = None,
    height: int = HEIGHT,
) -> Specification:
    """Draw what trials gave over the time of the campaign, in a unit, with a rule at a boundary.

    Columns: time, value, series, trial, and those of `about`, which say more of a mark (column -> title).
    """
    marks = (
        table(TO_TRIAL)
        .mark_point(filled=True, size=20, opacity=0.75)
        .encode(
            x=alt.X("time:Q", title=f"{unit} since the first trial").axis(grid=False).scale(nice=False),
            y=up.on("y", "value"),
            **series.by("color", "shape"),
            **clickable(about, {"time": unit, "value": up.what, "trial": "trial"}),
        )
    )
    rule = alt.Chart().mark_rule(color=style.GREY, strokeDash=[5, 3])
    rules = [] if boundary is None else [rule.encode(y=alt.YDatum(boundary, title=up.title))]
    return style.to_dict(alt.layer(*rules, marks), height, series)
