"""The picture of `assay layout explain`: which procedures use which sets of the cache."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from assay import extras, files
from assay.report.charts import alt

if TYPE_CHECKING:
    from assay_layout.simulator import Cache

_SHOWN = 30
"""Procedures, those with the most accesses."""


def draw(uses: Iterable[tuple[str, int, int, int]], cache: "Cache", output: Path) -> None:
    """Write an SVG: a row for each procedure, a column for each set, darker where it misses more often.

    Args:
        uses: procedure, set, accesses and misses.
        cache: the cache.
        output: the file.
    """
    by_procedure: defaultdict[str, int] = defaultdict(int)
    rows = list(uses)
    for procedure, _, accesses, _ in rows:
        by_procedure[procedure] += accesses
    shown = sorted(by_procedure, key=lambda name: -by_procedure[name])[:_SHOWN]
    data = [
        {"procedure": procedure, "set": number, "misses": misses / accesses}
        for procedure, number, accesses, misses in rows
        if procedure in shown
    ]
    sets = cache.size // cache.ways // cache.line
    chart = (
        alt.Chart(
            {"values": data}, title=f"Procedures with the most accesses, and sets of a cache of {cache}"
        )
        .mark_rect()
        .encode(
            x=alt.X(
                "set:O",
                title="set of the cache",
                scale=alt.Scale(domain=[*range(sets)]),  # those that nobody uses as well
                axis=alt.Axis(values=[*range(0, sets, max(sets // 16, 1))], labelAngle=0),
            ),
            y=alt.Y("procedure:N", sort=shown, title=None),
            color=alt.Color(
                "misses:Q",
                title="misses of an access",
                scale=alt.Scale(scheme="orangered"),
                legend=alt.Legend(format="%"),
            ),
        )
        .properties(width=800, height={"step": 14})
    )
    extras.require("vl_convert", "a chart as a file")
    import vl_convert  # noqa: PLC0415 - an extra

    files.write(output, vl_convert.vegalite_to_svg(chart.to_json()), "--picture")
