"""Google Benchmark's JSON: `--benchmark_out=FILE` or `--benchmark_format=json`.

A row is a repetition of a benchmark, or a statistic over its repetitions, all from one process. The file does
not say whether repetitions were interleaved (`--benchmark_enable_random_interleaving`). Several benchmarks
may have one name: their family, the number of a repetition or, in old files, the order of the rows tells them
apart. Rows of a fitted complexity (BigO and RMS) are no measurements and are skipped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from assay.foreign.document import Place, Text, fail, parse, scaled
from assay.foreign.on_disk import Tally, grouped, told_apart
from assay.foreign.types import Benchmark, Fact, ForeignRun, Measure, Statistic, Summary

TOOL = "Google Benchmark"

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Its units of time -> nanoseconds."""

_TIMES = {"real_time": "real_time_ns", "cpu_time": "cpu_time_ns"}
_STATISTICS: tuple[Statistic, ...] = ("median", "mean")
_OPTIONS = ("iterations", "min_time", "min_warmup_time", "repeats")
_SUFFIXES = ("mean", "median", "stddev", "cv", "min", "max")
"""Statistics that files of before version 1.5 write into the name alone, `BM_parse_stddev`."""


@dataclass(frozen=True)
class _Row:
    """A row of the file.

    Attributes:
        name: of its benchmark.
        statistic: what it is over the repetitions, such as median; empty for a repetition.
    """

    place: Place
    name: str
    statistic: str

    def number(self, key: str) -> float | None:
        """Return a field; None where there is none."""
        place = self.place.get(key)
        return place.number() if place else None


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
        ((row.name, row.number("family_index"), row.number("per_family_instance_index")), row)
        for row in _rows(document["benchmarks"])
    )
    host = context.facts()
    date, version = (str(host.pop(name, "")) for name in ("date", "library_version"))
    return ForeignRun(
        TOOL,
        version,
        told_apart(_benchmark(rows) for of_name in named for rows in _each(of_name)),
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

    old = Tally(place["name"].text() for place in places() if "run_type" not in place.object())
    for place in places():
        kind, name = place.get("run_type"), (place.get("run_name") or place["name"]).text()
        if kind is None:
            base, statistic = _old_statistic(place, name, old)
            yield _Row(place, base, statistic)
        elif kind.value == "iteration":
            yield _Row(place, name, "")
        elif kind.value == "aggregate":
            yield _Row(place, name, place["aggregate_name"].text())
        else:
            kind.fail(f"is {kind.value}, which is neither iteration nor aggregate")


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
    pooled = any(row.statistic or row.number("family_index") is not None for row in rows)
    benchmarks: list[list[_Row]] = []
    seen: set[object] = set()
    for row in rows:
        known_by = row.statistic or row.number("repetition_index")
        another = known_by in seen if known_by is not None else not pooled
        after_statistics = bool(benchmarks and benchmarks[-1][-1].statistic and not row.statistic)
        if not benchmarks or another or after_statistics:
            benchmarks.append([])
            seen = set()
        benchmarks[-1].append(row)
        seen.add(known_by)
    for benchmark in benchmarks:
        repetitions = [row for row in benchmark if not row.statistic]
        wanted = benchmark[0].number("repetitions")
        if len(benchmarks) > 1 and repetitions and wanted not in (None, len(repetitions)):
            benchmark[0].place["name"].fail(
                f"several benchmarks are called {benchmark[0].name}; their repetitions look alike",
                "give each a name of its own, or run them without random interleaving",
            )
        yield benchmark


def _benchmark(rows: Sequence[_Row]) -> Benchmark:
    name, places = rows[0].name, [row.place for row in rows]
    labels = {str(place.object().get("label", "")) for place in places}
    parameters = _parameters(name)
    if len(labels) == 1 and (label := labels.pop()):
        parameters["label"] = label
    for place in places:
        for flag, reason in (("error_occurred", "error_message"), ("skipped", "skip_message")):
            if place.object().get(flag):
                why = place.get(reason)
                return Benchmark(name, parameters, 1, (), failure=why.text() if why else flag)
    units = {place["time_unit"].text(): place for place in places if place.get("time_unit")}
    if len(units) > 1:
        [*_, last] = units.values()
        last["time_unit"].fail(
            f"is {last['time_unit'].text()}, but other rows of {name} have {next(iter(units))}",
            "import the files of each run, not what was put together from several",
        )
    measures = tuple(_measure(key, metric, rows) for key, metric in _TIMES.items())
    return Benchmark(name, parameters, 1, measures)


def _measure(key: str, metric: str, rows: Iterable[_Row]) -> Measure:
    first, *_ = rows
    samples = tuple(_time(row.place, key) for row in rows if not row.statistic)
    if samples:
        return Measure(metric, "ns", (samples,))
    aggregates = {row.statistic: row.place for row in rows}
    statistic = next((statistic for statistic in _STATISTICS if statistic in aggregates), None)
    if statistic is None:
        fail(
            first.place.source,
            first.place.path,
            f"{first.name} has neither repetitions nor their median or mean",
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
    """Return a moment in UTC; None if the text has no time zone, or its year in UTC is not 1 to 9999."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
