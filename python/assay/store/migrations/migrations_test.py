import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from assay.store import Store, migrations, schema
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


# A campaign as version 0001 wrote it, of an experiment whose view is called like a table of today.
WRITTEN_BY_0001 = """
insert into experiment values (1, 'Decision', 'Decision'), (2, 'findings', 'findings');
create view "Decision" as select t.id as trial, json_extract(t.metrics, '$."throughput"') as throughput,
    t.campaign_id as campaign from trial as t
    where t.campaign_id in (select id from campaign where experiment_id = 1);
create view "findings" as select 'kept' as trial, 2 as campaign;
create view "Decision_2" as select 'of another' as trial;
insert into campaign values (1, 1, '?', 7, 'name = "Decision"', '/', '{}', '2025-01-31 12:00:00.000000');
insert into planned_trial values
    (1, 0, 0, 0, '{"subject":"a"}', '{"seed":5}', '/bin/a', '{"environment_bytes":1}', 2.5, 64),
    (1, 1, 0, 0, '{"subject":"b"}', '{"seed":6}', '/bin/b', '{"environment_bytes":2}', 2.5, 64);
insert into trial values
    (1, 1, 0, 'valid', '', '2025-01-31 12:00:01.000000', 0.5, '{"throughput":3.5}', '{}', '{}');
insert into record values (1, '{"reason":"","exit_code":0,"result":{"metrics":{"throughput":3.5}},"stdout":"",
    "stderr":"","calibration_before":null,"calibration_after":null,"calibration_error":""}', null);
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        migrate(connection, "0001")
        for statement in WRITTEN_BY_0001.split(";\n"):
            if statement.strip():
                connection.execute(text(statement.replace(":", "\\:")))
    engine.dispose()
    return path


def test_what_an_older_version_wrote_is_there_after_the_upgrade(old: Path) -> None:
    with Store.open(old) as store:
        [trial] = store.trials(1)
        assert (trial.metrics, trial.repeats) == ({"throughput": 3.5}, None)
        [pending] = store.pending(1)
        assert (pending.ordinal, pending.arguments, pending.extract, pending.repeats) == (
            1,
            (),
            "protocol",
            None,
        )
        assert store.record_of(1)["derived"] == {}
        assert store.decisions(1) == []
        assert store.campaign(1).stopped == ""


def test_a_view_that_is_called_like_a_new_table_is_renamed_and_its_experiment_knows_it(old: Path) -> None:
    with Store.open(old) as store:
        _, views = store.query("select name, view_name from experiment order by id")
        assert views == [("Decision", "Decision_3"), ("findings", "findings_2")]
        assert store.query("select throughput from trials")[1] == [(3.5,)]
        assert store.query('select * from "Decision_2"')[1] == [("of another",)]
        assert store.query("select * from findings_2")[1] == [("kept", 2)]
        assert store.query("select * from decision")[1] == store.query("select * from findings")[1] == []


def test_an_upgrade_that_is_killed_leaves_the_old_store(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = old.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "migrate", killed_after(migrations.migrate))
        with pytest.raises(KeyboardInterrupt):
            Store.open(old)
    assert old.read_bytes() == before
    with Store.open(old) as store:
        assert len(store.trials(1)) == 1


def killed_after(original: Callable[..., None]) -> Callable[..., None]:
    def call(*arguments: Any) -> None:
        original(*arguments)
        raise KeyboardInterrupt

    return call
