"""Campaigns on several hosts: each trial counts once, on one host, whatever ends when."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from assay.campaign import Reporter, run_campaign
from assay.campaign.campaign import CampaignResult
from assay.errors import AssayError
from assay.experiment import load
from assay.runner.process import StopSignals
from assay.store import Store, store_name
from assay.store.database import ServerGoneError
from assay.store.postgresql import PostgresqlDatabase
from assay.store.testing import TestServer, running_server
from assay_cluster.leader import Leader, Led
from assay_cluster.testing import ProcessUnit, machine_name

_fresh = count()

EXPERIMENT = """
[subjects.a]
program = "./a"
extract = { speed = "speed=([0-9.]+)" }
[subjects.b]
program = "./b"
extract = { speed = "speed=([0-9.]+)" }
[factors]
subject = ["a", "b"]
[trial]
threads = 1
[design]
blocks = BLOCKS
repeat = 0
busy = "count"
[comparison]
metric = "speed"
better = "higher"
baseline = "a"
"""

PROGRAM = """#!/bin/sh
echo "$(hostname) begin $(date +%s%N)" >> log
echo speed=SPEED
echo "$(hostname) end $(date +%s%N)" >> log
"""


LEADER = """
import sys
from pathlib import Path
from assay.campaign import Reporter, run_campaign
from assay.experiment import load
from assay.runner.process import StopSignals
from assay.store import store_name
from assay_cluster.leader import Leader
from assay_cluster.testing import ProcessUnit
with StopSignals() as stop:
    hosts = Leader([ProcessUnit("lab1"), ProcessUnit("lab2")])
    run_campaign(store_name(sys.argv[1]), load(Path("x.toml")), stop, Reporter(), on=hosts)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steady_programs: Path) -> Path:
    monkeypatch.setenv("ASSAY_PROGRAMS", str(steady_programs))
    monkeypatch.setenv("ASSAY_TEST_NETWORK", f"-{os.getpid()}-{next(_fresh)}")
    monkeypatch.chdir(tmp_path)
    for name, speed in (("a", 10), ("b", 12)):
        (tmp_path / name).write_text(PROGRAM.replace("SPEED", str(speed)))
        (tmp_path / name).chmod(0o755)
    (tmp_path / "x.toml").write_text(EXPERIMENT.replace("BLOCKS", "8"))
    return tmp_path


@pytest.fixture
def url(postgresql: TestServer) -> str:
    return postgresql.create()


def run(url: str, units: list[ProcessUnit], campaign: int | None = None) -> CampaignResult:
    """Run x.toml on hosts, or resume a campaign."""
    with StopSignals() as stop:
        what = load(Path("x.toml")) if campaign is None else campaign
        return run_campaign(store_name(url), what, stop, Reporter(), on=Leader(units))


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    with Store.open(url, create=False) as store:
        return store.query(sql)[1]


def check_whole(url: str, groups: int) -> None:
    """Check that every group has counted whole once, on one host."""
    counted = rows(
        url,
        "select coalesce(p.repeats, p.group), p.group, count(*), count(distinct t.ran_on) from trial t"
        " join planned_trial p using (campaign_id, ordinal) group by 1, 2 order by 1, 2",
    )
    whole = [original for original, _, trials, _ in counted if trials == 2]
    assert whole == [*range(groups)]
    assert {hosts for *_, hosts in counted} == {1}
    assert rows(url, "select distinct state from claim where state not in ('done', 'replaced')") == []


def check_exactly_once(url: str, groups: int) -> None:
    """Check in addition that no two trials ran side by side on a host."""
    check_whole(url, groups)
    began: dict[str, str] = {}
    for host, what, _ in map(str.split, Path("log").read_text().splitlines()):
        # A killed trial has no end, so that one may begin after another; but none ends after another began.
        if what == "end":
            assert began.pop(host, "") == "begin"
        else:
            began[host] = what


def test_each_host_runs_its_own_plan(folder: Path, url: str) -> None:
    units = [ProcessUnit("lab1"), ProcessUnit("lab2")]
    result = run(url, units)
    assert result.report is not None
    assert [answer.verdict for answer in result.report.analysis.answers] == ["faster"]
    assert rows(url, "select ran_on, count(*) from trials group by 1 order by 1") == [
        ("lab1", 16),
        ("lab2", 16),
    ]
    per_host = (
        "select host_number, string_agg(levels, '' order by ordinal) from planned_trial group by 1 order by 1"
    )
    [(_, first), (_, second)] = rows(url, per_host)
    assert first != second
    check_exactly_once(url, 16)
    assert rows(url, "select count(*) from late_result") == [(0,)]
    assert rows(url, "select name, state from campaign_host order by 1") == [
        ("lab1", "ended"),
        ("lab2", "ended"),
    ]


def test_a_host_that_cannot_be_reached_is_given_up_and_the_others_go_on(
    folder: Path, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_cluster.leader.STARTS", 1)
    result = run(url, [ProcessUnit("lab1"), ProcessUnit("lab2", unreachable=True)])
    assert result.report is not None
    assert rows(url, "select ran_on, count(*) from trials group by 1") == [("lab1", 32)]
    said = capsys.readouterr().err
    assert "lab2 is given up: lab2 cannot be reached: No route to host; 1 other goes on" in said
    check_exactly_once(url, 16)


def test_a_host_without_the_password_is_given_up_at_once_and_told_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = folder / "passwords"
    passwords.write_text("*:*:*:*:secret\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    with running_server() as server:
        server.run("CREATE ROLE guarded LOGIN PASSWORD 'secret'")
        server.run("CREATE DATABASE guarded OWNER guarded")
        [(file,)] = server.run("SHOW hba_file")
        Path(str(file)).write_text("local all guarded scram-sha-256\nlocal all assay trust\n")
        server.run("SELECT pg_reload_conf()")
        url = server.url("guarded", "guarded")
        lacking = ProcessUnit("lab1", environment={"PGPASSFILE": "/nowhere"})
        result = run(url, [lacking, ProcessUnit("lab2")])
        assert result.report is not None
        assert rows(url, "select ran_on, count(*) from trials group by 1") == [("lab2", 32)]
    said = capsys.readouterr().err
    place = f"{machine_name('lab1')} (where ~ is {Path.home()})"
    assert f"lab1 is given up: it cannot run trials on {place}: cannot connect to postgresql://" in said
    assert "it asks for a password: put it into /nowhere or the variable PGPASSWORD; 1 other goes on" in said
    assert lacking.started == 1
    assert "secret" not in said


def test_without_any_host_the_campaign_ends_and_can_be_resumed(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_cluster.leader.STARTS", 1)
    with pytest.raises(AssayError, match=r"no host is left \(lab1: lab1 cannot be reached.*assay resume"):
        run(url, [ProcessUnit("lab1", unreachable=True)])
    assert run(url, [ProcessUnit("lab1")], campaign=1).report is not None
    check_exactly_once(url, 8)


def test_workers_that_are_killed_lose_no_trial_and_count_none_twice(folder: Path, url: str) -> None:
    units = [ProcessUnit("lab1"), ProcessUnit("lab2")]
    done = threading.Event()

    def kill() -> None:
        ended = threading.Event()
        for unit in units:
            while not done.is_set() and not _has_begun(unit.name):
                ended.wait(0.05)
            if unit.process is not None:
                with suppress(ProcessLookupError):
                    unit.process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        result = run(url, units)
    finally:
        done.set()
        killer.join()
    assert result.report is not None
    assert [unit.started for unit in units] == [2, 2]
    check_exactly_once(url, 16)


def _has_begun(host: str) -> bool:
    log = Path("log")
    return log.exists() and f"{machine_name(host)} begin" in log.read_text()


def test_a_campaign_whose_leader_is_killed_is_resumed_on_the_same_hosts(folder: Path, url: str) -> None:
    (folder / "x.toml").write_text(EXPERIMENT.replace("BLOCKS", "24"))
    leader = subprocess.Popen(
        [sys.executable, "-c", LEADER, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not _has_begun("lab2"):
            assert leader.poll() is None
            threading.Event().wait(0.05)
    finally:
        leader.kill()
        leader.wait()
    assert rows(url, "select count(*) from trials")[0][0] < 96
    # The former workers still run: each ends when its successor has joined.
    assert run(url, [ProcessUnit("lab1"), ProcessUnit("lab2")], campaign=1).report is not None
    check_exactly_once(url, 48)


def test_a_server_that_is_killed_and_started_again_interrupts_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_server() as server:
        url = server.create()

        def crash() -> None:
            while not _has_begun("lab2"):
                threading.Event().wait(0.05)
            server.stop("immediate")
            server.start()

        crashing = threading.Thread(target=crash)
        crashing.start()
        result = run(url, [ProcessUnit("lab1"), ProcessUnit("lab2")])
        crashing.join()
        assert result.report is not None
        check_exactly_once(url, 16)


SLOW = """#!/bin/sh
case $(hostname) in lab2*) WAIT;; esac
echo "$(hostname) end $(date +%s%N)" >> log
echo speed=SPEED
"""


def slow(waiting: str) -> None:
    """Have the second host wait in each trial, in words of a shell; `log` has a line for each ended trial."""
    Path("log").touch()
    for name, speed in (("a", 10), ("b", 12)):
        Path(name).write_text(SLOW.replace("WAIT", waiting).replace("SPEED", str(speed)))


def blocks_of_hosts(url: str) -> dict[str, int]:
    blocks = (
        "select t.ran_on, max(p.block) + 1 from trial t join planned_trial p using (campaign_id, ordinal)"
    )
    return dict(rows(url, f"{blocks} group by 1"))


def test_a_fast_host_goes_no_further_than_the_look_after_the_next_one(folder: Path, url: str) -> None:
    until = EXPERIMENT.replace("blocks = BLOCKS", 'blocks = 60\nuntil = "verdict"\nat_least = 12')
    (folder / "x.toml").write_text(until)
    slow("until [ $(grep -c lab1 log) -ge 36 ]; do sleep 0.02; done")
    result = run(url, [ProcessUnit("lab1"), ProcessUnit("lab2")])
    assert result.report is not None
    assert "every comparison has a verdict, after 12" in result.report.campaign.stopped
    assert blocks_of_hosts(url)["lab1"] == 18
    shown = sum(sum(condition.counts.values()) for condition in result.report.analysis.conditions)
    assert shown == len(result.report.trials)


def test_the_time_ends_a_campaign_whatever_a_host_still_does(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_cluster.leader.ENDING_S", 0)
    timed = EXPERIMENT.replace("blocks = BLOCKS", "blocks = 1000\nminutes = 0.02")
    (folder / "x.toml").write_text(timed)
    slow("test $(grep -c lab2 log) -lt 2 || exec sleep 1000")
    result = run(url, [ProcessUnit("lab1"), ProcessUnit("lab2")])
    assert result.report is not None
    assert "seconds have passed, after 1 of at most 1000 blocks" in result.report.campaign.stopped
    assert result.report.blocks == 1


def test_a_second_leader_is_refused(folder: Path, url: str) -> None:
    with Store.open(url) as store:
        run(url, [ProcessUnit("lab1")])
        with (
            store.leading(1),
            Store.open(url) as other,
            pytest.raises(AssayError, match="another process"),
            other.leading(1),
        ):
            pass
        assert store.is_led(1) is False


def test_a_file_cannot_be_written_by_hosts(folder: Path) -> None:
    with pytest.raises(AssayError, match=r"--on: hosts cannot write .*name a server"):
        run("assay.sqlite", [ProcessUnit("lab1")])


def test_hosts_cannot_link(folder: Path, url: str) -> None:
    link = "(cat a; echo '# {layout}') > {output} && chmod +x {output}"
    linked = (
        EXPERIMENT.replace('program = "./a"', f'program = "./a"\nlink = "{link}"').replace("BLOCKS", "8")
        + "[perturb]\nlayout = true\n"
    )
    (folder / "x.toml").write_text(linked)
    with pytest.raises(AssayError, match=r"--on: hosts cannot link .* leave out --link, or layout in \[per"):
        run(url, [ProcessUnit("lab1")])


def test_fewer_hosts_go_on_with_a_campaign_for_more(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_cluster.leader.STARTS", 1)
    with pytest.raises(AssayError, match="no host is left"):
        run(url, [ProcessUnit("lab1", unreachable=True), ProcessUnit("lab2", unreachable=True)])
    assert run(url, [ProcessUnit("other")], campaign=1).report is not None
    assert rows(url, "select ran_on, count(*) from trials group by 1") == [("other", 32)]
    check_exactly_once(url, 16)


def test_a_host_on_which_no_trial_is_valid_is_given_up_with_the_reason(folder: Path, url: str) -> None:
    for name in "ab":
        (folder / name).write_text("#!/bin/sh\necho no such file: data >&2\nexit 1\n")
    with pytest.raises(AssayError, match=r"none of the first 6 trials here was valid.*no such file: data"):
        run(url, [ProcessUnit("lab1")])
    assert rows(url, "select status, count(*) from trials group by 1") == [("crashed", 6)]


def test_one_machine_cannot_be_two_hosts(
    folder: Path, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = f"one-{os.getpid()}"
    monkeypatch.setattr("assay_cluster.testing.machine_name", lambda _: machine)
    result = run(url, [ProcessUnit("lab1"), ProcessUnit("lab2")])
    assert result.report is not None
    assert "this is the same machine as lab" in capsys.readouterr().err
    check_whole(url, 16)


@pytest.mark.parametrize("number", range(0, 14))
def test_a_server_that_is_gone_at_any_call_of_the_leader_costs_nothing(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The leader sees its connection end before or after a write; workers go on."""
    (folder / "x.toml").write_text(EXPERIMENT.replace("BLOCKS", "3"))
    calls = count()
    write, lead = PostgresqlDatabase.write, Led.run
    leads = threading.Event()

    @contextmanager
    def failing(self: PostgresqlDatabase, remedy: str) -> Iterator[Any]:
        call = next(calls) - number if leads.is_set() else -1
        if call == 0:
            raise ServerGoneError("it is gone before")
        with write(self, remedy) as connection:
            yield connection
        if call == 1:
            raise ServerGoneError("it is gone after")

    def leading(self: Led) -> None:
        leads.set()
        lead(self)
        leads.clear()

    monkeypatch.setattr(Led, "run", leading)
    monkeypatch.setattr(PostgresqlDatabase, "write", failing)
    unit = ProcessUnit("lab1")
    killer = threading.Thread(target=_kill_once_begun, args=(unit,))
    killer.start()
    result = run(url, [unit])
    killer.join()
    assert result.report is not None
    check_whole(url, 3)


def _kill_once_begun(unit: ProcessUnit) -> None:
    while not _has_begun(unit.name):
        threading.Event().wait(0.01)
    if unit.process is not None:
        unit.process.kill()
