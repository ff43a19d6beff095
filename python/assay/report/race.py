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
from assay.report.metrics import plain_name, unit_in
from assay.report.trust import short, trust
from assay.words import counted, elapsed, in_unit, printable, whole_percent

_FINDING_AT_MOST = 68  # characters: with its severity on one line of 80


def race_answer(report: Report, took_s: float) -> Iterator[str]:
    """Yield the lines of the answer, the most important first; `took_s` is how long the race took."""
    for context in report.answers.contexts:
        for row in context.compared:
            comparison = row.answer
            assert comparison is not None
            place = f"{row.context}: " if row.context else ""
            yield printable(place + _sentence(report, row))
            if (
                comparison.verdict == "undecided"
                and not _holds_1(comparison)
                and comparison.ratio is not None
            ):
                yield printable(f"  why: {comparison.reason}")
        yield from _medians(report, context.rows)
    far = trust(report)
    yield f"{elapsed(took_s)}; {blocks_seen(report)}; trust: {far.summary}"
    for finding in far.worst:
        yield f"  {finding.severity}: {printable(short(finding, _FINDING_AT_MOST))}"


def _holds_1(comparison: LevelEffect) -> bool:
    interval = comparison.interval
    return interval is not None and interval.low <= 1 <= interval.high


def _sentence(report: Report, row: AnswerRow) -> str:
    """Return who is faster, and by how much."""
    analysis, comparison = report.analysis, row.answer
    assert comparison is not None
    level, baseline = str(comparison.level), str(comparison.baseline)
    by_speed = verdict_word("faster", analysis.metric, report.experiment.unit(analysis.metric)) == "faster"
    if comparison.difference is not None:
        word = {"faster": "better", "slower": "worse"}.get(comparison.verdict, comparison.verdict)
        ends = f" ({words.ends(comparison, analysis)})" if comparison.interval else ""
        answer = (
            f"{word}: {words.size(comparison)} {plain_name(analysis.metric)} from {baseline} to {level}{ends}"
        )
        return f"{answer}; {words.zeros(comparison)}"
    if comparison.ratio is None:
        word = "withheld" if comparison.withheld else "undecided"
        return f"{word}, {level} against {baseline}: {_busy(report, comparison) or comparison.reason}"
    # The inverse of a time is a speed; the ratio of another metric stays as it is.
    inverse = by_speed and analysis.better == "lower"
    better = "faster" if by_speed else "better"
    effect = words.effect(analysis)
    said = {"faster": better, "slower": better, "equivalent": f"equivalent within {effect}"}
    word = said.get(comparison.verdict, comparison.verdict)
    if comparison.verdict == "slower":  # the other way round, the better one first
        level, baseline, inverse = baseline, level, not inverse
    value, interval = _ratio(report, comparison, inverse)
    interval += "; " * any(comparison.zeros) + row.zeros
    if by_speed:
        return f"{word}: {level} is {value} times as fast as {baseline}{interval}"
    return f"{word}: {level} has {value} times the {plain_name(analysis.metric)} of {baseline}{interval}"


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


def _ratio(report: Report, comparison: LevelEffect, inverse: bool) -> tuple[str, str]:
    """Return a ratio and its interval, where there is one; inverse is the baseline over the level."""
    value, interval = comparison.ratio, comparison.interval
    assert value is not None
    if inverse:
        value = _inverse(value)
        interval = interval and replace(interval, low=_inverse(interval.high), high=_inverse(interval.low))
    ends = words.glance_interval(interval, report.analysis)
    return words.glance(value, report.analysis), f" ({ends})" if ends else ""


def _inverse(value: float) -> float:
    return 1 / value if value else math.inf


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


def blocks_seen(report: Report) -> str:
    """Return how many blocks the verdicts rest on."""
    seen = report.analysis.look
    blocks = max((trial.block for trial in report.trials), default=-1) + 1
    return counted(blocks if seen is None else seen.blocks, "block")
