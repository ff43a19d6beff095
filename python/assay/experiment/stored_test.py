"""The JSON of resolved experiments, which stores hold and later versions have to read."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.errors import AssayError
from assay.experiment import Experiment, Machine, check, load, overridden
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
    levels: dict[Any, dict[str, Any]] = {level: {"subject": "noop"} for level in (1, 2.5, "1", "2.5", "base")}
    resolved = experiment(changes={"subject": levels})
    again = Experiment.model_validate_json(resolved.model_dump_json())
    assert [repr(level) for level in again.factors["subject"]] == ["1", "2.5", "'1'", "'2.5'", "'base'"]


def test_what_an_earlier_version_stored_is_read() -> None:
    resolved = Experiment.model_validate_json(GOLDEN.read_text())
    assert resolved.version == 2
    assert resolved.factors == {"map": ("plain", "tuned"), "threads": (1, 2), "size": ("small", "large")}
    assert resolved.design.exclude == ({"map": ("tuned",), "threads": (2,), "size": ("large",)},)
    assert resolved.settings(resolved.conditions()[1])["roles"][0]["threads"] == 1
    assert Experiment.model_validate_json(resolved.model_dump_json()) == resolved


@pytest.mark.parametrize(
    "change",
    [{"version": 1}, {"color": "red"}, {"factors": {"a": [[1]]}}, {"factors": {"a": [[1, {}], [1, {}]]}}],
)
def test_json_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Experiment.model_validate_json(json.dumps(json.loads(GOLDEN.read_text()) | change))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 7}', '{"factors": {}}', "[" * 9999])
def test_a_file_that_is_not_a_resolved_experiment_is_refused(text: str, tmp_path: Path) -> None:
    check_refused(text, tmp_path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"design": {"blocks": 1, "include": [{"color": ["red"]}]}}, '"color" is not a factor'),
        ({"design": {"blocks": 1, "exclude": [{}]}}, "an empty rule"),
        ({"comparison": {"baseline": "gone", "stand_ins": []}}, "the baseline is not a level"),
        ({"factors": {"threads": []}}, "a factor has no levels"),
        ({"design": {"blocks": "1"}}, 'design.blocks: "1" is not a whole number; write digits only'),
        ({"comparison": {"baseline": ["plain"]}}, r'comparison.baseline: \["plain"\] is not'),
        ({"comparison": {"also": ["throughput"]}}, "comparison.also: .* is not a table"),
        ({"trial": {"threads": [1]}}, r"trial.threads: \[1\] is not a whole number"),
        ({"factors": {"map": [["plain", {"threads": "many"}]]}}, 'factors.map: "many" is not a whole number'),
        ({"factors": {"map": [["plain", {}]]}}, "subject is missing"),
    ],
)
def test_damaged_json_is_refused_in_the_words_of_a_file(
    change: dict[str, dict[str, Any]], why: str, tmp_path: Path
) -> None:
    document = json.loads(GOLDEN.read_text())
    check_refused(
        json.dumps(document | {key: document[key] | part for key, part in change.items()}), tmp_path, why
    )


def check_refused(text: str, folder: Path, why: str = "") -> None:
    file = folder / "experiment.json"
    file.write_text(text)
    with pytest.raises(AssayError, match=rf"^{file}: is not a resolved experiment: {why}.*campaign's page$"):
        load(file)


def test_what_is_found_later_is_placed_in_the_file_that_was_resolved(tmp_path: Path) -> None:
    document = json.loads(GOLDEN.read_text()) | {"source": 'name = "stored"\n[subjects.mine]\n'}
    file = tmp_path / "experiment.json"
    document["subjects"]["mine"]["build"] = None
    file.write_text(json.dumps(document))
    with pytest.raises(
        AssayError, match=r"^/experiments/stored.toml:2: subjects\.mine\.program: there is no"
    ):
        load(file)
    document["subjects"]["mine"]["program"] = "/bin/true"
    del document["source"]
    file.write_text(json.dumps(document))
    machine = Machine({}, {}, frozenset({0, 1}), memory_limit_mb=1000)
    with pytest.raises(
        AssayError, match=r"^/experiments/stored.toml: factors\.map\.plain\.subject: there is no"
    ):
        check(load(file), machine)


@pytest.mark.parametrize("only", ["threads=1", "size=small", "threads=1,2", "size=large"])
def test_what_only_leaves_of_an_experiment_is_read_again(only: str, tmp_path: Path) -> None:
    """Rules, weights, charts and validations name levels that are gone."""
    stored = Experiment.model_validate_json(GOLDEN.read_text())
    program = stored.programs["mine"].model_copy(update={"path": Path("/bin/true")})
    left = overridden(stored.model_copy(update={"programs": {"mine": program}}), only=[only])
    file = tmp_path / "experiment.json"
    file.write_text(left.model_dump_json())
    assert load(file) == left
