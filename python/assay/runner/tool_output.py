"""The metrics in the output of other tools' programs; a satellite reads it (entry points `assay.outputs`)."""

from dataclasses import dataclass

from assay.experiment.types import Tool
from assay.runner.process import CannotStartError
from assay.satellites import added, lacking
from assay.words import quoted


@dataclass(frozen=True)
class ToolBenchmark:
    """A benchmark in a program's output; a function in `assay.outputs` returns them for a text.

    Attributes:
        metrics: name -> mean over its repetitions.
        failure: why it failed, or "".
        test_case: the test case to run for it; empty if it is run by its own name.
    """

    name: str
    metrics: dict[str, float]
    failure: str = ""
    test_case: str = ""


def metrics_in(stdout: str, tool: Tool, name: str | None) -> dict[str, float]:
    """Return the metrics of a benchmark in its program's output: means over its repetitions.

    Args:
        stdout: JSON of Google Benchmark, XML of Catch2.
        tool: the tool that printed it.
        name: the benchmark's name; None if it is the only one.

    Raises:
        ValueError: it is missing, or failed; the message says why.
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
    """Check that a satellite reads the output of a tool's programs.

    Raises:
        CannotStartError: no satellite does.
    """
    if tool not in added("assay.outputs"):
        raise CannotStartError(f"what {tool} prints cannot be read: {lacking('assay-foreign')}")


def read(stdout: str, tool: Tool) -> list[ToolBenchmark]:
    """Return the benchmarks in a program's output.

    Raises:
        ValueError: this tool prints something else.
        CannotStartError: no satellite reads it.
    """
    check_readable(tool)
    benchmarks: list[ToolBenchmark] = added("assay.outputs")[tool].load()(stdout)
    return benchmarks
