"""How long operations take: percentiles of their latency, of all and of each kind and role."""

import re
from collections.abc import Iterator, Sequence

from assay.report.charts import drawings
from assay.report.charts.axes import Across, Up
from assay.report.charts.drawn import Figure, Row, Specification, numbers, titled, together
from assay.report.charts.panels import Panels, of_hosts, summary

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

GAP = 0.45  # between the marks of two percentiles, a share of their distance

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
    figures = []
    for shared, conditions in panels.apart_from(panels.factor):
        for stem in stems:
            rows = []
            for condition in conditions:
                for percentile, share in PERCENTILES.items():
                    metric = f"{stem}{percentile}_ns"
                    values = condition.values(metric)
                    median = summary(of_hosts(values))
                    if median and median["value"] > 0:
                        if median["low"] is not None and median["low"] <= 0:  # which has no logarithm
                            median = {**median, "low": None, "high": None}
                        mark = {"part": "point", "series": panels.level(condition), "x": share}
                        ratio = panels.ratio(condition, metric, median["value"])
                        rows.append({**mark, **median, "ratio": ratio, "condition": condition.number})
            if rows:
                figures.append(Figure(kind, titled(_title(stem), shared), rows, note))

    def specification(rows: Sequence[Row]) -> Specification:
        up = Up.sharing("latency (ns)", numbers(rows, "value", "low", "high"), log=True)
        return drawings.lines(across, up, panels.levels.only({row["series"] for row in rows}), gap=GAP)

    return together(figures, specification)


def _title(stem: str) -> str:
    match = _OF.fullmatch(stem)
    assert match is not None  # it was cut from a metric's name
    if match["role"]:
        return f"Latency of role {match['role']}"
    return f"Latency of {match['kind']}" if match["kind"] else "Latency"
