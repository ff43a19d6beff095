"""A campaign's result in one or two sentences, as a person would say it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import exp, inf, log

from assay.analysis.aa import false_alarms
from assay.analysis.types import Verdict
from assay.analysis.verdicts import verdict_word
from assay.report import words
from assay.report.answers import AnswerRow
from assay.report.gather import Report
from assay.report.hosts import scope
from assay.report.metrics import name_of_metric
from assay.report.sensitivity import sentence
from assay.words import counted, listed

LEVELS_AT_MOST = 3
"""Levels that have a sentence each; of more the headline says how many have which verdict."""
CONTEXTS_AT_MOST = 3
"""Contexts that are named; of more the headline says in how many a level has which verdict."""


def headline(report: Report) -> str:
    """Return the result, after a sentence that says whether trials mislead on purpose."""
    result = " ".join(filter(None, [_result(report), scope(report)]))
    mark = report.experiment.mark
    return f"{mark[:1].upper()}{mark[1:]}. {result}" if mark else result


def _result(report: Report) -> str:
    analysis = report.analysis
    if report.experiment.varied:
        return sentence(report)
    if report.experiment.identical:
        return false_alarms(analysis).summary
    if analysis.look is None:
        return f"Nothing is decided yet: {analysis.waits}."
    withheld = [comparison for comparison in analysis.comparisons if comparison.withheld]
    if withheld and len(withheld) == len(analysis.comparisons):
        first = "" if len(withheld) == 1 else f" all {len(withheld)} comparisons, the first because"
        return f"Withheld:{first} {withheld[0].reason}."
    return _decided(report)


def _decided(report: Report) -> str:
    """Return what is decided: over several workloads first, where anything is, and then in each context."""
    answers, baseline = report.answers, report.analysis.baseline
    rows = [row for context in answers.contexts for row in context.compared]
    ranking = _ranking(report, rows)
    if any(row.verdict != "undecided" for row in answers.aggregates):
        over = listed([f"all levels of {factor}" for factor in report.experiment.comparison.across])
        wholes = {(row.level, row.verdict) for row in answers.aggregates}
        if {(row.level, row.verdict) for row in rows} <= wholes:
            ranking = "the same."
        whole = _ranking(report, answers.aggregates)
        return f"Over {over}, {whole} One by one: {ranking or 'nothing is decided.'}"
    if not ranking:
        count = len(report.analysis.comparisons)
        return f"Nothing is decided: all {count} comparisons with {baseline} are undecided."
    return ranking


def _ranking(report: Report, rows: Sequence[AnswerRow]) -> str:
    """Return a sentence for each level, the best first; "" where there are several and none is decided."""
    if len(rows) > 1 and all(row.verdict == "undecided" for row in rows):
        return ""
    by_level: dict[str, list[AnswerRow]] = defaultdict(list)
    for row in rows:
        by_level[row.level].append(row)
    higher = report.analysis.better == "higher"
    best_first = sorted(by_level, key=lambda level: _mean(by_level[level]), reverse=higher)
    ordered = {level: by_level[level] for level in best_first}
    first = best_first[0]
    if len(ordered) > LEVELS_AT_MOST:
        return " ".join(_kinds(report, ordered))
    best = _is_best(report, first, ordered)
    return " ".join(
        _sentence(report, level, there, best=best and level == first) for level, there in ordered.items()
    )


def _is_best(report: Report, level: str, by_level: Mapping[str, Sequence[AnswerRow]]) -> bool:
    """Return whether a level is shown to be better than the baseline and every other level, in all contexts.

    The intervals of the family hold together: two levels whose intervals are apart differ.
    """
    if len(by_level) < 2 or report.experiment.comparison.correction != "family":
        return False
    higher = report.analysis.better == "higher"
    rivals = [row for other, rows in by_level.items() if other != level for row in rows]
    for row in by_level[level]:
        interval = None if row.answer is None else row.answer.interval
        if row.verdict != "faster" or interval is None:
            return False
        for rival in (rival.answer for rival in rivals if rival.context == row.context):
            other = None if rival is None else rival.interval
            if other is None or not (interval.low > other.high if higher else interval.high < other.low):
                return False
    return True


def _mean(rows: Sequence[AnswerRow]) -> float:
    """Return the geometric mean of the ratios that there are; 1 without any, and 0 where one is 0."""
    ratios = [row.answer.ratio for row in rows if row.answer is not None and row.answer.ratio is not None]
    logs = [log(ratio) if ratio else -inf for ratio in ratios]
    return exp(sum(logs) / len(logs)) if logs else 1.0


def _words(report: Report) -> list[str]:
    """Return the words for each verdict on the compared metric."""
    metric = report.analysis.metric
    unit = report.experiment.unit(metric)
    return [verdict_word(verdict, metric, unit) for verdict in words.VERDICTS]


def _sentence(report: Report, level: str, rows: Sequence[AnswerRow], *, best: bool = False) -> str:
    """Return what is known of one level in all contexts."""
    counts = Counter(row.word for row in rows)
    if len(counts) > 1 and len(rows) > CONTEXTS_AT_MOST:
        in_how_many = [f"{word} in {counts[word]}" for word in _words(report) if counts[word]]
        return f"{level} is {listed(in_how_many)} of {len(rows)} contexts."
    if len(counts) > 1:
        parts = [
            f"{word} {listed([_place(row) + _in_brackets(report, row) for row in rows if row.word == word])}"
            for word in counts
        ]
        return f"{level} is {listed(parts)}."
    word, sizes = rows[0].word, _sizes(report, rows)
    if best:
        word = {"faster": "fastest", "better": "best"}[word]
    elif not sizes:
        word += _joined(report, rows[0].verdict)
    named = sizes and " with " in sizes
    everywhere = " in every context" if len(rows) > 1 and not named else ""
    return f"{level} is {word}{everywhere}{sizes}."


def _joined(report: Report, verdict: Verdict | None) -> str:
    """Return what follows the word of a verdict: " than noop"."""
    joined = {"faster": " than ", "slower": " than ", "equivalent": " to "}.get(verdict or "", "")
    return joined and joined + _baseline(report)


def _baseline(report: Report) -> str:
    several = len(report.experiment.comparison.baselines()) > 1
    return "its baseline" if several else report.analysis.baseline


def _times(report: Report) -> str:
    """Return what follows a ratio: " times noop", or " times the latency of noop" where less is better."""
    if report.analysis.better == "higher":
        return f" times {_baseline(report)}"
    return f" times the {name_of_metric(report.analysis.metric)} of {_baseline(report)}"


def _place(row: AnswerRow) -> str:
    """Return where an answer holds: "with 2 threads"."""
    assert row.answer is not None
    levels = [
        ("one thread" if level == 1 else f"{level} threads") if factor == "threads" else f"{factor}={level}"
        for factor, level in row.answer.context.items()
    ]
    return f"with {', '.join(levels)}"


def _in_brackets(report: Report, row: AnswerRow) -> str:
    decided = row.verdict in ("faster", "slower") and row.answer is not None and row.answer.ratio is not None
    return f" ({row.brief.value}{_times(report)})" if decided else ""


def _sizes(report: Report, rows: Sequence[AnswerRow]) -> str:
    """Return the ratios of rows with the same verdict, each with its context where there are few."""
    answers = [row.answer for row in rows if row.answer is not None]
    if len(answers) == 1 and answers[0].difference is not None and answers[0].interval is not None:
        return f": {rows[0].exact.value} ({rows[0].exact.interval}) against {_baseline(report)}"
    ratios = [answer.ratio for answer in answers if answer.ratio is not None]
    if rows[0].verdict not in ("faster", "slower") or len(ratios) < len(rows):
        return ""
    low, high = (words.glance(end(ratios), report.analysis) for end in (min, max))
    if low == high:
        return f": {low}{_times(report)}"
    if len(rows) > CONTEXTS_AT_MOST:
        return f": {low} to {high}{_times(report)}"
    places = [f", {row.brief.value} {_place(row)}" for row in rows[1:]]
    return f": {rows[0].brief.value}{_times(report)} {_place(rows[0])}{''.join(places)}"


def _kinds(report: Report, by_level: Mapping[str, Sequence[AnswerRow]]) -> Iterator[str]:
    """Yield how many of many levels have the same verdict everywhere, the extreme ones by name."""
    kinds: dict[Verdict | None, list[str]] = defaultdict(list)
    for level, rows in by_level.items():
        verdicts = {row.verdict for row in rows}
        kinds[verdicts.pop() if len(verdicts) == 1 else None].append(level)
    several = any(len(rows) > 1 for rows in by_level.values())
    for verdict, word in zip(words.VERDICTS, _words(report), strict=True):
        levels = kinds.get(verdict, [])
        if len(levels) == 1:
            yield _sentence(report, levels[0], by_level[levels[0]])
        elif levels:
            to = _joined(report, verdict) + " in every context" * several
            extreme = {"faster": levels[0], "slower": levels[-1]}.get(verdict)
            most = "" if extreme is None else f", most of all {extreme}{_sizes(report, by_level[extreme])}"
            yield f"{len(levels)} of {len(by_level)} are {word}{to}{most}."
    if levels := kinds.get(None, []):
        yield f"{counted(levels, 'depends', 'depend')} on the context."
