"""The JSON Schemas of an experiment's TOML file, for editors, and of a trial's request, made from the models.

`python -m assay.experiment.json_schema` writes the published ones, in `assay/protocol/`.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay.experiment.settings import OF_FIXTURES, RUNNER_ONLY_SETTINGS, Settings
from assay.experiment.types import Experiment
from assay.files import write

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_WHOLE = {"type": "integer", "minimum": 0, "exclusiveMaximum": 2**53}
_ALWAYS_REQUESTED = ("subject", "threads", "pinning", "duration_ms")
_REQUESTED_OF_MAPS = ("key_range", "keys", "interval_ms")

_PERTURBATION = {
    "type": "object",
    "additionalProperties": False,
    "description": "What is arbitrary and may change how fast the trial is, but nothing that it does.",
    "properties": {
        "stack_bytes": {
            "type": "integer",
            "minimum": 0,
            "maximum": 65520,
            "multipleOf": 16,
            "description": "Of its stack that each thread leaves unused above all it does.",
        },
        "heap_bytes": {
            "type": "integer",
            "minimum": 0,
            "maximum": 65536,
            "description": "The first allocation of each thread, before the map is built; kept to the end.",
        },
        "thread_order": {
            **_WHOLE,
            "description": "From which the order is drawn in which threads are made, whatever their numbers.",
        },
        "placement": {
            **_WHOLE,
            "description": "By which processors of the pinning's policy are exchanged for equivalent ones.",
        },
    },
}
_OPERATIONS = {
    "type": "array",
    "minItems": 1,
    "maxItems": 4096,
    "description": "Of a replay, for each thread: its operations in the warm-up, and those measured.",
    "items": {"type": "array", "minItems": 2, "maxItems": 2, "items": _WHOLE},
}


def experiment_schema() -> dict[str, Any]:
    """Return the schema of the file, as the models of its tables give it.

    What spans several keys, such as a baseline that is not a level, `load` alone checks.
    """
    schema = Experiment.model_json_schema()
    schema["properties"]["factors"] = _factors(schema["$defs"])
    return {
        "$schema": _DIALECT,
        "$id": "assay:experiment:1",
        "title": "Assay experiment",
        **_tidied(schema),
        "description": "A question about software; docs/reference/experiment.md explains every key.",
    }


def request_schema() -> dict[str, Any]:
    """Return the schema of what a trial's process reads: settings in their long form, and what plans add."""
    schema = Settings.model_json_schema(mode="serialization")
    tables = schema["$defs"]
    for table in tables.values():
        defaults = [name for name, key in table["properties"].items() if key.get("default") is not None]
        table["required"] = [*table.get("required", ()), *defaults]
    tables["RoleTable"]["required"] = ["name", "threads"]
    empirical = tables["_Empirical"]
    empirical["properties"]["file"]["pattern"] = "^/"
    empirical["properties"]["digest"] = {
        "type": "string",
        "pattern": "^0x[0-9a-f]{16}$",
        "description": "FNV-1a of 64 bits of the file's bytes; a file that has another is refused.",
    }
    empirical["required"].append("digest")
    settings = {name: key for name, key in schema["properties"].items() if name not in RUNNER_ONLY_SETTINGS}
    settings["parameters"]["minProperties"] = 1
    settings["flaws"]["anyOf"][0]["minItems"] = 1
    roles_with_mixes = {"items": {"required": ["mix"]}}
    return {
        "$schema": _DIALECT,
        "$id": "assay:trial-request:1",
        "title": "Assay trial request, protocol 1",
        "description": "One trial, given as one JSON object on the standard input of a subject's program. "
        "What `required` names is there: a missing value is an error, never zero. All else is there only "
        "where the experiment asks for it.",
        "type": "object",
        "additionalProperties": False,
        "required": ["protocol", "seed", *_ALWAYS_REQUESTED],
        "anyOf": [
            {"required": [*_REQUESTED_OF_MAPS, "mix"]},
            {"required": [*_REQUESTED_OF_MAPS, "roles"], "properties": {"roles": roles_with_mixes}},
            {"required": [*_REQUESTED_OF_MAPS, "phase"]},
            {
                "description": "Of a fixture.",
                "properties": dict.fromkeys(sorted((settings.keys() | {"operations"}) - OF_FIXTURES), False),
            },
        ],
        "properties": {
            "protocol": {"const": 1},
            "seed": {**_WHOLE, "description": "The trial's seed, from which each thread's own is derived."},
            **_tidied(settings, names=True),
            "perturbation": _PERTURBATION,
            "operations": _OPERATIONS,
        },
        "$defs": _tidied(tables, names=True),
    }


def _factors(tables: dict[str, Any]) -> dict[str, Any]:
    settings = tables["Settings"]["properties"]
    return {
        "type": "object",
        "minProperties": 1,
        "description": "Each factor with its levels: what the experiment varies.",
        "properties": {
            name: {
                "anyOf": [
                    {"type": "array", "minItems": 1, "items": settings[name]},
                    {"type": "object", "minProperties": 1, "additionalProperties": settings[name]},
                ],
                "description": f"Levels of the setting {name}: a list of values, or a table of named ones.",
            }
            for name in Settings.model_fields
        },
        "additionalProperties": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"$ref": "#/$defs/Settings"},
            "description": "Named levels, each a table of the settings that it changes.",
        },
    }


def _tidied(schema: Any, *, names: bool = False) -> Any:
    """Return a schema without null, for which TOML has no word, and without what repeats names and kinds.

    `names` says that the keys of `schema` are names of properties or the like.
    """
    if isinstance(schema, list):
        return [_tidied(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if names:
        return {name: _tidied(part) for name, part in schema.items()}
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if "anyOf" in schema and len(choices) == 1:
        schema = {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    elif "anyOf" in schema:
        schema = {**schema, "anyOf": choices}
    if "patternProperties" in schema:
        schema = {**schema, "additionalProperties": False}
    return {
        key: _tidied(value, names=key in {"properties", "$defs", "patternProperties"})
        for key, value in schema.items()
        if key not in {"title", "discriminator"}
        and not (key == "default" and (value is None or isinstance(value, dict | list)))
    }


PUBLISHED = {"experiment": experiment_schema, "trial-request": request_schema}

if __name__ == "__main__":
    for name, schema in PUBLISHED.items():
        file = Path(str(files("assay.protocol") / f"{name}.schema.json"))
        write(file, json.dumps(schema(), indent=2) + "\n")
