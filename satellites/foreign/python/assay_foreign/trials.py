"""What another tool measured, as trials, and the way back.

A trial is a process that measured a benchmark, as everywhere. What the process measured several times is one
value, the mean, since samples of one process are not independent.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, TypeAdapter
from pydantic_core import to_json

from assay.runner.types import Outcome
from assay.store.ended import content_of
from assay.store.types import READ_BY
from assay.store.views import Kind
from assay_foreign.types import Benchmark, Fact, ForeignRun, Measure


@dataclass
class _Request:
    """What is read of the request of a benchmark's first trial."""

    benchmark: Benchmark


@dataclass
class _Result:
    samples: Mapping[str, Any]


@dataclass
class _Outcome:
    """What is read of a trial's record."""

    result: _Result


_BENCHMARK = TypeAdapter(Benchmark)
_REQUEST = TypeAdapter(_Request)
_SAMPLES_OF_MEASURES = {"measures": {"__all__": {"samples"}}}
_OUTCOME = TypeAdapter(_Outcome)
_NOT_PLANNED = ("", "{}", 0, 0, "[]", '"protocol"', None)
"""The columns of a planned trial from `program` on, as a trial of another tool has them."""
_SAMPLES = TypeAdapter(tuple[Annotated[tuple[FiniteFloat, ...], Field(min_length=1)], ...])


def rows_of(
    run: ForeignRun, campaign_id: int, trial_id: int, now: datetime, names: dict[tuple[Kind, str], None]
) -> Iterator[tuple[tuple[object, ...], ...]]:
    """Yield the rows of each process of each benchmark in `planned_trial`, `trial` and `record`.

    Their values are as SQLite has them, JSON as text: encoding each by its column takes three times as long.
    The first trial of a benchmark has in its request what `benchmark_of` needs beside the trials' records.

    Args:
        trial_id: number of the first trial.
        names: gets the names that become columns of a view.

    Raises:
        ValidationError: it could not be read again.
    """
    begun = (run.begun or now).astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
    content = content_of(Outcome("valid", "", 0, None, "", "", None, None, "", run.begun or now, 0.0))
    later_request = _text({READ_BY: run.tool})
    ordinal = 0
    for given in run.benchmarks:
        benchmark = _BENCHMARK.validate_json(_BENCHMARK.dump_json(given))
        described = _BENCHMARK.dump_json(given, exclude=_SAMPLES_OF_MEASURES).decode()
        request = f'{later_request[:-1]},"benchmark":{described}}}'
        levels = {**_apart(benchmark.parameters), "benchmark": benchmark.name}
        names.update(dict.fromkeys(("factor", name) for name in levels))
        names.update(dict.fromkeys(("metric", measure.metric) for measure in benchmark.measures))
        conditions, failure = _text(levels), benchmark.failure
        for process in range(benchmark.processes):
            samples = {
                measure.metric: measure.samples[process] for measure in benchmark.measures if measure.samples
            }
            metrics = {measure.metric: value_of(measure, process) for measure in benchmark.measures}
            outcome = content | {"reason": failure, "result": {"metrics": metrics, "samples": samples}}
            ended = ("invalid" if failure else "valid", failure, begun, 0, _text(metrics), "{}", "{}")
            yield (
                (campaign_id, ordinal, process, ordinal, conditions, request, *_NOT_PLANNED),
                (trial_id, campaign_id, ordinal, *ended),
                (trial_id, _text(outcome), None, None),
            )
            ordinal, trial_id, request = ordinal + 1, trial_id + 1, later_request


def _text(value: object) -> str:
    return to_json(value).decode()


def benchmark_of(request: Any, outcomes: Iterable[Any]) -> Benchmark:
    """Return the benchmark of some trials, from the first one's request and the record of each.

    Raises:
        ValidationError: one of them is damaged.
    """
    benchmark = _REQUEST.validate_python(request).benchmark
    samples = [_OUTCOME.validate_python(outcome).result.samples for outcome in outcomes]
    measures = [
        replace(measure, samples=_SAMPLES.validate_python([of.get(measure.metric, ()) for of in samples]))
        if measure.summary is None
        else measure
        for measure in benchmark.measures
    ]
    return replace(benchmark, measures=tuple(measures))


def _apart(parameters: Mapping[str, Fact]) -> dict[str, Fact]:
    """Rename a parameter called `benchmark`: the factor of that name holds the benchmark's own name."""
    return {"parameter benchmark" if name == "benchmark" else name: of for name, of in parameters.items()}


def value_of(measure: Measure, process: int) -> float:
    """Return the value of a process: the mean of its samples, or what the tool sums them up to."""
    if measure.samples:
        return fmean(measure.samples[process])
    assert measure.summary is not None
    return measure.summary.value
