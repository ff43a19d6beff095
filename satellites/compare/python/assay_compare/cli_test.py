"""What `assay store compare` prints."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from assay.analysis.verdicts import verdict_word
from assay.cli.commands import app
from assay.experiment import parse
from assay.plan.make_plan import make_plan
from assay.runner.types import Outcome
from assay.store import Store
from assay_compare.changes import ChangedVerdict, Changes
from assay_compare.cli import _print_changes


@pytest.mark.parametrize(("metric", "word"), [("peak_resident_bytes", "worse"), ("latency_ns", "slower")])
def test_a_verdict_is_called_what_the_report_calls_it(tmp_path: Path, metric: str, word: str) -> None:
    source = f"""
name = "maps"
question = "Which?"
[factors]
subject = ["small", "large"]
[trial]
key_range = 10
mix = {{ insert = 50, erase = 50, find = 0 }}
[design]
blocks = 7
[comparison]
metric = "{metric}"
better = "lower"
factor = "subject"
baseline = "small"
smallest_effect_percent = 3
"""
    experiment = parse(source, tmp_path / "maps.toml")
    plan = make_plan(experiment, 5, lambda _: "/bin/true", 1000)
    path = tmp_path / "assay.sqlite"
    with Store.open(path) as store:
        campaign = store.begin_campaign(experiment=experiment, plan=plan, host={})
        for trial in plan.trials:
            value = 2e6 if trial.levels["subject"] == "large" else 1e6
            result = {"protocol": 1, "status": "valid", "metrics": {metric: value}}
            started_at = datetime(2025, 1, 31, tzinfo=UTC)
            outcome = Outcome("valid", "", 0, result, "", "", None, None, "none", started_at, 0.25)
            store.record(campaign, trial.ordinal, outcome)
    sides = ("subject=small", "subject=large")
    printed = CliRunner().invoke(
        app, ["store", "compare", *sides, "--store", str(path)], catch_exceptions=False
    )
    assert printed.stdout.splitlines()[-1].split()[-1] == word
    assert verdict_word("slower", metric, experiment.unit(metric)) == word


def test_changed_verdicts_are_named_with_their_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    changed = ChangedVerdict({"subject": "b", "threads": 1}, "a", ("mix",), "faster", "slower", 1.84, 0.55)
    compared = SimpleNamespace(metric="throughput", unit="")
    _print_changes(Changes("campaign 5", 16, (changed,)), compared, "campaign 3")  # type: ignore[arg-type]
    assert capsys.readouterr().out == (
        "The verdicts of campaign 3 and campaign 5: 1 of 16 verdicts changed, 1 of them to the opposite.\n"
        "  subject=b, threads=1, over mix:\n"
        "    faster (1.840) -> slower (0.550)\n\n"
    )
    _print_changes(Changes("campaign 5", 0, ()), compared, "campaign 3")  # type: ignore[arg-type]
    assert "no comparison in common" in capsys.readouterr().out
