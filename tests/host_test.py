"""`assay host` and `assay run --tuned` as they are typed."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from assay.host import system as host_system
from assay.host.journal import journal_folder
from assay.host.settings import SETTINGS
from assay.host.system import System
from assay.host.testing import CPU, made_machine, put_back_at_the_end
from conftest import Assay, small_experiment

GOVERNOR = f"{CPU}/cpufreq/policy0/scaling_governor"
TIMERS = "/proc/sys/kernel/timer_migration"
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changes real settings, which needs root")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    """Return a made machine, which the commands take for this one."""
    machine = made_machine(tmp_path / "machine")
    monkeypatch.setattr(host_system, "System", lambda: machine)
    monkeypatch.setenv("ASSAY_HOST_STATE", str(tmp_path / "state"))
    return machine


def put(machine: System, place: str, value: str) -> None:
    (machine.root / place.lstrip("/")).write_text(value + "\n")


@pytest.mark.usefixtures("made")
def test_check_says_what_is_wrong_the_worst_first(assay: Assay) -> None:
    lines = assay("host", "check", expect=1).stdout.splitlines()
    assert lines[0].startswith("This host (made) disturbs measurements: ")
    severities = [line.split(":")[0] for line in lines if line.startswith(("error:", "warning:", "note:"))]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    whole = " ".join(" ".join(lines).split())
    assert "warning: governor: the frequency follows the load (governor powersave, schedutil)" in whole


def test_check_says_of_every_setting_of_this_machine_what_it_is(assay: Assay) -> None:
    checked = json.loads(run_any(assay, "host", "check", "--json"))
    assert {*checked["settings"], *checked["lacking"]} == {setting.name for setting in SETTINGS}
    assert {finding["setting"] for finding in checked["findings"]} <= checked["settings"].keys()


def test_check_says_which_transactions_there_are(assay: Assay) -> None:
    here = json.loads(run_any(assay, "host", "check", "--json"))["transactions"]
    assert ("because" in here) == (here["name"] == "none")
    printed = " ".join(run_any(assay, "host", "check").split())
    assert f"transactions: {here['name']}" in printed
    assert here.get("because", "") in printed


def values(places: Iterable[str]) -> dict[str, str | None]:
    return {place: System().read(place) for place in places}


def run_any(assay: Assay, *words: str) -> str:
    """Return what a command prints that ends with 0 or 1, as this machine is."""
    try:
        return assay(*words).stdout
    except AssertionError:
        return assay(*words, expect=1).stdout


def test_a_dry_run_prints_the_changes_and_makes_none(assay: Assay, made: System) -> None:
    printed = assay("host", "tune", "--dry-run", "governor").stdout.splitlines()
    assert printed[0] == f"governor: {GOVERNOR}: powersave -> performance"
    assert printed[-1] == "2 changes; nothing was changed"
    assert made.read(GOVERNOR) == "powersave"


def test_tune_and_restore(assay: Assay, made: System) -> None:
    assert f"governor: {GOVERNOR}: powersave -> performance" in assay("host", "tune", "governor").stdout
    assert assay("host", "tune", "governor").stdout == "Nothing to change.\n"
    assert "tuned: what was there is in" in assay("host", "check", expect=1).stdout
    assert f"governor: {GOVERNOR}: powersave again" in assay("host", "restore").stdout
    assert made.read(GOVERNOR) == "powersave"
    assert "Nothing to restore" in assay("host", "restore").stdout


@pytest.mark.parametrize(("option", "value"), [("--keep", "ondemand"), ("--overwrite", "powersave")])
def test_what_somebody_else_changed_waits_for_a_decision(
    assay: Assay, made: System, option: str, value: str
) -> None:
    assay("host", "tune", "governor")
    put(made, GOVERNOR, "ondemand")
    refused = assay("host", "restore", expect=1)
    assert "something else made it ondemand; it was powersave, and is left alone" in refused.stdout
    assert "1 place left, and the journal stays" in refused.stderr
    assert made.read(GOVERNOR) == "ondemand"
    assay("host", "restore", option)
    assert made.read(GOVERNOR) == value


def test_what_can_only_be_judged_is_not_tuned(assay: Assay, made: System) -> None:
    said = assay("host", "tune", "load", "heat", "governor", expect=2).stderr
    assert "load and heat cannot be set for the whole host" in said
    assert made.read(GOVERNOR) == "powersave"


def test_a_setting_that_vanished_is_given_up_or_waited_for(assay: Assay, made: System) -> None:
    assay("host", "tune", "governor")
    (made.root / GOVERNOR.lstrip("/")).unlink()
    said = assay("host", "restore", expect=1).stderr
    assert "1 vanished: `assay host restore` again once the setting is back" in said
    assert "--overwrite" not in said
    assay("host", "restore", "--keep")
    assert "Nothing to restore" in assay("host", "restore").stdout


def test_of_a_damaged_journal_the_rest_is_put_back(assay: Assay, made: System) -> None:
    assay("host", "tune", "governor")
    journal = journal_folder() / "host.journal"
    journal.write_bytes(journal.read_bytes() + b"x\n")
    assert "assay host restore --readable" in assay("host", "restore", expect=2).stderr
    said = assay("host", "restore", "--readable", expect=1)
    assert f"the journal is {journal}.damaged now" in said.stdout
    assert f"not restored: what line 4 of {journal}.damaged said" in said.stderr
    assert made.read(GOVERNOR) == "powersave"
    journal.write_bytes(b"a change that was nev")
    assert "announces no change that was made" in assay("host", "restore").stdout


@pytest.mark.parametrize(("answer", "value"), [("y", "powersave"), ("n", "ondemand")])
def test_on_a_terminal_it_asks(assay: Assay, made: System, tmp_path: Path, answer: str, value: str) -> None:
    assay("host", "tune", "governor")
    put(made, GOVERNOR, "ondemand")
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    code = (
        "from assay.host import system; from assay.host.testing import MadeSystem; from pathlib import Path\n"
        f"system.System = lambda: MadeSystem(Path({str(made.root)!r}))\n"
        "from assay.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "host", "restore"],
        stdin=theirs,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    os.close(theirs)
    os.close(ours)
    assert "something else made it ondemand; it was powersave. Put powersave back?" in done.stderr
    assert made.read(GOVERNOR) == value


@root_only
def test_a_real_setting_is_tuned_and_restored(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOST_STATE", str(tmp_path / "state"))
    with put_back_at_the_end(TIMERS) as before:
        Path(TIMERS).write_text("1\n")
        assay("host", "tune", "timer-migration")
        assert Path(TIMERS).read_text() == "0\n"
        assay("host", "restore")
        assert Path(TIMERS).read_text() == "1\n"
        assert before.keys() == {TIMERS}


@root_only
@pytest.mark.usefixtures("steady_host")
def test_a_tuned_run_holds_the_settings_and_puts_them_back(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOST_STATE", str(tmp_path / "state"))
    (tmp_path / "x.toml").write_text(small_experiment("x", 1))
    with put_back_at_the_end() as before:
        assay("run", "x.toml", "--anyway", "--no-page", "--tuned", "--quiet")
        assert values(before) == before
    record = json.loads(assay("store", "show", "1", "--json").stdout)
    host = record.get("host") or record["record"]["host"]
    if TIMERS in before:
        assert host["timer-migration"] == "0"
    assert not (tmp_path / "state" / "host.journal").exists()


WAITING = """
[factors]
subject = ["one", "two"]
[design]
blocks = 8
[subjects.commands]
program = "true"
names = ["one", "two"]
protocol = false
prepare = "echo > ready"
"""
"""Each trial waits until somebody reads that it is ready."""


@root_only
@pytest.mark.usefixtures("steady_host")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_tuned_run_that_is_stopped_or_killed_loses_nothing(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signum: int
) -> None:
    monkeypatch.setenv("ASSAY_HOST_STATE", str(tmp_path / "state"))
    (tmp_path / "x.toml").write_text(WAITING)
    os.mkfifo(tmp_path / "ready")
    with put_back_at_the_end() as before:
        run = subprocess.Popen(
            [sys.executable, "-m", "assay", "run", "x.toml", "--no-page", "--tuned"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        (tmp_path / "ready").read_text()  # it is tuned, and the first trial is prepared
        assert values(before) != before
        said = assay("host", "restore", expect=2).stderr
        assert said.startswith(f"error: another assay (process {run.pid}) tunes this host")
        run.send_signal(signum)
        killed = signum == signal.SIGKILL
        assert run.wait() == (-signum if killed else 128 + signum)
        while (tmp_path / "state" / "host.journal").exists():
            assert killed  # a process of its own puts it back
        assert values(before) == before
