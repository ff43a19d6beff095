"""Criterion.rs: the folder `target/criterion` that it leaves, or one benchmark's file in it.

A benchmark's latest results are in `new`: `sample.json` has the samples, `estimates.json` what Criterion
makes of them, `benchmark.json` its name. `raw.csv`, which only its feature `csv_output` writes, has samples,
name and unit. Without it nothing says the unit, which is nanoseconds unless the program measures something
else. All samples come from one process. Criterion measures the benchmarks in the order in which the program
names them and writes neither version nor host.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from assay.words import listed, quoted, shortened, storable
from assay_foreign.document import LARGEST, ForeignError, Items, Place, Text, fail, parse
from assay_foreign.on_disk import told_apart
from assay_foreign.types import Benchmark, Fact, ForeignRun, Measure, Summary

TOOL = "Criterion.rs"

FILES = ("sample.json", "raw.csv", "estimates.json")
"""What holds results, the one that is read first."""
READ = (*FILES, "benchmark.json")

_NAMES = {"group_id": "group", "function_id": "function", "value_str": "value"}
"""Fields of benchmark.json -> columns of raw.csv, and parameters of the benchmark."""
_NANOSECONDS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_AGAIN = "delete its folder and run the benchmark again"


@dataclass(frozen=True)
class _Raw:
    """What raw.csv says.

    Attributes:
        names: column -> value of those that name the benchmark.
        values, iterations: of each sample, in the unit.
    """

    unit: str
    names: dict[str, str]
    values: tuple[float, ...]
    iterations: tuple[float, ...]


def in_folder(folder: Path) -> Iterator[Path]:
    """Yield each folder with the latest results of a benchmark, below one such as target/criterion."""
    for results in sorted(folder.rglob("new")):
        if any((results / name).is_file() for name in FILES):
            yield results


def criterion(path: Path) -> ForeignRun:
    """Return the results in a folder, or in the folder of a file.

    Raises:
        ForeignError: none of them can be read.
    """
    left_out: list[ForeignError] = []

    def readable() -> Iterator[Benchmark]:
        for results in [path.parent] if path.is_file() else in_folder(path):
            try:
                yield _benchmark(results, path if path.is_dir() else None)
            except ForeignError as error:
                left_out.append(error)

    benchmarks = told_apart(readable())
    if not benchmarks:
        raise left_out[0]
    return ForeignRun(
        TOOL, "", benchmarks, randomised=False, left_out=tuple(str(error) for error in left_out)
    )


def _benchmark(results: Path, top: Path | None) -> Benchmark:
    raw = _raw(results / "raw.csv")
    names, amounts = _identity(results / "benchmark.json")
    names = names or (raw.names if raw else {})
    name = "/".join(names.values()) or _place(results, top)
    unit = raw.unit if raw else "ns"
    factor = _NANOSECONDS.get(unit, 1.0)
    metric, unit = ("time_ns", "ns") if unit in _NANOSECONDS else (_metric(unit), unit)
    samples: tuple[tuple[float, ...], ...] = ()
    summary = None
    if (file := results / "sample.json").is_file():
        times, iterations = _samples(file)
        factor *= _scale(raw, times, iterations, results / "raw.csv") if raw else 1.0
        samples = (_each(times, iterations, factor),)
    elif raw:
        samples = (_each(raw.values, raw.iterations, factor),)
    else:
        summary = _from_estimates(results / "estimates.json")
    measure = Measure(metric, unit, samples, summary)
    return Benchmark(name, {**names, **amounts}, 1, (measure,), unit_recorded=raw is not None)


def _each(values: Sequence[float], iterations: Sequence[float], factor: float) -> tuple[float, ...]:
    return tuple(factor * value / count for value, count in zip(values, iterations, strict=True))


def _identity(file: Path) -> tuple[dict[str, str], dict[str, Fact]]:
    """Return what benchmark.json says, where there is one.

    It is the benchmark's group, and its function and value where it has them; and how much an iteration works
    on, such as 4096 bytes.
    """
    if not file.is_file():
        return {}, {}
    identity = parse(Text.of(file))
    names = {column: value.text() for key, column in _NAMES.items() if (value := identity.get(key))}
    if "group" not in names:
        identity.fail("the field group_id is missing", _AGAIN)
    throughput = identity.get("throughput")
    amounts = throughput.facts() if throughput else {}
    return names, {kind.lower(): amount for kind, amount in amounts.items()}


def _place(results: Path, top: Path | None) -> str:
    """Return the name that the place of results gives: from the folder `criterion` on, or from that named."""
    folder = results.absolute().parent
    above = top.absolute() if top else folder
    named = [at for at, part in enumerate(above.parts) if part == "criterion"]
    start = named[-1] + 1 if named else len(above.parts)
    parts = folder.parts[start:]
    if not parts:
        remedy = "import the folder target/criterion, whose subfolders are named after benchmarks"
        fail(str(results), "", "has no benchmark.json that names the benchmark", remedy)
    return storable("/".join(parts))


def _raw(file: Path) -> _Raw | None:
    if not file.is_file():
        return None
    try:
        rows = list(csv.DictReader(Text.of(file).lines(), restval=""))
    except csv.Error as error:
        fail(str(file), "", f"is not CSV ({error})", _AGAIN)
    needed = ("group", "unit", "sample_measured_value", "iteration_count")
    if not rows or any(rows[0].get(column) is None for column in needed):
        fail(str(file), "line 1", f"has no sample with {', '.join(needed)}", _AGAIN)
    units = sorted({row["unit"].strip() for row in rows})
    if len(units) > 1 or not _metric(units[0]):
        fail(str(file), "", f"has the unit {listed([*map(quoted, units)])}", _AGAIN)
    names = {column: rows[0][column] for column in _NAMES.values() if rows[0].get(column)}
    values = tuple(_number(file, number, row["sample_measured_value"]) for number, row in enumerate(rows, 2))
    iterations = tuple(_number(file, number, row["iteration_count"]) for number, row in enumerate(rows, 2))
    if (fewest := min(iterations)) < 1:
        fail(str(file), f"line {iterations.index(fewest) + 2}", "a sample has no iteration", _AGAIN)
    return _Raw(units[0], names, values, iterations)


def _metric(unit: str) -> str:
    """Return the name of a metric that is counted in a unit of the program's own."""
    return re.sub(r"[^a-z0-9]+", "_", unit.lower()).strip("_")


def _number(file: Path, line: int, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = -1.0
    if not 0 <= value <= LARGEST:
        fail(
            str(file),
            f"line {line}",
            f"{shortened(text or 'nothing')} is neither a measurement nor a number of iterations",
            _AGAIN,
        )
    return value


def _scale(raw: _Raw, times: Sequence[float], iterations: Sequence[float], file: Path) -> float:
    """Return how many of the unit of raw.csv are one of sample.json, which are to have the same samples."""
    pairs = list(zip(raw.values, times, strict=False))
    scale = next((value / time for value, time in pairs if time), 1.0)
    same = all(abs(value - scale * time) <= 1e-6 * value for value, time in pairs)
    if not same or any(one != other for one, other in zip(raw.iterations, iterations, strict=False)):
        fail(str(file), "", "its samples are not those of sample.json, so it is of another run", _AGAIN)
    return scale


def _samples(file: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return times and numbers of iterations."""
    results = parse(Text.of(file))
    if isinstance(results.value, Items):
        _too_old(results)
    times, iterations = results["times"].numbers(), results["iters"].numbers()
    if len(times) != len(iterations) or not times:
        fail(results.source, "iters", f"has {len(iterations)} numbers of iterations for {len(times)} times")
    if min(iterations) < 1:
        fail(results.source, "iters", "holds less than one iteration")
    return times, iterations


def _from_estimates(file: Path) -> Summary:
    results = parse(Text.of(file))
    if results.get("Median"):
        _too_old(results)
    median = results["median"]
    interval = median["confidence_interval"]
    low, high = (interval[end].number() for end in ("lower_bound", "upper_bound"))
    return Summary(median["point_estimate"].number(), "median", low, high)


def _too_old(results: Place) -> NoReturn:
    folder = Path(results.source).parent.parent
    remedy = f"delete the folder {folder} and run the benchmark again"
    results.fail("was written before Criterion.rs 0.3.3", remedy)
