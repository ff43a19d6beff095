"""What commands print with `--json` is what the reference describes."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.campaign import time_budget
from assay.cli.commands import app, groups
from assay.experiment.testing import experiment_text
from assay.versions.testing import ExampleRepository

PAGE = (Path(__file__).parents[3] / "docs/reference/json.md").read_text()
pytestmark = pytest.mark.usefixtures("constant_trials")

EXPERIMENT = experiment_text(
    'subject = ["std_map_mutex", "noop"]\nthreads = [1, 2]', comparison="pathological = 0.1"
)
SMALL = ["x.toml", "--only", "threads=1", "--no-page"]
COMMANDS = {
    "run": SMALL,
    "run --identical": SMALL,
    "report": ["--campaign", "1"],
    "report --audit": [],
    "report --citation": [],
    "store compare": ["subject=noop", "subject=std_map_mutex", "--campaign", "1"],
    "trend": ["x"],
    "plan": ["x.toml"],
    "plan --audit": ["x.toml"],
    "store list campaigns": [],
    "store list trials": [],
    "store list subjects": [],
    "store show": ["1"],
    "store replay": ["1"],
    "run --sensitivity": [*SMALL, "--configurations", "2", "--replicates", "2"],
    "store query": ["select 1 as a, 1.5, 'b', null, 9e999"],
    "check": ["std_map_mutex", "--check", "model", "--within", "60ms"],
    "lab explore": ["2"],
    "lab engines": ["wyrand", "--numbers", "1000"],
    "ab": ["--base", "HEAD~1", "--metric", "cost_ns", "./bench", "./new"],
    "bisect": ["--good", "HEAD~2", "--metric", "cost_ns", "./bench"],
    "lesson list": [],
    "lesson": ["short-array", "--quiet"],
    "host clocks": ["--for", "1us"],
    "lab energy": ["--runs", "6", "sleep", "0.03"],
    "host check": [],
    "host tune": ["--dry-run"],
    "host restore": [],
}
MAPS = {
    *("levels", "counts", "context", "dropped", "modes", "centers", "of_group", "evidence", "rows"),
    *(
        "metrics",
        "perturbed",
        "medians",
        "zeros",
        "against",
        "left_out",
        "settings",
        "lacking",
        "parameters",
        "host",
    ),
}
"""Their keys are levels, statuses and the like."""


def is_installed(command: str) -> bool:
    """Tell whether a command is there: those of satellites may not be."""
    first, *more = command.split()
    if first in groups:
        return more[0] in [known.name for known in groups[first].registered_commands]
    names = [group.name for group in app.registered_groups]
    return first in [*names, *(known.name for known in app.registered_commands)]


def printed(command: str) -> Any:
    ended = CliRunner().invoke(app, [*command.split(), "--json", *COMMANDS[command]])
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    assert ended.exit_code in {0, 1, 3}, ended.output
    return json.loads(ended.stdout)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from keys(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            if name not in MAPS:
                yield from keys(part)


def test_the_reference_describes_every_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = ExampleRepository(tmp_path / "project")
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(time_budget, "MOST_BLOCKS", 12)
    for cost in (1, 1, 2):
        bench = Path("bench")
        bench.write_text(f"#!/bin/sh\necho cost_ns={cost}\n")
        bench.chmod(0o755)
        project.commit("Change")
    shutil.copy("bench", "new")
    monkeypatch.setenv("ASSAY_HOST_STATE", str(tmp_path))
    Path("x.toml").write_text(EXPERIMENT)
    for command in filter(is_installed, COMMANDS):
        value = printed(command)
        assert value["version"] == 1
        assert f"`assay {command}`" in PAGE
        record = command == "store show"  # what a trial was asked and answered is the protocol's matter
        missing = {key for key in (value if record else keys(value)) if f"`{key}`" not in PAGE}
        assert not missing, (command, missing)
    (of_verdict,) = printed("report")["how_far"]
    assert of_verdict["comparison"].items() >= {"level": "noop", "baseline": "std_map_mutex"}.items()
    assert of_verdict["robustness"]["pairs"] == 8
    assert of_verdict["repeatability"]["trials"] > of_verdict["repeatability"]["configurations"] > 1
    assert of_verdict["predictive_value"] is None  # there is one context
