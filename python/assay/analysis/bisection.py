"""A bisection for the commit that made something slower: what its campaigns test, and at which level.

A first campaign compares the two ends; its result sets a threshold. Each further campaign tests whether a
commit is slower than the good end by more than the threshold. Proof that at most 5% of bisections name a
wrong commit:

1. There are at most K campaigns (`campaigns_of`), and each is wrong with probability at most 5% / K, whatever
   the earlier ones said, as its trials are its own (`ComparisonDesign.campaigns`; its looks share that too).
2. The ends: the threshold lies below the slowdown of the bad end, because the first campaign tests exactly
   this (`threshold_percent`). It is chosen after the results are seen, which costs nothing: the tests of all
   thresholds are one confidence interval.
3. A commit as fast as the good end is called bad only if its campaign is wrong, and a commit as slow as the
   bad end is called good only if its campaign is wrong. A commit is named only if its own campaign says that
   it is bad, and each parent's campaign says that the parent is good (`versions.Bisection`). If no campaign
   is wrong, both are true in any history: with merges, and if commits were slow, fast and slow again.
4. So the probability that any of the K campaigns is wrong is at most K times 5% / K.

Commits whose campaign does not decide are skipped. That is not an error, but it costs one of the K
campaigns. When all K are used up, no commit is named.
"""

import math
from collections.abc import Callable
from typing import Literal

from assay.analysis.types import Gate, Interval
from assay.experiment.metrics import Better

Side = Literal["good", "bad", "skipped"]
"""The end of a bisection that a commit is like; "skipped" if that is unknown."""

SPARE = 2
"""Campaigns in addition to those that decide: this many commits may remain undecided."""

_NARROW = 0.8
"""Width of an interval as a share of the slowdown; its lower end is then above half the slowdown."""

_SHARES = (1 / 2, 1 / 3, 1 / 5, 1 / 10)
_LARGEST = 100  # percent, of a gate or a width


def steps_of(commits: int) -> int:
    """Return how many campaigns find one among this many commits, including that of the two ends."""
    return 1 + math.ceil(math.log2(commits))


def campaigns_of(commits: int, *, merges: bool) -> int:
    """Return how many campaigns share the error of a bisection over this many commits.

    If there are merges, the search may continue in a merged branch, and it also tests the parents of the
    commit that it names.
    """
    return steps_of(commits) * (2 if merges else 1) + SPARE


def least_slowdown(interval: Interval, better: Better) -> float:
    """Return the least slowdown in an interval of a ratio, as a ratio of times."""
    return interval.low if better == "lower" else 1 / interval.high


def width_percent(ratio: float, interval: Interval, better: Better) -> float | None:
    """Return how narrow the interval of the two ends' ratio must be for the search; None if it is.

    If a slowdown has only just been shown, its lower end is so close to 1 that it would take very many blocks
    to tell a commit from either end.
    """
    slowdown = max(ratio, 1 / ratio)
    narrow = least_slowdown(interval, better) ** 2 > slowdown
    return None if narrow else min(100 * _NARROW * (slowdown - 1), _LARGEST)


def threshold_percent(interval: Interval, better: Better, is_beyond: Callable[[float], bool]) -> float | None:
    """Return by how many percent a commit must be slower to be bad.

    The threshold is half of the least slowdown that is shown between the two ends (on the logarithmic scale),
    so that good and bad commits are equally far from it. If the test at its level shows less, it is lower.

    Args:
        interval: the interval of the ratio of the bad end to the good one.
        better: which values of the metric are better.
        is_beyond: whether the bad end is shown to be slower by more than a number of percent.

    Returns:
        The threshold; None where no slowdown is shown.
    """
    least = least_slowdown(interval, better)
    if least <= 1:
        return None
    thresholds = (min(100 * math.expm1(share * math.log(least)), _LARGEST) for share in _SHARES)
    return next(filter(is_beyond, thresholds), None)


def side_of(gate: Gate | None) -> Side:
    """Return the side of a commit, from the gate of its comparison with the good end."""
    return "bad" if gate == "failed" else "good" if gate == "passed" else "skipped"
