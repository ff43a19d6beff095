"""`assay store import` and what becomes of it, and `assay store export` for other tools' scripts."""

import gc
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli.commands import app
from conftest import Assay, small_experiment

FILES = Path(__file__).parent / "files"
UNTOLD = ("seeds-not-recorded", "pinning-not-recorded")
TOOLS = {
    "google-benchmark.json": ("Google Benchmark", 4, {"one-process", "fixed-order", "unfit-host"}),
    "google-benchmark-aggregates.json": (
        "Google Benchmark",
        4,
        {"one-process", "fixed-order", "unfit-host", "no-samples"},
    ),
    "catch2.xml": ("Catch2", 3, {"one-process", "fixed-order", "no-samples"}),
    "hyperfine.json": ("hyperfine", 24, {"fixed-order", "no-host-facts"}),
    "pyperf.json": ("pyperf", 3, set()),
    "criterion": (
        "Criterion.rs",
        3,
        {"one-process", "fixed-order", "no-samples", "no-host-facts", "unit-not-recorded"},
    ),
    "jmh.json": ("JMH", 12, {"fixed-order"}),
    "synchrobench.txt": (
        "Synchrobench",
        2,
        {"no-host-facts", "dependent-updates", "prefill-by-inserts", *UNTOLD},
    ),
    "synchrobench-erases-only.txt": (
        "Synchrobench",
        1,
        {
            *("no-inserts", "one-process", "no-samples", "no-host-facts"),
            *("dependent-updates", "prefill-by-inserts", *UNTOLD),
        },
    ),
    "setbench.txt": (
        "Setbench",
        2,
        {"failed-benchmarks", "one-process", "fixed-order", "no-host-facts", "seeds-not-recorded"},
    ),
    "ascylib.txt": (
        "ASCYLIB",
        2,
        {
            *("one-process", "no-samples", "fixed-order", "no-host-facts"),
            *("prefill-by-inserts", "range-rounded", *UNTOLD),
        },
    ),
}


@pytest.mark.parametrize("file", TOOLS)
def test_a_real_file_of_each_tool_is_imported_and_audited(assay: Assay, tmp_path: Path, file: str) -> None:
    tool, trials, rules = TOOLS[file]
    [imported] = json.loads(assay("store", "import", FILES / file, "--json").stdout)["campaigns"]
    assert imported["foreign"]["tool"] == tool
    assert {finding["rule"] for finding in imported["findings"]} == rules | {"no-calibration"}
    [listed] = json.loads(assay("store", "list", "--json").stdout)["campaigns"]
    assert (listed["foreign"], listed["valid"], listed["state"]) == (tool, trials, f"foreign, of {tool}")
    assert f"foreign, of {tool}" in assay("store", "list").stdout
    assert f"foreign {tool}" in assay("store", "show", "1").stdout
    printed = assay("report").stdout
    assert "foreign: no verdict" in printed
    page = (tmp_path / "results/assay-report/campaign-1/index.html").read_text()
    assert f"What {tool} measured" in page
    assert "no verdict rests on these numbers" in page
    assert "foreign" in (tmp_path / "results/assay-report/index.html").read_text()
    kept = json.loads(assay("store", "query", "select rule from findings", "--json").stdout)["rows"]
    assert {rule for (rule,) in kept} == rules | {"no-calibration"}
    errors = any(finding["severity"] == "error" for finding in imported["findings"])
    audited = assay("report", "--audit", "--json", "--fail-on", "error", expect=int(errors))
    assert {finding["rule"] for finding in imported["findings"]} == {
        finding["rule"] for finding in json.loads(audited.stdout)["campaign_findings"]
    }


def test_a_screen_shows_what_was_imported_in_80_by_24(assay: Assay) -> None:
    for file in TOOLS:
        printed = assay("store", "import", FILES / file).stdout.splitlines()
        assert len(printed) <= 24
        assert max(map(len, printed[:-1])) <= 80, printed


def test_no_verdict_merges_what_is_foreign_with_ours(assay: Assay, tmp_path: Path, steady_host: None) -> None:
    (tmp_path / "ours.toml").write_text(small_experiment("ours", blocks=2))
    assay("run", "ours.toml", "--anyway", "--no-page")
    assay("store", "import", FILES / "jmh.json")
    refused = (
        "error: campaign 2 was imported from JMH: it has no verdict, and is compared with nothing; see it"
        " with `assay report --campaign 2`, or name a campaign that Assay ran\n"
    )
    for words in (
        ("store", "export", "hyperfine", "--campaign", "2"),
        ("store", "export", "markdown", "--campaign", "2"),
        ("store", "export", "csv", "--campaign", "2"),
        ("store", "replay", "5"),
    ):
        assert assay(*words, expect=2).stderr == refused, words
    assert "nothing to resume" in assay("resume", "--campaign", "2", expect=2).stderr
    assay("report")
    page = (tmp_path / "results/assay-report/campaign-2/index.html").read_text()
    figures = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    of_tool, of_ours = figures["beside-1-1"], figures["beside-1-2"]
    assert of_tool[0] == of_ours[0] == "beside-1"  # one specification, so the same axis
    measured_by = [{row[columns.index("series")] for row in rows} for _, columns, rows in (of_tool, of_ours)]
    assert measured_by == [{"JMH"}, {"Assay"}]
    assay("report", "--campaign", "1")
    ours = json.loads(assay("report", "--campaign", "1", "--json").stdout)
    assert [comparison["level"] for comparison in ours["analysis"]["comparisons"]] == ["std_map_mutex"]


def test_a_file_that_is_there_already_is_not_imported_again(assay: Assay, tmp_path: Path) -> None:
    copy = tmp_path / "again.json"
    copy.write_bytes((FILES / "pyperf.json").read_bytes())
    assay("store", "import", FILES / "pyperf.json")
    again = assay("store", "import", copy, "--json")
    assert again.stderr == f"{copy} is campaign 1 already\n"
    assert [campaign["campaign"] for campaign in json.loads(again.stdout)["campaigns"]] == [1]
    assert len(json.loads(assay("store", "list", "--json").stdout)["campaigns"]) == 1


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_imported(
    assay: Assay, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.json"
    cut.write_bytes((FILES / "jmh.json").read_bytes()[:3000])
    reason = ": the JSON is cut off here; let the tool write the file again, and wait until it has ended\n"
    alone = assay("store", "import", "cut.json", expect=2).stderr
    assert alone.startswith("error: cut.json: line ")
    assert alone.endswith(reason)
    assert not (tmp_path / "results").exists()
    both = assay("store", "import", "cut.json", FILES / "pyperf.json", "--json", expect=2)
    assert both.stderr == alone
    imported = json.loads(both.stdout)
    assert imported["refused"] == [alone.removeprefix("error: ").rstrip()]
    assert [campaign["foreign"]["tool"] for campaign in imported["campaigns"]] == ["pyperf"]


def test_a_stale_folder_is_named_and_the_others_are_imported(assay: Assay, tmp_path: Path) -> None:
    for name, sample in (("old", [[1], [2]]), ("new", {"iters": [1], "times": [2]})):
        folder = tmp_path / "target/criterion" / name / "new"
        folder.mkdir(parents=True)
        (folder / "sample.json").write_text(json.dumps(sample))
    printed = assay("store", "import", "target/criterion", "--json")
    reason = (
        "target/criterion/old/new/sample.json: was written before Criterion.rs 0.3.3; delete the folder"
        " target/criterion/old and run the benchmark again"
    )
    assert printed.stderr == f"left out of target/criterion: {reason}\n"
    [campaign] = json.loads(printed.stdout)["campaigns"]
    assert campaign["left_out"] == [reason]
    [finding] = [finding for finding in campaign["findings"] if finding["rule"] == "results-left-out"]
    assert (finding["severity"], finding["where"]) == ("warning", [reason])
    assay("report", "--campaign", "1")
    assert reason in (tmp_path / "results/assay-report/campaign-1/index.html").read_text()


def test_a_parameter_called_benchmark_does_not_take_the_place_of_the_name(
    assay: Assay, tmp_path: Path
) -> None:
    results = [
        {"command": "named", "times": [time], "parameters": {"benchmark": value}}
        for time, value in ((1.0, "a"), (2.0, "b"))
    ]
    (tmp_path / "a.json").write_text(json.dumps({"results": results}))
    assay("store", "import", "a.json")
    rows = (
        json.loads(assay("store", "show", "1", "--verbose", "--json").stdout),
        json.loads(assay("store", "show", "2", "--verbose", "--json").stdout),
    )
    assert [row["levels"] for row in rows] == [
        {"benchmark": "named", "parameter benchmark": value} for value in ("a", "b")
    ]


def test_hostile_names_inject_nothing(assay: Assay, tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script>\x1b[2J\ud800\u202e\x85\r\n'; drop table trial;--"
    hostile += "x" * 100_000
    result = {
        "command": hostile,
        "times": [1.0, 1e100],
        "exit_codes": [0, 3],
        "parameters": {hostile: hostile, "campaign": "1", "benchmark": "2"},
    }
    (tmp_path / "<b>.json").write_text(json.dumps({"results": [result]}))
    commands = (
        ("store", "import", "<b>.json"),
        ("store", "list", "campaigns"),
        ("store", "list", "trials"),
        ("report", "--verbose"),
        ("report", "--audit"),
        ("store", "show", "1"),
        ("store", "query", "select * from trials"),
    )
    printed = {words: assay(*words).stdout for words in commands}
    for text in printed.values():
        assert all(line.isprintable() for line in text.split("\n"))
    assert "failed" in printed[commands[0]]
    for words in commands[:3]:
        assert max(map(len, printed[words].split("\n"))) < 2000
    assert json.loads(assay("store", "query", "select count(*) from trials", "--json").stdout)["rows"] == [
        [2]
    ]
    for page in (tmp_path / "results").rglob("*.html"):
        text = page.read_text()
        assert "<script>alert" not in text
        assert "<b>.json" not in text
        assert not {"\x1b", "\u202e", "\x85"} & {*text}


def test_the_tools_own_scripts_read_what_is_exported(assay: Assay, tmp_path: Path, steady_host: None) -> None:
    (tmp_path / "ours.toml").write_text(small_experiment("ours", blocks=3))
    assay("run", "ours.toml", "--anyway", "--no-page")
    told = assay("store", "export", "google-benchmark").stdout
    assert told == (
        "export/google-benchmark.json: time an operation, from throughput, a repetition for each valid"
        " trial\n"
    )
    rows = json.loads((tmp_path / "export/google-benchmark.json").read_text())["benchmarks"]
    assert [row["name"] for row in rows if row["run_type"] == "iteration"] == [
        *["ours/subject:std_map_mutex"] * 3,
        *["ours/subject:noop"] * 3,
    ]
    rates = json.loads(
        assay(
            "store",
            "query",
            "select throughput from trials where subject = 'std_map_mutex' order by trial",
            "--json",
        ).stdout
    )["rows"]
    assert [row["real_time"] for row in rows[:3]] == pytest.approx([1e9 / rate for (rate,) in rates])
    assert rows[0]["cpu_time"] != rows[0]["real_time"]
    assay("store", "export", "hyperfine")
    script = FILES / "hyperfine-scripts/advanced_statistics.py"
    completed = subprocess.run(
        [sys.executable, script, tmp_path / "export/hyperfine.json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout.count("runs:          3") == 2


def test_an_import_leaves_the_collection_of_garbage_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "h.json"
    file.write_text('{"results": [{"command": "a", "times": [1]}]}')
    words = ["store", "import", str(file), "--store", str(tmp_path / "s.sqlite")]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("name", ["x.json", "\x1b[31m", "x" * 10**6, "one\ntwo", "bad\udcff"])
def test_a_file_that_is_missing_is_named_in_one_line(assay: Assay, name: str) -> None:
    message = assay("store", "import", name, expect=2).stderr
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert message.removesuffix("\n").isprintable()
    assert len(message) < 1000
    if name == "x.json":
        remedy = "there is no such file; name a file of results, or Criterion's target/criterion"
        assert message == f"error: x.json: {remedy}\n"


def test_the_documentation_describes_every_key_of_the_json(assay: Assay) -> None:
    page = (Path(__file__).parents[1] / "docs/README.md").read_text()
    printed = assay("store", "import", FILES / "google-benchmark.json", FILES / "catch2.xml", "--json").stdout
    missing = {key for key in keys(json.loads(printed)) if f"`{key}`" not in page}
    assert not missing


def keys(value: Any) -> Iterator[str]:
    """Yield the keys in a JSON value, but for those that a file names."""
    if isinstance(value, list):
        for part in value:
            yield from keys(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            if name not in {"host", "options", "parameters", "findings"}:
                yield from keys(part)
