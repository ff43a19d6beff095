"""A damaged row makes its campaign damaged; no command ends in a traceback, and no other campaign suffers."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.experiment import load
from assay.plan.types import Plan, PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
from assay.store.types import Decision
from conftest import run_assay, small_experiment

WHEN = datetime(2025, 1, 31, 12, tzinfo=UTC)
COMMIT = {"hash": "c" * 40, "subject": "x", "committed_at": WHEN.isoformat(), "changed": []}


def outcome(value: float) -> Outcome:
    calibration = {"metrics": {"core_to_core_ns": 50.0}, "elapsed_ms": 21.0}
    result = {
        "protocol": 1,
        "status": "valid",
        "metrics": {"throughput": value},
        "environment": {"cpu": "fast"},
    }
    return Outcome(
        "valid", "", 0, result, "", "", calibration, calibration, "", WHEN, 0.25, host={"aslr": "2"}
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("damage") / "s.sqlite")


def make_store(path: Path) -> Path:
    """Make a store with three campaigns at a commit each."""
    file = path.with_name("maps.toml")
    file.write_text(small_experiment("maps", 2))
    with Store.open(path) as store:
        for campaign in (1, 2, 3):
            levels = ("noop", "std_map_mutex")
            plan = tuple(
                PlannedTrial(
                    ordinal,
                    ordinal // 2,
                    ordinal // 2,
                    {"subject": levels[ordinal % 2]},
                    {"seed": ordinal},
                    "/bin/x",
                    {},
                    1.0,
                    512,
                )
                for ordinal in range(4)
            )
            host = {"name": "h", "processors": 2, "kernel": "k", "commit": COMMIT}
            store.begin_campaign(experiment=load(file), plan=Plan(1, plan), host=host)
            for ordinal in range(4):
                store.record(campaign, ordinal, outcome(1e6 + campaign + ordinal))
            store.decide(campaign, Decision("look", 1, WHEN, "as planned", {"confidence": 0.9}))
            store.write_findings(campaign, [])
            store.write_verdicts(campaign, [])
    return path


DAMAGES = [
    (2, "update campaign set host = '{' where id = 2"),
    (2, "update campaign set host = '[1]' where id = 2"),
    (2, "update campaign set host = 17 where id = 2"),
    (2, "update campaign set host = '{\"name\": NaN}' where id = 2"),
    (2, 'update campaign set host = \'{"name": "h", "processors": 1e400}\' where id = 2'),
    (2, 'update campaign set host = \'{"commit": {"hash": 1}}\' where id = 2'),
    (2, 'update campaign set host = \'{"subjects": ["a"]}\' where id = 2'),
    (2, 'update campaign set host = \'{"foreign": {"tool": 1}}\' where id = 2'),
    (2, "update campaign set host = '{\"foreign\": 1}' where id = 2"),
    (2, "update campaign set started_at = 'yesterday' where id = 2"),
    (2, "update campaign set started_at = 9e999 where id = 2"),
    (2, "update campaign set started_at = 2 where id = 2"),
    (2, "update campaign set seed = 'many' where id = 2"),
    (2, "update campaign set question = x'ff00' where id = 2"),
    (2, "update campaign set experiment_id = 99 where id = 2"),
    (2, "update campaign set resolved = '{' where id = 2"),
    (2, "update campaign set resolved = replace(resolved, '100', 'NaN') where id = 2"),
    (2, "update campaign set resolved = '[]' where id = 2"),
    (2, "update trial set metrics = '{\"throughput\": NaN}' where id = 6"),
    (2, "update trial set metrics = '{\"throughput\": 1e400}' where id = 6"),
    (2, 'update trial set metrics = \'{"throughput": "fast"}\' where id = 6'),
    (2, "update trial set metrics = '[1, 2' where id = 6"),
    (2, "update trial set metrics = '[1, 2]' where id = 6"),
    (2, f"update trial set metrics = '{{\"throughput\": {'9' * 400}}}' where id = 6"),
    (2, "update trial set status = 'perfect' where id = 6"),
    (2, "update trial set wall_s = 9e999 where id = 6"),
    (2, "update trial set wall_s = 'long' where id = 6"),
    (
        2,
        "update trial set started_at = '2025' where id = 6 and started_at is not null; "
        "update trial set started_at = 'noon' where id = 6",
    ),
    (2, "update trial set started_at = 2 where id = 6"),
    (
        2,
        "update trial set started_at = 2 where id = 6; "
        "update record set outcome = json_set(outcome, '$.started_at', '2025-01-01') where trial_id = 6",
    ),
    (2, "update trial set calibration_before = 'x' where id = 6"),
    (2, "update trial set calibration_after = '{\"elapsed_ms\": -Infinity}' where id = 6"),
    (2, "update trial set ordinal = 77 where id = 6"),
    (2, "update planned_trial set levels = '[]' where campaign_id = 2 and ordinal = 1"),
    (2, "update planned_trial set levels = 'x' where campaign_id = 2 and ordinal = 1"),
    (2, "update planned_trial set block = 'x' where campaign_id = 2 and ordinal = 1"),
    (2, "update planned_trial set request = 'NaN' where campaign_id = 2 and ordinal = 1"),
    (2, "update planned_trial set perturbation = '{\"layout\": [1]}' where campaign_id = 2"),
    (2, "update planned_trial set timeout_s = 'x' where campaign_id = 2"),
    (2, "update planned_trial set extract = '{\"a\": 1}' where campaign_id = 2"),
    (2, "delete from planned_trial where campaign_id = 2 and ordinal = 1"),
    (2, "delete from record where trial_id = 6"),
    (2, "update record set outcome = '{' where trial_id = 6"),
    (2, "update record set outcome = '{}' where trial_id = 6"),
    (2, "update record set outcome = '{\"result\": 1}' where trial_id = 6"),
    (2, "update record set outcome = json_set(outcome, '$.result.metrics', 'x') where trial_id = 6"),
    (2, "update record set environment = 'nowhere' where trial_id = 6"),
    (2, "update decision set kind = 'guess' where campaign_id = 2"),
    (2, "update decision set at = 'then' where campaign_id = 2"),
    (2, "update decision set at = 2 where campaign_id = 2"),
    (2, "update decision set content = '[' where campaign_id = 2"),
    (2, "update audit set findings = '{' where campaign_id = 2"),
    (2, "update conclusion set verdicts = '[{\"ratio\": 1}]' where campaign_id = 2"),
    (None, "update planned_trial set campaign_id = 'x' where campaign_id = 2 and ordinal = 1"),
    (None, "update planned_trial set campaign_id = 1.5 where campaign_id = 2 and ordinal = 1"),
    (None, "update environment set content = 'x'"),
    (None, "update environment set content = '[NaN]'"),
    (3, "update campaign set host = '{' where id = 3"),
]

ALWAYS = (["store", "list"], ["report", "--campaign", "1", "--json"], ["store", "check"])
COMMANDS = (
    ["store", "list", "trials", "--campaign", "2"],
    ["report"],
    ["report", "--campaign", "2", "--json"],
    ["report", "--audit", "--campaign", "2"],
    ["store", "query", "select count(*) from campaigns"],
    ["store", "query", "select * from trials", "--campaign", "2"],
    ["store", "query", "select * from trials", "--campaign", "1"],
    ["store", "show", "6"],
    ["store", "show", "6", "--verbose"],
    ["store", "export", "markdown", "--campaign", "2"],
    ["trend", "maps"],
    ["store", "compare", "1", "2"],
    ["resume", "--campaign", "2"],
)
"""Each damage meets every fourth, so that all meet many kinds and it takes a minute."""


def test_a_sound_store_has_nothing_damaged(sound: Path, tmp_path: Path) -> None:
    for words in (["store", "check"], ["report", "--campaign", "2", "--json"], ["store", "list"]):
        ended = run_assay(tmp_path, *words, "--store", sound)
        assert ended.returncode == 0, ended.stderr


def test_a_campaign_is_removed_whole_and_only_on_request(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with closing(sqlite3.connect(sound)) as kept, closing(sqlite3.connect(path)) as raw:
        kept.backup(raw)
        # Standard input is no terminal.
    refused = run_assay(tmp_path, "store", "remove", "3", "--store", path)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    for number in (3, 2):
        removed = run_assay(tmp_path, "store", "remove", str(number), "--yes", "--store", path)
        assert removed.returncode == 0, removed.stderr
        assert f"removed campaign {number} of " in removed.stdout
    missing = run_assay(tmp_path, "store", "remove", "4", "--yes", "--store", path)
    assert (missing.returncode, "has no campaign 4" in missing.stderr) == (2, True)
    with Store.open(path) as store:
        assert [campaign.id for campaign in store.campaigns()] == [1]
        assert len(store.trials(1)) == 4
        assert [*store.damages()] == []
        names = store.query("select name from sqlite_master where type = 'view'")[1]
        assert ("maps",) in names
        assert not any("google" in name for (name,) in names)
        assert store.query("select count(*) from environment")[1] == [(2,)]
    with closing(sqlite3.connect(path)) as raw, pytest.raises(sqlite3.IntegrityError, match="only grows"):
        raw.execute("delete from trial")


@pytest.mark.parametrize("number", range(len(DAMAGES)))
def test_a_damaged_row_ends_no_command_in_a_traceback_and_hides_no_other_campaign(
    sound: Path, number: int
) -> None:
    check_damage(sound, number, *DAMAGES[number], COMMANDS)


def check_damage(
    sound: Path, number: int, campaign: int | None, damage: str, commands: Sequence[list[str]]
) -> None:
    """Damage a copy of a store, and check that commands name the damage and go on with all else.

    Args:
        sound: the store.
        number: which of the damages it is.
        campaign: the damaged one; None of the file itself.
        damage: the SQL that makes it.
        commands: every fourth runs, beside those that always do.
    """
    folder = sound.parent / "damaged"  # the same for all, so that pages which did not change are not written
    folder.mkdir(exist_ok=True)
    path = folder / "s.sqlite"
    for file in folder.glob("s.sqlite*"):
        file.unlink()
    with closing(sqlite3.connect(sound)) as kept, closing(sqlite3.connect(path)) as raw:
        kept.backup(raw)
        for (trigger,) in raw.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            raw.execute(f"drop trigger {trigger}")
        before = list(raw.iterdump())
        raw.executescript(damage)
        assert list(raw.iterdump()) != before
    codes = {}
    for command in (*ALWAYS, *commands[number % 4 :: 4]):
        # Pages take longest, and are written for one damage of sixteen.
        words = [*command, "--json"] if command == ["report"] and number % 16 != 1 else command
        ended = run_assay(folder, *words, "--store", path)
        assert "Traceback" not in ended.stderr, (words, ended.stderr)
        assert ended.returncode in (0, 1, 2, 3), (words, ended.stderr)
        codes[" ".join(words)] = ended.returncode
        if words == ["store", "check"]:
            assert ended.returncode == 1, ended.stdout
            assert "remedy: " in ended.stdout
            if campaign:
                assert f"campaign {campaign} is damaged" in ended.stdout
    if campaign is None:
        return
    assert codes["store list"] == 0
    with Store.open(sound) as store:
        campaigns = [known.id for known in store.campaigns()]
    listed = json.loads(run_assay(folder, "store", "list", "--json", "--store", path).stdout)["campaigns"]
    assert [entry["campaign"] for entry in listed] == campaigns
    assert codes["report --campaign 1 --json"] == 0
    removed = run_assay(folder, "store", "remove", str(campaign), "--yes", "--store", path)
    assert removed.returncode == 0, removed.stderr
    after = run_assay(folder, "store", "check", "--store", path)
    assert after.returncode == 0, after.stdout
