"""Where each key of a TOML text stands, which the standard library's parser does not say."""

import re
import tomllib
from functools import cache, cached_property

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

KeyPath = tuple[str | int, ...]


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_toml.language()))


class Lines:
    """The line of each key and list element of a TOML text that `tomllib` accepts.

    Nothing is parsed before the first question, and inside values no more than leads to the key in question:
    most texts hold no mistake, and arrays of a megabyte are not to take seconds.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def has(self, path: KeyPath) -> bool:
        """Return whether the text has a key."""
        return self._find(path)[1] == len(path)

    def of(self, path: KeyPath) -> int:
        """Return the line of a key, or of the innermost table around it that the text has; from 1."""
        return self._find(path)[0]

    def _find(self, path: KeyPath) -> tuple[int, int]:
        """Return a line, and the length of the part of a path that stands there."""
        length = next(length for length in range(len(path), -1, -1) if path[:length] in self._keys)
        line, value = self._keys[path[:length]]
        while value is not None and length < len(path):
            inside = _inside(value, path[length:])
            if inside is None:
                break
            line, parts, value = inside
            length += parts
        return line, length

    @cached_property
    def _keys(self) -> dict[KeyPath, tuple[int, Node | None]]:
        """Each key of each table with its line and, where a value is written there, that."""
        keys: dict[KeyPath, tuple[int, Node | None]] = {(): (1, None)}

        def note(path: KeyPath, node: Node, value: Node | None = None) -> None:
            line = node.start_point.row + 1
            for length in range(1, len(path)):
                keys.setdefault(path[:length], (line, None))
            keys.setdefault(path, (line, value))

        table: KeyPath = ()
        counts: dict[KeyPath, int] = {}
        for node in _parser().parse(self._text.encode()).root_node.named_children:
            pairs = [node] if node.type == "pair" else []
            if node.type in {"table", "table_array_element"}:
                key, *pairs = _parts(node)
                table = _key(key)
                if node.type == "table_array_element":
                    note(table, node)
                    counts[table] = counts.get(table, -1) + 1
                    table = (*table, counts[table])
                note(table, node)
            for pair in pairs:
                key, value = _parts(pair)
                note(table + _key(key), key, value)
        return keys


def _inside(value: Node, path: KeyPath) -> tuple[int, int, Node | None] | None:
    """Return the line at which a value has the start of a path, that start's length and what stands there."""
    if value.type == "array" and isinstance(path[0], int):
        elements = _parts(value)
        if path[0] < len(elements):
            element = elements[path[0]]
            return element.start_point.row + 1, 1, element
    if value.type == "inline_table":
        for pair in _parts(value):
            key, held = _parts(pair)
            parts = _key(key)
            if path[: len(parts)] == parts:
                return key.start_point.row + 1, len(parts), held
            if parts[: len(path)] == path:
                return key.start_point.row + 1, len(path), None
    return None


def _parts(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _key(node: Node) -> KeyPath:
    """Read a bare, quoted or dotted key as the standard library does."""
    assert node.text is not None
    text = node.text.decode()
    if re.fullmatch(r"[A-Za-z0-9_-]+", text):
        return (text,)
    table = tomllib.loads(f"{text} = 0")
    path: list[str] = []
    while isinstance(table, dict):
        ((part, table),) = table.items()
        path.append(part)
    return tuple(path)
