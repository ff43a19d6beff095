"""The comparison itself: medians over threads with what they have to beat, and ratios to the baseline."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assay.analysis import Comparison
from assay.analysis.aggregate import averaged_distribution
from assay.analysis.types import Aggregate
from assay.plan.types import Level
from assay.report.charts import drawings
from assay.report.charts.drawings import Across, Up
from assay.report.charts.drawn import Drawn, measured, titled, wide
from assay.report.charts.panels import STEPS, Condition, Panel, Panels, thinned
from assay.report.charts.style import Series
from assay.words import condition_name

Summary = tuple[float, float | None, float | None, int]
"""Median, both ends of its 95% interval (None with too few values), number of values."""


TRIALS_HEADING = "Every valid trial"
MANY = 15  # conditions in a panel, beyond which their rows are drawn closer


def comparison(panels: Panels) -> Iterator[Drawn]:
    """Yield medians and ratios side by side for each panel, then the ratios over workloads."""
    ratios = _ratios(panels)
    for panel, estimates in zip(panels.over_threads(), _estimates(panels), strict=True):
        yield estimates
        if found := next((drawn for of, drawn in ratios if of == panel.shared), None):
            yield found
    yield from _aggregates(panels)


def medians(
    panels: Panels,
    of: Callable[[Condition], Summary | None],
    *,
    section: str,
    kind: str,
    what: str,
    note: str = "",
    hollow: Collection[int] = (),
    beside: Callable[[Panel], list[list[Any]]] = lambda _: [],
) -> list[Drawn]:
    """Return medians with intervals over threads where those vary, else in rows; one scale for all panels.

    Args:
        hollow: the conditions whose median is not typical.
        beside: what else is drawn in a panel over threads.
    """
    series = panels.series if panels.by_threads else panels.levels.without_legend()
    across = Across("threads", panels.experiment.factors.get("threads", ()))
    tables = []
    for panel in panels.over_threads():
        rows: list[list[Any]] = []
        for condition in panel.conditions:
            found = of(condition)
            if found is None:
                continue
            if panels.by_threads:
                name, threads = panels.series_of(condition.levels), condition.levels["threads"]
                x, at = str(threads), across.at(threads, series.names.index(name), len(series.names))
            else:
                name, x, at = panels.name(panels.factor, condition.levels[panels.factor]), None, None
            part = "hollow" if condition.number in hollow else "point"
            rows.append([part, name, x, at, *found, condition.number, None])
        if rows and panels.by_threads:
            rows = [*beside(panel), *rows]
        tables.append((panel, rows))
    every = [row for _, rows in tables for row in rows]
    parts = {row[0] for row in every}
    drawn = [row for row in every if row[4] is not None]
    ends = [end for row in drawn for end in row[4:7] if end is not None]
    up = Up.sharing(what, ends, log=wide([row[4] for row in drawn]) and min(ends) > 0)
    empty = "hollow" in parts
    specification = (
        partial(
            drawings.lines,
            across,
            up,
            series,
            best="best" in parts,
            boundaries="boundary" in parts,
            hollow=empty,
        )
        if panels.by_threads
        else partial(drawings.rows, up, series, hollow=empty)
    )
    return [
        Drawn(
            section=section,
            kind=kind,
            title=titled(what, panel.shared),
            columns=drawings.MEDIAN_COLUMNS,
            rows=rows,
            specification=specification,
            note=note if rows else "No valid trial reports it.",
        )
        for panel, rows in tables
    ]


def _estimates(panels: Panels) -> Iterator[Drawn]:
    """Yield the medians of the compared metric, with what belongs to the number of threads."""
    analysis = panels.report.analysis

    def of(condition: Condition) -> Summary | None:
        found = analysis.conditions[condition.number - 1]
        if found.median is None:
            return None
        ends = (found.interval.low, found.interval.high) if found.interval else (None, None)
        return found.median, *ends, found.values

    across = Across("threads", panels.experiment.factors.get("threads", ()))

    def beside(panel: Panel) -> list[list[Any]]:
        boundaries = [
            ["boundary", None, None, at, None, None, None, None, None, label]
            for at, label in _boundaries(panels, panel, across)
        ]
        return boundaries + _single_threaded(panels, panel)[0]

    every = medians(
        panels,
        of,
        section="comparison",
        kind="estimates",
        what=measured(panels.experiment, analysis.metric),
        hollow={condition.number for condition in panels.conditions if not _typical(panels, condition)},
        beside=beside,
    )
    for panel, drawn in zip(panels.over_threads(), every, strict=True):
        if not drawn.rows:
            yield drawn
            continue
        notes = [_single_threaded(panels, panel)[1]] if panels.by_threads else []
        if any(row[0] == "hollow" for row in drawn.rows):
            notes.append(f"Hollow: no typical value, see its distribution under “{TRIALS_HEADING}”.")
        yield replace(drawn, note=" ".join(filter(None, notes)))


def _typical(panels: Panels, condition: Condition) -> bool:
    """Whether the median of a condition may stand for its values."""
    shape = panels.report.analysis.conditions[condition.number - 1].shape
    return not shape.modes and not shape.note


def _single_threaded(panels: Panels, panel: Panel) -> tuple[list[list[Any]], str]:
    """Return the row of the best median with one thread, and at how many threads which series beats it.

    After McSherry, Isard and Murray 2015 ("Scalability! But at what COST?"): a program that scales has gained
    nothing before it beats the best one that does without.
    """
    analysis = panels.report.analysis
    sign = 1 if analysis.better == "higher" else -1
    known = [
        (condition, median)
        for condition in panel.conditions
        if (median := analysis.conditions[condition.number - 1].median) is not None
        and _typical(panels, condition)
    ]
    single = [(condition, median) for condition, median in known if condition.levels["threads"] == 1]
    if not single:
        return [], ""
    best, value = max(single, key=lambda each: sign * each[1])
    name = str(best.levels[panels.factor]) if panels.factor != "threads" else "1 thread"
    first: dict[str, int] = {}
    for condition, median in known:
        threads = condition.levels["threads"]
        if isinstance(threads, int) and sign * median > sign * value:
            series = panels.series_of(condition.levels)
            first[series] = min(threads, first.get(series, threads))
    beaten = ", ".join(
        f"{name} at {first[name]} threads" if panels.factor != "threads" else f"{first[name]} threads"
        for name in panels.series.names
        if name in first
    )
    row = ["best", None, None, None, value, None, None, None, best.number, f"best with 1 thread: {name}"]
    return [row], f"The best with 1 thread is {name}; first to beat it: {beaten or 'none'}."


def _boundaries(panels: Panels, panel: Panel, across: Across) -> Iterator[tuple[float, str]]:
    """Yield where threads begin to share cores and where each further socket begins, between two numbers."""
    topology = _mapping(_mapping(panels.report.example.get("environment")).get("topology"))
    pinnings = {
        str(panels.experiment.settings(condition.levels).get("pinning")) for condition in panel.conditions
    }
    marks = _mapping(_mapping(topology.get("marks")).get(pinnings.pop())) if len(pinnings) == 1 else {}
    low, high = across.domain() if across.numeric else (0.0, 0.0)
    sockets = marks.get("socket")
    found = [(marks.get("smt"), "cores shared")]
    for number, threads in enumerate(sockets if isinstance(sockets, list) else [], start=2):
        found.append((threads, f"socket {number}"))
    for threads, label in found:
        if isinstance(threads, int) and low < threads - 0.5 < high:
            yield threads - 0.5, label


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a value of others' making if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


_RATIOS = ("part", "row", "ratio", "low", "high", "verdict", "pairs", "about", "condition")


def _key(panels: Panels, found: Comparison) -> tuple[Level, ...]:
    """Return the levels of the condition that is compared with the baseline."""
    levels = {**found.context, panels.factor: found.level}
    return tuple(levels[factor] for factor in panels.experiment.factors)


def _ratio_row(
    part: str, row: str, found: Comparison | Aggregate, about: Mapping[str, Level], condition: int | None
) -> list[Any]:
    ends = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return [
        part,
        row,
        found.ratio,
        *ends,
        found.verdict,
        found.pairs,
        condition_name(about) if about else "",
        condition,
    ]


def _forests(
    panels: Panels, kind: str, tables: Sequence[tuple[str, list[list[Any]], str]], *, step: int
) -> list[Drawn]:
    """Return the figures of titles, ratios in rows and notes, all on one scale with the band."""
    analysis = panels.report.analysis
    drawn = [row for _, rows, _ in tables for row in rows]
    largest = 1 + analysis.smallest_effect_percent / 100
    ends = [end for row in drawn for end in row[2:5] if end is not None]
    specification = partial(
        drawings.forest,
        Up.sharing(f"ratio to {analysis.baseline}", [1 / largest, largest, *ends], log=True),
        analysis.smallest_effect_percent,
        panels.factor,
        step,
        {row[5] for row in drawn},
        workloads=kind == "aggregates",
    )
    return [
        Drawn(
            section="comparison",
            kind=kind,
            title=title,
            columns=_RATIOS,
            rows=rows if (some := any(row[2] is not None for row in rows)) else [],
            specification=specification,
            note=note if some else "There is no pair of valid trials to compare yet.",
        )
        for title, rows, note in tables
    ]


def _ratios(panels: Panels) -> list[tuple[Mapping[str, Level], Drawn]]:
    """Return for the levels that a panel shares its ratios in rows, by threads where those vary."""
    report = panels.report
    comparisons = {_key(panels, found): found for found in report.analysis.comparisons}
    threads = panels.by_threads and panels.factor != "threads"
    tables = []
    for panel in panels.over_threads():
        rows = []
        for condition in sorted(
            panel.conditions,
            key=lambda each: (
                panels.experiment.factors["threads"].index(each.levels["threads"]) if threads else 0,
                each.number,
            ),
        ):
            found = comparisons.get(tuple(condition.levels.values()))
            if found is not None:
                level = panels.name(panels.factor, found.level)
                name = f"{condition.levels['threads']} · {level}" if threads else level
                rows.append(_ratio_row("ratio", name, found, found.context, condition.number))
        if rows:
            tables.append((panel.shared, rows))
    note = f"Rows: threads · {panels.factor}." if threads else ""
    many = max(len(each.conditions) for each in panels.over_threads()) > MANY
    drawn = _forests(
        panels,
        "ratios",
        [(titled(f"Ratios of {report.analysis.metric}", shared), rows, note) for shared, rows in tables],
        step=17 if many else 26,
    )
    return [(shared, each) for (shared, _), each in zip(tables, drawn, strict=True)]


def _aggregates(panels: Panels) -> Iterator[Drawn]:
    """Yield the ratios over several workloads, with those of the workloads beside them."""
    report = panels.report
    groups: dict[tuple[tuple[str, Level], ...], list[Aggregate]] = {}
    for aggregate in report.analysis.aggregates:
        groups.setdefault(tuple(aggregate.context.items()), []).append(aggregate)
    tables = []
    for context, aggregates in groups.items():
        rows, against = [], []
        for aggregate in aggregates:
            level = panels.name(panels.factor, aggregate.level)
            rows.append(_ratio_row("ratio", level, aggregate, aggregate.context, None))
            for found in report.analysis.comparisons:
                if found.level == aggregate.level and aggregate.context.items() <= found.context.items():
                    workload = {name: found.context[name] for name in aggregate.across}
                    number = report.numbers[_key(panels, found)]
                    rows.append(_ratio_row("workload", level, found, workload, number))
            against += [
                f"{level} with {condition_name(workload)} ({verdict})"
                for workload, verdict in aggregate.against
            ]
        across = ", ".join(aggregates[0].across)
        note = f"Filled: over {aggregates[0].workloads} workloads ({across}); hollow: each of them."
        if against:
            note += f" The other way: {'; '.join(against)}."
        title = titled(f"Ratios of {report.analysis.metric} over workloads", dict(context))
        tables.append((title, rows, note))
    forests = _forests(panels, "aggregates", tables, step=38)
    for forest, averaged in zip(forests, _averaged(panels, list(groups.values())), strict=True):
        yield forest
        yield averaged


def _averaged(panels: Panels, groups: Sequence[Sequence[Aggregate]]) -> list[Drawn]:
    """Return the averages of the workloads' distributions of ratios (Blackwell 1998, figure 4)."""
    report = panels.report
    every = [_curves(panels, aggregates) for aggregates in groups]
    largest = 1 + report.analysis.smallest_effect_percent / 100
    ends = [1 / largest, largest, *(row[1] for curves in every for row in curves)]
    compared = {panels.name(panels.factor, each.level) for aggregates in groups for each in aggregates}
    specification = partial(
        drawings.cumulative,
        Up.sharing(f"ratio to {report.analysis.baseline}", ends, log=True),
        Series.of(panels.factor, panels.levels.names, compared),
        "pairs",
        report.analysis.smallest_effect_percent,
    )
    return [
        Drawn(
            section="comparison",
            kind="averaged",
            title=titled("Ratios of pairs, averaged over workloads", aggregates[0].context),
            columns=("series", "value", "share", "trial"),
            rows=curves,
            specification=specification,
            note="Each workload has the same weight (Blackwell 1998, figure 4)."
            if curves
            else "There is a workload without pairs.",
        )
        for aggregates, curves in zip(groups, every, strict=True)
    ]


def _curves(panels: Panels, aggregates: Sequence[Aggregate]) -> list[list[Any]]:
    report = panels.report
    curves: list[list[Any]] = []
    for aggregate in aggregates:
        every = averaged_distribution(report.trials, report.experiment, report.analysis, aggregate)
        kept, _ = thinned(every, STEPS)
        steps = [(every[0][0], 0.0), *kept, every[-1]] if every else []
        curves += [
            [panels.name(panels.factor, aggregate.level), ratio, share, None] for ratio, share in steps
        ]
    return curves
