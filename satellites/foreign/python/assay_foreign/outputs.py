"""What programs of Google Benchmark and Catch2 print, as benchmarks for trials and `assay ab`."""

from statistics import fmean

from assay.runner.tool_output import ToolBenchmark
from assay_foreign.catch2 import read_catch2
from assay_foreign.document import ForeignError
from assay_foreign.google_benchmark import read_google_benchmark
from assay_foreign.types import Benchmark, ForeignRun


def from_google_benchmark(stdout: str) -> list[ToolBenchmark]:
    """Return the benchmarks in JSON of Google Benchmark.

    Raises:
        ValueError: it is something else.
    """
    try:
        return _benchmarks(read_google_benchmark(stdout))
    except ForeignError as error:
        raise ValueError(str(error)) from error


def from_catch2(stdout: str) -> list[ToolBenchmark]:
    """Return the benchmarks in XML of Catch2.

    Raises:
        ValueError: it is something else.
    """
    try:
        return _benchmarks(read_catch2(stdout))
    except ForeignError as error:
        raise ValueError(str(error)) from error


def _benchmarks(run: ForeignRun) -> list[ToolBenchmark]:
    return [
        ToolBenchmark(benchmark.name, _means(benchmark), benchmark.failure, benchmark.test_case)
        for benchmark in run.benchmarks
    ]


def _means(benchmark: Benchmark) -> dict[str, float]:
    means = {}
    for measure in benchmark.measures:
        values = [value for process in measure.samples for value in process]
        if values:
            means[measure.metric] = fmean(values)
        elif measure.summary is not None:
            means[measure.metric] = measure.summary.value
    return means
