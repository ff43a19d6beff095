#!/usr/bin/env python3
"""A greedy list scheduler whose ties decide its result.

Tasks depend on each other; how long each takes is known only when it has ended, as it is to a program that
builds others. Whenever a machine is free, the ready task that begins the longest chain of tasks is started.
Many are equal in that. The usual rule, the first of them in the file, is here the worst that there is:

    list_scheduler.py                                   # that rule, 1000 seeds, and one decision repeated
    list_scheduler.py --seed 3                          # one schedule, with the seed of each decision
    list_scheduler.py --seed 4 --fix 'start 1=123'      # another one, with a decision of the former
"""

import argparse
import heapq
from collections import Counter
from dataclasses import dataclass

from assay_lab.randomness import Decisions

MACHINES = 4


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        minutes: how long it takes.
        after: the tasks that must have ended before.
    """

    minutes: int
    after: tuple[str, ...] = ()


UNITS = [f"unit_{i:02}" for i in range(1, 13)]
BUILD = {
    **{unit: Task(1) for unit in UNITS},
    "vendored_parser": Task(4),
    "link": Task(1, (*UNITS, "vendored_parser")),
}
"""Twelve small files and, last in the alphabet, one that takes as long as four of them."""


@dataclass(frozen=True)
class Schedule:
    """What a scheduler did.

    Attributes:
        started: the tasks in order, each with the name of the decision that chose it.
        minutes: when the last one ended.
    """

    started: list[tuple[str, str]]
    minutes: int


def schedule(tasks: dict[str, Task], machines: int, decisions: Decisions, noise: float = 0) -> Schedule:
    """Run tasks on machines, the longest chain first; `noise` is that of `RandomDecision.arg_max`."""
    chains = chains_behind(tasks)
    left = dict(tasks)
    ended: set[str] = set()
    running: list[tuple[int, str]] = []
    started: list[tuple[str, str]] = []
    now = 0
    while left or running:
        ready = [name for name, task in left.items() if ended.issuperset(task.after)]
        if ready and len(running) < machines:
            name = f"start {len(started) + 1}"
            chosen = ready[decisions.named(name).arg_max([chains[task] for task in ready], noise)]
            heapq.heappush(running, (now + left.pop(chosen).minutes, chosen))
            started.append((chosen, name))
        else:
            now, over = heapq.heappop(running)
            ended.add(over)
    return Schedule(started, now)


def chains_behind(tasks: dict[str, Task]) -> dict[str, int]:
    """Return of each task how many are in the longest chain that begins with it."""
    chains: dict[str, int] = {}

    def chain(name: str) -> int:
        if name not in chains:
            behind = [other for other, task in tasks.items() if name in task.after]
            chains[name] = 1 + max(map(chain, behind), default=0)
        return chains[name]

    for name in tasks:
        chain(name)
    return chains


def spread(seeds: range, fixed: dict[str, int] | None = None) -> Counter[int]:
    """Return how many of the seeds give each makespan, where some decisions are fixed."""
    makespans: Counter[int] = Counter()
    for seed in seeds:
        decisions = Decisions(seed)
        for name, own_seed in (fixed or {}).items():
            decisions.fix(name, own_seed)
        makespans[schedule(BUILD, MACHINES, decisions).minutes] += 1
    return makespans


def show() -> None:
    """Print the fixed rule's result, that of 1000 seeds, and what one decision of a good one does alone."""
    print(f"always the first of equals: {schedule(BUILD, MACHINES, Decisions.none()).minutes} minutes")
    print(f"1000 seeds: {told(spread(range(1000)))}")
    # A seed whose first decision is the one that matters.
    good = next(
        seed
        for seed in range(1000)
        if schedule(BUILD, MACHINES, Decisions(seed)).started[0][0] == "vendored_parser"
    )
    for name in ("start 1", "start 2"):
        again = spread(range(1000), {name: Decisions(good).seed_of(name)})
        print(f"1000 seeds, but {name!r} as with seed {good}: {told(again)}")


def told(makespans: Counter[int]) -> str:
    """Return how often each makespan occurs."""
    return ", ".join(f"{minutes} minutes {count} times" for minutes, count in sorted(makespans.items()))


def main() -> None:
    """Print what the command line asks for."""
    parser = argparse.ArgumentParser(description="Schedule a build whose ties decide how long it takes.")
    parser.add_argument("--seed", type=int, help="print the schedule of this seed")
    parser.add_argument("--fix", action="append", default=[], metavar="NAME=SEED", help="repeat a decision")
    words = parser.parse_args()
    if words.seed is None:
        return show()
    decisions = Decisions(words.seed)
    for fixed in words.fix:
        name, _, own_seed = fixed.rpartition("=")
        decisions.fix(name, int(own_seed))
    made = schedule(BUILD, MACHINES, decisions)
    for task, name in made.started:
        print(f"{name:9} {task:15} {decisions.seed_of(name)}")
    print(f"{made.minutes} minutes")
    return None


if __name__ == "__main__":
    main()
