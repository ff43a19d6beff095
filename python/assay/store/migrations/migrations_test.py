import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from assay.errors import AssayError
from assay.store import Store, schema
from assay.store.migrations import configuration


def test_there_is_one_version_and_the_code_knows_it() -> None:
    scripts = ScriptDirectory.from_config(configuration()).walk_revisions()
    assert [script.revision for script in scripts] == [schema.VERSION]


def test_an_older_store_is_refused_with_what_to_do_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store.open(path):
        pass
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("update alembic_version set version_num = '0002'")
        raw.commit()
    before = path.read_bytes()
    with pytest.raises(AssayError, match=rf"{path} has schema version 0002.*mv {path} .*--store"):
        Store.open(path)
    assert path.read_bytes() == before
