"""The kinds of drawing, as Vega-Lite specifications made with Vega-Altair.

Each function says which columns of the table `rows` it draws.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from assay.report.charts import alt, style
from assay.report.charts.axes import Across, Up
from assay.report.charts.drawn import Row, Specification
from assay.report.charts.style import Series

TO_TRIAL = "'trial.html#' + datum.trial"
TO_CONDITION = "'#condition-' + datum.condition"
TO_CAMPAIGN = "isValid(datum.campaign) ? '../campaign-' + datum.campaign + '/index.html' : ''"

HEIGHT = 240  # of a chart's plane, pixels
BAND_OPACITY = 0.12
ENDS = {"low": "95% from", "high": "to"}


def table(to: str = "", **encoding: Any) -> Any:
    """Return a chart of the rows, with what all of its layers encode; `to` is where its marks lead."""
    rows = alt.Chart(alt.NamedData("rows")).encode(**encoding)
    return rows.transform_calculate(href=to) if to else rows


def of_part(chart: Any, *parts: str) -> Any:
    """Return a chart of the rows of some parts."""
    return chart.transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=list(parts)))


def tooltip(names: Mapping[str, str], numbers: Mapping[str, str]) -> dict[str, Any]:
    """Return what makes a mark show some columns (column -> title)."""
    shown = [alt.Tooltip(f"{column}:N", title=title) for column, title in names.items()]
    shown += [alt.Tooltip(f"{column}:Q", title=title, format=".5~g") for column, title in numbers.items()]
    return {"tooltip": shown}


def clickable(names: Mapping[str, str], numbers: Mapping[str, str]) -> dict[str, Any]:
    """Return what makes a mark lead on, and show some columns."""
    return {"href": "href:N", **tooltip(names, numbers)}


def clickable_median(series: Series, up: Up, **names: str) -> dict[str, Any]:
    """Return what makes a median lead to its trials, and show itself with its interval."""
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
    shown = clickable_median(series, up, x=across.what)
    layers = [
        medians.transform_calculate(typical="datum.part == 'point' ? datum.value : null")
        .mark_line(strokeWidth=1.2, opacity=0.8)
        .encode(y=up.on("y", "typical"), **series.by("strokeDash"), **along),
        medians.mark_rule(strokeWidth=1.6).encode(y=up.on("y", "low"), y2="high:Q", **shown),
        *points(base, 55, parts, y=up.on("y", "value"), **series.by("shape"), **shown),
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
                y=up.on("y", "value"), **tooltip({"label": "best with 1 thread"}, {"value": up.what})
            ),
            best.mark_text(align="right", baseline="bottom", dy=-3, limit=340).encode(
                x=alt.value("width"), y=alt.value(0), text="label:N"
            ),
            *layers,
        ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)


def cumulative(
    up: Up,
    series: Series,
    rows: Sequence[Row],
    of: Literal["trials", "configurations"] = "trials",
) -> Specification:
    """Draw distributions as cumulative curves: the share of all that have at most each value.

    Columns: series, value, share, trial (of a trial), low and high (of a band around the curve). Rows with
    `at` instead of a value mark the unperturbed system on the curve: at, share, trial, trials (their number).
    """
    marked, banded = (any(column in row for row in rows) for column in ("at", "low"))
    title = f"share of {of}"
    legend = {} if of == "trials" else style.LINES  # without points, the legend has to show lines
    if banded:
        legend = {**legend, "symbolOpacity": 1}  # not that of the band
    base = table(
        TO_TRIAL if of == "trials" else "",
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
    if banded:
        band = values.transform_filter("isValid(datum.low)")
        area = band.mark_area(interpolate="step-after", opacity=BAND_OPACITY)
        layers.insert(0, area.encode(y=alt.Y("low:Q", title=title), y2="high:Q"))
    about = {"series": series.title}
    shows = clickable if of == "trials" else tooltip
    if of == "trials":
        numbers = {"value": up.what, "share": "share", **(ENDS if banded else {}), "trial": "trial"}
        marks = curve.transform_filter("isValid(datum.trial)").mark_point(filled=True, size=22, opacity=0.9)
        layers.append(marks.encode(**series.by("shape"), **shows(about, numbers)))
    if marked:
        system = base.transform_filter("isValid(datum.at)").encode(x=up.on("x", "at"))
        shapes = series.by("shape") if of == "trials" else {}
        numbers = {"at": f"{up.what}, unperturbed", "share": "share of perturbed", "trials": "trials"}
        layers += [
            system.mark_rule(strokeWidth=1, strokeDash=[3, 2]).encode(y2=alt.datum(0)),
            system.mark_point(filled=False, size=140, strokeWidth=2, opacity=1).encode(
                **shapes, **shows(about, numbers)
            ),
        ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)
