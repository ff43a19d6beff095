"""The clocks of this machine, as `assay-clocks` measures them, and which one fits a duration."""

import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay import programs
from assay.errors import AssayError

PROGRAM = "assay-clocks"
DEFAULT = "steady_clock"
COUNTER = "rdtscp"
"""What is read by instructions of the processor, and taken only where the default is too coarse."""

READINGS = 100
"""A duration is timed to about 1% if it is this many times what a reading costs, and than the clock's step.

The cost is subtracted, and what that is wrong by is far less than the cost.
"""
_WORTHWHILE = 0.8  # of the default's cost; with more, nothing is gained for all that can be wrong


@dataclass(frozen=True)
class Clock:
    """A clock and how good it is.

    Attributes:
        name: its name in programs.
        measures: "time" or "processor time".
        cost_ns: the cost of one reading.
        resolution_ns: its smallest step; None if it did not move.
        readings: number of readings in one thread.
        backwards: number of readings that were earlier than the reading before.
        agreements: for pairs of processors `a` and `b`, bounds for how far `b` is ahead (`offset_ns`), the
            number of `exchanges` that gave them, and how many of these went `backwards`; None for a clock
            that each thread has for itself.
        unusable_because: why it must not be used; None if it may.
    """

    name: str
    measures: str
    cost_ns: float
    resolution_ns: float | None
    readings: int
    backwards: int
    agreements: list[dict[str, Any]] | None
    unusable_because: str | None

    @property
    def shortest_ns(self) -> float | None:
        """Return the shortest duration that it times to about 1%, in nanoseconds."""
        return None if self.resolution_ns is None else READINGS * max(self.cost_ns, self.resolution_ns)


@dataclass(frozen=True)
class Recommendation:
    """How to time a duration.

    Attributes:
        clock: the clock's name.
        batch: number of such durations to time together.
        why: the reason in a sentence.
    """

    clock: str
    batch: int
    why: str


def measure() -> tuple[list[Clock], dict[str, Any]]:
    """Return every clock, and whether the time stamp counter is `invariant`, with its `ns_per_tick`.

    Raises:
        AssayError: the program is missing, or fails.
    """
    program = programs.find(PROGRAM)
    try:
        ended = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
        answer = json.loads(ended.stdout)
        return [Clock(**clock) for clock in answer["clocks"]], answer["time_stamp_counter"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise AssayError(f"{PROGRAM} does not answer ({error}); {programs.REMEDY}") from error


def recommend(clocks: Sequence[Clock], duration_ns: float) -> Recommendation:
    """Return how to time a duration.

    The clock is the steady clock, unless the duration is too short for it and the time stamp counter passes
    its checks and costs less. If that is too coarse as well, a batch is timed.
    """
    usable = {clock.name: clock for clock in clocks if clock.unusable_because is None and clock.shortest_ns}
    if DEFAULT not in usable:
        raise AssayError(f"{DEFAULT} is not usable here: it goes back, or stands still; times mean nothing")
    steady, counter = usable[DEFAULT], usable.get(COUNTER)
    shortest_ns = steady.shortest_ns or math.inf
    if duration_ns >= shortest_ns:
        return Recommendation(DEFAULT, 1, "the default times it to about 1%")
    name, why = DEFAULT, "it is too short for a clock by itself"
    if counter and (counter.shortest_ns or math.inf) <= _WORTHWHILE * shortest_ns:
        name, shortest_ns = COUNTER, counter.shortest_ns or math.inf
        if duration_ns >= shortest_ns:
            why = f"{DEFAULT} is too coarse for it, and the time stamp counter passes its checks"
    return Recommendation(name, max(math.ceil(shortest_ns / duration_ns), 1), why)
