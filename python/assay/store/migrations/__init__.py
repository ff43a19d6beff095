"""The revisions of the schema: each module in `versions` leads from the one before it to its own."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def configuration(connection: Connection | None = None) -> Config:
    """Return Alembic's configuration, which needs no file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def migrate(connection: Connection) -> None:
    """Bring the schema up to the latest revision within the transaction of `connection`."""
    command.upgrade(configuration(connection), "head")
