"""The screen of a comparison of two revisions: the answer, each benchmark, how far to trust it."""

from collections.abc import Iterator, Sequence

from assay.experiment.revisions import words_of
from assay.report.ab import Answer, Benchmark, named, sentence
from assay.report.aligned import aligned
from assay.report.trust import short
from assay.words import counted, duration, elapsed, listed, printable, shortened

WIDTH = 80
_FINDING_AT_MOST = 68  # characters: with its severity on one line of 80
_ROWS_AT_MOST = 12  # of benchmarks about which there is nothing to say; a screen has 24 lines


def screen(answer: Answer, more: str) -> Iterator[str]:
    """Yield the lines of an answer, the most important first; `more` is the command that shows more."""
    yield sentence(answer)
    yield from _table(answer)
    for benchmark in answer.benchmarks:
        if benchmark.why and len(answer.benchmarks) > 1:
            yield f"  {benchmark.name}: {benchmark.why}"
    yield from needed(answer)
    if answer.trust is not None:
        blocks = counted(answer.blocks, "block")
        yield f"{elapsed(answer.took_s)}; {blocks}; trust: {answer.trust.summary}"
        for finding in answer.trust.worst:
            yield f"  {finding.severity}: {printable(short(finding, _FINDING_AT_MOST))}"
    yield from measured(answer)
    if more:
        yield f"more: {more}"


def needed(answer: Answer) -> Iterator[str]:
    """Yield how long it would take until nothing is undecided, where that is known."""
    minutes = answer.minutes_needed
    if minutes is not None:
        yield f"to decide all takes {duration(60 * minutes)} of measuring, if nothing changes"


def by_weight(benchmarks: Sequence[Benchmark]) -> list[Benchmark]:
    """Return benchmarks as people want to see them: regressions, then undecided ones, then others."""
    return sorted(benchmarks, key=lambda of: 0 if of.is_regression else 1 if of.is_undecided else 2)


def _table(answer: Answer) -> Iterator[str]:
    """Yield a row for each benchmark; a name that is too long for its column has a line of its own."""
    benchmarks = by_weight(answer.benchmarks)
    shown = [of for of in benchmarks if of.is_regression or of.is_undecided]
    shown = benchmarks[: max(len(shown), _ROWS_AT_MOST)]
    gate = f"gate {answer.gate_percent:g}%" if answer.gate_percent else "verdict"
    rows = [["benchmark", "base", "change", "interval", gate]] * bool(shown)
    rows += [[of.name, of.shown[0], of.change, of.interval, of.result] for of in shown]
    yield from aligned(rows, right={1, 2}, width=WIDTH)
    if len(benchmarks) > len(shown):
        yield f"and {len(benchmarks) - len(shown)} more without a regression"
    for kind, said in (("new", "new in head"), ("gone", "gone in head")):
        names_of = [left.name for left in answer.skipped if left.kind == kind]
        if names_of:
            yield f"{said}, so not compared: {named(names_of)}"
    for left in answer.failed:
        yield f"failed, so not compared: {left.name}: {printable(shortened(left.why, 200))}"


def measured(answer: Answer) -> Iterator[str]:
    """Yield what was measured: the revisions, and what the reader has to know of how they were built."""
    for level, revision in answer.revisions.items():
        yield printable(f"{level}: {words_of(revision)}: {shortened(revision.subject)}")
        if revision.changed_by_build:
            files = shortened(listed(revision.changed_by_build))
            yield printable(
                f"  its build changed {counted(revision.changed_by_build, 'tracked file')}: {files}"
            )
    if len({revision.tree for revision in answer.revisions.values()}) == 1:
        yield "both have the same files: only how they were built can differ"
    if answer.same_programs:
        yield printable(f"the same bytes in both: {named(answer.same_programs)}")
    for reason in dict.fromkeys((answer.one_layout or {}).values()):
        yield printable(f"measured in one layout alone: {reason}")
