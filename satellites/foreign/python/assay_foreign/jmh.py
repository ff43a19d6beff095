"""JMH's JSON (`-rf json`): scores of each iteration of each fork, which is a process.

JMH runs the benchmarks in the order of their names. A time per operation is in nanoseconds here, a
throughput in operations a second, whatever units the file has.
"""

from collections.abc import Mapping

from assay_foreign.document import Place, plain, scaled
from assay_foreign.on_disk import told_apart
from assay_foreign.types import Benchmark, Fact, ForeignRun, Measure, own_of, shared_of

TOOL = "JMH"

_SECONDS = {
    **{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
    **{"min": 60.0, "hr": 3600.0, "day": 86400.0},
}
_TIMES = ("avgt", "sample", "ss")
_REQUESTED = (
    *("jvm", "jvmArgs", "jdkVersion", "vmName", "vmVersion", "forks"),
    *("warmupIterations", "warmupTime", "warmupBatchSize"),
    *("measurementIterations", "measurementTime", "measurementBatchSize"),
)
"""What results of one benchmark may differ in, apart from its parameters."""


def jmh(document: Place) -> ForeignRun:
    """Return what a JSON text of JMH says."""
    versions = {result["jmhVersion"].text() for result in document.items()}
    host = shared_of(map(_requested, document.items()))
    benchmarks = told_apart(
        _benchmark(result, own_of(_requested(result), host)) for result in document.items()
    )
    return ForeignRun(TOOL, " and ".join(sorted(versions)), benchmarks, randomised=False, host=host)


def _requested(result: Place) -> dict[str, Fact]:
    return {name: _fact(result[name].value) for name in _REQUESTED if result.get(name)}


def _fact(value: object) -> Fact:
    """Return a plain value, or a list such as that of the arguments of a virtual machine in one line."""
    return (
        plain(value)
        if isinstance(value, Fact)
        else " ".join(map(str, value))
        if isinstance(value, list)
        else ""
    )


def _benchmark(result: Place, requested: Mapping[str, Fact]) -> Benchmark:
    name = result["benchmark"].text()
    mode = result["mode"].text()
    given = result.get("params")
    parameters: dict[str, Fact] = {"mode": mode, **requested}
    threads = result.get("threads")
    if threads and (count := int(threads.number())) != 1:
        parameters["threads"] = count
    for parameter, value in (given.facts() if given else {}).items():
        parameters[f"@Param {parameter}" if parameter in parameters else parameter] = value
    metric = result["primaryMetric"]
    unit = metric["scoreUnit"]
    if mode == "thrpt":
        factor = 1 / _seconds(unit, prefix="ops/")
        measure = Measure("throughput", "op/s", _samples(metric, factor))
    elif mode in _TIMES:
        factor = 1e9 * _seconds(unit, suffix="/op")
        measure = Measure("time_ns", "ns", _samples(metric, factor))
    else:
        result["mode"].fail(f"is {mode}, which is none of thrpt, {', '.join(_TIMES)}")
    return Benchmark(name, parameters, len(measure.samples), (measure,))


def _seconds(unit: Place, *, prefix: str = "", suffix: str = "") -> float:
    """Return how long the unit of time in a score's unit is."""
    text = unit.text()
    name = text.removeprefix(prefix).removesuffix(suffix)
    if text != f"{prefix}{name}{suffix}" or name not in _SECONDS:
        unit.fail(f"is {text}, which is not {prefix}TIME{suffix} as the mode of this benchmark has it")
    return _SECONDS[name]


def _samples(metric: Place, factor: float) -> tuple[tuple[float, ...], ...]:
    """Return the score of each iteration, fork by fork; of a histogram the mean of each iteration."""
    histogram = metric.get("rawDataHistogram")
    if histogram is not None:
        forks = tuple(tuple(map(_mean, fork.items())) for fork in histogram.items())
    else:
        forks = tuple(fork.numbers() for fork in metric["rawData"].items())
    if not all(forks) or not forks:
        metric.fail("holds no score of any iteration", "let every fork run to its end")
    return tuple(scaled(fork, factor) for fork in forks)


def _mean(iteration: Place) -> float:
    """Return the mean of an iteration's histogram: pairs of a time and how often it was met."""
    pairs = [pair.numbers() for pair in iteration.items()]
    if any(len(pair) != 2 for pair in pairs) or sum(count for *_, count in pairs) == 0:
        iteration.fail("is not a histogram of a time and how often it was met")
    return sum(time * count for time, count in pairs) / sum(count for _, count in pairs)
