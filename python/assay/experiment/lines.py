"""Where each key of a TOML text stands, which the standard library's parser does not say."""

import tomllib
from functools import cache

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

KeyPath = tuple[str | int, ...]


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_toml.language()))


class Lines:
    """The line of each key and list element of a TOML text that `tomllib` accepts."""

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {(): 1}
        table: KeyPath = ()
        counts: dict[KeyPath, int] = {}
        for node in _parser().parse(text.encode()).root_node.named_children:
            if node.type == "pair":
                self._pair(table, node)
            elif node.type in {"table", "table_array_element"}:
                key, *pairs = _parts(node)
                table = _key(key)
                if node.type == "table_array_element":
                    self._note(table, node)
                    counts[table] = counts.get(table, -1) + 1
                    table = (*table, counts[table])
                self._note(table, node)
                for pair in pairs:
                    self._pair(table, pair)

    def has(self, path: KeyPath) -> bool:
        """Return whether the text has a key."""
        return path in self._lines

    def of(self, path: KeyPath) -> int:
        """Return the line of a key, or of the innermost table around it that the text has; from 1."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]

    def _note(self, path: KeyPath, node: Node) -> None:
        for length in range(1, len(path) + 1):
            self._lines.setdefault(path[:length], node.start_point.row + 1)

    def _pair(self, table: KeyPath, node: Node) -> None:
        key, value = _parts(node)
        path = table + _key(key)
        self._note(path, key)
        self._value(path, value)

    def _value(self, path: KeyPath, node: Node) -> None:
        if node.type == "inline_table":
            for pair in _parts(node):
                self._pair(path, pair)
        elif node.type == "array":
            for index, element in enumerate(_parts(node)):
                self._note((*path, index), element)
                self._value((*path, index), element)


def _parts(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _key(node: Node) -> KeyPath:
    """Read a bare, quoted or dotted key as the standard library does."""
    assert node.text is not None
    table = tomllib.loads(f"{node.text.decode()} = 0")
    path: list[str] = []
    while isinstance(table, dict):
        ((part, table),) = table.items()
        path.append(part)
    return tuple(path)
