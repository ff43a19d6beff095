"""The one way in which factors and metrics are drawn: a `Chart`, of the experiment's file or of every report.

Nothing is pooled: a mark is one condition. Each combination of the levels of the facets gets a
figure, all on the same axes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial

from assay.experiment.types import Chart
from assay.plan.types import Level
from assay.report.charts.drawn import Figure, Row, noted, titled, together
from assay.report.charts.kinds import KINDS, Drawing, of_curves
from assay.report.charts.panels import Condition, Panels, cut

TRIALS_HEADING = "Every valid trial"
HOLLOW = f"Hollow: no typical value, see its distribution under “{TRIALS_HEADING}”."

Beside = Callable[[Sequence[Condition]], tuple[list[Row], str]]


def own(panels: Panels) -> Iterator[Figure]:
    """Yield the figures of every chart that the experiment asks for.

    Each combination of the factors that a chart does not name gets figures on axes of their own.
    """
    factors = panels.experiment.factors
    for number, chart in enumerate(panels.experiment.charts, start=1):
        conditions = [
            condition
            for condition in panels.conditions
            if all(condition.levels[factor] in levels for factor, levels in chart.filter.items())
        ]
        if why := _nothing(panels, chart, conditions):
            yield Figure(f"chart-{number}", chart.heading, note=why)
            continue
        # what else varies is what a line over a metric runs along
        along = chart.kind == "lines" and chart.x not in factors
        named = {chart.x, chart.y, chart.color, *chart.facet}
        free = [name for name in factors if not along and name not in named]
        varying = [name for name in free if len({condition.levels[name] for condition in conditions}) > 1]
        note = _only(panels, chart, conditions, free)
        for group, (shared, members) in enumerate(cut(conditions, varying), start=1):
            yield from draw(panels, chart, members, f"chart-{number}-{group}", note=note, shared=shared)


def draw(
    panels: Panels,
    chart: Chart,
    conditions: Sequence[Condition],
    kind: str,
    *,
    note: str = "",
    shared: Mapping[str, Level] | None = None,
    beside: Beside = lambda _: ([], ""),
) -> list[Figure]:
    """Return a figure of a chart for each combination of the levels of the facets.

    Args:
        shared: what else the titles say.
        beside: the conditions of a figure -> what else is drawn with them, and what to say of it.
    """
    drawing = Drawing(panels, chart, conditions)
    rows_of, specification = KINDS[chart.kind]
    figures = []
    for levels, members in cut(conditions, chart.facet):
        title = titled(chart.heading, {**levels, **(shared or {})})
        rows = [row for condition in members for row in rows_of(drawing, condition)]
        if not rows:
            why = f"No valid trial of these conditions reports {' and '.join(_metrics(panels, chart))}."
            figures.append(Figure(kind, title, note=why))
            continue
        more, about = beside(members)
        hollow = HOLLOW if chart.kind == "lines" and any(row["part"] == "hollow" for row in rows) else ""
        curves = of_curves(rows, chart.x, members) if chart.kind == "cumulative" else ""
        figures.append(Figure(kind, title, [*more, *rows], noted(note, about, hollow, curves)))
    return together(figures, partial(specification, drawing))


def _metrics(panels: Panels, chart: Chart) -> list[str]:
    return [name for name in (chart.x, chart.y) if name and name not in panels.experiment.factors]


def _nothing(panels: Panels, chart: Chart, conditions: Sequence[Condition]) -> str:
    """Return why there is nothing to draw, or nothing."""
    if not conditions:
        return "The filter leaves no condition."
    if not any(condition.trials for condition in conditions):
        return "There is no valid trial yet."
    for metric in _metrics(panels, chart):
        if metric not in panels.reported:
            near = get_close_matches(metric, panels.reported, n=1)
            return f"No valid trial reports {metric}." + (f" Is {near[0]} meant?" if near else "")
    return ""


def _only(panels: Panels, chart: Chart, conditions: Sequence[Condition], free: Collection[str]) -> str:
    """Return the levels that the filter leaves, and the level of each factor that is not seen."""
    parts = []
    for factor, names in panels.names.items():
        levels = dict.fromkeys(condition.levels[factor] for condition in conditions)
        if factor in chart.filter or (factor in free and len(levels) == 1):
            parts.append(f"{factor}={' or '.join(names[level] for level in levels)}")
    return f"Only {', '.join(parts)}." if parts else ""
