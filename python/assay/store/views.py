"""The view of an experiment: one row for each ended trial, one column for each factor and metric.

The views are made of plain SQL, so that any SQLite tool can read them. The values stay in JSON; SQLite
extracts only those that a query asks for. A metric is NULL unless its trial is valid, so that no invalid
trial can get into an average.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Literal

Kind = Literal["factor", "metric", "before", "after"]

FIXED = {
    "trial": "t.id",
    "campaign": "t.campaign_id",
    "block": "p.block",
    "group_number": 'p."group"',
    "status": "t.status",
    "reason": "t.reason",
    "started_at": "t.started_at",
    "wall_s": "t.wall_s",
    "flaws": "CASE WHEN c.deliberate THEN coalesce(json_extract(p.request, '$.flaws'), '[]') END",
}
"""The first columns of every view, and their expressions."""

MOST_COLUMNS = 1000
"""Names beyond this many get no column: SQLite reads at most 2000, and a program may invent new ones."""

_VALUES: dict[Kind, str] = {
    "factor": "json_extract(p.levels, {path})",
    "metric": "CASE WHEN t.status = 'valid' THEN json_extract(t.metrics, {path}) END",
    "before": "json_extract(t.calibration_before, {path})",
    "after": "json_extract(t.calibration_after, {path})",
}


def quoted(name: str) -> str:
    """Return `name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return `text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return `name`, or `name_2`, `name_3`, ... if that is taken; SQLite's names ignore case."""
    lowered = {column.lower() for column in taken}
    candidate, number = name, 1
    while candidate.lower() in lowered:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def expressible(name: str) -> bool:
    """Return whether a JSON path can name it: SQLite finds only keys without escapes."""
    return json.dumps(name, ensure_ascii=False) == f'"{name}"'


def view_columns(names: Iterable[tuple[Kind, str]]) -> Iterator[tuple[str, str]]:
    """Yield each column of a view with its expression.

    The fixed columns come first, then factors, metrics and calibrations, each kind in the given order. A
    calibration `x` becomes `before_x` and `after_x`. If a name is already taken, a factor becomes `factor_x`
    and a metric `metric_x`.
    """
    yield from FIXED.items()
    taken = {*FIXED, "true", "false"}  # SQLite takes these two for values even where they are quoted
    in_order = sorted(names, key=lambda column: tuple(_VALUES).index(column[0]))
    for kind, name in in_order[:MOST_COLUMNS]:
        if not expressible(name):
            continue
        plain = name if kind in {"factor", "metric"} and name.lower() not in taken else f"{kind}_{name}"
        column = free_name(plain, taken)
        taken.add(column.lower())
        yield column, _VALUES[kind].format(path=literal(f'$."{name}"'))


def create_view(name: str, experiment_id: int, names: Iterable[tuple[Kind, str]]) -> str:
    """Return the statement that creates an experiment's view over all its campaigns."""
    columns = ",\n  ".join(f"{value} AS {quoted(column)}" for column, value in view_columns(names))
    # Materialised, so that what is large, a resolved experiment, is parsed once and not for every trial.
    return (
        f"CREATE VIEW {quoted(name)} AS WITH c AS MATERIALIZED (\n"  # noqa: S608
        "  SELECT id, CASE WHEN json_valid(resolved) THEN json_extract(resolved, '$.pitfall.deliberate') END"
        " AS deliberate\n"
        f"  FROM campaign WHERE experiment_id = {experiment_id}\n"
        f")\nSELECT\n  {columns}\nFROM c JOIN trial AS t ON t.campaign_id = c.id\n"
        "JOIN planned_trial AS p ON p.campaign_id = t.campaign_id AND p.ordinal = t.ordinal"
    )
