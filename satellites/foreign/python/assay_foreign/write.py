"""What Assay measured, in the JSON of other tools, for their scripts: Google Benchmark's and hyperfine's.

Each trial is a repetition, or a run. Neither format has a place for intervals or verdicts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, median, stdev
from typing import Any

from assay_foreign.types import Fact


@dataclass(frozen=True)
class Exported:
    """A condition of ours.

    Attributes:
        levels: factor -> level.
        times_ns: of each valid trial.
        processor_ns: the processor time that goes with each; empty where it was not measured.
    """

    levels: Mapping[str, Fact]
    times_ns: Sequence[float]
    processor_ns: Sequence[float] = ()


def google_benchmark_json(
    experiment: str, conditions: Sequence[Exported], host: Mapping[str, Fact], begun: datetime
) -> str:
    """Return conditions as the benchmarks EXPERIMENT/FACTOR:LEVEL/... with a repetition for each trial.

    Every benchmark has a processor time there: where none was measured, it is the time that passed.

    Args:
        host: `name` and `processors` have places of their own in that JSON; all else stands beside them.
    """
    context: dict[str, Any] = {
        "date": begun.isoformat(timespec="seconds"),
        "host_name": host.get("name", ""),
        "executable": "assay",
        "num_cpus": host.get("processors", 0),
        **{name: value for name, value in host.items() if name not in ("name", "processors")},
    }
    rows = [
        row
        for family, condition in enumerate(conditions)
        for row in _rows(family, "/".join([experiment, *map(_argument, condition.levels.items())]), condition)
    ]
    return json.dumps({"context": context, "benchmarks": rows}, indent=2)


def _argument(of: tuple[str, Fact]) -> str:
    return f"{of[0]}:{of[1]}"


def _rows(family: int, name: str, condition: Exported) -> list[dict[str, Any]]:
    """Return a row for each trial, then mean, median and standard deviation as the tool itself adds them."""
    times, processor = condition.times_ns, condition.processor_ns or condition.times_ns
    threads = condition.levels.get("threads")
    common = {
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": name,
        "repetitions": len(times),
        "threads": threads if isinstance(threads, int) else 1,
    }
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            **common,
            "run_type": "iteration",
            "repetition_index": index,
            "iterations": 1,
            "real_time": time,
            "cpu_time": of_processor,
            "time_unit": "ns",
        }
        for index, (time, of_processor) in enumerate(zip(times, processor, strict=True))
    ]
    if len(times) < 2:
        return rows
    for aggregate, of in (("mean", fmean), ("median", median), ("stddev", stdev)):
        rows.append(
            {
                "name": f"{name}_{aggregate}",
                **common,
                "run_type": "aggregate",
                "aggregate_name": aggregate,
                "aggregate_unit": "time",
                "iterations": len(times),
                "real_time": of(times),
                "cpu_time": of(processor),
                "time_unit": "ns",
            }
        )
    return rows


def hyperfine_json(conditions: Sequence[Exported]) -> str:
    """Return conditions as commands FACTOR=LEVEL, ..., with a run for each trial, in seconds."""
    return json.dumps({"results": [_result(condition) for condition in conditions]}, indent=2)


def _result(condition: Exported) -> dict[str, Any]:
    times = [time / 1e9 for time in condition.times_ns]
    return {
        "command": ", ".join(f"{factor}={level}" for factor, level in condition.levels.items()),
        "mean": fmean(times),
        "stddev": stdev(times) if len(times) > 1 else None,
        "median": median(times),
        "user": None,  # time in the program and in the kernel: not every trial tells them apart
        "system": None,
        "min": min(times),
        "max": max(times),
        "times": times,
        "exit_codes": [0] * len(times),
        "parameters": {factor: str(level) for factor, level in condition.levels.items()},
    }
