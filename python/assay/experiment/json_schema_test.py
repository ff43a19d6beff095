"""The published JSON Schema of experiments, with which editors complete and check them."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from assay.experiment.json_schema import json_schema

ROOT = Path(__file__).parents[3]
FILES = sorted([*ROOT.glob("experiments/**/*.toml"), *ROOT.glob("examples/**/*.toml")])
PUBLISHED = ROOT / "docs" / "reference" / "experiment.schema.json"
QUICKSTART: dict[str, Any] = tomllib.loads((ROOT / "experiments" / "quickstart.toml").read_text())


def test_the_published_schema_is_that_of_the_models() -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    assert json.loads(PUBLISHED.read_text()) == schema, "run: python -m assay.experiment.json_schema"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_experiment_is_accepted(file: Path) -> None:
    Draft202012Validator(json_schema()).validate(tomllib.loads(file.read_text()))


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"colour": 1}, "$"),
        ({"question": 3}, "$.question"),
        ({"factors": {"threads": ["one"]}}, "$.factors.threads"),
        ({"factors": {"mine": {"a": {"thread": 1}}}}, "$.factors.mine.a"),
        ({"trial": {"mix": {"insert": 101, "erase": 0, "find": 0}}}, "$.trial.mix.insert"),
        ({"trial": {"latency": "some"}}, "$.trial.latency"),
        ({"trial": {"pinning": []}}, "$.trial.pinning"),
        ({"design": {"blocks": 0}}, "$.design.blocks"),
        ({"chart": [{"kind": "pie", "x": "threads"}]}, "$.chart[0].kind"),
        ({"subjects": {"Mine": {"program": "x"}}}, "$.subjects"),
    ],
)
def test_clear_mistakes_are_refused_where_they_are(changes: dict[str, Any], where: str) -> None:
    errors = Draft202012Validator(json_schema()).iter_errors(QUICKSTART | changes)
    assert [error.json_path for error in errors] == [where]
