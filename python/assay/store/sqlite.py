"""SQLite's part: how a store's file is located, opened, written and locked, and its errors."""

import fcntl
import os
import shlex
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Self

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.exc import DBAPIError

from assay.errors import AssayError
from assay.store.database import KEPT, Database, Rows
from assay.store.migrate import OLDEST, check_version, migrate
from assay.store.query import BUSY_TIMEOUT_S, run_query
from assay.store.schema import VERSION, metadata, version
from assay.store.views import ViewSql, quoted

APPLICATION_ID = 0x41737379
"""Marks an SQLite file as a store of Assay ("Assy"), in SQLite's `application_id`."""

_FINDINGS = """
CREATE VIEW findings AS SELECT campaign_id AS campaign, audited_at, value ->> 'rule' AS rule,
  value ->> 'severity' AS severity, value ->> 'message' AS message, value ->> 'where' AS places,
  value ->> 'evidence' AS evidence, value ->> 'remedy' AS remedy, value ->> 'trials' AS trials
FROM audit, json_each(CASE WHEN json_valid(findings) THEN findings ELSE '[]' END)
WHERE audit.id IN (SELECT max(id) FROM audit GROUP BY campaign_id)
"""
_VERDICTS = """
CREATE VIEW verdicts AS SELECT campaign_id AS campaign, concluded_at, value ->> 'metric' AS metric,
  value ->> 'context' AS context, value ->> 'level' AS level, value ->> 'baseline' AS baseline,
  value ->> 'verdict' AS verdict, value ->> 'ratio' AS ratio, value ->> 'low' AS low,
  value ->> 'high' AS high, value ->> 'p' AS p, value ->> 'pairs' AS pairs, value ->> 'reason' AS reason
FROM conclusion, json_each(CASE WHEN json_valid(verdicts) THEN verdicts ELSE '[]' END)
WHERE conclusion.id IN (SELECT max(id) FROM conclusion GROUP BY campaign_id)
"""
_CAMPAIGNS = """
CREATE VIEW campaigns AS SELECT campaign.id AS campaign, experiment.name AS experiment, question, started_at,
  (SELECT count(*) FROM trial WHERE campaign_id = campaign.id) AS trials,
  (SELECT count(*) FROM trial WHERE campaign_id = campaign.id AND status <> 'valid') AS not_valid,
  (SELECT group_concat(many || ' ' || verdict, ', ') FROM (SELECT verdict, count(*) AS many FROM verdicts
    WHERE verdicts.campaign = campaign.id GROUP BY verdict)) AS verdicts,
  (SELECT group_concat(many || ' ' || severity || CASE WHEN many > 1 THEN 's' ELSE '' END, ', ')
    FROM (SELECT severity, count(*) AS many FROM findings
    WHERE findings.campaign = campaign.id GROUP BY severity
    ORDER BY severity = 'note', severity)) AS findings
FROM campaign JOIN experiment ON experiment.id = experiment_id
"""
_VIEW = ViewSql(
    flaws="CASE WHEN c.deliberate THEN coalesce(json_extract(p.request, '$.flaws'), '[]') END",
    values={
        "factor": "json_extract(p.levels, {path})",
        "metric": "CASE WHEN t.status = 'valid' THEN json_extract(t.metrics, {path}) END",
        "before": "json_extract(t.calibration_before, {path})",
        "after": "json_extract(t.calibration_after, {path})",
    },
    # Materialised, so that what is large, a resolved experiment, is parsed once and not for every trial.
    rows="CREATE VIEW {view} AS WITH c AS MATERIALIZED (\n"
    "  SELECT id, CASE WHEN json_valid(resolved) THEN json_extract(resolved, '$.pitfall.deliberate') END"
    " AS deliberate\n"
    "  FROM campaign WHERE experiment_id = {experiment_id}\n"
    ")\nSELECT\n  {columns}\nFROM c JOIN trial AS t ON t.campaign_id = c.id\n"
    "JOIN planned_trial AS p ON p.campaign_id = t.campaign_id AND p.ordinal = t.ordinal",
    types={"whole": "", "real": "", "text": ""},  # a value of SQLite has its own
)

_SAVED_AT_MOST = 1000


class SqliteDatabase(Database):
    """A store's file in WAL mode: readers and the one writer never wait for each other.

    `synchronous` is FULL: each transaction is on the disk before it returns, so that a trial survives
    `kill -9` of the runner and, as far as the disk keeps its word, a power failure. NORMAL would be a little
    quicker, but the kernel would then write the data back while a later trial is being measured.
    """

    view_sql = _VIEW

    def __init__(self, path: Path, file: Path, engine: Engine) -> None:
        super().__init__(path, engine)
        self._path = path
        self._file = file  # with all links followed
        self._identity = _identity(file)

    @classmethod
    def open(cls, path: Path, *, create: bool) -> Self:
        """Open the file at a path; see `Store.open`."""
        file = located(path)
        if not create and not file.exists():
            raise AssayError(
                f"there is no store at {path}: run an experiment first "
                "(assay run experiments/quickstart.toml), or name the store with --store"
            )
        if file.exists() and file.stat().st_size == 1:
            raise damaged(path, "it holds one byte")  # which SQLite would take as empty, and overwrite
        make_folder(file)
        engine = _engine(file)
        try:
            with explained(path, "run again"):
                found, in_wal = _version_of(engine, path, file)
                if not in_wal:
                    _create(engine)
                if found is not None and found < VERSION:
                    with file_lock(path):  # an older Assay may be running trials
                        _migrate(engine)
            return cls(path, file, engine)
        except BaseException:
            engine.dispose()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection that sees the store at one moment."""
        with explained(self._path), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self, remedy: str) -> Iterator[Connection]:
        """Yield the only connection that may write: one transaction."""
        # IMMEDIATE takes the write lock at once, so that nothing read inside can be out of date.
        engine = self.engine.execution_options(assay_begin="BEGIN IMMEDIATE")
        with explained(self._path, remedy), engine.begin() as connection:
            yield connection
        self.check_in_place(remedy)

    def check_in_place(self, go_on: str) -> None:
        """Check that the file is still at its path: otherwise, everything written to it would be lost.

        If it is not, its content is written to a new file next to the path.

        Raises:
            AssayError: somebody deleted, moved or replaced the file, or its disk is gone; `go_on` says what
                to do with the new file.
        """
        path, file = self._path, self._file
        with suppress(OSError):
            if self._identity == _identity(file) == _identity(path):
                return
        gone = f"{path} is gone: it was deleted, moved or replaced, or its disk was removed"
        names = (file.with_name(f"{file.name}.saved{n}") for n in ("", *range(2, _SAVED_AT_MOST)))
        saved = next((name for name in names if not os.path.lexists(name)), file)
        try:
            saved.parent.mkdir(parents=True, exist_ok=True)
            with closing(self.engine.raw_connection()) as raw:
                raw.cursor().execute("VACUUM INTO ?", (str(saved),))
        except (OSError, sqlite3.Error) as error:
            raise AssayError(f"{gone}; what it held could not be saved in {saved}: {error}") from error
        raise AssayError(
            f"{gone}. All that it held is in {saved}: {go_on} with --store {shlex.quote(str(saved))}"
        )

    def query(self, sql: str, view: str | None, campaign: int | None) -> Rows:
        """Return the columns and rows of one query; `median(x)` and `quantile(x, p)` are there."""
        where = "" if campaign is None else f" WHERE campaign = {campaign}"
        trials = None if view is None else f"SELECT * FROM main.{quoted(view)}{where}"  # noqa: S608
        with explained(self._path):
            return run_query(self._file, sql, trials)

    def insert_new(self, table: Table) -> Insert:
        """Return the statement that inserts rows that do not exist yet."""
        return insert(table).on_conflict_do_nothing()

    def taken_names(self, connection: Connection) -> list[str]:
        """Return the names that a new view cannot have."""
        return [*connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars(), "trials"]

    def reserve_numbers(self, connection: Connection, table: Table) -> None:
        """Do nothing: this transaction is the only one that writes."""

    def numbered(self, connection: Connection, table: Table) -> None:
        """Do nothing: SQLite numbers a row from the highest number that there is."""

    def lock_views(self, connection: Connection) -> None:
        """Do nothing: this transaction is the only one that writes."""

    def now(self, connection: Connection) -> datetime:
        """Return the time of this host, on which all writers are."""
        return datetime.now(UTC)

    @contextmanager
    def deletable(self, connection: Connection) -> Iterator[None]:
        """Permit a transaction to delete rows; afterwards SQLite refuses it as before."""
        for table in KEPT:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {table}_refuses_delete")
        yield
        for table in KEPT:
            _refuse(connection, table, "DELETE")

    def damages(self, connection: Connection) -> Iterator[tuple[int | None, str]]:
        """Yield what SQLite finds wrong with the file, and rows that refer to missing ones."""
        found = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        yield from ((None, what) for what in found if what != "ok")
        campaign_of = {"campaign": "id", "record": "(SELECT campaign_id FROM trial WHERE id = trial_id)"}
        for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
            column = campaign_of.get(table, "NULL" if table == "view_column" else "campaign_id")
            statement = f"SELECT {column} FROM {table} WHERE rowid = ?"  # noqa: S608 - names of ours
            number = connection.exec_driver_sql(statement, (row,)).scalar_one_or_none()
            known = number if isinstance(number, int) else None  # a column may hold anything
            yield known, f"row {row} of {table} refers to a row of {parent} that is missing"


def _identity(file: Path) -> tuple[int, int]:
    about = file.stat()
    return about.st_dev, about.st_ino


def located(path: Path) -> Path:
    """Return the file at a store's path, with all links followed, whether it exists or not.

    SQLite keeps its own files next to this one, and two names of one file must mean one lock.

    Raises:
        AssayError: it leads to something that is not a regular file.
    """
    file = Path(os.path.realpath(path))
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return file
    except OSError as error:
        raise AssayError(
            f"cannot open {path}: {error.strerror}; choose another store with --store"
        ) from error
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise AssayError(f"{path} is {what}: name a file with --store, such as results/assay.sqlite")
    return file


def make_folder(file: Path) -> None:
    """Make the folder of a store's file.

    Raises:
        AssayError: it cannot be made.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (
            "a part of it is a file"
            if isinstance(error, FileExistsError | NotADirectoryError)
            else error.strerror
        )
        raise AssayError(
            f"cannot create the folder {file.parent}: {reason}; choose another store with --store"
        ) from error


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold the right to run trials into a store's file: two campaigns on one host would disturb each other.

    It is a lock of the kernel on a file next to the store's, whose name ends in `.lock` and which contains
    the owner's process id. The kernel releases it when its owner ends, however it ends; the file stays and
    has no meaning by itself.

    Raises:
        AssayError: another process holds it, it cannot be a store, or the file cannot be written.
    """
    file = located(path)
    make_folder(file)
    lock = file.with_name(file.name + ".lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise AssayError(
            f"cannot write {lock}: {error.strerror}; choose another store with --store"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            raise AssayError(
                f"another runner (process {owner or 'unknown'}) is running trials into {path}: wait until it "
                "ends, or stop it with Ctrl-C; trials that ran together would disturb each other"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _engine(file: Path) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(file)),
        connect_args={"timeout": BUSY_TIMEOUT_S},
    )

    # The sqlite3 module would begin transactions late and by guesswork; SQLAlchemy's events do it by rule.
    @event.listens_for(engine, "connect")
    def _(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        # What is not UTF-8 can be read too.
        connection.text_factory = lambda data: data.decode(errors="replace")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("assay_begin", "BEGIN"))

    return engine


def _version_of(engine: Engine, path: Path, file: Path) -> tuple[int | None, bool]:
    """Return the version of the file's store, None if it has none yet, and whether it is in WAL mode.

    Raises:
        AssayError: it cannot be opened.
    """
    with engine.connect() as connection:
        application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        if application == APPLICATION_ID:
            found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            check_version(path, found, f"move it away (mv {path} {path}.old) and run again")
            # WAL is set after the tables are there: a process may have been killed in between.
            journal = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
            if not _has_its_length(connection, file):
                raise damaged(path, "its end is missing")
            return found, journal == "wal"
        if connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one():
            raise AssayError(
                f"{path} is a database of another program; it was left as it is: choose another with --store"
            )
    return None, False


def _has_its_length(connection: Connection, file: Path) -> bool:
    """Return whether the file's last page is complete; SQLite would read missing bytes as zeros."""
    pages, page_size = (
        connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size")
    )
    wal = file.with_name(file.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        return True  # the last pages may be there
    return bool(file.stat().st_size >= pages * page_size)


def _create(engine: Engine) -> None:
    # If several processes open a new file, one makes the tables; the others wait and have nothing to do.
    with engine.execution_options(assay_begin="BEGIN IMMEDIATE").begin() as connection:
        if connection.exec_driver_sql("PRAGMA application_id").scalar_one() != APPLICATION_ID:
            metadata.create_all(connection)
            connection.execute(plain_insert(version), {"version_num": str(VERSION)})
            for view in (_FINDINGS, _VERDICTS, _CAMPAIGNS):
                connection.exec_driver_sql(view)
            for table, change in product(KEPT, ("UPDATE", "DELETE")):
                _refuse(connection, table, change)
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    # WAL is a property of the file and cannot be set within a transaction.
    with closing(engine.raw_connection()) as raw:
        last = time.monotonic() + BUSY_TIMEOUT_S
        while True:
            try:
                raw.cursor().execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # SQLite does not let two processes that set it wait for each other: it refuses one at once.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                    raise
                time.sleep(0.01)
            else:
                return


def _migrate(engine: Engine) -> None:
    with engine.execution_options(assay_begin="BEGIN IMMEDIATE").begin() as connection:
        found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        if found < VERSION:  # another process may have migrated it
            version.create(connection, checkfirst=True)
            if found == OLDEST:
                connection.execute(plain_insert(version), {"version_num": str(found)})
            migrate(connection, _VIEW)
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")


def _refuse(connection: Connection, table: str, change: str) -> None:
    """Make SQLite refuse a kind of change to a table."""
    connection.exec_driver_sql(
        f"CREATE TRIGGER {table}_refuses_{change.lower()} BEFORE {change} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'a store only grows: {table} rows are never changed'); END"
    )


@contextmanager
def explained(path: Path, after_full: str = "try again") -> Iterator[None]:
    """Turn errors with a store's file into an AssayError.

    `after_full` says what the user should do when a full disk has space again.
    """
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, sqlite3.Error):
            _raise_explained(cause, path, after_full)
        raise


def damaged(path: Path, what: str) -> AssayError:
    """Return the error for a file that cannot be read as a store."""
    return AssayError(
        f"{path} is not a store, or is damaged ({what}). It was left as it is: move it away "
        f"(mv {path} {path}.damaged) and run again, or choose another store with --store"
    )


def _raise_explained(error: sqlite3.Error, path: Path, after_full: str) -> None:
    # The low byte of SQLite's code is the kind of error; errors of the Python module have none.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        # ERROR: a table or a column is missing, CONSTRAINT: rows are, as all that Assay itself asks is right.
        case (
            sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_ERROR | sqlite3.SQLITE_CONSTRAINT
        ):
            raise damaged(path, str(error)) from error
        case sqlite3.SQLITE_FULL:
            raise _full(path, after_full) from error
        case sqlite3.SQLITE_IOERR:
            with suppress(OSError):
                if shutil.disk_usage(path.parent).free < 1 << 20:
                    raise _full(path, after_full) from error
            raise AssayError(f"cannot read or write {path}: {error}; see the system's log (dmesg)") from error
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            raise AssayError(
                f"cannot open {path}: {error}. SQLite needs to write in {path.parent}{os.sep}, even to read; "
                "choose or copy to another place and name it with --store"
            ) from error
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            raise AssayError(
                f"another process has locked {path} for {BUSY_TIMEOUT_S:.0f} s; try again when it ends"
            ) from error


def _full(path: Path, after_full: str) -> AssayError:
    return AssayError(
        f"the disk that holds {path} is full; nothing that ended before is lost: free space and {after_full}"
    )
