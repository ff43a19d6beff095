"""What another tool measured, and in figures of their own beside it, on the same axis, what Assay did."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from assay.report.charts import alt, style
from assay.report.charts.axes import Up
from assay.report.charts.drawings import TO_CAMPAIGN, clickable, of_part, table
from assay.report.charts.drawn import Figure, Row, Specification, noted, numbers, titled, together
from assay.report.charts.style import Series
from assay.words import counted, shared
from assay_foreign.report import ReferenceCampaign
from assay_foreign.trials import value_of
from assay_foreign.types import ForeignRun

ROWS_AT_MOST = 40
"""Benchmarks, or conditions of ours, in one figure."""
VALUES_AT_MOST = 100
"""Processes of each that are drawn."""
STEP = 24  # height of a row, pixels

OURS = "Assay"
WHAT = {"ns": "time (ns)", "op/s": "operations a second", "bytes": "memory (bytes)", "": "value"}
"""Unit -> what an axis says of it; of any other unit its name."""


def figures_beside(tool: str, run: ForeignRun, ours: Sequence[ReferenceCampaign]) -> list[Figure]:
    """Return the figures: for each unit that of the tool, then those of ours on the same axis.

    Nothing is merged: no figure holds values of both.
    """
    series = Series.of("measured by", (tool, OURS), legend=False)
    valid = [benchmark for benchmark in run.benchmarks if not benchmark.failure]
    units = dict.fromkeys(benchmark.measures[0].unit for benchmark in valid)
    figures: list[Figure] = []
    for number, unit in enumerate(units, start=1):
        kind = f"beside-{number}"
        drawn = [
            _of_tool(kind, tool, run, unit),
            *(_of_ours(kind, side) for side in ours if side.unit == unit),
        ]
        figures += together(drawn, partial(_specification, WHAT.get(unit, unit), series))
    return [replace(figure, name=f"{figure.kind}-{place}") for place, figure in enumerate(figures, start=1)]


def _of_tool(kind: str, tool: str, run: ForeignRun, unit: str) -> Figure:
    valid = [
        benchmark
        for benchmark in run.benchmarks
        if not benchmark.failure and benchmark.measures[0].unit == unit
    ]
    common = shared([benchmark.parameters for benchmark in valid])
    benchmarks = [(benchmark.titled(common), benchmark.measures[0]) for benchmark in valid]
    rows: list[Row] = []
    notes = set()
    for name, measure in benchmarks[:ROWS_AT_MOST]:
        if measure.summary is not None:
            ends = {"low": measure.summary.low, "high": measure.summary.high}
            rows.append(
                {"part": "median", "row": name, "series": tool, "value": measure.summary.value, **ends}
            )
            interval = ", with its interval" if measure.summary.low is not None else ""
            notes.add(f"Large: the {measure.summary.statistic} of {tool}{interval}, without samples.")
            continue
        values = [value_of(measure, process) for process in range(len(measure.samples))]
        rows += _samples(name, tool, values if len(values) > 1 else measure.samples[0])
        rows.append({"part": "median", "row": name, "series": tool, "value": median(values)})
        notes.add(
            "Small: each process. Large: their median."
            if len(values) > 1
            else "Small: each sample of the one process. Large: their mean."
        )
    metrics = ", ".join(dict.fromkeys(measure.metric for _, measure in benchmarks))
    note = noted(*sorted(notes), _left_out(benchmarks, "benchmark"))
    return Figure(kind, titled(f"{tool}, {metrics}", common), rows, note)


def _of_ours(kind: str, side: ReferenceCampaign) -> Figure:
    rows: list[Row] = []
    for condition in side.conditions[:ROWS_AT_MOST]:
        about = {"row": condition.name, "series": OURS, "campaign": side.campaign}
        rows += [{**row, **about} for row in _samples(condition.name, OURS, condition.values)]
        interval = condition.interval
        ends = {"low": interval.low, "high": interval.high} if interval else {}
        rows.append({"part": "median", **about, "value": condition.median, **ends})
    return Figure(
        kind,
        titled(f"Assay, campaign {side.campaign} of {side.experiment}, {side.metric}", side.shared),
        rows,
        noted(
            f"{side.mark[:1].upper()}{side.mark[1:]}." if side.mark else "",
            "Small: each trial. Large: the median with its 95% interval.",
            _left_out(side.conditions, "condition"),
        ),
    )


def _samples(name: str, series: str, values: Sequence[float]) -> Iterator[Row]:
    """Yield a mark for each value, or for some of very many."""
    every = -(-len(values) // VALUES_AT_MOST)
    return ({"part": "sample", "row": name, "series": series, "value": value} for value in values[::every])


def _left_out(things: Sequence[object], what: str) -> str:
    more = len(things) - ROWS_AT_MOST
    return f"{counted(more, f'more {what}')}: see the numbers." if more > 0 else ""


def _specification(what: str, series: Series, rows: Sequence[Row]) -> Specification:
    values = numbers(rows, "value", "low", "high")
    log = bool(values) and min(values) > 0
    up = Up.sharing(what, values, log=log)
    base = table(
        TO_CAMPAIGN,
        y=alt.Y("row:N", title=None, sort=None).axis(labelLimit=220, grid=True, tickSize=0),
        **series.by("color"),
        **clickable({"row": "of", "series": "measured by"}, {"value": what, "low": "from", "high": "to"}),
    )
    x = up.on("x", "value", titleAnchor="end")
    medians = of_part(base, "median")
    layers = [
        of_part(base, "sample").mark_point(filled=True, size=14, opacity=0.45).encode(x=x),
        medians.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", title=up.title), x2="high:Q"),
        medians.mark_point(filled=True, size=60, opacity=1).encode(x=x, **series.by("shape")),
    ]
    return style.to_dict(alt.layer(*layers), {"step": STEP}, series)
