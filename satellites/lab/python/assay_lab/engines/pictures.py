"""The pictures of judged engines, as the report makes its own: specifications and the tables that they draw.

The n-th-bit summations are those of the paper on performance anomalies in microbenchmarks (appendix B): over
the first 1000 numbers (its figure 10) and over all of them, with and without reseeding (its figure 11: four
bits, 10 million numbers; figure 12 of its first version: eight bits).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from assay.report.charts import Figure, Specification, alt
from assay.report.charts.axes import ticks
from assay.report.charts.drawn import Row
from assay.report.charts.style import COLORS, GREY, LINES, Series, to_dict
from assay_lab.engines.types import Counts, EngineExamination, titled

HEIGHT = 240
FIRST_BITS = 8
COLUMNS = 50  # of the picture of all bits
STRONGEST = 6  # standard deviations that have the strongest colour

FIRST_BYTE, EIGHT_BITS, ALL_BITS, LAGS, SPEED = "first-byte", "eight-bits", "all-bits", "lags", "speed"


def figures(judged: Sequence[EngineExamination]) -> Iterator[Figure]:
    """Yield the pictures: the speed of all engines, then those of each; a section is an engine's name."""
    timed = [(engine.title, engine.speed) for engine in judged if engine.speed]
    yield Figure(
        SPEED,
        "Nanoseconds a number",
        [
            {
                "engine": title,
                "ns": speed.source,
                "low": speed.source_interval.low,
                "high": speed.source_interval.high,
                "floor": speed.floor,
            }
            for title, speed in timed
        ],
        "medians with 95% intervals; the grey tick is the same loop without drawing",
        lambda: _speed([title for title, _ in timed]),
        section=SPEED,
        name=SPEED,
    )
    for engine in judged:
        if engine.counts is not None:
            name = engine.engine.name
            for figure in _of_engine(engine, engine.counts["bits"]):
                yield replace(figure, section=name, name=f"{name}-{figure.name or figure.kind}")


def _of_engine(judged: EngineExamination, bits: Counts) -> Iterator[Figure]:
    strongest = f"the strongest colours stand for {STRONGEST} standard deviations and more"
    first_byte = _first_byte_rows(bits["first"])
    yield Figure(
        f"{FIRST_BYTE}-{judged.engine.name}",
        f"{judged.title}: sums of the first byte's bits",
        first_byte,
        "+1 where a bit is set, -1 where it is not; grey: two standard deviations of a fair bit",
        partial(_sums, FIRST_BITS, first_byte),
        name=FIRST_BYTE,
    )
    others = judged.other["bits"] if judged.other else None
    for reseed_every, counted in ((judged.reseed_every, bits), (judged.other_reseed_every, others)):
        if counted is not None:
            name = EIGHT_BITS if reseed_every is None else f"{EIGHT_BITS}-reseeded"
            rows = _eight_bits_rows(counted)
            yield Figure(
                f"{name}-{judged.engine.name}",
                f"{titled(judged.engine.name, reseed_every)}: sums of the first eight bits",
                rows,
                f"over {bits['at'][-1]:,} numbers",
                partial(_sums, FIRST_BITS, rows),
                name=name,
            )
    yield Figure(
        ALL_BITS,
        f"{judged.title}: sums of all bits",
        _all_bits_rows(bits),
        f"in standard deviations of a fair bit; {strongest}",
        lambda: _map("numbers drawn", "sum / √numbers"),
    )
    yield Figure(
        LAGS,
        f"{judged.title}: each bit against itself some numbers before",
        _lag_rows(bits),
        f"red: equal more often than by chance, blue: less often; {strongest}",
        lambda: _map("lag", "deviation"),
    )


def _first_byte_rows(first: Sequence[int]) -> list[Row]:
    low = np.asarray([number & 0xFF for number in first])
    steps = 2 * (low[:, None] >> np.arange(8) & 1) - 1
    return _rows(range(1, len(first) + 1), np.cumsum(steps, axis=0))


def _eight_bits_rows(bits: Counts) -> list[Row]:
    at = np.asarray(bits["at"])
    return _rows(bits["at"], 2 * np.asarray(bits["ones"])[:, :FIRST_BITS] - at[:, None])


def _rows(at: Sequence[int], sums: Any) -> list[Row]:
    """Return a row for each place and bit; the row of the first bit has the band too."""
    return [
        {
            "at": place,
            "series": f"bit {bit}",
            "sum": int(total),
            "band": round(2 * math.sqrt(place), 1) if bit == 0 else None,
        }
        for place, totals in zip(at, sums, strict=True)
        for bit, total in enumerate(totals)
    ]


def _all_bits_rows(bits: Counts) -> list[Row]:
    at, ones = np.asarray(bits["at"]), np.asarray(bits["ones"])[:, : bits["bits"]]
    places = sorted({round((i + 1) * len(at) / COLUMNS) - 1 for i in range(COLUMNS)} - {-1})
    ends = at[places]
    deviations = (2 * ones[places] - ends[:, None]) / np.sqrt(ends)[:, None]
    return _cells([0, *ends[:-1].tolist()], ends.tolist(), deviations)


def _lag_rows(bits: Counts) -> list[Row]:
    compared, differing = np.asarray(bits["compared"]), np.asarray(bits["differing"])[:, : bits["bits"]]
    deviations = (compared[:, None] - 2 * differing) / np.sqrt(compared)[:, None]
    lags = range(1, len(compared) + 1)
    return _cells([lag - 0.5 for lag in lags], [lag + 0.5 for lag in lags], deviations)


def _cells(begins: Sequence[float], ends: Sequence[float], deviations: Any) -> list[Row]:
    """Return a row for each cell of a map: a column's begin and end, the bit, and its deviation."""
    strengths = np.clip(deviations, -STRONGEST, STRONGEST).round(2).tolist()
    return [
        {"from": begin, "to": end, "bit": bit, "value": strength}
        for begin, end, column in zip(begins, ends, strengths, strict=True)
        for bit, strength in enumerate(column)
    ]


def _sums(bits: int, rows: Sequence[Row]) -> Specification:
    """Draw sums as lines on an axis that holds all of them, over as much of the band as it shows."""
    reach = 1.1 * max(abs(row["sum"]) for row in rows)
    names = [f"bit {bit}" for bit in range(bits)]
    series = Series.of("bit", names)
    base = alt.Chart(alt.NamedData("rows"))
    x = alt.X("at:Q", title="numbers drawn").axis(grid=False, **ticks("x"))
    band = (
        base.transform_filter("isValid(datum.band)")
        .transform_calculate(below="-datum.band")
        .mark_area(color=GREY, opacity=0.2, clip=True)
        .encode(x=x, y=alt.Y("below:Q", title="sum").scale(domain=[-reach, reach]), y2="band:Q")
    )
    lines = base.mark_line(strokeWidth=1).encode(
        x=x,
        y=alt.Y("sum:Q", title="sum").scale(domain=[-reach, reach]).axis(**ticks("y")),
        **series.by("color", "strokeDash", **LINES),
    )
    return to_dict(band + lines, HEIGHT, series)


def _map(title: str, legend: str) -> Specification:
    scale = alt.Scale(domain=[-STRONGEST, STRONGEST], scheme="redblue", reverse=True)
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .transform_calculate(above="datum.bit + 1")
        .mark_rect(strokeWidth=0.6)  # else the ground shines through between them
        .encode(
            x=alt.X("from:Q", title=title).scale(nice=False, zero=False).axis(grid=False, **ticks("x")),
            x2="to:Q",
            y=alt.Y("bit:Q", title="bit").scale(nice=False).axis(tickCount=8, grid=False),
            y2="above:Q",
            color=alt.Color("value:Q", title=legend, scale=scale).legend(
                type="gradient", gradientLength=160, tickCount=5
            ),
            stroke=alt.Stroke("value:Q", scale=scale, legend=None),
        )
    )
    return to_dict(chart, HEIGHT)


def _speed(engines: Sequence[str]) -> Specification:
    base = alt.Chart(alt.NamedData("rows")).encode(y=alt.Y("engine:N", title=None, sort=list(engines)))
    x = alt.X("ns:Q", title="ns a number, log scale").scale(type="log", nice=False, padding=16)
    floor = base.mark_tick(color=GREY, thickness=2).encode(x=alt.X("floor:Q"))
    rule = base.mark_rule(color=COLORS[0]).encode(x=alt.X("low:Q"), x2="high:Q")
    tooltips = [alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("ns", "low", "high", "floor")]
    point = base.mark_point(filled=True, color=COLORS[0], size=60, opacity=1).encode(
        x=x.axis(**ticks("x", log=True)), tooltip=["engine:N", *tooltips]
    )
    return to_dict(floor + rule + point, alt.Step(24))
