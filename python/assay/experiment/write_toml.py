"""Writes the TOML that experiments are read from."""

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_file(tables: Mapping[str, Any]) -> str:
    """Return the text of a TOML file whose tables have at most one level of tables of their own."""
    lines = [f"{_key(key)} = {toml(value)}" for key, value in tables.items() if not isinstance(value, dict)]
    for name, table in tables.items():
        if not isinstance(table, dict) or not table:
            continue
        nested = [key for key in table if name in {"factors", "subjects"} and isinstance(table[key], dict)]
        values = {key: value for key, value in table.items() if key not in nested}
        for path, content in [(name, values), *((f"{name}.{_key(key)}", table[key]) for key in nested)]:
            if content:
                lines += [
                    "",
                    f"[{path}]",
                    *(f"{_key(key)} = {toml(value)}" for key, value in content.items()),
                ]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml(key)


def toml(value: Any) -> str:
    """Return a value as TOML writes it, on one line."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {toml(inner)}' for key, inner in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    # TOML's strings are JSON's, but for one character that it wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
