"""`assay plan --audit` and `assay report --audit`: what it prints, how it ends, what it keeps."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.experiment.testing import experiment_text
from conftest import Assay

pytestmark = pytest.mark.usefixtures("steady_host")

EXPERIMENT = experiment_text(
    name="audited",
    keys=1000,
    mix="insert = 5, erase = 5, find = 90",
    trial="duration_ms = 60",
    design="blocks = 10\nseed = 7",
)
VIOLATED = """
[[validate]]
metric = "throughput"
between = [0, 1]
"""


def rules(findings: list[dict[str, Any]]) -> set[str]:
    return {finding["rule"] for finding in findings}


def test_an_experiment_is_audited_before_it_runs_and_without_a_store(assay: Assay, tmp_path: Path) -> None:
    file = tmp_path / "audited.toml"
    file.write_text(EXPERIMENT)
    assert "No findings" in assay("plan", "audited.toml", "--audit").stdout
    file.write_text(EXPERIMENT.replace("blocks = 10", "blocks = 5"))
    printed = assay("plan", "audited.toml", "--audit", "--fail-on", "error", expect=1).stdout
    assert "error too-few-blocks" in printed
    assert "fewest_pairs 5" in printed
    assert "too-few-blocks.md" in printed.replace("\n", "")
    assert "1 error" in printed
    (finding,) = json.loads(assay("plan", "audited.toml", "--audit", "--json").stdout)["experiment_findings"]
    assert (finding["rule"], finding["severity"]) == ("too-few-blocks", "error")
    assert finding["evidence"] == {"comparisons": 1, "fewest_pairs": 5}
    assert Path(finding["guide"]).is_file()
    file.write_text(EXPERIMENT.replace("blocks = 10", "blocks = 8"))
    assay("plan", "audited.toml", "--audit")
    assay("plan", "audited.toml", "--audit", "--fail-on", "warning", expect=1)
    assert not (tmp_path / "results").exists()


def test_a_campaign_is_audited_by_its_number_and_by_its_file(assay: Assay, tmp_path: Path) -> None:
    file = tmp_path / "audited.toml"
    slow_engine = 'key_range = 1000\nengine = "mrg32k3a"'  # five times as slow as the map that holds nothing
    measured = EXPERIMENT.replace("blocks = 10", "blocks = 6").replace("key_range = 1000", slow_engine)
    file.write_text(measured)
    printed = assay("run", "audited.toml", "--no-page", "--verbose").stdout
    assert printed.index("note generation: ") < printed.index("Verdicts: ")

    by_number = json.loads(assay("report", "--campaign", "1", "--audit", "--json").stdout)
    assert {"too-few-blocks", "generation"} <= rules(by_number["campaign_findings"])
    by_file = json.loads(assay("plan", "audited.toml", "--audit", "--json").stdout)
    assert (by_file["campaign"], by_file["note"]) == (1, "")
    assert rules(by_file["experiment_findings"]) == {"too-few-blocks"}
    assert by_file["campaign_findings"] == by_number["campaign_findings"]
    assert assay("plan", "audited.toml", "--audit").stdout.count("warning too-few-blocks") == 1

    # A rule that is added later is checked against the trials that there are, and decides the exit code.
    file.write_text(measured + VIOLATED)
    audited = assay("plan", "audited.toml", "--audit", "--json", "--fail-on", "error", expect=1)
    findings = json.loads(audited.stdout)["campaign_findings"]
    assert findings[0]["rule"] == "validate"
    assert len(findings[0]["trials"]) == 12
    sql = "select severity, json_array_length(trials) from findings where rule = 'validate'"
    assert json.loads(assay("store", "query", sql, "--json").stdout)["rows"] == [["error", 12]]

    # What was measured is not what the file asks now.
    file.write_text(measured.replace("key_range = 1000", "key_range = 2000"))
    audited = json.loads(assay("plan", "audited.toml", "--audit", "--json").stdout)
    assert audited["campaign"] == 1
    assert "something else" in audited["note"]
    file.write_text(measured.replace('name = "audited"', 'name = "other"'))
    audited = json.loads(assay("plan", "audited.toml", "--audit", "--json").stdout)
    assert audited["campaign"] is None
    assert "other" in audited["note"]


def test_what_cannot_be_audited_is_said(assay: Assay, tmp_path: Path) -> None:
    assert "nowhere.toml" in assay("plan", "nowhere.toml", "--audit", expect=2).stderr
    assert "no store" in assay("report", "--audit", expect=2).stderr
    (tmp_path / "bad.toml").write_text(EXPERIMENT.replace("blocks = 10", "blocks = 0"))
    (tmp_path / "unknown.toml").write_text(EXPERIMENT.replace('"noop"', '"noob"'))
    message = assay("plan", "unknown.toml", "--audit", expect=2).stderr
    assert "unknown.toml:5: factors.subject" in message
    assert "noop" in message
    assert "bad.toml:11: design.blocks" in assay("plan", "bad.toml", "--audit", expect=2).stderr
