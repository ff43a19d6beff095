"""Reads [[chart]]: a chart of one's own, of factors and metrics by name."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from assay.experiment.schema import ChartTable
from assay.experiment.source import Source
from assay.experiment.tables import NAME_PATTERN
from assay.experiment.types import Chart, Level
from assay.words import nearest, show

# kind -> its axes -> what each may show. Whatever is no factor is taken for a metric.
_Shows = Literal["factor", "metric", "either"]
_AXES: Mapping[str, Mapping[str, _Shows]] = {
    "lines": {"x": "either", "y": "metric"},
    "bars": {"x": "factor", "y": "metric"},
    "histogram": {"x": "metric"},
    "heat_map": {"x": "factor", "y": "factor", "value": "metric"},
    "box": {"x": "factor", "y": "metric"},
}
_TITLES = {
    "lines": "{y} over {x}",
    "bars": "{y} by {x}",
    "histogram": "distribution of {x}",
    "heat_map": "{value} by {x} and {y}",
    "box": "{y} by {x}",
}


def read_chart(
    source: Source, index: int, table: ChartTable, factors: Mapping[str, Sequence[Level]]
) -> Chart:
    """Read the chart of that number in the text.

    Raises:
        AssayError: it lacks what its kind needs, has what it cannot show, or names a factor that is none.
    """
    at = ("chart", index)
    axes = _AXES[table.kind]
    names = {"x": table.x, "y": table.y, "value": table.value}
    for axis, name in names.items():
        if name is not None and axis not in axes:
            raise source.mistake((*at, axis), f"a chart of kind {table.kind} has no {axis}; remove it")
        if axis in axes and name is None:
            raise source.mistake(at, f"{axis} is missing; a chart of kind {table.kind} needs it")
        if name is not None:
            _check_axis(source, (*at, axis), name, axes[axis], factors)
    if table.kind == "heat_map" and table.color is not None:
        why = "the colours of a heat_map show its value; remove it, or use facet"
        raise source.mistake((*at, "color"), why)
    for key, factor in (("color", table.color), *(("facet", name) for name in table.facet)):
        if factor is not None:
            source.known((*at, key), factor, factors, "factor")
    return Chart(
        kind=table.kind,
        title=table.title or _TITLES[table.kind].format(**names),
        x=table.x,
        y=table.y,
        value=table.value,
        color=table.color,
        facet=tuple(table.facet),
        filter=source.levels((*at, "filter"), table.filter, factors),
    )


def _check_axis(
    source: Source,
    at: tuple[str | int, ...],
    name: str,
    shows: _Shows,
    factors: Mapping[str, Sequence[Level]],
) -> None:
    if shows == "factor":
        source.known(at, name, factors, "factor")
    elif shows == "metric" and name in factors:
        raise source.mistake(at, f"{show(name)} is a factor; name a metric here")
    elif name not in factors and not (re.fullmatch(NAME_PATTERN, name) and len(name) <= 64):
        hint = nearest(name, list(factors))
        why = f"{show(name)} is neither a factor nor a possible name of a metric; {hint}"
        raise source.mistake(at, why)
