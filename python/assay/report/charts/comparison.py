"""The comparison itself: medians over threads with what they have to beat, and ratios to the baseline."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

from assay.analysis import Comparison, ratios_of_pairs
from assay.analysis.types import Aggregate
from assay.plan.types import Level
from assay.report import words
from assay.report.charts import drawings
from assay.report.charts.axes import Across, Up, drawable
from assay.report.charts.defaults import over_threads
from assay.report.charts.drawn import Figure, Row, Specification, numbers, titled, together
from assay.report.charts.panels import STEPS, Condition, Panels, thinned
from assay.report.charts.style import VERDICTS
from assay.report.metrics import measured
from assay.words import condition_name, counted

MANY = 15  # conditions in a panel, beyond which their rows are drawn closer


def ratios(panels: Panels) -> Iterator[Figure]:
    """Yield the ratios to the baseline for each panel, then those over workloads."""
    yield from filter(None, _ratios(panels))
    yield from _aggregates(panels)


def medians(panels: Panels) -> Iterator[Figure]:
    """Yield medians over threads for each panel."""
    metric = panels.report.analysis.metric
    title = measured(panels.experiment, metric)
    yield from over_threads(panels, "estimates", metric, title, beside=partial(_beside, panels))


def _beside(panels: Panels, conditions: Sequence[Condition]) -> tuple[list[Row], str]:
    """Return what is drawn with medians over threads, and at how many threads which series beats the best.

    The best is that with one thread: a program that scales has gained nothing before it beats that (McSherry,
    Isard and Murray 2015, "Scalability! But at what COST?").
    """
    if not panels.by_threads:
        return [], ""
    boundaries = list(_boundaries(panels, conditions))
    sign = 1 if panels.report.analysis.better == "higher" else -1
    known = [
        (condition, sign * condition.summary.median)
        for condition in conditions
        if condition.summary.median is not None and condition.typical
    ]
    single = [pair for pair in known if pair[0].levels["threads"] == 1]
    if not single:
        return boundaries, ""
    best, value = max(single, key=itemgetter(1))
    by_level = panels.factor != "threads"
    first: dict[str, int] = {}
    for condition, median in known:
        threads = condition.levels["threads"]
        if isinstance(threads, int) and median > value:
            series = f"{panels.level(condition)} at " if by_level else ""
            first[series] = min(threads, first.get(series, threads))
    beaten = ", ".join(f"{series}{threads} threads" for series, threads in first.items()) or "none"
    name = str(best.levels[panels.factor]) if by_level else "1 thread"
    label = f"best with 1 thread: {name}"
    row = {"part": "best", "value": sign * value, "condition": best.number, "label": label}
    return [*boundaries, row], f"The best with 1 thread is {name}; first to beat it: {beaten}."


def _boundaries(panels: Panels, conditions: Sequence[Condition]) -> Iterator[Row]:
    """Yield where threads begin to share cores and where each further socket begins, between two numbers."""
    topology = _mapping(_mapping(panels.report.example.get("environment")).get("topology"))
    pinnings = {str(condition.settings.get("pinning")) for condition in conditions}
    marks = _mapping(_mapping(topology.get("marks")).get(pinnings.pop())) if len(pinnings) == 1 else {}
    across = Across("threads", panels.experiment.factors["threads"])
    low, high = across.domain() if across.numeric else (0.0, 0.0)
    sockets = marks.get("socket")
    boundaries = [(marks.get("smt"), "cores shared")]
    for number, threads in enumerate(sockets if isinstance(sockets, list) else [], start=2):
        boundaries.append((threads, f"socket {number}"))
    for threads, label in boundaries:
        if isinstance(threads, int) and low < threads - 0.5 < high:
            yield {"part": "boundary", "at": threads - 0.5, "label": label}


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a value of others' making if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _condition(panels: Panels, compared: Comparison) -> int:
    """Return the number of the condition that is compared with the baseline."""
    levels = {**compared.context, panels.factor: compared.level}
    return panels.report.numbers[tuple(levels[factor] for factor in panels.experiment.factors)]


def _ratio_row(
    part: str, name: str, compared: Comparison | Aggregate, about: Mapping[str, Level], condition: int | None
) -> Row:
    shown = [value for value in (compared.ratio,) if value and drawable(value)]
    interval = compared.interval if shown else None
    ends = [] if interval is None else [interval.low, interval.high]
    low, high = ends if ends and ends[0] > 0 and all(map(drawable, ends)) else (None, None)
    return {
        "part": part,
        "row": name,
        "ratio": shown[0] if shown else None,
        "low": low,
        "high": high,
        "series": compared.verdict,
        "pairs": compared.pairs,
        "about": condition_name(about) if about else "",
        "condition": condition,
    }


def _forests(panels: Panels, figures: Sequence[Figure], step: int) -> list[Figure]:
    """Return ratios in rows, all on one scale with the band of the smallest effect."""

    def specification(rows: Sequence[Row]) -> Specification:
        return drawings.forest(
            _ratio_axis(panels, numbers(rows, "ratio", "low", "high")),
            panels.report.analysis.smallest_effect_percent,
            panels.factor,
            VERDICTS.only({row["series"] for row in rows}),
            step=step,
            workloads=any(row["part"] == "workload" for row in rows),
        )

    no_pair = "There is no ratio above 0 to draw: no pair of valid trials, or values of 0 or below."
    return together(
        [
            _noted(figure) if numbers(figure.rows, "ratio") else replace(figure, rows=(), note=no_pair)
            for figure in figures
        ],
        specification,
    )


def _noted(figure: Figure) -> Figure:
    """Return a figure that says how many of its comparisons a logarithmic axis has no place for."""
    left = sum(row["ratio"] is None and row["pairs"] > 0 for row in figure.rows)
    if not left:
        return figure
    said = f"Not drawn, as there is no ratio above 0: {counted(left, 'comparison')}."
    return replace(figure, note=" ".join(filter(None, [figure.note, said])))


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
    numbers_of_threads = list(panels.names["threads"]) if threads else []
    cut = panels.apart_from(panels.factor, *(["threads"] if threads else []))

    def place(condition: Condition) -> int:
        return numbers_of_threads.index(condition.levels["threads"]) if threads else 0

    figures = []
    for shared, conditions in cut:
        rows = []
        for condition in sorted(conditions, key=place):
            if compared := comparisons.get(condition.number):
                level = panels.level(condition)
                name = f"{condition.levels['threads']} · {level}" if threads else level
                rows.append(_ratio_row("ratio", name, compared, compared.context, condition.number))
        title = titled(f"Ratios of {analysis.metric}", shared)
        figures.append(Figure("ratios", title, rows, f"Rows: threads · {panels.factor}." if threads else ""))
    many = max(len(conditions) for _, conditions in cut) > MANY
    forests = _forests(panels, figures, 17 if many else 26)
    return [forest if figure.rows else None for figure, forest in zip(figures, forests, strict=True)]


def _aggregates(panels: Panels) -> list[Figure]:
    """Return the ratios over several workloads, and each workload's own."""
    analysis = panels.report.analysis
    names = panels.names[panels.factor]
    groups: dict[tuple[tuple[str, Level], ...], list[Aggregate]] = {}
    for aggregate in analysis.aggregates:
        groups.setdefault(tuple(aggregate.context.items()), []).append(aggregate)
    figures = []
    for context, aggregates in groups.items():
        rows, against = [], []
        for aggregate in aggregates:
            level = names[aggregate.level]
            rows.append(_ratio_row("ratio", level, aggregate, aggregate.context, None))
            for compared in analysis.comparisons:
                if (
                    compared.level == aggregate.level
                    and aggregate.context.items() <= compared.context.items()
                ):
                    workload = {name: compared.context[name] for name in aggregate.across}
                    number = _condition(panels, compared)
                    rows.append(_ratio_row("workload", level, compared, workload, number))
            against += [
                f"{level} is contradicted by {condition_name(workload)} ({verdict})."
                for workload, verdict in aggregate.against
            ]
        over = words.workloads(aggregates[0])
        note = f"Filled: over {over} of {', '.join(aggregates[0].across)}; hollow: each of them."
        title = titled(f"Ratios of {analysis.metric} over workloads", dict(context))
        figures.append(Figure("aggregates", title, rows, " ".join([note, *against])))
    return _forests(panels, figures, step=38)


def pairs(panels: Panels) -> Iterator[Figure]:
    """Yield the ratios of the pairs of each context as cumulative curves, all on one scale."""
    report, analysis = panels.report, panels.report.analysis
    names = panels.names[panels.factor]
    curves: dict[tuple[tuple[str, Level], ...], list[Row]] = {}
    of_pairs = ratios_of_pairs(report.trials, report.experiment, analysis)
    left: dict[tuple[tuple[str, Level], ...], str] = defaultdict(str)
    for compared, ratios in zip(analysis.comparisons, of_pairs, strict=True):
        if len(ratios) < compared.pairs:
            without = counted(compared.pairs - len(ratios), "pair")
            said = f"Not drawn of {names[compared.level]}: {without} with a value that is not above 0. "
            left[tuple(compared.context.items())] += said
        shares = [(ratio, place / len(ratios)) for place, ratio in enumerate(ratios, start=1)]
        steps = [(ratios[0], 0.0), *thinned(shares, STEPS)[0], shares[-1]] if shares else []
        curves.setdefault(tuple(compared.context.items()), []).extend(
            {"series": names[compared.level], "value": ratio, "share": share} for ratio, share in steps
        )
    figures = [
        Figure("pairs", titled("Ratios of pairs", dict(context)), rows, left[context])
        for context, rows in curves.items()
        if rows
    ]

    def specification(rows: Sequence[Row]) -> Specification:
        up = _ratio_axis(panels, numbers(rows, "value"))
        series = panels.levels.only({row["series"] for row in rows})
        smallest = analysis.smallest_effect_percent
        return drawings.cumulative(up, series, "pairs", smallest_effect_percent=smallest)

    yield from together(figures, specification)
