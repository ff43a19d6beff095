"""What `assay lab explore` prints."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from assay.analysis import Interval
from assay.cli.commands import app
from assay.errors import AssayError
from assay.experiment import parse
from assay.experiment.testing import WITH_FACTORS
from assay.plan.make_plan import make_plan
from assay.plan.types import Level
from assay.runner.types import Outcome
from assay.store import Store
from assay_lab.cli.explore import strongest
from assay_lab.exploration import Partition, PartitionSide


def stored(folder: Path, effect: Callable[[Mapping[str, Level]], float], text: str = WITH_FACTORS) -> str:
    """Return a store with a campaign in which `fast` differs by this effect, with noise of 1%."""
    rng = np.random.default_rng(3)
    experiment = parse(text, folder / "maps.toml")
    plan = make_plan(experiment, 5, lambda _: "/bin/true", 1000)
    path = folder / "assay.sqlite"
    with Store.open(path) as store:
        campaign = store.begin_campaign(experiment=experiment, plan=plan, host={})
        for trial in plan.trials:
            fast = trial.levels["subject"] == "fast"
            value = 1e6 * math.exp(effect(trial.levels) * fast + 0.01 * rng.standard_normal())
            result = {"protocol": 1, "status": "valid", "metrics": {"throughput": value}}
            started_at = datetime(2025, 1, 31, tzinfo=UTC)
            outcome = Outcome("valid", "", 0, result, "", "", None, None, "none", started_at, 0.25)
            store.record(campaign, trial.ordinal, outcome)
    return str(path)


def printed(*arguments: str, code: int = 0) -> str:
    ended = CliRunner().invoke(app, ["lab", "explore", *arguments], catch_exceptions=False)
    assert ended.exit_code == code, ended.output
    return ended.stdout


def test_a_campaign_that_misleads_on_purpose_is_refused(tmp_path: Path) -> None:
    misleading = WITH_FACTORS.replace("[trial]\n", "[pitfall]\ndeliberate = true\n[trial]\n")
    store = stored(tmp_path, lambda _: 0, misleading)
    ended = CliRunner().invoke(app, ["lab", "explore", "--store", store])
    assert isinstance(ended.exception, AssayError)
    assert "misleads on purpose; assay lab explore takes honest experiments alone" in str(ended.exception)


def test_a_planted_interaction_is_said_in_words_on_one_screen(tmp_path: Path) -> None:
    store = stored(tmp_path, lambda levels: -0.7 * (levels["threads"] != 1))
    lines = printed("1", "--store", store).splitlines()
    assert lines[:2] == [
        "Campaign 1, maps: does a difference in throughput itself differ?",
        "11 partitions tried, by threads and mix, alone and by pairs; 10 blocks.",
    ]
    assert lines[3].startswith("fast / slow is 2.0")
    assert lines[3].endswith(") in one part:")
    assert lines[4].endswith("where threads=1")  # the part with the larger ratio comes first
    assert lines[5].endswith("where threads=2 or 4")
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert printed("--store", store).splitlines() == lines
    assert len(printed("1", "--store", store, "--verbose").splitlines()) > len(lines)


def test_nothing_found_is_said_plainly(tmp_path: Path) -> None:
    said = printed("--store", stored(tmp_path, lambda _: 0.3))
    assert "Nothing found: no ratio is shown to differ between any two parts." in said
    assert "What differs in one partition alone is found from 11 blocks on." in said


def test_pairs_of_factors_that_are_too_many_are_named_with_the_remedy(tmp_path: Path) -> None:
    mixes = "\n".join(f"m{find} = {{ insert = {100 - find}, erase = 0, find = {find} }}" for find in range(5))
    many = WITH_FACTORS.split("[factors.mix]")[0].replace("[1, 2, 4]", str([*range(1, 9)]))
    many += f"[factors.mix]\n{mixes}\n[trial]{WITH_FACTORS.split('[trial]')[1]}"
    lines = printed("1", "--store", stored(tmp_path, lambda _: 0.3, many)).splitlines()
    assert "Pairs of factors were not tried: they make more than 300 partitions." in lines
    assert "To try them, run the experiment with fewer levels: --only FACTOR=LEVEL,LEVEL." in lines
    assert max(map(len, lines)) <= 80


def test_json_has_every_partition_that_was_tried(tmp_path: Path) -> None:
    value = json.loads(
        printed(
            "1",
            "--json",
            "--store",
            stored(tmp_path, lambda levels: 0.5 * (levels["threads"] == 4)),
        )
    )
    assert (value["tried"], value["pairs_of_factors"]) == (11, True)
    first = value["partitions"][0]
    assert first["found"]
    assert first["inside"]["levels"] == {"threads": [4]}
    assert first["outside"]["levels"] == {"threads": [1, 2]}
    assert first["change"] == pytest.approx(math.exp(0.5), rel=0.02)
    assert len(value["partitions"]) == 11


def test_a_campaign_that_is_missing_is_named(tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["lab", "explore", "7", "--store", stored(tmp_path, lambda _: 0)])
    assert "has no campaign 7" in str(ended.exception)


def partition(change: float, level: str = "b", **levels: Level) -> Partition:
    inside = PartitionSide({factor: (of_factor,) for factor, of_factor in levels.items()}, change, None)
    return Partition(
        level, "a", inside, replace(inside, ratio=1), change, Interval(1, 2, 0.95), 12, 0.001, 0.01
    )


def test_a_combination_stands_for_its_factors_only_if_it_says_more() -> None:
    corner = partition(1.21, threads=4, mix="u")
    singles = [partition(1.08, threads=4), partition(1.08, mix="u")]
    assert strongest([corner, *singles]) == [corner]
    both_alone = [partition(1.5, threads=4), partition(1.4, mix="u")]
    assert strongest([partition(1.8, threads=4, mix="u"), *both_alone]) == both_alone
    assert strongest([corner]) == [corner]


def test_of_each_comparison_the_first_by_each_factor_stands_for_the_rest() -> None:
    first, second = partition(1.5, threads=4), partition(1.4, threads=2)
    other = partition(1.5, "c", threads=2)
    assert strongest([first, second, other]) == [first, other]
