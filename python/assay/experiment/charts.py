"""Checks [[chart]]: a chart of one's own, of factors and metrics by name."""

import re

from assay.experiment.factors import LevelsByName, levels_of
from assay.experiment.mistakes import MistakeError, check_known
from assay.experiment.tables import NAME_PATTERN
from assay.experiment.types import AXES, Chart
from assay.words import nearest, show

_MOST_FACETS = 2  # charts that every report has take as many as there are factors


def read_chart(index: int, chart: Chart, factors: LevelsByName) -> Chart:
    """Return the chart of that number in the text with the levels that its filter names.

    Raises:
        MistakeError: an axis cannot show what it names, or a factor or level is unknown.
    """
    at = ("chart", index)
    for axis, shows in AXES[chart.kind].items():
        _check_axis((*at, axis), str(getattr(chart, axis)), shows, factors)
    if len(chart.facet) > _MOST_FACETS:
        raise MistakeError((*at, "facet"), f"has more than {_MOST_FACETS} factors; remove some")
    twice = [factor for factor in chart.facet if chart.facet.count(factor) > 1]
    if twice:
        raise MistakeError((*at, "facet"), f"{twice[0]} is named twice; remove it once")
    for key, factor in (("color", chart.color), *(("facet", name) for name in chart.facet)):
        if factor is not None:
            check_known((*at, key), factor, factors, "factor")
    levels = levels_of((*at, "filter"), chart.filter, factors)
    return chart.altered(filter=levels)


def _check_axis(
    at: tuple[str | int, ...],
    name: str,
    shows: str,
    factors: LevelsByName,
) -> None:
    if shows == "factor":
        check_known(at, name, factors, "factor")
    elif shows == "metric" and name in factors:
        raise MistakeError(at, f"{show(name)} is a factor; name a metric here")
    elif name not in factors and not (re.fullmatch(NAME_PATTERN, name) and len(name) <= 64):
        hint = nearest(name, list(factors))
        why = f"{show(name)} is neither a factor nor a possible name of a metric; {hint}"
        raise MistakeError(at, why)
