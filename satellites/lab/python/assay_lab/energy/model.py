"""The model of time of Bonnichsen (2016, section 3.1), as `energy/model.h` has it.

    time = outside + cycles / frequency                              equation 1

Both are held to the examples of `satellites/lab/native/assay/energy/model_examples.json`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """The work of a program's run, on any machine.

    Attributes:
        gigacycles: cycles on the chip of the slowest thread.
        outside_s: time waiting for memory, which is the same at each frequency.
        misses: misses of the last cache by all threads.
        cores: number of cores that it keeps busy.
    """

    gigacycles: float
    outside_s: float
    misses: float = 0.0
    cores: float = 1.0

    @property
    def memory_boundness(self) -> float:
        """Return m of equation 3: nanoseconds outside for each cycle."""
        return self.outside_s / self.gigacycles if self.gigacycles else math.inf

    def seconds(self, gigahertz: float) -> float:
        """Return how long it takes at a frequency."""
        return self.outside_s + self.gigacycles / gigahertz


def memory_boundness(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return m of equation 3 from two runs of the same work, each a frequency in GHz and a time.

    0 where the higher frequency gained more than it can by itself; infinity where it gained nothing.
    """
    (low, slow), (high, fast) = sorted((one, other))
    gained = slow - fast
    if not gained > 0:
        return math.inf
    return max((fast * high - slow * low) / (low * high * gained), 0.0)


def relative_time(m: float, gigahertz: float) -> float:
    """Return the relative time at a frequency (equation 2)."""
    return m + 1 / gigahertz


def from_two_runs(one: tuple[float, float], other: tuple[float, float], cores: float = 1.0) -> Work:
    """Return the work from two runs, each a frequency in GHz and seconds; it is the mean of the two."""
    m = memory_boundness(one, other)
    if math.isinf(m):
        return Work(0.0, (one[1] + other[1]) / 2, cores=cores)
    gigacycles = sum(seconds / relative_time(m, gigahertz) for gigahertz, seconds in (one, other)) / 2
    return Work(gigacycles, m * gigacycles, cores=cores)


@dataclass(frozen=True)
class Predicted:
    """The predicted time and energy of a program at a frequency."""

    gigahertz: float
    seconds: float
    joules: float

    def cost(self, exponent: float) -> float:
        """Return energy * time^exponent: E with 0, ED with 1, ED^2 with 2."""
        return float(self.joules * self.seconds**exponent)


def predicted(
    work: Work, frequencies: Sequence[float], watts: Callable[[float], float]
) -> tuple[Predicted, ...]:
    """Return the time and energy of some work at each frequency; `watts` gives the power at a frequency."""
    return tuple(
        Predicted(gigahertz, seconds := work.seconds(gigahertz), seconds * watts(gigahertz))
        for gigahertz in frequencies
    )
