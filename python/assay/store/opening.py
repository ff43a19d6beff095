"""Opens and locks a store by its name, in a file or on a server."""

from contextlib import AbstractContextManager

from assay import extras
from assay.store.database import Database
from assay.store.names import Server, StoreName, store_name
from assay.store.sqlite import SqliteDatabase, file_lock


def open_database(name: str | StoreName, *, create: bool) -> Database:
    """Open the database that a name means; see `Store.open`."""
    known = store_name(name)
    if isinstance(known, Server):
        extras.require("psycopg", f"the store {known}")
        from assay.store.postgresql import PostgresqlDatabase  # noqa: PLC0415 - slow to load, seldom needed

        return PostgresqlDatabase.open(known, create=create)
    return SqliteDatabase.open(known, create=create)


def runner_lock(name: str | StoreName) -> AbstractContextManager[None]:
    """Return a context in which no other process of this host runs trials into a store.

    Two campaigns on one host would disturb each other. The lock vanishes with its owner, however that ends.

    Raises:
        AssayError: another process holds it, or the name cannot be a store.
    """
    known = store_name(name)
    if isinstance(known, Server):
        extras.require("psycopg", f"the store {known}")
        from assay.store.postgresql import host_lock  # noqa: PLC0415

        return host_lock(known)
    return file_lock(known)
