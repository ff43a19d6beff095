"""What Assay writes for other tools, read by their own scripts and by our own readers."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay_foreign.read import read
from assay_foreign.write import Exported, google_benchmark_json, hyperfine_json

COMPARE = Path("/usr/share/benchmark/compare.py")
HYPERFINE_SCRIPTS = Path(__file__).parents[2] / "tests/files/hyperfine-scripts"
BEGUN = datetime(2026, 11, 25, 13, tzinfo=UTC)
HOST: dict[str, str | int] = {"name": "vm", "processors": 2, "kernel": "6.1"}


def conditions(slower: float) -> list[Exported]:
    """Return two conditions of twelve trials around 1 and 2 ms, times a factor."""
    times = [1e6 * (1 + trial / 1000) for trial in range(12)]
    return [
        Exported({"subject": "list", "threads": 2}, [slower * time for time in times], times),
        Exported({"subject": "tree", "threads": 2}, [2 * slower * time for time in times]),
    ]


def script(*words: str | Path) -> str:
    """Return what a script of another tool prints."""
    completed = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@pytest.mark.skipif(not COMPARE.exists(), reason="needs libbenchmark-tools: apt install libbenchmark-tools")
def test_compare_py_of_google_benchmark_finds_a_planted_slowdown(tmp_path: Path) -> None:
    files = [tmp_path / "before.json", tmp_path / "after.json"]
    for file, slower in zip(files, (1, 1.5), strict=True):
        file.write_text(google_benchmark_json("maps", conditions(slower), HOST, BEGUN))
    lines = script(COMPARE, "--no-color", "benchmarks", *files).splitlines()
    (mean,) = (line.split() for line in lines if line.startswith("maps/subject:list/threads:2_mean"))
    assert mean[1:3] == ["+0.5000", "+0.0000"]
    (p_value,) = (line.split() for line in lines if line.startswith("maps/subject:list/threads:2_pvalue"))
    assert float(p_value[1]) < 0.001
    assert "Repetitions: 12 vs 12" in " ".join(p_value)


def test_scripts_of_hyperfine_read_every_run(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    file.write_text(hyperfine_json(conditions(1)))
    printed = script(HYPERFINE_SCRIPTS / "advanced_statistics.py", file, "--time-unit", "millisecond")
    assert "Command 'subject=list, threads=2'" in printed
    assert "runs:         12" in printed
    assert "median:    1.006 ms" in printed
    assert "There is a difference" in script(HYPERFINE_SCRIPTS / "welch_ttest.py", file)


def test_what_is_written_is_read_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(google_benchmark_json("maps", conditions(1), HOST, BEGUN))
    run = read(file)
    first, second = run.benchmarks
    assert run.begun == BEGUN
    assert run.host == {"host_name": "vm", "executable": "assay", "num_cpus": 2, "kernel": "6.1"}
    assert first.name == "maps/subject:list/threads:2"
    assert first.measures[0].samples == (tuple(conditions(1)[0].times_ns),)
    assert second.measures[0].samples == second.measures[1].samples
    file.write_text(hyperfine_json(conditions(1)))
    first, _ = read(file).benchmarks
    assert (first.name, first.parameters) == ("subject=list, threads=2", {"subject": "list", "threads": "2"})
    assert [process[0] for process in first.measures[0].samples] == pytest.approx(conditions(1)[0].times_ns)


def test_one_trial_has_no_deviation() -> None:
    single = [Exported({"subject": "list"}, [5.0])]
    assert json.loads(hyperfine_json(single))["results"][0]["stddev"] is None
    (row,) = json.loads(google_benchmark_json("maps", single, {}, BEGUN))["benchmarks"]
    assert (row["real_time"], row["cpu_time"], row["threads"]) == (5.0, 5.0, 1)
