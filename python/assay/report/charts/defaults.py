"""The charts of factors and metrics that every report has, as those that an experiment may ask for."""

import re
from collections.abc import Iterator, Sequence

from assay.experiment.events import name_of, simulated_metric
from assay.experiment.types import Chart
from assay.report.charts.chart import Beside, draw
from assay.report.charts.drawn import Figure
from assay.report.charts.panels import (
    EVENTS,
    FAULTS,
    ITERATIONS,
    MEMORY,
    NOMINAL,
    SWITCHES,
    Condition,
    Panels,
)
from assay.report.charts.probes import probes
from assay.words import listed

# docs/reference/metrics.md: the pattern of a metric -> what its figure is called
INSIDE = {
    re.compile(r"role_([a-z0-9_]+?)_throughput"): "Operations / s of role {}",
    re.compile(r"role_([a-z0-9_]+?)_longest_ns"): "Longest operation of role {} (ns)",
    re.compile(r"probe_([a-z0-9_]+)"): "Probe {}",
}
COUNTERS = {
    "cycles": ("cycles_per_operation", "Cycles per operation"),
    "instructions": ("instructions_per_operation", "Instructions per operation"),
    "cache_misses": ("cache_misses_per_operation", "Cache misses per operation"),
    "branch_misses": ("branch_misses_per_operation", "Branch misses per operation"),
}
COSTS = {
    **COUNTERS,
    "page_faults": (FAULTS, FAULTS),
    "context_switches": (SWITCHES, SWITCHES),
    "memory": (MEMORY, MEMORY),
    "energy": ("energy_uj_per_operation", "Energy per operation (µJ)"),
}
"""Kind of figure -> the metric, and what its figure is called."""
FAIRNESS = "slowest_thread_share"


def over_threads(
    panels: Panels,
    kind: str,
    metric: str,
    title: str,
    *,
    note: str = "",
    of: Sequence[Condition] = (),
    box_of: Sequence[Condition] = (),
    beside: Beside = lambda _: ([], ""),
) -> list[Figure]:
    """Return medians with intervals over threads where those vary, else by the compared factor.

    Every other factor is a facet.

    Args:
        of: the conditions that are drawn; all where there are none.
        box_of: conditions whose quartiles are drawn as boxes, instead of the medians of all.
    """
    x = "threads" if panels.by_threads else panels.factor
    color = None if panels.by_threads and panels.factor == "threads" else panels.factor
    facets = tuple(factor for factor in panels.experiment.factors if factor not in (x, color))
    chart = Chart(kind="box" if box_of else "lines", title=title, x=x, y=metric, color=color, facet=facets)
    return draw(panels, chart, box_of or of or panels.conditions, kind, note=note, beside=beside)


def inside(panels: Panels) -> Iterator[Figure]:
    """Yield iterations of fixtures, what each role of threads got done, and what probes recorded.

    A program reports every probe that it has, also those of code that a subject never ran: what is 0
    throughout for a level of the compared factor is not one of its metrics, and is left out.
    """
    if timed := [condition for condition in panels.conditions if condition.iterations]:
        note = (
            "Of single iterations, as fixtures time them. Box: quartiles and median, medians over trials;"
            " whiskers: the shortest and the longest of all."
        )
        yield from over_threads(panels, "iterations", ITERATIONS, ITERATIONS, note=note, box_of=timed)
    trials = [trial for condition in panels.conditions for trial in condition.trials]
    names = sorted({name for trial in trials for name, value in trial.metrics.items() if value != 0})
    for pattern, title in INSIDE.items():
        for name in names:
            if match := pattern.fullmatch(name):
                of, others = _having(panels, name)
                note = f"Not of {listed(others)}: 0 in every trial." if others else ""
                yield from over_threads(panels, name, name, title.format(match[1]), note=note, of=of)
    yield from probes(panels)


def _having(panels: Panels, metric: str) -> tuple[list[Condition], list[str]]:
    """Return the conditions of levels whose values of a metric are not all 0, and the other levels."""
    values = {
        condition.number: [value for value, _ in condition.values(metric)] for condition in panels.conditions
    }
    levels = {panels.level(condition) for condition in panels.conditions if any(values[condition.number])}
    told = {panels.level(condition) for condition in panels.conditions if values[condition.number]}
    of = [condition for condition in panels.conditions if panels.level(condition) in levels]
    return of, [name for name in panels.levels.names if name in told - levels]


def _named_events(panels: Panels) -> Iterator[Figure]:
    """Yield the events that the experiment names: counted and simulated ones apart."""
    named = (event for condition in panels.conditions for event in condition.settings.get("events", ()))
    always = {metric for metric, _ in COSTS.values()}
    for event in dict.fromkeys(named):
        words = name_of(event).replace("_", " ")
        titles = {
            f"{name_of(event)}_per_operation": f"{words} per operation",
            simulated_metric(event): f"{words} per operation, simulated and not counted",
        }
        for metric, title in titles.items():
            if metric not in always and any(condition.values(metric) for condition in panels.conditions):
                yield from over_threads(panels, metric, metric, title)


def cost(panels: Panels) -> Iterator[Figure]:
    """Yield what an operation costs, and how evenly the threads were served."""
    missing = []
    for kind, (metric, title) in COSTS.items():
        if any(condition.values(metric) for condition in panels.conditions):
            nominal = metric in EVENTS and "operations" not in panels.reported
            yield from over_threads(panels, kind, metric, title, note=NOMINAL if nominal else "")
        elif kind in COUNTERS:
            missing.append(kind)
    yield from _named_events(panels)
    if missing:
        unavailable = panels.report.example.get("counters", {}).get("unavailable", {})
        reasons = dict.fromkeys(str(unavailable[name]) for name in missing if name in unavailable)
        why = "; ".join(reasons) or "no reason was given"
        names = ", ".join(missing).replace("_", " ")
        yield Figure("counters", "Hardware counters per operation", note=f"No trial reports {names}: {why}.")
    # Fairness is of several threads that are to do the same.
    even = [
        condition
        for condition in panels.conditions
        if condition.settings.get("threads") != 1
        and len(condition.settings.get("roles", ())) <= 1
        and condition.values(FAIRNESS)
    ]
    if even:
        title = "Slowest thread / mean of all threads"
        note = "1 is even. Box: quartiles and median; whiskers: the extremes."
        yield from over_threads(panels, "fairness", FAIRNESS, title, note=note, box_of=even)
