"""What the readers make of another tool's results: one type, whichever tool wrote them."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, overload

from msgspec import Struct, field

Fact = str | int | float | bool
"""What a file tells of its host or of a parameter."""

Statistic = Literal["mean", "median"]


class Summary(Struct, frozen=True):
    """What a tool says of samples that it does not keep.

    Attributes:
        low, high: the interval that the tool gives around the value; None where it gives none.
    """

    value: float
    statistic: Statistic
    low: float | None = None
    high: float | None = None


class Measure(Struct, frozen=True):
    """One metric of a benchmark.

    Attributes:
        metric: its name, as Assay names metrics: a time ends in `_ns`.
        unit: ns, op/s or bytes, whatever unit of time, rate or size the file has; else the unit of the file,
            such as cycles; empty of plain numbers.
        samples: those of each process in the order in which they were taken; empty where the file has only a
            summary.
        summary: where there are no samples.
    """

    metric: str
    unit: str
    samples: tuple[tuple[float, ...], ...] = ()
    summary: Summary | None = None


class MapRun(Struct, frozen=True):
    """What a harness of concurrent maps tells of one process beside its throughput; None where it does not.

    Attributes:
        size_before, size_after: elements when threads began and when they had ended.
        size_expected: elements at the end, as the results of the operations have it.
        inserts, inserted: inserts that were tried, and those that found no such key.
        erases, erased: likewise.
        validated: whether anything was checked that the results do not follow from.
        dependent: why updates are not drawn one by one, in a few words; empty where they are.
        prefill: how the map was filled; empty where nothing tells.
        prefill_inserts: whether inserts alone filled it.
        seed: of the run; None where it cannot be drawn again.
        pinned: whether the text tells where threads ran.
        rounded: whether the key range was made a power of two.
    """

    size_before: int | None = None
    size_after: int | None = None
    size_expected: int | None = None
    inserts: int | None = None
    inserted: int | None = None
    erases: int | None = None
    erased: int | None = None
    validated: bool = False
    dependent: str = ""
    prefill: str = ""
    prefill_inserts: bool | None = None
    seed: int | None = None
    pinned: bool = False
    rounded: bool = False


class Benchmark(Struct, frozen=True):
    """One benchmark of a file.

    Attributes:
        name: as the tool names it, parameters included where the tool writes them into the name.
        processes: how many processes measured it.
        measures: the one that the tool's own comparison looks at first; there may be none if it failed.
        failure: why it failed, in the tool's words.
        test_case: the test case that it is in, which alone can be chosen; empty where the tool has none.
        map_runs: of a harness of concurrent maps, what it tells of each process.
        unit_recorded: whether the files say in which unit they are; else it is the tool's own, unless the
            program chose another.
    """

    name: str
    parameters: Mapping[str, Fact]
    processes: int
    measures: tuple[Measure, ...]
    failure: str = ""
    test_case: str = ""
    map_runs: tuple[MapRun, ...] = ()
    unit_recorded: bool = True

    @property
    def title(self) -> str:
        """The name, with the parameters that it does not show itself."""
        return self.titled()

    def titled(self, known: Collection[str] = ()) -> str:
        """Return the title without the parameters that are known from elsewhere."""
        shown = [
            f"{key}={value}"
            for key, value in self.parameters.items()
            if key not in known and not _names(self.name, str(value))
        ]
        return f"{self.name} ({', '.join(shown)})" if shown else self.name


def _names(name: str, value: str) -> bool:
    """Tell whether a value stands in a name by itself, not inside of a longer word or number."""
    return re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", name) is not None


class Benchmarks(Sequence[Benchmark]):
    """Benchmarks that are read again whenever they are needed, so that few of them are in memory."""

    def __init__(self, count: int, read: Callable[[], Iterator[Benchmark]]) -> None:
        self._count = count
        self._read = read

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __iter__(self) -> Iterator[Benchmark]:
        """Yield each, as it is read."""
        return self._read()

    @overload
    def __getitem__(self, at: int) -> Benchmark: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Benchmark]: ...
    def __getitem__(self, at: int | slice) -> Benchmark | Sequence[Benchmark]:
        """Return one or some, after all before them were read."""
        return tuple(self)[at]

    def __eq__(self, other: object) -> bool:
        """Tell whether others are the same, in the same order."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment] # as of a list


class ForeignRun(Struct, frozen=True):
    """The results that one run of another tool left.

    Attributes:
        tool: as it calls itself.
        version: of the tool; empty where the file does not tell.
        benchmarks: in the order of the file.
        randomised: whether the order of measurements was drawn at random; None where the file does not tell.
        host: what the file tells of machine, build and options, by the tool's own names.
        begun: when; None where the file does not tell, or not in which time zone.
        options: what was requested of all benchmarks alike and is in the name and parameters of none.
        left_out: results in a folder that could not be read: the error of each.
    """

    tool: str
    version: str
    benchmarks: Sequence[Benchmark]
    randomised: bool | None
    host: Mapping[str, Fact] = field(default_factory=dict)
    begun: datetime | None = None
    options: Mapping[str, Fact] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def shared_of(requests: Iterable[Mapping[str, Fact]]) -> dict[str, Fact]:
    """Return what all of several requests have alike."""
    shared: dict[str, Fact] | None = None
    for request in requests:
        common = request if shared is None else shared
        shared = {name: value for name, value in common.items() if request.get(name) == value}
    return shared or {}


def own_of(request: Mapping[str, Fact], shared: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what a request has that not all of them have."""
    return {name: value for name, value in request.items() if name not in shared}
