"""The comparison itself: medians over threads with what they have to beat, and ratios to the baseline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

import altair as alt

from assay.analysis import Comparison
from assay.analysis.types import Aggregate
from assay.plan.types import Level
from assay.report import words
from assay.report.charts.axes import Across, Up, drawable
from assay.report.charts.defaults import over_threads
from assay.report.charts.drawings import ENDS, of_part, table, tooltip
from assay.report.charts.drawn import Figure, Row, Specification, noted, numbers, titled, together
from assay.report.charts.panels import Condition, Panels
from assay.report.charts.style import GREY, VERDICTS, to_dict
from assay.report.metrics import measured
from assay.words import condition_name, counted

MANY = 15  # conditions in a panel, beyond which their rows are drawn closer
CAP = 9  # length of the caps of an interval, pixels


def ratios(panels: Panels) -> Iterator[Figure]:
    """Yield the ratios to the baseline for each panel, then those over workloads."""
    yield from _ratios(panels)
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
    row = {"part": "best", "value": sign * value, "label": label}
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


def _ratio_row(part: str, name: str, compared: Comparison | Aggregate, about: Mapping[str, Level]) -> Row:
    """Return a ratio with its interval, each None where a logarithmic axis has no place for it."""
    shown = compared.ratio if compared.ratio and drawable(compared.ratio) else None
    interval = compared.interval
    ends = (interval.low, interval.high) if interval and shown else ()
    low, high = ends if ends and ends[0] > 0 and all(map(drawable, ends)) else (None, None)
    return {
        "part": part,
        "row": name,
        "ratio": shown,
        "low": low,
        "high": high,
        "series": compared.verdict,
        "pairs": compared.pairs,
        "about": condition_name(about) if about else "",
    }


def _ratios(panels: Panels) -> list[Figure]:
    """Return for each panel its ratios in rows, by threads where those vary."""
    analysis = panels.report.analysis
    order = list(panels.experiment.factors)
    comparisons = {
        tuple({**compared.context, panels.factor: compared.level}[factor] for factor in order): compared
        for compared in analysis.comparisons
    }
    threads = list(panels.names["threads"]) if panels.by_threads and panels.factor != "threads" else []
    cut = panels.apart_from(panels.factor, *(["threads"] if threads else []))
    figures = []
    for shared, conditions in cut:
        rows = []
        by_threads = (
            sorted(conditions, key=lambda of: threads.index(of.levels["threads"])) if threads else conditions
        )
        for condition in by_threads:
            if compared := comparisons.get(tuple(condition.levels[factor] for factor in order)):
                level = panels.level(condition)
                name = f"{condition.levels['threads']} · {level}" if threads else level
                rows.append(_ratio_row("ratio", name, compared, compared.context))
        if rows:
            note = f"Rows: threads · {panels.factor}." if threads else ""
            figures.append(Figure("ratios", titled(f"Ratios of {analysis.metric}", shared), rows, note))
    many = max(len(conditions) for _, conditions in cut) > MANY
    return _forests(panels, figures, 17 if many else 26)


def _aggregates(panels: Panels) -> list[Figure]:
    """Return the ratios over several workloads, and each workload's own."""
    analysis, names = panels.report.analysis, panels.names[panels.factor]
    groups: dict[tuple[tuple[str, Level], ...], list[Aggregate]] = {}
    for aggregate in analysis.aggregates:
        groups.setdefault(tuple(aggregate.context.items()), []).append(aggregate)
    figures = []
    for context, aggregates in groups.items():
        rows, against = [], []
        for aggregate in aggregates:
            level = names[aggregate.level]
            rows.append(_ratio_row("ratio", level, aggregate, aggregate.context))
            for compared in analysis.comparisons:
                if (
                    compared.level == aggregate.level
                    and aggregate.context.items() <= compared.context.items()
                ):
                    workload = {name: compared.context[name] for name in aggregate.across}
                    rows.append(_ratio_row("workload", level, compared, workload))
            against += [
                f"{level} is contradicted by {condition_name(workload)} ({verdict})."
                for workload, verdict in aggregate.against
            ]
        over = words.workloads(aggregates[0])
        note = f"Filled: over {over} of {', '.join(aggregates[0].across)}; hollow: each of them."
        title = titled(f"Ratios of {analysis.metric} over workloads", dict(context))
        figures.append(Figure("aggregates", title, rows, noted(note, *against)))
    return _forests(panels, figures, 38)


def _forests(panels: Panels, figures: Sequence[Figure], step: int) -> list[Figure]:
    """Return figures on one scale; those without a ratio say why they have none."""
    no_pair = "There is no ratio above 0 to draw: no pair of valid trials, or values of 0 or below."
    shown = []
    for figure in figures:
        left = sum(row["ratio"] is None and row["pairs"] > 0 for row in figure.rows)
        said = f"Not drawn, as there is no ratio above 0: {counted(left, 'comparison')}." if left else ""
        drawn = bool(numbers(figure.rows, "ratio"))
        rows, note = (figure.rows, noted(figure.note, said)) if drawn else ((), no_pair)
        shown.append(replace(figure, rows=rows, note=note))
    return together(shown, partial(_forest, panels, step))


def _forest(panels: Panels, step: int, rows: Sequence[Row]) -> Specification:
    """Draw ratios with intervals in rows, by verdict, over the band of the smallest effect.

    Columns: part ("ratio", or "workload" for one of those that a ratio sums up), row, ratio, low, high,
    series (the verdict), pairs, about. `step` is the height of a row, pixels.
    """
    analysis = panels.report.analysis
    largest = 1 + analysis.smallest_effect_percent / 100
    inside = [1 / largest, largest]
    up = Up.sharing(
        f"ratio to {analysis.baseline}", [*inside, *numbers(rows, "ratio", "low", "high")], log=True
    )
    verdicts = VERDICTS.only({row["series"] for row in rows})
    base = table(
        y=alt.Y("row:N", title=None, sort=None).axis(labelLimit=200, grid=True, tickSize=0),
        **verdicts.by("color"),
        **tooltip(
            {"row": panels.factor, "about": "where", "series": verdicts.title},
            {"ratio": "ratio", **ENDS, "pairs": "pairs"},
        ),
    )
    whole, workload = of_part(base, "ratio"), of_part(base, "workload")
    x = {"x": up.on("x", "ratio", titleAnchor="end"), **verdicts.by("shape")}
    ends = [alt.X(f"{end}:Q", title=up.title) for end in ENDS]
    low, one = (alt.XDatum(value, title=up.title) for value in (inside[0], 1))
    layers = [
        alt.Chart().mark_rect(color=GREY, opacity=0.25).encode(x=low, x2=alt.datum(largest)),
        alt.Chart().mark_rule(color=GREY, strokeWidth=1).encode(x=one),
        # The mark is smaller than the caps, so that an interval narrower than it is still seen.
        whole.mark_point(filled=True, size=26, opacity=1).encode(**x),
        whole.mark_rule(strokeWidth=1.5).encode(x=ends[0], x2="high:Q"),
        *(whole.mark_tick(orient="vertical", size=CAP, thickness=1.5).encode(x=end) for end in ends),
    ]
    if any(row["part"] == "workload" for row in rows):
        layers.append(workload.mark_point(filled=False, size=40, yOffset=9).encode(**x))
    return to_dict(alt.layer(*layers), {"step": step}, verdicts)
