"""Results that a temporary file holds while they are read, however many they are.

The file is SQLite's, in the folder for temporary files; it has no name, and is gone with the process.
"""

import json
import pickle
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from assay.foreign.types import Benchmark, Benchmarks

Value = TypeVar("Value")

_SET_UP = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16000;
"""


def database(tables: str) -> sqlite3.Connection:
    """Return a temporary database with some tables."""
    connection = sqlite3.connect("", isolation_level=None)
    connection.executescript(_SET_UP + tables)
    connection.execute("BEGIN")
    return connection


def grouped(entries: Iterable[tuple[object, Value]]) -> Iterator[list[Value]]:
    """Yield the values of each key, in the order in which the keys first came."""
    held = database("CREATE TABLE entry (id INTEGER PRIMARY KEY, key, value)")
    rows = ((repr(key), pickle.dumps(value)) for key, value in entries)
    held.executemany("INSERT INTO entry (key, value) VALUES (?, ?)", rows)
    held.execute(
        "CREATE TABLE sorted AS SELECT id AS entry, min(id) OVER (PARTITION BY key) AS first FROM entry"
        " ORDER BY first, id"
    )
    # CROSS JOIN has SQLite go through the sorted entries, and not sort the values too.
    values = held.execute(
        "SELECT first, value FROM sorted CROSS JOIN entry ON id = entry ORDER BY sorted.rowid"
    )
    for _, group in groupby(values, itemgetter(0)):
        yield [_unpickled(value) for _, value in group]


class Tally:
    """How often each text came."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._held = database("CREATE TABLE tally (text PRIMARY KEY, count) WITHOUT ROWID")
        count = "INSERT INTO tally VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1"
        self._held.executemany(count, ((text,) for text in texts))

    def __getitem__(self, text: str) -> int:
        """Return how often a text came."""
        found = self._held.execute("SELECT count FROM tally WHERE text = ?", (text,)).fetchone()
        return found[0] if found else 0

    def __contains__(self, text: str) -> bool:
        """Tell whether a text came."""
        return self[text] > 0


def told_apart(benchmarks: Iterable[Benchmark]) -> Benchmarks:
    """Return benchmarks no two of which have the same name and parameters: the second one gets #2."""
    held = database(
        "CREATE TABLE benchmark (id INTEGER PRIMARY KEY, name, parameters, content);"
        "CREATE TABLE renamed (id INTEGER PRIMARY KEY, new_name)"
    )
    rows = ((of.name, json.dumps(sorted(of.parameters.items())), pickle.dumps(of)) for of in benchmarks)
    held.executemany("INSERT INTO benchmark (name, parameters, content) VALUES (?, ?, ?)", rows)
    held.execute("CREATE INDEX by_name ON benchmark (name, parameters)")
    again = held.execute(
        "SELECT id, name, parameters, number FROM (SELECT id, name, parameters, row_number() OVER"
        " (PARTITION BY name, parameters ORDER BY id) AS number FROM benchmark) WHERE number > 1"
    )
    free = 0
    for row, name, parameters, number in again:
        free = 2 if number == 2 else free + 1
        while held.execute(
            "SELECT 1 FROM benchmark WHERE name = ? AND parameters = ?", (f"{name} #{free}", parameters)
        ).fetchone():
            free += 1
        held.execute("INSERT INTO renamed VALUES (?, ?)", (row, f"{name} #{free}"))
    [[count]] = held.execute("SELECT count(*) FROM benchmark")

    def read() -> Iterator[Benchmark]:
        for content, name in held.execute(
            "SELECT content, new_name FROM benchmark LEFT JOIN renamed USING (id) ORDER BY id"
        ):
            benchmark = _unpickled(content)
            yield replace(benchmark, name=name) if name else benchmark

    return Benchmarks(count, read)


def _unpickled(content: bytes) -> Any:
    return pickle.loads(content)  # noqa: S301 - this process wrote it
