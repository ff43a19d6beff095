"""What another tool measured, as trials, and the way back.

A trial is a process that measured a benchmark, as everywhere. What the process measured several times is one
value, the mean, since samples of one process are not independent.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from math import fsum
from typing import Annotated, Any

from msgspec import Meta, Struct, convert, json
from msgspec.structs import asdict, replace
from sqlalchemy import Insert, Table, insert, literal_column

from assay.runner.types import Outcome
from assay.store.ended import content_of
from assay.store.schema import as_texts, planned_trial, record, trial
from assay.store.types import READ_BY
from assay.store.views import Kind, Type, type_of, wider
from assay_foreign.types import Benchmark, Fact, ForeignRun, Measure


class _Request(Struct):
    """What is read of the request of a benchmark's first trial."""

    benchmark: Benchmark


class _Result(Struct):
    samples: Mapping[str, Any]


class _Outcome(Struct):
    """What is read of a trial's record."""

    result: _Result


_CONSTANTS: Mapping[Table, Mapping[str, str]] = {
    planned_trial: {
        **{"program": "''", "perturbation": "'{}'", "timeout_s": "0", "memory_limit_mb": "0"},
        **{"arguments": "'[]'", "extract": "'\"protocol\"'", "repeats": "NULL"},
    },
    trial: {"wall_s": "0", "calibration_before": "'{}'", "calibration_after": "'{}'"},
    record: {"environment": "NULL", "host": "NULL"},
}
"""Table -> column -> what each row has there, as SQL."""
_Samples = tuple[Annotated[tuple[float, ...], Meta(min_length=1)], ...]


def statements() -> list[Insert]:
    """Return the statements that insert what `rows_of` yields; what all rows have alike is part of them."""

    def statement(table: Table, constants: Mapping[str, str]) -> Insert:
        return insert(as_texts(table)).values(
            {name: literal_column(constant) for name, constant in constants.items()}
        )

    return [statement(*of) for of in _CONSTANTS.items()]


def rows_of(
    run: ForeignRun, campaign_id: int, trial_id: int, now: datetime, names: dict[tuple[Kind, str], Type]
) -> Iterator[tuple[dict[str, object], ...]]:
    """Yield the rows of each process of each benchmark for `statements`.

    JSON is text: encoding each by its column takes three times as long.
    The first trial of a benchmark has in its request what `benchmark_of` needs beside the trials' records.

    Args:
        trial_id: number of the first trial.
        names: gets the names that become columns of a view, with the types of their values.
    """
    begun = run.begun or now
    content = content_of(Outcome("valid", "", 0, None, "", "", None, None, "", begun, 0.0))
    later_request = _text({READ_BY: run.tool})
    ordinal, last_names = 0, None
    for benchmark in run.benchmarks:
        measures = [
            {"metric": of.metric, "unit": of.unit, "summary": of.summary} for of in benchmark.measures
        ]
        request = _text({READ_BY: run.tool, "benchmark": asdict(benchmark) | {"measures": measures}})
        levels = _levels(benchmark)
        if last_names != (last_names := (*levels, *(of.metric for of in benchmark.measures))):
            names.update({("metric", of.metric): "real" for of in benchmark.measures})
        names.update(
            {("factor", name): wider(names.get(("factor", name)), type_of(of)) for name, of in levels.items()}
        )
        conditions, failure = _text(levels), benchmark.failure
        for process in range(benchmark.processes):
            samples = {of.metric: of.samples[process] for of in benchmark.measures if of.samples}
            metrics = {of.metric: value_of(of, process) for of in benchmark.measures}
            outcome = content | {"reason": failure, "result": {"metrics": metrics, "samples": samples}}
            status = "invalid" if failure else "valid"
            planned = {"block": process, "group": ordinal, "levels": conditions, "request": request}
            ended = {"id": trial_id, "status": status, "reason": failure, "started_at": begun}
            place = {"campaign_id": campaign_id, "ordinal": ordinal}
            yield (
                place | planned,
                place | ended | {"metrics": _text(metrics)},
                {"trial_id": trial_id, "outcome": _text(outcome)},
            )
            ordinal, trial_id, request = ordinal + 1, trial_id + 1, later_request


def _text(value: object) -> str:
    return json.encode(value).decode()


def benchmark_of(request: Any, outcomes: Iterable[Any]) -> Benchmark:
    """Return the benchmark of some trials, from the first one's request and the record of each.

    Raises:
        ValidationError: one of them is damaged.
    """
    benchmark = convert(request, _Request).benchmark
    samples = [convert(outcome, _Outcome).result.samples for outcome in outcomes]
    measures = [
        replace(measure, samples=convert([of.get(measure.metric, ()) for of in samples], _Samples))
        if measure.summary is None
        else measure
        for measure in benchmark.measures
    ]
    return replace(benchmark, measures=tuple(measures))


def _levels(benchmark: Benchmark) -> dict[str, Fact]:
    """Return the parameters and the name of a benchmark, which is the factor `benchmark`."""
    levels = {**benchmark.parameters}
    if "benchmark" in levels:
        levels = {"parameter benchmark" if name == "benchmark" else name: of for name, of in levels.items()}
    levels["benchmark"] = benchmark.name
    return levels


def value_of(measure: Measure, process: int) -> float:
    """Return the value of a process: the mean of its samples, or what the tool sums them up to."""
    if measure.samples:
        samples = measure.samples[process]
        return fsum(samples) / len(samples)
    assert measure.summary is not None
    return measure.summary.value
