"""Signals at moments that no test could hit from outside: when a campaign has just begun, and at its end."""

import json
import os
import re
import shlex
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assay import programs
from assay.campaign import campaign
from assay.cli.commands import app
from assay.experiment import load
from assay.experiment.testing import experiment_text
from assay.plan.make_plan import make_plan
from assay.report import site
from assay.runner.machine import host
from assay.store import Store

pytestmark = pytest.mark.usefixtures("constant_trials")

EXPERIMENT = experiment_text(design="blocks = 2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    return tmp_path


def run() -> Result:
    return CliRunner().invoke(app, ["run", "x.toml", "--anyway"])


def signalled(original: Any, signum: int) -> Any:
    """Return the function that does as the original, and is then hit by a signal."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        answer = original(*arguments, **keywords)
        os.kill(os.getpid(), signum)
        return answer

    return call


def test_a_signal_as_soon_as_the_campaign_has_begun_says_how_to_resume(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Store, "begin_campaign", signalled(Store.begin_campaign, signal.SIGTERM))
    ended = run()
    assert ended.exit_code == 143
    assert "stopped: 0 of 4 trials have ended and are kept\nresume with: " in ended.stderr
    assert ended.stderr.endswith(" resume --campaign 1\n")


@pytest.mark.parametrize(("module", "step"), [(campaign, "gather"), (site, "write_page")])
def test_a_signal_while_the_report_is_made_says_how_to_have_it(
    module: ModuleType, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, step, signalled(getattr(module, step), signal.SIGINT))
    ended = run()
    assert ended.exit_code == 130
    assert "stopped: 4 of 4 trials have ended and are kept\nreport with: " in ended.stderr
    assert ended.stderr.endswith(" report --campaign 1\n")


COMMAND = """
[subjects.mine]
program = "/bin/sh"
arguments = ["-c", "echo work=1; test -e good || echo work=2"]
extract = { work = { line = "work", unit = "ms" } }
"""


def a_command(folder: Path, build: str, more: str = "") -> None:
    """Measure a command in place of both subjects."""
    text = EXPERIMENT.replace('subject = ["std_map_mutex", "noop"]', "[factors.copy]\na = {}\nb = {}")
    text = text.replace("[trial]", '[trial]\nsubject = "mine"').replace("throughput", "work")
    text = text.replace('"subject"', '"copy"').replace('"std_map_mutex"', '"a"')
    (folder / "x.toml").write_text(f"{text}{COMMAND}build = {json.dumps(build)}\n")


def test_a_signal_during_a_build_says_that_nothing_ran_or_how_to_resume(folder: Path) -> None:
    a_command(folder, f"test -e calm || {{ kill -INT {os.getpid()}; sleep 100; }}")
    ended = run()
    assert ended.exit_code == 130
    assert ended.stderr.endswith("\nstopped while building; no trial has run\n")
    (folder / "calm").touch()
    assert run().exit_code == 1
    (folder / "calm").unlink()
    ended = CliRunner().invoke(app, ["resume"])
    assert ended.exit_code == 130
    assert "\nstopped: 1 of 4 trials " in ended.stderr
    assert ended.stderr.endswith(" resume --campaign 1\n")


def test_a_command_whose_metric_is_not_found_ends_the_campaign_with_the_reason(folder: Path) -> None:
    a_command(folder, "true")
    ended = run()
    message = str(ended.exception)
    assert re.search(r"^subjects\.mine\.extract: work: .*'work=\.\.\.'.* show 1$", message)
    (folder / "good").touch()
    resumed = CliRunner().invoke(app, ["resume"])
    assert resumed.exit_code == 1
    assert "trial 1 invalid: work: the line 'work=...' is in" in resumed.stderr


def test_identical_code_is_asked_for_without_moving_the_lines_of_mistakes(folder: Path) -> None:
    (folder / "x.toml").write_text(EXPERIMENT.replace('"noop"', '"nope"'))
    ended = CliRunner().invoke(app, ["run", "--identical", "x.toml"])
    assert str(ended.exception).startswith('x.toml:5: factors.subject: there is no subject "nope"')


@pytest.mark.parametrize("option", ["--identical", "--sensitivity"])
def test_what_misleads_on_purpose_answers_no_question_about_the_code(folder: Path, option: str) -> None:
    flawed = '[pitfall]\ndeliberate = true\n[trial]\nflaws = ["never_inserts"]\n'
    (folder / "x.toml").write_text(EXPERIMENT.replace("[trial]\n", flawed))
    message = str(CliRunner().invoke(app, ["run", option, "x.toml"]).exception)
    assert f"flawed on purpose: never_inserts; assay run {option} takes honest experiments alone" in message
    assert not (folder / "results").exists()


def test_a_campaign_of_identical_code_keeps_an_experiment_that_says_so(folder: Path) -> None:
    (folder / "x.toml").write_text(EXPERIMENT)
    CliRunner().invoke(app, ["run", "--identical", "x.toml"])
    with Store.open(folder / "results" / "assay.sqlite") as store:
        kept = store.experiment(1)
    assert kept.identical
    assert kept.source == EXPERIMENT


def test_a_campaign_is_resumed_without_its_file_and_with_a_text_that_no_grammar_knows(folder: Path) -> None:
    enough = EXPERIMENT.replace("blocks = 2", "blocks = 12")
    (folder / "x.toml").write_text(enough)
    unreadable = load(Path("x.toml")).model_copy(update={"source": "grammar = 'of old'"})
    plan = make_plan(unreadable, 7, lambda _: str(programs.find("assay-trial")), 1000)
    (folder / "x.toml").unlink()
    path = folder / "results" / "assay.sqlite"
    with Store.open(path) as store:
        for _ in range(2):
            store.begin_campaign(experiment=unreadable, plan=plan, host=host())
    commands = (
        "resume --campaign 1",
        "resume",
        "report --campaign 2",
        "report --campaign 2 --audit",
        "store query 'select * from trials'",
        "plan x.toml",
    )
    codes = {}
    for line in commands:
        if line.startswith("plan"):
            (folder / "x.toml").write_text(enough)  # nothing else reads it
        codes[line] = CliRunner().invoke(app, shlex.split(line)).exit_code
    assert codes == dict.fromkeys(commands, 0)
    with Store.open(path) as store:
        assert store.campaign(2).finished


def test_a_folder_that_cannot_be_the_site_is_refused_before_the_first_trial(folder: Path) -> None:
    site_of_another = folder / "results" / "assay-report"
    site_of_another.mkdir(parents=True)
    (site_of_another / "notes.txt").touch()
    ended = run()
    assert str(ended.exception).startswith(f"{site_of_another} is not the site of ")
    with Store.open(folder / "results" / "assay.sqlite") as store:
        assert store.campaigns() == []


def test_a_file_where_the_site_belongs_is_refused_before_the_first_trial(folder: Path) -> None:
    (folder / "results").mkdir()
    (folder / "results" / "assay-report").touch()
    assert "assay-report is not the site of " in str(run().exception)
    with Store.open(folder / "results" / "assay.sqlite") as store:
        assert store.campaigns() == []


def test_a_campaign_of_another_version_of_assay_does_not_block_the_others(folder: Path) -> None:
    (folder / "x.toml").write_text(EXPERIMENT.replace("blocks = 2", "blocks = 12"))
    for _ in range(2):
        CliRunner().invoke(app, ["run", "x.toml", "--no-page"])
    with closing(sqlite3.connect(folder / "results" / "assay.sqlite")) as raw:
        raw.execute("drop trigger campaign_refuses_update")
        raw.execute("update campaign set resolved = json_set(resolved, '$.version', 1) where id = 1")
        raw.commit()
    for line in (
        "report --campaign 1",
        "report --campaign 1 --audit",
    ):
        ended = CliRunner().invoke(app, line.split())
        assert "another version of Assay wrote the experiment of campaign 1" in str(ended.exception), line
    for line in (
        "report",
        "plan x.toml --audit",
        "plan x.toml",
        "store list trials --campaign 1",
        "store query 'select 1'",
    ):
        assert CliRunner().invoke(app, shlex.split(line)).exit_code == 0, line
    assert not (folder / "results" / "assay-report" / "campaign-1").exists()


def test_a_store_is_named_by_a_url_wherever_one_is_named() -> None:
    CliRunner().invoke(
        app, ["run", "x.toml", "--anyway", "--no-page", "--quiet", "--store", "sqlite:///o.sqlite"]
    )
    listed = CliRunner().invoke(app, ["store", "list", "trials", "--json", "--store", "sqlite:///o.sqlite"])
    assert len(json.loads(listed.stdout)["trials"]) == 4
    assert Path("o.sqlite").is_file()


def test_what_has_nothing_to_resume_is_json_too() -> None:
    run()
    ended = CliRunner().invoke(app, ["resume", "--json"])
    assert json.loads(ended.stdout) == {"version": 1, "campaign": None}
    assert "nothing to resume" in str(ended.exception)


def test_verdicts_are_printed_before_the_page_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "write_page", signalled(lambda *_: None, signal.SIGINT))
    assert "Verdicts: " in run().stdout


def test_the_host_has_the_processors_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 8})
    assert host()["processors"] == 3


def test_what_cannot_have_a_verdict_is_refused_unless_it_is_wanted_anyway(folder: Path) -> None:
    refused = CliRunner().invoke(app, ["run", "x.toml"])
    says = r"x\.toml: 2 blocks can decide none of 1 comparison; it takes 6 \(--blocks 6\); --anyway .*"
    assert re.fullmatch(says, str(refused.exception))
    assert not (folder / "results").exists()
    (folder / "x.toml").write_text(EXPERIMENT.replace('"noop"', '"nope"'))
    assert 'there is no subject "nope"' in str(CliRunner().invoke(app, ["run", "x.toml"]).exception)
