"""A store with a campaign that was imported, where the satellite that reads it is not installed."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from sqlalchemy import insert

from assay import satellites
from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
from assay.store.ended import content_of, kept_of
from assay.store.schema import record, trial
from assay.store.store import add_campaign
from conftest import run_assay
from store_damage_test import make_store

LACKING = "campaign 4 was imported from hyperfine; its reader assay-foreign is not installed: pip install"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a store with three campaigns that Assay ran, then one of hyperfine."""
    monkeypatch.setattr(satellites, "entry_points", lambda group: EntryPoints())
    satellites.added.cache_clear()
    path = make_store(tmp_path / "s.sqlite")
    origin = {"tool": "hyperfine", "version": "", "file": "times.json", "sha256": "0"}
    row = {"question": "?", "seed": 0, "source": "", "resolved": "{}", "host": {"foreign": origin}}
    planned = PlannedTrial(0, 0, 0, {"benchmark": "ls"}, {"foreign": "hyperfine"}, "", {}, 0, 0)
    outcome = Outcome(
        "valid", "", 0, {"metrics": {"time_ns": 2.0}}, "", "", None, None, "", datetime.now(UTC), 0
    )
    with Store.open(path) as opened, opened.write("try again") as connection:
        campaign = add_campaign(connection, "hyperfine:times", row, [planned])
        ended = {"id": 99, "campaign_id": campaign, "ordinal": 0, **kept_of(outcome)}
        connection.execute(insert(trial), ended)
        connection.execute(
            insert(record), {"trial_id": 99, "outcome": content_of(outcome) | {"result": outcome.result}}
        )
    yield path
    satellites.added.cache_clear()


@pytest.mark.usefixtures("no_pages")
def test_it_is_listed_checked_and_removed(store: Path) -> None:
    def run(*words: str) -> tuple[int, str]:
        ended = run_assay(store.parent, *words, "--store", store)
        assert ended.stderr == ""
        return ended.returncode, ended.stdout

    assert "foreign, of hyperfine" in run("store", "list")[1]
    [listed] = [of for of in json.loads(run("store", "list", "--json")[1])["campaigns"] if of["foreign"]]
    assert (listed["campaign"], listed["valid"]) == (4, 1)
    assert "ls" in run("store", "list", "trials", "--campaign", "4")[1]
    assert "foreign hyperfine" in run("store", "show", "99")[1]
    assert run("store", "check") == (0, "nothing is damaged in 4 campaigns\n")
    assert run("store", "remove", "4", "--yes")[0] == 0
    assert json.loads(run("store", "check", "--json")[1])["damages"] == []


@pytest.mark.parametrize("words", [("report",), ("report", "--json"), ("report", "--audit")])
def test_a_report_of_it_names_the_satellite(store: Path, words: tuple[str, ...]) -> None:
    ended = run_assay(store.parent, *words, "--campaign", "4", "--store", store)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"error: {LACKING}")
    assert ended.stderr.count("\n") == 1


def test_pages_of_the_others_are_written_and_the_index_names_the_satellite(store: Path) -> None:
    ended = run_assay(store.parent, "report", "--store", store)
    assert ended.returncode == 2
    assert LACKING in ended.stderr
    site = store.parent / "s-report"
    assert (site / "campaign-3/index.html").is_file()
    assert not (site / "campaign-4").exists()
    assert "the satellite assay-foreign reads it" in (site / "index.html").read_text()
    assert run_assay(store.parent, "report", "--campaign", "1", "--store", store).returncode == 0


def test_no_command_takes_it_for_one_of_ours(store: Path) -> None:
    ended = run_assay(store.parent, "store", "replay", "99", "--store", store)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: campaign 4 was imported from hyperfine: it has no verdict")
