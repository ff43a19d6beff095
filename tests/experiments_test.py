"""The experiments of this project, each run once and tiny."""

import json
import os
import re
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from assay.experiment import Experiment, load, overridden
from assay.host.testing import put_back_at_the_end
from conftest import ROOT, Assay

FOLDER = ROOT / "experiments"
FILES = sorted(
    file for folder in (FOLDER, *ROOT.glob("satellites/*/experiments")) for file in folder.rglob("*.toml")
)

SMALL = {"warm_up_ms": 2, "key_range": 2000}
"""Settings that make trials long, made short."""
MANY = 10
"""A factor with more levels than this runs with two of them."""
NEEDED = re.compile("latency_|processor_ns_|longest_")
"""Metrics that a trial lacks in which no thread had its turn, for which 100 ms are enough, and 2 ms not."""
CONDITIONED = {"conditioning": ["/proc/sys/kernel/sched_rt_runtime_us"]}
"""Experiment -> settings of the host that it changes."""
BY_CHANCE = {"engine-inversion"}
"""Experiments of which chance decides how many trials are valid, and some never are."""
NETWORK = re.compile("^# .*a network", re.M)
"""What an experiment says that fetches something: it is read, and not run."""
INVALID = {"fnv1a-prefill": {"fnv1a"}}
"""Experiment -> the levels of its compared factor whose trials are to be invalid."""


def tiny(file: Path) -> Experiment:
    """Return an experiment with one level of threads and of sizes, one block, and short trials.

    Two levels are left of a factor with many. Where valgrind simulates, each trial takes seconds: two
    levels of the compared factor are left, and one of each other.
    """
    experiment = load(file)
    kept = {
        name: levels[: 1 if name in {"threads", "size", "n"} or experiment.simulate.operations else 2]
        for name, levels in experiment.factors.items()
        if name in {"threads", "size", "n"} or experiment.simulate.operations or len(levels) > MANY
    }
    compared, baseline = experiment.comparison.factor, experiment.comparison.baseline
    kept.pop(compared, None)
    if experiment.simulate.operations:
        other = next(level for level in experiment.factors[compared] if level != baseline)
        kept[compared] = (baseline, other)
    only = [f"{name}={','.join(map(str, levels))}" for name, levels in kept.items()]
    experiment = overridden(experiment, blocks=1, only=only)

    metrics = [experiment.comparison.metric, *experiment.comparison.also]
    duration_ms = 100 if any(map(NEEDED.match, metrics)) else 2

    def small(settings: dict[str, Any]) -> dict[str, Any]:
        smaller = {name: value for name, value in SMALL.items() if name in settings}
        if "duration_ms" in settings:
            smaller["duration_ms"] = duration_ms
        if "array" in settings.get("engine", {}):
            smaller["engine"] = settings["engine"] | {"array": 1000}
        return settings | smaller

    changes = {
        factor: {level: small(settings) for level, settings in levels.items()}
        for factor, levels in experiment.changes.items()
    }
    design = experiment.design.model_copy(update={"repeat": 0})
    return experiment.model_copy(
        update={"fixed": small(experiment.fixed), "changes": changes, "design": design}
    )


@pytest.mark.usefixtures("steady_host")
@pytest.mark.parametrize(
    "file", [file for file in FILES if file.stem not in BY_CHANCE], ids=lambda file: file.stem
)
def test_every_experiment_runs_tiny(assay: Assay, tmp_path: Path, file: Path) -> None:
    name = file.stem
    if NETWORK.search(file.read_text()):
        load(file)
        return
    if name in CONDITIONED and os.geteuid() != 0:
        pytest.skip("changes settings of the host, which needs root")
    with put_back_at_the_end(*CONDITIONED[name]) if name in CONDITIONED else nullcontext():
        runs_tiny(assay, tmp_path, file)


def runs_tiny(assay: Assay, tmp_path: Path, file: Path) -> None:
    name, experiment = file.stem, tiny(file)
    (tmp_path / "x.json").write_text(experiment.model_dump_json())
    page = () if experiment.charts else ("--no-page",)
    printed = assay("run", "x.json", "--anyway", "--json", *page, expect=int(name in INVALID)).stdout
    analysis = json.loads(printed)["analysis"]
    assert len(analysis["conditions"]) == len(experiment.conditions())
    for condition in analysis["conditions"]:
        level = condition["levels"][experiment.comparison.factor]
        status = "invalid" if level in INVALID.get(name, ()) else "valid"
        assert condition["counts"] == {status: 1}, condition
    assert len(analysis["comparisons"]) > 0


def test_the_order_of_linking_turns_a_verdict_over() -> None:
    folder = FOLDER / "pitfalls"
    subprocess.run(["./link_order_build"], cwd=folder, check=True)

    def misses(order: str, way: str) -> int:
        """Return the misses of instructions of a program of layout.toml, in the cache of that file."""
        simulated = ["valgrind", "-q", "--tool=cachegrind", "--cache-sim=yes", "--I1=8192,1,32"]
        program = [str(ROOT / "build" / "link-order" / order), way, "200"]
        printed = subprocess.run(
            [*simulated, "--cachegrind-out-file=/dev/stdout", *program],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        summary = re.search(r"^summary: \d+ (\d+)", printed, re.MULTILINE)
        assert summary
        return int(summary[1])

    assert misses("as_written", "other") > 3 * misses("as_written", "one")
    assert misses("exchanged", "one") > 3 * misses("exchanged", "other")


@pytest.mark.usefixtures("steady_host")
def test_the_smallest_file_of_the_reference_runs(assay: Assay, tmp_path: Path) -> None:
    reference = (ROOT / "docs" / "reference" / "experiment.md").read_text()
    smallest = re.search(r"The smallest file:\n\n```toml\n(.*?)```", reference, re.DOTALL)
    assert smallest
    text = smallest[1]
    assert text.count("\n") <= 10
    tiny = text.replace("[trial]\n", "[trial]\nduration_ms = 2\n") + "[design]\nblocks = 1\nrepeat = 0\n"
    (tmp_path / "smallest.toml").write_text(tiny)
    analysis = json.loads(assay("run", "smallest.toml", "--anyway", "--json", "--no-page").stdout)["analysis"]
    assert [condition["counts"] for condition in analysis["conditions"]] == [{"valid": 1}] * 2
