"""The trials one by one: cumulative curves, and the same trials over the time of the campaign."""

from collections.abc import Iterator, Sequence

from assay.report.charts import drawings
from assay.report.charts.drawings import Row, Up
from assay.report.charts.drawn import Figure, Table, column, measured, titled, together
from assay.report.charts.panels import Panels, since_first, steps, thinned, unit_of_time

POINTS = 300  # at most of one level over time


def distribution(panels: Panels) -> Iterator[Figure]:
    """Yield the cumulative curves of each context, and its trials over time beside them, all on one scale."""
    metric = panels.report.analysis.metric
    distributions, over_time = [], []
    for panel in panels.contexts():
        curves: list[Row] = []
        points: list[Row] = []
        every, between = 1, 0
        for condition in panel.conditions:
            values = condition.values(panels.value(metric))
            level = panels.name(panels.factor, condition.levels[panels.factor])
            curve = steps(values)
            between += max(len(values) - len(curve) + 1, 0)
            curves += [[level, *step] for step in curve]
            kept, n = thinned(values, POINTS)
            every = max(every, n)
            points += [[since_first(panels.report, trial), value, level, trial.id] for value, trial in kept]
        if points:
            note = (
                f"{between} trials between those drawn are left out; the shares count all." if between else ""
            )
            distributions.append(Table(titled(f"Distribution of {metric}", panel.shared), curves, note))
            note = f"Every {every}th trial is drawn." if every > 1 else ""
            over_time.append(Table(titled(f"{metric} over time", panel.shared), points, note))

    def up(rows: Sequence[Row]) -> Up:
        values = column(rows, 1)
        return Up.sharing(measured(panels.experiment, metric), values, log=min(values) > 0, zero=False)

    series, unit = panels.levels, unit_of_time(panels.report)
    figures = (
        together(
            "trials",
            "distribution",
            drawings.CURVE_COLUMNS,
            distributions,
            lambda rows: drawings.cumulative(up(rows), series),
        ),
        together(
            "trials",
            "over_time",
            drawings.TIME_COLUMNS,
            over_time,
            lambda rows: drawings.over_time(up(rows), unit, series),
        ),
    )
    for pair in zip(*figures, strict=True):
        yield from pair
