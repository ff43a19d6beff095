"""Google Benchmark's JSON: `--benchmark_out=FILE` or `--benchmark_format=json`.

A row is a repetition of a benchmark, or a statistic over its repetitions, all from one process. The file does
not say whether repetitions were interleaved (`--benchmark_enable_random_interleaving`). Several benchmarks
may have one name: their family, the number of a repetition or, in old files, the order of the rows tells them
apart. Rows of a fitted complexity (BigO and RMS) are no measurements and are skipped.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from assay_foreign.document import Place, Text, fail, parse, scaled
from assay_foreign.on_disk import Tally, grouped, told_apart
from assay_foreign.types import Benchmark, Fact, ForeignRun, Measure, Statistic, Summary

TOOL = "Google Benchmark"

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Its units of time -> nanoseconds."""

_TIMES = ("real_time", "cpu_time")
_METRICS = ("real_time_ns", "cpu_time_ns")
_STATISTICS: tuple[Statistic, ...] = ("median", "mean")
_OPTIONS = ("iterations", "min_time", "min_warmup_time", "repeats")
_SUFFIXES = ("mean", "median", "stddev", "cv", "min", "max")
"""Statistics that files of before version 1.5 write into the name alone, `BM_parse_stddev`."""


class _Row(NamedTuple):
    """What is needed of a row of the file; None where it has no such field.

    Attributes:
        source, path: where it stands, for errors.
        name: of its benchmark.
        statistic: what it is over the repetitions, such as median; empty for a repetition.
        family, instance, repetition, repetitions: numbers that tell benchmarks apart.
        failure: why it failed; empty where it did not.
        unit: of its times; empty where it has none.
        times: the fields `_TIMES`; empty where no sample or summary is made of them.
    """

    source: str
    path: str
    name: str
    statistic: str
    family: float | None
    instance: float | None
    repetition: float | None
    repetitions: float | None
    label: str
    failure: str
    unit: str
    times: tuple[float, ...]


def read_google_benchmark(text: str, source: str = "the output") -> ForeignRun:
    """Return what a program with Google Benchmark wrote as JSON.

    Args:
        text: all of it.
        source: what the text is called in errors.

    Raises:
        ForeignError: it is not that, or a field is missing.
    """
    return google_benchmark(parse(Text(source, text)))


def google_benchmark(document: Place) -> ForeignRun:
    """Return what a JSON text of Google Benchmark says."""
    context = document["context"]
    named = grouped(
        ((row.name, row.family, row.instance), tuple(row)) for row in _rows(document["benchmarks"])
    )
    host = context.facts()
    date, version = (str(host.pop(name, "")) for name in ("date", "library_version"))
    return ForeignRun(
        TOOL,
        version,
        told_apart(_benchmark(rows) for of_name in named for rows in _each([*map(_Row._make, of_name)])),
        randomised=None,
        host=host,
        begun=_moment(date),
    )


def _is_fit(place: Place) -> bool:
    """Tell whether a row is about the complexity that was fitted to several benchmarks: BigO or RMS."""
    fields = place.object()
    return "real_time" not in fields and ("real_coefficient" in fields or "rms" in fields)


def _rows(benchmarks: Place) -> Iterator[_Row]:
    """Yield each row with the name of its benchmark."""

    def places() -> Iterator[Place]:
        return (place for place in benchmarks.items() if not _is_fit(place))

    old: Tally | None = None
    for place in places():
        kind, name, statistic = place.get("run_type"), (place.get("run_name") or place["name"]).text(), ""
        if kind is None:
            old = old or Tally(of["name"].text() for of in places() if "run_type" not in of.object())
            name, statistic = _old_statistic(place, name, old)
        elif kind.value == "aggregate":
            statistic = place["aggregate_name"].text()
        elif kind.value != "iteration":
            kind.fail(f"is {kind.value}, which is neither iteration nor aggregate")
        yield _row(place, name, statistic)


def _row(place: Place, name: str, statistic: str) -> _Row:
    """Return a row of a benchmark."""
    failure = _failure(place)
    measures = not failure and statistic in ("", *_STATISTICS)
    unit = place["time_unit"] if measures else place.get("time_unit")
    return _Row(
        place.source,
        place.path,
        name,
        statistic,
        place.number_of("family_index"),
        place.number_of("per_family_instance_index"),
        place.number_of("repetition_index"),
        place.number_of("repetitions"),
        str(place.object().get("label", "")),
        failure,
        unit.text() if unit else "",
        tuple(place[key].number() for key in _TIMES) if measures else (),
    )


def _failure(place: Place) -> str:
    """Return why a row has no times; empty where it has."""
    for flag, reason in (("error_occurred", "error_message"), ("skipped", "skip_message")):
        if place.object().get(flag):
            why = place.get(reason)
            return why.text() if why else flag
    return ""


def _old_statistic(place: Place, name: str, names: Tally) -> tuple[str, str]:
    """Return the benchmark and the statistic of a row of an old file, which has both in the name alone.

    Whoever repeated a benchmark got its mean and standard deviation after the repetitions, then statistics of
    the user's own.
    """
    for cut in [match.start() for match in re.finditer("_", name)][::-1]:
        base, statistic = name[:cut], name[cut + 1 :]
        has_statistics = f"{base}_mean" in names and f"{base}_stddev" in names
        if base not in names:
            if not (has_statistics and statistic in _SUFFIXES):
                continue
        elif has_statistics:
            as_often = names[name] == names[f"{base}_mean"] < names[base] and "/repeats:" not in statistic
            if statistic in _SUFFIXES or (as_often and not place.get("error_occurred")):
                return base, statistic
            continue
        elif statistic not in _SUFFIXES:
            continue
        place["name"].fail(
            f"{name} is a benchmark, or the {statistic} of {base}: this file does not say which",
            "run it with Google Benchmark 1.5 or later, or without --benchmark_report_aggregates_only",
        )
    return name, ""


def _each(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Yield the rows of each benchmark among those that share a name and, where rows have one, a family."""
    if len(rows) == 1:
        yield [*rows]
        return
    pooled = any(row.statistic or row.family is not None for row in rows)
    benchmarks: list[list[_Row]] = []
    seen: set[object] = set()
    for row in rows:
        known_by = row.statistic or row.repetition
        another = known_by in seen if known_by is not None else not pooled
        after_statistics = bool(benchmarks and benchmarks[-1][-1].statistic and not row.statistic)
        if not benchmarks or another or after_statistics:
            benchmarks.append([])
            seen = set()
        benchmarks[-1].append(row)
        seen.add(known_by)
    for benchmark in benchmarks:
        first, repetitions = benchmark[0], [row for row in benchmark if not row.statistic]
        if len(benchmarks) > 1 and repetitions and first.repetitions not in (None, len(repetitions)):
            fail(
                first.source,
                f"{first.path}.name",
                f"several benchmarks are called {first.name}; their repetitions look alike",
                "give each a name of its own, or run them without random interleaving",
            )
        yield benchmark


def _benchmark(rows: Sequence[_Row]) -> Benchmark:
    first = rows[0]
    labels = {row.label for row in rows}
    parameters = _parameters(first.name)
    if len(labels) == 1 and (label := labels.pop()):
        parameters["label"] = label
    if failure := next((row.failure for row in rows if row.failure), ""):
        return Benchmark(first.name, parameters, 1, (), failure)
    units = {row.unit: row for row in rows if row.unit}
    if len(units) > 1:
        last = [*units.values()][-1]
        fail(
            last.source,
            f"{last.path}.time_unit",
            f"is {last.unit}, but other rows of {first.name} have {next(iter(units))}",
            "import the files of each run, not what was put together from several",
        )
    repetitions = [row for row in rows if not row.statistic]
    if repetitions:
        by_time = zip(*map(_times, repetitions), strict=True)
        measures = [Measure(metric, "ns", (of,)) for metric, of in zip(_METRICS, by_time, strict=True)]
    elif summaries := [(name, row) for name in _STATISTICS for row in rows if row.statistic == name]:
        statistic, row = summaries[0]
        measures = [
            Measure(metric, "ns", summary=Summary(time, statistic))
            for metric, time in zip(_METRICS, _times(row), strict=True)
        ]
    else:
        fail(
            first.source,
            first.path,
            f"{first.name} has neither repetitions nor their median or mean",
            "run it without --benchmark_report_aggregates_only",
        )
    return Benchmark(first.name, parameters, 1, tuple(measures))


def _times(row: _Row) -> tuple[float, ...]:
    """Return the times of a row in nanoseconds."""
    if row.unit not in NANOSECONDS:
        mistake = f"is {row.unit}, which is none of {', '.join(NANOSECONDS)}"
        fail(row.source, f"{row.path}.time_unit", mistake)
    return scaled(row.times, NANOSECONDS[row.unit])


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
    """Return a moment in UTC; None if the text has no time zone, or its year in UTC is not 1 to 9999."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
