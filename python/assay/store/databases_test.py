"""What holds for a store on a server, for copies between databases, and for stores of other versions."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.plan.types import Level, PlannedTrial
from assay.store import Server, Store, runner_lock, store_name
from assay.store.copy import copy_store
from assay.store.encoding import (
    json_from_postgresql,
    json_to_postgresql,
    text_from_postgresql,
    text_to_postgresql,
)
from assay.store.schema import VERSION, as_texts, metadata
from assay.store.store_test import begin, decision, finding, measured, planned
from assay.store.testing import TestServer, running_server

# Text


any_text = st.text(st.sampled_from('\0\x1a01ud8ä\\"{}') | st.characters(codec="utf-8"))


@given(any_text)
def test_any_text_comes_back(text: str) -> None:
    held = text_to_postgresql(text)
    assert "\0" not in held
    assert text_from_postgresql(held) == text


escapes = st.sampled_from(
    [
        *(
            "\\u0000",
            "\\u001a",
            "\\u001A",
            "\\ud83d\\ude00",
            "\\ud800",
            "\\udfff",
            "\\uD83D",
            "\\\\",
            '\\"',
            "\\n",
        )
    ]
)
json_texts = st.lists(escapes | st.sampled_from(["0", "1", "d800", "u0000", "ä", "a"])).map("".join)


@given(json_texts)
def test_any_json_comes_back_to_the_letter_and_means_the_same_but_for_what_stands_in(text: str) -> None:
    held = json_to_postgresql(f'"{text}"')
    assert json_from_postgresql(held) == f'"{text}"'
    value = json.loads(held)
    value.encode()
    assert "\0" not in value
    if not {*"\0\x1a"} & {*json.loads(f'"{text}"')} and json.loads(f'"{text}"').isprintable():
        assert held == f'"{text}"'


# Names


@pytest.mark.parametrize(
    ("url", "shown", "database"),
    [
        ("postgresql://me:se:cret@lab:5433/assay", "postgresql://me@lab:5433/assay", "assay"),
        ("postgresql://me:s%40ecret@lab/a?sslmode=require", "postgresql://me@lab/a?sslmode=require", "a"),
        ("postgresql://lab/a?password=secret&user=me", "postgresql://lab/a?user=me", "a"),
        ("postgresql://lab/a?p%61ssword=secret", "postgresql://lab/a", "a"),
        ("postgresql://:secret@/x", "postgresql:///x", "x"),
        ("postgres://me@a,b/x%2Fy", "postgres://me@a,b/x%2Fy", "x_y"),
        ("postgresql://me:secret@lab", "postgresql://me@lab", "assay"),
    ],
)
def test_the_name_of_a_server_never_shows_a_password(url: str, shown: str, database: str) -> None:
    server = store_name(url)
    assert isinstance(server, Server)
    assert (str(server), server.database, server.url) == (shown, database, url)
    assert "secret" not in f"{server!r} {server} {server.absolute()} {server.name}"
    assert server == store_name(shown)


def test_a_password_that_is_not_escaped_is_refused_without_showing_it() -> None:
    with pytest.raises(AssayError, match="%2F") as raised:
        store_name("postgresql://me:top/secret@lab/assay")
    assert "secret" not in str(raised.value)


# Errors


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://127.0.0.1:1/x?connect_timeout=5", "cannot connect to .*refused.*see that it runs"),
        ("postgresql:///x?host=/nowhere", "cannot connect to .*No such file"),
        ("postgresql://me:secret@127.0.0.1:port/x", "cannot connect to postgresql://me@127"),
        ("postgresql://lab/x?colour=secret", "is not the URL of a PostgreSQL server"),
    ],
)
def test_a_server_that_cannot_be_reached_is_one_clear_line(url: str, message: str) -> None:
    for attempt in (Store.open, runner_lock):
        with pytest.raises(AssayError, match=message) as raised, attempt(url):
            pass
        assert "\n" not in str(raised.value)
        assert "secret" not in str(raised.value).replace("colour=secret", "")


def test_a_database_that_cannot_hold_a_store_is_one_clear_line(postgresql: TestServer) -> None:
    def refused(url: str, message: str, *, create: bool = True) -> None:
        with pytest.raises(AssayError, match=message) as raised:
            Store.open(url, create=create)
        assert "\n" not in str(raised.value)

    refused(postgresql.url("nothing"), "has no database nothing: make it with createdb")
    refused(postgresql.create(), "there is no store at .*run an experiment first", create=False)
    latin = postgresql.create("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    refused(latin, "encoding LATIN1.*createdb --encoding=UTF8")
    foreign = postgresql.create()
    postgresql.run("CREATE TABLE other (a int)", foreign.partition("?")[0].rpartition("/")[2])
    refused(foreign, "tables of another program")
    refused(f"{postgresql.create()}&options=-csearch_path%3Dnone", "leads to no schema")


def test_a_server_that_asks_for_a_password_is_told_apart_from_a_wrong_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_server() as server:
        server.run("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        server.run("GRANT ALL ON SCHEMA public TO guarded")
        [(file,)] = server.run("SHOW hba_file")
        Path(str(file)).write_text("local all guarded scram-sha-256\nlocal all assay trust\n")
        server.run("SELECT pg_reload_conf()")
        url = server.url("postgres", "guarded")
        with pytest.raises(AssayError, match=r"asks for a password: put it into ~/\.pgpass"):
            Store.open(url)
        passwords = tmp_path / "passwords"
        passwords.write_text("*:*:*:*:right\n")
        passwords.chmod(0o644)
        monkeypatch.setenv("PGPASSFILE", str(passwords))
        with pytest.raises(AssayError, match=r"put it into \S+/passwords \(not used .*: chmod 600 "):
            Store.open(url)
        with pytest.raises(AssayError, match="the password is wrong") as raised:
            Store.open(url.replace("guarded@", "guarded:mistaken@"))
        assert "mistaken" not in str(raised.value)
        with pytest.raises(AssayError, match=r"does not let this user in"):
            Store.open(server.url("postgres", "stranger"))
        with Store.open(url.replace("guarded@", "guarded:right@")) as store:
            assert "right" not in str(store.name)
            assert store.campaigns() == []


# Versions


def of_version_8(path: Path, mode: str = "WAL") -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(Path(__file__).with_name("version_8.sql").read_text(encoding="utf-8"))
        raw.execute(f"PRAGMA journal_mode = {mode}")


def tables_of(path: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as raw:
        names = raw.execute(
            "SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1, 2"
        ).fetchall()
        columns = {
            name: [column[1:] for column in raw.execute(f'PRAGMA table_info("{name}")')]
            for type_, name in names
            if type_ == "table"
        }
        versions = raw.execute("SELECT user_version FROM pragma_user_version").fetchall()
        return {
            "names": names,
            "columns": columns,
            "version": versions + raw.execute("SELECT version_num FROM alembic_version").fetchall(),
        }


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])  # a store that was saved, `STORE.saved`, is in the second
def test_a_store_of_the_version_before_is_migrated_and_is_then_as_a_new_one(
    tmp_path: Path, mode: str
) -> None:
    old, new = tmp_path / "old.sqlite", tmp_path / "new.sqlite"
    of_version_8(old, mode)
    with Store.open(old, create=False) as store:
        assert [campaign.experiment for campaign in store.campaigns()] == ["maps", "other"]
        assert store.query("select throughput, threads from maps")[1] == [(5, 1)]
        types = "select name, type from view_column where experiment_id = 1 order by id"
        factors = [("subject", "text"), ("threads", "whole"), ("ratio", "real"), ("size", "whole")]
        assert store.query(types)[1][:4] == factors
        assert store.query("select type from view_column where name = 'size' and experiment_id = 2")[1] == [
            ("text",)
        ]
        assert store.record_of(1)["stdout"] == "a\0b"
        assert list(store.damages()) == []
    with Store.open(new) as store:
        for name in ("maps", "other"):
            begin(store, experiment=name)
    assert tables_of(old) == tables_of(new)


def test_a_store_is_migrated_once_if_several_open_it(tmp_path: Path) -> None:
    of_version_8(tmp_path / "old.sqlite")

    def opened(_: int) -> int:
        while True:
            # While another one migrates it, and holds the lock of runners, it is refused.
            with suppress(AssayError), Store.open(tmp_path / "old.sqlite") as store:
                return len(store.campaigns())

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(opened, range(4))) == [2] * 4


def test_no_store_is_migrated_under_a_runner(tmp_path: Path) -> None:
    of_version_8(tmp_path / "old.sqlite")
    with runner_lock(tmp_path / "old.sqlite"), pytest.raises(AssayError, match="another runner"):
        Store.open(tmp_path / "old.sqlite")


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.sqlite"
    of_version_8(path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("ALTER TABLE view_column ADD COLUMN type")  # so that adding it fails
        before = list(raw.iterdump())
    with pytest.raises(AssayError, match="duplicate column"):
        Store.open(path)
    with closing(sqlite3.connect(path)) as raw:
        assert list(raw.iterdump()) == before
        assert raw.execute("PRAGMA user_version").fetchone() == (8,)


@pytest.mark.parametrize(
    ("version", "message"), [(7, "an older Assay.*mv "), (VERSION + 1, "a newer Assay.*use that")]
)
def test_a_file_of_another_version_is_refused(tmp_path: Path, version: int, message: str) -> None:
    path = tmp_path / "assay.sqlite"
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(AssayError, match=f"has schema version {version}, from {message}"):
        Store.open(path)


def columns_on(url: str) -> list[Any]:
    with psycopg.connect(url) as raw:
        columns = "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
        indices = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        triggers = "SELECT tgrelid::regclass::text, tgname, tgtype FROM pg_trigger WHERE NOT tgisinternal"
        return [
            raw.execute(f"{columns} WHERE table_schema = 'public' ORDER BY 1, 2".encode()).fetchall(),
            raw.execute(indices.encode()).fetchall(),
            raw.execute(f"{triggers} ORDER BY 1, 2".encode()).fetchall(),
            raw.execute("SELECT version_num FROM alembic_version").fetchall(),
        ]


def test_a_store_on_a_server_is_migrated_and_is_then_as_a_new_one(postgresql: TestServer) -> None:
    old, new = postgresql.create(), postgresql.create()
    for url in (old, new):
        with Store.open(url) as store:
            begin(store)
    with psycopg.connect(old) as raw:
        raw.execute("DROP TABLE claim, late_result, campaign_host, campaign_file, file")
        raw.execute("ALTER TABLE planned_trial DROP COLUMN host_number")
        raw.execute("DROP INDEX planned_trial_by_group")
        raw.execute("ALTER TABLE trial DROP COLUMN ran_on CASCADE")  # of the views, too
        raw.execute("UPDATE alembic_version SET version_num = '9'")
    with ThreadPoolExecutor(4) as threads:

        def opened(_: int) -> int:
            with Store.open(old, create=False) as store:
                return len(store.campaigns())

        assert list(threads.map(opened, range(4))) == [1] * 4
    assert columns_on(old) == columns_on(new)


def test_a_server_s_store_of_another_version_is_refused(postgresql: TestServer) -> None:
    url = postgresql.create()
    Store.open(url).close()
    with psycopg.connect(url) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '12'")
    with pytest.raises(
        AssayError, match="has schema version 12, from a newer Assay; this one reads 8 to 11: use that"
    ):
        Store.open(url, create=False)


# Copies


def contents(name: str | Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of a store, JSON as its text."""
    with Store.open(name, create=False) as store, store._database.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(as_texts(table).select())), key=repr)
            for table in metadata.sorted_tables
        }


VERDICT = {
    **{"metric": "throughput", "context": "threads=2", "level": "b", "baseline": "c", "verdict": "faster"},
    **{"ratio": 1.5, "low": 1.25, "high": None, "p": 0.01, "pairs": 9},
}
HARD = "a\0b\x1a0 \x1a ä 😀 \\ ' % {x} %(y)s"


def hard_store(store: Store) -> None:
    """Fill a store with what databases like to refuse."""
    levels: dict[str, Any] = {HARD: HARD, "threads": 2**62, "ratio": 0.1, "x" * 100: 1, "x" * 99 + "y": 2}
    plan = replace(planned(0, levels), arguments=(HARD,), program=HARD)
    names = {"throughput": 1e300, "small": 5e-324, "big": 10**300, HARD: -0.0}
    outcome = replace(
        measured(1),
        result={
            "metrics": names,
            "details": {"half": "\ud800", HARD: [HARD, None, True]},
            "environment": {"cpu": HARD},
        },
        stdout=HARD,
        stderr="half \udfff",
        reason=HARD,
    )
    campaign = begin(store, [plan, planned(1)], experiment="maps " + "ä" * 80)
    store.record(campaign, 0, outcome)
    store.decide(campaign, replace(decision("stop", why=HARD), reason=HARD))
    store.write_findings(campaign, [finding(HARD)])
    store.write_verdicts(campaign, [VERDICT | {"reason": HARD}])
    second = begin(store, experiment="maps " + "ä" * 79 + "z")
    store.record(second, 0, measured(7))


def test_a_copy_is_the_same_in_both_directions_and_goes_on(postgresql: TestServer, tmp_path: Path) -> None:
    first, last, server = tmp_path / "a.sqlite", tmp_path / "b.sqlite", postgresql.create()
    with Store.open(first) as store:
        hard_store(store)
    # Rows that Assay does not write, and refuses to count: JSON with NaN and infinities, times without end.
    with closing(sqlite3.connect(first)) as raw:
        raw.executescript("DROP TRIGGER trial_refuses_update; DROP TRIGGER audit_refuses_update;")
        raw.execute("UPDATE trial SET wall_s = 9e999 WHERE id = 2")
        raw.execute("UPDATE trial SET metrics = ? WHERE id = 2", ['{"a": NaN, "b": [-Infinity, 1e400]}'])
        raw.commit()
    counts = copy_store(first, store_name(server))
    assert (counts["campaign"], counts["trial"], counts["record"]) == (2, 2, 2)
    copy_store(store_name(server), last)
    held = {name: contents(name) for name in (first, server, last)}
    for name in (server, last):
        held[name]["experiment"] = [row[:2] for row in held[name]["experiment"]]  # names of views may differ
    held[first]["experiment"] = [row[:2] for row in held[first]["experiment"]]
    assert held[first] == held[server] == held[last]
    for name in (server, last):
        with Store.open(name) as store:
            [trial] = store.trials(1)
            assert trial.levels[HARD] == HARD
            assert store.record_of(1)["result"]["details"]["half"] == "\ud800"
            assert store.query("select throughput, threads, ratio from trials", campaign=1)[1] == [
                (1e300, 2**62, 0.1)
            ]
            assert any("nan" in reason.lower() for _, reason in store.damages())
            assert store.record(2, 1, measured(8)) == 3
            assert begin(store) == 3


def test_a_store_that_is_filled_on_a_server_says_what_it_would_in_a_file(
    postgresql: TestServer, tmp_path: Path
) -> None:
    answers = []
    for name in (tmp_path / "a.sqlite", postgresql.create()):
        with Store.open(name) as store:
            hard_store(store)
            assert list(store.damages()) == []
            records = [{**record, "started_at": ""} for record in store.records_of([1, 2])]
            queries = (
                "select trial, campaign, status, reason, started_at, throughput, threads, ratio from trials",
                "select campaign, rule, places, trials from findings",  # where SQLite cuts a text at U+0000
                "select campaign, verdict, ratio, low, pairs from verdicts",
                "select experiment, trials, not_valid, verdicts, findings from campaigns order by campaign",
            )
            rows = [store.query(query, campaign=1)[1] for query in queries]
            answers.append((records, rows, store.trials(1), store.decisions(1)))
    assert answers[0] == answers[1]


def test_a_copy_goes_to_an_empty_store_alone(postgresql: TestServer, tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.sqlite") as store:
        begin(store)
    url = postgresql.create()
    with Store.open(url) as store:
        begin(store)
    for source, target in (
        (tmp_path / "a.sqlite", store_name(url)),
        (store_name(url), tmp_path / "a.sqlite"),
    ):
        with pytest.raises(AssayError, match="holds campaigns already"):
            copy_store(source, target)
    with pytest.raises(AssayError, match="there is no store at"):
        copy_store(tmp_path / "missing.sqlite", tmp_path / "new.sqlite")


@pytest.mark.parametrize(
    "damage",
    [
        "update trial set ordinal = 1.5, status = 'x'",
        "update trial set started_at = 'noon'",
        "update trial set status = null",
        "update trial set wall_s = 'long'",
        "update trial set reason = x'ff'",
        "delete from campaign",
    ],
)
def test_a_row_that_the_target_cannot_hold_is_named_and_nothing_is_copied(
    postgresql: TestServer, tmp_path: Path, damage: str
) -> None:
    with Store.open(tmp_path / "a.sqlite") as store:
        store.record(begin(store), 0, measured(1))
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as raw:
        for (trigger,) in raw.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            raw.execute(f"drop trigger {trigger}")
        if "null" in damage:
            pytest.skip("SQLite refuses it, too")
        raw.executescript(damage)
    url = postgresql.create()
    with pytest.raises(AssayError, match=r"nothing was copied: a row of .* is damaged") as raised:
        copy_store(tmp_path / "a.sqlite", store_name(url))
    assert "\n" not in str(raised.value)
    with Store.open(url) as store:
        assert store.campaigns() == []


# Names of columns and views


def test_long_and_many_names_have_columns_of_their_own(postgresql: TestServer) -> None:
    with Store.open(postgresql.create()) as store:
        long = {f"{'ä' * 40}{number}": float(number) for number in range(12)}
        many = {f"m{number}": 1.0 for number in range(2500)}
        campaign = begin(store, 2, experiment="x" * 200)
        store.record(campaign, 0, replace(measured(5), result={"metrics": long}))
        columns, [row] = store.query("select * from trials")
        assert [*row[12:24]] == [*long.values()]
        assert max(len(column.encode()) for column in columns) <= 63
        assert len({*columns}) == len(columns)
        store.record(campaign, 1, replace(measured(5), result={"metrics": many}))
        assert len(store.query("select * from trials")[0]) <= 1010
        begin(store, 1, experiment="x" * 199)
        views = store.query("select view_name from experiment order by id")[1]
        assert views == [("x" * 63,), (f"{'x' * 61}_2",)]


def test_a_view_of_somebody_stops_no_campaign(postgresql: TestServer) -> None:
    url = postgresql.create()
    with Store.open(url) as store:
        campaign = begin(store)
        store.record(campaign, 0, measured(5))
        with psycopg.connect(url) as raw:
            raw.execute("CREATE VIEW mine AS SELECT throughput FROM maps")
        store.record(campaign, 1, replace(measured(6), result={"metrics": {"throughput": 6, "new": 1}}))
        assert store.query("select throughput from mine order by 1")[1] == [(5,), (6,)]
        with pytest.raises(AssayError, match='column "new" does not exist'):
            store.query("select new from trials")
        with psycopg.connect(url) as raw:
            raw.execute("DROP VIEW mine")
        store.record(campaign, 2, replace(measured(6), result={"metrics": {"newer": 1}}))
        assert store.query("select count(new), count(newer) from trials")[1] == [(1, 1)]


def test_a_factor_whose_levels_get_another_type_has_a_column_that_holds_all(postgresql: TestServer) -> None:
    with Store.open(postgresql.create()) as store:
        cases: list[list[Level]] = [[1, 2], [1, 0.5], [1, "two"]]
        for levels in cases:
            plan = [planned(number, {"size": level}) for number, level in enumerate(levels)]
            campaign = begin(store, plan)
            for number in range(2):
                store.record(campaign, number, measured(1))
            sizes = [size for (size,) in store.query("select size from trials order by trial")[1]]
            assert sizes[-2:] == (levels if "two" not in levels else ["1", "two"])


# Queries


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("delete from trial", "can only read"),
        ("drop table trial", "can only read"),
        ("copy trial to '/tmp/x'", "can only read"),
        ("set transaction read write", "can only read"),
        ("", "can only read"),
        ("select 1) as x; drop table trial; select * from (select 1", "does not understand"),
        ("select set_config('transaction_read_only', 'off', false)", "read-write mode"),
        ("with gone as (delete from trial returning 1) select * from gone", "does not understand"),
        ("select nextval('trial_id_seq')", "can only read"),
        ("select 1 from trial for update", "can only read"),
        ("select threds from trials", 'column "threds" does not exist.*threads'),
        ("select * from trails", 'relation "trails" does not exist'),
        ("select median(subject) from trials", "function median.text. does not exist"),
        ("select quantile(throughput, 1.5) from trials", "needs a p from 0 to 1, not 1.5"),
        ("select quantile(throughput, null) from trials", "needs a p from 0 to 1"),
        (
            "select quantile(throughput, ordinal / 10.0) from trials join trial t on t.id = trial",
            "one p for a",
        ),
        ("select '\0'", "U\\+0000"),
        ("select '\udcff'", "not text in UTF-8"),
        ("select 1 / 0", "division by zero"),
    ],
)
def test_a_query_on_a_server_that_is_none_changes_nothing(
    module_store: Store, sql: str, message: str
) -> None:
    with pytest.raises(AssayError, match=message) as raised:
        module_store.query(sql)
    assert "\n" not in str(raised.value)
    assert len(module_store.trials(1)) == 2


@pytest.fixture(scope="module")
def module_store(postgresql: TestServer) -> Iterator[Store]:
    with Store.open(postgresql.create()) as store:
        campaign = begin(store)
        for ordinal in range(2):
            store.record(campaign, ordinal, measured(ordinal))
        yield store


def test_a_query_on_a_server_has_values_as_one_on_a_file(module_store: Store) -> None:
    sql = """
        -- a remark
        with own as (select * from trials)
        select sum(ordinal), avg(ordinal), 'NaN'::numeric, '{"a": 1}'::jsonb, own.started_at, true,
          chr(26) || '0', sum(throughput), '10%', null, '2 days'::interval, ARRAY[1, 2]
        from own join trial on trial.id = own.trial group by own.started_at order by 1;"""
    _, [row] = module_store.query(sql)
    assert [row[0], *row[1:2]] == [1, 0.5]
    assert str(row[2]) == "nan"
    started = "2025-01-31 12:30:00.000000"
    assert row[3:] == ('{"a": 1}', started, True, "\0", 1.0, "10%", None, "2 days, 0:00:00", "[1, 2]")
    assert {type(value) for value in row} <= {int, float, str, bool, type(None)}


def test_a_query_on_a_server_keeps_no_large_object(module_store: Store) -> None:
    module_store.query("select lo_create(0)")
    assert module_store.query("select count(*) from pg_largeobject_metadata")[1] == [(0,)]


def test_a_query_on_a_server_without_end_is_ended(
    module_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.store.postgresql.LONGEST_S", 0.05)
    endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r"
    with pytest.raises(AssayError, match="ended after"):
        module_store.query(endless)


def test_ctrl_c_ends_a_query_on_a_server(module_store: Store) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            module_store.query("select pg_sleep(30)")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# Roles


def test_a_role_that_only_reads_reads_all_and_writes_nothing(postgresql: TestServer) -> None:
    url = postgresql.create()
    with Store.open(url) as store:
        campaign = begin(store)
        store.record(campaign, 0, measured(5))
    name = url.partition("?")[0].rpartition("/")[2]
    for statement in (
        f"CREATE ROLE reader_{name} LOGIN",
        f"GRANT pg_read_all_data TO reader_{name}",
        f"CREATE ROLE stranger_{name} LOGIN",
        f"CREATE ROLE careful_{name} LOGIN SUPERUSER",
        f"ALTER ROLE careful_{name} SET default_transaction_read_only = on",
    ):
        postgresql.run(statement)
    for role in ("reader", "careful"):
        with Store.open(postgresql.url(name, f"{role}_{name}"), create=False) as store:
            assert store.read_only
            assert store.query("select throughput from trials")[1] == [(5,)]
            assert len(store.trials(campaign)) == 1
            store.write_findings(campaign, [finding()])  # what can only be shown is not kept
            with pytest.raises(AssayError, match=r"may not do that.*use the role that owns the store"):
                store.record(campaign, 1, measured(5))
            with pytest.raises(AssayError, match="may not do that"):
                store.remove(campaign)
    with pytest.raises(AssayError, match="may not do that"):
        Store.open(postgresql.url(name, f"stranger_{name}"))
    with Store.open(url) as store:
        assert not store.read_only
        assert store.query("select count(*) from findings")[1] == [(0,)]


@pytest.mark.parametrize(
    "table", ["campaign", "planned_trial", "trial", "record", "environment", "decision", "audit"]
)
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {0} SET {1} = {1}"])
def test_a_server_refuses_to_change_or_lose_what_was_recorded(
    module_store: Store, table: str, change: str
) -> None:
    assert isinstance(module_store.name, Server)
    if not module_store.query("select count(*) from audit")[1][0][0]:
        outcome = measured(1)
        module_store.record(1, 2, replace(outcome, result={**(outcome.result or {}), "environment": {}}))
        module_store.decide(1, decision("look"))
        module_store.write_findings(1, [finding()])
    column = next(iter(metadata.tables[table].c)).name
    with (
        psycopg.connect(module_store.name.url) as raw,
        pytest.raises(psycopg.IntegrityError, match="only grows"),
    ):
        raw.execute(change.format(table, column).encode())


def test_a_campaign_is_removed_from_a_server(postgresql: TestServer) -> None:
    with Store.open(postgresql.create()) as store:
        for name in ("a", "b"):
            store.record(begin(store, experiment=name), 0, measured(1))
        counts = store.remove(1)
        assert (counts["campaign"], counts["planned_trial"], counts["trial"]) == (1, 4, 1)
        assert store.query("select name from experiment")[1] == [("b",)]
        with pytest.raises(AssayError, match='relation "a" does not exist'):
            store.query("select * from a")
        with pytest.raises(AssayError, match="has no campaign 1"):
            store.remove(1)


# Many writers


def write_part(url: str, campaign: int, part: int, parts: int) -> None:
    with Store.open(url) as store:
        for plan in store.pending(campaign):
            if plan.ordinal % parts == part:
                outcome = measured(plan.ordinal)
                # Names and environments that several add at once.
                result = {
                    "metrics": {"throughput": plan.ordinal, f"extra_{plan.ordinal // 10}": 1.0},
                    "environment": {"cpu": plan.ordinal // 7},
                }
                store.record(campaign, plan.ordinal, replace(outcome, result=result))


def test_what_many_processes_write_at_once_is_all_there(postgresql: TestServer) -> None:
    url, parts = postgresql.create(), 4
    with Store.open(url) as store:
        campaign = begin(store, 120)
    context = get_context("spawn")
    writers = [context.Process(target=write_part, args=(url, campaign, part, parts)) for part in range(parts)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * parts
    with Store.open(url) as store:
        assert store.campaign(campaign).ended == 120
        assert store.query("select count(throughput), count(extra_3), count(extra_11) from trials")[1] == [
            (120, 10, 10)
        ]
        assert store.query("select count(*) from environment")[1] == [(18,)]
        assert list(store.damages()) == []


def test_many_begin_at_once(postgresql: TestServer) -> None:
    url = postgresql.create()

    def opened(number: int) -> int:
        with Store.open(url) as store:
            return begin(store, experiment=f"maps {number % 2}")

    with ThreadPoolExecutor(6) as threads:
        numbers = list(threads.map(opened, range(6)))
    assert sorted(numbers) == [*range(1, 7)]
    with Store.open(url) as store:
        assert store.query("select name from experiment order by 1")[1] == [("maps 0",), ("maps 1",)]


def lead(url: str, campaign: int, path: str) -> None:
    with Store.open(url) as store, store.leading(campaign):
        Path(path).touch()
        time.sleep(600)


def test_one_process_leads_a_campaign_and_its_death_frees_it(postgresql: TestServer, tmp_path: Path) -> None:
    url, begun = postgresql.create(), tmp_path / "begun"
    with Store.open(url) as store:
        first, second = begin(store), begin(store)
        leader = get_context("spawn").Process(target=lead, args=(url, first, str(begun)))
        leader.start()
        try:
            while not begun.exists():
                time.sleep(0.01)
            message = rf"another process \(process {leader.pid} on .*\) is running campaign {first} in .*"
            with pytest.raises(AssayError, match=message), store.leading(first):
                pass
            with store.leading(second):
                store.check_in_place(second)
        finally:
            leader.kill()
            leader.join()
        for _ in range(1000):  # the server notices soon
            try:
                with store.leading(first):
                    break
            except AssayError:
                time.sleep(0.01)
        else:
            pytest.fail("its death frees nothing")


def test_one_runner_of_a_host_runs_trials_into_a_store(postgresql: TestServer) -> None:
    url = postgresql.create()
    with runner_lock(url):
        with (
            pytest.raises(AssayError, match=f"process {os.getpid()} on .*is running trials"),
            runner_lock(url),
        ):
            pass
        with runner_lock(postgresql.create()):
            pass
    with runner_lock(url):
        pass


def test_a_server_that_is_killed_loses_nothing_and_its_leader_ends() -> None:
    with running_server() as server:
        url = server.create()
        with Store.open(url) as store:
            campaign = begin(store)
            with store.leading(campaign):
                store.record(campaign, 0, measured(1))
                server.stop()
                with pytest.raises(
                    AssayError, match=r"cannot connect to|was lost|ended the connection"
                ) as raised:
                    store.record(campaign, 1, measured(1))
                assert "\n" not in str(raised.value)
                server.start()
                with pytest.raises(AssayError, match=r"lost.*the right to run the campaign.*assay resume"):
                    store.check_in_place(campaign)
            assert store.campaign(campaign).ended == 1
            store.record(campaign, 1, measured(1))


def test_a_plan_of_a_server_is_that_of_a_file(postgresql: TestServer) -> None:
    trial = PlannedTrial(0, 0, 0, {"a": 1}, {"seed": 2**53}, "/bin/x", {}, 1.5, 512, repeats=None)
    with Store.open(postgresql.create()) as store:
        assert store.pending(begin(store, [trial])) == [trial]
