"""The charts of a page, as Vega-Lite specifications made with Vega-Altair.

There is one specification for each kind of chart, and one figure for each context: its rows are the chart's
data, a table `rows` that the page's script hands over when the figure comes into view. What others have
written (names of levels and factors) is in a specification only as the text of a scale or a title.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from assay.audit import condition_name
from assay.plan.types import Level
from assay.report.gather import Report

# Paul Tol's "bright" scheme (SRON/EPS/TN/09-002), told apart in all common kinds of colour blindness and on
# dark and light ground. With the shapes, 42 levels differ.
COLORS = ["#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]

CALIBRATIONS = {
    "core_to_core_ns": "One way between cores (ns)",
    "memory_ns": "Load from memory (ns)",
    "arithmetic_ns": "Step of arithmetic (ns)",
}


@dataclass(frozen=True)
class Figure:
    """One chart on the page.

    Attributes:
        section: the part of the page that it belongs to.
        kind: which specification draws it.
        title: of others' making.
        columns, rows: its data.
    """

    section: str
    kind: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def specifications(report: Report) -> dict[str, Any]:
    """Return kind of chart -> Vega-Lite specification."""
    return {
        "estimates": _estimates(report),
        "trials": _trials(report),
        **{metric: _calibration(title) for metric, title in CALIBRATIONS.items()},
    }


def figures(report: Report) -> Iterator[Figure]:
    """Yield the figures of a page, section by section."""
    yield from _estimate_figures(report)
    yield from _trial_figures(report)
    yield from _calibration_figures(report)


def by_threads(report: Report) -> bool:
    """Tell whether the compared metric can be drawn over the number of threads."""
    return "threads" in report.experiment.factors and report.analysis.factor != "threads"


def _levels(report: Report) -> list[str]:
    return [str(level) for level in report.experiment.factors[report.analysis.factor]]


def _level_scales(report: Report) -> dict[str, Any]:
    levels = _levels(report)
    repeated = range(len(levels))
    return {
        "color": alt.Color("level:N", title=None).scale(
            domain=levels, range=[COLORS[i % len(COLORS)] for i in repeated]
        ),
        "shape": alt.Shape("level:N", title=None).scale(
            domain=levels, range=[SHAPES[i % len(SHAPES)] for i in repeated]
        ),
    }


def _to_dict(chart: Any, height: Any) -> dict[str, Any]:
    specification: dict[str, Any] = chart.properties(width="container", height=height).to_dict()
    specification["autosize"] = {"type": "fit-x", "contains": "padding"}
    return specification


def _estimates(report: Report) -> dict[str, Any]:
    """Medians with intervals: over threads, one line for each level; else one row for each level."""
    scales, levels = _level_scales(report), _levels(report)
    base = alt.Chart(alt.NamedData("rows")).transform_calculate(
        href="'condition-' + datum.condition + '.html'"
    )
    tooltip = ["level:N", "median:Q", "low:Q", "high:Q", "values:Q"]
    described: dict[str, Any] = {"title": report.analysis.metric, "axis": alt.Axis(format="~s")}
    interval = base.mark_rule(strokeWidth=2)
    point = base.mark_point(filled=True, size=70, opacity=1)
    if not by_threads(report):
        common: dict[str, Any] = {
            "y": alt.Y("level:N", title=None, sort=levels).axis(labelLimit=180),
            "color": scales["color"].legend(None),
            "tooltip": tooltip,
        }
        rows = alt.layer(
            interval.encode(x=alt.X("low:Q", **described), x2="high:Q", **common),
            point.encode(
                x=alt.X("median:Q", **described), shape=scales["shape"].legend(None), href="href:N", **common
            ),
        )
        return _to_dict(rows, {"step": 30})
    common = {
        "x": alt.X("threads:N", title="threads", sort=None).axis(labelAngle=0),
        "xOffset": alt.XOffset("level:N").scale(domain=levels),
        "color": scales["color"],
    }
    lines = alt.layer(
        base.mark_line(strokeWidth=1, opacity=0.6).encode(y=alt.Y("median:Q", **described), **common),
        interval.encode(y=alt.Y("low:Q", **described), y2="high:Q", tooltip=tooltip, **common),
        point.encode(
            y=alt.Y("median:Q", **described), shape=scales["shape"], href="href:N", tooltip=tooltip, **common
        ),
    )
    return _to_dict(lines.configure_legend(orient="bottom", columns=2, labelLimit=300), 260)


def _trials(report: Report) -> dict[str, Any]:
    """Strips: every valid trial of a context, by level, from the first block above to the last below."""
    metric = report.analysis.metric
    scales = _level_scales(report)
    base = alt.Chart(alt.NamedData("rows")).transform_calculate(
        href="'condition-' + datum.condition + '.html#trial-' + datum.trial"
    )
    y = alt.Y("level:N", title=None, sort=None).axis(labelLimit=180)
    x = alt.X("value:Q", title=metric).axis(format="~s").scale(zero=False)
    points = base.mark_point(filled=True, size=40, opacity=0.7).encode(
        x=x,
        y=y,
        yOffset=alt.YOffset("block:Q").scale(domain=[-1, max(report.experiment.design.blocks.most, 1)]),
        color=scales["color"].legend(None),
        shape=scales["shape"].legend(None),
        href="href:N",
        tooltip=["level:N", "value:Q", "block:Q", "trial:Q"],
    )
    medians = base.mark_tick(thickness=3, opacity=0.8).encode(
        x=alt.X("median(value):Q"), y=y, color=scales["color"].legend(None)
    )
    return _to_dict(alt.layer(medians, points), {"step": 36})


def _calibration(title: str) -> dict[str, Any]:
    """One calibration over the campaign, before and after each trial."""
    base = alt.Chart(alt.NamedData("rows")).transform_calculate(
        href="'condition-' + datum.condition + '.html#trial-' + datum.trial"
    )
    whens = ["before", "after"]
    chart = base.mark_point(size=25, opacity=0.7).encode(
        x=alt.X("minute:Q", title="minutes since the first trial"),
        y=alt.Y("value:Q", title=title)
        .scale(type="log", nice=False, padding=8)
        .axis(tickCount=5, format="~r"),
        color=alt.Color("when:N", title=None).scale(domain=whens, range=COLORS[:2]),
        shape=alt.Shape("when:N", title=None).scale(domain=whens, range=SHAPES[:2]),
        href="href:N",
        tooltip=["minute:Q", "value:Q", "when:N", "trial:Q"],
    )
    return _to_dict(chart.configure_legend(orient="bottom"), 200)


def _estimate_figures(report: Report) -> Iterator[Figure]:
    panels: dict[str, list[list[Any]]] = defaultdict(list)
    for number, condition in enumerate(report.analysis.conditions, start=1):
        if condition.median is None:
            continue
        context = report.context(condition)
        threads = str(context.pop("threads")) if by_threads(report) else None
        ends = (condition.interval.low, condition.interval.high) if condition.interval else (None, None)
        level = str(condition.levels[report.analysis.factor])
        row = [level, threads, condition.median, *ends, condition.values, number]
        panels[_title(context)].append([_short(value) for value in row])
    columns = ["level", "threads", "median", "low", "high", "values", "condition"]
    for title, rows in panels.items():
        yield Figure("estimates", "estimates", title, columns, rows)


def _trial_figures(report: Report) -> Iterator[Figure]:
    analysis = report.analysis
    panels: dict[str, list[list[Any]]] = {
        _title(report.context(condition)): [] for condition in analysis.conditions
    }
    order = {level: place for place, level in enumerate(report.experiment.factors[analysis.factor])}
    for trial in sorted(report.trials, key=lambda trial: order[trial.levels[analysis.factor]]):
        value = trial.metrics.get(analysis.metric)
        if trial.status == "valid" and value is not None:
            context = {name: level for name, level in trial.levels.items() if name != analysis.factor}
            level = str(trial.levels[analysis.factor])
            panels[
                _title({name: context[name] for name in report.experiment.factors if name in context})
            ].append([level, _short(value), trial.block, trial.id, report.number(trial)])
    columns = ["level", "value", "block", "trial", "condition"]
    for title, rows in panels.items():
        if rows:
            yield Figure("trials", "trials", title, columns, rows)


def _calibration_figures(report: Report) -> Iterator[Figure]:
    columns = ["minute", "value", "when", "trial", "condition"]
    start = min((trial.started_at for trial in report.trials), default=report.campaign.started_at)
    for metric, title in CALIBRATIONS.items():
        rows = [
            [
                _short((trial.started_at - start).total_seconds() / 60),
                _short(values[metric]),
                when,
                trial.id,
                report.number(trial),
            ]
            for trial in report.trials
            for when, values in (("before", trial.calibration_before), ("after", trial.calibration_after))
            if metric in values
        ]
        if rows:
            yield Figure("calibrations", metric, title, columns, rows)


def _title(context: dict[str, Level]) -> str:
    return condition_name(context) if context else "all conditions"


def _short(value: Any) -> Any:
    """Return a number with six digits, which is more than a chart shows; anything else as it is."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
