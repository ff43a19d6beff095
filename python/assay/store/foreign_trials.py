"""What another tool measured, as trials, and the way back.

A trial is a process that measured a benchmark, as everywhere. What the process measured several times is one
value, the mean, since samples of one process are not independent.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, TypeAdapter

from assay.foreign import Benchmark, Fact, ForeignRun, Measure
from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store.imported import KEY
from assay.store.reading import from_json


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
_OUTCOME = TypeAdapter(_Outcome)
_SAMPLES = TypeAdapter(tuple[Annotated[tuple[FiniteFloat, ...], Field(min_length=1)], ...])


def trials_of(run: ForeignRun, now: datetime) -> Iterator[tuple[PlannedTrial, Outcome]]:
    """Yield a trial, which has ended, for each process of each benchmark.

    The first trial of a benchmark has in its request what `benchmark_of` needs beside the trials' records.

    Raises:
        ValidationError: it could not be read again.
    """
    ordinal = 0
    for given in run.benchmarks:
        content = from_json(_BENCHMARK.dump_json(given).decode())
        benchmark = _BENCHMARK.validate_python(content)
        described = content | {"measures": [measure | {"samples": []} for measure in content["measures"]]}
        for process in range(benchmark.processes):
            about = {} if process else {"benchmark": described}
            planned = _planned(ordinal, benchmark, process, {KEY: run.tool, **about})
            yield planned, _outcome(benchmark, process, run.begun or now)
            ordinal += 1


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


def _planned(ordinal: int, benchmark: Benchmark, process: int, request: Mapping[str, Any]) -> PlannedTrial:
    return PlannedTrial(
        ordinal=ordinal,
        block=process,
        group=ordinal,
        levels={**_apart(benchmark.parameters), "benchmark": benchmark.name},
        request=request,
        program="",
        perturbation={},
        timeout_s=0,
        memory_limit_mb=0,
    )


def _apart(parameters: Mapping[str, Fact]) -> dict[str, Fact]:
    """Rename a parameter called `benchmark`: the factor of that name holds the benchmark's own name."""
    return {"parameter benchmark" if name == "benchmark" else name: of for name, of in parameters.items()}


def _outcome(benchmark: Benchmark, process: int, started_at: datetime) -> Outcome:
    samples = {measure.metric: measure.samples[process] for measure in benchmark.measures if measure.samples}
    metrics = {measure.metric: value_of(measure, process) for measure in benchmark.measures}
    return Outcome(
        status="invalid" if benchmark.failure else "valid",
        reason=benchmark.failure,
        exit_code=0,
        result={"metrics": metrics, "samples": samples},
        stdout="",
        stderr="",
        calibration_before=None,
        calibration_after=None,
        calibration_error="",
        started_at=started_at,
        wall_s=0.0,
    )


def value_of(measure: Measure, process: int) -> float:
    """Return the value of a process: the mean of its samples, or what the tool sums them up to."""
    if measure.samples:
        return fmean(measure.samples[process])
    assert measure.summary is not None
    return measure.summary.value
