"""What can go wrong while trials run, done to the real command: nothing hangs, and nothing is lost."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay import programs
from conftest import Assay, Started

pytestmark = pytest.mark.usefixtures("steady_host", "no_pages")

VALID = '{"protocol": 1, "status": "valid", "metrics": {"throughput": 2.5}}'

FAULTS = {
    "good": (f"print('{VALID}')", "valid", ""),
    "crashes": ("import signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed", "SIGSEGV"),
    "exits": (
        r"sys.exit('first words\nerror: out of luck')",
        "crashed",
        "exited with 1: first words / error: out of luck",
    ),
    "hangs": ("time.sleep(3600)", "timed_out", "1 s"),
    "prints_garbage": ("os.write(1, os.urandom(10_000))", "invalid", "is not a result"),
    "prints_half": (f"sys.stdout.write('{VALID[:40]}')", "invalid", "which is not a result"),
    "prints_nothing": ("pass", "invalid", "no result"),
    "prints_too_much": ("while True: os.write(1, b'1' * 2**20)", "invalid", "64 MiB"),
    "prints_nan": (f"print('{VALID}'.replace('2.5', 'NaN'))", "invalid", "NaN"),
    "leaks": ("kept = []\nwhile True: kept.append(bytearray(2**20))", "crashed", "MemoryError"),
    "owns_up": (
        f"""print('{VALID}'.replace('"valid"', '"invalid", "reason": "lost a key"'))""",
        "invalid",
        "lost",
    ),
}

EXPERIMENT = """
name = "x"
question = "?"
[trial]
key_range = 100
mix = { insert = 0, erase = 0, find = 100 }
duration_ms = 1
timeout_s = 600
memory_limit_mb = 64
[comparison]
metric = "throughput"
factor = "subject"
baseline = "good"
smallest_effect_percent = 3
"""


def script(path: Path, code: str) -> Path:
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys, time\n{textwrap.dedent(code)}")
    path.chmod(0o755)
    return path


def write_experiment(folder: Path, subjects: Iterable[str], blocks: int) -> Path:
    """Write an experiment that compares the programs of these names beside it; one named hangs has 1 s."""
    levels = {name: f'{{ subject = "{name}" }}' for name in subjects}
    if "hangs" in levels:
        levels["hangs"] = '{ subject = "hangs", timeout_s = 1 }'
    file = folder / "x.toml"
    file.write_text(
        EXPERIMENT.replace('factor = "subject"', 'factor = "program"')
        + f"[design]\nblocks = {blocks}\n[factors.program]\n"
        + "".join(f"{name} = {level}\n" for name, level in levels.items())
        + "".join(f'[subjects.{name}]\nprogram = "./{name}"\n' for name in levels)
    )
    return file


def rows(assay: Assay, sql: str) -> list[list[Any]]:
    answer: dict[str, list[list[Any]]] = json.loads(assay("store", "query", sql, "--json").stdout)
    return answer["rows"]


def wait_until(condition: Callable[[], bool]) -> None:
    """Ask again and again; pytest's time-out ends a test in which it never comes to be."""
    while not condition():
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Tell whether a process still runs; a zombie does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_every_fault_of_a_subject_is_recorded_with_its_reason_and_counted_nowhere(
    assay: Assay, tmp_path: Path
) -> None:
    for name, (code, _, _) in FAULTS.items():
        script(tmp_path / name, code)
    write_experiment(tmp_path, FAULTS, blocks=2)
    assert "20 of 22 trials" in assay("run", "x.toml", "--anyway", expect=1).stderr
    trials = json.loads(assay("store", "list", "trials", "--json").stdout)["trials"]
    assert len(trials) == 2 * len(FAULTS)
    for trial in trials:
        _, status, reason = FAULTS[trial["levels"]["program"]]
        assert (trial["status"], reason in trial["reason"]) == (status, True), trial
    exited = next(trial["trial"] for trial in trials if trial["levels"]["program"] == "exits")
    record = json.loads(assay("store", "show", str(exited), "--json").stdout)
    assert (record["exit_code"], record["stderr"]) == (1, "first words\nerror: out of luck\n")
    averages = rows(assay, "select program, count(throughput), median(throughput) from trials group by 1")
    assert {program: (count, median) for program, count, median in averages} == {
        name: (2, 2.5) if name == "good" else (0, None) for name in FAULTS
    }


# Each trial leaves a note when it begins; the fifth then waits until it is let go.
WAITING = f"""
notes = os.open("notes", os.O_RDWR | os.O_CREAT | os.O_APPEND)
os.write(notes, b"%d\\n" % os.getpid())
if len(os.pread(notes, 10_000, 0).splitlines()) == 5:
    while not os.path.exists("go"):
        time.sleep(0.01)
print('{VALID}')
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Started]:
    """A real `assay run` of twelve trials that has come to its fifth, which waits."""
    for name in ("good", "other"):
        script(tmp_path / name, WAITING)
    write_experiment(tmp_path, ("good", "other"), blocks=6)
    runner = Started(tmp_path, "run", "x.toml", "--anyway")
    runner.start()
    try:
        wait_until(lambda: not runner.is_alive() or len(begun(tmp_path)) == 5)
        assert runner.is_alive(), runner.ended()
        yield runner
    finally:
        runner.kill()
        runner.join()


def begun(folder: Path) -> list[int]:
    notes = folder / "notes"
    return [int(line) for line in notes.read_text().splitlines()] if notes.exists() else []


def check_resumed(assay: Assay, folder: Path) -> None:
    """Resume, and check that what had ended stayed as it was and all else ran once."""
    before = rows(assay, "select trial, status, started_at from trials order by trial")
    assert [status for _, status, _ in before] == ["valid"] * 4
    (folder / "go").touch()
    assay("resume")
    after = rows(assay, "select trial, status, started_at from trials order by trial")
    assert after[:4] == before
    assert [status for _, status, _ in after] == ["valid"] * 12
    assert len(begun(folder)) == 13
    for words in ((), ("--campaign", "1")):
        assert json.loads(assay("resume", *words, "--json", expect=2).stdout)["campaign"] is None
    assert len(begun(folder)) == 13


def test_kill_9_of_the_runner_ends_the_trial_and_resume_goes_on(
    assay: Assay, tmp_path: Path, waiting: Started
) -> None:
    waiting.kill()
    waiting.join()
    wait_until(lambda: not alive(begun(tmp_path)[-1]))
    check_resumed(assay, tmp_path)


@pytest.mark.parametrize(
    ("signum", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_run_cleanly_and_says_how_to_resume(
    assay: Assay, tmp_path: Path, waiting: Started, signum: int, exit_code: int
) -> None:
    assert waiting.pid
    os.kill(waiting.pid, signum)
    code, printed, message = waiting.ended()
    assert (code, printed) == (exit_code, "")
    assert "4 of 12 trials" in message
    assert message.endswith(f" {shlex.join([sys.executable, '-m', 'assay', 'resume', '--campaign', '1'])}\n")
    assert "Traceback" not in message
    assert not alive(begun(tmp_path)[-1])
    check_resumed(assay, tmp_path)


def test_a_second_runner_on_the_store_is_refused_and_the_first_goes_on(
    assay: Assay, tmp_path: Path, waiting: Started
) -> None:
    for words in (("run", "x.toml", "--anyway"), ("resume",)):
        refused = assay(*words, expect=2)
        assert f"process {waiting.pid}" in refused.stderr
    (tmp_path / "go").touch()
    assert waiting.ended()[0] == 0
    assert rows(assay, "select count(*) from trials") == [[12]]


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a file system here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_ends_the_run_and_resume_goes_on_once_there_is_space(
    assay: Assay, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        filler = disk / "filler"
        fills = f"""
            notes = os.open("notes", os.O_RDWR | os.O_CREAT | os.O_APPEND)
            os.write(notes, b"1\\n")
            if len(os.pread(notes, 10_000, 0)) == 10:
                try:
                    with open({str(filler)!r}, "wb", buffering=0) as file:
                        while True:
                            file.write(bytes(4096))
                except OSError:
                    pass
            print('{VALID}')
        """
        for name in ("good", "other"):
            script(tmp_path / name, fills)
        write_experiment(tmp_path, ("good", "other"), blocks=4)
        store = ("--store", disk / "assay.sqlite")
        stopped = assay("run", "x.toml", "--anyway", *store, expect=2)
        assert "is full" in stopped.stderr
        assert "assay resume --campaign 1" in stopped.stderr
        assert "Traceback" not in stopped.stderr
        filler.unlink()
        assay("resume", "--campaign", "1", *store)
        trials = json.loads(assay("store", "list", "trials", "--json", *store).stdout)["trials"]
        assert [trial["status"] for trial in trials] == ["valid"] * 8


def test_a_mistake_in_the_file_ends_the_command_before_anything_is_stored(
    assay: Assay, tmp_path: Path
) -> None:
    script(tmp_path / "good", f"print('{VALID}')")
    script(tmp_path / "other", f"print('{VALID}')")
    file = write_experiment(tmp_path, ("good", "other"), blocks=0)
    message = assay("run", "x.toml", "--anyway", expect=2).stderr
    assert message.startswith("error: x.toml:16: design.blocks: ")
    assert message.count("\n") == 1
    file.write_text(file.read_text().replace("blocks = 0", "blocks = 1").replace('"other" }', '"nop" }'))
    message = assay("run", "x.toml", "--anyway", expect=2).stderr
    assert "error: x.toml:19: factors.program.other.subject: " in message
    assert '"nop"' in message
    assert not (tmp_path / "results").exists()


def test_a_program_that_goes_missing_spends_no_trial(assay: Assay, tmp_path: Path) -> None:
    script(tmp_path / "good", f"print('{VALID}')\nif os.path.exists('other'): os.rename('other', 'hidden')")
    script(tmp_path / "other", f"print('{VALID}')")
    write_experiment(tmp_path, ("good", "other"), blocks=3)
    for words in (("run", "x.toml", "--anyway"), ("resume",)):
        stopped = assay(*words, expect=2).stderr
        assert f"error: {tmp_path / 'other'} " in stopped
        assert "No such file or directory" in stopped
        assert "assay resume --campaign 1" in stopped
        assert {status for (status,) in rows(assay, "select status from trials")} == {"valid"}
    script(tmp_path / "good", f"print('{VALID}')")
    (tmp_path / "hidden").rename(tmp_path / "other")
    assay("resume")
    assert rows(assay, "select status, count(*) from trials group by 1") == [["valid", 6]]


def test_a_metric_that_no_trial_gives_ends_the_run_at_once(assay: Assay, tmp_path: Path) -> None:
    for name in ("good", "other"):
        script(tmp_path / name, f"print('{VALID}')")
    file = write_experiment(tmp_path, ("good", "other"), blocks=3)
    file.write_text(file.read_text().replace('"throughput"', '"thruput"'))
    message = assay("run", "x.toml", "--anyway", expect=2).stderr
    assert re.search(r"thruput.*did you mean throughput", message)
    assert rows(assay, "select count(*) from trials") == [[1]]


def test_a_processor_that_is_not_there_is_a_mistake(assay: Assay, tmp_path: Path) -> None:
    for name in ("good", "other"):
        script(tmp_path / name, f"print('{VALID}')")
    file = write_experiment(tmp_path, ("good", "other"), blocks=1)
    file.write_text(file.read_text().replace("key_range", "pinning = [65535]\nkey_range"))
    message = assay("run", "x.toml", "--anyway", expect=2).stderr
    assert "error: x.toml:5: trial.pinning: " in message
    assert "65535" in message
    assert not (tmp_path / "results").exists()


def test_a_missing_calibration_program_begins_no_campaign(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("good", "other"):
        script(tmp_path / name, f"print('{VALID}')")
    write_experiment(tmp_path, ("good", "other"), blocks=1)
    (tmp_path / "bin").mkdir()
    for name in ("assay-trial", "assay-meter"):
        shutil.copy(programs.find(name), tmp_path / "bin")
    monkeypatch.setenv("ASSAY_PROGRAMS", str(tmp_path / "bin"))
    assert "assay-calibrate" in assay("run", "x.toml", "--anyway", expect=2).stderr
    assert json.loads(assay("store", "list", "--json").stdout)["campaigns"] == []


@pytest.mark.parametrize("words", [("store", "list", "subjects"), ("report", "--json")])
def test_an_output_that_cannot_be_written_is_one_message(
    assay: Assay, tmp_path: Path, words: tuple[str, ...]
) -> None:
    for name in ("good", "other"):
        script(tmp_path / name, f"print('{VALID}')")
    write_experiment(tmp_path, ("good", "other"), blocks=1)
    assay("run", "x.toml", "--anyway")
    with Path("/dev/full").open("w") as full:
        completed = subprocess.run(
            [sys.executable, "-m", "assay", *words],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert completed.returncode == 2
    assert re.fullmatch("error: .*No space left on device\n", completed.stderr)


def test_a_store_that_cannot_be_opened_leaves_nothing_behind(assay: Assay, tmp_path: Path) -> None:
    for name in ("good", "other"):
        script(tmp_path / name, f"print('{VALID}')")
    write_experiment(tmp_path, ("good", "other"), blocks=1)
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    assay("run", "x.toml", "--anyway", "--store", "folder", expect=2)
    assert sorted(tmp_path.iterdir()) == before


def test_missing_programs_are_named_with_the_remedy(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("good", "other"):
        script(tmp_path / name, f"print('{VALID}')")
    write_experiment(tmp_path, ("good", "other"), blocks=1)
    monkeypatch.setenv("ASSAY_PROGRAMS", str(tmp_path))
    assert "make build" in assay("run", "x.toml", "--anyway", expect=2).stderr


def test_maps_that_are_wrong_on_purpose_are_never_counted(assay: Assay, tmp_path: Path) -> None:
    flawed = programs.find("assay-flawed")
    # What these do wrong need not show in a short trial: the rig finds it.
    unseen = {"natarajan_leaks", "natarajan_lost_update", "stale_cache", "stale_late_write", "stale_revived"}
    maps = {entry["name"]: entry for entry in programs.listing(flawed) if entry["name"] not in unseen}
    assert len(maps) >= 6
    levels = {"right": '{ subject = "std_map_mutex", mix = { insert = 40, erase = 40, find = 20 } }'}
    for name, entry in maps.items():
        further = set(entry["operations"]) & {"range", "size", "snapshot", "find_many", "clone"}
        shares = {"insert": 35, "erase": 35, "find": 30 - 5 * len(further)} | dict.fromkeys(further, 5)
        mix = ", ".join(f"{operation} = {share}" for operation, share in shares.items())
        value = ", value_type = { bytes = 100 }" if len(entry["types"]) > 1 else ""
        levels[name] = f'{{ subject = "{name}", timeout_s = 1, mix = {{ {mix} }}{value} }}'
    (tmp_path / "x.toml").write_text(
        EXPERIMENT.replace('"good"', '"right"')
        .replace('factor = "subject"', 'factor = "map"')
        .replace("key_range = 100", "key_range = 10_000\nthreads = 2")
        .replace("insert = 0, erase = 0, find = 100", "insert = 40, erase = 40, find = 20")
        .replace("duration_ms = 1\n", "duration_ms = 200\n")  # on a busy host, too, time for mistakes
        .replace("memory_limit_mb = 64", "")
        + "[design]\nblocks = 1\n[factors.map]\n"
        + "".join(f"{name} = {level}\n" for name, level in levels.items())
        + "".join(f'[subjects.{name}]\nprogram = "{flawed}"\n' for name in maps)
    )
    assay("run", "x.toml", "--anyway", expect=1)
    trials = rows(assay, "select map, status, throughput is not null from trials")
    assert ["right", "valid", 1] in trials
    assert {name for name, *_ in trials} == levels.keys()
    counted = [name for name, status, has_metric in trials if status == "valid" or has_metric]
    assert set(counted) == {"right"}  # more than once if its group was repeated
