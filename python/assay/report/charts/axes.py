"""The axes of charts: of the levels of a factor, and of numbers, on which several charts agree.

What others have written (names of levels, factors and metrics) is in a specification only as the text of a
scale or a title, never in an expression.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.plan.types import Level
from assay.report.charts import alt
from assay.report.charts.style import Series, in_nanoseconds, readable_number

LEAST, MOST = 1e-150, 1e150
"""Numbers of other sizes are not drawn: ratios and squares of those between them are numbers, too."""
SAME = 1e-7  # relative distance of numbers that a chart shows in one place
WIDE = 30  # where the largest is this many times the smallest, a logarithmic scale is needed to see both
LONG_NAMES = 44  # characters of all names on an axis, beyond which they are slanted


def drawable(value: Any) -> bool:
    """Tell whether axes can show a value, if it is a number; a chart's drawing computes with doubles."""
    return not isinstance(value, int | float) or value == 0 or LEAST <= abs(value) <= MOST


def same(low: float, high: float) -> bool:
    """Tell whether two numbers are too near to each other to be told apart in a chart."""
    return high - low <= SAME * max(abs(low), abs(high))


def wide(values: Sequence[float]) -> bool:
    """Tell whether only a logarithmic scale shows all values."""
    return bool(values) and min(values) > 0 and max(values) > WIDE * min(values)


def _around(values: Sequence[float], share: float, *, log: bool) -> tuple[float, float]:
    """Return where an axis begins and ends that goes beyond values by a share of its length."""
    low, high = min(values), max(values)
    if log:
        ratio = 1.1 if same(low, high) else (high / low) ** share
        return low / ratio, high * ratio
    room = share * (abs(high) if same(low, high) else high - low) or 1.0
    return low - room, high + room


@dataclass(frozen=True)
class Across:
    """The horizontal axis of a factor.

    Attributes:
        what: the factor.
        levels: those that are drawn, in order.
        aside: whether series stand side by side; they need not where they are the levels themselves.
    """

    what: str
    levels: Sequence[Level]
    aside: bool = True

    @property
    def numeric(self) -> bool:
        """Whether the levels are numbers that differ, so that their distances mean something."""
        return (
            all(isinstance(level, int | float) and not isinstance(level, bool) for level in self.levels)
            and all(map(drawable, self.levels))
            and not same(min(map(float, self.levels)), max(map(float, self.levels)))
        )

    @property
    def logarithmic(self) -> bool:
        """Whether numeric levels double rather than step."""
        numbers = list(map(float, self.levels))
        return min(numbers) > 0 and max(numbers) >= 8 * min(numbers)

    def domain(self) -> tuple[float, float]:
        """Return where a numeric axis begins and ends."""
        return _around(list(map(float, self.levels)), 0.07, log=self.logarithmic)

    def at(self, level: Level, place: int, of: int) -> float | None:
        """Return where a numeric level is drawn for one of several series, moved aside so that none hides."""
        if not self.numeric:
            return None
        low, high = self.domain()
        aside = (place - (of - 1) / 2) * min(0.012, 0.06 / of) * self.aside
        if self.logarithmic:
            return float(float(level) * (high / low) ** aside)
        return float(level) + (high - low) * aside

    def numeric_axis(self) -> Any:
        """Return the axis of column `at`."""
        scale = {"type": "log", "base": 2} if self.logarithmic else {"type": "linear"}
        return (
            alt.X("at:Q", title=self.what)
            .scale(domain=list(self.domain()), nice=False, zero=False, **scale)
            .axis(values=[float(level) for level in self.levels], format="~r", grid=False)
        )

    def named_axis(self, series: Series, gap: float = 0) -> dict[str, Any]:
        """Return the axis of column `x`, the series side by side; `gap` parts its levels, a share of 1."""
        levels = [str(level) for level in self.levels]
        axis: dict[str, Any]
        slanted = sum(map(len, levels)) > LONG_NAMES
        axis = {"labelAngle": -30, "labelAlign": "right", "labelLimit": 150} if slanted else {"labelAngle": 0}
        x = (
            alt.X("x:N", title=self.what, sort=None)
            .scale(domain=levels, padding=gap or alt.Undefined)
            .axis(grid=False, **axis)
        )
        if not self.aside or series.apart or len(series.names) < 2:
            return {"x": x}
        beside = alt.XOffset("series:N").scale(domain=series.names, paddingInner=0.15)
        return {"x": x, "xOffset": beside}


@dataclass(frozen=True)
class Up:
    """The axis of a number, mostly the vertical one.

    Attributes:
        what: the number, with its unit.
        log: whether equal distances are equal ratios.
        domain: where it begins and ends.
    """

    what: str
    log: bool
    domain: tuple[float, float]

    @classmethod
    def sharing(cls, what: str, values: Sequence[float], *, log: bool, zero: bool = True) -> "Up":
        """Return the axis that all charts of these values share; a linear one begins at 0 if `zero`."""
        values = values or [1, 2]
        begin, end = _around(values, 0.05, log=log)
        if zero and not log:
            begin, end = 0 if min(values) >= 0 else begin, 0 if max(values) < 0 else end
        return cls(what, log, (begin, end))

    @property
    def title(self) -> str:
        """The number, with a word on the scale where that is not linear; ticks of times have their unit."""
        what = self.what.replace(" (ns)", "") if in_nanoseconds(self.what) else self.what
        return f"{what}, log scale" if self.log else what

    def on(self, channel: Literal["x", "y"], column: str, **axis: Any) -> Any:
        """Return a column along this axis."""
        scale = {"type": "log", "nice": False, "padding": 16} if self.log else {"nice": True, "zero": False}
        along = {"x": alt.X, "y": alt.Y}[channel](f"{column}:Q", title=self.title)
        marked = ticks(channel, log=self.log, what=self.what)
        return along.scale(domain=list(self.domain), **scale).axis(**marked, **axis)


def ticks(channel: Literal["x", "y"], *, log: bool = False, what: str = "") -> dict[str, Any]:
    """Return what draws the ticks of an axis of numbers, with labels that tell them apart.

    `what` is the title of the axis; times in nanoseconds are written in ns, µs, ms or s.

    A label has four digits, or as many as the ticks of a narrow axis need. On a logarithmic axis, where Vega
    by itself would label some ticks above a power of ten and none below, every tick has a label; those at 1,
    2 and 5 over a decade, those at 1 over three.
    """
    low, high = f"domain('{channel}')[0]", f"domain('{channel}')[1]"
    span = f"abs({high} - {low})"
    needed = f"ceil(log(max(abs({low}), abs({high})) / {span}) / LN10) + 2"
    digits = f"({span} > 0 ? clamp({needed}, 4, 12) : 4)"
    label = f"({readable_number('datum.value', what, digits)})"
    drawn = {"tickCount": 5, "labelOverlap": "greedy", "labelSeparation": 4}
    if not log:
        return {**drawn, "labelExpr": label}
    first = "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))"
    ratio = f"{high} / {low}"
    shown = f"{ratio} < 8 || {first} == 1 || ({ratio} < 1000 && ({first} == 2 || {first} == 5))"
    bound = {"labelBound": True} if channel == "x" else {}  # else one at the edge would be cut
    return {**drawn, "labelExpr": f"{shown} ? {label} : ''", "gridOpacity": 0.5, **bound}
