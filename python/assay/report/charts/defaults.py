"""The charts of factors and metrics that every report has, as those that an experiment may ask for."""

import re
from collections.abc import Iterator, Sequence

from assay.experiment.types import Chart
from assay.report.charts.chart import Beside, draw
from assay.report.charts.drawn import Figure
from assay.report.charts.panels import FAULTS, MEMORY, NOMINAL, SWITCHES, Condition, Panels

# docs/reference/metrics.md: the pattern of a metric -> what its figure is called
INSIDE = {
    re.compile(r"role_([a-z0-9_]+?)_throughput"): "Operations / s of role {}",
    re.compile(r"role_([a-z0-9_]+?)_longest_ns"): "Longest operation of role {} (ns)",
    re.compile(r"probe_([a-z0-9_]+)"): "Probe {}",
}
COUNTERS = {
    "cycles": "Cycles per operation",
    "instructions": "Instructions per operation",
    "cache_misses": "Cache misses per operation",
    "branch_misses": "Branch misses per operation",
}


def over_threads(
    panels: Panels,
    metric: str,
    title: str,
    *,
    section: str,
    kind: str,
    note: str = "",
    boxes: bool = False,
    conditions: Sequence[Condition] | None = None,
    beside: Beside = lambda _: ([], ""),
) -> list[Figure]:
    """Return medians with intervals, or boxes, over threads where those vary, else by the compared factor.

    Every other factor is a facet.

    Args:
        conditions: those that are drawn; by default all.
    """
    x = "threads" if panels.by_threads else panels.factor
    color = None if panels.by_threads and panels.factor == "threads" else panels.factor
    facets = tuple(factor for factor in panels.experiment.factors if factor not in (x, color))
    chart = Chart(kind="box" if boxes else "lines", title=title, x=x, y=metric, color=color, facet=facets)
    drawn = panels.conditions if conditions is None else conditions
    return draw(panels, chart, drawn, section=section, kind=kind, note=note, beside=beside)


def inside(panels: Panels) -> Iterator[Figure]:
    """Yield what each role of threads got done, and what probes in the measured code recorded.

    A program reports every probe that it has, also those of code that the campaign never ran: those that are
    0 throughout are left out.
    """
    trials = [trial for condition in panels.conditions for trial in condition.trials]
    names = sorted({name for trial in trials for name, value in trial.metrics.items() if value != 0})
    for pattern, title in INSIDE.items():
        for name in names:
            if match := pattern.fullmatch(name):
                yield from over_threads(panels, name, title.format(match[1]), section="inside", kind=name)


def cost(panels: Panels) -> Iterator[Figure]:
    """Yield what an operation costs, and how evenly the threads were served."""
    missing = []
    for name, title in COUNTERS.items():
        metric = f"{name}_per_operation"
        if metric in panels.reported:
            yield from over_threads(panels, metric, title, section="cost", kind=name)
        else:
            missing.append(name)
    if missing:
        yield _missing(panels, missing)
    nominal = "" if "operations" in panels.reported else NOMINAL
    for kind, metric, title, note in (
        ("page_faults", FAULTS, FAULTS, nominal),
        ("context_switches", SWITCHES, SWITCHES, nominal),
        ("memory", MEMORY, MEMORY, ""),
        ("energy", "energy_uj_per_operation", "Energy per operation (µJ)", ""),
    ):
        if any(condition.values(panels.value(metric)) for condition in panels.conditions):
            yield from over_threads(panels, metric, title, section="cost", kind=kind, note=note)
    yield from _fairness(panels)


def _missing(panels: Panels, counters: Sequence[str]) -> Figure:
    """Return a figure that says why there are no counters."""
    unavailable = panels.report.example.get("counters", {}).get("unavailable", {})
    reasons = list(dict.fromkeys(str(unavailable[name]) for name in counters if name in unavailable))
    listed = ", ".join(name.replace("_", " ") for name in counters)
    why = "; ".join(reasons) or "no reason was given"
    return Figure(
        "cost", "counters", "Hardware counters per operation", note=f"No trial reports {listed}: {why}."
    )


def _fairness(panels: Panels) -> list[Figure]:
    """Return the distribution of the slowest thread's share, where several threads are to do the same."""
    metric = "slowest_thread_share"

    def several(condition: Condition) -> bool:
        settings = panels.settings(condition)
        return settings.get("threads") != 1 and len(settings.get("roles", ())) <= 1

    conditions = [
        condition
        for condition in panels.conditions
        if several(condition) and condition.values(panels.value(metric))
    ]
    title = "Slowest thread / mean of all threads"
    note = "1 is even. Box: quartiles and median; whiskers: the extremes."
    return over_threads(
        panels, metric, title, section="cost", kind="fairness", note=note, boxes=True, conditions=conditions
    )
