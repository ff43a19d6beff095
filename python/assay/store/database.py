"""The access layer: what a store needs of a database, whichever it is."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Insert, Table

from assay.errors import AssayError
from assay.store.names import StoreName
from assay.store.views import ViewSql, quoted


class ServerGoneError(AssayError):
    """The server of a store does not answer for now; what was recorded is there."""


Rows = tuple[list[str], list[tuple[Any, ...]]]
"""The names of the columns, and the rows."""

KEPT = (
    *("campaign", "planned_trial", "trial", "record", "environment", "decision", "audit", "conclusion"),
    "late_result",
)
"""Tables whose rows are never changed or deleted."""


class Database(ABC):
    """The database of an open store, which has this version.

    Attributes:
        name: the name with which it was opened.
        engine: connects to it.
        view_sql: how it writes views.
    """

    view_sql: ViewSql

    def __init__(self, name: StoreName, engine: Engine) -> None:
        self.name = name
        self.engine = engine
        engine.update_execution_options(assay_database=self)

    @property
    def read_only(self) -> bool:
        """Whether this user can only read it."""
        return False

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @abstractmethod
    def read(self) -> AbstractContextManager[Connection]:
        """Return a connection that sees the store at one moment."""

    @abstractmethod
    def write(self, remedy: str) -> AbstractContextManager[Connection]:
        """Return a transaction; `remedy` says what the user should do if it fails."""

    @abstractmethod
    def query(self, sql: str, view: str | None, campaign: int | None) -> Rows:
        """Return the columns and rows of one query, which can only read.

        Args:
            sql: the query.
            view: the view that `trials` names; None if there is no campaign.
            campaign: the only campaign that `trials` has; None for all.

        Raises:
            AssayError: the database refuses the query, it goes beyond a limit, or it is not a query.
        """

    @abstractmethod
    def insert_new(self, table: Table) -> Insert:
        """Return the statement that inserts rows that do not exist yet."""

    @abstractmethod
    def taken_names(self, connection: Connection) -> Sequence[str]:
        """Return the names that a new view cannot have; until the transaction ends, no other one adds any."""

    @abstractmethod
    def deletable(self, connection: Connection) -> AbstractContextManager[None]:
        """Permit a transaction to delete rows; afterwards the database refuses it as before."""

    @abstractmethod
    def damages(self, connection: Connection) -> Iterator[tuple[int | None, str]]:
        """Yield the campaign (None if unknown) and the reason of each damage that the database finds."""

    @abstractmethod
    def reserve_numbers(self, connection: Connection, table: Table) -> None:
        """Let this transaction alone number rows of a table; it calls `numbered` at its end."""

    @abstractmethod
    def numbered(self, connection: Connection, table: Table) -> None:
        """Have the database number rows from the highest number on that was written."""

    def replace_view(self, connection: Connection, view: str, created: str) -> None:
        """Drop a view, and create it anew by a statement."""
        run_sql(connection, f"DROP VIEW {quoted(view)}")
        run_sql(connection, created)

    @abstractmethod
    def lock_views(self, connection: Connection) -> None:
        """Keep other transactions from changing views, until this one ends."""

    @abstractmethod
    def now(self, connection: Connection) -> datetime:
        """Return the time by a clock that all writers share."""

    @abstractmethod
    def check_in_place(self, go_on: str) -> None:
        """Raise an AssayError if what is written would be lost; `go_on` says what to do then."""

    def is_led(self, campaign_id: int) -> bool:
        """Return whether a process leads a campaign; where only one process writes, it does."""
        return True

    def keep_leading(self, campaign_id: int) -> None:  # noqa: B027 - a file does not lose it
        """Take the right to run a campaign again, if the server has lost it since `leading`.

        Raises:
            AssayError: another process has it.
        """

    def leading(self, campaign_id: int) -> AbstractContextManager[None]:
        """Return a context in which no other process runs trials of a campaign.

        Raises:
            AssayError: another process does.
        """
        return nullcontext()


def database_of(connection: Connection) -> Database:
    """Return the database of a store's connection."""
    database: Database = connection.get_execution_options()["assay_database"]
    return database


def run_sql(connection: Connection, sql: str) -> None:
    """Run a statement of ours that has no parameters: a % in it is one."""
    connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
