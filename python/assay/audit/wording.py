"""What the rules share: sources, and how numbers and names are written in a finding."""

import re
import sys
from collections.abc import Iterable, Mapping, Sized
from typing import Literal

from assay.analysis import Verdict
from assay.store.types import StoredTrial

ANOMALIES = "Kharal & Brown, Performance Anomalies in Concurrent Data Structure Microbenchmarks"
BENCHMARKING = "On Benchmarking, Part 2 (JayBeams, 2017)"
RANDOMNESS = "Blackwell, Applications of Randomness in System Performance Measurement, 1998"
REASONABLE_TIME = "Kalibera & Jones, Rigorous Benchmarking in Reasonable Time, 2013"
TYPICAL_VALUES = "Hartigan, Using Subsample Values as Typical Values, 1969"
WARMUP = "Barrett et al., Virtual Machine Warmup Blows Hot and Cold, 2017"
WRONG_DATA = "Mytkowicz et al., Producing Wrong Data Without Doing Anything Obviously Wrong, 2009"


def percent(share: float, sign: Literal["", "+"] = "") -> str:
    """Write a share of 1 as a percentage; an enormous one as a multiple."""
    return f"{share:{sign}.0%}" if abs(share) < 1e4 else f"{share:{sign}.2g} times"


def in_percent(share: float) -> float:
    """Return a share of 1 in percent, short of where a double overflows."""
    return max(-sys.float_info.max, min(100 * share, sys.float_info.max))


def counted(things: Sized | int, one: str, more: str = "") -> str:
    """Write a number of things: 1 condition, 2 conditions."""
    number = things if isinstance(things, int) else len(things)
    return f"{number} {one if number == 1 else more or one + 's'}"


def shorten(text: str, length: int = 120) -> str:
    """Write text on one line, and no more than so much of it."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 3] + "..."


def numbers(by_condition: Mapping[str, Iterable[StoredTrial]]) -> tuple[int, ...]:
    """Return the numbers of some conditions' trials, in order."""
    return tuple(sorted(trial.id for trials in by_condition.values() for trial in trials))


_TIME = r"(?:ns|us|µs|μs|ms|s|sec|seconds?|min|minutes?|h|hours?)"
_SPEED_BY_NAME = re.compile(
    rf"(?:^|[^a-z0-9])(?:throughput|speed|latency|time|duration|elapsed|{_TIME})"
    r"(?:[^a-z0-9](?:p[0-9]+|median|mean|per[^a-z0-9].*))?$"
)
_SPEED_BY_UNIT = re.compile(rf"{_TIME}\b|.*(?:/|\bper\b)\s*{_TIME}$")


def verdict_on(metric: str, verdict: Verdict, unit: str = "") -> str:
    """Write a verdict: of a metric that is by its name or its unit no rate and no time, better or worse."""
    if _SPEED_BY_UNIT.match(unit.lower()) or (not unit and _SPEED_BY_NAME.search(metric.lower())):
        return verdict
    return {"faster": "better", "slower": "worse"}.get(verdict, verdict)
