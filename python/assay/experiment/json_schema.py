"""The JSON Schema of an experiment's TOML file, for editors.

`python -m assay.experiment.json_schema` prints it; `protocol/experiment.schema.json` is the published one.
"""

import json
from typing import Any

from assay.experiment.schema import Document, Settings


def json_schema() -> dict[str, Any]:
    """Return the schema of the file, as the models of its tables give it.

    What spans several keys, such as a baseline that is not a level, `load` alone checks.
    """
    schema = Document.model_json_schema()
    schema["properties"]["factors"] = _factors(schema["$defs"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "assay:experiment:1",
        "title": "Assay experiment",
        **_tidied(schema),
        "description": "A question about software; docs/reference/experiment.md explains every key.",
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


def _tidied(schema: Any) -> Any:
    """Return a schema without null, for which TOML has no word, and without titles made of names."""
    if isinstance(schema, list):
        return [_tidied(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if "anyOf" in schema and len(choices) == 1:
        schema = {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    elif "anyOf" in schema:
        schema = {**schema, "anyOf": choices}
    if "patternProperties" in schema:
        schema = {**schema, "additionalProperties": False}
    return {
        key: {name: _tidied(part) for name, part in value.items()}
        if key in {"properties", "$defs", "patternProperties"}
        else _tidied(value)
        for key, value in schema.items()
        if key not in {"title", "default"}
    }


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
