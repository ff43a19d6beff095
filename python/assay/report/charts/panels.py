"""The tables behind the charts: the trials of a report by condition and panel, summarised and thinned."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, isnan
from typing import Any, TypeVar

import numpy as np

from assay.analysis.intervals import median, median_interval
from assay.experiment import Experiment
from assay.plan.types import Level
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

FAULTS, SWITCHES = "Page faults per million operations", "Context switches per million operations"
MEMORY = "Peak resident memory (MiB)"
EVENTS = {
    FAULTS: ("minor_page_faults", "major_page_faults"),
    SWITCHES: ("voluntary_context_switches", "involuntary_context_switches"),
}
MIB = 2**20
NOMINAL = "Operations: throughput times nominal duration."

Value = Callable[[StoredTrial], float | None]
T = TypeVar("T")
Summary = tuple[float, float | None, float | None, int]
"""Median, both ends of its 95% interval (None with too few values), number of values."""


@dataclass(frozen=True)
class Condition:
    """A condition of the experiment with its valid trials, in the order in which they ran.

    Attributes:
        number: from 1, as in links.
    """

    number: int
    levels: Mapping[str, Level]
    trials: Sequence[StoredTrial]

    def values(self, value: Value) -> list[tuple[float, StoredTrial]]:
        """Return the values of the trials that have one."""
        numbers = ((value(trial), trial) for trial in self.trials)
        return [(number, trial) for number, trial in numbers if number is not None and not isnan(number)]


@dataclass(frozen=True)
class Panel:
    """The conditions that are drawn in one figure, and the levels that they share."""

    shared: Mapping[str, Level]
    conditions: Sequence[Condition]


@dataclass(frozen=True)
class Panels:
    """The conditions of a report, cut into panels."""

    report: Report

    @property
    def experiment(self) -> Experiment:
        """Return the experiment."""
        return self.report.experiment

    @property
    def factor(self) -> str:
        """Return the compared factor."""
        return self.report.analysis.factor

    @cached_property
    def conditions(self) -> list[Condition]:
        """Return every condition, in the experiment's order."""
        trials: dict[int, list[StoredTrial]] = defaultdict(list)
        for trial in self.report.trials:
            if trial.status == "valid":
                trials[self.report.number(trial)].append(trial)
        return [
            Condition(number, condition.levels, trials[number])
            for number, condition in enumerate(self.report.analysis.conditions, start=1)
        ]

    @cached_property
    def reported(self) -> frozenset[str]:
        """Return the metrics that some valid trial reports."""
        return frozenset(
            name for condition in self.conditions for trial in condition.trials for name in trial.metrics
        )

    def value(self, name: str) -> Value:
        """Return what gives a metric of a trial, or one of FAULTS, SWITCHES and MEMORY."""
        if name in EVENTS:
            return lambda trial: self._per_million(trial, EVENTS[name])
        if name == MEMORY:
            return lambda trial: (
                None if (value := metric(trial, "peak_resident_bytes")) is None else value / MIB
            )
        return lambda trial: metric(trial, name)

    def _per_million(self, trial: StoredTrial, names: Sequence[str]) -> float | None:
        """Return the sum of some counts for each million of operations.

        Where trials report no number of operations, it is their throughput times the nominal duration.
        """
        counts = [count for name in names if (count := metric(trial, name)) is not None]
        operations = metric(trial, "operations")
        if operations is None:
            ms: float = self.settings(trial).get("duration_ms", 0)
            operations = (metric(trial, "throughput") or 0) * ms / 1e3
        return sum(counts) / operations * 1e6 if counts and operations > 0 else None

    def typical(self, condition: Condition) -> bool:
        """Whether the median of the compared metric may stand for its values in a condition."""
        shape = self.report.analysis.conditions[condition.number - 1].shape
        return not shape.clusters and not shape.note

    @cached_property
    def by_threads(self) -> bool:
        """Whether several numbers of threads were run, so that metrics can be drawn over them."""
        return len(self.experiment.factors.get("threads", ())) > 1

    @cached_property
    def levels(self) -> Series:
        """Return the levels of the compared factor."""
        return Series.of(self.factor, list(self._names[self.factor].values()))

    def name(self, factor: str, level: Level) -> str:
        """Return what a level is called in charts: long names lose their middle."""
        return self._names[factor][level]

    @cached_property
    def _names(self) -> dict[str, dict[Level, str]]:
        return {factor: names_of(levels) for factor, levels in self.experiment.factors.items()}

    @cached_property
    def _settings(self) -> dict[tuple[Level, ...], dict[str, Any]]:
        return {
            tuple(condition.levels.values()): self.experiment.settings(condition.levels)
            for condition in self.conditions
        }

    def settings(self, of: Condition | StoredTrial) -> dict[str, Any]:
        """Return the trial settings of a condition, or of a trial's, before any perturbation."""
        return self._settings[tuple(of.levels[factor] for factor in self.experiment.factors)]

    def over_threads(self) -> list[Panel]:
        """Return one panel for each context, less the number of threads where that is drawn across."""
        return self._cut({self.factor, "threads"} if self.by_threads else {self.factor})

    def contexts(self) -> list[Panel]:
        """Return one panel for each context."""
        return self._cut({self.factor})

    def _cut(self, free: set[str]) -> list[Panel]:
        return cut(self.conditions, [factor for factor in self.experiment.factors if factor not in free])


def cut(conditions: Sequence[Condition], factors: Collection[str]) -> list[Panel]:
    """Return one panel for each combination of the levels of some factors."""
    panels: dict[tuple[Level, ...], list[Condition]] = defaultdict(list)
    for condition in conditions:
        panels[tuple(condition.levels[factor] for factor in factors)].append(condition)
    return [Panel(dict(zip(factors, levels, strict=True)), members) for levels, members in panels.items()]


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


def summary(values: Sequence[float]) -> Summary | None:
    """Return median, both ends of its 95% interval (None with too few) and number of values; None of none."""
    if not values:
        return None
    interval = median_interval(values)
    ends = (interval.low, interval.high) if interval else (None, None)
    return median(values), *ends, len(values)


def steps(values: Sequence[tuple[float, StoredTrial]]) -> list[tuple[float, float, int | None]]:
    """Return a cumulative curve as (value, share of values at most that, trial), with at most STEPS steps.

    It begins at the smallest value with a share of 0 and no trial. Where there are more values, every n-th is
    kept and both extremes.
    """
    ordered = sorted(values, key=lambda value: (value[0], value[1].id))
    every = ceil(len(ordered) / STEPS)
    kept = sorted({0, len(ordered) - 1, *range(every - 1, len(ordered), every)}) if ordered else []
    curve = [(ordered[place][0], (place + 1) / len(ordered), ordered[place][1].id) for place in kept]
    return [(curve[0][0], 0.0, None), *curve] if curve else []


def quartiles(values: Sequence[float]) -> tuple[float, float, float, float, float]:
    """Return the least value, the lower quartile, the median, the upper quartile and the largest value."""
    with np.errstate(all="ignore"):  # of values near the limits of a double
        least, lower, middle, upper, most = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    return float(least), float(lower), float(middle), float(upper), float(most)


def unit_of_time(report: Report) -> str:
    """Return the unit of the time of a campaign: minutes, or seconds of one shorter than two minutes."""
    short = not report.trials or _seconds(report, report.trials[-1]) < 120
    return "seconds" if short else "minutes"


def since_first(report: Report, trial: StoredTrial) -> float:
    """Return how long after the first trial a trial was started, in the unit of time."""
    return _seconds(report, trial) / (1 if unit_of_time(report) == "seconds" else 60)


def _seconds(report: Report, trial: StoredTrial) -> float:
    return (trial.started_at - report.trials[0].started_at).total_seconds()


def thinned(rows: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """Return every n-th row so that there are at most `most`, and n."""
    every = max(1, ceil(len(rows) / most))
    return rows[::every], every


def short(value: Any) -> Any:
    """Return a number with nine digits, which is more than a chart shows; anything else as it is."""
    return float(f"{value:.9g}") if isinstance(value, float) else value
