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
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Self

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.exc import DBAPIError

from assay.errors import AssayError
from assay.store.reading import from_json
from assay.store.schema import metadata, to_json

APPLICATION_ID = 0x41737379
"""Marks an SQLite file as a store of Assay ("Assy"), in SQLite's `application_id`."""

VERSION = 8
"""The version of the tables in `schema.py` and of the view and triggers below, in SQLite's `user_version`.
Stores of other versions are refused. From the first release on, a change migrates older stores."""

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
_KEPT = ("campaign", "planned_trial", "trial", "record", "environment", "decision", "audit", "conclusion")
"""Tables whose rows are never changed or deleted."""

BUSY_TIMEOUT_S = 30.0
"""The longest time that a process waits for another one that is writing."""

_SAVED_AT_MOST = 1000

LARGEST = 2**63 - 1
"""The largest integer that SQLite holds; no row can have a number beyond it."""


@dataclass(frozen=True)
class Database:
    """A store's file in WAL mode: readers and the one writer never wait for each other.

    `synchronous` is FULL: each transaction is on the disk before it returns, so that a trial survives
    `kill -9` of the runner and, as far as the disk keeps its word, a power failure. NORMAL would be a little
    quicker, but the kernel would then write the data back while a later trial is being measured.

    Attributes:
        path: the path with which it was opened; links are followed.
        file: the file itself.
        engine: connects to the file.
        identity: identifies the file; another file at the same path has a different one.
    """

    path: Path
    file: Path
    engine: Engine
    identity: tuple[int, int]

    @classmethod
    def open(cls, name: str | Path, *, create: bool) -> Self:
        """Open the file that a path or URL names; see `Store.open`."""
        path = path_of(name)
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
                if not _is_current(engine, path, file):
                    _create(engine)
            return cls(path, file, engine, _identity(file))
        except BaseException:
            engine.dispose()
            raise

    def close(self) -> None:
        """Close the file."""
        self.engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection that sees the store at one moment."""
        with explained(self.path), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self, after_full: str) -> Iterator[Connection]:
        """Yield the only connection that may write: one transaction.

        `after_full` says what the user should do when a full disk has space again.
        """
        # IMMEDIATE takes the write lock at once, so that nothing read inside can be out of date.
        engine = self.engine.execution_options(assay_begin="BEGIN IMMEDIATE")
        with explained(self.path, after_full), engine.begin() as connection:
            yield connection
        self.check_in_place(after_full)

    def check_in_place(self, go_on: str) -> None:
        """Check that the file is still at its path: otherwise, everything written to it would be lost.

        If it is not, its content is written to a new file next to the path.

        Raises:
            AssayError: somebody deleted, moved or replaced the file, or its disk is gone; `go_on` says what
                to do with the new file.
        """
        with suppress(OSError):
            if self.identity == _identity(self.file) == _identity(self.path):
                return
        gone = f"{self.path} is gone: it was deleted, moved or replaced, or its disk was removed"
        names = (self.file.with_name(f"{self.file.name}.saved{n}") for n in ("", *range(2, _SAVED_AT_MOST)))
        saved = next((name for name in names if not os.path.lexists(name)), self.file)
        try:
            saved.parent.mkdir(parents=True, exist_ok=True)
            with closing(self.engine.raw_connection()) as raw:
                raw.cursor().execute("VACUUM INTO ?", (str(saved),))
        except (OSError, sqlite3.Error) as error:
            raise AssayError(f"{gone}; what it held could not be saved in {saved}: {error}") from error
        raise AssayError(
            f"{gone}. All that it held is in {saved}: {go_on} with --store {shlex.quote(str(saved))}"
        )


def _identity(file: Path) -> tuple[int, int]:
    about = file.stat()
    return about.st_dev, about.st_ino


def insert_new(table: Table) -> Insert:
    """Return the statement that inserts rows that do not exist yet."""
    return insert(table).on_conflict_do_nothing()


def taken_names(connection: Connection) -> list[str]:
    """Return the names that a new view cannot have."""
    return [*connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars(), "trials"]


def path_of(name: str | Path) -> Path:
    """Return the path of a store from a path or a URL, such as sqlite:///results/assay.sqlite.

    Raises:
        AssayError: the name is empty, or another kind of URL.
    """
    text = str(name)
    path = text.removeprefix("sqlite:///")
    is_url = path != text
    if (
        path in {"", ":memory:"}
        or (is_url and "?" in path)
        or (not is_url and (text.startswith("sqlite:") or "://" in text))
    ):
        raise AssayError(
            f'"{text}" is not a store: name its file, or sqlite:/// and its file, without anything after it'
        )
    return Path(path)


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
def runner_lock(name: str | Path) -> Iterator[None]:
    """Hold the right to run trials into a store: two campaigns on one host would disturb each other.

    It is a lock of the kernel on a file next to the store's, whose name ends in `.lock` and which contains
    the owner's process id. The kernel releases it when its owner ends, however it ends; the file stays and
    has no meaning by itself.

    Raises:
        AssayError: another process holds it, it cannot be a store, or the file cannot be written.
    """
    path = path_of(name)
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
        json_serializer=to_json,
        json_deserializer=from_json,
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


def _is_current(engine: Engine, path: Path, file: Path) -> bool:
    """Return whether the file has a store of this version; raise an AssayError if it never can."""
    with engine.connect() as connection:
        application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        if application == APPLICATION_ID:
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version != VERSION:
                age, remedy = (
                    ("an older", f"move it away (mv {path} {path}.old) and run again")
                    if version < VERSION
                    else ("a newer", "use that Assay")
                )
                raise AssayError(
                    f"{path} has schema version {version}, from {age} Assay; this one reads {VERSION}: "
                    f"{remedy}, or choose another store with --store"
                )
            # WAL is set after the tables are there: a process may have been killed in between.
            journal = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
            if not _has_its_length(connection, file):
                raise damaged(path, "its end is missing")
            return bool(journal == "wal")
        if connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one():
            raise AssayError(
                f"{path} is a database of another program; it was left as it is: choose another with --store"
            )
    return False


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
            for view in (_FINDINGS, _VERDICTS, _CAMPAIGNS):
                connection.exec_driver_sql(view)
            for table, change in product(_KEPT, ("UPDATE", "DELETE")):
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


def _refuse(connection: Connection, table: str, change: str) -> None:
    """Make SQLite refuse a kind of change to a table."""
    connection.exec_driver_sql(
        f"CREATE TRIGGER {table}_refuses_{change.lower()} BEFORE {change} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'a store only grows: {table} rows are never changed'); END"
    )


@contextmanager
def deletable(connection: Connection) -> Iterator[None]:
    """Permit a transaction to delete rows; afterwards SQLite refuses it as before."""
    for table in _KEPT:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {table}_refuses_delete")
    yield
    for table in _KEPT:
        _refuse(connection, table, "DELETE")


def integrity(connection: Connection) -> list[str]:
    """Return the errors that SQLite itself finds in the file."""
    found = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
    return [] if found == ["ok"] else [*found]


def foreign_keys(connection: Connection) -> Iterator[tuple[int | None, str]]:
    """Yield the campaign (None if unknown) and the text of each row that refers to a missing one."""
    campaign_of = {"campaign": "id", "record": "(SELECT campaign_id FROM trial WHERE id = trial_id)"}
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
        column = campaign_of.get(table, "NULL" if table == "view_column" else "campaign_id")
        statement = f"SELECT {column} FROM {table} WHERE rowid = ?"  # noqa: S608 - names of ours
        number = connection.exec_driver_sql(statement, (row,)).scalar_one_or_none()
        known = number if isinstance(number, int) else None  # a column may hold anything
        yield known, f"row {row} of {table} refers to a row of {parent} that is missing"


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
