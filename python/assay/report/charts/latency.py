"""How long operations take: percentiles of their latency, of all and of each kind and role."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from assay.report.charts import drawings
from assay.report.charts.drawings import Across, Up
from assay.report.charts.drawn import Drawn, titled
from assay.report.charts.panels import Panels, of_metric, summary

PERCENTILES = {
    "p50": "50%",
    "p90": "90%",
    "p99": "99%",
    "p99_9": "99.9%",
    "p99_99": "99.99%",
    "max": "longest timed",
}
"""As metrics name them -> the share of operations that took at most so long.

The longest is of those that were timed and ended: sampling misses longer ones, and an operation that never
ended is not among them.
"""

# docs/reference/metrics.md: role_NAME_latency_p50_ns, latency_KIND_p50_ns, latency_p50_ns
_METRIC = re.compile(rf"((?:role_[a-z0-9_]+_)?latency_(?:[a-z]+_)??)({'|'.join(PERCENTILES)})_ns")
_OF = re.compile(r"(?:role_(?P<role>[a-z0-9_]+)_)?latency_(?:(?P<kind>[a-z]+)_)?")


def latency(panels: Panels) -> Iterator[Drawn]:
    """Yield for each context the percentiles of all operations, then of each role and of each kind."""
    metrics = {
        name
        for condition in panels.conditions
        for trial in condition.trials
        for name in trial.metrics
        if "latency_" in name
    }
    stems = sorted({found[1] for name in metrics if (found := _METRIC.fullmatch(name))})
    roles = [stem for stem in stems if stem.startswith("role_")]
    kinds = [stem for stem in stems if stem not in roles and stem != "latency_"]
    yield from _of(panels, "latency", [stem for stem in stems if stem == "latency_"])
    for kind, group in (("latency-role", roles), ("latency-operation", kinds)):
        if len(group) > 1:  # one alone is what all are
            yield from _of(panels, kind, group)


def _of(panels: Panels, kind: str, stems: list[str]) -> Iterator[Drawn]:
    """Yield the figures of one kind: one for each context and stem, all on one scale."""
    across = Across("share of operations", list(PERCENTILES.values()))
    tables: list[tuple[str, list[list[Any]]]] = []
    for panel in panels.contexts():
        for stem in stems:
            rows: list[list[Any]] = []
            for condition in panel.conditions:
                name = panels.name(panels.factor, condition.levels[panels.factor])
                for percentile, share in PERCENTILES.items():
                    found = summary(condition, of_metric(f"{stem}{percentile}_ns"))
                    if found is not None and found[0] > 0:
                        rows.append(["point", name, share, None, *found, condition.number, None])
            tables.append((titled(_title(stem), panel.shared), rows))
    ends = [end for _, rows in tables for row in rows for end in row[4:7] if end]
    up = Up.sharing("nanoseconds", ends, log=True)
    for title, rows in tables:
        if rows:
            yield Drawn(
                section="latency",
                kind=kind,
                title=title,
                columns=drawings.MEDIAN_COLUMNS,
                rows=rows,
                specification=partial(drawings.lines, across, up, panels.levels),
                note="Each point: the median over trials of that percentile, with its 95% interval.",
            )


def _title(stem: str) -> str:
    found = _OF.fullmatch(stem)
    assert found is not None  # it was cut from a metric's name
    if found["role"]:
        return f"Latency of role {found['role']}"
    return f"Latency of {found['kind']}" if found["kind"] else "Latency"
