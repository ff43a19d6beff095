"""Criterion.rs: the folder `target/criterion` that it leaves, or one benchmark's file in it.

A benchmark's latest results stand in `new`: `sample.json` has the samples, `estimates.json` what Criterion
makes of them, `benchmark.json` its name. All samples come from one process. Criterion measures the benchmarks
in the order in which the program names them and writes neither version nor host. Times are in nanoseconds,
which the files do not say.
"""

from collections.abc import Iterator
from pathlib import Path

from assay.foreign.document import Place, fail
from assay.foreign.types import Benchmark, Fact, ForeignRun, Measure, Summary, told_apart

TOOL = "Criterion.rs"

FILES = ("sample.json", "estimates.json")
"""What holds results, the one that tells more first."""

_PARAMETERS = {"group_id": "group", "function_id": "function", "value_str": "value"}


def in_folder(folder: Path) -> Iterator[Path]:
    """Yield the file of the latest results of every benchmark below a folder such as target/criterion."""
    for results in sorted(folder.rglob("new")):
        if file := next((results / name for name in FILES if (results / name).is_file()), None):
            yield file


def criterion(documents: list[tuple[Place, Place | None]]) -> ForeignRun:
    """Return what results say, each with the `benchmark.json` beside it where there is one."""
    return ForeignRun(TOOL, "", told_apart(_benchmark(*pair) for pair in documents), randomised=False)


def _benchmark(results: Place, identity: Place | None) -> Benchmark:
    parameters: dict[str, Fact] = {}
    if identity is None:
        name = Path(results.source).absolute().parent.parent.name
    else:
        name = identity["full_id"].text()
        parameters = {
            parameter: value.text() for key, parameter in _PARAMETERS.items() if (value := identity.get(key))
        }
    measure = _from_estimates(results) if results.get("times") is None else _from_samples(results)
    return Benchmark(name, parameters, 1, (measure,))


def _from_samples(results: Place) -> Measure:
    times, iterations = results["times"].numbers(), results["iters"].numbers()
    if len(times) != len(iterations) or not times or 0 in iterations:
        fail(results.source, "iters", f"has {len(iterations)} numbers of iterations for {len(times)} times")
    samples = tuple(time / count for time, count in zip(times, iterations, strict=True))
    return Measure("time_ns", "ns", (samples,))


def _from_estimates(results: Place) -> Measure:
    median = results["median"]
    interval = median["confidence_interval"]
    low, high = (interval[end].number() for end in ("lower_bound", "upper_bound"))
    return Measure("time_ns", "ns", summary=Summary(median["point_estimate"].number(), "median", low, high))
