"""The metrics in what programs of other tools print: a satellite reads it (entry points `assay.outputs`)."""

from dataclasses import dataclass

from assay.experiment.types import Tool
from assay.runner.process import CannotStartError
from assay.satellites import added, lacking
from assay.words import quoted


@dataclass(frozen=True)
class ToolBenchmark:
    """A benchmark in what a program printed: a function in `assay.outputs` returns them for the text.

    Attributes:
        metrics: name -> mean over its repetitions.
        failure: why it failed; empty where it did not.
        test_case: what is run to have it; empty where that is the benchmark itself.
    """

    name: str
    metrics: dict[str, float]
    failure: str = ""
    test_case: str = ""


def metrics_in(stdout: str, tool: Tool, name: str | None) -> dict[str, float]:
    """Return the metrics of a benchmark in what its program printed: means over its repetitions.

    Args:
        stdout: JSON of Google Benchmark, XML of Catch2.
        tool: which of them.
        name: of the benchmark; None where it is the only one.

    Raises:
        ValueError: it is not there, or failed; the message says why.
        CannotStartError: no satellite reads it.
    """
    every = read(stdout, tool)
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
    return benchmark.metrics


def check_readable(tool: Tool) -> None:
    """Check that a satellite reads what programs of a tool print.

    Raises:
        CannotStartError: there is none.
    """
    if tool not in added("assay.outputs"):
        raise CannotStartError(f"what {tool} prints cannot be read: {lacking('assay-foreign')}")


def read(stdout: str, tool: Tool) -> list[ToolBenchmark]:
    """Return the benchmarks in what a program printed.

    Raises:
        ValueError: this tool prints something else.
        CannotStartError: no satellite reads it.
    """
    check_readable(tool)
    benchmarks: list[ToolBenchmark] = added("assay.outputs")[tool].load()(stdout)
    return benchmarks
