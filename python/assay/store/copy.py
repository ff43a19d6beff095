"""Copies a store into an empty one, in a file or on a server, in whichever direction."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, func, insert, select
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError

from assay.errors import AssayError
from assay.store.database import database_of, run_sql
from assay.store.names import StoreName
from assay.store.opening import open_database
from assay.store.schema import Whole, as_texts, experiment, metadata, version
from assay.store.store import free_view
from assay.store.views import columns_of, create_view
from assay.words import shortened

_ROWS_AT_ONCE = 500


def copy_store(source: StoreName, target: StoreName) -> dict[str, int]:
    """Copy all rows of a store, as it is at this moment; return table -> number of rows.

    Numbers of campaigns and trials stay, and all text and JSON is the same to the letter. The target, which
    is made if it is missing, holds all of it or nothing.

    Raises:
        AssayError: the source cannot be read, or has a row that the target cannot hold; the target has a
            campaign, or cannot be written.
    """
    reading, writing = open_database(source, create=False), open_database(target, create=True)
    try:
        with reading.read() as old, writing.write("copy again") as new:
            taken = [*writing.taken_names(new)]
            if new.execute(select(func.count()).select_from(experiment)).scalar_one():
                raise AssayError(
                    f"{target} holds campaigns already: copy to a store that is empty or missing"
                )
            tables = [table for table in metadata.sorted_tables if table is not version]
            counts = {table.name: _copy_table(table, old, new, taken) for table in tables}
            for number, view in new.execute(select(experiment.c.id, experiment.c.view_name)).all():
                run_sql(new, create_view(view, number, columns_of(new, number), writing.view_sql))
            return counts
    finally:
        reading.close()
        writing.close()


def _copy_table(table: Table, old: Connection, new: Connection, taken: list[str]) -> int:
    """Copy the rows of a table; views get names that are not taken, which is no more so then."""
    texts, count = as_texts(table), 0
    whole = [column.name for column in table.columns if column.type is Whole]
    numbers = [column for column in table.columns if column.primary_key]
    rows = old.execution_options(yield_per=_ROWS_AT_ONCE).execute(
        select(texts).order_by(*(texts.c[column.name] for column in numbers))
    )
    for part in rows.mappings().partitions():
        written = [*_checked(table, part, whole)]
        for row in written if table is experiment else ():
            row["view_name"] = free_view(row["view_name"], taken, database_of(new))
            taken.append(row["view_name"])
        try:
            new.execute(insert(texts), written)
        except (DataError, IntegrityError) as error:
            raise _damaged(table, str(error.orig)) from error
        except StatementError as error:
            if isinstance(error, DBAPIError):
                raise
            raise _damaged(table, str(error.orig)) from error
        count += len(written)
    if "id" in table.c and count:
        database_of(new).numbered(new, table)
    return count


def _checked(table: Table, rows: Sequence[RowMapping], whole: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield rows; SQLite holds anything in any column, and PostgreSQL would round what is not whole."""
    for row in rows:
        for name in whole:
            if not isinstance(row[name], int | None):
                raise _damaged(table, f"{name} is {shortened(repr(row[name]))}")
        yield dict(row)


def _damaged(table: Table, what: str) -> AssayError:
    return AssayError(
        f"nothing was copied: a row of {table.name} is damaged ({shortened(what.splitlines()[0], 120)});"
        " `assay store check` names its campaign, and `assay store remove N` takes it out of the store"
    )
