"""The answers of a campaign as rows of words: made once, laid out by each renderer in its own way.

An `AnswerRow` is an answer, or the baseline of a context, with every word that somebody reads of it. Text,
Markdown, HTML, JUnit and pictures choose among these words; none of them writes a number or a verdict itself.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from assay.analysis import Analysis, Comparison, ConditionSummary
from assay.analysis.types import Aggregate, LevelEffect, Verdict
from assay.analysis.verdicts import verdict_word
from assay.experiment import Experiment
from assay.plan.types import Level
from assay.report import words
from assay.report.metrics import unit_in
from assay.words import condition_name, counted, in_unit, listed, number, p_value, ratio


class Size(NamedTuple):
    """A ratio or a difference as text, and its interval; an interval is empty or "-" where there is none."""

    value: str
    interval: str


_ITSELF = Size("1", "")
"""The ratio of a baseline to itself."""


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """One answer and its words; or the baseline of a context, to which the others are compared.

    Attributes:
        context: its name; empty where the campaign has one context.
        level: of the compared factor; both levels where one rung of a ladder is compared with another.
        answer: None for the baseline.
        condition: the measured condition; None for an answer over several workloads.
        word: the verdict in the word for the metric, or "baseline".
        exact: with as many digits as a table of all numbers shows.
        brief: with as many digits as one reads at a glance.
        p, pairs, gate, dropped: as text, empty where there are none.
        by_itself: how a comparison passes the gate by an interval that is not shown; empty otherwise.
        zeros: how many values are 0, and why a difference is shown; empty where there are none.
        median: of the condition, or a word that says why there is none.
        median_in_unit: the same with the metric's unit.
        sentence: the verdict with what it rests on, in one line.
        workloads: how many an answer puts together; empty for an answer in one context.
        against: workloads that contradict an answer over several, with the word for their verdict.
        reservations: why there is no verdict, and what other groups of trials say.
        remarks: `reservations`, and how many trials failed.
        notes: `remarks`, and what a page shows in columns of its own.
    """

    context: str
    level: str
    answer: LevelEffect | None = None
    condition: ConditionSummary | None = None
    word: str = "baseline"
    exact: Size = _ITSELF
    brief: Size = _ITSELF
    p: str = ""
    pairs: str = ""
    gate: str = ""
    by_itself: str = ""
    dropped: str = ""
    zeros: str = ""
    median: str = ""
    median_in_unit: str = ""
    sentence: str = ""
    workloads: str = ""
    against: Sequence[tuple[str, str]] = ()
    reservations: Sequence[str] = ()
    remarks: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict itself; None for the baseline."""
        return None if self.answer is None else self.answer.verdict

    @property
    def lacks(self) -> str:
        """Why there is neither a ratio nor a difference; empty where there is one."""
        answer = self.answer
        if answer is None or answer.ratio is not None or answer.difference is not None:
            return ""
        return "withheld" if answer.withheld else "no pairs"


@dataclass(frozen=True)
class ContextRows:
    """A context and its conditions, in the experiment's order."""

    rows: tuple[AnswerRow, ...]

    @property
    def name(self) -> str:
        """The levels that all of its rows have, or that there is no other context."""
        return self.rows[0].context or condition_name({})

    @property
    def condition(self) -> ConditionSummary:
        """One of its conditions."""
        condition = self.rows[0].condition
        assert condition is not None
        return condition

    @property
    def compared(self) -> tuple[AnswerRow, ...]:
        """Its rows without the baseline."""
        return tuple(row for row in self.rows if row.answer is not None)


@dataclass(frozen=True)
class OthersReport:
    """What others report of a ratio, and what was measured here.

    Attributes:
        compared: the two levels, and in which contexts.
        here: the ratios that were measured.
        says: what is reported.
        source: where.
    """

    compared: str
    here: str
    says: str
    source: str


@dataclass(frozen=True)
class Answers:
    """All answers of a campaign.

    Attributes:
        contexts: the comparisons with the baseline.
        aggregates: over several workloads.
        rungs: each level of a ladder with the one before it.
        also: the comparisons of further metrics.
        counts: verdict, in the word for the metric -> number of comparisons with the baseline.
        reported: what others report.
    """

    contexts: tuple[ContextRows, ...]
    aggregates: tuple[AnswerRow, ...]
    rungs: tuple[AnswerRow, ...]
    also: tuple[AnswerRow, ...]
    counts: dict[str, int]
    reported: tuple[OthersReport, ...]

    def __iter__(self) -> Iterator[AnswerRow]:
        """Yield every row that has an answer: first those of the main metric."""
        for context in self.contexts:
            yield from context.compared
        yield from (*self.aggregates, *self.rungs, *self.also)


def answers_of(experiment: Experiment, analysis: Analysis) -> Answers:
    """Return the answers of a campaign as rows."""
    factor, unit = analysis.factor, experiment.unit(analysis.metric)
    comparisons = {(tuple(of.context.values()), of.level): of for of in analysis.comparisons}
    contexts: dict[tuple[Level, ...], list[AnswerRow]] = {}
    for condition in analysis.conditions:
        context = {name: level for name, level in condition.levels.items() if name != factor}
        comparison = comparisons.get((tuple(context.values()), condition.levels[factor]))
        row = (
            AnswerRow(context=_name(context), level=str(condition.levels[factor]))
            if comparison is None
            else answer_row(comparison, experiment.comparison, unit)
        )
        row = _with_condition(row, condition, comparison, experiment)
        contexts.setdefault(tuple(context.values()), []).append(row)
    counts = Counter(comparison.verdict for comparison in analysis.comparisons)
    return Answers(
        contexts=tuple(ContextRows(tuple(rows)) for rows in contexts.values()),
        aggregates=tuple(answer_row(whole, experiment.comparison, unit) for whole in analysis.aggregates),
        rungs=tuple(
            answer_row(rung, experiment.comparison, unit, words.rung(rung)) for rung in analysis.rungs
        ),
        also=tuple(
            answer_row(further, experiment.comparison, experiment.unit(further.metric))
            for further in analysis.also
        ),
        counts={
            verdict_word(verdict, analysis.metric, unit): counts[verdict]
            for verdict in words.VERDICTS
            if counts[verdict]
        },
        reported=tuple(_reported(experiment, analysis)),
    )


def _name(context: Mapping[str, Level]) -> str:
    return condition_name(context) if context else ""


def answer_row(answer: LevelEffect, effects: words.Effects, unit: str, level: str = "") -> AnswerRow:
    """Return an answer and its words.

    Args:
        effects: how large an effect has to be, which says how many digits an interval takes.
        unit: of the metric; empty where it has none.
        level: what the answer is about, where that is not its level alone.
    """
    metric = answer.metric
    comparison = answer if isinstance(answer, Comparison) else None
    over = answer if isinstance(answer, Aggregate) else None
    return AnswerRow(
        context=_name(answer.context),
        level=level or str(answer.level),
        answer=answer,
        word=verdict_word(answer.verdict, metric, unit),
        exact=Size(words.size(answer), words.ends(answer, effects)),
        brief=Size(*words.glance_size(answer, effects)),
        p=p_value(answer.p_adjusted),
        pairs=str(answer.pairs),
        gate=answer.gate or "",
        by_itself=words.passes_alone(answer),
        dropped=words.dropped(answer),
        zeros=words.zeros(answer),
        sentence=words.estimate(answer, metric, unit, effects),
        workloads="" if over is None else words.workloads(over),
        against=[
            (condition_name(workload), verdict_word(verdict, metric, unit))
            for workload, verdict in ([] if over is None else over.against)
        ],
        reservations=words.reservations(comparison, unit),
    )


def _with_condition(
    row: AnswerRow, condition: ConditionSummary, comparison: Comparison | None, experiment: Experiment
) -> AnswerRow:
    unit = experiment.unit(experiment.comparison.metric)
    return replace(
        row,
        condition=condition,
        median=_median(condition, experiment),
        median_in_unit=_median_in_unit(condition, experiment),
        remarks=words.notes(condition, comparison, unit, page=True),
        notes=words.notes(condition, comparison, unit),
    )


def _median(condition: ConditionSummary, experiment: Experiment) -> str:
    return words.typical(condition, accept_invalid=experiment.comparison.accept_invalid)


def _median_in_unit(condition: ConditionSummary, experiment: Experiment) -> str:
    median = _median(condition, experiment)
    if condition.median is None or median != number(condition.median):
        return median
    return in_unit(condition.median, unit_in(experiment, experiment.comparison.metric))


def _reported(experiment: Experiment, analysis: Analysis) -> Iterator[OthersReport]:
    for other in experiment.reported:
        answers = [
            answer
            for answer in (analysis.comparisons if other.over is None else analysis.rungs)
            if answer.ratio is not None
            and other in experiment.reported_of(answer.context, answer.level, answer.baseline)
        ]
        over = analysis.baseline if other.over is None else other.over
        where = [f"{factor}={listed(list(map(str, levels)))}" for factor, levels in other.where.items()]
        yield OthersReport(
            ", ".join([f"{other.level} over {over}", *where]),
            _measured_here(answers, experiment),
            other.says,
            other.source,
        )


def _measured_here(answers: Sequence[LevelEffect], experiment: Experiment) -> str:
    """Return the ratios of some answers: of a single one with its interval."""
    if not answers:
        return "not measured"
    if len(answers) == 1:
        row = answer_row(answers[0], experiment.comparison, experiment.unit(answers[0].metric))
        return row.exact.value + (f" ({row.exact.interval})" if answers[0].interval else "")
    ratios = [answer.ratio for answer in answers if answer.ratio is not None]
    return f"{ratio(min(ratios))} to {ratio(max(ratios))} in {counted(ratios, 'context')}"
