"""How charts look: what tells the series of a chart apart, on a page, in a paper, and in grey."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.report.charts import alt

# The first six are Paul Tol's "bright" scheme (SRON/EPS/TN/09-002), told apart in all common kinds of colour
# blindness and on dark and light ground; the others are told apart from those by shape and dash as well.
COLORS = [
    *("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377"),
    *("#EE7733", "#44AA99", "#8866DD", "#997755", "#EE99CC", "#999999"),
]
SHAPES = [
    *(
        "circle",
        "square",
        "triangle-up",
        "diamond",
        "cross",
        "triangle-down",
        "triangle-right",
        "triangle-left",
    ),
    "M-.5,-1L.5,-1L1,-.5L1,.5L.5,1L-.5,1L-1,.5L-1,-.5Z",  # an octagon
    "M0,-1L.25,-.3L1,-.3L.4,.15L.6,.9L0,.45L-.6,.9L-.4,.15L-1,-.3L-.25,-.3Z",  # a star
    "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z",  # an x
    "M-1,-.35L1,-.35L1,.35L-1,.35Z",  # a bar
]
DASHES = [
    *([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3]),
    *([1, 3], [8, 2, 2, 2, 2, 2], [5, 1], [12, 2, 4, 2], [3, 1, 1, 1], [6, 4, 1, 4]),
]
MOST = len(COLORS)
"""Series that a chart tells apart in one plane; more get a small plane each."""
ACROSS = 4  # small planes side by side
SMALL = 70  # height of a small plane, pixels

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
    """What is told apart in a chart, by the column `series`: levels of a factor, or states.

    Attributes:
        title: the factor.
        places: name of each that is drawn -> its place among all, so that it always looks the same.
        colors, shapes: of all.
        legend: whether there is need of one; there is none where an axis names the series.
    """

    title: str
    places: Mapping[str, int]
    colors: Sequence[str]
    shapes: Sequence[str]
    legend: bool

    @classmethod
    def of(
        cls,
        title: str,
        names: Iterable[str],
        colors: Sequence[str] = COLORS,
        shapes: Sequence[str] = SHAPES,
        *,
        legend: bool = True,
    ) -> "Series":
        """Return the series of some names."""
        return cls(title, {name: place for place, name in enumerate(names)}, colors, shapes, legend)

    def only(self, drawn: Collection[str]) -> "Series":
        """Return those that are drawn, as they look among all."""
        places = {name: place for name, place in self.places.items() if name in drawn}
        return replace(self, places=places)

    @property
    def names(self) -> list[str]:
        """Return the names in order."""
        return list(self.places)

    @property
    def apart(self) -> bool:
        """Whether they are too many for one plane, and each is drawn in a small plane of its own."""
        return len(self.places) > MOST

    def by(self, *channels: str, **legend: Any) -> dict[str, Any]:
        """Return what tells the series apart by color, stroke, shape or strokeDash, with such a legend."""
        if self.apart:  # by their planes
            return {
                channel: {"color": alt.Color, "stroke": alt.Stroke}[channel](value=self.colors[0])
                for channel in channels
                if channel in ("color", "stroke")
            }
        looks = {
            "color": (alt.Color, self.colors),
            "stroke": (alt.Stroke, self.colors),
            "shape": (alt.Shape, self.shapes),
            "strokeDash": (alt.StrokeDash, DASHES),
        }
        shown = {"title": self.title, **legend} if self.legend else None
        # As among all, unless there are more than there are looks.
        beyond = max(self.places.values(), default=0) >= MOST
        places = range(len(self.places)) if beyond else self.places.values()
        encodings = {}
        for channel in channels:
            encoding, every = looks[channel]
            drawn = [every[place % len(every)] for place in places]
            scaled = encoding("series:N", title=None, legend=shown)
            encodings[channel] = scaled.scale(domain=self.names, range=drawn)
        return encodings


ONE = Series.of("series", ["all"], legend=False)
"""Where nothing is told apart."""

# From the same scheme as COLORS.
VERDICTS = Series.of(
    "verdict",
    ("faster", "slower", "equivalent", "undecided"),
    colors=["#228833", "#AA3377", "#4477AA", "#999999"],
    shapes=["triangle-up", "triangle-down", "square", "circle"],
)
SIDES = Series.of(
    "host's mode", ("fast", "slow"), colors=["#4477AA", "#EE6677"], shapes=["circle", "triangle-up"]
)


def to_dict(chart: Any, height: Any, series: Series = ONE) -> dict[str, Any]:
    """Return a chart as a specification as wide as its place, with the legend below.

    The legend has as many columns as the names of its series leave room for. Series that are apart get a
    small plane each, whose width is the page's to choose.
    """
    longest = max(map(len, series.names), default=8)
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
    specification = _readable(specification)
    if series.apart:
        return _in_small_planes(specification, series)
    specification["autosize"] = {"type": "fit-x", "contains": "padding"}
    return specification


def _in_small_planes(specification: dict[str, Any], series: Series) -> dict[str, Any]:
    """Return a chart with a plane for each series, all on the same axes, which the heading names once."""
    outside: dict[str, Any] = {
        name: specification.pop(name) for name in ("$schema", "config") if name in specification
    }
    titles: dict[str, str] = {}
    plane = _untitled(specification, titles)
    ways = {"x": "across", "y": "up"}
    axes = [f"{way}: {titles[channel]}" for channel, way in ways.items() if channel in titles]
    header = {
        "title": [series.title, *axes],
        "titleFontWeight": "normal",
        "titleLimit": 380,
        "labelLimit": 110,
        "labelFontSize": 10,
    }
    return {
        **outside,
        "data": {"name": "rows"},
        "transform": [{"filter": "isValid(datum.series)"}],
        "facet": {"field": "series", "type": "nominal", "sort": series.names, "header": header},
        "columns": ACROSS,
        "spacing": 8,
        "spec": {**plane, "width": SMALL, "height": SMALL},
    }


def _untitled(part: Any, titles: dict[str, str]) -> Any:
    """Return part of a plane with the data of its facet, without titles of axes, which the plane collects."""
    if isinstance(part, list):
        return [_untitled(inner, titles) for inner in part]
    if not isinstance(part, dict):
        return part
    kept = {name: inner for name, inner in part.items() if name != "data"}
    for channel in ("x", "y"):
        axis = kept.get("encoding", {}).get(channel)
        if axis and axis.get("title"):
            titles.setdefault(channel, axis["title"])
            kept["encoding"] = {**kept["encoding"], channel: {**axis, "title": None}}
    return {name: inner if name == "encoding" else _untitled(inner, titles) for name, inner in kept.items()}


def _readable(part: Any) -> Any:
    """Return part of a specification whose tooltips write numbers as people read them."""
    if isinstance(part, list):
        return [_readable(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    readable = {name: _readable(inner) for name, inner in part.items()}
    tooltip = part.get("encoding", {}).get("tooltip")
    if isinstance(tooltip, list):
        texts, shown = [], []
        for entry in tooltip:
            name, title = entry["field"], entry.get("title", entry["field"])
            if entry["type"] != "quantitative":
                shown.append(entry)
                continue
            number = f"datum.{name}" if name == "trial" else readable_number(f"datum.{name}", title)
            texts.append({"calculate": f"isValid(datum.{name}) ? {number} : '-'", "as": f"{name}_text"})
            shown.append({"field": f"{name}_text", "type": "nominal", "title": title})
        readable["transform"] = [*part.get("transform", []), *texts]
        readable["encoding"] = {**part["encoding"], "tooltip": shown}
    return readable


def in_nanoseconds(title: str) -> bool:
    """Tell whether an axis or a number of this title is a time in nanoseconds."""
    return "nanoseconds" in title or "(ns)" in title or title == "ns" or title.endswith(" ns")


def readable_number(value: str, title: str, digits: str = "4") -> str:
    """Return the expression of a number as people read it: 10.5M, 0.5, 12 µs.

    Args:
        value: the expression of the number.
        title: what it is; that says whether it is a time.
        digits: the expression of how many digits count.
    """
    plain = f"format({value}, '.' + {digits} + (abs({value}) < 1 ? '~g' : '~s'))"
    if not in_nanoseconds(title):
        return plain
    scaled = [
        f"abs({value}) >= {scale:g} ? format({value} / {scale:g}, '.' + {digits} + '~r') + ' {unit}'"
        for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
    ]
    return f"({' : '.join(scaled)} : format({value}, '.' + {digits} + '~r') + ' ns')"
