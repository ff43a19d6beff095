"""The comparison itself: medians over threads with what they have to beat, and ratios to the baseline."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from assay.analysis import Comparison
from assay.analysis.aggregate import averaged_distribution
from assay.analysis.types import Aggregate
from assay.plan.types import Level
from assay.report import words
from assay.report.charts import drawings
from assay.report.charts.defaults import over_threads
from assay.report.charts.drawings import Across, Row, Specification, Up
from assay.report.charts.drawn import Figure, Table, column, measured, titled, together
from assay.report.charts.panels import STEPS, Condition, Panels, thinned
from assay.report.charts.style import Series
from assay.words import condition_name

MANY = 15  # conditions in a panel, beyond which their rows are drawn closer
RATIO_COLUMNS = ("part", "row", "ratio", "low", "high", "verdict", "pairs", "about", "condition")
NO_PAIR = "There is no pair of valid trials to compare yet."


def comparison(panels: Panels) -> Iterator[Figure]:
    """Yield medians and ratios side by side for each panel, then the ratios over workloads."""
    metric = panels.report.analysis.metric
    title = measured(panels.experiment, metric)
    estimates = over_threads(
        panels,
        metric,
        title,
        section="comparison",
        kind="estimates",
        beside=lambda members: _beside(panels, members),
    )
    for pair in zip_longest(estimates, _ratios(panels)):
        yield from filter(None, pair)
    yield from _aggregates(panels)


def _beside(panels: Panels, conditions: Sequence[Condition]) -> tuple[list[Row], str]:
    """Return what is drawn with medians over threads, and what is said of it."""
    if not panels.by_threads:
        return [], ""
    best, note = _single_threaded(panels, conditions)
    return [*_boundaries(panels, conditions), *best], note


def _single_threaded(panels: Panels, conditions: Sequence[Condition]) -> tuple[list[Row], str]:
    """Return the row of the best median with one thread, and at how many threads which series beats it.

    After McSherry, Isard and Murray 2015 ("Scalability! But at what COST?"): a program that scales has gained
    nothing before it beats the best one that does without.
    """
    analysis = panels.report.analysis
    sign = 1 if analysis.better == "higher" else -1
    known = [
        (condition, median)
        for condition in conditions
        if (median := analysis.conditions[condition.number - 1].median) is not None
        and panels.typical(condition)
    ]
    single = [(condition, median) for condition, median in known if condition.levels["threads"] == 1]
    if not single:
        return [], ""
    best, value = max(single, key=lambda pair: sign * pair[1])
    by_level = panels.factor != "threads"
    name = str(best.levels[panels.factor]) if by_level else "1 thread"
    first: dict[str, int] = {}
    for condition, median in known:
        threads = condition.levels["threads"]
        if isinstance(threads, int) and sign * median > sign * value:
            series = panels.name(panels.factor, condition.levels[panels.factor]) if by_level else ""
            first[series] = min(threads, first.get(series, threads))
    names = panels.levels.names if by_level else [""]
    beaten = ", ".join(
        f"{name} at {first[name]} threads".removeprefix(" at ") for name in names if name in first
    )
    row = ["best", None, None, None, value, None, None, None, best.number, f"best with 1 thread: {name}"]
    return [row], f"The best with 1 thread is {name}; first to beat it: {beaten or 'none'}."


def _boundaries(panels: Panels, conditions: Sequence[Condition]) -> Iterator[Row]:
    """Yield where threads begin to share cores and where each further socket begins, between two numbers."""
    topology = _mapping(_mapping(panels.report.example.get("environment")).get("topology"))
    pinnings = {str(panels.settings(condition).get("pinning")) for condition in conditions}
    marks = _mapping(_mapping(topology.get("marks")).get(pinnings.pop())) if len(pinnings) == 1 else {}
    across = Across("threads", panels.experiment.factors["threads"])
    low, high = across.domain() if across.numeric else (0.0, 0.0)
    sockets = marks.get("socket")
    boundaries = [(marks.get("smt"), "cores shared")]
    for number, threads in enumerate(sockets if isinstance(sockets, list) else [], start=2):
        boundaries.append((threads, f"socket {number}"))
    for threads, label in boundaries:
        if isinstance(threads, int) and low < threads - 0.5 < high:
            yield ["boundary", None, None, threads - 0.5, None, None, None, None, None, label]


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a value of others' making if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _condition(panels: Panels, compared: Comparison) -> int:
    """Return the number of the condition that is compared with the baseline."""
    levels = {**compared.context, panels.factor: compared.level}
    return panels.report.numbers[tuple(levels[factor] for factor in panels.experiment.factors)]


def _ratio_row(
    part: str, row: str, compared: Comparison | Aggregate, about: Mapping[str, Level], condition: int | None
) -> Row:
    ends = (compared.interval.low, compared.interval.high) if compared.interval else (None, None)
    where = condition_name(about) if about else ""
    return [part, row, compared.ratio, *ends, compared.verdict, compared.pairs, where, condition]


def _forests(panels: Panels, kind: str, tables: Sequence[Table], step: int) -> list[Figure]:
    """Return ratios in rows, all on one scale with the band of the smallest effect."""
    analysis = panels.report.analysis

    def specification(rows: Sequence[Row]) -> Specification:
        return drawings.forest(
            _ratio_axis(panels, column(rows, 2, 3, 4)),
            analysis.smallest_effect_percent,
            panels.factor,
            step,
            {row[5] for row in rows},
            workloads=kind == "aggregates",
        )

    some = [any(row[2] is not None for row in table.rows) for table in tables]
    given = [
        table if any_ else Table(table.title, [], NO_PAIR) for table, any_ in zip(tables, some, strict=True)
    ]
    return together("comparison", kind, RATIO_COLUMNS, given, specification)


def _ratio_axis(panels: Panels, ratios: Sequence[float]) -> Up:
    """Return the axis of ratios and of the band of the smallest effect."""
    analysis = panels.report.analysis
    largest = 1 + analysis.smallest_effect_percent / 100
    return Up.sharing(f"ratio to {analysis.baseline}", [1 / largest, largest, *ratios], log=True)


def _ratios(panels: Panels) -> list[Figure | None]:
    """Return for each panel its ratios in rows, by threads where those vary; None without any."""
    analysis = panels.report.analysis
    comparisons = {_condition(panels, compared): compared for compared in analysis.comparisons}
    threads = panels.by_threads and panels.factor != "threads"
    order = panels.experiment.factors["threads"].index if threads else None
    note = f"Rows: threads · {panels.factor}." if threads else ""
    tables: list[Table | None] = []
    for panel in panels.over_threads():
        rows = []
        ordered = panel.conditions
        if order is not None:
            ordered = sorted(ordered, key=lambda condition: order(condition.levels["threads"]))
        for condition in ordered:
            if compared := comparisons.get(condition.number):
                level = panels.name(panels.factor, compared.level)
                name = f"{condition.levels['threads']} · {level}" if threads else level
                rows.append(_ratio_row("ratio", name, compared, compared.context, condition.number))
        title = titled(f"Ratios of {analysis.metric}", panel.shared)
        tables.append(Table(title, rows, note) if rows else None)
    many = max(len(panel.conditions) for panel in panels.over_threads()) > MANY
    drawn = iter(_forests(panels, "ratios", [table for table in tables if table], 17 if many else 26))
    return [next(drawn) if table else None for table in tables]


def _aggregates(panels: Panels) -> Iterator[Figure]:
    """Yield the ratios over several workloads, with those of the workloads beside them."""
    analysis = panels.report.analysis
    groups: dict[tuple[tuple[str, Level], ...], list[Aggregate]] = {}
    for aggregate in analysis.aggregates:
        groups.setdefault(tuple(aggregate.context.items()), []).append(aggregate)
    tables = []
    for context, aggregates in groups.items():
        rows, against = [], []
        for aggregate in aggregates:
            level = panels.name(panels.factor, aggregate.level)
            rows.append(_ratio_row("ratio", level, aggregate, aggregate.context, None))
            for compared in analysis.comparisons:
                if (
                    compared.level == aggregate.level
                    and aggregate.context.items() <= compared.context.items()
                ):
                    workload = {name: compared.context[name] for name in aggregate.across}
                    rows.append(
                        _ratio_row("workload", level, compared, workload, _condition(panels, compared))
                    )
            against += [
                f"{level} is contradicted by {condition_name(workload)} ({verdict})."
                for workload, verdict in aggregate.against
            ]
        across = ", ".join(aggregates[0].across)
        legend = f"Filled: over {words.workloads(aggregates[0])} of {across}; hollow: each of them."
        note = " ".join([legend, *against])
        tables.append(Table(titled(f"Ratios of {analysis.metric} over workloads", dict(context)), rows, note))
    forests = _forests(panels, "aggregates", tables, step=38)
    for pair in zip(forests, _averaged(panels, list(groups.values())), strict=True):
        yield from pair


def _averaged(panels: Panels, groups: Sequence[Sequence[Aggregate]]) -> list[Figure]:
    """Return the averages of the workloads' distributions of ratios (Blackwell 1998, figure 4)."""
    compared = {
        panels.name(panels.factor, aggregate.level) for aggregates in groups for aggregate in aggregates
    }
    series = Series.of(panels.factor, panels.levels.names, compared)

    def specification(rows: Sequence[Row]) -> Specification:
        effect = panels.report.analysis.smallest_effect_percent
        return drawings.cumulative(_ratio_axis(panels, column(rows, 1)), series, "pairs", effect)

    tables = []
    for aggregates in groups:
        title = titled("Ratios of pairs, averaged over workloads", aggregates[0].context)
        curves = [row for aggregate in aggregates for row in _curve(panels, aggregate)]
        note = f"Over {words.workloads(aggregates[0])} (Blackwell 1998, figure 4)."
        tables.append(Table(title, curves, note if curves else "A workload has no pairs."))
    return together("comparison", "averaged", drawings.CURVE_COLUMNS, tables, specification)


def _curve(panels: Panels, aggregate: Aggregate) -> list[Row]:
    report = panels.report
    curve = averaged_distribution(report.trials, report.experiment, report.analysis, aggregate)
    kept, _ = thinned(curve, STEPS)
    steps = [(curve[0][0], 0.0), *kept, curve[-1]] if curve else []
    return [[panels.name(panels.factor, aggregate.level), ratio, share, None] for ratio, share in steps]
