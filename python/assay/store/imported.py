"""What another tool measured, as a campaign: where it came from, and its trials.

A trial is a process that measured a benchmark, as everywhere. What the process measured several times is one
value, the mean, since samples of one process are not independent.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import PurePath
from statistics import fmean
from typing import Any, Self

from assay.foreign import Benchmark, Fact, ForeignRun, Measure
from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome

_KEY = "foreign"
"""Of what is known of a campaign's host: what marks the campaign as another tool's."""
_HOST_NAMES = ("host_name", "hostname")


@dataclass(frozen=True)
class Imported:
    """Where a campaign came from that another tool measured.

    Attributes:
        file: as it was named.
        sha256: digest of what the file held, by which it is known again.
    """

    tool: str
    version: str
    file: str
    sha256: str

    @classmethod
    def of(cls, host: Mapping[str, Any]) -> Self | None:
        """Return where a campaign with this host came from; None of one that Assay ran."""
        return cls(**host[_KEY]) if _KEY in host else None

    def host_of(self, run: ForeignRun) -> dict[str, Any]:
        """Return what the store holds as the host of the campaign."""
        name = next((str(run.host[key]) for key in _HOST_NAMES if key in run.host), "")
        return {"name": name, _KEY: asdict(self)}

    def name_of(self, run: ForeignRun) -> str:
        """Return what stands for the experiment; no experiment of ours may have a colon in its name."""
        stem = PurePath(self.file).name.split(".")[0]
        return f"{re.sub('[^a-z0-9]+', '-', run.tool.lower()).strip('-')}:{stem}"


def trials_of(run: ForeignRun, now: datetime) -> list[tuple[PlannedTrial, Outcome]]:
    """Return a trial, which has ended, for each process of each benchmark."""
    processes = [
        (benchmark, process) for benchmark in run.benchmarks for process in range(benchmark.processes)
    ]
    return [
        (_planned(ordinal, benchmark, process, run.tool), _outcome(benchmark, process, run.begun or now))
        for ordinal, (benchmark, process) in enumerate(processes)
    ]


def _planned(ordinal: int, benchmark: Benchmark, process: int, tool: str) -> PlannedTrial:
    return PlannedTrial(
        ordinal=ordinal,
        block=process,
        group=ordinal,
        levels={**_apart(benchmark.parameters), "benchmark": benchmark.name},
        request={_KEY: tool},
        program="",
        perturbation={},
        timeout_s=0,
        memory_limit_mb=0,
    )


def _apart(parameters: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return parameters, of which one called `benchmark` must not be taken for the benchmark's name."""
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
