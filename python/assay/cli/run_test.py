"""Signals at moments that no test could hit from outside: when a campaign has just begun, and at its end."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assay import report
from assay.cli import run as command
from assay.cli.commands import app
from assay.store import Store

EXPERIMENT = """
name = "x"
question = "?"
[factors]
subject = ["std_map_mutex", "noop"]
[trial]
key_range = 100
mix = { insert = 0, erase = 0, find = 100 }
duration_ms = 1
[design]
blocks = 2
[comparison]
metric = "throughput"
factor = "subject"
baseline = "std_map_mutex"
smallest_effect_percent = 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    return tmp_path


def run() -> Result:
    return CliRunner().invoke(app, ["run", "x.toml"])


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
    assert ended.stderr.endswith(" resume 1\n")


@pytest.mark.parametrize("step", ["gather", "write_page"])
def test_a_signal_while_the_report_is_made_says_how_to_have_it(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, step, signalled(getattr(report, step), signal.SIGINT))
    ended = run()
    assert ended.exit_code == 130
    assert "stopped: 4 of 4 trials have ended and are kept\nreport with: " in ended.stderr
    assert ended.stderr.endswith(" report 1\n")


def test_verdicts_are_printed_before_the_page_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "write_page", signalled(lambda *_: None, signal.SIGINT))
    assert "Verdicts: " in run().stdout


def test_the_host_has_the_processors_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 8})
    assert command._host()["processors"] == 3
