"""What benchmarks share: programs and commands that run by turns, and figures with their intervals.

A native program takes turns within a process (`native/assay/fixture`). Processes differ by more than that
shows, as their memory lies elsewhere: a figure is the median over processes, with its interval.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import truediv
from typing import TypeAlias, TypeVar

from assay import programs
from assay.analysis import median, median_interval
from assay.runner.allocators import library_of

K = TypeVar("K")
T = TypeVar("T")

Groups: TypeAlias = dict[str, dict[str, list[float]]]
"""What one process measured: group -> variant -> a number for each round."""

Variants: TypeAlias = Sequence[Mapping[str, Sequence[float]]]
"""What processes measured of one group: for each of them, variant -> a number for each round."""


def by_turns(turns: Mapping[K, Callable[[], T]], times: int) -> dict[K, list[T]]:
    """Do each this many times, in passes over all of them in random order; return what each gave.

    What slows the machine for a while, such as a host that others use, then meets all alike.
    """
    results: dict[K, list[T]] = {name: [] for name in turns}
    for _ in range(times):
        for name in random.sample(list(turns), len(turns)):
            results[name].append(turns[name]())
    return results


def output(
    program: str,
    *arguments: str,
    given: str | None = None,
    allocator: str = "",
    more: Mapping[str, str] | None = None,
) -> str:
    """Return what a native program prints; end as it does where it fails, which says why itself.

    Args:
        program: its name, as `assay.programs` finds it.
        given: what it reads.
        allocator: is loaded before the C library's; the program is told to look for it.
        more: variables of its environment.
    """
    command = [str(programs.find(program)), *arguments]
    environment = dict(os.environ) | dict(more or {})
    if allocator:
        command += ["--allocator", allocator]
        environment["LD_PRELOAD"] = library_of(allocator)
    done = subprocess.run(  # noqa: S603
        command, env=environment, input=given, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def measure(
    program: str, *arguments: str, allocator: str = "", more: Mapping[str, str] | None = None
) -> Groups:
    """Return what a process of a program measured that takes turns within itself."""
    printed = output(program, *arguments, "--json", allocator=allocator, more=more)
    groups: Groups = json.loads(printed)["figures"]
    return groups


def processes(number: int, program: str, *arguments: str, allocator: str = "") -> list[Groups]:
    """Return what this many processes of a program measured."""
    return [measure(program, *arguments, allocator=allocator) for _ in range(number)]


def variants_of(processes: Sequence[Groups], group: str) -> Variants:
    """Return what processes measured of one group."""
    return [groups[group] for groups in processes]


def medians(variants: Variants, variant: str) -> list[float]:
    """Return the median of the rounds of a variant, for each process."""
    return [median(rounds[variant]) for rounds in variants]


def compared(
    variants: Variants, variant: str, other: str, by: Callable[[float, float], float] = truediv
) -> list[float]:
    """Return the median of the ratios (or differences) of two variants in each round, for each process."""
    return [median(list(map(by, rounds[variant], rounds[other]))) for rounds in variants]


def figure(name: str, values: Sequence[float], of: str = "processes", digits: int = 3) -> None:
    """Print the median of values, each of a process or whatever they are `of`, with its interval of 95%."""
    interval = median_interval(values)
    if interval is None:
        sys.exit(f"error: no interval for {name}: too few {of}")
    line(name, median(values), (interval.low, interval.high), f"{len(values)} {of}", digits)


def line(name: str, estimate: float, interval: tuple[float, float], of: str, digits: int = 3) -> None:
    """Print an estimate with its interval, and what it rests on."""
    low, high = interval
    print(f"  {name:64} {estimate:6.{digits}f}   [{low:.{digits}f}, {high:.{digits}f}]   {of}")


def run_parts(every: Sequence[Callable[[], None]]) -> None:
    """Run the parts of a benchmark that the command line names, or all."""
    parts = {part.__name__: part for part in every}
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(f"usage: {sys.argv[0]} [PART...], all without one, of {', '.join(parts)}")
        return
    names = [name.replace("-", "_") for name in sys.argv[1:]]
    for name in names:
        if name not in parts:
            sys.exit(f"error: there is no part {name}; there are {', '.join(parts)}")
    for name in names or parts:
        parts[name]()
