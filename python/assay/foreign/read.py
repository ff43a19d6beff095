"""Reads a file of any tool that Assay knows."""

from collections.abc import Callable
from pathlib import Path

from assay.foreign.ascylib import ASCYLIB
from assay.foreign.catch2 import is_catch2, read_catch2
from assay.foreign.criterion import FILES, READ, criterion, in_folder
from assay.foreign.document import Place, fail, parse, text_of
from assay.foreign.google_benchmark import google_benchmark
from assay.foreign.harness import harness_of, read_harness
from assay.foreign.hyperfine import hyperfine
from assay.foreign.jmh import jmh
from assay.foreign.pyperf import pyperf
from assay.foreign.setbench import SETBENCH
from assay.foreign.synchrobench import SYNCHROBENCH
from assay.foreign.types import ForeignRun

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
    text = text_of(path)
    if harness := harness_of(text, str(path), _HARNESSES):
        return read_harness(text, str(path), harness)
    run = read_catch2(text, str(path)) if is_catch2(text) else _read_json(text, str(path))
    if not run.benchmarks:
        fail(str(path), "", "holds no benchmark", "let the tool run at least one")
    return run


def _read_json(text: str, source: str) -> ForeignRun:
    if text.lstrip()[:1] not in {"{", "["}:
        fail(
            source,
            "",
            "is neither JSON nor XML nor the text of a harness of maps, so no result of a known tool",
            _HOW,
        )
    document = parse(text, source)
    content = document.value
    fields = content.keys() if isinstance(content, dict) else set[str]()
    reader = next((reader for known_by, reader in _OBJECTS if known_by <= fields), None)
    if isinstance(content, list) and any(
        isinstance(entry, dict) and "jmhVersion" in entry for entry in content
    ):
        reader = jmh
    if reader is None:
        fail(source, "", "is JSON, but not of a tool that Assay knows", _HOW)
    return reader(document)
