"""A comparison of two revisions as a screen, as a comment on a pull request, and as a JUnit file."""

from collections.abc import Iterator, Sequence
from html import escape
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from assay.experiment.revisions import words_of
from assay.report.ab import NO_REGRESSION, REGRESSION, Answer, BenchmarkComparison, named, sentence
from assay.report.aligned import aligned
from assay.report.markdown import table, text
from assay.report.metrics import name_of_metric
from assay.words import counted, duration, elapsed, listed, printable, shortened

WIDTH = 80
_ON_A_SCREEN, _IN_A_COMMENT = 12, 10
"""Benchmarks that are shown if there is nothing to say about them; a screen has 24 lines."""
_MARKS = {NO_REGRESSION: "✅", REGRESSION: "❌"}
_UNDECIDED = "⚠️"
_SUITE = "assay ab"


def screen(answer: Answer, more: str) -> Iterator[str]:
    """Yield the lines of an answer, the most important first; `more` is the command that shows more."""
    yield sentence(answer)
    shown, rest = _by_weight(answer, _ON_A_SCREEN)
    gate = f"gate {answer.gate_percent:g}%" if answer.gate_percent else "verdict"
    rows = [["benchmark", "base", "change", "interval", gate]] * bool(shown)
    rows += [[of.name, of.shown[0], of.change, of.interval, of.result] for of in shown]
    yield from aligned(rows, right={1, 2}, width=WIDTH)
    if rest:
        yield f"and {len(rest)} more without a regression"
    for kind in ("new", "gone"):
        if names := [left.name for left in answer.skipped if left.kind == kind]:
            yield f"{kind} in head, so not compared: {named(names)}"
    for left in answer.failed:
        yield f"failed, so not compared: {left.name}: {printable(shortened(left.why, 200))}"
    for benchmark in answer.benchmarks:
        if benchmark.why and len(answer.benchmarks) > 1:
            yield f"  {benchmark.name}: {benchmark.why}"
    yield from _needed(answer)
    if answer.trust is not None:
        yield from answer.trust.lines(f"{elapsed(answer.took_s)}; {counted(answer.blocks, 'block')}")
    yield from _measured(answer)
    if more:
        yield f"more: {more}"


def comment(answer: Answer) -> str:
    """Return the answer and a table of the benchmarks; how they were measured is folded."""
    said = sentence(answer)
    metric = f"{name_of_metric(answer.metric)}; " if answer.metric else ""
    compared = metric + ", ".join(f"{level}: {words_of(of)}" for level, of in answer.revisions.items())
    parts = [f"### {_MARKS.get(answer.exit_code, _UNDECIDED)} {text(said[0].upper() + said[1:])}"]
    parts.append(f"<sub>{text(compared)}</sub>")
    shown, rest = _by_weight(answer, _IN_A_COMMENT)
    if shown:
        parts.append(_table(answer, shown))
    if rest:
        parts.append(_folded(f"{len(rest)} more without a regression", _table(answer, rest)))
    parts += (text(line[0].upper() + line[1:]) for line in _needed(answer))
    if notes := list(_notes(answer)):
        parts.append("\n".join(f"- {text(note)}" for note in notes))
    summary = f"Trust: {answer.trust.degree}; " if answer.trust else ""
    facts = "\n".join(f"- {text(line.strip())}" for line in _facts(answer))
    parts.append(_folded(f"{summary}how it was measured", facts))
    return "\n\n".join(parts) + "\n"


def junit(answer: Answer) -> str:
    """Return a file with a test case for each benchmark.

    A regression is a failure, a benchmark that does not work an error; one that is undecided, or in one of
    the revisions only, is skipped.
    """
    cases: list[tuple[str, str, dict[str, str], str]] = []  # name, element, its attributes, its text
    for of in answer.benchmarks:
        said = f"{of.result}: {of.with_interval}, from {of.shown[0]} to {of.shown[1]}"
        if of.is_regression:
            cases.append((of.name, "failure", {"type": "regression", "message": said}, ""))
        elif of.is_undecided:
            cases.append((of.name, "skipped", {"message": f"{said}; {of.why}"}, ""))
        else:
            cases.append((of.name, "system-out", {}, "; ".join(filter(None, [said, of.why]))))
    for left in answer.skipped:
        if left.kind == "failed":
            cases.append((left.name, "error", {"type": "failed", "message": left.why}, ""))
        else:
            cases.append((left.name, "skipped", {"message": f"{left.kind}, so not compared"}, ""))
    kinds = [kind for _, kind, _, _ in cases]
    counts = {name: str(kinds.count(name.removesuffix("s"))) for name in ("failures", "errors")}
    counts |= {"skipped": str(kinds.count("skipped")), "time": f"{answer.took_s:.3f}"}
    suite = Element("testsuite", {"name": _SUITE, "tests": str(len(cases)), **counts})
    for name, kind, attributes, content in cases:
        case = SubElement(suite, "testcase", classname=_SUITE, name=printable(name))
        element = SubElement(case, kind, {key: printable(value) for key, value in attributes.items()})
        element.text = printable(content) or None
    SubElement(suite, "system-out").text = printable(sentence(answer))
    indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suite, encoding="unicode")}\n'


def _by_weight(answer: Answer, at_most: int) -> tuple[list[BenchmarkComparison], list[BenchmarkComparison]]:
    """Return regressions, undecided benchmarks and as many others as there is room for; and the rest."""
    ordered = sorted(answer.benchmarks, key=lambda of: (not of.is_regression, not of.is_undecided))
    shown = max(at_most, sum(of.is_regression or of.is_undecided for of in ordered))
    return ordered[:shown], ordered[shown:]


def _needed(answer: Answer) -> Iterator[str]:
    """Yield how long it would take until nothing is undecided, where that is known."""
    if answer.minutes_needed is not None:
        takes = duration(60 * answer.minutes_needed)
        yield f"to decide all takes {takes} of measuring, if nothing changes"


def _measured(answer: Answer) -> Iterator[str]:
    """Yield what was measured: the revisions, and what the reader has to know of how they were built."""
    for level, revision in answer.revisions.items():
        yield printable(f"{level}: {words_of(revision)}: {shortened(revision.subject)}")
        if changed := revision.changed_by_build:
            files = shortened(listed(changed))
            yield printable(f"  its build changed {counted(changed, 'tracked file')}: {files}")
    if len({revision.tree for revision in answer.revisions.values()}) == 1:
        yield "both have the same files: only how they were built can differ"
    if answer.same_programs:
        yield printable(f"the same bytes in both: {named(answer.same_programs)}")
    for reason in dict.fromkeys((answer.one_layout or {}).values()):
        yield printable(f"measured in one layout alone: {reason}")


def _table(answer: Answer, benchmarks: Sequence[BenchmarkComparison]) -> str:
    numbers = [*answer.revisions, "change", "interval"]
    rows = []
    for of in benchmarks:
        mark = "❌" if of.is_regression else _UNDECIDED if of.is_undecided else "✅"
        cells = [*of.shown, of.change, of.interval, of.result]
        rows.append([mark, of.name, *(cell.replace(" ", "&nbsp;") for cell in cells)])
    return table(["", "benchmark", *numbers, "result"], rows, numbers)


def _notes(answer: Answer) -> Iterator[str]:
    """Yield what keeps benchmarks from being compared or decided."""
    for benchmark in answer.benchmarks:
        if benchmark.why:
            undecided = "undecided: " * benchmark.is_undecided
            yield f"{benchmark.name}: {undecided}{benchmark.why}"
    for left in answer.skipped:
        failed = left.kind == "failed"
        yield f"{left.name}: {f'fails in {left.why}' if failed else f'{left.kind}, so not compared'}"


def _facts(answer: Answer) -> Iterator[str]:
    """Yield what was measured, how, and how far to trust it."""
    yield from _measured(answer)
    if answer.trust is not None:
        gate = f"; the gate is {answer.gate_percent:g}%" if answer.gate_percent else ""
        yield (
            f"medians of {name_of_metric(answer.metric)}, and the change with its interval, from"
            f" {counted(answer.blocks, 'block')} in {elapsed(answer.took_s)}{gate}"
        )
        yield from answer.trust.reasons


def _folded(summary: str, content: str) -> str:
    """Return what is shown once its summary is clicked."""
    return f"<details><summary>{escape(printable(summary))}</summary>\n\n{content}\n\n</details>"
