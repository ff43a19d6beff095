"""Pictures that answer: ratios with intervals by context, to the baseline, best first, and from rung to rung.

If the experiment says what others report, levels have its order, and a bar shows what is reported.
It is HTML, so that it is there at once, prints, and needs no script. Better is to the right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, exp, floor, log, log10

from assay.analysis.types import Answer, Verdict
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
    """One ratio. Places are percent of the width of the plot; None where there is nothing to draw.

    Attributes:
        level: what is compared; of a rung, with the one before it.
        condition: the number of the condition, for its link; None where a ratio is not of one condition.
        interval: where it begins and how wide it is.
        about: all that is known of it, in a sentence.
        lacks: where nothing can be drawn, the difference, or in a word why there is none; `about` says more.
        reported: where the ratios that others report begin, and how wide they are; None where none are given.
    """

    level: str
    condition: int | None
    verdict: Verdict
    word: str
    at: float | None
    interval: tuple[float, float] | None
    ratio: str
    ends: str
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
    answers = report.analysis.rungs
    if not answers:
        return None
    axis = _axis(report, answers)
    panels = [
        Panel(
            context,
            "",
            [_row(report, axis, row) for row in there],
        )
        for context, there in groupby(report.answers.rungs, lambda row: row.context)
    ]
    return _picture(report, axis, panels)


def _axis(report: Report, answers: Sequence[Answer]) -> "_Axis":
    kind = _Axis if report.analysis.smallest_effect is None else _DifferenceAxis
    return kind(list(_drawn(report, answers)), backward=report.analysis.better == "lower")


def _same(report: Report) -> tuple[float, float, float]:
    """Return what no change is, and from and to which value changes are equivalent."""
    analysis = report.analysis
    if analysis.smallest_effect is not None:
        smallest = min(max(analysis.smallest_effect, LEAST), MOST)
        return 0, -smallest, smallest
    smallest = 1 + analysis.smallest_effect_percent / 100
    return 1, 1 / smallest, smallest


def _picture(report: Report, axis: "_Axis", panels: list[Panel]) -> Picture:
    analysis = report.analysis
    none, low, high = _same(report)
    unit = report.experiment.unit(analysis.metric)
    return Picture(
        panels=panels,
        ticks=axis.ticks(),
        one=axis.place(none),
        band=axis.span(low, high),
        better=verdict_word("faster", analysis.metric, unit),
        worse=verdict_word("slower", analysis.metric, unit),
        backward=axis.backward,
        reported=any(row.reported for panel in panels for row in panel.rows),
    )


class _Axis:
    """A logarithmic axis from 0 to 100 percent."""

    def __init__(self, ratios: Sequence[float], *, backward: bool) -> None:
        low, high = log(min(ratios)), log(max(ratios))
        room = max(ROOM * (high - low), NARROWEST)
        self._low, self._high = low - room, high + room
        self.backward = backward

    def place(self, ratio: float) -> float:
        share = (log(ratio) - self._low) / (self._high - self._low)
        return round(100 * (1 - share if self.backward else share), 3)

    def span(self, low: float, high: float) -> tuple[float, float]:
        """Return where the ratios from one to another begin, and how wide they are."""
        begin, end = sorted((self.place(low), self.place(high)))
        return begin, round(end - begin, 3)

    def ticks(self) -> list[tuple[float, str]]:
        """Return round ratios, 1 among them, as many as there is room for."""
        low, high = exp(self._low), exp(self._high)
        if high < 4 * low:
            steps = [mantissa * 10.0**power for power in range(-6, 1) for mantissa in (1, 2, 5)]
            choices = (
                [place * step for place in range(ceil(low / step), floor(high / step) + 1)]
                for step in steps
                if (high - low) / step < 2 * TICKS_AT_MOST
            )
        else:
            powers = range(floor(log10(low)), ceil(log10(high)) + 1)
            every = [((1, 2, 5), 1), *(((1,), 2**n) for n in range(9))]
            choices = (
                [mantissa * 10.0**power for power in powers if power % step == 0 for mantissa in mantissas]
                for mantissas, step in every
            )
        inside = ([ratio for ratio in ratios if low <= ratio <= high] for ratios in choices)
        shown = next((ratios for ratios in inside if len(ratios) <= TICKS_AT_MOST), [1.0])
        return [(self.place(ratio), f"{ratio:.6g}") for ratio in shown]

    @staticmethod
    def can_place(value: float) -> bool:
        return value > 0 and drawable(value)

    @staticmethod
    def change(answer: Answer) -> float | None:
        """Return what is placed of an answer."""
        return answer.ratio


class _DifferenceAxis(_Axis):
    """A linear axis from 0 to 100 percent."""

    def __init__(self, differences: Sequence[float], *, backward: bool) -> None:
        low, high = min(differences), max(differences)
        room = max(ROOM * (high - low), LEAST)
        self._low, self._high = low - room, high + room
        self.backward = backward

    def place(self, difference: float) -> float:
        share = (difference - self._low) / (self._high - self._low)
        return round(100 * (1 - share if self.backward else share), 3)

    def ticks(self) -> list[tuple[float, str]]:
        """Return round differences, 0 among them, as many as there is room for."""
        size = floor(log10((self._high - self._low) / TICKS_AT_MOST))
        for step in (mantissa * 10.0**power for power in (size, size + 1) for mantissa in (1, 2, 5)):
            first, last = ceil(self._low / step), floor(self._high / step)
            if last - first < TICKS_AT_MOST:
                return [(self.place(n * step), number(n * step, 3)) for n in range(first, last + 1)]
        return [(self.place(0), "0")]

    @staticmethod
    def can_place(value: float) -> bool:
        return drawable(value)

    @staticmethod
    def change(answer: Answer) -> float | None:
        return answer.difference


def _drawn(report: Report, answers: Sequence[Answer]) -> Iterator[float]:
    kind = _Axis if report.analysis.smallest_effect is None else _DifferenceAxis
    yield from _same(report)[1:]
    for answer in answers:
        yield from _reported(report, answer) or ()
        change = kind.change(answer)
        ends = (answer.interval.low, answer.interval.high) if answer.interval and change is not None else ()
        for value in (change, *ends):
            if value is not None and kind.can_place(value):
                yield value


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
        return sorted(rows, key=lambda row: levels.index(row.level))
    return sorted(rows, key=lambda row: -1.0 if row.at is None else row.at, reverse=True)


def _row(report: Report, axis: _Axis, row: AnswerRow) -> PictureRow:
    answer = row.answer
    assert answer is not None
    theirs = _reported(report, answer)
    known = [value for value in (axis.change(answer),) if value is not None and axis.can_place(value)]
    ends = answer.interval
    span = None
    if known and ends and axis.can_place(ends.low) and axis.can_place(ends.high):
        span = axis.span(ends.low, ends.high)
    ratio, interval = row.brief
    median = "" if row.condition is None else f"; median {_median(row)}"
    numbers = (
        f"{ratio}{' times' if answer.difference is None else ' beside'} {answer.baseline}"
        f"{f', interval {interval}' if interval else ''}; {row.word}, p {row.p}, "
        f"{counted(answer.pairs, 'pair')}{median}{row.zeros and f'; {row.zeros}'}"
    )
    return PictureRow(
        level=row.level,
        condition=None if row.condition is None else report.number(row.condition),
        verdict=answer.verdict,
        word=row.word,
        at=axis.place(known[0]) if known else None,
        interval=span,
        ratio=ratio,
        ends=interval,
        about=f"{answer.level}: {numbers if answer.pairs else answer.reason or 'no pairs'}",
        lacks="" if known else _lacks(row),
        reported=axis.span(*theirs) if theirs else None,
    )


def _lacks(row: AnswerRow) -> str:
    """Return what is written where no ratio can be drawn: the difference, or why there is none."""
    if row.answer is not None and row.answer.difference is not None:
        value, interval = row.brief
        return f"{value} ({interval})" if interval else value
    return "withheld" if row.lacks == "withheld" else row.zeros or "no pairs"


def _reported(report: Report, answer: Answer) -> list[float] | None:
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
