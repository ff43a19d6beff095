"""What commands print with `--json` is what the reference describes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli.commands import app

PAGE = (Path(__file__).parents[3] / "docs/reference/json.md").read_text()
pytestmark = pytest.mark.usefixtures("steady_host")

EXPERIMENT = """
name = "x"
question = "?"
[factors]
subject = ["std_map_mutex", "noop"]
threads = [1, 2]
[trial]
key_range = 100
mix = { insert = 0, erase = 0, find = 100 }
duration_ms = 1
[design]
blocks = 8
[comparison]
metric = "throughput"
factor = "subject"
baseline = "std_map_mutex"
smallest_effect_percent = 3
pathological = 0.1
"""
COMMANDS = {
    "run": ["x.toml", "--only", "threads=1"],
    "aa": ["x.toml"],
    "report": ["--campaign", "1"],
    "audit": ["x.toml"],
    "compare": ["subject=noop", "subject=std_map_mutex", "--campaign", "1"],
    "explore": ["2"],
    "trend": ["x"],
    "plan": ["x.toml"],
    "list campaigns": [],
    "list trials": [],
    "list subjects": [],
    "show": ["1"],
    "replay": ["1"],
    "sensitivity": ["x.toml", "--only", "threads=1", "--configurations", "2", "--replicates", "1"],
    "query": ["select 1 as a, 1.5, 'b', null, 9e999"],
    "check": ["std_map_mutex", "--check", "model", "--minutes", "0.001"],
    "engines": ["wyrand", "--numbers", "1000"],
}
MAPS = {
    *("levels", "counts", "context", "dropped", "modes", "centers", "of_group", "evidence"),
    *("metrics", "perturbed", "medians", "against"),
}
"""Their keys are levels, statuses and the like."""


def printed(command: str) -> Any:
    ended = CliRunner().invoke(app, [*command.split(), *COMMANDS[command], "--json"])
    assert ended.exit_code in {0, 1}, ended.output
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
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(EXPERIMENT)
    for command in COMMANDS:
        value = printed(command)
        assert value["version"] == 1
        assert f"`assay {command}`" in PAGE
        record = command == "show"  # what a trial was asked and answered is the protocol's matter
        missing = {key for key in (value if record else keys(value)) if f"`{key}`" not in PAGE}
        assert not missing, (command, missing)
