"""What commands print with `--json` follows the published schema."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from assay.cli.commands import app
from assay.cli.output import OUTPUTS, schema

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
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
"""
COMMANDS = {
    "run": ["x.toml", "--only", "threads=1"],
    "resume": ["--campaign", "1"],
    "aa": ["x.toml"],
    "report": ["--campaign", "1"],
    "audit": ["x.toml"],
    "compare": ["subject=noop", "subject=std_map_mutex", "--campaign", "1"],
    "plan": ["x.toml"],
    "show": ["1"],
    "query": ["select 1 as a, 1.5, 'b', null, 9e999"],
    "engines": [],
}


def printed(command: str) -> Any:
    ended = CliRunner().invoke(app, [*command.split(), *COMMANDS.get(command, []), "--json"])
    assert ended.exit_code in {0, 1}, ended.output
    return json.loads(ended.stdout)


def test_the_published_schema_is_that_of_the_commands() -> None:
    """`python -m assay.cli.output > docs/reference/output.schema.json` writes it."""
    assert (REFERENCE / "output.schema.json").read_text() == schema()


def test_real_outputs_follow_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(EXPERIMENT)
    published = json.loads(schema())
    for command, output in OUTPUTS.items():
        if command == "resume":
            continue  # as `run`; there is nothing to resume
        value = printed(command)
        assert value["version"] == 1
        Draft202012Validator({"$ref": f"#/$defs/{output.__name__}", "$defs": published["$defs"]}).validate(
            value
        )


def test_the_reference_names_every_key() -> None:
    page = (REFERENCE / "json.md").read_text()
    for command, output in OUTPUTS.items():
        assert f"`assay {command}`" in page
        for key in output.model_fields:
            assert f"`{key}`" in page, (command, key)
