"""Reads a file of any tool that Assay knows."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from assay_foreign.ascylib import ASCYLIB
from assay_foreign.catch2 import catch2, is_catch2
from assay_foreign.criterion import FILES, READ, criterion, in_folder
from assay_foreign.document import ForeignError, Items, Place, Text, fail, parse
from assay_foreign.google_benchmark import google_benchmark
from assay_foreign.harness import harness_of, read_harness
from assay_foreign.hyperfine import hyperfine
from assay_foreign.jmh import jmh
from assay_foreign.pyperf import pyperf
from assay_foreign.setbench import SETBENCH
from assay_foreign.synchrobench import SYNCHROBENCH
from assay_foreign.types import ForeignRun

_HOW = (
    "import what these write: Google Benchmark --benchmark_out=FILE, Catch2 --reporter xml, "
    "hyperfine --export-json FILE, pyperf -o FILE, Criterion.rs target/criterion, JMH -rf json, "
    "and the text of Setbench, Synchrobench and ASCYLIB"
)

_HARNESSES = (SETBENCH, SYNCHROBENCH, ASCYLIB)

_OBJECTS: tuple[tuple[frozenset[str], Callable[[Place], ForeignRun]], ...] = (
    (frozenset({"context", "benchmarks"}), google_benchmark),
    (frozenset({"results"}), hyperfine),
    (frozenset({"benchmarks", "version"}), pyperf),
)
"""The fields of a tool's JSON object by which it is known."""


def files_of(path: Path) -> list[Path]:
    """Return the files that hold the results at a path, which may be Criterion's folder.

    Raises:
        ForeignError: there are none.
    """
    if path.is_file() and path.name not in FILES:
        return [path]
    if not path.exists():
        fail(
            str(path), "", "there is no such file", "name a file of results, or Criterion's target/criterion"
        )
    folders = [path.parent] if path.is_file() else in_folder(path)
    files = [folder / name for folder in folders for name in READ if (folder / name).is_file()]
    return files or fail(
        str(path), "", "holds no results of Criterion.rs (BENCHMARK/new/estimates.json)", _HOW
    )


def read(path: Path) -> ForeignRun:
    """Return the results in a file of another tool, or in Criterion's folder.

    Raises:
        ForeignError: it cannot be read, is of no known tool, is cut off, lacks a field or holds no benchmark.
    """
    files_of(path)
    if path.is_dir() or path.name in FILES:
        return criterion(path)
    try:
        run = _read(Text.of(path))
    except sqlite3.Error as error:
        remedy = "free space in the folder for temporary files (TMPDIR)"
        fail(str(path), "", f"cannot be sorted ({error})", remedy)
    if not run.benchmarks:
        fail(str(path), "", "holds no benchmark", "let the tool run at least one")
    return run


def _read(text: Text) -> ForeignRun:
    first = next((line.lstrip()[0] for line in text.lines() if line.strip()), "")
    damage: ForeignError | None = None
    if first in {"{", "["}:
        try:
            document = parse(text)
        except ForeignError as error:
            damage = error  # and yet the text may be that of a harness
        else:
            return _read_json(document)
    for line in text.lines():
        if harness := harness_of(line, _HARNESSES):
            return read_harness(text, harness, _HARNESSES)
        if is_catch2(line):
            return catch2(text)
    if damage:
        raise damage
    if first == "<":
        return catch2(text)
    mistake = "is neither JSON nor XML nor the text of a harness of maps, so no result of a known tool"
    return fail(text.source, "", mistake, _HOW)


def _read_json(document: Place) -> ForeignRun:
    content = document.value
    fields = content.keys() if isinstance(content, dict) else set[str]()
    reader = next((reader for known_by, reader in _OBJECTS if known_by <= fields), None)
    if isinstance(content, Items) and any(
        isinstance(entry, dict) and "jmhVersion" in entry for entry in content
    ):
        reader = jmh
    if reader is None:
        fail(document.source, "", "is JSON, but not of a tool that Assay knows", _HOW)
    return reader(document)
