"""What can go wrong with the file of a store, with real processes, signals and file systems."""

import fcntl
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from threading import Barrier
from typing import TextIO

import pytest
from sqlalchemy import Engine, text

from assay.errors import AssayError
from assay.experiment.testing import experiment
from assay.plan.types import Plan, PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store, runner_lock, sqlite

PLANNED = 5000


def outcome(ordinal: int, padding: int = 2000) -> Outcome:
    return Outcome(
        status="valid",
        reason="",
        exit_code=0,
        result={
            "protocol": 1,
            "status": "valid",
            # A new name now and then, so that the view changes within some of the transactions.
            "metrics": {"throughput": 1e6 + ordinal, f"extra_{ordinal // 20}": ordinal},
            "details": {"padding": "x" * padding},
        },
        stdout="",
        stderr="",
        calibration_before=None,
        calibration_after=None,
        calibration_error="none here",
        started_at=datetime(2025, 1, 31, tzinfo=UTC),
        wall_s=0.25,
    )


def begin(store: Store, trials: int = PLANNED) -> int:
    plan = tuple(
        PlannedTrial(
            ordinal, ordinal // 2, ordinal // 2, {"subject": "ab"[ordinal % 2]}, {}, "/bin/x", {}, 1.0, 512
        )
        for ordinal in range(trials)
    )
    return store.begin_campaign(experiment=experiment("maps"), plan=Plan(1, plan), host={})


def record_all(store: Store, campaign: int) -> None:
    for planned in store.pending(campaign):
        store.record(campaign, planned.ordinal, outcome(planned.ordinal, padding=20_000))


def run_until_killed(path: Path, descriptor: int) -> None:
    """Record trials, and print the number of each to a descriptor once it is recorded."""
    with os.fdopen(descriptor, "w") as printed, runner_lock(path), Store.open(path) as store:
        campaign = store.campaigns()[-1].id if store.campaigns() else begin(store)
        for planned in store.pending(campaign):
            store.record(campaign, planned.ordinal, outcome(planned.ordinal))
            print(planned.ordinal, file=printed, flush=True)


@contextmanager
def runner(path: Path) -> Iterator[tuple[ForkProcess, TextIO]]:
    """Give a runner in a process of its own, which has recorded its first trial, and what it prints."""
    reading, writing = os.pipe()
    # So that it is never so far ahead of its reader that it has ended.
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, os.sysconf("SC_PAGESIZE"))
    process = ForkProcess(target=run_until_killed, args=(path, writing))
    process.start()
    os.close(writing)
    with os.fdopen(reading) as printed:
        try:
            assert printed.readline().strip().isdigit()
            yield process, printed
        finally:
            process.kill()
            process.join()


def check_whole(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert raw.execute("pragma foreign_key_check").fetchall() == []
        trials, records = raw.execute(
            "select (select count(*) from trial), (select count(*) from record)"
        ).fetchone()
        assert trials == records


# Killed, and at the same time


def test_a_runner_killed_in_the_middle_loses_nothing_that_it_had_recorded(tmp_path: Path) -> None:
    path = tmp_path / "assay.sqlite"
    recorded: list[int] = []
    for _ in range(3):
        with runner(path) as (process, printed):
            recorded.append(len(recorded))  # the first, read already
            for line in printed:
                recorded.append(int(line))
                if len(recorded) % 40 == 0:
                    process.kill()
                    break
            # What it printed between our decision and its death was recorded as well.
            recorded.extend(int(line) for line in printed)
        check_whole(path)
        with Store.open(path) as store:
            [campaign] = store.campaigns()
            stored = [trial.ordinal for trial in store.trials(campaign.id)]
            assert stored[: len(recorded)] == recorded == list(range(len(recorded)))
            # At most the trial of which it had not yet said so.
            assert len(stored) - len(recorded) in {0, 1}
            assert [planned.ordinal for planned in store.pending(campaign.id)] == list(
                range(len(stored), PLANNED)
            )
            assert store.record_of(1)["result"] == outcome(0).result
            recorded = stored
            columns, rows = store.query(f"select throughput, extra_{(len(stored) - 1) // 20} from trials")
            assert len(columns) == 2
            assert rows[-1] == (1e6 + len(stored) - 1, len(stored) - 1)


def test_a_second_runner_is_told_whose_turn_it_is(tmp_path: Path) -> None:
    path = tmp_path / "assay.sqlite"
    with runner(path) as (process, _):
        with (
            pytest.raises(AssayError, match=f"process {process.pid}"),
            runner_lock(path),
        ):
            pass
        process.kill()
        process.join()
        with runner_lock(path):
            assert (tmp_path / "assay.sqlite.lock").read_text() == str(os.getpid())
    with runner_lock(path):
        pass


def test_the_lock_is_released_when_a_runner_fails(tmp_path: Path) -> None:
    path = tmp_path / "new" / "assay.sqlite"
    with pytest.raises(KeyError), runner_lock(path):
        raise KeyError
    with runner_lock(path):
        pass


def test_readers_do_not_disturb_a_runner_nor_it_them(tmp_path: Path) -> None:
    path = tmp_path / "assay.sqlite"
    with runner(path) as (process, printed), Store.open(path, create=False) as store:
        seen = 0
        for _ in range(30):
            printed.readline()
            [(count, best)] = store.query("select count(*), max(throughput) from trials")[1]
            assert best == 1e6 + count - 1
            assert seen <= count
            assert store.campaigns()[0].ended >= count
            seen = count
        assert process.is_alive()
        assert seen >= 30


def test_processes_that_create_a_store_together_both_succeed(tmp_path: Path) -> None:
    path, together = tmp_path / "assay.sqlite", get_context("fork").Barrier(4)

    def create() -> None:
        together.wait()
        Store.open(path).close()

    processes = [ForkProcess(target=create) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    with Store.open(path) as store:
        assert store.campaigns() == []


def test_a_store_is_made_ready_by_several_at_once(tmp_path: Path) -> None:
    path = tmp_path / "assay.sqlite"
    Store.open(path).close()
    # SQLite refuses one of two that set the journal's mode at once, in about one of ten rounds.
    for _ in range(40):
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("PRAGMA journal_mode = DELETE")
        engines = [sqlite._engine(path) for _ in range(4)]
        together = Barrier(len(engines))

        def make_ready(engine: Engine, together: Barrier = together) -> None:
            engine.connect().close()
            together.wait()
            sqlite._create(engine)
            engine.dispose()

        with ThreadPoolExecutor(len(engines)) as threads:
            list(threads.map(make_ready, engines))


# Files that are no store, or not ours to write


@pytest.mark.parametrize(
    ("version", "message"),
    [(999, "newer Assay"), (1, r"older Assay.*mv .*assay\.sqlite .*--store")],
)
def test_a_store_of_another_version_is_refused_and_left_alone(
    tmp_path: Path, version: int, message: str
) -> None:
    path = tmp_path / "assay.sqlite"
    with Store.open(path) as store, store._database.engine.begin() as connection:
        begin(store, 2)
        connection.execute(text(f"PRAGMA user_version = {version}"))
    before = path.read_bytes()
    with pytest.raises(AssayError, match=message):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.sqlite"
    garbage.write_bytes(bytes(range(256)) * 64)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as raw:
        raw.execute("create table mine (a)")
    for path, message in ((garbage, r"mv .*garbage.sqlite "), (other, "another program")):
        before = path.read_bytes()
        with pytest.raises(AssayError, match=message):
            Store.open(path)
        assert path.read_bytes() == before


def test_a_truncated_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "assay.sqlite"
    with Store.open(path) as store:
        campaign = begin(store, 50)
        for ordinal in range(50):
            store.record(campaign, ordinal, outcome(ordinal))
    whole = path.read_bytes()
    for length in (len(whole) // 2, len(whole) - 100, 4096, 1000, 50):
        path.write_bytes(whole[:length])
        with pytest.raises(AssayError, match="damaged"):
            Store.open(path)
        assert path.read_bytes() == whole[:length]
    path.write_bytes(whole)
    with Store.open(path) as store:
        assert len(store.trials(campaign)) == 50


def test_damage_that_shows_only_when_read_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "assay.sqlite"
    with Store.open(path) as store:
        campaign = begin(store, 50)
        for ordinal in range(50):
            store.record(campaign, ordinal, outcome(ordinal))
    with closing(sqlite3.connect(path)) as raw:
        [(page,)] = raw.execute("select rootpage from sqlite_master where name = 'trial'")
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    with Store.open(path) as store:
        for read in (lambda: store.trials(campaign), lambda: store.query("select * from trials")):
            with pytest.raises(AssayError, match="damaged"):
                read()


def test_a_missing_store_is_created_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "assay.sqlite"
    with pytest.raises(AssayError, match=f"no store at {path}"):
        Store.open(path, create=False)
    assert not path.parent.exists()
    Store.open(path).close()
    Store.open(path, create=False).close()


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "results" / "assay.sqlite"
    with pytest.raises(AssayError, match=r"file/results: .* is a file.*--store"):
        Store.open(path)


# Disks


@contextmanager
def tmpfs(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own at `folder`."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a file system here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_loses_nothing_and_says_how_to_go_on(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with tmpfs(disk, "size=1m"):
        path = disk / "assay.sqlite"
        with Store.open(path) as store:
            campaign = begin(store, 500)
            with pytest.raises(AssayError, match=f"full.*`assay resume --campaign {campaign}`"):
                record_all(store, campaign)
            recorded = len(store.trials(campaign))
            assert recorded > 5
        # The next process can read as well, with the disk as full as it is.
        with Store.open(path) as store:
            trials = store.trials(campaign)
            assert [trial.ordinal for trial in trials] == list(range(recorded))
            assert store.record_of(trials[-1].id)["result"] == outcome(recorded - 1, padding=20_000).result
            assert store.query("select count(throughput) from trials")[1] == [(recorded,)]
            with pytest.raises(AssayError, match="full"):
                store.record(campaign, recorded, outcome(recorded, padding=2_000_000))

        subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
        with Store.open(path) as store:
            for planned in store.pending(campaign)[:20]:
                store.record(campaign, planned.ordinal, outcome(planned.ordinal))
            assert len(store.trials(campaign)) == recorded + 20
        check_whole(path)


def test_a_plan_that_does_not_fit_leaves_no_campaign(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with tmpfs(disk, "size=512k"), Store.open(disk / "assay.sqlite") as store:
        with pytest.raises(AssayError, match=r"full.*run again"):
            begin(store, 20_000)
        assert store.campaigns() == []


def test_a_folder_on_a_full_disk_is_explained(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with tmpfs(disk, "size=16k"), pytest.raises(AssayError, match=r"full.*run again"):
        Store.open(disk / "assay.sqlite")


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with tmpfs(disk, "size=1m"):
        kept = disk / "kept.sqlite"
        Store.open(kept).close()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for path in (disk / "new.sqlite", kept):
            with pytest.raises(AssayError, match=rf"{path.name}.*--store"):
                Store.open(path)
        with pytest.raises(AssayError, match="disk/deep: Read-only file system"):
            Store.open(disk / "deep" / "assay.sqlite")
        with pytest.raises(AssayError, match=r"kept\.sqlite.*Read-only file system"), runner_lock(kept):
            pass


# Names of the file


def test_a_store_in_use_opens_through_a_link_and_keeps_its_one_lock(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path, link = tmp_path / "real" / "assay.sqlite", tmp_path / "link.sqlite"
    link.symlink_to(path)
    with runner_lock(link), Store.open(link) as first:  # the link leads nowhere yet
        record_all(first, begin(first, 3))
        assert (path.stat().st_size, path.with_name("assay.sqlite-wal").stat().st_size) > (0, 0)
        with Store.open(link, create=False) as second:
            assert len(second.trials(1)) == 3
            assert second.query("select count(*) from trials", campaign=1)[1] == [(3,)]
        for name in (path, link):
            with pytest.raises(AssayError, match="another runner"), runner_lock(name):
                pass
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.sqlite", "real"]


def test_a_cut_off_store_is_refused_through_a_link_too(tmp_path: Path) -> None:
    path, link = tmp_path / "assay.sqlite", tmp_path / "link.sqlite"
    with Store.open(path) as store:
        begin(store, 500)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 100)
    link.symlink_to(path)
    with pytest.raises(AssayError, match=r"link\.sqlite.*damaged"):
        Store.open(link)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "folder is a folder.*--store"),
        ("pipe", "pipe is not a regular file"),
        ("file/assay.sqlite", "file: .* is a file"),
        ("file/deeper/assay.sqlite", "file/deeper: .* is a file"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_that_can_be_no_store_is_explained_and_leaves_nothing_behind(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    for attempt in (runner_lock, Store.open):
        with pytest.raises(AssayError, match=message), attempt(tmp_path / name):
            pass
    assert sorted(tmp_path.iterdir()) == before


def test_no_name_at_all_is_explained() -> None:
    for attempt in (runner_lock, Store.open):
        with pytest.raises(AssayError, match="is a folder"), attempt(Path()):
            pass


# Gone while it is written


def gone(path: Path, how: str) -> None:
    """Have a shell do something to a store, as another process does."""
    subprocess.run(["/bin/sh", "-c", how], cwd=path.parent, check=True)


@pytest.mark.parametrize(
    "how",
    [
        "rm assay.sqlite*",
        "rm -r ../results",
        "mv assay.sqlite other",
        "mv ../results ../moved",
        "cp assay.sqlite copy; mv copy assay.sqlite",
        "mv assay.sqlite other; mkdir assay.sqlite",
        "mv assay.sqlite other; ln -s other assay.sqlite; rm other",
    ],
)
def test_a_store_that_vanishes_is_noticed_and_saved(tmp_path: Path, how: str) -> None:
    path = tmp_path / "results/assay.sqlite"
    with Store.open(path) as store:
        campaign = begin(store, 4)
        store.record(campaign, 0, outcome(0))
        gone(path, how)
        saved = path.with_name("assay.sqlite.saved")
        with pytest.raises(
            AssayError, match=rf"assay\.sqlite is gone: .*{saved}: .*resume --campaign 1.*{saved}$"
        ):
            store.record(campaign, 1, outcome(1))
        with pytest.raises(AssayError, match=r"assay\.sqlite\.saved2$"):  # what was saved stays
            store.check_in_place(campaign)
    check_whole(saved)
    with Store.open(saved) as store:
        assert [trial.ordinal for trial in store.trials(campaign)] == [0, 1]
        store.record(campaign, 2, outcome(2))
        assert [trial.ordinal for trial in store.pending(campaign)] == [3]


def test_a_link_that_leads_to_another_store_is_noticed(tmp_path: Path) -> None:
    Store.open(tmp_path / "other").close()
    (tmp_path / "link").symlink_to("own")
    with Store.open(tmp_path / "link") as store:
        campaign = begin(store, 4)
        gone(tmp_path / "link", "ln -sf other link")
        with pytest.raises(AssayError, match=rf"link is gone: .* {tmp_path}/own\.saved"):
            store.record(campaign, 0, outcome(0))


def test_a_store_that_vanishes_and_cannot_be_saved_says_so(tmp_path: Path) -> None:
    path = tmp_path / "results/assay.sqlite"
    with Store.open(path) as store:
        campaign = begin(store, 4)
        gone(path, "rm -r ../results; touch ../results")
        with pytest.raises(AssayError, match=r"could not be saved in .*assay\.sqlite\.saved: .*exists"):
            store.record(campaign, 0, outcome(0))


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("DROP TABLE trial", r"is damaged \(no such table: (main.)?trial"),
        ("DROP TABLE record", r"is damaged \(no such table: (main.)?record"),
        (
            "DELETE FROM trial WHERE ordinal = 1",
            r"is damaged \(UNIQUE constraint failed: record",
        ),
        ("DELETE FROM trial WHERE ordinal = 0", "deleted 1 trial of campaign 1 .*resume --campaign 1"),
        ("DELETE FROM record", "deleted 2 trials of campaign 1 "),
    ],
)
def test_what_another_program_deletes_is_noticed(tmp_path: Path, statements: str, message: str) -> None:
    path = tmp_path / "assay.sqlite"
    with Store.open(path) as store:
        campaign = begin(store, 4)
        for ordinal in range(2):
            store.record(campaign, ordinal, outcome(ordinal))
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.executescript("DROP TRIGGER trial_refuses_delete; DROP TRIGGER record_refuses_delete")
            raw.executescript(statements)

        def go_on() -> None:
            store.record(campaign, 2, outcome(2))
            store.check_ended(campaign, 3)

        with pytest.raises(AssayError, match=message):
            go_on()
