"""Reads what programs of Google Benchmark and Catch2 print, as the metrics of a trial."""

from statistics import fmean

from assay.experiment.types import Tool
from assay.foreign import Benchmark, ForeignError, ForeignRun, read_catch2, read_google_benchmark
from assay.words import quoted


def metrics_in(stdout: str, tool: Tool, name: str | None) -> dict[str, float]:
    """Return the metrics of a benchmark in what its program printed: means over its repetitions.

    Args:
        stdout: JSON of Google Benchmark, XML of Catch2.
        tool: which of them.
        name: of the benchmark; None where it is the only one.

    Raises:
        ValueError: it is not there, or failed; the message says why.
    """
    every = read(stdout, tool).benchmarks
    benchmarks = [benchmark for benchmark in every if name in (None, benchmark.name)]
    if name is not None and tool == "google-benchmark":
        # Its programs run a benchmark by its name, and so all that have it.
        again = f"{name} #2"
        if len(benchmarks) > 1 or any(benchmark.name == again for benchmark in every):
            raise ValueError(f"several benchmarks are called {quoted(name)}; give each a name of its own")
    if len(benchmarks) != 1:
        raise ValueError(
            f"the output has {len(benchmarks)} benchmarks; name one: parameters = {{ benchmark = ... }}"
            if name is None
            else f"the benchmark {quoted(name)} is not in the output"
        )
    [benchmark] = benchmarks
    if benchmark.failure:
        raise ValueError(f"{quoted(benchmark.name)}: {benchmark.failure}")
    return _means(benchmark)


def read(stdout: str, tool: Tool) -> ForeignRun:
    """Return the benchmarks in what a program printed.

    Raises:
        ValueError: this tool prints something else.
    """
    try:
        return read_google_benchmark(stdout) if tool == "google-benchmark" else read_catch2(stdout)
    except ForeignError as error:
        raise ValueError(str(error)) from error


def _means(benchmark: Benchmark) -> dict[str, float]:
    means = {}
    for measure in benchmark.measures:
        values = [value for process in measure.samples for value in process]
        if values:
            means[measure.metric] = fmean(values)
        elif measure.summary is not None:
            means[measure.metric] = measure.summary.value
    return means
