"""What a machine has to run experiments with, as far as they are checked against it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from pydantic.dataclasses import dataclass

ENTROPY = ("rdseed", "rdrand", "kernel")
"""Where new seeds can come from, besides engines; the processor may lack the first two."""


@dataclass(frozen=True)
class SubjectOffer:
    """What a subject of `assay-trial` can do.

    Attributes:
        structure: what it is: a map, a multimap or a queue.
        max_threads: the most that it can run with; None without a limit.
        types: of keys and values that it can hold together.
        operations: that it has.
        holds_nothing: its operations do nothing that could be checked.
    """

    structure: Literal["map", "multimap", "queue"] = "map"
    max_threads: int | None = None
    types: frozenset[tuple[str, str]] = frozenset({("uint64", "uint64")})
    operations: frozenset[str] = frozenset({"insert", "erase", "find"})
    holds_nothing: bool = False


@dataclass(frozen=True)
class EngineOffer:
    """An engine of random numbers that `assay-trial` has.

    Attributes:
        state_bits: of its own state; 0 where every number comes from the hardware.
        available: whether this processor has what it needs.
        shared: whether all threads of a process draw from one state.
    """

    state_bits: int
    available: bool
    shared: bool = False


@dataclass(frozen=True)
class Machine:
    """What there is.

    Attributes:
        subjects: subject of `assay-trial` -> what it offers.
        engines: engine of `assay-trial` -> what it offers.
        flawed_subjects: those of them that `assay-pitfalls` has, too; None: it is not here.
        entropy: where new seeds can come from, besides engines.
        processors: numbers of those that trials may run on.
        memory_limit_mb: what a trial may use where its settings do not say, MiB.
        allocators: allocator -> why it cannot be loaded, with a remedy; empty if it can.
        events: that libpfm knows here without the prefix of a processor; None: nobody knows.
        random_addresses: whether the kernel places each process elsewhere in memory.
        fixed_addresses: whether it can be told not to.
        counts_energy: whether energy counters can be read.
    """

    subjects: Mapping[str, SubjectOffer]
    engines: Mapping[str, EngineOffer]
    processors: frozenset[int]
    memory_limit_mb: int
    flawed_subjects: frozenset[str] | None = None
    entropy: frozenset[str] = frozenset(ENTROPY)
    allocators: Mapping[str, str] = field(default_factory=dict)
    events: frozenset[str] | None = None
    random_addresses: bool = True
    fixed_addresses: bool = True
    counts_energy: bool = False
