"""The trials one by one: cumulative curves, and the same trials over the time of the campaign."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from assay.report.charts import drawings
from assay.report.charts.drawings import Up
from assay.report.charts.drawn import Drawn, measured, titled
from assay.report.charts.panels import Panel, Panels, of_metric, since_first, steps, thinned, unit_of_time

POINTS = 300  # at most of one level over time


def distribution(panels: Panels) -> Iterator[Drawn]:
    """Yield the cumulative curves of each context, and its trials over time beside them, all on one scale."""
    metric = panels.report.analysis.metric
    values = [value for condition in panels.conditions for value, _ in condition.values(of_metric(metric))]
    up = Up.sharing(
        measured(panels.experiment, metric), values, log=bool(values) and min(values) > 0, zero=False
    )
    for panel in panels.contexts():
        yield from _of(panels, panel, up)


def _of(panels: Panels, panel: Panel, up: Up) -> Iterator[Drawn]:
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
        points += [[since_first(panels.report, trial), value, level, trial.id] for value, trial in kept]
    if not points:
        return
    yield Drawn(
        section="trials",
        kind="distribution",
        title=titled(f"Distribution of {metric}", panel.shared),
        columns=("series", "value", "share", "trial"),
        rows=curves,
        specification=partial(drawings.cumulative, up, panels.levels),
        note=f"{left_out} trials between those drawn are left out; the shares count all." if left_out else "",
    )
    yield Drawn(
        section="trials",
        kind="over_time",
        title=titled(f"{metric} over time", panel.shared),
        columns=drawings.TIME_COLUMNS,
        rows=points,
        specification=partial(drawings.over_time, up, unit_of_time(panels.report), panels.levels),
        note=f"Every {every}th trial is drawn." if every > 1 else "",
    )
