"""`assay trend` and pages over commits, from stores with planted changes; a campaign in a git repository."""

import json
import math
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assay.cli.commands import app
from assay.cli.output_test import PAGE, keys
from assay.experiment import parse
from assay.experiment.testing import experiment_text
from assay.plan.make_plan import make_plan
from assay.report import site as site_module
from assay.report.site import write_site
from assay.runner.types import Outcome
from assay.store import Store
from assay.versions.testing import ExampleRepository

EXPERIMENT = experiment_text(
    name="parser", trial="duration_ms = 5\ninterval_ms = 1", design="blocks = 6\nrepeat = 0"
)
BEGUN = datetime(2026, 10, 1, tzinfo=UTC)
STORE = Path("results/assay.sqlite")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    return tmp_path


def trend(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["trend", *arguments])


def said(*arguments: str, code: int = 0) -> str:
    done = trend(*arguments)
    assert done.exit_code == code, done.output
    return " ".join(done.stdout.split())


def filled(levels: list[float], text: str = EXPERIMENT, seed: int = 1, commits: bool = True) -> None:
    """Record a campaign of each level, the logarithm of its throughput, at commits a day apart."""
    experiment = parse(text, Path("x.toml").absolute())
    plan = make_plan(experiment, 1, lambda _: "/bin/x", 512)
    chance = random.Random(seed)
    with Store.open(STORE) as store:
        for day, level in enumerate(levels):
            of_campaign = level + chance.gauss(0, 0.004)
            commit = {
                "hash": f"{chance.getrandbits(160):040x}",
                "subject": f"Change <{day}>",
                "committed_at": (BEGUN + timedelta(days=day)).isoformat(),
                "changed": [],
            }
            host = {"name": "here", "processors": 2, "kernel": "6", "commit": commit if commits else None}
            campaign = store.begin_campaign(experiment=experiment, plan=plan, host=host)
            for trial in plan.trials:
                value = 1e6 * (1 + (trial.levels["subject"] == "noop"))
                value *= math.exp(of_campaign + chance.gauss(0, 0.01))
                outcome: dict[str, Any] = {
                    "status": "valid",
                    "reason": "",
                    "exit_code": 0,
                    "result": {"metrics": {"throughput": value}},
                    "stdout": "",
                    "stderr": "",
                    "calibration_before": None,
                    "calibration_after": None,
                    "calibration_error": "none here",
                    "started_at": BEGUN,
                    "wall_s": 0.9,
                }
                store.record(campaign, trial.ordinal, Outcome(**outcome))


def test_a_step_is_told_with_its_commit_and_its_size() -> None:
    filled([0.0] * 6 + [math.log(0.9)] * 6)
    text = said()
    assert text.startswith("parser: Something got slower over 12 commits, 2026-10-01 to 2026-10-12.")
    assert "(2026-10-07, Change <6>): 0.90 times the throughput with subject=" in text
    assert "and by less in 1 more of 2 conditions." in text
    assert "A step half-way is seen" in text
    assert said("parser") == said("x.toml") == text


def test_slow_drift_is_told_with_its_slope() -> None:
    filled([-0.005 * day for day in range(20)])
    text = said("parser")
    assert re.search(
        r"slower slowly, from [0-9a-f]{10} \(2026-10-01\) to [0-9a-f]{10} \(2026-10-20\), by about"
        r" 0\.(4[6-9]|5[0-4]?)% a commit: 0\.9[01] times the throughput \(95% interval",
        text,
    )


def test_of_noise_nothing_is_told_and_of_a_gain_nothing_worse() -> None:
    filled([0.0] * 12)
    assert said().startswith("parser: Nothing is shown to have changed over 12 commits")
    STORE.unlink()
    filled([0.0] * 6 + [0.2] * 6)
    text = said()
    assert "Something got faster over 12 commits, 2026-10-01 to 2026-10-12, and nothing worse." in text


def test_a_median_of_zero_is_told_of_first() -> None:
    filled([0.0] * 8 + [-math.inf] * 2)
    text = said()
    assert text.startswith("parser: In 2 campaigns a median is 0 or below, of which no step tells; otherwise")
    assert "nothing is shown to have changed over 10 commits" in text
    assert "The median throughput is not above 0 in campaigns 9 and 10 (" in text
    assert json.loads(trend("--json").stdout)["histories"][0]["unplaced"][0]["campaigns"] == [9, 10]
    with Store.open(STORE) as store:
        write_site(store, Path("site"))
    assert "not above 0 in campaigns 9 and 10" in Path("site/history-parser.html").read_text()


def test_what_is_left_out_is_told_with_its_reason() -> None:
    filled([0.0] * 2, commits=False)
    filled([0.0] * 4)
    text = said(code=3)
    assert "Too early to say over 4 commits, 2026-10-01 to 2026-10-04: it takes 6 commits." in text
    assert "Left out: campaigns 1 and 2: its commit is not known" in text


def test_what_misleads_on_purpose_has_no_trend_and_is_joined_with_nothing_honest() -> None:
    misleading = EXPERIMENT.replace("[trial]\n", "[pitfall]\ndeliberate = true\n[trial]\n")
    filled([0.0] * 3, misleading)
    assert "no experiment of which three campaigns" in said(code=3)
    refused = trend("parser")
    assert "misleads on purpose; assay trend takes honest experiments alone" in str(refused.exception)
    filled([0.0] * 3)
    assert "Left out: campaigns 1, 2 and 3: misleads on purpose, unlike campaign 6, the latest." in said(
        code=3
    )


def test_without_a_history_it_says_what_it_takes() -> None:
    filled([0.0] * 3, commits=False)
    assert "no experiment of which three campaigns know their commit" in said(code=3)
    assert "No campaign says anything of a commit. Left out: campaigns 1, 2 and 3" in said("parser", code=3)
    assert json.loads(trend("--json").stdout) == {"version": 1, "histories": []}


def test_an_experiment_that_the_store_lacks_is_named_with_the_nearest() -> None:
    filled([0.0])
    done = trend("parse")
    assert str(done.exception).endswith('has no campaign of "parse" with a trial; did you mean parser?')


def test_json_has_points_steps_and_drift() -> None:
    filled([0.0] * 6 + [-0.2] * 6)
    (history,) = json.loads(trend("--json").stdout)["histories"]
    assert [key for key in keys(history) if f"`{key}`" not in PAGE] == []
    assert (history["experiment"], history["host"], history["campaigns"]) == ("parser", "here", 12)
    assert len(history["commits"]) == 12
    for series in history["series"]:
        assert len(series["points"]) == 12
        (step,) = series["steps"]
        assert step["commit"]["subject"] == "Change <6>"
        assert step["worse"] is True
        assert series["drift"] is None


def test_the_site_has_a_page_of_a_history_and_writes_it_again_when_there_is_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(site_module, "_write_campaign", lambda *_, **__: None)  # 14 of them take seconds
    filled([0.0] * 2)
    with Store.open(STORE) as store:
        site = write_site(store).parent
        assert not (site / "history-parser.html").exists()
        filled([0.0] * 6 + [-0.2] * 6, seed=2)
        write_site(store)
        page = site / "history-parser.html"
        text = page.read_text()
        assert 'href="history-parser.html"' in (site / "index.html").read_text()
        assert "Something got slower over 14 commits" in text
        assert "Change &lt;" in text
        assert "Change <" not in text
        data = json.loads(text.split('id="data">')[1].split("</script>")[0])
        assert {kind for kind, *_ in data.values()} == {"history-1-1", "history-1-2"}
        assert len(data) == 2
        written = page.stat().st_mtime_ns
        write_site(store)
        assert page.stat().st_mtime_ns == written


@pytest.mark.usefixtures("steady_host")
def test_a_campaign_knows_the_commit_that_is_checked_out_and_what_is_changed(tmp_path: Path) -> None:
    project = ExampleRepository(tmp_path / "project")
    commit = project.commit("Add <an experiment>", **{"x.toml": EXPERIMENT})
    words = ["run", "project/x.toml", "--anyway", "--blocks", "1"]
    assert CliRunner().invoke(app, words).exit_code in (0, 1)
    (project.root / "speed").write_text("2\n")
    assert CliRunner().invoke(app, words).exit_code in (0, 1)
    assert CliRunner().invoke(app, ["run", "x.toml", *words[2:]]).exit_code in (0, 1)
    with Store.open(STORE) as store:
        clean, dirty, outside = (campaign.host["commit"] for campaign in store.campaigns())
    assert (clean["hash"], clean["subject"], clean["changed"]) == (commit, "Add <an experiment>", [])
    assert datetime.fromisoformat(clean["committed_at"]).tzinfo is not None
    assert (dirty["hash"], dirty["changed"]) == (commit, ["speed"])
    assert outside is None
