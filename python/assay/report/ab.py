"""What a comparison of two revisions came to: is it slower now, by how much, how far to trust it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.analysis import Comparison, ConditionSummary
from assay.analysis.types import Interval
from assay.analysis.verdicts import verdict_word
from assay.experiment import Experiment
from assay.experiment.revisions import words_of
from assay.report.gather import Report
from assay.report.metrics import unit_in
from assay.report.race import NAMES, blocks_seen
from assay.report.trust import short, trust
from assay.words import (
    condition_name,
    counted,
    duration,
    elapsed,
    in_unit,
    listed,
    number,
    printable,
    shortened,
)

WIDTH = 80
_GAP = "  "
_FINDING_AT_MOST = 68  # characters: with its severity on one line of 80
_WHY_AT_MOST = 200
_HUGE = 10
"""From this ratio on it is written as a number of times, and no longer in percent."""

NO_REGRESSION, REGRESSION, UNDECIDED = 0, 1, 3
"""Exit codes."""


@dataclass(frozen=True)
class LeftOut:
    """A benchmark that is not compared.

    Attributes:
        kind: "new": the base lacks it; "gone": the head lacks it; "failed": it does not work in one of them.
        why: in words; empty where `kind` says all.
    """

    name: str
    kind: Literal["new", "gone", "failed"]
    why: str = ""


@dataclass(frozen=True)
class Facts:
    """What the trials of a campaign do not say of a comparison of revisions.

    Attributes:
        took_s: how long it took, without the builds.
        left_out: the benchmarks that are not compared.
        same_programs: those that have the same bytes in both revisions.
        minutes_needed: how long it will probably take in all until nothing is undecided; None where nothing
            is, or nobody knows.
    """

    took_s: float
    left_out: tuple[LeftOut, ...] = ()
    same_programs: tuple[str, ...] = ()
    minutes_needed: float | None = None


@dataclass(frozen=True)
class Benchmark:
    """What is known of one benchmark.

    Attributes:
        comparison: of the head with the base.
        base, head: of the metric.
        change: in words, with its interval; "-" where there is none.
        verdict: in the words for the metric.
        gate: "" where the experiment has none.
        why: it is undecided; empty where it is not.
    """

    name: str
    comparison: Comparison
    base: str
    head: str
    change: str
    verdict: str
    gate: Literal["passed", "failed", "undecided", ""]
    why: str

    @property
    def is_regression(self) -> bool:
        """Whether it is shown to be slower: by more than the gate, where there is one."""
        return self.gate == "failed" if self.gate else self.comparison.verdict == "slower"

    @property
    def is_undecided(self) -> bool:
        """Whether it is not known if it is a regression."""
        return self.gate == "undecided" if self.gate else self.comparison.verdict == "undecided"


def benchmarks_of(report: Report) -> list[Benchmark]:
    """Return every benchmark of a comparison of revisions, in the experiment's order."""
    experiment, analysis = report.experiment, report.analysis
    unit = experiment.unit(analysis.metric)
    found = []
    for comparison in analysis.comparisons:
        medians = {
            summary.levels[analysis.factor]: _median(report, summary)
            for summary in analysis.conditions
            if report.context(summary) == dict(comparison.context)
        }
        undecided = "undecided" in (comparison.verdict, comparison.gate)
        found.append(
            Benchmark(
                name=name_of(experiment, comparison.context),
                comparison=comparison,
                base=medians[comparison.baseline],
                head=medians[comparison.level],
                change=_change_with_interval(comparison.ratio, comparison.interval),
                verdict=verdict_word(comparison.verdict, analysis.metric, unit),
                gate=comparison.gate or "",
                why=_why(report, comparison) if undecided else "",
            )
        )
    return found


def exit_code(benchmarks: Sequence[Benchmark], facts: Facts) -> int:
    """Return the exit code: a regression that is shown weighs more than what is undecided."""
    if any(benchmark.is_regression for benchmark in benchmarks):
        return REGRESSION
    failed = any(left.kind == "failed" for left in facts.left_out)
    return UNDECIDED if failed or any(of.is_undecided for of in benchmarks) else NO_REGRESSION


def name_of(experiment: Experiment, context: object) -> str:
    """Return what people call a benchmark: the levels of its context in which benchmarks differ."""
    assert isinstance(context, dict)
    varied = {factor: level for factor, level in context.items() if len(experiment.factors[factor]) > 1}
    if not varied:
        return printable(str(next(reversed(context.values()), experiment.name)))
    return printable(str(*varied.values()) if len(varied) == 1 else condition_name(varied))


def sentence(experiment: Experiment, benchmarks: Sequence[Benchmark], facts: Facts) -> str:
    """Return the answer in one sentence."""
    gate = experiment.comparison.gate_percent
    if not benchmarks:
        kinds = [f"{left.name} ({left.kind})" for left in facts.left_out]
        return f"nothing was compared: {listed(kinds)}"
    regressions = [benchmark for benchmark in benchmarks if benchmark.is_regression]
    undecided = [benchmark for benchmark in benchmarks if benchmark.is_undecided]
    failed = [left.name for left in facts.left_out if left.kind == "failed"]
    if len(benchmarks) == 1 and not failed:
        return _of_one(experiment, benchmarks[0])
    of = f"of {counted(len(benchmarks) + len(failed), 'benchmark')}"
    beyond = f" by more than {gate:g}%" if gate else ""
    if regressions:
        most = max(regressions, key=_slowdown)
        word = verdict_word("slower", most.comparison.metric, experiment.unit(most.comparison.metric))
        which = f", most of all {most.name}" if len(regressions) > 1 else f": {most.name}"
        return f"{word}{beyond}: {len(regressions)} {of}{which}, {most.change}"
    if undecided or failed:
        names = [*(benchmark.name for benchmark in undecided), *failed]
        return f"undecided: {len(names)} {of}: {shortened(listed(names))}; none is shown to be slower{beyond}"
    said = Counter(benchmark.verdict for benchmark in benchmarks)
    counts = listed([f"{count} {word}" for word, count in said.items()])
    beyond = f" beyond {gate:g}%" if gate else ""
    return f"no regression{beyond} in {counted(benchmarks, 'benchmark')}: {counts}"


def _of_one(experiment: Experiment, benchmark: Benchmark) -> str:
    """Return the answer where there is one benchmark."""
    gate, comparison = experiment.comparison.gate_percent, benchmark.comparison
    level, baseline = str(comparison.level), str(comparison.baseline)
    if comparison.ratio is None:
        return f"undecided: {benchmark.why}"
    more = "more" if comparison.ratio >= 1 else "less"
    takes = "takes" if _is_time(comparison.metric) else "has"
    interval = _ends(comparison.interval)
    said = (
        f"{level} {takes} {change(comparison.ratio).lstrip('+-')} {more} {metric_name(comparison.metric)}"
        f" than {baseline}{f' ({interval})' if interval else ''}"
    )
    beyond = {"failed": f", beyond the gate of {gate:g}%", "undecided": f"; the gate is {gate:g}%"}
    word = "slower" if benchmark.is_regression else benchmark.verdict
    if benchmark.gate == "passed":
        return f"no regression beyond {gate:g}%: {said}"
    if benchmark.gate == "undecided":
        word = "undecided"
    if word == "equivalent":
        word = f"no regression, equivalent within {experiment.comparison.smallest_effect_percent:g}%"
    return f"{word}: {said}{beyond.get(benchmark.gate, '')}"


def answer(report: Report, facts: Facts, more: str) -> Iterator[str]:
    """Yield the lines of the answer, the most important first; `more` is the command that shows more."""
    experiment, benchmarks = report.experiment, benchmarks_of(report)
    yield sentence(experiment, benchmarks, facts)
    yield from table(experiment, benchmarks, facts)
    for benchmark in benchmarks:
        if benchmark.why and len(benchmarks) > 1:
            yield f"  {benchmark.name}: {benchmark.why}"
    yield from needed(facts)
    far = trust(report)
    yield f"{elapsed(facts.took_s)}; {blocks_seen(report)}; trust: {far.summary}"
    for finding in far.worst:
        yield f"  {finding.severity}: {printable(short(finding, _FINDING_AT_MOST))}"
    yield from measured(report, facts)
    yield f"more: {more}"


def needed(facts: Facts) -> Iterator[str]:
    """Yield how long it would take until nothing is undecided, where that is known."""
    if facts.minutes_needed is not None:
        yield f"all would probably be decided within {duration(60 * facts.minutes_needed)} in all"


def table(experiment: Experiment, benchmarks: Sequence[Benchmark], facts: Facts) -> Iterator[str]:
    """Yield a row for each benchmark; a name that is too long for its column has a line of its own."""
    gate = experiment.comparison.gate_percent is not None
    heads = ["base", "change", "verdict", *["gate"] * gate]
    rows = [[of.name, of.base, of.change, of.verdict, *[of.gate] * gate] for of in benchmarks]
    rows += [[left.name, left.kind, left.why] for left in facts.left_out]
    full = [row for row in rows if len(row) == len(heads) + 1]
    widths = [max(len(row[column]) for row in [["", *heads], *full]) for column in range(1, len(heads) + 1)]
    room = WIDTH - sum(widths) - len(_GAP) * len(widths)
    names = min(max(len(row[0]) for row in [["benchmark"], *rows]), room)
    for name, *cells in [["benchmark", *heads], *rows]:
        if len(name) > names:
            yield name
            name = ""  # noqa: PLW2901  # the rest stands below it
        if len(cells) < len(heads):
            said = " ".join(filter(None, (f"{cells[0]}:" if cells[1] else cells[0], cells[1])))
            yield f"{name:{names}}{_GAP}{printable(said)}".rstrip()
            continue
        first, *others = cells
        padded = [first.rjust(widths[0])]
        padded += [cell.ljust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield _GAP.join([f"{name:{names}}", *padded]).rstrip()


def measured(report: Report, facts: Facts) -> Iterator[str]:
    """Yield what was measured: the revisions, and what the reader has to know of how they were built."""
    revisions = report.experiment.revisions
    assert revisions is not None
    for level, revision in revisions.levels.items():
        yield printable(f"{level}: {words_of(revision)}: {shortened(revision.subject)}")
        if revision.changed_by_build:
            files = shortened(listed(revision.changed_by_build))
            yield printable(
                f"  its build changed {counted(revision.changed_by_build, 'tracked file')}: {files}"
            )
    trees = {revision.tree for revision in revisions.levels.values()}
    if len(trees) == 1:
        yield "both have the same files: only their builds can differ"
    if facts.same_programs:
        yield printable(f"the same bytes in both: {listed(facts.same_programs)}")
    for subject, reason in report.campaign.host.get("one_layout", {}).items():
        yield printable(f"one layout: {subject}: {reason}")


def change(ratio: float) -> str:
    """Return by how much a metric changes: +3.1%, or 12.4 times where that is much."""
    if ratio >= _HUGE:
        return f"{number(ratio, 3)} times"
    return f"{100 * (ratio - 1):+.1f}%"


def metric_name(metric: str) -> str:
    """Return what people call a metric."""
    return NAMES.get(metric, re.sub(r"_(ns|us|ms|s|bytes)$", "", metric).replace("_", " "))


def _change_with_interval(ratio: float | None, interval: Interval | None) -> str:
    if ratio is None:
        return "-"
    ends = _ends(interval)
    return f"{change(ratio)} ({ends})" if ends else change(ratio)


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f"{change(interval.low)} to {change(interval.high)}"


def _slowdown(benchmark: Benchmark) -> float:
    """Return how much slower a benchmark is: the ratio, or its inverse where more is better."""
    ratio = benchmark.comparison.ratio or 1.0
    return ratio if ratio > 1 else 1 / ratio


def _is_time(metric: str) -> bool:
    return "time" in metric_name(metric).split() or re.search(r"_(ns|us|ms|s)$", metric) is not None


def _median(report: Report, summary: ConditionSummary) -> str:
    if summary.median is None:
        return "-"
    return in_unit(summary.median, unit_in(report.experiment, report.analysis.metric))


def _why(report: Report, comparison: Comparison) -> str:
    """Return why a benchmark is undecided, with the reason of its first trial that was not valid."""
    if not comparison.withheld:
        return comparison.reason
    failed = (
        trial.reason
        for trial in report.trials
        if trial.status != "valid" and comparison.context.items() <= trial.levels.items()
    )
    reason = next(failed, "")
    return printable(shortened(f"{comparison.reason}{f': {reason}' if reason else ''}", _WHY_AT_MOST))
