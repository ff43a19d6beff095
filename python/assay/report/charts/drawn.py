"""Figures, and those that share their axes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from assay.experiment import Experiment
from assay.plan.types import Level
from assay.report.charts.drawings import LEAST, MOST, Row, Specification, drawable
from assay.words import condition_name, counted

WIDE = 30  # where the largest is this many times the smallest, a logarithmic scale is needed to see both


@dataclass(frozen=True)
class Figure:
    """One chart on the page.

    Attributes:
        section: the part of the page that it belongs to, a key of SECTIONS.
        kind: which specification draws it; figures of one kind share theirs.
        title: of others' making.
        columns, rows: its data. Without rows there is nothing to draw, and the note says why.
        specification: makes what draws it.
        note: what has to be said with it, of others' making too; may be empty.
        name: stem of a file's name, unique on the page: small letters, digits, `_` and `-`.
    """

    section: str
    kind: str
    title: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    specification: Callable[[], Specification] = dict
    note: str = ""
    name: str = ""


@dataclass(frozen=True)
class Table:
    """The rows of a figure, with its title and note."""

    title: str
    rows: Sequence[Row]
    note: str = ""


def together(
    section: str,
    kind: str,
    columns: Sequence[str],
    tables: Sequence[Table],
    specification: Callable[[Sequence[Row]], Specification],
) -> list[Figure]:
    """Return a figure for each table, all on the axes that all their rows need.

    Rows with numbers that axes cannot show are left out, and the note says so.

    Args:
        specification: every row that is drawn -> what draws them.
    """
    kept = [[row for row in table.rows if all(map(drawable, row))] for table in tables]
    every = [row for rows in kept for row in rows]
    return [
        Figure(
            section,
            kind,
            table.title,
            columns,
            rows,
            partial(specification, every),
            " ".join(filter(None, (table.note, left_out(len(table.rows) - len(rows))))),
        )
        for table, rows in zip(tables, kept, strict=True)
    ]


def left_out(marks: int, what: str = "mark") -> str:
    """Return that some marks are not drawn since their numbers are not drawable; nothing of none."""
    if not marks:
        return ""
    return f"Not drawn: {counted(marks, what)} with numbers below {LEAST:g} or above {MOST:g}."


def column(rows: Sequence[Row], *places: int) -> list[float]:
    """Return the numbers in some places of the rows."""
    return [row[place] for row in rows for place in places if row[place] is not None]


def titled(what: str, shared: Mapping[str, Level]) -> str:
    """Return the title of a figure, with the levels that all of it shares."""
    return f"{what}: {condition_name(shared)}" if shared else what


def measured(experiment: Experiment, metric: str) -> str:
    """Return a metric with its unit, where that is known."""
    unit = experiment.unit(metric)
    own = any(program.is_command for program in experiment.programs.values())
    if not unit and not own and metric.endswith("throughput"):
        unit = "operations / s"
    return f"{metric} ({unit})" if unit else metric


def wide(values: Sequence[float]) -> bool:
    """Tell whether values differ so much that only a logarithmic scale shows them all."""
    return bool(values) and min(values) > 0 and max(values) > WIDE * min(values)
