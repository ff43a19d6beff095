"""governor.toml has a level for each governor, goal and workload; parts of it can be chosen."""

import re
import shlex
import subprocess

import pytest

from assay import programs
from assay.audit import too_few_for
from assay.experiment import Experiment, load, overridden
from conftest import ROOT

FILE = ROOT / "satellites/lab/experiments" / "governor.toml"
PARTS = re.findall(r"^#   (--.*?)  ", FILE.read_text(), re.MULTILINE)
XEON_MHZ = (*range(1400, 3601, 200), 4000)
"""Table 3.1 of Bonnichsen (2016)."""


def parameters(experiment: Experiment, factor: str, name: str) -> set[object]:
    return {change["parameters"][name] for change in experiment.changes[factor].values()}


def test_every_governor_workload_and_goal_is_a_level() -> None:
    listed = subprocess.run(
        [programs.find("assay-governor-simulation"), "list"], capture_output=True, text=True, check=True
    ).stdout
    workloads, rest = listed.removeprefix("workloads:\n").split("governors:\n")
    governors = set(rest.partition("machines:")[0].split()) - {"static-MHZ"}
    experiment = load(FILE)
    assert parameters(experiment, "governor", "governor") == governors | {f"static-{mhz}" for mhz in XEON_MHZ}
    assert parameters(experiment, "workload", "program") == {
        line.split()[0] for line in workloads.splitlines()
    }
    assert parameters(experiment, "goal", "exponent") == {0, 1, 2}


def test_as_it_is_it_takes_minutes() -> None:
    experiment = load(FILE)
    assert len(experiment.conditions()) * experiment.design.blocks < 4000  # of 0.1 s
    assert too_few_for(experiment) is None


@pytest.mark.parametrize("part", [*PARTS, "--set workload=mcf --set governor=static_3200,adaptive"])
def test_each_part_that_its_comments_name_can_be_run_and_decide(part: str) -> None:
    words = shlex.split(part)
    given: dict[str, list[str]] = {"--set": [], "--only": [], "--blocks": []}
    for option, value in zip(words[::2], words[1::2], strict=True):
        given[option].append(value)
    blocks = int(given["--blocks"][0]) if given["--blocks"] else None
    chosen = overridden(load(FILE), settings=given["--set"], only=given["--only"], blocks=blocks)
    assert too_few_for(chosen) is None
    (baseline,) = chosen.comparison.baselines()
    best_static = {"goal=E": "static_1800", "goal=ED2": "static_3600"}
    assert baseline == best_static.get(next(iter(given["--only"]), ""), "static_3200")


def test_the_comments_name_each_goal_and_everything() -> None:
    assert len(PARTS) == 5
    assert {f"goal={goal}" for goal in ("E", "ED", "ED2")} <= set(shlex.split(" ".join(PARTS)))
