"""The view of an experiment: one row for each ended trial, one column for each factor and metric.

The views are made of plain SQL, so that any tool can read them. The values stay in JSON; the database
extracts only those that a query asks for. A metric is NULL unless its trial is valid, so that no invalid
trial can get into an average.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import Connection, select

from assay.store.schema import view_column

Kind = Literal["factor", "metric", "before", "after"]
Type = Literal["whole", "real", "text"]
Names = Mapping[tuple[Kind, str], Type]
"""The names of an experiment, in the order of their first occurrence, with the type of their values."""

MOST_COLUMNS = 1000
"""Names beyond this many get no column: SQLite reads at most 2000, PostgreSQL 1600, and a program may invent
new ones."""

FIXED = (
    *("trial", "campaign", "block", "group_number", "status", "reason", "started_at", "wall_s", "ran_on"),
    "flaws",
)
"""The first columns of every view."""


@dataclass(frozen=True)
class ViewSql:
    """How a database writes the view of an experiment.

    Attributes:
        flaws: the expression of the column `flaws`.
        values: kind -> the expression of a value with its `{name}`, JSON `{path}` and `{type}`.
        types: type -> what the database calls it.
        rows: the rows, with {experiment_id}; c is the campaign, t the trial and p its plan.
        longest: bytes of a name; None where there is no limit.
    """

    flaws: str
    values: Mapping[Kind, str]
    rows: str
    types: Mapping[Type, str]
    longest: int | None = None


def quoted(name: str) -> str:
    """Return `name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return `text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def free_name(name: str, taken: Iterable[str], longest: int | None = None) -> str:
    """Return `name`, or `name_2`, `name_3`, ... if that is taken, which ignores case.

    A name of more than `longest` bytes is cut.
    """
    lowered = {column.lower() for column in taken}
    candidate, number = _cut(name, longest), 1
    while candidate.lower() in lowered:
        number += 1
        suffix = f"_{number}"
        candidate = _cut(name, longest and longest - len(suffix)) + suffix
    return candidate


def _cut(name: str, longest: int | None) -> str:
    return name if longest is None else name.encode()[:longest].decode(errors="ignore")


def type_of(level: object) -> Type:
    """Return the type of a level."""
    if isinstance(level, bool):
        return "text"
    return "whole" if isinstance(level, int) else "real" if isinstance(level, float) else "text"


def wider(known: Type | None, other: Type) -> Type:
    """Return the type that holds values of two; of one where the first is None."""
    if known in {None, other}:
        return other
    return "text" if "text" in {known, other} else "real"


def expressible(name: str) -> bool:
    """Return whether a JSON path can name it: SQLite finds only keys without escapes."""
    return json.dumps(name, ensure_ascii=False) == f'"{name}"'


def view_columns(names: Names, sql: ViewSql) -> Iterator[tuple[str, str]]:
    """Yield each column of a view with its expression.

    The fixed columns come first, then factors, metrics and calibrations, each kind in the given order. A
    calibration `x` becomes `before_x` and `after_x`. If a name is already taken, a factor becomes `factor_x`
    and a metric `metric_x`.
    """
    yield from zip(FIXED, _fixed(sql.flaws), strict=True)
    taken = {*FIXED, "true", "false"}  # SQLite takes these two for values even where they are quoted
    in_order = sorted(names, key=lambda column: tuple(sql.values).index(column[0]))
    for kind, name in in_order[:MOST_COLUMNS]:
        if not expressible(name):
            continue
        is_plain = name and kind in {"factor", "metric"} and name.lower() not in taken
        column = free_name(name if is_plain else f"{kind}_{name}", taken, sql.longest)
        taken.add(column.lower())
        yield (
            column,
            sql.values[kind].format(
                name=literal(name), path=literal(f'$."{name}"'), type=sql.types[names[kind, name]]
            ),
        )


def _fixed(flaws: str) -> tuple[str, ...]:
    trial = ("t.status", "t.reason", "t.started_at", "t.wall_s", "t.ran_on")
    return ("t.id", "t.campaign_id", "p.block", 'p."group"', *trial, flaws)


def create_view(view: str, experiment_id: int, names: Names, sql: ViewSql) -> str:
    """Return the statement that creates an experiment's view over all its campaigns."""
    columns = ",\n  ".join(f"{value} AS {quoted(column)}" for column, value in view_columns(names, sql))
    return sql.rows.format(view=quoted(view), experiment_id=experiment_id, columns=columns)


def columns_of(connection: Connection, experiment_id: int) -> dict[tuple[Kind, str], Type]:
    """Return the names that an experiment's view has, the first one first."""
    statement = (
        select(view_column.c.kind, view_column.c.name, view_column.c.type)
        .where(view_column.c.experiment_id == experiment_id)
        .order_by(view_column.c.id)
    )
    return {(cast(Kind, kind), name): type_ for kind, name, type_ in connection.execute(statement)}
