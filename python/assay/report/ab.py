"""The result of a comparison of two revisions: is it slower now, by how much, how far to trust it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from assay.analysis import Comparison
from assay.analysis.types import Gate, Interval, Verdict
from assay.analysis.verdicts import side_of_gate, verdict, verdict_word
from assay.experiment import Experiment
from assay.experiment.types import ComparisonDesign, Level, MeasuredRevision
from assay.report.gather import Report
from assay.report.metrics import is_time, name_of_metric, unit_in
from assay.report.trust import Trust, trust
from assay.report.words import digits_that_say, zeros
from assay.words import condition_name, counted, in_unit, listed, number, printable, shortened

_WHY_AT_MOST = 200
_NAMED_AT_MOST = 3
_HUGE = 10
"""From this ratio on it is written as a number of times, and no longer in percent."""

NO_REGRESSION, REGRESSION, UNDECIDED = 0, 1, 3
"""Exit codes."""


@dataclass(frozen=True)
class SkippedBenchmark:
    """A benchmark that is not compared.

    Attributes:
        kind: "new": the base lacks it; "gone": the head lacks it; "failed": it does not work in one of them.
        why: in words; empty where `kind` says all.
    """

    name: str
    kind: Literal["new", "gone", "failed"]
    why: str = ""


@dataclass(frozen=True)
class BenchmarkComparison:
    """What is known of one benchmark, and its words.

    Attributes:
        comparison: of the head with the base.
        base, head: medians of the metric; None where no trial counts.
        shown: the medians with their unit.
        verdict: in the words for the metric.
        change, interval: by how much the metric changes, and the interval's ends.
        why: it is undecided; empty where it is not.
    """

    name: str
    comparison: Comparison
    base: float | None
    head: float | None
    shown: tuple[str, str]
    verdict: str
    change: str
    interval: str
    why: str

    @property
    def is_regression(self) -> bool:
        """Whether it is shown to be slower: by more than the gate, where there is one."""
        gate, verdict = self.comparison.gate, self.comparison.verdict
        return gate == "failed" if gate else verdict == "slower"

    @property
    def is_undecided(self) -> bool:
        """Whether it is not known if it is a regression."""
        return "undecided" in (self.comparison.gate or self.comparison.verdict)

    @property
    def result(self) -> str:
        """In a word or two: what the gate says, or the verdict where there is none."""
        gate = self.comparison.gate
        if gate == "passed" and self.comparison.verdict == "faster":
            return f"passed, {self.verdict}"
        return gate or self.verdict

    @property
    def with_interval(self) -> str:
        """The change and its interval."""
        return f"{self.change} ({self.interval})" if self.interval else self.change

    def takes(self, than: str) -> str:
        """Return how it compares: "takes 3.4% more time than base (+2.9% to +3.9%)"."""
        metric = self.comparison.metric
        takes = "takes" if is_time(metric) else "has"
        more = "less" if self.change.startswith("-") or (self.comparison.ratio or 1) < 1 else "more"
        interval = f" ({self.interval})" if self.interval else ""
        return f"{takes} {self.change.lstrip('+-')} {more} {name_of_metric(metric)} than {than}{interval}"


@dataclass(frozen=True)
class Answer:
    """The result of a comparison of two revisions.

    Attributes:
        revisions: level -> what was measured; the baseline first.
        benchmarks: in the experiment's order; none where nothing could be compared.
        skipped: the benchmarks that are not compared.
        metric: what was compared.
        slower: the word for a regression of the metric.
        gate_percent: None without a gate.
        smallest_percent: what differs by less is equivalent.
        took_s: how long it was measured.
        blocks: how many blocks the verdicts rest on.
        trust: None where nothing was measured.
        same_programs: programs that have the same bytes in both.
        one_layout: subject -> why it could not be linked anew.
        minutes_needed: how long it will probably take in all until nothing is undecided; None where nothing
            is, or nobody knows.
        campaign: its number; None where nothing was measured.
    """

    revisions: Mapping[str, MeasuredRevision]
    benchmarks: Sequence[BenchmarkComparison] = ()
    skipped: Sequence[SkippedBenchmark] = ()
    metric: str = ""
    slower: str = "slower"
    gate_percent: float | None = None
    smallest_percent: float = 0
    took_s: float = 0
    blocks: int = 0
    trust: Trust | None = None
    same_programs: Sequence[str] = ()
    one_layout: Mapping[str, str] | None = None
    minutes_needed: float | None = None
    campaign: int | None = None

    @property
    def failed(self) -> list[SkippedBenchmark]:
        """The benchmarks that do not work in one of the revisions."""
        return [left for left in self.skipped if left.kind == "failed"]

    @property
    def exit_code(self) -> int:
        """A regression that is shown weighs more than what is undecided.

        Where nothing is compared, nothing is decided: a change that drops its only benchmark does not pass.
        """
        if any(benchmark.is_regression for benchmark in self.benchmarks):
            return REGRESSION
        undecided = any(benchmark.is_undecided for benchmark in self.benchmarks)
        undecided = undecided or bool(self.failed) or not self.benchmarks
        return UNDECIDED if undecided else NO_REGRESSION


def benchmarks_of(report: Report) -> list[BenchmarkComparison]:
    """Return every benchmark of a campaign that compares two revisions, in the experiment's order."""
    experiment = report.experiment
    benchmarks = []
    for context in report.answers.contexts:
        base, row = context.rows[0].condition, context.compared[0]
        comparison = row.answer
        assert base is not None
        assert row.condition is not None
        assert isinstance(comparison, Comparison)
        medians, unit = (base.median, row.condition.median), unit_in(experiment, comparison.metric)
        first, second = ("-" if median is None else in_unit(median, unit) for median in medians)
        if comparison.difference is None:
            by = "-" if comparison.ratio is None else change(comparison.ratio)
            interval = ends(comparison.interval, experiment.comparison)
        else:
            by, interval = row.exact.value, row.exact.interval if comparison.interval else ""
        name, why = name_of(experiment, comparison.context), _why(report, comparison)
        benchmarks.append(
            BenchmarkComparison(name, comparison, *medians, (first, second), row.word, by, interval, why)
        )
    return benchmarks


def answer_of(
    report: Report,
    took_s: float,
    skipped: Sequence[SkippedBenchmark] = (),
    same_programs: Sequence[str] = (),
    minutes_needed: float | None = None,
) -> Answer:
    """Return the result of a campaign that compares two revisions; `Answer` explains the arguments."""
    experiment, analysis = report.experiment, report.analysis
    assert experiment.revisions is not None
    return Answer(
        revisions=experiment.revisions.levels,
        benchmarks=benchmarks_of(report),
        skipped=skipped,
        metric=analysis.metric,
        slower=verdict_word("slower", analysis.metric, unit_in(experiment, analysis.metric)),
        gate_percent=experiment.comparison.gate_percent,
        smallest_percent=experiment.comparison.smallest_effect_percent,
        took_s=took_s,
        blocks=report.blocks,
        trust=trust(report),
        same_programs=same_programs,
        one_layout=report.campaign.host.get("one_layout", {}),
        minutes_needed=minutes_needed,
        campaign=report.campaign.id,
    )


def name_of(experiment: Experiment, context: Mapping[str, Level]) -> str:
    """Return what people call a benchmark: the levels of its context in which benchmarks differ."""
    varied = {factor: level for factor, level in context.items() if len(experiment.factors[factor]) > 1}
    if not varied:
        return printable(str([experiment.name, *context.values()][-1]))
    return printable(str(*varied.values()) if len(varied) == 1 else condition_name(varied))


def sentence(answer: Answer) -> str:
    """Return the answer in one sentence."""
    gate, benchmarks, failed = answer.gate_percent, answer.benchmarks, answer.failed
    if not benchmarks:
        kinds = {"new": "is new", "gone": "is gone", "failed": "fails"}
        why = named([f"{left.name} {kinds[left.kind]}" for left in answer.skipped])
        return f"nothing was compared: {why}"
    if len(benchmarks) == 1 and not failed:
        return _of_one(answer, benchmarks[0])
    regressions = [benchmark for benchmark in benchmarks if benchmark.is_regression]
    undecided = [benchmark.name for benchmark in benchmarks if benchmark.is_undecided]
    undecided += [left.name for left in failed]
    of = f"of {counted(len(benchmarks) + len(failed), 'benchmark')}"
    if regressions:
        most = max(regressions, key=_slowdown)
        word = answer.slower
        beyond = f" by more than {gate:g}%" if gate else ""
        which = f", most of all {most.name}" if len(regressions) > 1 else f": {most.name}"
        return f"{word}{beyond}: {len(regressions)} {of}{which}, {most.with_interval}"
    if undecided:
        beyond = f" beyond {gate:g}%" if gate else ""
        return f"undecided: {len(undecided)} {of}: {named(undecided)}; no regression{beyond} is shown"
    said = Counter(benchmark.verdict for benchmark in benchmarks)
    if gate:
        return f"no regression beyond {gate:g}% in {counted(benchmarks, 'benchmark')}"
    counts = listed([f"{count} {word}" for word, count in said.items()])
    return f"no regression in {counted(benchmarks, 'benchmark')}: {counts}"


def _of_one(answer: Answer, benchmark: BenchmarkComparison) -> str:
    """Return the answer where there is one benchmark."""
    gate, comparison = answer.gate_percent, benchmark.comparison
    level, baseline = str(comparison.level), str(comparison.baseline)
    if comparison.ratio is None:
        by = f"{benchmark.with_interval} {name_of_metric(comparison.metric)} from {baseline} to {level}"
        return f"undecided: {benchmark.why}" if comparison.difference is None else f"{benchmark.result}: {by}"
    said = f"{level} {benchmark.takes(baseline)}"
    if comparison.gate == "passed":
        return f"no regression beyond {gate:g}%: {said}"
    if comparison.gate == "failed":
        return f"{answer.slower} by more than {gate:g}%: {said}"
    if comparison.gate == "undecided":
        return f"undecided: {said}; the gate is {gate:g}%"
    if comparison.verdict == "equivalent":
        return f"no regression, equivalent within {answer.smallest_percent:g}%: {said}"
    return f"{benchmark.verdict}: {said}"


def named(names: Sequence[str]) -> str:
    """Return some names, and how many more there are."""
    more = len(names) - _NAMED_AT_MOST
    shown = list(names) if more <= 1 else [*names[:_NAMED_AT_MOST], f"{more} more"]
    return listed([shortened(name) for name in shown])


def change(ratio: float, digits: int = 1) -> str:
    """Return by how much a metric changes: +3.1%, or 12.4 times where that is much."""
    if ratio >= _HUGE:
        return f"{number(ratio, 3)} times"
    percent = f"{100 * (ratio - 1):+.{digits}f}%"
    return percent[1:] if float(percent[:-1]) == 0 else percent


def ends(interval: Interval | None, design: ComparisonDesign) -> str:
    """Return both ends of the interval of a change; empty without one.

    They have more digits where rounding would hide on which side of no change, of the smallest effect or of
    the gate they lie.
    """
    if interval is None:
        return ""

    def says(interval: Interval) -> tuple[Verdict, Gate | None]:
        gate = design.gate_percent
        side = None if gate is None else side_of_gate(interval, design.better, gate)
        return verdict(interval, design.better, design.smallest_effect_percent), side

    def rounded(ratio: float, digits: int) -> float:
        return 1 + round(100 * (ratio - 1), digits) / 100 if ratio < _HUGE else ratio

    digits = digits_that_say(interval, says, rounded, 1)
    return f"{change(interval.low, digits)} to {change(interval.high, digits)}"


def _slowdown(benchmark: BenchmarkComparison) -> float:
    """Return how much slower a benchmark is: the ratio, or its inverse where more is better."""
    ratio = benchmark.comparison.ratio
    if ratio is None:
        return 1.0
    return ratio if ratio > 1 else 1 / ratio if ratio else inf


def _why(report: Report, comparison: Comparison) -> str:
    """Return why a benchmark is undecided, or by which interval that is not shown it passes.

    The reason of its first trial that was not valid is added.
    """
    if comparison.by_itself is not None:
        by_itself = ends(comparison.by_itself, report.experiment.comparison)
        return f"passes by its interval uncorrected for the family, {by_itself}"
    if "undecided" not in (comparison.gate or comparison.verdict):
        return zeros(comparison)
    if not comparison.withheld:
        asked = report.experiment.comparison
        if not (comparison.gate and comparison.interval and asked.gate_percent) or report.analysis.waits:
            return "; ".join(filter(None, [comparison.reason, zeros(comparison)]))
        if comparison.difference is not None:
            return f"the gate is about a ratio, and there is none: {zeros(comparison)}"
        return f"the interval holds the gate of {asked.gate_percent:g}%"
    failed = (
        trial.reason
        for trial in report.trials
        if trial.status != "valid" and comparison.context.items() <= trial.levels.items()
    )
    reason = next(failed, "")
    return printable(shortened(f"{comparison.reason}{f': {reason}' if reason else ''}", _WHY_AT_MOST))
