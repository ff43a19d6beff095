"""The one way into a campaign: what it returns, records and does not compute again."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.analysis import summarise
from assay.campaign import Reporter, run_campaign
from assay.errors import AssayError
from assay.experiment import parse
from assay.experiment.testing import experiment_text
from assay.report.site import write_page
from assay.runner.process import StopSignals
from assay.store import Store

pytestmark = pytest.mark.usefixtures("constant_trials")

EXPERIMENT = experiment_text(design='blocks = 8\nuntil = "verdict"')


def run(path: Path, number: int | None = None) -> Any:
    experiment = parse(EXPERIMENT, path.with_name("x.toml"))
    with StopSignals() as stop:
        return run_campaign(path, experiment if number is None else number, stop, Reporter(quiet=True))


def test_a_campaign_that_ends_at_a_look_is_analysed_and_recorded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[object] = []
    monkeypatch.setattr(
        sys.modules["assay.report.gather"], "summarise", lambda *arguments: again.append(arguments)
    )
    result = run(tmp_path / "s.sqlite")
    assert (result.number, result.signal, again) == (1, None, [])
    assert result.report.analysis == summarise(result.report.trials, result.report.experiment)
    with Store.open(tmp_path / "s.sqlite") as store:
        assert [row["level"] for row in store.verdicts("x")[1]] == ["noop"]


def test_a_campaign_that_is_stopped_has_the_signal_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Store.record

    def stopped(store: Store, campaign: int, ordinal: int, outcome: Any) -> int:
        if ordinal == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return record(store, campaign, ordinal, outcome)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "record", stopped)
        result = run(tmp_path / "s.sqlite")
    assert (result.number, result.report, result.signal) == (1, None, signal.SIGTERM)
    assert run(tmp_path / "s.sqlite", 1).report.campaign.finished
    with pytest.raises(AssayError, match="nothing to resume: campaign 1 is finished"):
        run(tmp_path / "s.sqlite", 1)


def test_a_page_only_reads_the_store(tmp_path: Path) -> None:
    report = run(tmp_path / "s.sqlite").report
    with Store.open(tmp_path / "s.sqlite") as store:
        store.write_verdicts(1, [])
        write_page(report, store)
        assert store.verdicts("x") == {1: []}
