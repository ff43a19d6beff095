"""The comment on a pull request with the result of a comparison of two revisions, in Markdown."""

from collections.abc import Iterator, Sequence
from html import escape

from assay.experiment.revisions import words_of
from assay.report.ab import NO_REGRESSION, REGRESSION, Answer, Benchmark, sentence
from assay.report.ab_screen import by_weight, measured, needed
from assay.report.markdown import table, text
from assay.report.metrics import name_of_metric
from assay.words import counted, elapsed, printable

_ROWS_AT_MOST = 10
"""Benchmarks that are shown if they are not regressions; others are folded."""

_MARKS = {NO_REGRESSION: "✅", REGRESSION: "❌"}
_UNDECIDED = "⚠️"
_NO_BREAK = "&nbsp;"


def comment(answer: Answer) -> str:
    """Return the answer and a table of the benchmarks; how they were measured is folded."""
    said = sentence(answer)
    parts = [f"### {_MARKS.get(answer.exit_code, _UNDECIDED)} {text(said[0].upper() + said[1:])}"]
    parts.append(f"<sub>{text(_compared(answer))}</sub>")
    benchmarks = by_weight(answer.benchmarks)
    shown = sum(of.is_regression or of.is_undecided for of in benchmarks)
    shown = max(shown, _ROWS_AT_MOST)
    if benchmarks:
        parts.append(_table(answer, benchmarks[:shown]))
    if benchmarks[shown:]:
        rest = benchmarks[shown:]
        parts.append(_folded(f"{len(rest)} more without a regression", _table(answer, rest)))
    parts += (text(line[0].upper() + line[1:]) for line in needed(answer))
    notes = list(_notes(answer))
    if notes:
        parts.append("\n".join(f"- {text(note)}" for note in notes))
    trust = f"Trust: {answer.trust.degree}; " if answer.trust else ""
    summary = f"{trust}how it was measured"
    parts.append(_folded(summary, "\n".join(f"- {text(line.strip())}" for line in _facts(answer))))
    return "\n\n".join(parts) + "\n"


def _table(answer: Answer, benchmarks: Sequence[Benchmark]) -> str:
    numbers = [*answer.revisions, "change", "interval"]
    return table(["", "benchmark", *numbers, "result"], map(_row, benchmarks), numbers)


def _row(benchmark: Benchmark) -> list[str]:
    mark = "❌" if benchmark.is_regression else _UNDECIDED if benchmark.is_undecided else "✅"
    cells = [*benchmark.shown, benchmark.change, benchmark.interval, benchmark.result]
    return [mark, benchmark.name, *(cell.replace(" ", _NO_BREAK) for cell in cells)]


def _notes(answer: Answer) -> Iterator[str]:
    """Yield what keeps benchmarks from being compared or decided."""
    for benchmark in answer.benchmarks:
        if benchmark.why:
            undecided = "undecided: " * benchmark.is_undecided
            yield f"{benchmark.name}: {undecided}{benchmark.why}"
    for left in answer.skipped:
        failed = left.kind == "failed"
        yield f"{left.name}: {f'fails in {left.why}' if failed else f'{left.kind}, so not compared'}"


def _compared(answer: Answer) -> str:
    """Return what was compared: the metric and the two revisions."""
    metric = f"{name_of_metric(answer.metric)}; " if answer.metric else ""
    return metric + ", ".join(f"{level}: {words_of(of)}" for level, of in answer.revisions.items())


def _facts(answer: Answer) -> Iterator[str]:
    """Yield how it was measured, how far to trust it, and what was measured."""
    yield from measured(answer)
    if answer.trust is None:
        return
    gate = f"; the gate is {answer.gate_percent:g}%" if answer.gate_percent else ""
    yield (
        f"medians of {name_of_metric(answer.metric)}, and the change with its interval, from"
        f" {counted(answer.blocks, 'block')} in {elapsed(answer.took_s)}{gate}"
    )
    yield from answer.trust.reasons


def _folded(summary: str, content: str) -> str:
    """Return what is shown once its summary is clicked."""
    return f"<details><summary>{escape(printable(summary))}</summary>\n\n{content}\n\n</details>"
