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
    levels: dict[Any, dict[str, Any]] = {1: {"threads": 1}, 2.5: {}, "1": {}, "2.5": {}}
    resolved = experiment(changes={"subject": levels})
    again = Experiment.model_validate_json(resolved.model_dump_json())
    assert [repr(level) for level in again.factors["subject"]] == ["1", "2.5", "'1'", "'2.5'"]


def test_what_an_earlier_version_stored_is_read() -> None:
    resolved = Experiment.model_validate_json(GOLDEN.read_text())
    assert resolved.version == 2
    assert resolved.factors == {"map": ("plain", "tuned"), "threads": (1, 2), "size": ("small", "large")}
    assert resolved.design.exclude == ({"map": ("tuned",), "threads": (2,), "size": ("large",)},)
    assert resolved.settings(resolved.conditions()[1])["roles"][0]["threads"] == 1
    assert Experiment.model_validate_json(resolved.model_dump_json()) == resolved


@pytest.mark.parametrize(
    "change",
    [{"version": 1}, {"color": "red"}, {"changes": {"a": [[1]]}}, {"changes": {"a": [[1, {}], [1, {}]]}}],
)
def test_json_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Experiment.model_validate_json(json.dumps(json.loads(GOLDEN.read_text()) | change))


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ((), "name", 3),
        ((), "name", "a b"),
        ((), "colour", "red"),
        ((), "changes", {"a b": [[1, {}], [2, {}]]}),
        (("fixed",), "latency", 1),
        (("fixed",), "mixx", {"find": 100}),
        (("fixed",), "pinning", ["0"]),
        (("fixed", "distribution"), "kind", "zipfian"),
        (("changes",), "threads", [[1]]),
        (("comparison",), "factor", "maps"),
        (("comparison",), "baseline", "plane"),
        (("comparison",), "smallest_effect_percent", 0),
        (("comparison",), "stand_ins", ["tunes"]),
        (("comparison",), "stand_ins", ["plain"]),
        (("comparison",), "across", {"sizes": {}}),
        (("comparison", "across"), "map", {"plain": 1}),
        (("comparison", "across"), "threads", {"1": 1}),
        (("comparison", "across", "size"), "medium", 1),
        (("design", "blocks"), "fewest", 41),
        (("design", "blocks"), "most", 0),
        (("design", "blocks"), "until", 1e9),
        (("design", "exclude", 0), "sizes", ["large"]),
        (("design", "exclude", 0), "size", ["larger"]),
        (("charts", 0, "filter"), "map", ["plane"]),
        (("fixed",), "threads", 3),
        ((), "identical", True),
        (("programs", "mine"), "path", "\0"),
    ],
)
def test_a_mistake_in_json_is_told_with_its_key(
    table: tuple[str | int, ...], key: str, value: Any, tmp_path: Path
) -> None:
    document = json.loads(GOLDEN.read_text())
    changed = document
    for part in table:
        changed = changed[part]
    changed[key] = value
    file = tmp_path / "experiment.json"
    file.write_text(json.dumps(document))
    path = r"\.".join(map(str, (*table, key)))
    with pytest.raises(AssayError, match=rf"^{file}: {path}\b") as raised:
        load(file)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("threads", "mistake"),
    [
        ([[1, {"threads": 1}], [2, {"threads": 3}]], "2: is called 2 and is 3"),
        ([[1, {"threads": 1}], [2, {}]], "2: changes nothing"),
        ([[1, {"threads": 1}], [2, {"threads": 2, "keys": "dense"}]], "2: changes keys and threads"),
    ],
)
def test_a_level_in_json_changes_what_it_says(threads: list[Any], mistake: str, tmp_path: Path) -> None:
    document = json.loads(GOLDEN.read_text())
    document["changes"]["threads"] = threads
    file = tmp_path / "experiment.json"
    file.write_text(json.dumps(document))
    with pytest.raises(AssayError, match=rf"experiment\.json: changes\.threads\.{mistake}"):
        load(file)


def test_weights_and_stand_ins_exclude_each_other_in_json(tmp_path: Path) -> None:
    document = json.loads(GOLDEN.read_text())
    document["comparison"]["stand_ins"] = ["tuned"]
    file = tmp_path / "experiment.json"
    file.write_text(json.dumps(document))
    with pytest.raises(AssayError, match=r"comparison\.across: .*one baseline"):
        load(file)


def test_what_is_found_later_is_placed_in_the_json_that_was_given(tmp_path: Path) -> None:
    """And not in the text of the file that it was once resolved from, which it may hold."""
    document = json.loads(GOLDEN.read_text()) | {"source": 'name = "stored"\n'}
    file = tmp_path / "experiment.json"
    document["programs"]["mine"]["build"] = None
    file.write_text(json.dumps(document))
    with pytest.raises(AssayError, match=rf"^{file}: programs\.mine\.path: there is no program"):
        load(file)
    document["programs"]["mine"]["path"] = "/bin/true"
    file.write_text(json.dumps(document))
    machine = Machine({}, {}, frozenset({0, 1}), memory_limit_mb=1000)
    with pytest.raises(AssayError, match=rf"^{file}: changes\.map\.plain\.subject: there is no subject"):
        check(load(file), machine)


@pytest.mark.parametrize("only", ["threads=1", "size=small", "threads=1,2", "size=large"])
def test_what_only_leaves_of_an_experiment_is_read_again(only: str, tmp_path: Path) -> None:
    """Rules, weights, charts and validations name levels that are gone."""
    stored = Experiment.model_validate_json(GOLDEN.read_text())
    program = stored.programs["mine"].model_copy(update={"path": Path("/bin/true")})
    left = overridden(stored.model_copy(update={"programs": {"mine": program}}), only=[only])
    file = tmp_path / "experiment.json"
    file.write_text(left.model_dump_json())
    assert load(file).model_copy(update={"json_file": None}) == left


def test_a_setting_that_programs_need_is_missed_in_json(tmp_path: Path) -> None:
    document = json.loads(GOLDEN.read_text())
    del document["fixed"]["duration_ms"]
    file = tmp_path / "experiment.json"
    file.write_text(json.dumps(document))
    with pytest.raises(AssayError, match=r"experiment\.json: fixed: duration_ms is missing"):
        load(file)
