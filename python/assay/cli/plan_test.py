import json
import math
import os
import platform
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assay.cli.commands import app
from assay.experiment import parse
from assay.experiment.testing import experiment_text
from assay.plan.make_plan import make_plan
from assay.runner.types import Outcome
from assay.store import Store

pytestmark = pytest.mark.usefixtures("constant_trials")

EXPERIMENT = experiment_text(trial="duration_ms = 20", design="blocks = 20")

HOST = {"name": platform.node(), "processors": len(os.sched_getaffinity(0)), "kernel": "?"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    return tmp_path


def plan(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["plan", "x.toml", *arguments])


def forecast(*arguments: str) -> Any:
    done = plan("--json", *arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def measured(
    source: str = EXPERIMENT,
    host: dict[str, Any] = HOST,
    blocks: int = 20,
    scatter: float = 0.05,
    ratio: float = 1,
) -> int:
    """Record a campaign whose trials take a second each; return its number."""
    experiment = parse(source.replace("blocks = 20", f"blocks = {blocks}"), Path("x.toml"))
    trials = make_plan(experiment, 1, lambda _: "/bin/x", 512)
    chance = random.Random(2)
    with Store.open(Path("results/assay.sqlite")) as store:
        campaign = store.begin_campaign(
            experiment=experiment,
            plan=trials,
            host=host,
        )
        for trial in trials.trials:
            value = 1e6 * math.exp(scatter * chance.gauss())
            value *= ratio if trial.levels["subject"] == "noop" else 1
            store.record(
                campaign,
                trial.ordinal,
                Outcome(
                    status="valid",
                    reason="",
                    exit_code=0,
                    result={"metrics": {"throughput": value, "throughput_variation": 0.01}},
                    stdout="",
                    stderr="",
                    calibration_before=None,
                    calibration_after=None,
                    calibration_error="none here",
                    started_at=datetime(2025, 1, 31, tzinfo=UTC) + timedelta(seconds=trial.ordinal),
                    wall_s=0.9,
                ),
            )
    return campaign


def test_earlier_campaigns_of_the_same_experiment_are_enough() -> None:
    measured()
    measured()
    answer = forecast("--width", "8")
    assert answer["campaigns"] == [1, 2]
    [comparison] = answer["comparisons"]
    assert comparison["pairs"] == 40
    assert answer["blocks"] == comparison["blocks"]
    assert answer["minutes"] == pytest.approx(answer["blocks"] * 2 / 60)  # two trials of a second
    assert answer["planned"] == 20


def test_narrower_intervals_take_longer() -> None:
    measured()
    assert forecast("--width", "20")["blocks"] < forecast("--width", "2")["blocks"]


def test_the_answer_is_a_verdict_unless_a_width_is_asked_for() -> None:
    measured()
    answer = forecast()
    assert answer["width_percent"] is None
    assert answer["decided"] == 0
    assert answer["blocks"] > answer["planned"]
    Path("results/assay.sqlite").unlink()
    measured(ratio=2)
    clear = forecast()
    assert clear["decided"] == 1
    assert clear["blocks"] <= clear["planned"]
    assert clear["comparisons"][0]["ratio"] == pytest.approx(2, rel=0.1)


def test_the_answer_is_printed_for_a_person() -> None:
    measured(ratio=1.01, scatter=0.2)
    text = " ".join(plan().stdout.split())
    assert text.startswith("In the planned 20 blocks, about 40 seconds, none of 1 comparison will")
    assert re.search("decided; one of them needs about [0-9.]+ (minutes|hours) .[0-9,]+ blocks.", text)
    assert re.search("about [0-9.]+ (minutes|hours): subject=noop", text)
    assert "longer trials" in text
    assert "It rests on campaign 1. Equivalent is what differs by less than 3%. It assumes" in text
    assert "scatter:" not in text
    assert re.search("noop +20 ", plan("--verbose").stdout)


def test_what_is_clear_will_be_decided() -> None:
    measured(ratio=2)
    text = " ".join(plan().stdout.split())
    assert re.match("The comparison will probably be decided after about 10 seconds .6 blocks", text)
    assert "Planned: 20 blocks, about 40 seconds." in text


def test_widths_are_printed_for_a_person() -> None:
    measured()
    text = " ".join(plan("--width", "8").stdout.split())
    assert re.search(
        "^Intervals of throughput, of 95% together, are at most 8% wide after about .* subject=noop", text
    )
    assert "planned 20 blocks, about 40 seconds: " in text


def test_an_experiment_that_runs_until_a_width_is_planned_for_it() -> None:
    source = EXPERIMENT.replace("blocks = 20", "blocks = 60\nuntil_width_percent = 9")
    Path("x.toml").write_text(source)
    measured(source)
    assert forecast()["width_percent"] == 9
    assert forecast("--width", "20")["width_percent"] == 20


def test_a_gate_is_planned_for_with_the_gates_that_fit_the_time() -> None:
    measured()
    answer = forecast("--gate", "20")
    assert (answer["gate_percent"], answer["width_percent"]) == (20, None)
    assert answer["decided"] == 1
    blocks = {gate["gate_percent"]: gate["blocks"] for gate in answer["gates"]}
    assert list(blocks) == sorted(blocks)
    assert sorted(blocks.values(), reverse=True) == list(blocks.values())
    assert blocks[20] <= answer["planned"] < blocks[1]
    text = " ".join(plan("--gate", "20").stdout.split())
    assert re.search(r"The narrowest gate for the planned 20 blocks: (3|5|10)%. Time for a gate: 0.5% ", text)
    assert "What is shown to be worse by more than 20% fails." in text
    assert forecast()["gates"] == []


def test_an_experiment_with_a_gate_is_planned_for_it() -> None:
    source = EXPERIMENT.replace("smallest_effect_percent = 3", "gate_percent = 2")
    Path("x.toml").write_text(source)
    measured(source)
    assert forecast()["gate_percent"] == 2
    assert forecast("--gate", "5")["gate_percent"] == 5
    assert forecast("--width", "9")["gate_percent"] is None


def test_a_width_and_a_gate_are_two_questions() -> None:
    assert "give one of them" in str(plan("--width", "8", "--gate", "2").exception)


def test_one_planned_block_is_said_in_words_that_fit() -> None:
    measured()
    Path("x.toml").write_text(EXPERIMENT.replace("blocks = 20", "blocks = 1"))
    assert "planned 1 block, a few seconds, " in " ".join(plan().stdout.split())


def test_what_nobody_will_wait_for_has_no_length() -> None:
    measured(scatter=0.5)
    done = plan("--width", "0.001")
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert re.search(r" more than a year \([\d.]+(M|G|T|e\d+) blocks\);", text)


@pytest.mark.parametrize("width", ["0", "-3", "nan", "inf", "1e-9", "1e-300"])
def test_a_width_that_is_none_is_refused(width: str) -> None:
    done = plan("--width", width)
    assert done.exit_code == 2
    assert "--width" in done.output
    assert not Path("results").exists()


@pytest.mark.parametrize(
    "changed",
    [
        {"source": EXPERIMENT.replace("duration_ms = 20", "duration_ms = 30")},
        {"source": EXPERIMENT.replace('metric = "throughput"', 'metric = "find_throughput"')},
        {"source": EXPERIMENT.replace('"noop"]', '"noop", "tbb_hash_map"]')},
        {"host": HOST | {"name": "another"}},
        {"blocks": 1},
    ],
)
def test_where_nothing_earlier_serves_a_pilot_runs_and_is_kept(changed: dict[str, Any]) -> None:
    measured(**changed)
    done = plan("--json", "--width", "50")
    assert done.exit_code == 0, done.output
    text = " ".join(done.stderr.split())
    assert "8 blocks, 16 trials, a few seconds" in text
    assert "Ctrl-C ends it. Shorter: --only FACTOR=LEVEL leaves conditions out; --set duration_ms=MS" in text
    assert ("too few pairs" if "blocks" in changed else "no campaign of x") in text
    answer = json.loads(done.stdout)
    assert answer["comparisons"][0]["pairs"] == 8
    with Store.open(Path("results/assay.sqlite")) as store:
        pilot = store.campaign(2)
        assert (pilot.planned, pilot.finished, pilot.source) == (40, True, EXPERIMENT)
        assert re.search("pilot, .* 8 .* 20 blocks", pilot.stopped)
    assert forecast("--width", "50") == answer  # from the store this time


def test_a_pilot_that_gives_no_pairs_says_where_to_look() -> None:
    script = Path("broken")
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    Path("x.toml").write_text(
        EXPERIMENT.replace('"noop"]', '"broken"]') + '[subjects.broken]\nprogram = "./broken"\n'
    )
    done = plan()
    assert "campaign 1, the pilot, gave no comparison 6 pairs that count" in str(done.exception)
    assert "list trials --campaign 1" in str(done.exception)
