"""Fixtures as people run them: by themselves, and as subjects of an experiment."""

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assay import programs
from assay.errors import AssayError
from assay.experiment import load
from assay.protocol import parse
from conftest import ROOT, Assay

QUICK = ("--seconds", "0.01")


def run(
    *words: str, given: str | None = None, before: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    program = str(programs.find("assay-flawed-fixtures"))
    return subprocess.run(
        [*before, program, *words], input=given, capture_output=True, text=True, check=False, timeout=60
    )


def experiment(subjects: str, more: str = "", trial: str = "duration_ms = 2") -> str:
    return f"""
name = "fixtures"
[factors]
subject = [{subjects}]
{more}
[trial]
{trial}
[design]
blocks = 8
[comparison]
factor = "subject"
[subjects.fixtures]
program = "{programs.find("assay-flawed-fixtures")}"
names = ["sound", "throws_in_run", "throws_in_destructor", "does_less_and_less"]
fixture = true
"""


def test_a_program_of_fixtures_prints_percentiles_and_growth_and_no_mean() -> None:
    ended = run("sound", "--sizes", "100..400,1000", *QUICK)
    assert ended.returncode == 0, ended.stderr
    head, *lines = ended.stdout.splitlines()
    assert head.split() == ["count", "min", "p25", "p50", "p75", "p90", "p99", "p99.9", "max"]
    assert [line.split()[0] for line in lines[:4]] == [f"sound/{size}" for size in (100, 200, 400, 1000)]
    assert "p50 grows with " in lines[4]
    assert "is subtracted" in lines[-1]


def test_every_time_is_kept_and_the_json_is_google_benchmarks(tmp_path: Path) -> None:
    times, written = tmp_path / "times.csv", tmp_path / "times.json"
    words = ("--iterations", "250", "--sizes", "10,100", "--times", str(times), "--json", str(written))
    assert run("sound", *words).returncode == 0
    rows = list(csv.DictReader(times.open()))
    assert len(rows) == 500
    assert all(float(row["ns"]) > 0 for row in rows)
    entries = json.loads(written.read_text())["benchmarks"]
    runs = [entry for entry in entries if entry["run_type"] == "iteration"]
    assert [entry["name"] for entry in runs] == ["sound/10", "sound/100"]
    assert all(entry["time_unit"] == "ns" and entry["iterations"] >= 250 for entry in runs)


def test_times_and_json_are_printed_in_place_of_the_table() -> None:
    ended = run("sound", "--iterations", "250", "--sizes", "10", "--times", "-")
    assert ended.returncode == 0, ended.stderr
    head, *rows = ended.stdout.splitlines()
    assert head == "fixture,size,iteration,ns"
    assert [row.rpartition(",")[0] for row in rows] == [f"sound,10,{number}" for number in range(250)]
    printed = run("sound", "--iterations", "250", "--sizes", "10", "--json", "-").stdout
    assert json.loads(printed)["benchmarks"][0]["name"] == "sound/10"
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["sound", "--times", "-", "--json", "-"], 2, "--json - and --times - both print; write one of them"),
        (["soundd"], 2, 'there is no fixture "soundd"; did you mean "sound"?'),
        (["sound", "--iterations", "0"], 2, "--iterations: Value 0 not in range 1 to "),
        (["sound", "--iterations", "1e6", "--precise", "1"], 2, "--iterations"),
        (
            ["sound", "--iterations", "100000000000"],
            2,
            "there is no memory for the times of 100000000000 iter",
        ),
        (["sound", "--threads", "2"], 2, "threads: sound runs in one thread"),
        (["sound", "--sizes", "9..3"], 2, "--sizes: 9..3 ends below its start"),
        (["sound", "--set", "stepp=3"], 2, 'the fixture sound has no parameter "stepp"'),
        (["sound", "--set", "step=far"], 2, 'parameters.step: must be a number, not "far"'),
        (
            ["does_less_and_less", "--batch", "2"],
            2,
            "batch: does_less_and_less has a set_up before",
        ),
        (["throws_in_constructor"], 1, "throws_in_constructor: its constructor threw: there is no such file"),
        (["throws_in_run"], 1, "throws_in_run: run threw in iteration "),
        (
            ["throws_in_destructor", *QUICK],
            1,
            "its destructor threw after the last iteration: the file is still open",
        ),
        (["sound", "--pinning", "0,,1"], 2, '--pinning: must be processors such as 0,2, not "0,,1"'),
        (["sound", "--priority", "5"], 2, "--priority: is of --scheduling fifo alone"),
        (["sound", "--warm-up", "1e15"], 2, "--warm-up: Value"),
        (["does_less_and_less", *QUICK], 1, "times of different work cannot be put together"),
        (["sound", *QUICK, "--times", "/dev/full"], 1, "cannot write /dev/full: No space left on device"),
        (["sound", *QUICK, "--json", "/nowhere/x"], 2, "--json: cannot write /nowhere/x: No such file"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(words: list[str], code: int, message: str) -> None:
    ended = run(*words)
    assert ended.returncode == code
    errors = [line for line in ended.stderr.splitlines() if not line.startswith("notice: ")]
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert message in errors[0]


@pytest.mark.parametrize("words", [("--scheduling", "fifo"), ("--lock-memory",)])
def test_what_is_not_permitted_is_a_notice_or_fatal_if_that_is_asked(words: tuple[str, ...]) -> None:
    without = ("setpriv", "--bounding-set", "-sys_nice,-ipc_lock") if os.geteuid() == 0 else ()
    before = ("prlimit", "--rtprio=0", "--memlock=65536", *without)
    ended = run("sound", *words, *QUICK, before=before)
    assert ended.returncode == 0, ended.stderr
    assert "notice: sound/10: " in ended.stderr
    assert "limits.conf" in ended.stderr
    ended = run("sound", *words, *QUICK, "--strict", before=before)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ")
    assert ended.stdout == ""


def request(**changes: Any) -> str:
    asked = {
        "protocol": 1,
        "subject": "sound",
        "seed": 1,
        "threads": 1,
        "pinning": "cores_first",
        "duration_ms": 2,
    }
    return json.dumps(asked | changes)


def test_a_trial_of_a_fixture_says_its_scheduling_class() -> None:
    ended = run("--trial", given=request(parameters={"scheduling": "fifo", "priority": 1}))
    result = parse("trial-result", ended.stdout)
    refused = result["details"]["notices"]
    assert refused or result["host"] == {"scheduling": "fifo 1"}


def test_a_trial_of_a_fixture_follows_the_protocol() -> None:
    ended = run("--trial", given=request(parameters={"size": 100, "step": 2, "scheduling": "other"}))
    assert ended.returncode == 0, ended.stderr
    result = parse("trial-result", ended.stdout)
    assert result["status"] == "valid"
    assert result["metrics"]["iteration_p50_ns"] > 0
    assert result["details"]["size"] == 100
    assert result["details"]["work"] == 100 * result["details"]["batch"]
    assert "host" not in result


@pytest.mark.usefixtures("steady_host")
def test_an_experiment_compares_fixtures(tmp_path: Path, assay: Assay) -> None:
    sizes = "[factors.n]\n100.parameters.size = 100\n1000.parameters.size = 1000"
    path = tmp_path / "x.toml"
    path.write_text(experiment('"sound"', sizes).replace('factor = "subject"', 'factor = "n"'))
    said = assay("run", str(path)).stdout
    assert "iteration_p50_ns" in said
    assert "all valid" in said


@pytest.mark.usefixtures("steady_host")
def test_trials_of_fixtures_that_fail_are_kept_and_say_why(tmp_path: Path, assay: Assay) -> None:
    path = tmp_path / "x.toml"
    path.write_text(experiment('"sound", "throws_in_run", "throws_in_destructor", "does_less_and_less"'))
    assay("run", str(path), expect=1)
    trials = json.loads(assay("store", "list", "trials", "--json").stdout)["trials"]
    statuses = {trial["levels"]["subject"]: (trial["status"], trial["reason"]) for trial in trials}
    assert statuses["sound"][0] == "valid"
    assert statuses["throws_in_run"][0] == "crashed"
    assert "the queue is full" in (statuses["throws_in_run"][1] or "")
    assert statuses["throws_in_destructor"][0] == "invalid"
    assert "the file is still open" in (statuses["throws_in_destructor"][1] or "")
    assert statuses["does_less_and_less"][0] == "invalid"
    assert "different work" in (statuses["does_less_and_less"][1] or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            experiment('"sound", "throws_in_run"', trial="key_range = 100"),
            "is a fixture, which has no key_range",
        ),
        (experiment('"sound", "throws_in_run"', trial="mix = { find = 100 }"), "which has no mix; remove it"),
        (
            experiment('"sound", "throws_in_run"') + "protocol = false\n",
            "subjects.fixtures.protocol: is for commands, and fixtures speak the protocol",
        ),
    ],
)
def test_an_experiment_that_asks_a_fixture_for_what_it_has_not_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(AssayError) as refusal:
        load(path)
    assert message in str(refusal.value)


def test_the_guide_shows_the_experiment_of_the_order_book() -> None:
    whole = (ROOT / "examples" / "order_book" / "experiment.toml").read_text()
    guide = (ROOT / "docs" / "guide" / "fixtures.md").read_text()
    shown = guide.split("```toml\n")[1].split("```")[0]
    assert set(shown.splitlines()) <= set(whole.splitlines())
