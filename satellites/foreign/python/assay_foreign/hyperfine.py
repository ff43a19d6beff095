"""hyperfine's JSON (`--export-json FILE`): the time of every run of each command, each in its own process.

hyperfine runs one command after the other, never in turns, and writes neither its version nor its host.
"""

from assay_foreign.document import Place, scaled
from assay_foreign.on_disk import told_apart
from assay_foreign.types import Benchmark, ForeignRun, Measure, Summary

TOOL = "hyperfine"


def hyperfine(document: Place) -> ForeignRun:
    """Return what a JSON text of hyperfine says."""
    benchmarks = told_apart(_benchmark(result) for result in document["results"].items())
    return ForeignRun(TOOL, "", benchmarks, randomised=False)


def _benchmark(result: Place) -> Benchmark:
    command = result["command"].text()
    parameters = result.get("parameters")
    told = parameters.facts() if parameters else {}
    failure = _failure(result)
    times = result.get("times")
    if times is None:
        mean, *_ = scaled((result["mean"].number(),), 1e9)
        time = Measure("time_ns", "ns", summary=Summary(mean, "mean"))
        return Benchmark(command, told, 1, (time,), failure)
    samples = scaled(times.numbers(), 1e9)
    if not samples:
        times.fail("holds no time")
    time = Measure("time_ns", "ns", tuple((sample,) for sample in samples))
    return Benchmark(command, told, len(samples), (time,), failure)


def _failure(result: Place) -> str:
    """Return which runs ended with other exit codes than 0, which hyperfine permits with --ignore-failure."""
    codes = result.get("exit_codes")
    failed = sum(code.value != 0 for code in codes.items()) if codes else 0
    if not failed:
        return ""
    return f"{failed} of its runs ended with an exit code other than 0 or by a signal"
