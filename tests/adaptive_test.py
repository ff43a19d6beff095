"""Campaigns that repeat groups and end early, with real processes, and killed where it matters most."""

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest

import planted
from assay import programs
from assay.campaign import Reporter, run_campaign
from assay.experiment import load
from assay.plan.make_plan import make_plan
from assay.plan.types import PlannedTrial
from assay.runner.process import StopSignals
from assay.store import Store
from assay.store.types import Decision
from conftest import assay_in

STORE = Path("results/assay.sqlite")

EXPERIMENT = """
name = "x"
question = "?"
[trial]
threads = 2
key_range = 100
mix = { insert = 0, erase = 0, find = 100 }
duration_ms = 1
[factors.program]
good = { subject = "good" }
other = { subject = "other" }
[subjects.good]
program = "./good"
[subjects.other]
program = "./other"
[comparison]
metric = "throughput"
factor = "program"
baseline = "good"
smallest_effect_percent = 3
[design]
seed = 3
"""

# Throughput comes from the seed of the trial, which the seed of the plan gives. The trial waits, if it is the
# one that is told to, until it is let go.
SUBJECT = """
seed=${request##*'"seed": '}
seed=${seed%%[!0-9]*}
wait=wait-$(count begun)
while [ -e $wait ]; do sleep 0.01; done
throughput=$((FACTOR * (100 + seed % 10)))
echo '{"protocol": 1, "status": "valid", "metrics": {"throughput": '$throughput'}}'
"""

# The host's mode changes with every sixth calibration: groups of two trials run now in one mode, now across.
CALIBRATION = """
latency=$((50 + $(count calibrated) / 6 % 2 * 100)).125
echo '{"protocol": 1, "cpus": [0, 1], "metrics": {"core_to_core_ns": '$latency'},'
echo '"unavailable": {}, "elapsed_ms": 1}'
"""

COUNT = """
count() {
    echo >> $1
    echo $(($(wc -l < $1) - 1))
}
read -r request
"""


def script(path: Path, code: str, folder: Path) -> None:
    path.write_text(f"#!/bin/sh\ncd {shlex.quote(str(folder))}\n{COUNT}{code}")
    path.chmod(0o755)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_pages: None) -> Path:
    """The folder of an experiment, and a host whose modes are made up."""
    script(tmp_path / "good", SUBJECT.replace("FACTOR", "1"), tmp_path)
    script(tmp_path / "other", SUBJECT.replace("FACTOR", "2"), tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("assay-trial", "assay-meter"):
        (tmp_path / "bin" / name).symlink_to(programs.find(name))
    script(tmp_path / "bin" / "assay-calibrate", CALIBRATION, tmp_path)
    monkeypatch.setenv("ASSAY_PROGRAMS", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(design: str) -> None:
    Path("x.toml").write_text(EXPERIMENT + design)


def assay(*words: str, expect: int = 0) -> "subprocess.CompletedProcess[str]":
    return assay_in(Path())(*words, expect=expect)


def rows(sql: str) -> list[tuple[Any, ...]]:
    with Store.open(STORE, create=False) as store:
        return store.query(sql)[1]


def nothing_to_resume(*words: str) -> bool:
    return json.loads(assay("resume", *words, "--json", expect=2).stdout)["campaign"] is None


def reason_to_stop() -> str:
    """Return why the campaign ended early, as the store has it."""
    [(reason,)] = rows("select reason from decision where kind = 'stop'")
    return str(reason)


def begun() -> int:
    """Return how many trials have begun, killed ones among them."""
    return Path("begun").read_text().count("\n")


@contextmanager
def runner(dies: bool = False) -> Iterator[ForkProcess]:
    """Run the experiment in a process of its own, forked from this one, which has imported all of it."""
    process = ForkProcess(target=run_experiment, args=(dies,))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def kill_during(number: int) -> None:
    """Run the experiment, and kill the runner while the trial of this number, from 0, is running."""
    Path(f"wait-{number}").touch()
    with runner() as process:
        while process.is_alive() and not (Path("begun").exists() and begun() > number):
            time.sleep(0.01)
        assert process.is_alive()
    Path(f"wait-{number}").unlink()


def run_experiment(dies: bool) -> None:
    """Run x.toml; one that dies does so when it is about to write that the campaign ends early."""
    decide = Store.decide

    def decide_or_die(
        self: Store, campaign_id: int, decision: Decision, trials: Sequence[PlannedTrial] = ()
    ) -> None:
        if dies and decision.kind == "stop":
            os.kill(os.getpid(), signal.SIGKILL)
        decide(self, campaign_id, decision, trials)

    Store.decide = decide_or_die  # type: ignore[method-assign]
    with StopSignals() as stop:
        run_campaign(STORE, load(Path("x.toml")), stop, Reporter())


# Repetitions


def check_repetitions() -> None:
    """Check that every group ran whole and at once, and every repetition right after what it repeats."""
    order = rows(
        'select p."group", p.repeats from trial t join planned_trial p using (campaign_id, ordinal) '
        "where t.status = 'valid' order by t.id"
    )
    ran = [(group, repeats, len(list(trials))) for (group, repeats), trials in groupby(order)]
    assert len({group for group, _, _ in ran}) == len(ran)
    assert {count for _, _, count in ran} == {2}
    originals = [group if repeats is None else repeats for group, repeats, _ in ran]
    assert originals == sorted(originals)
    assert set(originals) == set(range(10))
    decided = rows("select content ->> 'as', content ->> 'group' from decision where kind = 'repeat'")
    assert decided == [(group, repeats) for group, repeats, _ in ran if repeats is not None]
    assert len(decided) >= 2
    planned = rows("select count(*), count(distinct request ->> 'seed') from planned_trial")
    assert planned == [(len(order), len(order))]
    assert nothing_to_resume("--campaign", "1")


def test_groups_in_which_the_host_changes_its_mode_are_repeated(folder: Path) -> None:
    write("blocks = 10")
    printed = assay("run", "x.toml").stderr
    check_repetitions()
    [(repeated,)] = rows("select count(*) from decision")
    trials = 20 + 2 * repeated
    assert f"{repeated} repeated" in printed
    [campaign] = json.loads(assay("store", "list", "--json").stdout)["campaigns"]
    assert [campaign[key] for key in ("planned", "ended", "valid")] == [trials] * 3
    [(reason,)] = rows("select distinct reason from decision")
    assert all(word in reason for word in ("core_to_core_ns", "50.1", "150.1"))
    [comparison] = json.loads(assay("report", "--json").stdout)["analysis"]["comparisons"]
    assert comparison["dropped"]["host changed"] >= 1
    assert comparison["pairs"] >= 9


# The first repetition is of the fifth group: its trials are those of numbers 10 and 11.
@pytest.mark.parametrize("number", [9, 10, 11], ids=["in a group", "in a repetition", "at its end"])
def test_a_campaign_killed_in_a_group_or_a_repetition_goes_on_where_it_was(folder: Path, number: int) -> None:
    write("blocks = 10")
    kill_during(number)
    before = rows("select trial, started_at from trials order by trial")
    assert len(before) == number
    assay("resume")
    check_repetitions()
    after = rows("select trial, started_at from trials order by trial")
    assert after[:number] == before
    assert begun() == len(after) + 1


# Early ends


def test_a_campaign_ends_when_every_comparison_has_a_verdict(folder: Path) -> None:
    write('blocks = 30\nuntil = "verdict"\nrepeat = 0')
    printed = assay("run", "x.toml").stderr
    decided = rows("select kind, block from decision order by id")
    assert [kind for kind, _ in decided][-2:] == ["look", "stop"]
    blocks = decided[-1][1]
    assert 8 <= blocks < 30
    assert rows("select count(*) from trials") == [(2 * blocks,)]
    reason = reason_to_stop()
    assert f"{blocks} of " in reason
    assert f"{reason}\n" in printed
    assert " 60 trials" in printed
    [campaign] = json.loads(assay("store", "list", "--json").stdout)["campaigns"]
    assert campaign["state"] == f"finished early: {reason}"
    assert nothing_to_resume()
    assert begun() == 2 * blocks


def test_a_campaign_killed_between_look_and_stop_ends_without_another_trial(folder: Path) -> None:
    write('blocks = 30\nuntil = "verdict"\nrepeat = 0')
    with runner(dies=True) as process:
        process.join()
    assert process.exitcode == -signal.SIGKILL
    decided = rows("select kind, block from decision order by id")
    assert decided[-1][0] == "look"
    ran = begun()
    assert "finished early" in assay("resume").stderr
    assert begun() == ran
    assert rows("select kind, block from decision order by id") == [*decided, ("stop", decided[-1][1])]


def test_a_time_budget_ends_a_campaign_with_a_whole_block(folder: Path) -> None:
    write("blocks = 30\nminutes = 0.00001")
    printed = assay("run", "x.toml").stderr
    assert rows("select count(*) from trials") == [(2,)]
    reason = reason_to_stop()
    assert "of 0.0006 seconds have passed" in reason
    assert "1 of " in reason
    assert f"{reason}\n" in printed


# Identical code


def test_identical_code_is_compared_under_two_names(folder: Path) -> None:
    write("blocks = 12\nrepeat = 0")
    assert "0 of 2" in " ".join(assay("run", "--identical", "x.toml").stdout.split())
    assert "0 of 2" in " ".join(assay("report").stdout.split())
    printed = json.loads(assay("report", "--json").stdout)
    alarms = printed["false_alarms"]
    assert (alarms["comparisons"], alarms["uncorrected"], printed["compatible"]) == (2, 0, True)
    assert planted.identical(printed)[1]
    assert rows("select source, resolved ->> 'identical' from campaign") == [(Path("x.toml").read_text(), 1)]
    assert rows("select count(distinct levels) from planned_trial") == [(4,)]


def test_too_many_alarms_about_identical_code_fail(folder: Path) -> None:
    write("blocks = 12\nrepeat = 0")
    # A trial cannot tell which copy it is, so these are told.
    plan = make_plan(load(Path("x.toml"), identical=True), 3, lambda subject: subject, 1000)
    second = "|".join(str(trial.request["seed"]) for trial in plan.trials if trial.levels["copy"] == "b")
    factor = f"$(case $seed in {second}) echo 2 ;; *) echo 1 ;; esac)"
    for name in ("good", "other"):
        script(folder / name, SUBJECT.replace("FACTOR", factor), folder)
    completed = assay("run", "--identical", "x.toml", expect=1)
    printed = " ".join(completed.stdout.split())
    assert "2 of 2" in printed
    assert "not compatible" in printed
    assert not planted.identical(json.loads(assay("report", "--json").stdout))[1]
