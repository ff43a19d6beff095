"""The settings of a trial, as [trial] and the levels of factors hold them."""

import math
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from assay.experiment.events import Events
from assay.experiment.flaws import Flaws
from assay.experiment.placeholders import LINKED
from assay.experiment.tables import Metric, Name, Table, explained
from assay.experiment.workload import (
    LARGEST_KEY_RANGE,
    MOST_THREADS,
    ArrivalsTable,
    Distribution,
    Engine,
    KeyType,
    Latency,
    MixTable,
    Phase,
    Prefill,
    RangeTable,
    Roles,
    ThreadCount,
    ValueType,
)

Policy = Literal["none", "compact", "scatter", "cores_first"]
_LARGEST_WHOLE = 2**53  # every JSON reader holds whole numbers up to it

_Processors = Annotated[list[Annotated[int, Field(ge=0, le=2**16 - 1)]], Field(min_length=1)]
Pinning = Annotated[
    Policy | _Processors,
    explained(f"use one of {', '.join(get_args(Policy))}, or a list of processor numbers such as [0, 1]"),
]


def _free(name: str) -> str:
    if name in {*Settings.model_fields, "seed", "protocol", LINKED}:
        raise ValueError("cannot be the name of a parameter, because it means something else; choose another")
    return name


def _parameter(value: Any) -> str | int | float:
    if type(value) is str and "\0" not in value:
        return value
    whole = type(value) is int and abs(value) <= _LARGEST_WHOLE
    if whole or (type(value) is float and math.isfinite(value)):
        return value  # type: ignore[no-any-return]
    raise ValueError("is neither a string nor a number that every program can read; give one of them")


Parameter = Annotated[Metric, AfterValidator(_free)]
ParameterValue = Annotated[Any, PlainValidator(_parameter), WithJsonSchema({"type": ["string", "number"]})]


class Settings(Table):
    """Trial settings: any of them, fixed in [trial] or changed by the level of a factor."""

    subject: Name | None = None
    """What is measured."""
    threads: ThreadCount | None = None
    """How many in the whole trial, those of all roles together."""
    pinning: Pinning | None = None
    """Where threads run: a policy, or processors by the operating system's numbers (thread i on entry
    i modulo the length).
    """
    key_range: Annotated[int, Field(ge=2, le=LARGEST_KEY_RANGE)] | None = None
    """Number of distinct keys that operations draw from."""
    keys: Literal["dense", "sparse"] | None = None
    """dense: 1 to key_range. sparse: the same numbers spread over 63 bits by a bijection. Zero is
    never a key.
    """
    key_type: KeyType | None = None
    """What keys are; uint64 where nothing says."""
    value_type: ValueType | None = None
    """What values are; uint64 where nothing says."""
    mix: MixTable | None = None
    """Taken by every role that has none of its own."""
    distribution: Distribution | None = None
    range: RangeTable | None = None
    arrivals: ArrivalsTable | None = None
    roles: Roles | None = None
    """Threads that do different work; what a role does not name is that of the trial."""
    prefill: Prefill | None = None
    """What the subject holds when measuring begins: what the mix leaves it where nothing says."""
    phase: Phase | None = None
    """What is measured in place of a mix and a time: keys that are loaded, added or erased, each once."""
    engine: Engine | None = None
    draws: Literal["one", "two"] | None = None
    """Numbers that an operation takes: one, divided between key and kind, or one for the key and then
    one for the kind.
    """
    bounding: Literal["multiply", "modulo"] | None = None
    """How a number becomes one below a bound: the high half of a product, or the remainder."""
    batch: Annotated[int, Field(ge=1, le=512)] | None = None
    """Operations generated at once; as many as take up to 100 us, at most 512, where nothing says."""
    latency: Latency | None = None
    """Which operations are timed one by one: none, all, or one in this many."""
    probes: bool | None = None
    """Whether probes record; they do where nothing says."""
    events: Events | None = None
    """Counted in each trial beside those that always are, by libpfm's names."""
    allocator: Literal["glibc", "jemalloc", "mimalloc"] | None = None
    """The allocator that must be in the process; the runner loads it."""
    transactions: Literal["none", "rtm"] | None = None
    """Those of the processor that the program uses to elide locks: none, or these, which must be there;
    those of the processor where nothing says.
    """
    memory_policy: Literal["local", "interleave"] | None = None
    """Which NUMA nodes memory comes from; as the process was started where nothing says."""
    duration_ms: Annotated[int, Field(ge=1, le=3_600_000)] | None = None
    """Length of the measured interval."""
    interval_ms: Annotated[int, Field(ge=1, le=60_000)] | None = None
    """Length of one interval of the throughput series."""
    warm_up_ms: Annotated[int, Field(ge=0, le=3_600_000)] | None = None
    """Operations run for this long before the measured interval begins; they are validated, but not
    counted.
    """
    flaws: Flaws | None = None
    """In which ways the trial misleads on purpose; [pitfall] has to say that it does."""
    parameters: dict[Parameter, ParameterValue] | None = None
    """Whatever else the experiment sets for programs of its own."""
    timeout_s: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """A trial that takes longer is killed."""
    memory_limit_mb: Annotated[int, Field(ge=1, le=2**32)] | None = None
    """Memory that a trial may use, MiB."""
    scheduling: Literal["other", "batch", "idle", "fifo", "rr"] | None = None
    """Scheduling class of the trial's process; fifo and rr at the highest priority that is allowed."""
    io_priority: Literal["realtime", "best_effort", "idle"] | None = None
    """Class in which the kernel serves its disk accesses; the highest priority of that class."""
    memory_locked: bool | None = None
    """Whether its memory is locked, so that no page of it is ever taken away (mlockall)."""
    busy_processes: Annotated[int, Field(ge=0, le=MOST_THREADS)] | None = None
    """Processes that keep a processor busy each while the trial runs."""
    frequency_governor: Annotated[str, Field(pattern=r"^[a-z_]{1,16}$")] | None = None
    """Governor of all processors' frequencies during the trial, by its name in the kernel, or "as_found"."""
    real_time_share: Literal["as_found", "unlimited"] | None = None
    """Whether real-time processes may have all processor time during the trial, and not 95% as by default."""


OF_FIXTURES = frozenset(
    {
        "subject",
        "threads",
        "pinning",
        "duration_ms",
        "warm_up_ms",
        "probes",
        "events",
        "allocator",
        "transactions",
        "memory_policy",
        "parameters",
    }
)
"""Settings that the request of a fixture says."""

SURROUNDINGS = frozenset(
    {"scheduling", "io_priority", "memory_locked", "busy_processes", "frequency_governor", "real_time_share"}
)
"""Settings that the runner gives to any process, whatever it measures."""

RUNNER_ONLY_SETTINGS = frozenset({"timeout_s", "memory_limit_mb"}) | SURROUNDINGS
"""Settings that no request says."""
