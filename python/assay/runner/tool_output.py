"""Reads what programs of Google Benchmark and Catch2 print of one benchmark."""

import json
import re
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any
from xml.etree import ElementTree as Xml

from assay.experiment.types import Tool
from assay.words import printable, shortened

_NS: Mapping[str, float] = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
_METRIC = re.compile("[a-z][a-z0-9_]*")
_NO_METRICS = (
    *("family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads"),
    *("real_time", "cpu_time"),  # they are there in ns
)


def metrics_in(stdout: str, tool: Tool, benchmark: str | None) -> dict[str, float]:
    """Return the metrics of a benchmark in what its program printed.

    Args:
        stdout: JSON of Google Benchmark, XML of Catch2.
        tool: which of them.
        benchmark: its name; None where it is the only one.

    Raises:
        ValueError: it is not there; the message says what is, or what is wrong.
    """
    read = google_benchmarks if tool == "google-benchmark" else catch2_benchmarks
    found = {name: metrics for name, metrics in read(stdout) if benchmark in (None, name)}
    if len(found) == 1:
        return next(iter(found.values()))
    if benchmark is None:
        why = f"{len(found)} benchmarks are in the output; name one: parameters = {{ benchmark = ... }}"
    else:
        why = f"the benchmark {printable(shortened(benchmark))} is not in the output"
    raise ValueError(why)


def google_benchmarks(stdout: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and metrics of each benchmark: times in ns, rates, and counters; means over repetitions.

    Raises:
        ValueError: this is no output of Google Benchmark, or a benchmark says that it failed.
    """
    try:
        entries = json.loads(stdout)["benchmarks"]
        names = [entry["run_name"] for entry in entries if entry["run_type"] == "iteration"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError("the output is not JSON of Google Benchmark; look at it") from error
    for name in dict.fromkeys(names):
        runs = [entry for entry in entries if (entry["run_name"], entry["run_type"]) == (name, "iteration")]
        for run in runs:
            if run.get("error_occurred"):
                raise ValueError(f"{name}: {printable(str(run.get('error_message', 'failed')))}")
        each = [_google_metrics(run) for run in runs]
        yield name, {metric: fmean(of[metric] for of in each if metric in of) for metric in each[0]}


def _google_metrics(run: Mapping[str, Any]) -> dict[str, float]:
    to_ns = _NS[run.get("time_unit", "ns")]
    metrics = {f"{name}_ns": run[name] * to_ns for name in ("real_time", "cpu_time")}
    others = {
        name: float(value)
        for name, value in run.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and _METRIC.fullmatch(name)
    }
    return metrics | {name: value for name, value in others.items() if name not in _NO_METRICS}


def catch2_benchmarks(stdout: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and metrics of each benchmark in the XML of Catch2.

    Raises:
        ValueError: this is no such XML.
    """
    for _, name, metrics in catch2_by_test(stdout):
        yield name, metrics


def catch2_by_test(stdout: str) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield the test case, the name and the metrics of each benchmark in the XML of Catch2.

    Raises:
        ValueError: this is no such XML.
    """
    try:
        root = Xml.fromstring(stdout)  # noqa: S314  # of the user's own program, which could do worse
        for test in root.iter("TestCase"):
            for results in test.iter("BenchmarkResults"):
                metrics = {
                    f"{metric}_ns": float(found.attrib["value"])
                    for metric, tag in (("mean", "mean"), ("standard_deviation", "standardDeviation"))
                    for found in results.findall(tag)
                }
                yield test.attrib["name"], results.attrib["name"], metrics
    except (Xml.ParseError, LookupError) as error:
        raise ValueError("the output is not XML of Catch2; look at it") from error
