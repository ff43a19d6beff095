"""The result of a race in a few lines: who is faster, by how much, how far to trust it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assay.analysis import ConditionSummary
from assay.analysis.busy import is_busy
from assay.analysis.types import LevelEffect
from assay.analysis.verdicts import verdict_word
from assay.report import words
from assay.report.aligned import aligned
from assay.report.answers import AnswerRow
from assay.report.gather import Report
from assay.report.hosts import disagreement, host_lines, scope
from assay.report.metrics import plain_name, unit_in
from assay.report.trust import trust
from assay.words import counted, elapsed, in_unit, printable, whole_percent


def race_answer(report: Report, took_s: float) -> Iterator[str]:
    """Yield the lines of the answer, the most important first; `took_s` is how long the race took."""
    for context in report.answers.contexts:
        for row in context.compared:
            answer = row.answer
            assert answer is not None
            place = f"{row.context}: " if row.context else ""
            yield printable(place + _sentence(report, row, answer))
            holds_1 = answer.interval is not None and answer.interval.low <= 1 <= answer.interval.high
            if answer.verdict == "undecided" and answer.ratio is not None and not holds_1:
                yield printable(f"  why: {answer.reason}")
        yield from _medians(report, context.rows)
    if said := scope(report):
        yield printable(said)
    if (disagree := disagreement(report)) is not None:
        yield printable(disagree.message)
        yield from map(printable, host_lines(report))
    yield from trust(report).lines(f"{elapsed(took_s)}; {counted(report.blocks, 'block')}")


def _sentence(report: Report, row: AnswerRow, answer: LevelEffect) -> str:
    """Return who is faster, and by how much."""
    analysis, level, baseline = report.analysis, str(answer.level), str(answer.baseline)
    name = plain_name(analysis.metric)
    if answer.difference is not None:
        word = {"faster": "better", "slower": "worse"}.get(answer.verdict, answer.verdict)
        interval = f" ({row.exact.interval})" if answer.interval else ""
        return f"{word}: {row.exact.value} {name} from {baseline} to {level}{interval}; {row.zeros}"
    if answer.ratio is None:
        word = "withheld" if answer.withheld else "undecided"
        return f"{word}, {level} against {baseline}: {_busy(report, answer) or answer.reason}"
    by_speed = verdict_word("faster", analysis.metric, report.experiment.unit(analysis.metric)) == "faster"
    better = "faster" if by_speed else "better"
    said = {"faster": better, "slower": better, "equivalent": f"equivalent within {words.effect(analysis)}"}
    # The inverse of a time is a speed; the ratio of another metric stays as it is.
    inverse = by_speed and analysis.better == "lower"
    if answer.verdict == "slower":  # the other way round, the better one first
        level, baseline, inverse = baseline, level, not inverse
    value, interval = words.glance_size(_inverse(answer) if inverse else answer, analysis)
    rest = f"{baseline}{f' ({interval})' if interval else ''}{'; ' * any(answer.zeros)}{row.zeros}"
    times = f"is {value} times as fast as" if by_speed else f"has {value} times the {name} of"
    return f"{said.get(answer.verdict, answer.verdict)}: {level} {times} {rest}"


def _inverse(answer: LevelEffect) -> LevelEffect:
    """Return an answer whose ratio is that of the baseline to the level."""
    ends = answer.interval and replace(
        answer.interval, low=_inverted(answer.interval.high), high=_inverted(answer.interval.low)
    )
    return replace(answer, ratio=_inverted(answer.ratio or 0.0), interval=ends)


def _inverted(value: float) -> float:
    return 1 / value if value else math.inf


def _busy(report: Report, comparison: LevelEffect) -> str:
    """Return that the host was too busy for the two sides of a comparison, and what to do; or nothing."""
    factor = report.analysis.factor
    sides = [{**comparison.context, factor: level} for level in (comparison.level, comparison.baseline)]
    shares = [
        summary.lost
        for summary in report.analysis.conditions
        if dict(summary.levels) in sides and summary.lost is not None and is_busy(summary.lost)
    ]
    if not comparison.withheld or not shares:
        return ""
    return f"other work took {whole_percent(max(shares))} of their processor time; race again on a quiet host"


def _medians(report: Report, rows: Sequence[AnswerRow]) -> Iterator[str]:
    """Yield the median of each entrant of a context, with its interval and the number of runs."""
    cells = [
        (row.level, _median(report, row.condition), _runs(report, row.condition))
        for row in rows
        if row.condition is not None
    ]
    for line in aligned(cells, right={1}):
        yield printable(f"  {line}")


def _median(report: Report, summary: ConditionSummary) -> str:
    """Return the median of the compared metric with its unit, and with its interval where there is one."""
    if summary.median is None:
        return "-"
    unit = unit_in(report.experiment, report.analysis.metric)
    median = in_unit(summary.median, unit, 4)
    if summary.interval is None:
        return median
    ends = [in_unit(end, unit, 4) for end in (summary.interval.low, summary.interval.high)]
    return f"{median} ({ends[0]} to {ends[1]})"


def _runs(report: Report, summary: ConditionSummary) -> str:
    trials = [
        trial for trial in report.trials if trial.status == "valid" and trial.levels == dict(summary.levels)
    ]
    runs = sum(round(trial.metrics.get("runs", 1)) for trial in trials)
    several = f" in {counted(trials, 'trial')}" if runs > len(trials) else ""
    failed = sum(summary.counts.values()) - len(trials)
    return f"{counted(runs, 'run')}{several}" + (f", {failed} not valid" if failed else "")
