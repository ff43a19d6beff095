"""Google Benchmark's JSON: `--benchmark_out=FILE` or `--benchmark_format=json`.

A row is a repetition of a benchmark, or a statistic over its repetitions, all from one process. The file does
not say whether repetitions were interleaved (`--benchmark_enable_random_interleaving`). Several benchmarks
may have one name: their family, the number of a repetition or, in old files, the order of the rows tells them
apart. Rows of a fitted complexity (BigO and RMS) are no measurements and are skipped.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

import msgspec

from assay_foreign.document import LARGEST, ForeignError, Place, Text, fail, parse
from assay_foreign.on_disk import Tally, grouped, told_apart
from assay_foreign.types import Benchmark, Fact, ForeignRun, Measure, Statistic, Summary

TOOL = "Google Benchmark"

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Its units of time -> nanoseconds."""

_TIMES = ("real_time", "cpu_time")
_METRICS = ("real_time_ns", "cpu_time_ns")
_STATISTICS: tuple[Statistic, ...] = ("median", "mean")
_OPTIONS = ("iterations", "min_time", "min_warmup_time", "repeats")
_WHOLE = re.compile(r"-?\d{1,18}")
_SUFFIXES = ("mean", "median", "stddev", "cv", "min", "max")
"""Statistics that files of before version 1.5 write into the name alone, `BM_parse_stddev`."""


_Number = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)] | None


class _Fields(msgspec.Struct, omit_defaults=True, gc=False):
    """The fields of a row that are read; None where it has no such field."""

    name: str | None = None
    run_name: str | None = None
    run_type: str | None = None
    aggregate_name: str | None = None
    family_index: _Number = None
    per_family_instance_index: _Number = None
    repetition_index: _Number = None
    repetitions: _Number = None
    label: str = ""
    error_occurred: Any = None
    error_message: str | None = None
    skipped: Any = None
    skip_message: str | None = None
    time_unit: str | None = None
    real_time: _Number = None
    cpu_time: _Number = None
    real_coefficient: Any = None
    rms: Any = None


_TEXTS = ("name", "run_name", "run_type", "aggregate_name", "error_message", "skip_message", "time_unit")
_NUMBERS = ("family_index", "per_family_instance_index", "repetition_index", "repetitions")
_DECODER = msgspec.json.Decoder(list[_Fields])


class _Row(msgspec.Struct, array_like=True, gc=False):
    """What is needed of a row of the file; None where it has no such field.

    Attributes:
        number: its place among the rows, from 0.
        name: of its benchmark.
        statistic: what it is over the repetitions, such as median; empty for a repetition.
        family, instance, repetition, repetitions: numbers that tell benchmarks apart.
        failure: why it failed; empty where it did not.
        unit: of its times; empty where it has none.
        times: the fields `_TIMES`; empty where no sample or summary is made of them.
    """

    number: int
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
    try:
        benchmarks = told_apart(_benchmarks(document, _in_order))
    except (_UnorderedError, ForeignError):
        benchmarks = told_apart(_benchmarks(document, partial(grouped, kind=_Row)))
    host = context.facts()
    date, version = (str(host.pop(name, "")) for name in ("date", "library_version"))
    return ForeignRun(TOOL, version, benchmarks, randomised=None, host=host, begun=_moment(date))


class _UnorderedError(Exception):
    """Rows of one benchmark may be apart from each other."""


_Keyed = Iterable[tuple[tuple[str, float | None, float | None], _Row]]


def _benchmarks(document: Place, group: Callable[[_Keyed], Iterable[list[_Row]]]) -> Iterator[Benchmark]:
    """Yield the benchmarks of a file; `group` makes groups of rows that have the same name and numbers."""
    keyed = (((row.name, row.family, row.instance), row) for row in _rows(document["benchmarks"]))
    for rows in group(keyed):
        for of_benchmark in _each(rows, document.source):
            yield _benchmark(of_benchmark, document.source)


def _in_order(keyed: _Keyed) -> Iterator[list[_Row]]:
    """Yield the rows of each key while the numbers in the keys rise, so that no key can come again.

    Raises:
        _UnorderedError: they do not.
    """
    last: tuple[float, ...] = ()
    for (_, family, instance), rows in groupby(keyed, itemgetter(0)):
        if family is None or instance is None or (family, instance) <= last:
            raise _UnorderedError
        last = (family, instance)
        yield [row for _, row in rows]


def _fields(benchmarks: Place) -> Iterator[tuple[int, _Fields, bool]]:
    """Yield number and fields of each row, and whether its times have been checked.

    Rows about the complexity that was fitted to several benchmarks, BigO and RMS, are skipped.
    """
    for number, row in enumerate(benchmarks.decoded(_DECODER)):
        checked = isinstance(row, _Fields)
        fields = row if checked else _checked(row)
        if fields.real_time is not None or (fields.real_coefficient is None and fields.rms is None):
            yield number, fields, checked


def _checked(row: Place) -> _Fields:
    """Return the fields of a row that the decoder refused, or a neighbour of which it did, but for times."""
    for name in _TEXTS:
        if (text := row.get(name)) is not None:
            text.text()
    fields: dict[str, Any] = {name: row.object().get(name) for name in _Fields.__struct_fields__}
    numbers = {name: row.number_of(name) for name in _NUMBERS}
    return _Fields(**fields | numbers | {"label": str(row.object().get("label", ""))})


def _rows(benchmarks: Place) -> Iterator[_Row]:
    """Yield each row with the name of its benchmark."""
    old: Tally | None = None
    for number, fields, checked in _fields(benchmarks):
        name, statistic = fields.name if fields.run_name is None else fields.run_name, ""
        if name is None:
            name = _place(benchmarks, number, fields)["name"].text()  # which raises the error
        if fields.run_type is None:
            old = old or Tally(
                _place(benchmarks, other, of)["name"].text()
                for other, of, _ in _fields(benchmarks)
                if of.run_type is None
            )
            name, statistic = _old_statistic(_place(benchmarks, number, fields), name, old)
        elif fields.run_type == "aggregate":
            statistic = _place(benchmarks, number, fields)["aggregate_name"].text()
        elif fields.run_type != "iteration":
            _place(benchmarks, number, fields)["run_type"].fail(
                f"is {fields.run_type}, which is neither iteration nor aggregate"
            )
        failure = _failure(fields)
        times: tuple[Any, ...] = ()
        if not failure and statistic in ("", *_STATISTICS):
            times = (fields.real_time, fields.cpu_time)
            if not checked or None in (*times, fields.time_unit):
                place = _place(benchmarks, number, fields)
                place["time_unit"].text()
                times = tuple(place[key].number() for key in _TIMES)
        yield _Row(
            number,
            name,
            statistic,
            fields.family_index,
            fields.per_family_instance_index,
            fields.repetition_index,
            fields.repetitions,
            fields.label,
            failure,
            fields.time_unit or "",
            times,
        )


def _place(benchmarks: Place, number: int, fields: _Fields) -> Place:
    """Return the place of a row."""
    return Place(benchmarks.source, f"{benchmarks.path}[{number}]", msgspec.to_builtins(fields))


def _failure(fields: _Fields) -> str:
    """Return why a row has no times; empty where it has."""
    if fields.error_occurred:
        return "error_occurred" if fields.error_message is None else fields.error_message
    if fields.skipped:
        return "skipped" if fields.skip_message is None else fields.skip_message
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


def _each(rows: Sequence[_Row], source: str) -> Iterator[list[_Row]]:
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
                source,
                f"benchmarks[{first.number}].name",
                f"several benchmarks are called {first.name}; their repetitions look alike",
                "give each a name of its own, or run them without random interleaving",
            )
        yield benchmark


def _benchmark(rows: Sequence[_Row], source: str) -> Benchmark:
    first = rows[0]
    parameters = _parameters(first.name)
    if first.label and all(row.label == first.label for row in rows):
        parameters["label"] = first.label
    if failures := [row.failure for row in rows if row.failure]:
        return Benchmark(first.name, parameters, 1, (), failures[0])
    units = {row.unit: row for row in rows if row.unit}
    if len(units) > 1:
        last = [*units.values()][-1]
        fail(
            source,
            f"benchmarks[{last.number}].time_unit",
            f"is {last.unit}, but other rows of {first.name} have {next(iter(units))}",
            "import the files of each run, not what was put together from several",
        )
    if repetitions := [row for row in rows if not row.statistic]:
        factor = _factor(repetitions[0], source)
        measures = [
            Measure(metric, "ns", (tuple([row.times[time] * factor for row in repetitions]),))
            for time, metric in enumerate(_METRICS)
        ]
    elif summaries := [(name, row) for name in _STATISTICS for row in rows if row.statistic == name]:
        statistic, row = summaries[0]
        factor = _factor(row, source)
        measures = [
            Measure(metric, "ns", summary=Summary(time * factor, statistic))
            for metric, time in zip(_METRICS, row.times, strict=True)
        ]
    else:
        fail(
            source,
            f"benchmarks[{first.number}]",
            f"{first.name} has neither repetitions nor their median or mean",
            "run it without --benchmark_report_aggregates_only",
        )
    return Benchmark(first.name, parameters, 1, tuple(measures))


def _factor(row: _Row, source: str) -> float:
    """Return how many nanoseconds the unit of a row is."""
    if row.unit not in NANOSECONDS:
        mistake = f"is {row.unit}, which is none of {', '.join(NANOSECONDS)}"
        fail(source, f"benchmarks[{row.number}].time_unit", mistake)
    return NANOSECONDS[row.unit]


def _parameters(name: str) -> dict[str, Fact]:
    """Return what a name such as copy/bytes:4096/8/real_time says of arguments."""
    parameters: dict[str, Fact] = {}
    unnamed = 0
    for part in name.split("/")[1:]:
        argument, _, value = part.rpartition(":")
        if not _WHOLE.fullmatch(value) or argument in _OPTIONS or argument.endswith(":"):
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
