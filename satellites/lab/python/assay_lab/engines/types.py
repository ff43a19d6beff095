"""The plain types for an engine: its properties, and its verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from assay.analysis.types import Interval

Word = Literal["accepted", "suspect", "rejected"]
Counts = Mapping[str, Any]
"""What `assay-engines` counted, as `satellites/lab/native/assay/judge/*.h` describes it."""


@dataclass(frozen=True)
class Engine:
    """An engine, as the program that has it describes it.

    Attributes:
        name: its name in experiments.
        description: a few words, with its source.
        state_bits: number of bits of its state; 0 if it has no state.
        bits: number of bits of each number.
        available: whether this processor supports it.
        replayable: whether the same seed gives the same numbers.
        shared: whether all threads of a process draw from one state.
    """

    name: str
    description: str
    state_bits: int
    bits: int
    available: bool
    replayable: bool
    shared: bool


SEED_BITS = 64

ZERO_IS_ONE, NOT_REPEATED = -1, -2
"""Subjects of `Kind.SEEDS`: seeds 0 and 1 give the same numbers; the same seed gives others each time."""


class Kind(StrEnum):
    """What a test looks at. In brackets what its subject is."""

    SUM = "sum of each bit"  # the bit
    ALTERNATION = "alternation of each bit"  # the bit
    PERIOD = "period of each bit"  # the bit
    LAG = "each bit by lag"  # (bit, lag)
    NUMBERS = "numbers by lag"  # the lag
    LOW_BYTES = "low bytes by lag"  # the lag
    KEYS = "evenness of keys"  # the place in the counts of keys
    MIX = "shares of operations"  # as above
    OPERATION = "key and operation"  # as above
    NEXT = "key and next key"  # as above
    COLLISIONS = "collisions of streams"  # 0
    NEIGHBOURS = "neighbouring streams"  # the bit
    SEEDS = "seeds"  # the bit of the seed, ZERO_IS_ONE or NOT_REPEATED


@dataclass(frozen=True)
class KindTests:
    """Tests of one kind.

    Attributes:
        kind: what they look at.
        subjects: the subject of each test; one may occur more than once.
        p: the p-value of each test.
        adjusted: the p-values, corrected for the number of all tests of the engine.
    """

    kind: Kind
    subjects: Sequence[Any]
    p: Sequence[float]
    adjusted: Sequence[float]

    @property
    def smallest(self) -> float:
        """Return the smallest adjusted p-value; 1 where there is no test."""
        return min(self.adjusted, default=1.0)

    def failing(self, level: float) -> list[Any]:
        """Return the subjects with an adjusted p-value below a level, each once."""
        pairs = zip(self.subjects, self.adjusted, strict=True)
        return list(dict.fromkeys(subject for subject, p in pairs if p < level))


@dataclass(frozen=True)
class EngineVerdict:
    """The verdict on one engine.

    Attributes:
        word: the verdict.
        why: which bits and tests failed, a sentence without its end; empty where it is accepted.
        effect: what that does to an experiment, whole sentences; empty where it is accepted.
        test_kinds: every test, by kind.
    """

    word: Word
    why: str
    effect: str
    test_kinds: Sequence[KindTests]


@dataclass(frozen=True)
class Speed:
    """Nanoseconds a number: medians with 95% intervals.

    Attributes:
        source: the time to draw a number.
        floor: the time of the same loop without drawing.
    """

    source: float
    source_interval: Interval
    floor: float
    floor_interval: Interval


@dataclass(frozen=True)
class EngineExamination:
    """One engine with all results.

    Attributes:
        engine: the engine.
        reseed_every: numbers between two draws of new entropy; None without reseeding.
        notice: what could not be judged.
        unavailable: why it could not be judged; then the rest is None.
        counts: the counts of its tests.
        other_reseed_every, other: the sums of the same engine with reseeding if `counts` are without it, and
            without it if they are with it.
        verdict: the verdict.
        speed: the cost of a number.
    """

    engine: Engine
    reseed_every: int | None
    unavailable: str = ""
    counts: Counts | None = None
    other_reseed_every: int | None = None
    other: Counts | None = None
    verdict: EngineVerdict | None = None
    speed: Speed | None = None
    notice: str = ""

    @property
    def title(self) -> str:
        """Return the engine's name, with its reseeding."""
        return titled(self.engine.name, self.reseed_every)


def titled(name: str, reseed_every: int | None) -> str:
    """Return the name of an engine, with its reseeding."""
    return name if reseed_every is None else f"{name} reseeded every {reseed_every:,}"
