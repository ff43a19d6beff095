"""Results that a temporary file holds while they are read, however many they are.

The file is SQLite's, in the folder for temporary files; it has no name, and is gone with the process.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import TypeVar

from msgspec import json
from msgspec.structs import replace

from assay_foreign.types import Benchmark, Benchmarks

Value = TypeVar("Value")

_PACKED_BYTES = 1 << 16
_BENCHMARKS = json.Decoder(Benchmark)

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


def grouped(entries: Iterable[tuple[object, Value]], kind: type[Value]) -> Iterator[list[Value]]:
    """Yield the values of each key, in the order in which the keys first came.

    It is quick where the values of a key follow each other, since these are held together.

    Args:
        kind: of the values, as msgspec writes and reads it.
    """
    held = database("CREATE TABLE run (id INTEGER PRIMARY KEY, key, run_values)")
    runs = (
        (repr(key), json.encode([value for _, value in run])) for key, run in groupby(entries, itemgetter(0))
    )
    held.executemany("INSERT INTO run (key, run_values) VALUES (?, ?)", runs)
    held.execute(
        "CREATE TABLE sorted AS SELECT id AS run, min(id) OVER (PARTITION BY key) AS first FROM run"
        " ORDER BY first, id"
    )
    # CROSS JOIN has SQLite go through the sorted runs, and not sort the values too.
    sorted_runs = held.execute(
        "SELECT first, run_values FROM sorted CROSS JOIN run ON id = run ORDER BY sorted.rowid"
    )
    decode = json.Decoder(list[kind]).decode  # type: ignore[valid-type] # known when it runs
    for _, group in groupby(sorted_runs, itemgetter(0)):
        yield [value for _, run_values in group for value in decode(run_values)]


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
        "CREATE TABLE benchmark (id INTEGER PRIMARY KEY, name, parameters);"
        "CREATE TABLE packed (id INTEGER PRIMARY KEY, benchmarks);"
        "CREATE TABLE renamed (id INTEGER PRIMARY KEY, new_name)"
    )

    names: list[tuple[str, bytes]] = []
    lines = bytearray()
    encoder = json.Encoder()

    def hold() -> None:
        held.execute("INSERT INTO packed (benchmarks) VALUES (?)", (lines,))
        held.executemany("INSERT INTO benchmark (name, parameters) VALUES (?, ?)", names)
        names.clear()
        lines.clear()

    for benchmark in benchmarks:
        names.append((benchmark.name, json.encode(benchmark.parameters, order="sorted")))
        encoder.encode_into(benchmark, lines, -1)
        lines += b"\n"
        if len(lines) > _PACKED_BYTES:
            hold()
    hold()
    held.execute("CREATE INDEX by_name ON benchmark (name, parameters)")
    again = held.execute(
        "SELECT name, parameters FROM benchmark GROUP BY name, parameters HAVING count(*) > 1"
    )
    find = "SELECT id FROM benchmark WHERE name = ? AND parameters = ? ORDER BY id"
    for name, parameters in again:
        free = 2
        for [row] in held.execute(f"{find} LIMIT -1 OFFSET 1", (name, parameters)):
            while held.execute(find, (f"{name} #{free}", parameters)).fetchone():
                free += 1
            held.execute("INSERT INTO renamed VALUES (?, ?)", (row, f"{name} #{free}"))
            free += 1
    [[count]] = held.execute("SELECT count(*) FROM benchmark")

    def read() -> Iterator[Benchmark]:
        renamed = held.execute("SELECT id, new_name FROM renamed ORDER BY id")
        row, name = next(renamed, (0, ""))
        packed = held.execute("SELECT benchmarks FROM packed ORDER BY id")
        every = chain.from_iterable(_BENCHMARKS.decode_lines(lines) for [lines] in packed)
        for number, benchmark in enumerate(every, 1):
            if number == row:
                yield replace(benchmark, name=name)
                row, name = next(renamed, (0, ""))
            else:
                yield benchmark

    return Benchmarks(count, read)
