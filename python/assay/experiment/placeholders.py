"""Placeholders in the arguments of a program: `{name}` stands for a value, `{{` for a brace."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

LINKED = "linked"
"""Stands for the file that the program's link command has made, which is known when its block begins."""

_BRACE = re.compile(r"\{\{|\{([^{}]*)\}|\{")


def names(argument: str) -> Iterator[str]:
    """Yield the name of each placeholder of an argument.

    Raises:
        ValueError: a brace begins no placeholder.
    """
    for match in _BRACE.finditer(argument):
        if match[0] == "{":
            raise ValueError("a brace is not closed; write {{ for one that begins no placeholder")
        if match[1] is not None:
            yield match[1]


def values_of(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return what the placeholders stand for in a trial: name -> value; `LINKED` for itself."""
    named = {name: value for name, value in settings.items() if name != "parameters"}
    return {"seed": seed, LINKED: f"{{{LINKED}}}", **settings.get("parameters", {}), **named}


def fill(argument: str, values: Mapping[str, Any]) -> str:
    """Return an argument with the value of each placeholder in its place.

    Numbers and tables are written as JSON, lists of numbers with commas.
    """

    def value(match: re.Match[str]) -> str:
        return "{" if match[1] is None else _written(values[match[1]])

    return _BRACE.sub(value, argument)


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    numbers = isinstance(value, list) and all(isinstance(number, int) for number in value)
    return ",".join(map(str, value)) if numbers else json.dumps(value)
