"""Measures the OpenMP runtime beside libgomp and libomp; a part of `make bench`.

PYTHONPATH=benchmarks .venv/bin/python satellites/openmp/openmp_benchmarks.py PART...
"""

import re
from collections.abc import Sequence
from functools import partial
from operator import truediv

from assay import programs
from harness import by_turns, figure, output, run_parts

PASSES = 9
BOTS = (
    "alignment 40 200", "fib 40 10", "floorplan 11 3", "health 5 4 200", "nqueens 11 3", "sort 2000000",
    "sparselu 20 32", "strassen 512", "uts 2000 8 124875 5",
)  # fmt: skip
ALL_TASKS = ("fib 24", "nqueens 9", "uts 2000 8 124875 5")
OURS, GOMP, OMP = "ours", "libgomp", "libomp"


def measured(runtime: str, command: str, metric: str, threads: int, more: Sequence[str] = ()) -> float:
    """Return what a program of `bin/openmp` prints of itself under a runtime."""
    binaries = programs.find("assay-omp").parent
    library = {OURS: str(binaries.parent / "lib" / "openmp" / "libassay-gomp.so"), OMP: "libomp.so.5"}
    preloaded = {"LD_PRELOAD": library[runtime]} if runtime in library else {}
    program, *arguments = command.split()
    printed = output(
        str(binaries / "openmp" / program),
        *arguments,
        more={"OMP_NUM_THREADS": str(threads), **preloaded, **dict(each.split("=") for each in more)},
    )
    found = re.search(rf"^{metric}=(.*)$", printed, re.M)
    assert found is not None, printed
    return float(found[1])


def beside(command: str, metric: str, threads: int, more: Sequence[str] = ()) -> list[float]:
    """Return ours over the better of libgomp's and libomp's, for each pass.

    Args:
        command: the program and its arguments.
        metric: what it prints.
        threads: how many it has.
        more: assignments of the environment for libgomp and libomp.
    """
    turns = {
        runtime: partial(measured, runtime, command, metric, threads, () if runtime == OURS else more)
        for runtime in (OURS, GOMP, OMP)
    }
    times = by_turns(turns, PASSES)
    return list(map(truediv, times[OURS], map(min, times[GOMP], times[OMP])))


def bots() -> None:
    """Print how long the nine programs after BOTS take beside the better of libgomp and libomp."""
    for threads in (2, 8):
        print(f"\ntime / the better of libgomp's and libomp's, {threads} threads (goal: at most 1.00)")
        for command in BOTS:
            figure(command, beside(command, "seconds", threads), "passes")


def tasks() -> None:
    """Print how much longer libgomp takes where each call is a task."""
    print("\nlibgomp's time / ours, 2 threads, no cut-off (goal: at least 3)")
    for command in ALL_TASKS:
        turns = {runtime: partial(measured, runtime, command, "seconds", 2) for runtime in (OURS, GOMP)}
        times = by_turns(turns, PASSES)
        figure(command, list(map(truediv, times[GOMP], times[OURS])), "passes")


def barriers() -> None:
    """Print what a barrier costs, with as many threads as processors and with more."""
    print("\nlibgomp's time of a barrier / ours, 2 threads (goal: at least 1.3)")
    for name, command, metric in (
        ("nothing between", "overheads 200 5", "barrier_ns"),
        ("work by turns between (figure 4.5)", "barriers 5000 10000", "barrier_ns"),
    ):
        turns = {runtime: partial(measured, runtime, command, metric, 2) for runtime in (OURS, GOMP)}
        times = by_turns(turns, PASSES)
        figure(name, list(map(truediv, times[GOMP], times[OURS])), "passes")
    print("\ntime of a barrier / the better of both with passive waiting, 8 threads (goal: at most 1.0)")
    ratios = beside("overheads 50 5", "barrier_ns", 8, ["OMP_WAIT_POLICY=passive"])
    figure("nothing between", ratios, "passes")


def main() -> None:
    """Run the parts that the command line names, or all."""
    run_parts([bots, tasks, barriers])


if __name__ == "__main__":
    main()
