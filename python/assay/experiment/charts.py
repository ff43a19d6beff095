"""Checks [[chart]]: a chart of one's own, of factors and metrics by name."""

import re
from collections.abc import Mapping, Sequence

from assay.experiment.source import Source
from assay.experiment.tables import NAME_PATTERN
from assay.experiment.types import AXES, Chart, Level
from assay.words import nearest, show


def read_chart(source: Source, index: int, chart: Chart, factors: Mapping[str, Sequence[Level]]) -> Chart:
    """Return the chart of that number in the text with the levels that its filter names.

    Raises:
        AssayError: an axis cannot show what it names, or a factor or level is unknown.
    """
    at = ("chart", index)
    for axis, shows in AXES[chart.kind].items():
        _check_axis(source, (*at, axis), str(getattr(chart, axis)), shows, factors)
    for key, factor in (("color", chart.color), *(("facet", name) for name in chart.facet)):
        if factor is not None:
            source.known((*at, key), factor, factors, "factor")
    levels = source.levels((*at, "filter"), chart.filter, factors)
    return chart.model_copy(update={"filter": levels})


def _check_axis(
    source: Source,
    at: tuple[str | int, ...],
    name: str,
    shows: str,
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
