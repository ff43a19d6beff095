"""Brings the tables of an older store to this version, by Alembic's migrations in `migrations/versions/`.

Each changes what a new store gets from `schema.py` and its database's module, from one version to the next;
its revision is the version as text. A new store is made as it is now, without Alembic.
"""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from assay.errors import AssayError
from assay.store.database import run_sql
from assay.store.names import StoreName
from assay.store.schema import VERSION, experiment
from assay.store.views import ViewSql, columns_of, create_view, quoted

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext

OLDEST = 8
"""The version from which migrations lead here; stores of earlier ones are refused."""


def check_version(name: StoreName, found: int, start_again: str) -> None:
    """Raise an AssayError if a store's version is too old to be migrated, or newer than this Assay."""
    if OLDEST <= found <= VERSION:
        return
    age, remedy = ("an older", start_again) if found < OLDEST else ("a newer", "use that Assay")
    raise AssayError(
        f"{name} has schema version {found}, from {age} Assay; this one reads {OLDEST} to {VERSION}: "
        f"{remedy}, or choose another store with --store"
    )


def migrate(connection: Connection, view_sql: ViewSql) -> None:
    """Migrate a store from the version in `alembic_version` to this one, in the connection's transaction.

    The views of experiments are made anew, with the columns that they have in this version.
    """
    # Loaded late: it takes as long as all the rest of a short command.
    from alembic.config import Config  # noqa: PLC0415
    from alembic.runtime.environment import EnvironmentContext  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    scripts = ScriptDirectory(str(Path(__file__).with_name("migrations")))

    def steps(revision: Any, _context: "MigrationContext") -> Any:
        return scripts._upgrade_revs(str(VERSION), revision)

    with EnvironmentContext(Config(), scripts, fn=steps) as environment:
        # The whole migration is one transaction, also in SQLite.
        environment.configure(connection=connection, transactional_ddl=True)
        environment.run_migrations()
    _make_views(connection, view_sql)


def _make_views(connection: Connection, view_sql: ViewSql) -> None:
    for number, view in connection.execute(select(experiment.c.id, experiment.c.view_name)).all():
        created = create_view(view, number, columns_of(connection, number), view_sql)
        # On a server, a view on which somebody else's depends stays as it is.
        with suppress(DBAPIError), connection.begin_nested():
            run_sql(connection, f"DROP VIEW IF EXISTS {quoted(view)}")
            run_sql(connection, created)
