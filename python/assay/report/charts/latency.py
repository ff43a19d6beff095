"""How long operations take: percentiles of their latency, of all and of each kind and role."""

import re
from collections.abc import Iterator, Sequence

from assay.report.charts import drawings
from assay.report.charts.drawings import Across, Row, Specification, Up
from assay.report.charts.drawn import Figure, Table, column, titled, together
from assay.report.charts.panels import Panels, summary

PERCENTILES = {
    "p50": "50%",
    "p90": "90%",
    "p99": "99%",
    "p99_9": "99.9%",
    "p99_99": "99.99%",
    "max": "longest timed",
}
"""As metrics name them -> the share of operations that took at most this long.

The longest is of those that were timed and ended: sampling misses longer ones, and an operation that never
ended is not among them.
"""

# docs/reference/metrics.md: role_NAME_latency_p50_ns, latency_KIND_p50_ns, latency_p50_ns
_METRIC = re.compile(rf"((?:role_[a-z0-9_]+_)?latency_(?:[a-z]+_)??)({'|'.join(PERCENTILES)})_ns")
_OF = re.compile(r"(?:role_(?P<role>[a-z0-9_]+)_)?latency_(?:(?P<kind>[a-z]+)_)?")


def latency(panels: Panels) -> Iterator[Figure]:
    """Yield for each context the percentiles of all operations, then of each role and of each kind."""
    stems = sorted({match[1] for name in panels.reported if (match := _METRIC.fullmatch(name))})
    roles = [stem for stem in stems if stem.startswith("role_")]
    kinds = [stem for stem in stems if stem not in roles and stem != "latency_"]
    yield from _of(panels, "latency", [stem for stem in stems if stem == "latency_"])
    for kind, group in (("latency-role", roles), ("latency-operation", kinds)):
        if len(group) > 1:  # one alone is what all are
            yield from _of(panels, kind, group)


def _of(panels: Panels, kind: str, stems: list[str]) -> list[Figure]:
    """Return the figures of one kind: one for each context and stem, all on one scale."""
    across = Across("share of operations", list(PERCENTILES.values()))
    note = "Each point: the median over trials of that percentile, with its 95% interval."
    tables = []
    for panel in panels.contexts():
        for stem in stems:
            rows: list[Row] = []
            for condition in panel.conditions:
                name = panels.name(panels.factor, condition.levels[panels.factor])
                for percentile, share in PERCENTILES.items():
                    values = condition.values(panels.value(f"{stem}{percentile}_ns"))
                    median = summary([value for value, _ in values])
                    if median is not None and median[0] > 0:
                        ends = (end if end is None or end > 0 else median[0] for end in median[1:3])
                        rows.append(
                            ["point", name, share, None, median[0], *ends, median[3], condition.number, None]
                        )
            if rows:
                tables.append(Table(titled(_title(stem), panel.shared), rows, note))

    def specification(rows: Sequence[Row]) -> Specification:
        up = Up.sharing("nanoseconds", column(rows, 4, 5, 6), log=True)
        return drawings.lines(across, up, panels.levels)

    return together("latency", kind, drawings.MEDIAN_COLUMNS, tables, specification)


def _title(stem: str) -> str:
    match = _OF.fullmatch(stem)
    assert match is not None  # it was cut from a metric's name
    if match["role"]:
        return f"Latency of role {match['role']}"
    return f"Latency of {match['kind']}" if match["kind"] else "Latency"
