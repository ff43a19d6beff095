import json
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

import pytest
from typer.testing import CliRunner

from assay.cli.commands import app
from assay.errors import AssayError
from assay.experiment.testing import experiment
from assay.plan.types import Plan, PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a finished campaign of two trials, one of them crashed, and one that has only begun."""
    path = tmp_path / "assay.sqlite"
    trials = tuple(
        PlannedTrial(ordinal, 0, 0, {"subject": subject, "threads": 2}, {"seed": 9}, "/bin/x", {}, 1.0, 512)
        for ordinal, subject in enumerate(["good", "bad"])
    )
    good = Outcome(
        status="valid",
        reason="",
        exit_code=0,
        result={
            "protocol": 1,
            "status": "valid",
            "metrics": {"throughput": 12345678.9},
            "threads": [{"seed": "0x1"}],
            "latency": {"histograms": [{"count": 5, "buckets": [[100, 101, 2], [200, 203, 3]]}]},
            "probes": {"batch": {"kind": "histogram", "sum": 77, "buckets": [[64, 127, 1]]}},
            "details": {"buckets": [1, 2]},
        },
        stdout="",
        stderr="",
        calibration_before=None,
        calibration_after=None,
        calibration_error="none here",
        started_at=datetime(2025, 1, 31, tzinfo=UTC),
        wall_s=0.25,
    )
    bad = Outcome(
        status="crashed",
        reason="ended by SIGSEGV",
        exit_code=-11,
        result=None,
        stdout="",
        stderr="one\ntwo \x1b[31m",
        calibration_before=None,
        calibration_after=None,
        calibration_error="none here",
        started_at=datetime(2025, 1, 31, tzinfo=UTC),
        wall_s=0.5,
    )
    with Store.open(path) as opened:
        for outcomes in ([good, bad], []):
            campaign = opened.begin_campaign(experiment=experiment("maps"), plan=Plan(1, trials), host={})
            for ordinal, outcome in enumerate(outcomes):
                opened.record(campaign, ordinal, outcome)
    monkeypatch.setenv("ASSAY_STORE", str(path))
    return path


def assay(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def words(line: str) -> list[str]:
    return line.split()


def test_list_shows_how_far_each_campaign_is() -> None:
    head, _, first, second = assay("store", "list").splitlines()
    assert words(head)[:3] == ["campaign", "experiment", "started"]
    assert words(first)[4:] == ["2", "2", "1", "0", "1", "0", "finished"]
    assert words(second)[4:] == ["2", "0", "0", "0", "0", "0", "unfinished"]
    [first, second] = json.loads(assay("store", "list", "--json"))["campaigns"]
    assert (first["campaign"], first["ended"], first["crashed"], first["state"]) == (1, 2, 1, "finished")
    assert (second["campaign"], second["ended"], second["state"]) == (2, 0, "unfinished")


def test_list_trials_has_a_column_for_each_factor() -> None:
    head, _, good, bad = assay("store", "list", "trials", "--campaign", "1").splitlines()
    assert words(head) == ["trial", "block", "group", "subject", "threads", "status", "wall", "s", "reason"]
    assert words(good) == ["1", "0", "0", "good", "2", "valid", "0.25"]
    assert words(bad) == ["2", "0", "0", "bad", "2", "crashed", "0.5", "ended", "by", "SIGSEGV"]
    assert json.loads(assay("store", "list", "trials", "--json"))["trials"] == []


def test_list_subjects_asks_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "assay-trial"
    entry = {
        "name": "noop",
        "description": "holds nothing",
        "structure": "map",
        "max_threads": None,
        "types": [[key, value] for key in ("uint64", "bytes") for value in ("uint64", "uint32")],
        "operations": ["insert", "size"],
        "holds_nothing": True,
        "reclaims": "nothing",
    }
    others = [entry | {"name": structure, "structure": structure} for structure in ("multimap", "queue")]
    program.write_text(f"#!/bin/sh\necho '{json.dumps([entry, *others])}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("ASSAY_PROGRAMS", str(tmp_path))
    monkeypatch.setenv("ASSAY_STORE", "/nowhere")
    listed = json.loads(assay("store", "list", "subjects", "--json"))["subjects"]
    assert listed[0] == {
        "subject": "noop",
        "structure": "map",
        "variant_of": None,
        "ours": False,
        "holds_nothing": True,
        "max_threads": None,
        "keys": ["uint64", "bytes"],
        "values": ["uint64", "uint32"],
        "operations": ["insert", "size"],
        "reclaims": "nothing",
        "description": "holds nothing",
    }
    assert [subject["structure"] for subject in listed] == ["map", "multimap", "queue"]


def test_show_says_in_short_what_a_trial_was_and_how_to_see_all_of_it(store: Path) -> None:
    first, second, third, *_, last = assay("store", "show", "1").splitlines()
    assert first == "Trial 1: valid, 0.25 s"
    assert second.startswith("campaign 1 of maps, block 0, 2025-01-31 00:00:00 UTC")
    assert third == "subject=good, threads=2"
    assert last.endswith(f" store show 1 --verbose --store {quote(str(store))}")
    assert "throughput 12.35M" in assay("store", "show", "1")
    shown = assay("store", "show", "2")
    assert "Trial 2: crashed, 0.5 s" in shown
    assert "\nwhy: ended by SIGSEGV\n" in shown
    assert "\nstderr:\n  one\n  two \\x1b[31m\n" in shown


def test_show_gives_the_whole_record_and_no_control_characters(store: Path) -> None:
    shown = assay("store", "show", "2", "--verbose")
    assert "\nstatus: crashed\nreason: ended by SIGSEGV\nexit_code: -11\n" in shown
    assert "\nstderr:\n  one\n  two \\x1b[31m\n" in shown
    assert "\n  threads:\n    0:\n      seed: 0x1\n" in assay("store", "show", "1", "--verbose")
    with Store.open(store) as opened:
        assert json.loads(assay("store", "show", "2", "--json")) == {"version": 1} | opened.record_of(2)


def test_show_leaves_the_buckets_of_histograms_to_json() -> None:
    shown = assay("store", "show", "1", "--verbose")
    assert "count: 5\n        buckets: 2, which --json shows\n" in shown
    assert "      sum: 77\n      buckets: 1, which --json shows\n" in shown
    assert "    buckets: [1, 2]\n" in shown
    assert "203" not in shown
    assert "203" in assay("store", "show", "1", "--json")


def test_query_prints_a_table_or_json() -> None:
    sql = "select subject, median(throughput) from trials group by 1 order by 1"
    lines = assay("store", "query", sql, "--campaign", "1").splitlines()
    assert [words(line) for line in lines[2:]] == [["bad"], ["good", "12345679"]]
    assert json.loads(assay("store", "query", sql, "--campaign", "1", "--json")) == {
        "version": 1,
        "columns": ["subject", "median(throughput)"],
        "rows": [["bad", None], ["good", 12345678.9]],
    }
    assert assay("store", "query", "select subject from trials where 0").splitlines() == [
        "subject",
        "-------",
    ]


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        (
            "threads = '2'",
            "without quotes the query finds 2 rows: select subject from trials where threads = 2",
        ),
        ("threads = 2", ""),
        ("threads || '' = 2 limit 1", "in quotes the query finds 1 row: "),
        ("subject = 'other' or threads = 77", ""),
        ("(threads = 2) = 'true'", "without quotes the query finds 2 rows: "),
    ],
)
def test_a_query_that_finds_nothing_says_where_numbers_are_texts_or_texts_numbers(
    condition: str, hint: str
) -> None:
    result = CliRunner().invoke(app, ["store", "query", f"select subject from trials where {condition}"])
    assert hint in result.stderr
    assert bool(hint) == ("no row; " in result.stderr)


def test_a_query_gives_json_whatever_sqlite_answers() -> None:
    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is not JSON")

    sql = "select 9e999 as a, -9e999 as b, x'00ff' as c, null as d, 1.5 as e"
    answer = json.loads(assay("store", "query", sql, "--json"), parse_constant=refuse)
    assert answer["rows"] == [["Infinity", "-Infinity", "00ff", None, 1.5]]
    assert words(assay("store", "query", sql).splitlines()[-1]) == ["inf", "-inf", "00ff", "1.5"]


def test_what_is_not_there_is_the_users_to_put_right(tmp_path: Path) -> None:
    for arguments, message in (
        (["store", "show", "77"], "no trial 77"),
        (["store", "list", "trials", "--campaign", "77"], "no campaign 77"),
        (["store", "list", "--store", ""], "is not a store: name its file"),
        (["store", "list", "--store", str(tmp_path)], "is a folder: name a file"),
        (["store", "query", "select nonsense from trials"], "no such column: nonsense"),
        (["store", "list", "--store", str(tmp_path / "none.sqlite")], "there is no store"),
    ):
        with pytest.raises(AssayError, match=message):
            assay(*arguments)
