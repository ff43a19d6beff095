import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from assay.store import Store, schema
from assay.store.migrations import configuration, migrate

revisions = [script.revision for script in ScriptDirectory.from_config(configuration()).walk_revisions()][
    ::-1
]


def test_versions_are_numbers_in_order_and_the_last_is_the_one_that_the_code_knows() -> None:
    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]
    assert revisions[-1] == schema.VERSION


def test_migrations_end_in_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'store.sqlite'}")
    with engine.begin() as connection:
        migrate(connection)
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []
    engine.dispose()


@pytest.mark.parametrize("revision", ["base", *revisions])
def test_a_store_of_any_older_version_is_brought_up_to_date_on_opening(tmp_path: Path, revision: str) -> None:
    path = tmp_path / "store.sqlite"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        if revision != "base":
            migrate(connection, revision)
    engine.dispose()
    with Store.open(path) as store:
        assert store.campaigns() == []
        assert store.query("select version_num from alembic_version")[1] == [(schema.VERSION,)]
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("pragma journal_mode").fetchone() == ("wal",)
