"""What probes of a histogram or a series recorded, over all trials of a condition."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from assay.analysis.intervals import median
from assay.report.charts import alt, style
from assay.report.charts.axes import Up, ticks
from assay.report.charts.drawings import HEIGHT, lines, table, tooltip
from assay.report.charts.drawn import Figure, Row, Specification, numbers, titled, together
from assay.report.charts.panels import Condition, Panels, thinned
from assay.report.charts.style import Series
from assay.words import printable

TRIALS_AT_MOST = 20
"""Trials of a condition whose records are read: the histograms of more hardly differ."""
VALUES = 200  # at most of one line of a series

Told = Mapping[str, Any]


def probes(panels: Panels) -> Iterator[Figure]:
    """Yield for each probe and context the histogram or the series that trials recorded."""
    told = {condition.number: list(_told(panels, condition)) for condition in panels.conditions}
    kinds = {name: probe for trials in told.values() for trial in trials for name, probe in trial.items()}
    for name, probe in sorted(kinds.items()):
        unit, about = (printable(str(probe.get(key, ""))) for key in ("unit", "description"))
        title = f"Probe {name} ({unit})" if unit else f"Probe {name}"
        for part, rows_of, draw in (("buckets", _buckets, _histogram), ("values", _values, _series)):
            figures = []
            for shared, conditions in panels.apart_from(panels.factor):
                rows: list[Row] = []
                for condition in conditions:
                    mark = {"series": panels.level(condition), "condition": condition.number}
                    of_trials = [trial[name] for trial in told[condition.number] if name in trial]
                    rows += [{**mark, **row} for row in rows_of(of_trials)]
                if rows:
                    figures.append(Figure(f"probe-{name}-{part}", titled(title, shared), rows, about))
            # The title of an axis becomes part of an expression, in which Vega-Lite does not quote all.
            what = unit if re.fullmatch(r"[\w /%]+", unit) else "value"
            yield from together(figures, partial(draw, panels, what))


def _told(panels: Panels, condition: Condition) -> Iterator[Told]:
    """Yield the probes of a condition's first trials, if its metrics tell of any."""
    trials = [
        trial.id for trial in condition.trials if any(name.startswith("probe_") for name in trial.metrics)
    ]
    for record in panels.report.records(trials[:TRIALS_AT_MOST]) if trials else ():
        told = record["result"].get("probes", {})
        # A program reports every probe that it has, also those of code that the trial never ran.
        yield {name: probe for name, probe in told.items() if probe.get("sum") or probe.get("max")}


def _buckets(told: Sequence[Told]) -> Iterator[Row]:
    """Yield the share of the records in each bucket, over all trials, and 0 around and between them."""
    counts: dict[tuple[float, float], int] = defaultdict(int)
    for probe in told:
        for low, high, count in probe.get("buckets", ()):
            counts[low, high] += count
    total = sum(counts.values())
    filled = sorted((low, high + 1, count) for (low, high), count in counts.items() if count)
    before = filled[0][0] if filled else 0
    for low, above, count in filled:
        if low > before or (low, above, count) == filled[0]:
            yield {"from": before, "to": low, "count": 0, "share": 0.0}
        yield {"from": low, "to": above, "count": count, "share": count / total}
        before = above
    if filled:
        yield {"from": before, "to": before, "count": 0, "share": 0.0}


def _values(told: Sequence[Told]) -> Iterator[Row]:
    """Yield the median over trials and threads of the first value, of the second and so on."""
    lists = [values for probe in told for values in probe.get("values", ())]
    places = [
        (place, [value for value in values if value is not None])
        for place, values in enumerate(zip_longest(*lists), start=1)
    ]
    for place, values in thinned(places, VALUES)[0]:
        yield {"part": "point", "at": place, "value": median(values), "values": len(values)}


def _series_of(panels: Panels, rows: Sequence[Row]) -> Series:
    return panels.levels.only({row["series"] for row in rows})


def _histogram(panels: Panels, what: str, rows: Sequence[Row]) -> Specification:
    """Draw shares of records as outlines; buckets grow with what they count, so they have a log scale."""
    series = _series_of(panels, rows)
    x = (
        alt.X("ends:Q", title=f"{what}, log scale")
        .scale(type="symlog", constant=1, nice=False)
        .axis(grid=False, values=[0, *(10**power for power in range(19))], **ticks("x", what=what))
    )
    base = (
        table(
            y=alt.Y("share:Q", title="share of records").axis(format="%", tickCount=4),
            **series.by("color", **style.LINES),
        )
        .transform_calculate(ends="[datum.from, datum.to]")
        .transform_flatten(["ends"])
        .encode(x=x)
    )
    shown = tooltip({"series": series.title}, {"from": "from", "to": "below", "count": "records"})
    layers = [
        base.mark_line(strokeWidth=1.4).encode(
            order=alt.Order("ends:Q"), **series.by("strokeDash", **style.LINES)
        ),
        base.mark_point(opacity=0, size=60, filled=True).encode(**shown),
    ]
    return style.to_dict(alt.layer(*layers), HEIGHT, series)


def _series(panels: Panels, what: str, rows: Sequence[Row]) -> Specification:
    """Draw the values of a series in the order in which threads recorded them."""
    across = Up.sharing("values of a thread, in their order", numbers(rows, "at"), log=False)
    return lines(across, Up.sharing(what, numbers(rows, "value"), log=False), _series_of(panels, rows))
