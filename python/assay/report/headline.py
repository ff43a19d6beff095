"""What a campaign comes to, in a sentence."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import exp, inf, log

from assay.analysis.aa import false_alarms
from assay.analysis.types import Answer, Verdict
from assay.analysis.verdicts import verdict_word
from assay.plan.types import Level
from assay.report import words
from assay.report.gather import Report
from assay.report.sensitivity import sentence
from assay.words import counted, listed

NAMED_AT_MOST = 4
"""Levels that the sentence names one by one; of more it says how many there are of each kind."""


def headline(report: Report) -> str:
    """Return what the verdicts come to, in a sentence, after one that says whether trials mislead."""
    said = _headline(report)
    mark = report.experiment.mark
    return f"{mark[:1].upper()}{mark[1:]}. {said}" if mark else said


def _headline(report: Report) -> str:
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
    return _of_verdicts(report)


def _of_verdicts(report: Report) -> str:
    """Return what is decided: over several workloads first, where anything is, and then of each."""
    analysis = report.analysis
    each = _parts(report, analysis.comparisons)
    if any(whole.verdict != "undecided" for whole in analysis.aggregates):
        over = listed([f"all levels of {factor}" for factor in analysis.aggregates[0].across])
        together = f"Over {over}, against {analysis.baseline}: {_parts(report, analysis.aggregates)}."
        return f"{together} One by one: {each or 'nothing is decided'}."
    if not each:
        count = len(analysis.comparisons)
        return f"Nothing is decided: all {count} comparisons with {analysis.baseline} are undecided."
    return f"Against {analysis.baseline}: {each}."


def _parts(report: Report, answers: Sequence[Answer]) -> str:
    """Return what the answers are, the best level first; "" where they are several and none is decided."""
    if len(answers) > 1 and all(answer.verdict == "undecided" for answer in answers):
        return ""
    by_level: dict[Level, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_level[answer.level].append(answer)
    best_first = sorted(
        by_level, key=lambda level: _mean(by_level[level]), reverse=report.analysis.better == "higher"
    )
    if len(best_first) <= NAMED_AT_MOST:
        return "; ".join(f"{level} is {_verdicts(report, by_level[level])}" for level in best_first)
    return "; ".join(_kinds(report, {level: by_level[level] for level in best_first}))


def _mean(comparisons: Sequence[Answer]) -> float:
    """Return the geometric mean of the ratios that there are; 1 without any, and 0 where one is 0."""
    ratios = [comparison.ratio for comparison in comparisons if comparison.ratio is not None]
    logs = [log(ratio) if ratio else -inf for ratio in ratios]
    return exp(sum(logs) / len(logs)) if logs else 1.0


def _word(report: Report, verdict: Verdict) -> str:
    metric = report.analysis.metric
    return verdict_word(verdict, metric, report.experiment.unit(metric))


def _verdicts(report: Report, comparisons: Sequence[Answer]) -> str:
    """Return the verdicts on one level over all contexts, with the ratios if they are all the same."""
    counts = Counter(comparison.verdict for comparison in comparisons)
    if len(counts) == 1:
        everywhere = " everywhere" if len(comparisons) > 1 else ""
        return f"{_word(report, comparisons[0].verdict)}{everywhere}{_range(report, comparisons)}"
    told = [f"{_word(report, verdict)} in {counts[verdict]}" for verdict in words.VERDICTS if counts[verdict]]
    return f"{listed(told)} of {len(comparisons)} contexts"


def _range(report: Report, comparisons: Sequence[Answer]) -> str:
    """Return the ratios of comparisons that are all faster or all slower; of what, where less is better."""
    ratios = sorted(comparison.ratio for comparison in comparisons if comparison.ratio is not None)
    if (
        len(comparisons) == 1
        and comparisons[0].difference is not None
        and comparisons[0].interval is not None
    ):
        return f" ({words.size(comparisons[0])}, {words.ends(comparisons[0], report.analysis)})"
    if comparisons[0].verdict not in ("faster", "slower") or not ratios:
        return ""
    low, high = (words.glance(end, report.experiment) for end in (ratios[0], ratios[-1]))
    of = f" the {report.analysis.metric}" if report.analysis.better == "lower" else ""
    return f" ({low if low == high else f'{low} to {high}'} times{of})"


def _kinds(report: Report, by_level: Mapping[Level, Sequence[Answer]]) -> Iterator[str]:
    """Yield how many of many levels have the same verdict everywhere, the extreme ones by name."""
    kinds: dict[Verdict | None, list[Level]] = defaultdict(list)
    for level, comparisons in by_level.items():
        verdicts = {comparison.verdict for comparison in comparisons}
        kinds[verdicts.pop() if len(verdicts) == 1 else None].append(level)
    everywhere = " everywhere" if any(len(comparisons) > 1 for comparisons in by_level.values()) else ""
    for verdict in words.VERDICTS:
        levels = kinds.get(verdict, [])
        told = f"{_word(report, verdict)}{everywhere}"
        if len(levels) == 1:
            yield f"{levels[0]} is {told}{_range(report, by_level[levels[0]])}"
        elif levels:
            extreme = {"faster": levels[0], "slower": levels[-1]}.get(verdict)
            most = "" if extreme is None else f", most of all {extreme}{_range(report, by_level[extreme])}"
            yield f"{len(levels)} of {len(by_level)} are {told}{most}"
    if levels := kinds.get(None, []):
        yield f"{counted(levels, 'depends', 'depend')} on the context"
