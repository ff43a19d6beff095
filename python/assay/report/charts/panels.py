"""The tables behind the charts: the trials of a report by condition and panel, summarised and thinned."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, isnan
from typing import Any, TypeVar

import numpy as np

from assay.analysis import ConditionSummary
from assay.analysis.intervals import distribution_band, median, median_interval
from assay.plan.types import Level
from assay.report.charts.axes import drawable
from assay.report.charts.drawn import Row
from assay.report.charts.style import Series
from assay.report.gather import Report
from assay.store.types import StoredTrial

NAME_CHARACTERS = 32
# What JavaScript's objects inherit. Vega keys objects by names and would take it for what it put there: a
# zero-width space makes another name that reads the same.
INHERITED = {
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
    *("toLocaleString", "toString", "valueOf", "__proto__"),
    *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
}
STEPS = 200  # at most in one cumulative curve
BANDS = 3  # at most in one plane: more that overlap cannot be told apart

FAULTS, SWITCHES = "Page faults per million operations", "Context switches per million operations"
MEMORY = "Peak resident memory (MiB)"
EVENTS = {
    FAULTS: ("minor_page_faults", "major_page_faults"),
    SWITCHES: ("voluntary_context_switches", "involuntary_context_switches"),
}
ITERATIONS = "Iteration (ns)"
"""For fixtures: a box of the iterations of all trials, instead of one value for each trial."""
MIB = 2**20
NOMINAL = "Operations: throughput times nominal duration."

QUARTILES = {
    "least": "least",
    "lower": "lower quartile",
    "median": "median",
    "upper": "upper quartile",
    "most": "most",
}
"""Column -> what it is called."""

T = TypeVar("T")


@dataclass(frozen=True)
class Condition:
    """A condition of the experiment with its valid trials, in the order in which they ran.

    Attributes:
        number: from 1, as in links.
        summary: what the analysis makes of it.
        settings: of its trials, before any perturbation.
    """

    number: int
    summary: ConditionSummary
    settings: Mapping[str, Any]
    trials: Sequence[StoredTrial]

    @property
    def levels(self) -> Mapping[str, Level]:
        """Its level of each factor."""
        return self.summary.levels

    @property
    def typical(self) -> bool:
        """Whether the median of the compared metric may represent its values."""
        return not self.summary.shape.clusters and not self.summary.shape.note

    def values(self, name: str) -> list[tuple[float, StoredTrial]]:
        """Return the values of a metric, or of FAULTS, SWITCHES or MEMORY, with the trials that have one."""
        values = ((self._value(trial, name), trial) for trial in self.trials)
        return [(value, trial) for value, trial in values if value is not None and not isnan(value)]

    @property
    def iterations(self) -> Row | None:
        """Least, quartiles and most of a fixture's single iterations; quartiles are medians over trials."""
        percentiles = {"least": "min", "lower": "p25", "median": "p50", "upper": "p75", "most": "max"}
        row: dict[str, float] = {}
        for column, percentile in percentiles.items():
            values = [value for value, _ in self.values(f"iteration_{percentile}_ns")]
            if not values:
                return None
            row[column] = {"min": min, "max": max}.get(percentile, median)(values)
        return row

    def _value(self, trial: StoredTrial, name: str) -> float | None:
        if name == MEMORY:
            resident = metric(trial, "peak_resident_bytes")
            return None if resident is None else resident / MIB
        if name not in EVENTS:
            return metric(trial, name)
        counts = [count for event in EVENTS[name] if (count := metric(trial, event)) is not None]
        operations = metric(trial, "operations")
        if operations is None:
            operations = (metric(trial, "throughput") or 0) * self.settings.get("duration_ms", 0) / 1e3
        return sum(counts) / operations * 1e6 if counts and operations > 0 else None


Panel = tuple[Mapping[str, Level], Sequence[Condition]]
"""The levels that the conditions of one figure share, and the conditions."""


class Panels:
    """The conditions of a report, to be cut into panels.

    Attributes:
        factor: the compared one.
        levels: its levels.
        names: factor -> level -> what it is called in charts, where long names lose their middle.
        by_threads: whether several numbers of threads were run, so that metrics can be drawn over them.
        conditions: all, in the experiment's order.
        reported: the metrics that some valid trial reports.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.experiment = report.experiment
        self.factor = report.analysis.factor
        self.names = {factor: names_of(levels) for factor, levels in self.experiment.factors.items()}
        self.levels = Series.of(self.factor, self.names[self.factor].values())
        self.by_threads = len(self.experiment.factors.get("threads", ())) > 1
        valid = [trial for trial in report.trials if trial.status == "valid"]
        trials = defaultdict(list)
        for trial in valid:
            trials[report.number(trial)].append(trial)
        self.conditions = [
            Condition(number, summary, self.experiment.settings(summary.levels), trials[number])
            for number, summary in enumerate(report.analysis.conditions, start=1)
        ]
        self.reported = frozenset(name for trial in valid for name in trial.metrics)
        self._baselines = dict(self._with_baselines())

    def level(self, condition: Condition) -> str:
        """Return the name of a condition's level of the compared factor."""
        return self.names[self.factor][condition.levels[self.factor]]

    def _with_baselines(self) -> Iterator[tuple[int, Condition]]:
        """Yield the number of each condition with the condition that it is compared with."""
        levels = self.experiment.baseline_by_context()
        by_key = {tuple(condition.levels.values()): condition for condition in self.conditions}
        for condition in self.conditions:
            baseline = levels.get(self.experiment.context(condition.levels))
            if baseline is not None:
                yield condition.number, by_key[tuple({**condition.levels, self.factor: baseline}.values())]

    def ratio(self, condition: Condition, metric: str, value: float) -> float | None:
        """Return a metric's median over the baseline's in the same context; None without one."""
        baseline = self._baselines.get(condition.number)
        values = [] if baseline is None else [value for value, _ in baseline.values(metric)]
        over = median(values) if values else 0.0
        ratio = value / over if over > 0 and drawable(over) and drawable(value) else None
        return ratio if ratio is None or drawable(ratio) else None

    def apart_from(self, *factors: str) -> list[Panel]:
        """Return a panel for each combination of the levels of all factors but some."""
        return cut(self.conditions, [name for name in self.experiment.factors if name not in factors])


def cut(conditions: Sequence[Condition], factors: Collection[str]) -> list[Panel]:
    """Return one panel for each combination of the levels of some factors."""
    panels: dict[tuple[Level, ...], list[Condition]] = defaultdict(list)
    for condition in conditions:
        panels[tuple(condition.levels[factor] for factor in factors)].append(condition)
    return [(dict(zip(factors, levels, strict=True)), members) for levels, members in panels.items()]


def names_of(levels: Sequence[Level]) -> dict[Level, str]:
    """Return level -> name, no longer than NAME_CHARACTERS unless the levels differ only in their middle."""
    head, tail = NAME_CHARACTERS // 2, NAME_CHARACTERS - NAME_CHARACTERS // 2 - 1
    full = [str(level) for level in levels]
    cut = [name if len(name) <= NAME_CHARACTERS else f"{name[:head]}…{name[-tail:]}" for name in full]
    names = cut if len(set(cut)) == len(set(full)) else full
    names = [f"\u200b{name}" if name in INHERITED else name for name in names]
    return dict(zip(levels, names, strict=True))


def metric(trial: StoredTrial, name: str) -> float | None:
    """Return a metric of a trial; an integer beyond every double is infinite."""
    value = trial.metrics.get(name)
    if value is None:
        return None
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def of_hosts(values: Sequence[tuple[float, StoredTrial]]) -> list[float]:
    """Return the values that a median is of: if several hosts ran the trials, each host's own median."""
    hosts: dict[str | None, list[float]] = {}
    for value, trial in values:
        hosts.setdefault(trial.ran_on, []).append(value)
    return [value for value, _ in values] if len(hosts) < 2 else [median(each) for each in hosts.values()]


def summary(values: Sequence[float]) -> Row:
    """Return median, ends of its 95% interval (None with too few values) and their number, if any."""
    if not values:
        return {}
    interval = median_interval(values)
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {"value": median(values), "low": low, "high": high, "values": len(values)}


def steps(values: Sequence[tuple[float, StoredTrial]]) -> list[tuple[float, float, int | None]]:
    """Return a cumulative curve as (value, share of values at most that, trial), with at most STEPS steps.

    It begins at the smallest value with a share of 0 and no trial. Where there are more values, every n-th is
    kept and both extremes.
    """
    ordered = in_order(values)
    every = ceil(len(ordered) / STEPS)
    kept = sorted({0, len(ordered) - 1, *range(every - 1, len(ordered), every)}) if ordered else []
    curve = [(ordered[place][0], (place + 1) / len(ordered), ordered[place][1].id) for place in kept]
    return [(curve[0][0], 0.0, None), *curve] if curve else []


def with_band(curve: Sequence[Row], values: int, curves: int) -> Sequence[Row]:
    """Return the steps of a cumulative curve with the 95% band of the distribution: columns low and high.

    Args:
        curve: the steps, of independent values.
        values: their number.
        curves: number of curves in the plane; if they are more than BANDS, there is no band.
    """
    if not curve or curves > BANDS:
        return curve
    half = distribution_band(values) + (ceil(values / STEPS) - 1) / values  # with what `steps` leaves out
    return [
        {**step, "low": max(0, step["share"] - half), "high": min(1, step["share"] + half)} for step in curve
    ]


def independent(values: Sequence[tuple[float, StoredTrial]]) -> bool:
    """Tell whether each trial is the only one of its block, and all are of one host."""
    blocks = {trial.block for _, trial in values}
    return len(blocks) == len(values) and len({trial.ran_on for _, trial in values}) == 1


def in_order(values: Sequence[tuple[float, StoredTrial]]) -> list[tuple[float, StoredTrial]]:
    """Return values with their trials, the least first."""
    return sorted(values, key=lambda value: (value[0], value[1].id))


def quartiles(values: Sequence[float]) -> Row:
    """Return least value, lower quartile, median, upper quartile and largest value."""
    with np.errstate(all="ignore"):  # of values near the limits of a double
        quantiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    return dict(zip(QUARTILES, map(float, quantiles), strict=True))


def clock(report: Report) -> tuple[str, Callable[[StoredTrial], float]]:
    """Return the unit of the time of a campaign, and what gives how long after the first a trial was started.

    The unit is minutes, or seconds of a campaign that is shorter than two of them.
    """

    def seconds(trial: StoredTrial) -> float:
        return (trial.started_at - report.trials[0].started_at).total_seconds()

    if not report.trials or seconds(report.trials[-1]) < 120:
        return "seconds", seconds
    return "minutes", lambda trial: seconds(trial) / 60


def thinned(rows: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """Return every n-th row so that there are at most `most`, and n."""
    every = max(1, ceil(len(rows) / most))
    return rows[::every], every
