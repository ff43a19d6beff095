"""A bisection for the commit that made something slower: what its campaigns test, and at which level.

A first campaign compares the two ends. From what it shows a threshold follows, and each further campaign
tests whether a commit is slower than the good end by more than that, or is not. Proof that a wrong commit is
named in at most 5% of bisections:

1. There are at most K campaigns (`campaigns_of`), and each is wrong with probability at most 5% / K, whatever
   the earlier ones said, as its trials are its own (`ComparisonDesign.campaigns`; its looks share that too).
2. The ends: the threshold lies below the slowdown of the bad end, as the first campaign tests just that
   (`threshold_percent`). It is chosen after its results are seen, which costs nothing: the tests of all
   thresholds are one confidence interval.
3. A commit as fast as the good end is taken for bad only if its campaign is wrong, and one as slow as the bad
   end for good only if its is. A commit is named only if its own campaign says that it is bad, and the
   campaign of each of its parents that the parent is good (`versions.Bisection`). If nobody errs, both are
   true in any history: with merges, and where commits in between were slow, fast and slow again.
4. So the probability that any of the K errs is at most K times 5% / K.

Commits whose campaign does not decide are passed over. That is no error, but it costs one of the K. Where
all K are used up, no commit is named.
"""

import math
from collections.abc import Callable
from typing import Literal

from assay.analysis.types import Gate, Interval
from assay.experiment.metrics import Better

Side = Literal["good", "bad", "skipped"]
"""Which end of a bisection a commit is like; "skipped" where that is not known."""

SPARE = 2
"""Campaigns beside those of a bisection in which each decides: as many commits may be undecided."""

_NARROW = 0.8
"""Width of an interval, of the slowdown: then its lower end is above half of that."""

_SHARES = (1 / 2, 1 / 3, 1 / 5, 1 / 10)
_LARGEST = 100  # percent, of a gate or a width


def steps_of(commits: int) -> int:
    """Return how many campaigns find one of some commits, the one of the two ends among them."""
    return 1 + math.ceil(math.log2(commits))


def campaigns_of(commits: int, *, merges: bool) -> int:
    """Return among how many campaigns the error of a bisection of some commits is shared.

    Where there are merges, the search may have to go on in what was merged, and compares the parents of
    what it names.
    """
    return steps_of(commits) * (2 if merges else 1) + SPARE


def least_slowdown(interval: Interval, better: Better) -> float:
    """Return the end of an interval of a ratio at which the slowdown is least, as a ratio of times."""
    return interval.low if better == "lower" else 1 / interval.high


def width_percent(ratio: float, interval: Interval, better: Better) -> float | None:
    """Return how narrow the interval of the two ends' ratio has to be to search by it; None where it is.

    Where a slowdown has just been shown, its lower end is so near to none that every commit would need very
    many blocks to be told from either end.
    """
    slowdown = max(ratio, 1 / ratio)
    narrow = least_slowdown(interval, better) ** 2 > slowdown
    return None if narrow else min(100 * _NARROW * (slowdown - 1), _LARGEST)


def threshold_percent(interval: Interval, better: Better, is_beyond: Callable[[float], bool]) -> float | None:
    """Return by how many percent a commit has to be slower to be bad.

    It is half, on the logarithmic scale, of the least slowdown that the two ends are shown to differ by, so
    that both kinds of commits are as far from it. Where the test at its level does not show as much, it is
    less.

    Args:
        interval: of the ratio of the bad end to the good one.
        better: which values of the metric are.
        is_beyond: whether the bad end is shown to be slower by more than this many percent.

    Returns:
        The threshold; None where no slowdown is shown.
    """
    least = least_slowdown(interval, better)
    if least <= 1:
        return None
    thresholds = (min(100 * math.expm1(share * math.log(least)), _LARGEST) for share in _SHARES)
    return next(filter(is_beyond, thresholds), None)


def side_of(gate: Gate | None) -> Side:
    """Return what a campaign says of a commit by the gate of its comparison with the good end."""
    return "bad" if gate == "failed" else "good" if gate == "passed" else "skipped"
