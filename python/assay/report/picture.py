"""Pictures that answer: ratios with intervals by context, to the baseline, best first, and from rung to rung.

If the experiment says what others report, levels have its order, and a bar shows what is reported.
It is HTML, so that it is there at once, prints, and needs no script. Better is to the right.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, exp, floor, log, log10

from assay.analysis.types import LevelEffect
from assay.analysis.verdicts import verdict_word
from assay.report import words
from assay.report.answers import AnswerRow
from assay.report.charts.axes import LEAST, MOST, drawable
from assay.report.gather import Report
from assay.words import counted, number

TICKS_AT_MOST = 7
ROOM = 0.03  # of the axis, beyond the outermost number at either end
NARROWEST = 1e-6
"""Room beyond the outermost ratios, of logarithms: a double has too few digits for ticks that are closer."""


@dataclass(frozen=True)
class PictureRow:
    """An answer as it is drawn. Places are percent of the width of the plot; None: there is nothing to draw.

    Attributes:
        at: the place of the ratio or the difference.
        interval: where it begins and how wide it is.
        about: all that is known of it, in a sentence.
        lacks: where nothing can be drawn, the difference, or in a word why there is none; `about` says more.
        reported: where the ratios that others report begin, and how wide they are; None where none are given.
    """

    answer: AnswerRow
    at: float | None
    interval: tuple[float, float] | None
    about: str
    lacks: str
    reported: tuple[float, float] | None = None


@dataclass(frozen=True)
class Panel:
    """The ratios of one context, and the median of what they are compared with."""

    context: str
    baseline: str
    rows: list[PictureRow]


@dataclass(frozen=True)
class Picture:
    """All panels on one axis: a logarithmic one of ratios, or one of differences in the metric's units.

    Attributes:
        ticks: places and labels.
        one: the place of a ratio of 1, or of a difference of 0.
        band: begin and width of what counts as equivalent.
        backward: whether smaller ratios are better, and are to the right.
        reported: whether some row shows what others report.
    """

    panels: list[Panel]
    ticks: list[tuple[float, str]]
    one: float
    band: tuple[float, float]
    better: str
    worse: str
    backward: bool
    reported: bool


def picture(report: Report) -> Picture:
    """Return the ratios of a campaign by context, and those over workloads after them."""
    axis = _axis(report, report.analysis.answers)
    return _picture(report, axis, [*_contexts(report, axis), *_wholes(report, axis)])


def ladders(report: Report) -> Picture | None:
    """Return the ratios of each rung to the one before it; None where the experiment has no ladders."""
    if not report.analysis.rungs:
        return None
    axis = _axis(report, report.analysis.rungs)
    contexts = groupby(report.answers.rungs, lambda row: row.context)
    panels = [Panel(context, "", [_row(report, axis, row) for row in rows]) for context, rows in contexts]
    return _picture(report, axis, panels)


def _axis(report: Report, answers: Sequence[LevelEffect]) -> "_Axis":
    """Return the axis of some answers, of what others report, and of the band of the smallest effect."""
    analysis, values = report.analysis, list(_same(report))
    linear = analysis.smallest_effect is not None
    axis = _Axis(values, linear=linear, backward=analysis.better == "lower")
    for answer in answers:
        change = axis.change(answer)
        values += [
            *(_reported(report, answer) or ()),
            *axis.ends(answer),
            *([] if change is None else [change]),
        ]
    axis.fit(values)
    return axis


def _same(report: Report) -> tuple[float, float]:
    """Return from and to which value changes are equivalent."""
    analysis = report.analysis
    if analysis.smallest_effect is not None:
        smallest = min(max(analysis.smallest_effect, LEAST), MOST)
        return -smallest, smallest
    smallest = 1 + analysis.smallest_effect_percent / 100
    return 1 / smallest, smallest


def _picture(report: Report, axis: "_Axis", panels: list[Panel]) -> Picture:
    analysis = report.analysis
    unit = report.experiment.unit(analysis.metric)
    return Picture(
        panels=panels,
        ticks=axis.ticks(),
        one=axis.place(0 if axis.linear else 1),
        band=axis.span(*_same(report)),
        better=verdict_word("faster", analysis.metric, unit),
        worse=verdict_word("slower", analysis.metric, unit),
        backward=axis.backward,
        reported=any(row.reported for panel in panels for row in panel.rows),
    )


class _Axis:
    """An axis from 0 to 100 percent: a logarithmic one of ratios, or a linear one of differences."""

    def __init__(self, values: Iterable[float], *, linear: bool, backward: bool) -> None:
        self.linear = linear
        self.backward = backward
        self.fit(values)

    def fit(self, values: Iterable[float]) -> None:
        """Begin and end a little beyond some values."""
        scaled = list(map(self._scaled, values))
        low, high = min(scaled), max(scaled)
        room = max(ROOM * (high - low), LEAST if self.linear else NARROWEST)
        self._low, self._high = low - room, high + room

    def _scaled(self, value: float) -> float:
        return value if self.linear else log(value)

    def _can_place(self, value: float) -> bool:
        return drawable(value) and (self.linear or value > 0)

    def change(self, answer: LevelEffect) -> float | None:
        """Return what is placed of an answer; None where there is nothing."""
        change = answer.difference if self.linear else answer.ratio
        return change if change is not None and self._can_place(change) else None

    def ends(self, answer: LevelEffect) -> list[float]:
        """Return those ends of the interval of an answer that can be placed."""
        known = answer.difference if self.linear else answer.ratio
        ends = (answer.interval.low, answer.interval.high) if answer.interval and known is not None else ()
        return [end for end in ends if self._can_place(end)]

    def place(self, value: float) -> float:
        """Return the place of a value in percent."""
        share = (self._scaled(value) - self._low) / (self._high - self._low)
        return round(100 * (1 - share if self.backward else share), 3)

    def span(self, low: float, high: float) -> tuple[float, float]:
        """Return where the values from one to another begin, and how wide they are."""
        begin, end = sorted((self.place(low), self.place(high)))
        return begin, round(end - begin, 3)

    def ticks(self) -> list[tuple[float, str]]:
        """Return round values, that of no change among them, as many as there is room for."""
        values = _multiples(self._low, self._high) if self.linear else self._ratios()
        return [(self.place(value), number(value, 3) if self.linear else f"{value:.6g}") for value in values]

    def _ratios(self) -> list[float]:
        low, high = exp(self._low), exp(self._high)
        if high < 4 * low:
            return _multiples(low, high)
        powers = range(floor(log10(low)), ceil(log10(high)) + 1)
        for mantissas, every in (((1, 2, 5), 1), *(((1,), 2**n) for n in range(9))):
            chosen = (mantissa * 10.0**n for n in powers if n % every == 0 for mantissa in mantissas)
            inside = [ratio for ratio in chosen if low <= ratio <= high]
            if len(inside) <= TICKS_AT_MOST:
                return inside
        return [1.0]


def _multiples(low: float, high: float) -> list[float]:
    """Return the multiples between two numbers of the smallest step of 1, 2 or 5 of which there are few."""
    size = floor(log10((high - low) / TICKS_AT_MOST))
    for step in (mantissa * 10.0**power for power in (size, size + 1) for mantissa in (1, 2, 5)):
        first, last = ceil(low / step), floor(high / step)
        if last - first < TICKS_AT_MOST:
            return [n * step for n in range(first, last + 1)]
    return [0]


def _contexts(report: Report, axis: _Axis) -> Iterator[Panel]:
    for context in report.answers.contexts:
        rows = [_row(report, axis, row) for row in context.compared]
        baselines = [f"{row.level}: {_median(row)}" for row in context.rows if row.answer is None]
        if rows:
            # One context needs no name.
            yield Panel(context.rows[0].context, "; ".join(baselines), _sorted(rows, report))


def _wholes(report: Report, axis: _Axis) -> Iterator[Panel]:
    groups: dict[str, list[AnswerRow]] = {}
    for row in report.answers.aggregates:
        over = f"over {row.workloads} of {' and '.join(report.experiment.comparison.across)}"
        groups.setdefault(", ".join(filter(None, [row.context, over])), []).append(row)
    for place, rows in groups.items():
        yield Panel(place, "", _sorted([_row(report, axis, row) for row in rows], report))


def _sorted(rows: list[PictureRow], report: Report) -> list[PictureRow]:
    """Return the best first and rows without a ratio last; in the file's order if others report ratios."""
    if report.experiment.reported:
        levels = [str(level) for level in report.experiment.factors[report.analysis.factor]]
        return sorted(rows, key=lambda row: levels.index(row.answer.level))
    return sorted(rows, key=lambda row: -1.0 if row.at is None else row.at, reverse=True)


def _row(report: Report, axis: _Axis, row: AnswerRow) -> PictureRow:
    answer = row.answer
    assert answer is not None
    change, ends, theirs = axis.change(answer), axis.ends(answer), _reported(report, answer)
    ratio, interval = row.brief
    median = "" if row.condition is None else f"; median {_median(row)}"
    numbers = (
        f"{ratio}{' times' if answer.difference is None else ' beside'} {answer.baseline}"
        f"{f', interval {interval}' if interval else ''}; {row.word}, p {row.p}, "
        f"{counted(answer.pairs, 'pair')}{median}{row.zeros and f'; {row.zeros}'}"
    )
    return PictureRow(
        answer=row,
        at=None if change is None else axis.place(change),
        interval=axis.span(*ends) if change is not None and len(ends) == 2 else None,
        about=f"{answer.level}: {numbers if answer.pairs else answer.reason or 'no pairs'}",
        lacks=_lacks(row) if change is None else "",
        reported=axis.span(*theirs) if theirs else None,
    )


def _lacks(row: AnswerRow) -> str:
    """Return what is written where no ratio can be drawn: the difference, or why there is none."""
    if row.answer is not None and row.answer.difference is not None:
        value, interval = row.brief
        return f"{value} ({interval})" if interval else value
    return "withheld" if row.lacks == "withheld" else row.zeros or "no pairs"


def _reported(report: Report, answer: LevelEffect) -> list[float] | None:
    """Return from and to which ratio others report of what was compared; None where they give none, or
    differences are drawn.
    """
    if report.analysis.smallest_effect is not None:
        return None
    others = report.experiment.reported_of(answer.context, answer.level, answer.baseline)
    return next((other.ratio for other in others if other.ratio), None)


def _median(row: AnswerRow) -> str:
    """Return the median of a condition with its unit, or why there is none."""
    why = {
        "-": "no median",
        "several": "several values",
        "varies": "no typical value",
        words.IDLE: "nothing happens",
    }
    return why.get(row.median, row.median_in_unit)
