"""Google Benchmark's JSON: `--benchmark_out=FILE` or `--benchmark_format=json`.

A row is a repetition of a benchmark, or an aggregate over its repetitions, all from one process. The
file does not tell whether repetitions were interleaved (`--benchmark_enable_random_interleaving`).
"""

import re
from collections.abc import Sequence
from datetime import datetime

from assay.foreign.document import Place, fail, parse, scaled
from assay.foreign.types import Benchmark, Fact, ForeignRun, Measure, Statistic, Summary

TOOL = "Google Benchmark"

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Its units of time -> nanoseconds."""

_TIMES = {"real_time": "real_time_ns", "cpu_time": "cpu_time_ns"}
_STATISTICS: tuple[Statistic, ...] = ("median", "mean")
_OPTIONS = ("iterations", "min_time", "min_warmup_time", "repeats")


def read_google_benchmark(text: str, source: str = "the output") -> ForeignRun:
    """Return what a program with Google Benchmark wrote as JSON.

    Args:
        text: all of it.
        source: what the text is called in errors.

    Raises:
        ForeignError: it is not that, or a field is missing.
    """
    return google_benchmark(parse(text, source))


def google_benchmark(document: Place) -> ForeignRun:
    """Return what a JSON text of Google Benchmark says."""
    context = document["context"]
    rows: dict[str, list[Place]] = {}
    for row in document["benchmarks"].items():
        rows.setdefault((row.get("run_name") or row["name"]).text(), []).append(row)
    host = context.facts()
    date, version = (str(host.pop(name, "")) for name in ("date", "library_version"))
    return ForeignRun(
        TOOL,
        version,
        tuple(_benchmark(name, of_name) for name, of_name in rows.items()),
        randomised=None,
        host=host,
        begun=_moment(date),
    )


def _benchmark(name: str, rows: Sequence[Place]) -> Benchmark:
    parameters = _parameters(name)
    for row in rows:
        for flag, reason in (("error_occurred", "error_message"), ("skipped", "skip_message")):
            if row.object().get(flag):
                why = row.get(reason)
                return Benchmark(name, parameters, 1, (), failure=why.text() if why else flag)
    units = {row["time_unit"].text(): row for row in rows if row.get("time_unit")}
    if len(units) > 1:
        [*_, last] = units.values()
        last["time_unit"].fail(
            f"is {last['time_unit'].text()}, but other rows of {name} have {next(iter(units))}",
            "import the files of each run, not what was put together from several",
        )
    measures = tuple(_measure(key, metric, name, rows) for key, metric in _TIMES.items())
    return Benchmark(name, parameters, 1, measures)


def _measure(key: str, metric: str, name: str, rows: Sequence[Place]) -> Measure:
    aggregates = {
        row["aggregate_name"].text(): row for row in rows if row.object().get("run_type") == "aggregate"
    }
    samples = tuple(_time(row, key) for row in rows if row.object().get("run_type") != "aggregate")
    if samples:
        return Measure(metric, "ns", (samples,))
    statistic = next((statistic for statistic in _STATISTICS if statistic in aggregates), None)
    if statistic is None:
        fail(
            rows[0].source,
            rows[0].path,
            f"{name} has neither repetitions nor their median or mean",
            "run it without --benchmark_report_aggregates_only",
        )
    return Measure(metric, "ns", summary=Summary(_time(aggregates[statistic], key), statistic))


def _time(row: Place, key: str) -> float:
    unit = row["time_unit"]
    if unit.value not in NANOSECONDS:
        unit.fail(f"is {unit.value}, which is none of {', '.join(NANOSECONDS)}")
    return scaled((row[key].number(),), NANOSECONDS[unit.text()])[0]


def _parameters(name: str) -> dict[str, Fact]:
    """Return what a name such as copy/bytes:4096/8/real_time says of arguments."""
    parameters: dict[str, Fact] = {}
    unnamed = 0
    for part in name.split("/")[1:]:
        argument, _, value = part.rpartition(":")
        if not re.fullmatch(r"-?\d{1,18}", value) or argument in _OPTIONS or argument.endswith(":"):
            continue
        if not argument:
            unnamed += 1
            argument = f"argument {unnamed}"
        parameters[argument] = int(value)
    return parameters


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
