"""One read-only SQL query over a store's file, with the aggregates that SQLite lacks."""

import difflib
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

from assay.errors import AssayError
from assay.store.database import Rows
from assay.store.views import quoted

BUSY_TIMEOUT_S = 30.0
"""The longest time that a process waits for another one that is writing."""

LONGEST_BYTES = 2**28
"""The most bytes of one value, a text or a BLOB."""

LONGEST_S = 60
"""The most seconds that a query may run."""

_READ = re.compile(r'\b(?:from|join)\s+(?:"([^"]+)"|(\w+))', re.IGNORECASE)
"""The tables of a query; a missing column was most often meant for the first one."""


class _Aggregate:
    """Collects numbers for SQLite; NULLs are ignored.

    SQLite does not pass on an aggregate's exceptions, so their reasons are added to `mistakes`.
    """

    def __init__(self, name: str, mistakes: list[str]) -> None:
        self._name = name
        self._mistakes = mistakes
        self._values: list[float] = []
        self._p: float | None = None

    def step(self, value: Any, p: Any = 0.5) -> None:
        if not isinstance(p, int | float) or not 0 <= p <= 1:
            self._fail(f"quantile(x, p) needs a p from 0 to 1, not {p!r}")
        if self._p not in {None, p}:
            self._fail(f"quantile(x, p) needs one p for a whole group, not {self._p!r} and {p!r}")
        self._p = p
        if isinstance(value, int | float):
            self._values.append(value)
        elif value is not None:
            self._fail(f"{self._name} takes numbers, not {value!r}")

    def finalize(self) -> Any:
        if self._p is None or not self._values:
            return None
        # Loaded late, because most queries need none of it.
        import numpy as np  # noqa: PLC0415

        with np.errstate(all="ignore"):
            return float(np.quantile(np.array(self._values, dtype=np.float64), self._p))

    def _fail(self, mistake: str) -> None:
        self._mistakes.append(mistake)
        raise ValueError(mistake)


def add_aggregates(connection: sqlite3.Connection, mistakes: list[str]) -> None:
    """Add `median(x)` and `quantile(x, p)` to a connection; their errors are added to `mistakes`."""
    connection.create_aggregate("median", 1, lambda: _Aggregate("median", mistakes))
    connection.create_aggregate("quantile", 2, lambda: _Aggregate("quantile", mistakes))


def run_query(path: Path, sql: str, trials: str | None) -> Rows:
    """Run one query on a connection that can only read.

    Args:
        path: the store's file.
        sql: the query.
        trials: the SELECT for the name `trials`, if there is a campaign.

    Raises:
        AssayError: SQLite refuses the query, it goes beyond a limit, or it is not a query.
    """
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise AssayError("the query is not text in UTF-8; write bytes as x'00ff'") from error
    mistakes: list[str] = []
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)) as connection:
        # What a trial printed need not be text.
        connection.text_factory = lambda data: data.decode(errors="replace")
        add_aggregates(connection, mistakes)
        # Else a query may fill the disk. It drops what is temporary, so it comes first.
        connection.execute("PRAGMA temp_store = MEMORY")
        if trials is not None:
            connection.execute(f"CREATE TEMP VIEW trials AS {trials}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_BYTES)
        # Python sees Ctrl-C only where its own code runs; every so often this does.
        ends_at = monotonic() + LONGEST_S
        connection.set_progress_handler(lambda: monotonic() > ends_at, 100_000)
        # The file is open for reading only, but a query could reach other files, and SQLite would advise on
        # a change (use DROP VIEW) before it refused it.
        connection.set_authorizer(
            lambda action, name, function, *_: (
                sqlite3.SQLITE_DENY
                if action in {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DELETE}
                or (action == sqlite3.SQLITE_PRAGMA and name != "table_info")
                or (action == sqlite3.SQLITE_FUNCTION and function == "load_extension")
                else sqlite3.SQLITE_OK
            )
        )
        try:
            cursor = connection.execute(sql)
            rows = cursor.fetchall()
        except sqlite3.Error as error:
            connection.set_progress_handler(None, 0)
            late = monotonic() > ends_at
            _explain(error, sql, mistakes, connection, has_trials=trials is not None, late=late)
            raise
        except (SystemError, UnicodeDecodeError) as error:
            # Where an argument of an aggregate is not UTF-8, Python's sqlite3 forgets that it has raised.
            raise AssayError("median and quantile take numbers, not text") from error
        if cursor.description is None:
            raise AssayError("that is not a query: begin with select")
        return [column[0] for column in cursor.description], rows


def _explain(
    error: sqlite3.Error,
    sql: str,
    mistakes: list[str],
    connection: sqlite3.Connection,
    *,
    has_trials: bool,
    late: bool,
) -> None:
    """Raise an AssayError if the query is wrong, and not the file."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        if not late:
            raise KeyboardInterrupt from error
        raise AssayError(
            f"the query was ended after {LONGEST_S} s; narrow it with where or limit, or run it in sqlite3,"
            " which has no limit"
        ) from error
    if code == sqlite3.SQLITE_TOOBIG:
        raise AssayError(
            f"the query makes a text or BLOB of more than {LONGEST_BYTES >> 20} MiB; ask for less, as by"
            " substr(x, 1, 1000)"
        ) from error
    if mistakes:
        raise AssayError(mistakes[0]) from error
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH} or "not authorized" in str(error):
        raise AssayError("a query can only read the store: begin with select, load nothing") from error
    if code not in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}:
        return
    message = str(error)
    if message == "malformed JSON":
        raise AssayError(
            "a row that the query reads is damaged (malformed JSON): `assay store check` names its campaign,"
            " and --campaign N reads another one alone"
        ) from error
    missing = re.fullmatch(r"no such (column|table): (.+)", message)
    if missing is None:
        raise AssayError(f"SQLite does not understand the query: {message}") from error
    kind, name = missing.groups()
    if not has_trials and (kind == "column" or name == "trials"):
        raise AssayError(
            f"{message}; the store holds no campaign yet, so there is no view trials: run an experiment"
        ) from error
    tables = [
        table
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_temp_master UNION ALL "
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )
    ]
    place, names = "there are", tables
    if kind == "column":
        read = [first or second for first, second in _READ.findall(sql)]
        table = next((table for table in read if table in tables), "trials")
        place = f"the columns of {table} are"
        names = [column for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", [table])]
    nearest = difflib.get_close_matches(name.rpartition(".")[2], names, 1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    listing = ", ".join(name if name.isidentifier() else quoted(name) for name in names)
    raise AssayError(f"{message}{hint}; {place} {listing}") from error
