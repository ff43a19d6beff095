"""Figures, and those that share their axes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from assay.plan.types import Level
from assay.report.charts.axes import LEAST, MOST, drawable
from assay.words import condition_name, counted

Row = Mapping[str, Any]
Specification = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """One chart on the page.

    Attributes:
        kind: which specification draws it; figures of one kind share theirs.
        title: of others' making.
        rows: its data, column -> value; without them there is nothing to draw, and the note says why.
        note: what has to be said with it, of others' making too; may be empty.
        specification: makes what draws it.
        section: the part of the page that it belongs to, a key of SECTIONS.
        name: stem of a file's name, unique on the page: small letters, digits, `_` and `-`.
    """

    kind: str
    title: str
    rows: Sequence[Row] = ()
    note: str = ""
    specification: Callable[[], Specification] = dict
    section: str = ""
    name: str = ""

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Return its columns, and its rows as lists of their values."""
        columns = list(dict.fromkeys(chain.from_iterable(self.rows)))
        return columns, [[row.get(column) for column in columns] for row in self.rows]


def together(
    figures: Iterable[Figure], specification: Callable[[Sequence[Row]], Specification]
) -> list[Figure]:
    """Return figures on the axes that all their rows need.

    Rows with numbers that axes cannot show are left out, and the note says so.

    Args:
        specification: every row that is drawn -> what draws them.
    """
    figures = list(figures)
    kept = [[row for row in figure.rows if all(map(drawable, row.values()))] for figure in figures]
    draws = partial(specification, list(chain.from_iterable(kept)))
    return [
        replace(
            figure,
            rows=rows,
            note=noted(figure.note, left_out(len(figure.rows) - len(rows))),
            specification=draws,
        )
        for figure, rows in zip(figures, kept, strict=True)
    ]


def noted(*parts: str) -> str:
    """Return those parts of a note that say something."""
    return " ".join(filter(None, parts))


def left_out(marks: int, what: str = "mark") -> str:
    """Return that some marks are not drawn since their numbers are not drawable; nothing of none."""
    if not marks:
        return ""
    return f"Not drawn: {counted(marks, what)} with numbers below {LEAST:g} or above {MOST:g}."


def numbers(rows: Sequence[Row], *columns: str) -> list[float]:
    """Return the numbers in some columns of the rows."""
    return [row[column] for row in rows for column in columns if row.get(column) is not None]


def titled(what: str, shared: Mapping[str, Level]) -> str:
    """Return the title of a figure, with the levels that all of it shares."""
    return f"{what}: {condition_name(shared)}" if shared else what
