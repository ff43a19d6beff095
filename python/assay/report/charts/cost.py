"""What each operation costs: counters, events of the kernel, memory, and how evenly threads were served."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from assay.report.charts import drawings
from assay.report.charts.comparison import medians
from assay.report.charts.drawings import Across, Up
from assay.report.charts.drawn import Drawn, titled
from assay.report.charts.panels import Panels, Value, of_metric, quartiles, summary
from assay.store.types import StoredTrial

COUNTERS = {
    "cycles": "Cycles per operation",
    "instructions": "Instructions per operation",
    "cache_misses": "Cache misses per operation",
    "branch_misses": "Branch misses per operation",
}
EVENTS = {
    "page_faults": ("Page faults per million operations", ("minor_page_faults", "major_page_faults")),
    "context_switches": (
        "Context switches per million operations",
        ("voluntary_context_switches", "involuntary_context_switches"),
    ),
}
MIB = 2**20
NOMINAL = "Operations: throughput times nominal duration."


def cost(panels: Panels) -> Iterator[Drawn]:
    """Yield counters, events of the kernel and memory by condition, and the shares of the slowest threads."""
    yield from _counters(panels)
    note = "" if _reported(panels, of_metric("operations")) else NOMINAL
    for kind, (what, names) in EVENTS.items():
        yield from _by_condition(panels, kind, what, _per_million(panels, names), note)
    resident = of_metric("peak_resident_bytes")
    yield from _by_condition(
        panels,
        "memory",
        "Peak resident memory (MiB)",
        lambda trial: None if (value := resident(trial)) is None else value / MIB,
    )
    yield from _by_condition(
        panels, "energy", "Energy per operation (µJ)", of_metric("energy_uj_per_operation")
    )
    yield from _fairness(panels)


def _reported(panels: Panels, value: Value) -> bool:
    return any(condition.values(value) for condition in panels.conditions)


def _by_condition(panels: Panels, kind: str, what: str, value: Value, note: str = "") -> Iterator[Drawn]:
    if _reported(panels, value):
        yield from medians(
            panels,
            lambda condition: summary(condition, value),
            section="cost",
            kind=kind,
            what=what,
            note=note,
        )


def _counters(panels: Panels) -> Iterator[Drawn]:
    """Yield the counters that trials report, and a figure that says why there are no others."""
    missing = []
    for name, what in COUNTERS.items():
        value = of_metric(f"{name}_per_operation")
        if _reported(panels, value):
            yield from _by_condition(panels, name, what, value)
        else:
            missing.append(name)
    if missing:
        said = panels.report.example.get("counters", {}).get("unavailable", {})
        reasons = list(dict.fromkeys(str(said[name]) for name in missing if name in said))
        listed = ", ".join(name.replace("_", " ") for name in missing)
        yield Drawn(
            section="cost",
            kind="counters",
            title="Hardware counters per operation",
            columns=(),
            rows=(),
            specification=dict,
            note=f"No trial reports {listed}: {'; '.join(reasons) or 'no reason was given'}.",
        )


def _per_million(panels: Panels, names: Sequence[str]) -> Value:
    """Return what gives the sum of some counts for each million of operations.

    Where trials report no number of operations, it is their throughput times the nominal duration.
    """

    def value(trial: StoredTrial) -> float | None:
        counts = [trial.metrics[name] for name in names if name in trial.metrics]
        ms: float = panels.settings(trial).get("duration_ms", 0)
        operations = trial.metrics.get("operations", trial.metrics.get("throughput", 0) * ms / 1e3)
        return 1e6 * sum(counts) / operations if counts and operations > 0 else None

    return value


def _fairness(panels: Panels) -> Iterator[Drawn]:
    """Yield the distribution of the slowest thread's share, where there are several threads."""
    share = of_metric("slowest_thread_share")
    several = [level for level in panels.experiment.factors.get("threads", ()) if level != 1]
    series = panels.series if panels.by_threads else panels.levels.without_legend()
    across = (
        Across("threads", several)
        if panels.by_threads
        else Across(panels.factor, panels.levels.names, aside=False)
    )
    tables = []
    for panel in panels.over_threads():
        rows: list[list[Any]] = []
        for condition in panel.conditions:
            values = [value for value, _ in condition.values(share)]
            settings = panels.settings(condition)
            # Threads of different roles are not meant to do the same.
            if not values or settings.get("threads") == 1 or len(settings.get("roles", ())) > 1:
                continue
            if panels.by_threads:
                name, x = panels.series_of(condition.levels), str(condition.levels["threads"])
            else:
                name = x = panels.name(panels.factor, condition.levels[panels.factor])
            rows.append([x, name, *quartiles(values), len(values), condition.number])
        tables.append((panel, rows))
    most = [row[6] for _, rows in tables for row in rows]
    up = Up.sharing("slowest thread / mean", most, log=False)
    for panel, rows in tables:
        if rows:
            yield Drawn(
                section="cost",
                kind="fairness",
                title=titled("Slowest thread / mean of all threads", panel.shared),
                columns=drawings.BOX_COLUMNS,
                rows=rows,
                specification=partial(drawings.boxes, across, up, series),
                note="1 is even. Box: quartiles and median; whiskers: the extremes.",
            )
