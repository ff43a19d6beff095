"""The JSON of a resolved experiment, edited at random: it is refused in plain words, or can be planned."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assay import protocol
from assay.errors import AssayError
from assay.experiment import load
from assay.plan.make_plan import make_plan

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    json.loads((ROOT / "python/assay/experiment/stored_test.json").read_text()),
    *(
        json.loads(load(ROOT / f"experiments/{name}.toml").model_dump_json())
        for name in ("quickstart", "open-loop", "starvation", "two-trees", "zipf")
    ),
]
VALUES = [None, True, 0, -1, 3, 0.5, 2**70, "", "x", "a\nb", "\0", "noop", [], ["x"], [[1, {}]], {}, {"x": 1}]
KEYS = ["x", "subject", "threads", "roles", "mix", "engine", "range", "until", "stand_ins", "across", ""]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every table and list in a value with each of its keys."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def edit(document: Any, random: Random) -> None:
    """Change, remove, add or rename something in a document."""
    around, key = random.choice(list(places(document)))
    other, its_key = random.choice(list(places(document)))
    value = deepcopy(random.choice([*VALUES, other[its_key]]))
    match random.choice(["change", "remove", "add", "rename"]):
        case "change":
            around[key] = value
        case "remove":
            del around[key]
        case _ if isinstance(around, list):
            around.append(value)
        case "add":
            around[random.choice(KEYS)] = value
        case "rename":
            around[random.choice(KEYS)] = around.pop(key)


@pytest.mark.parametrize("seed", range(5))
def test_edited_json_is_refused_in_plain_words_or_can_be_planned(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    file = tmp_path / "experiment.json"
    planned, mistakes = 0, []
    for _ in range(60):
        document = deepcopy(random.choice(DOCUMENTS))
        edit(document, random)
        file.write_text(json.dumps(document))
        try:
            experiment = load(file)
        except AssayError as error:
            mistakes += str(error).splitlines()
            continue
        if len(experiment.conditions()) * experiment.design.blocks.most <= 1000:
            planned += 1
            trial = make_plan(experiment, 1, lambda subject: f"/bin/{subject}", 1000).trials[0]
            assert protocol.validator("trial-request").is_valid(trial.request), document
    assert planned
    assert mistakes
    assert not [mistake for mistake in mistakes if not mistake.startswith(f"{file}: ")]
