"""Runs migrations for Alembic on the connection, and in the transaction, that it is given."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
