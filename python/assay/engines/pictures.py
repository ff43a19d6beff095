"""The pictures of judged engines, as the report makes its own: specifications and the tables that they draw.

The n-th-bit summations are those of the paper on performance anomalies in microbenchmarks (appendix B): over
the first 1000 numbers (its figure 10) and over all of them, with and without reseeding (its figure 11).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np

from assay.engines.types import Counts, Judged, titled
from assay.report.charts import Figure
from assay.report.charts.drawings import Specification, Up
from assay.report.charts.style import COLORS, GREY, Series, to_dict

HEIGHT = 240
FIRST_BITS = 4
COLUMNS = 50  # of the picture of all bits
STRONGEST = 6  # standard deviations that have the strongest colour

FIRST_BYTE, FIRST_FOUR, ALL_BITS, LAGS, SPEED = "first-byte", "first-four-bits", "all-bits", "lags", "speed"


def specifications(judged: Sequence[Judged]) -> dict[str, Specification]:
    """Return kind of picture -> its specification."""
    kinds: dict[str, Callable[[], Specification]] = {
        FIRST_BYTE: lambda: _sums(8),
        FIRST_FOUR: lambda: _sums(FIRST_BITS),
        ALL_BITS: lambda: _map("numbers", "numbers drawn", "sum / √numbers"),
        LAGS: lambda: _map("lag", "lag", "deviation"),
        SPEED: lambda: _speed([examined.title for examined in judged if examined.speed]),
    }
    return {kind: specification() for kind, specification in kinds.items()}


def figures(judged: Sequence[Judged]) -> Iterator[Figure]:
    """Yield the pictures: the speed of all engines, then those of each; a section is an engine's name."""
    yield Figure(
        SPEED,
        SPEED,
        SPEED,
        "Nanoseconds a number",
        "medians with 95% intervals; the grey tick is the same loop without drawing",
        ("engine", "ns", "low", "high", "floor"),
        [
            (engine.title, speed.source, speed.source_interval.low, speed.source_interval.high, speed.floor)
            for engine in judged
            if (speed := engine.speed)
        ],
    )
    for engine in judged:
        if engine.counts is not None:
            yield from _of_engine(engine, engine.counts["bits"])


def _of_engine(judged: Judged, bits: Counts) -> Iterator[Figure]:
    name = judged.engine.name
    numbers = bits["at"][-1]
    columns = ("at", "series", "sum", "band")
    yield Figure(
        name,
        FIRST_BYTE,
        f"{name}-{FIRST_BYTE}",
        f"{judged.title}: sums of the first byte's bits",
        "+1 where a bit is set, -1 where it is not; grey: two standard deviations of a fair bit",
        columns,
        _first_byte_rows(bits["first"]),
    )
    for reseed_every, counted in (
        (judged.reseed_every, bits),
        (judged.other_reseed_every, judged.other["bits"] if judged.other else None),
    ):
        if counted is not None:
            stem = FIRST_FOUR if reseed_every is None else f"{FIRST_FOUR}-reseeded"
            yield Figure(
                name,
                FIRST_FOUR,
                f"{name}-{stem}",
                f"{titled(name, reseed_every)}: sums of the first four bits",
                f"over {numbers:,} numbers",
                columns,
                _first_four_rows(counted),
            )
    strongest = f"the strongest colours stand for {STRONGEST} standard deviations and more"
    yield Figure(
        name,
        ALL_BITS,
        f"{name}-{ALL_BITS}",
        f"{judged.title}: sums of all bits",
        f"in standard deviations of a fair bit; {strongest}",
        ("numbers", "to", "bit", "value"),
        _all_bits_rows(bits),
    )
    yield Figure(
        name,
        LAGS,
        f"{name}-{LAGS}",
        f"{judged.title}: each bit against itself some numbers before",
        f"red: equal more often than by chance, blue: less often; {strongest}",
        ("lag", "to", "bit", "value"),
        _lag_rows(bits),
    )


def _first_byte_rows(first: Sequence[int]) -> list[tuple[Any, ...]]:
    low = np.asarray([number & 0xFF for number in first])
    steps = 2 * (low[:, None] >> np.arange(8) & 1) - 1
    return _rows(range(1, len(first) + 1), np.cumsum(steps, axis=0))


def _first_four_rows(bits: Counts) -> list[tuple[Any, ...]]:
    at = np.asarray(bits["at"])
    return _rows(bits["at"], 2 * np.asarray(bits["ones"])[:, :FIRST_BITS] - at[:, None])


def _rows(at: Sequence[int], sums: Any) -> list[tuple[Any, ...]]:
    """Return a row for each place and bit; the row of the first bit has the band too."""
    reach = 1.1 * float(np.abs(sums).max())
    return [
        (place, f"bit {bit}", int(total), round(min(2 * math.sqrt(place), reach), 1) if bit == 0 else None)
        for place, totals in zip(at, sums, strict=True)
        for bit, total in enumerate(totals)
    ]


def _all_bits_rows(bits: Counts) -> list[tuple[Any, ...]]:
    at = bits["at"]
    places = sorted({round((i + 1) * len(at) / COLUMNS) - 1 for i in range(COLUMNS)} - {-1})
    rows = []
    begin = 0
    for place in places:
        end = at[place]
        for bit in range(bits["bits"]):
            deviation = (2 * bits["ones"][place][bit] - end) / math.sqrt(end)
            rows.append((begin, end, bit, _clamped(deviation)))
        begin = end
    return rows


def _lag_rows(bits: Counts) -> list[tuple[Any, ...]]:
    rows = []
    for lag, (compared, differing) in enumerate(
        zip(bits["compared"], bits["differing"], strict=True), start=1
    ):
        for bit in range(bits["bits"]):
            rows.append(
                (lag - 0.5, lag + 0.5, bit, _clamped((compared - 2 * differing[bit]) / math.sqrt(compared)))
            )
    return rows


def _clamped(value: float) -> float:
    return round(max(-STRONGEST, min(STRONGEST, value)), 2)


def _sums(bits: int) -> Specification:
    names = [f"bit {bit}" for bit in range(bits)]
    series = Series.of("bit", names)
    base = alt.Chart(alt.NamedData("rows"))
    line = {"symbolType": "stroke", "symbolStrokeWidth": 1.3, "symbolSize": 300}
    x = alt.X("at:Q", title="numbers drawn", axis=_across())
    band = (
        base.transform_filter("isValid(datum.band)")
        .transform_calculate(below="-datum.band")
        .mark_area(color=GREY, opacity=0.2)
        .encode(x=x, y=alt.Y("below:Q", title="sum"), y2="band:Q")
    )
    lines = base.mark_line(strokeWidth=1).encode(
        x=x,
        y=alt.Y("sum:Q", title="sum", axis=Up("").axis()),
        color=series.color().legend(**line),
        strokeDash=series.dash().legend(**line),
    )
    return to_dict(band + lines, HEIGHT, names)


def _across() -> Any:
    """Return a horizontal axis without a grid."""
    axis = Up("").axis("x")
    axis["grid"] = False
    return axis


def _map(across: str, title: str, of: str) -> Specification:
    scale = alt.Scale(domain=[-STRONGEST, STRONGEST], scheme="redblue", reverse=True)
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .transform_calculate(above="datum.bit + 1")
        .mark_rect(strokeWidth=0.6)  # else the ground shines through between them
        .encode(
            x=alt.X(f"{across}:Q", title=title, axis=_across()).scale(nice=False, zero=False),
            x2="to:Q",
            y=alt.Y("bit:Q", title="bit").scale(nice=False).axis(tickCount=8, grid=False),
            y2="above:Q",
            color=alt.Color("value:Q", title=of, scale=scale).legend(
                type="gradient", gradientLength=160, tickCount=5
            ),
            stroke=alt.Stroke("value:Q", scale=scale, legend=None),
        )
    )
    return to_dict(chart, HEIGHT)


def _speed(engines: Sequence[str]) -> Specification:
    base = alt.Chart(alt.NamedData("rows")).encode(y=alt.Y("engine:N", title=None, sort=list(engines)))
    up = Up("ns a number", log=True)
    x = alt.X("ns:Q", title=up.described(), scale=up.scale(), axis=up.axis("x"))
    floor = base.mark_tick(color=GREY, thickness=2).encode(x=alt.X("floor:Q"))
    rule = base.mark_rule(color=COLORS[0]).encode(x=alt.X("low:Q"), x2="high:Q")
    tooltips = [alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("ns", "low", "high", "floor")]
    point = base.mark_point(filled=True, color=COLORS[0], size=60, opacity=1).encode(
        x=x, tooltip=["engine:N", *tooltips]
    )
    return to_dict(floor + rule + point, alt.Step(24))
