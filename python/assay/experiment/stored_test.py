"""The JSON of resolved experiments, which stores hold and later versions have to read."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.errors import AssayError
from assay.experiment import Experiment, load
from assay.experiment.testing import experiment

ROOT = Path(__file__).parents[3]
FILES = sorted([*ROOT.glob("experiments/**/*.toml"), *ROOT.glob("examples/**/*.toml")])
GOLDEN = Path(__file__).with_name("stored_test.json")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_json_gives_the_same_experiment_again(file: Path) -> None:
    resolved = load(file)
    again = Experiment.model_validate_json(resolved.model_dump_json())
    assert again.model_copy(update={"source": resolved.source}) == resolved
    assert repr(again) == repr(resolved)  # which tells 1 from 1.0


def test_levels_keep_their_types() -> None:
    levels: dict[Any, dict[str, Any]] = {1: {"threads": 1}, 2.5: {}, "1": {}, "2.5": {}}
    resolved = experiment(changes={"subject": levels})
    again = Experiment.model_validate_json(resolved.model_dump_json())
    assert [repr(level) for level in again.factors["subject"]] == ["1", "2.5", "'1'", "'2.5'"]


def test_what_an_earlier_version_stored_is_read() -> None:
    resolved = Experiment.model_validate_json(GOLDEN.read_text())
    assert resolved.version == 1
    assert resolved.factors == {"map": ("plain", "tuned"), "threads": (1, 2), "size": ("small", "large")}
    assert resolved.design.exclude == ({"map": ("tuned",), "threads": (2,), "size": ("large",)},)
    assert resolved.settings(resolved.conditions()[1])["roles"][0]["threads"] == 1
    assert Experiment.model_validate_json(resolved.model_dump_json()) == resolved


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"color": "red"}, {"changes": {"a": [[1]]}}, {"changes": {"a": [[1, {}], [1, {}]]}}],
)
def test_json_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Experiment.model_validate_json(json.dumps(json.loads(GOLDEN.read_text()) | change))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"name": 3}, "name"),
        ({"fixed": {"mix": 3}}, "mix"),
        ({"changes": {}}, "comparison.factor"),
    ],
)
def test_a_mistake_in_a_file_of_json_ends_in_one_message(
    change: dict[str, Any], key: str, tmp_path: Path
) -> None:
    file = tmp_path / "experiment.json"
    file.write_text(json.dumps(json.loads(GOLDEN.read_text()) | change))
    with pytest.raises(AssayError, match=rf"^{file}:.*{key}.*: .*$"):
        load(file)
