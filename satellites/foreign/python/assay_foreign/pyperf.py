"""pyperf's JSON (`-o FILE`): several processes for each benchmark, one benchmark after the other."""

import shlex
from collections.abc import Iterator

from assay_foreign.document import Place, plain, scaled
from assay_foreign.on_disk import told_apart
from assay_foreign.types import Benchmark, ForeignRun, Measure

TOOL = "pyperf"

_FORMAT = "1.0"

_HOST = (
    *("hostname", "platform", "cpu_model_name", "cpu_count", "cpu_config", "cpu_affinity", "aslr"),
    *("python_implementation", "python_version", "python_compiler", "timer"),
)


def pyperf(document: Place) -> ForeignRun:
    """Return what a JSON text of pyperf says."""
    version = document["version"]
    if version.value != _FORMAT:
        file = shlex.quote(document.source)
        version.fail(
            f"is format {version.value} of pyperf, not {_FORMAT}",
            f"write the file anew: pyperf convert {file} -o new.json",
        )
    metadata = document.get("metadata")
    common = metadata.object() if metadata else {}
    benchmarks = told_apart(_benchmark(benchmark, metadata) for benchmark in document["benchmarks"].items())
    host = {name: plain(common[name]) for name in _HOST if isinstance(common.get(name), str | int | float)}
    return ForeignRun(TOOL, str(common.get("perf_version", "")), benchmarks, randomised=False, host=host)


def _benchmark(benchmark: Place, common: Place | None) -> Benchmark:
    own = benchmark.get("metadata")

    def told(key: str) -> Place | None:
        return next((value for place in (own, common) if place and (value := place.get(key))), None)

    name = told("name")
    if name is None:
        benchmark.fail(
            "no metadata names the benchmark", "run it with a name, as with --name of pyperf timeit"
        )
    unit = told("unit")
    processes = tuple(_processes(benchmark))
    if not processes:
        benchmark["runs"].fail("no run has a value", "let the benchmark run to its end")
    match unit.text() if unit else "second":
        case "second":
            measure = Measure("time_ns", "ns", tuple(scaled(values, 1e9) for values in processes))
        case "byte":
            measure = Measure("memory_bytes", "bytes", processes)
        case "integer":
            measure = Measure("value", "", processes)
        case other:
            assert unit is not None
            unit.fail(f"is {other}, which is none of second, byte, integer")
    return Benchmark(name.text(), {}, len(processes), (measure,))


def _processes(benchmark: Place) -> Iterator[tuple[float, ...]]:
    """Yield the values of each process, but for those that only calibrated."""
    for run in benchmark["runs"].items():
        values = run.get("values")
        if values is not None and (numbers := values.numbers()):
            yield numbers
