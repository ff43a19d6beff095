"""What there is to know of an engine: its facts, and how it was judged."""

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
        name: as experiments name it.
        description: a few words, with its source.
        state_bits: of its state; 0 where it has none of its own.
        bits: of each number that it draws.
        available: whether this processor has what it needs.
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
        subjects: of each test; the same may occur more than once.
        p: its p-value.
        adjusted: the same, corrected for the number of all tests of the engine.
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
    """What became of one engine.

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
        source: of drawing it.
        floor: of the same loop without drawing.
    """

    source: float
    source_interval: Interval
    floor: float
    floor_interval: Interval


@dataclass(frozen=True)
class EngineExamination:
    """One engine with all that was found.

    Attributes:
        engine: which.
        reseed_every: numbers between two draws of new entropy; None where there was none.
        notice: what could not be judged.
        unavailable: why it could not be judged; then the rest is None.
        counts: what was counted.
        other_reseed_every, other: the sums of the same engine with reseeding where `counts` are without, and
            without where they are with.
        verdict: what that means.
        speed: what a number costs.
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
        """Return the engine's name, with how it is drawn from."""
        return titled(self.engine.name, self.reseed_every)


def titled(name: str, reseed_every: int | None) -> str:
    """Return the name of an engine, with how it is drawn from."""
    return name if reseed_every is None else f"{name} reseeded every {reseed_every:,}"
