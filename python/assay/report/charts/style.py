"""How charts look: what tells the series of a chart apart, on a page, in a paper, and in grey."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

# Paul Tol's "bright" scheme (SRON/EPS/TN/09-002), told apart in all common kinds of colour blindness and on
# dark and light ground. Seven colours with six shapes and five dashes tell 210 series apart, also in grey.
COLORS = ["#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#999999"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
DASHES = [[1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4]]

# Of the same scheme; a state has always the same colour and shape.
VERDICTS = {
    "faster": ("#228833", "triangle-up"),
    "slower": ("#AA3377", "triangle-down"),
    "equivalent": ("#4477AA", "square"),
    "undecided": ("#999999", "circle"),
}
SIDES = {
    "fast": ("#4477AA", "circle"),
    "slow": ("#EE6677", "triangle-up"),
}

GREY = "#808080"  # for what must be seen on dark and light ground
LINES: dict[str, Any] = {"symbolType": "stroke", "symbolStrokeWidth": 1.3, "symbolSize": 300}  # in a legend

# A chart in one column of a paper: white ground, black text, in points.
PAPER: dict[str, Any] = {
    "background": "white",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "title": {"fontSize": 9, "fontWeight": "bold", "anchor": "start", "offset": 6, "color": "black"},
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 8,
        "titleFontSize": 8,
        "titleFontWeight": "normal",
        "labelColor": "black",
        "titleColor": "black",
        "gridColor": "#dddddd",
        "domainColor": "#444444",
        "tickColor": "#444444",
    },
    "legend": {
        "labelFontSize": 8,
        "titleFontSize": 8,
        "labelColor": "black",
        "titleColor": "black",
        "symbolSize": 40,
        "rowPadding": 1,
        "columnPadding": 6,
    },
    "text": {"fontSize": 7, "color": "black"},
    "rule": {"color": "#444444"},
}


@dataclass(frozen=True)
class Series:
    """What is told apart in a chart: levels of a factor.

    Attributes:
        title: the factor.
        names: the levels that are drawn.
        places: of each of them among all levels of the factor, so that a level always looks the same.
        legend: whether there is need of one; there is none where an axis names the levels.
    """

    title: str
    names: Sequence[str]
    places: Sequence[int]
    legend: bool = True

    @classmethod
    def of(cls, title: str, levels: Sequence[str], drawn: Collection[str] | None = None) -> "Series":
        """Return the series of those levels of a factor that are drawn, by default of all."""
        kept = [(name, place) for place, name in enumerate(levels) if drawn is None or name in drawn]
        return cls(title, [name for name, _ in kept], [place for _, place in kept])

    def without_legend(self) -> "Series":
        """Return the same for a chart whose axis names the levels."""
        return replace(self, legend=False)

    def color(self) -> Any:
        """Return the colours."""
        return self._scaled(alt.Color("series:N", title=None), COLORS)

    def shape(self) -> Any:
        """Return the shapes."""
        return self._scaled(alt.Shape("series:N", title=None), SHAPES)

    def dash(self) -> Any:
        """Return the dashes."""
        return self._scaled(alt.StrokeDash("series:N", title=None), DASHES)

    def _scaled(self, encoding: Any, looks: Sequence[Any]) -> Any:
        scaled = encoding.scale(domain=self.names, range=[looks[place % len(looks)] for place in self.places])
        return scaled if self.legend else scaled.legend(None)


ONE = Series("series", ["all"], [0], legend=False)
"""Where nothing is told apart."""


def states(looks: dict[str, tuple[str, str]], field: str) -> dict[str, Any]:
    """Return colour and shape of a field that names one of some states."""
    names = list(looks)
    return {
        "color": alt.Color(f"{field}:N", title=None).scale(
            domain=names, range=[of_color for of_color, _ in looks.values()]
        ),
        "shape": alt.Shape(f"{field}:N", title=None).scale(
            domain=names, range=[of_shape for _, of_shape in looks.values()]
        ),
    }


def to_dict(chart: Any, height: Any, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return a chart as a specification as wide as its place, with the legend below.

    The legend has as many columns as the names of its series leave room for.
    """
    longest = max(map(len, names), default=8)
    columns = 1 if longest > 26 else 2 if longest >= 10 else 4
    # Data of a rule or a band stays where it is drawn: the datasets of the whole are the page's.
    with alt.data_transformers.enable(consolidate_datasets=False):
        specification: dict[str, Any] = (
            chart.properties(width="container", height=height)
            .configure_legend(
                orient="bottom",
                columns=columns,
                labelLimit=360 // columns,
                titleLimit=320,
                titleFontWeight="normal",
                symbolStrokeWidth=0,  # dashes would fray symbols so small
            )
            .to_dict(validate=False)  # the tests validate every kind
        )
    specification["autosize"] = {"type": "fit-x", "contains": "padding"}
    return specification
