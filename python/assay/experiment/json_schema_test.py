"""The JSON Schemas that are made from models: of experiments, for editors, and of requests."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from assay import protocol
from assay.experiment.json_schema import PUBLISHED, experiment_schema

ROOT = Path(__file__).parents[3]
FILES = sorted([*ROOT.glob("experiments/**/*.toml"), *ROOT.glob("examples/**/*.toml")])
QUICKSTART: dict[str, Any] = tomllib.loads((ROOT / "experiments" / "quickstart.toml").read_text())


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_schemas_are_those_of_the_models(name: str) -> None:
    schema = PUBLISHED[name]()
    Draft202012Validator.check_schema(schema)
    published = ROOT / "docs" / "reference" / f"{name}.schema.json"
    assert json.loads(published.read_text()) == schema, "run: python -m assay.experiment.json_schema"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_experiment_is_accepted(file: Path) -> None:
    Draft202012Validator(experiment_schema()).validate(tomllib.loads(file.read_text()))


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
    errors = Draft202012Validator(experiment_schema()).iter_errors(QUICKSTART | changes)
    assert [error.json_path for error in errors] == [where]


REQUEST: dict[str, Any] = {
    "protocol": 1,
    "seed": 2,
    "subject": "elb_map",
    "threads": 2,
    "pinning": [0, 1],
    "key_range": 100,
    "keys": "dense",
    "mix": {"insert": 5, "erase": 5.5, "find": 89.5},
    "duration_ms": 1000,
    "interval_ms": 10,
}
_FILE = {"kind": "empirical", "file": "/a", "digest": f"0x{0:016x}"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pinning": "compact", "parameters": {"depth": 3, "mode": "x"}},
        {"mix": None, "roles": [{"name": "a", "threads": 2, "mix": {"insert": 0, "erase": 0, "find": 100}}]},
        {"distribution": _FILE},
        {"distribution": {"kind": "zipf", "exponent": 1, "order": "ordered"}},
        {"key_type": {"bytes": {"from": 8, "to": 9}}, "value_type": "uint32"},
        {"value_type": {"uint64": {"from": 0, "to": 9, "distribution": _FILE}}},
        {"range": {"length": "all"}, "arrivals": {"rate": 1, "spacing": "even"}, "latency": 64},
        {"perturbation": {"stack_bytes": 65520, "heap_bytes": 65536, "thread_order": 0, "placement": 1}},
        {"perturbation": {"heap_bytes": 7}, "operations": [[0, 2**53 - 1], [1, 0]]},
    ],
)
def test_requests_are_accepted(changes: dict[str, Any]) -> None:
    request = {key: value for key, value in (REQUEST | changes).items() if value is not None}
    protocol.validator("trial-request").validate(request)


@pytest.mark.parametrize(
    "changes",
    [
        *({key: None} for key in REQUEST),
        {"protocol": 2},
        {"seed": 2**53},
        {"subject": "ELB"},
        {"pinning": []},
        {"pinning": "tight"},
        {"timeout_s": 1},
        {"colour": 1},
        {"mix": {"insert": 100}},
        {"mix": None, "roles": [{"name": "a", "threads": 2}]},
        {"roles": []},
        {"roles": [{"name": "a"}]},
        {"engine": "xoshiro256pp"},
        {"distribution": "uniform"},
        {"distribution": {"kind": "zipf"}},
        {"distribution": {"kind": "latest", "exponent": 1, "order": "ordered"}},
        {"distribution": {"kind": "empirical", "file": "/a"}},
        {"distribution": _FILE | {"file": "a"}},
        {"distribution": _FILE | {"digest": "0x1"}},
        {"range": {"fold": "sum"}},
        {"range": {"length": 0}},
        {"arrivals": {"rate": 1}},
        {"key_type": {"bytes": 7}},
        {"latency": 1},
        {"parameters": {}},
        {"parameters": {"a": None}},
        {"parameters": {"A": 1}},
        {"perturbation": {"stack_bytes": 24}},
        {"perturbation": {"stack_bytes": 65536}},
        {"perturbation": {"heap_bytes": 65537}},
        {"perturbation": {"thread_order": 2**53}},
        {"perturbation": {"placement": -1}},
        {"perturbation": {"environment": 1}},
        {"operations": []},
        {"operations": [[1]]},
        {"operations": [[1, -1]]},
        {"operations": [1, 2]},
    ],
)
def test_other_requests_are_refused(changes: dict[str, Any]) -> None:
    request = REQUEST | changes
    request = {key: value for key, value in request.items() if value is not None}
    assert not protocol.validator("trial-request").is_valid(request)
