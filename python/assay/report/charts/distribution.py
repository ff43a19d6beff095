"""The trials one by one: cumulative curves, and the same trials over the time of the campaign."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from assay.report.charts import drawings
from assay.report.charts.drawings import Up
from assay.report.charts.drawn import Drawn, measured, titled
from assay.report.charts.panels import Panel, Panels, minutes, of_metric, steps, thinned

POINTS = 300  # at most of one level over time


def distribution(panels: Panels) -> Iterator[Drawn]:
    """Yield the cumulative curves of each context, and its trials over time beside them."""
    for panel in panels.contexts():
        yield from _of(panels, panel)


def _of(panels: Panels, panel: Panel) -> Iterator[Drawn]:
    metric = panels.report.analysis.metric
    curves: list[list[Any]] = []
    points: list[list[Any]] = []
    every, left_out = 1, 0
    for condition in panel.conditions:
        values = condition.values(of_metric(metric))
        level = panels.name(panels.factor, condition.levels[panels.factor])
        curve = steps(values)
        left_out += max(len(values) - len(curve) + 1, 0)
        curves += [[level, *step] for step in curve]
        kept, n = thinned(values, POINTS)
        every = max(every, n)
        points += [[minutes(panels.report, trial), value, level, trial.id] for value, trial in kept]
    if not points:
        return
    what = measured(panels.experiment, metric)
    log = min(row[1] for row in points) > 0
    linear = "" if log else "-linear"
    yield Drawn(
        section="trials",
        kind=f"distribution{linear}",
        title=titled(f"Distribution of {metric}", panel.shared),
        columns=("series", "value", "share", "trial"),
        rows=curves,
        specification=partial(drawings.cumulative, what, log, panels.levels),
        note=f"{left_out} trials between those drawn are left out; the shares count all." if left_out else "",
    )
    yield Drawn(
        section="trials",
        kind=f"over_time{linear}",
        title=titled(f"{metric} over time", panel.shared),
        columns=("minute", "value", "series", "trial"),
        rows=points,
        specification=partial(drawings.over_time, Up(what, log), panels.levels),
        note=f"Every {every}th trial is drawn." if every > 1 else "",
    )
