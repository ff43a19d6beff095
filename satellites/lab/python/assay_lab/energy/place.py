"""Programs on a described machine: how long they take together, and where to place them.

A question of Bonnichsen (2016, section 6.2). Each program has as many cores as it keeps busy, in a domain of
cores that share a frequency, or in several domains that are held at the same one if it needs more. All
share the memory's bandwidth: where they ask for more of it, memory is slower for all by the same factor. The
time of each outside of the chip is longer by it, and so is the least time of its bytes, that at the whole
bandwidth: what is fetched while it computes costs nothing until it takes longer. When one ends, the others go
on with what it leaves.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from assay.errors import AssayError
from assay_lab.energy.machines import MachineModel
from assay_lab.energy.model import Predicted, Work

LINE = 64
"""Bytes that a miss takes from memory."""
MOST_WAYS = 200_000


@dataclass(frozen=True)
class Placement:
    """Programs on a machine.

    Attributes:
        domains: for each program, the number of its domain, or of its group of domains; empty if programs run
            one after another.
        gigahertz: the frequency for each such number, or of the machine if they run one after another.
        seconds: time until the last program has ended.
        joules: energy of the machine in this time.
    """

    domains: tuple[int, ...]
    gigahertz: tuple[float, ...]
    seconds: float
    joules: float

    def cost(self, exponent: float) -> float:
        """Return energy * time^exponent."""
        return Predicted(0, self.seconds, self.joules).cost(exponent)


def cores_of(work: Work) -> int:
    """Return how many cores a program gets."""
    return max(1, round(work.cores))


@dataclass(frozen=True)
class _Running:
    on_s: float
    outside_s: float
    bytes: float
    bytes_s: float  # that its bytes take at the whole bandwidth
    cores: int
    core_watts: float

    def seconds(self, slower: float) -> float:
        return max(self.on_s + self.outside_s * slower, self.bytes_s * slower)


def on(work: Work, machine: MachineModel, memory_ns: float) -> Work:
    """Convert work to another machine; it was measured on one whose reads take `memory_ns`."""
    turns = max(1.0, cores_of(work) / machine.cores)  # fewer cores than it has threads
    return Work(
        work.gigacycles * machine.cycles * turns,
        work.outside_s * machine.memory_ns / memory_ns * turns,
        work.misses,
        min(cores_of(work), machine.cores),
    )


def together(
    works: Sequence[Work], domains: Sequence[int], gigahertz: Sequence[float], machine: MachineModel
) -> Placement:
    """Return the time and energy of programs that begin together; `works` are those on this machine."""
    bandwidth = math.inf if machine.bandwidth_gb_s is None else machine.bandwidth_gb_s * 1e9
    left = {
        number: (
            1.0,
            _Running(
                work.gigacycles / gigahertz[domain],
                work.outside_s,
                work.misses * LINE,
                work.misses * LINE / bandwidth,
                cores_of(work),
                machine.core_watts_at(gigahertz[domain]),
            ),
        )
        for number, (work, domain) in enumerate(zip(works, domains, strict=True))
    }
    seconds = joules = 0.0
    while left:
        running = [each for _, each in left.values()]
        slower = _slower(running, bandwidth)
        took = {number: each.seconds(slower) for number, (_, each) in left.items()}
        passed = min(share * took[number] for number, (share, _) in left.items())
        watts = machine.idle_watts + sum(
            each.cores
            * each.core_watts
            * (each.on_s + machine.stalled_share * (each.seconds(slower) - each.on_s))
            / each.seconds(slower)
            for each in running
        )
        seconds += passed
        joules += passed * watts
        left = {
            number: (share - passed / took[number], each)
            for number, (share, each) in left.items()
            if share - passed / took[number] > 1e-12
        }
    return Placement(tuple(domains), tuple(gigahertz), seconds, joules)


def _slower(running: Sequence[_Running], bandwidth: float) -> float:
    """Return by how much memory is slower for all, so that they take no more than its bandwidth.

    It is 1 to their number: with that, each takes its bytes in no less than its share of the bandwidth does.
    """

    def asked(slower: float) -> float:
        return sum(each.bytes / each.seconds(slower) for each in running)

    low, high = 1.0, float(len(running))
    if asked(low) <= bandwidth:
        return low
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if asked(middle) > bandwidth else (low, middle)
    return high


def placements(works: Sequence[Work], machine: MachineModel, name: str) -> list[Placement]:
    """Return every way to place programs on a machine: in its domains at each frequency, and one by one.

    Args:
        works: the programs' work on this machine (`on`).
        machine: the machine.
        name: its name, for the message.

    Raises:
        AssayError: there are too many ways to try.
    """
    shared = list(_assignments([cores_of(work) for work in works], machine))
    ways = sum(len(machine.frequencies_ghz) ** (max(domains) + 1) for domains in shared)
    if ways > MOST_WAYS:
        raise AssayError(
            f"{name}: there are {ways:,} ways to place {len(works)} programs, and at most {MOST_WAYS:,} are"
            " tried; give fewer programs, or fewer domains or frequencies"
        )
    found = [
        together(works, domains, gigahertz, machine)
        for domains in shared
        for gigahertz in product(machine.frequencies_ghz, repeat=max(domains) + 1)
    ]
    if len(works) > 1:
        for gigahertz in machine.frequencies_ghz:
            one_by_one = [together([work], [0], [gigahertz], machine) for work in works]
            found.append(
                Placement(
                    (),
                    (gigahertz,),
                    math.fsum(each.seconds for each in one_by_one),
                    math.fsum(each.joules for each in one_by_one),
                )
            )
    return found


def _assignments(cores: Sequence[int], machine: MachineModel) -> Iterator[tuple[int, ...]]:
    """Yield the domains of programs that fit; domains are alike, so that a new one is the next number.

    What needs more cores than a domain has takes several as one, and others may have what it leaves of them.
    """
    size = machine.cores_of_domain

    def grow(begun: tuple[int, ...], groups: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
        if sum(math.ceil(sum(group) / size) for group in groups) > machine.domains:
            return
        if len(begun) == len(cores):
            if all(sum(group) <= size or max(group) > size for group in groups):
                yield begun
            return
        for number in range(len(groups) + 1):
            more = [*groups, ()] if number == len(groups) else list(groups)
            more[number] += (cores[len(begun)],)
            yield from grow((*begun, number), more)

    yield from grow((), [])
