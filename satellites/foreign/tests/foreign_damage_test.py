"""Imported campaigns with a damaged row, and files with values that a store cannot hold as they are."""

import json
import os
from pathlib import Path

import pytest
from sqlalchemy import event

import store_damage_test
from assay.store import Store
from assay.store.types import Imported
from assay_foreign.campaigns import import_run
from assay_foreign.google_benchmark import read_google_benchmark
from assay_foreign.types import ForeignRun
from conftest import run_assay
from store_damage_test import check_damage


def foreign(context: str = '{"num_cpus": 2}') -> ForeignRun:
    row = {"name": "BM_a", "run_type": "iteration", "real_time": 1, "cpu_time": 1, "time_unit": "ns"}
    return read_google_benchmark(f'{{"context": {context}, "benchmarks": [{json.dumps(row)}]}}')


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three campaigns of ours, and 4 and 5 of another tool."""
    path = store_damage_test.make_store(tmp_path_factory.mktemp("damage") / "s.sqlite")
    with Store.open(path) as store:
        for number in (4, 5):
            import_run(store, foreign(), Imported("Google Benchmark", "", f"f{number}.json", str(number)))
    return path


OF_5 = "where trial_id in (select id from trial where campaign_id = 5)"
DAMAGES = [
    (4, "update campaign set resolved = '{' where id = 4"),
    (4, "update campaign set resolved = replace(resolved, '2', 'null') where id = 4"),
    (5, "update planned_trial set request = '{}' where campaign_id = 5"),
    (5, "update planned_trial set request = replace(request, '1', '2') where campaign_id = 5"),
    (5, f"update record set outcome = json_set(outcome, '$.result.samples', 1) {OF_5}"),
    (5, f"update record set outcome = replace(outcome, 'cpu', 'x') {OF_5}"),
    (5, f"update record set outcome = replace(outcome, '1.0', '1e400') {OF_5}"),
    (5, f"delete from record {OF_5}"),
    (5, "update planned_trial set block = 1 where campaign_id = 5"),
    (5, "update campaign set host = 'null' where id = 5"),
]
COMMANDS = (
    ["report"],
    ["report", "--campaign", "5", "--json"],
    ["report", "--audit", "--campaign", "5"],
    ["store", "list", "trials", "--campaign", "5"],
    ["store", "export", "markdown", "--campaign", "4"],
)


@pytest.mark.parametrize("number", range(len(DAMAGES)))
def test_a_damaged_row_ends_no_command_in_a_traceback_and_hides_no_other_campaign(
    sound: Path, number: int
) -> None:
    check_damage(sound, number, *DAMAGES[number], COMMANDS)


def test_an_imported_campaign_is_removed_whole(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(sound.read_bytes())
    for number in (4, 5):
        removed = run_assay(tmp_path, "store", "remove", str(number), "--yes", "--store", path)
        assert removed.returncode == 0, removed.stderr
    with Store.open(path) as store:
        assert [campaign.id for campaign in store.campaigns()] == [1, 2, 3]
        assert [*store.damages()] == []
        names = store.query("select name from sqlite_master where type = 'view'")[1]
        assert not any("google" in name for (name,) in names)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "9" * 400])
def test_numbers_that_json_lacks_are_imported_as_text(tmp_path: Path, number: str) -> None:
    rows = [{"name": "BM_a", "run_type": "iteration", "real_time": 1, "cpu_time": 1, "time_unit": "ns"}]
    written = {
        "google.json": f'{{"context": {{"mhz": {number}, "load": [{number}], "x": {{"y": {number}}}}},'
        f' "benchmarks": {json.dumps(rows)}}}',
        "hyperfine.json": '{"results": [{"command": "a", "times": [1],'
        f' "parameters": {{"n": {number}}}}}]}}',
        "pyperf.json": f'{{"version": "1.0", "metadata": {{"name": "a", "cpu_count": {number}}},'
        ' "benchmarks": [{"runs": [{"values": [1]}]}]}',
    }
    for name, text in written.items():
        (tmp_path / name).write_text(text)
        ended = run_assay(tmp_path, "store", "import", name, "--store", "s.sqlite")
        assert ended.returncode == 0, ended.stderr
    for words in (
        ["report", "--audit"],
        ["report"],
        ["store", "check"],
        ["store", "export", "markdown", "--campaign", "1"],
    ):
        ended = run_assay(tmp_path, *words, "--store", "s.sqlite")
        assert "Traceback" not in ended.stderr, ended.stderr
    (tmp_path / "time.json").write_text(
        written["google.json"].replace('"real_time": 1', f'"real_time": {number}')
    )
    refused = run_assay(tmp_path, "store", "import", "time.json", "--store", "s.sqlite")
    assert (refused.returncode, "benchmarks[0].real_time" in refused.stderr) == (2, True), refused.stderr
    with Store.open(tmp_path / "s.sqlite") as store:
        assert len(store.campaigns()) == 3
        assert [*store.damages()] == []


def test_an_import_takes_as_many_statements_however_many_benchmarks_it_has(tmp_path: Path) -> None:
    """A statement for each trial would take most of the time."""
    executed = []
    for count in (10, 900):
        rows = [
            {"name": f"BM_{n}", "run_type": "iteration", "real_time": 1, "cpu_time": 1, "time_unit": "ns"}
            for n in range(count)
        ]
        run = read_google_benchmark(json.dumps({"context": {}, "benchmarks": rows}))
        with Store.open(tmp_path / f"{count}.sqlite") as store:
            statements: list[str] = []
            event.listen(
                store._database.engine, "before_cursor_execute", lambda *of, to=statements: to.append(of[2])
            )
            campaign = import_run(store, run, Imported(run.tool, "", "f.json", ""))
            executed.append(len(statements))
            assert len(store.trials(campaign)) == count
            assert store.record_of(count)["result"]["metrics"]["real_time_ns"] == 1
    assert executed[0] == executed[1]


def test_files_whose_names_are_not_utf_8_are_imported(tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.json"))
    file.write_text('{"results": [{"command": "a", "times": [1]}]}')
    ended = run_assay(tmp_path, "store", "import", file, "--store", "s.sqlite")
    assert ended.returncode == 0, ended.stderr
    ended = run_assay(tmp_path, "report", "--campaign", "1", "--store", "s.sqlite")
    assert ended.returncode == 0, ended.stderr
