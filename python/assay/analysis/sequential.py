"""When a campaign that may end early looks at its results, and whether it may end.

Each look tests at a level of its own, and the levels of all looks sum to 5%: whatever the looks have to do with
each other, the chance that any of them is wrong is at most that sum. `docs/statistics.md` says why the levels
are split as they are.
"""

from math import ceil, log

from assay.analysis.intervals import CONFIDENCE
from assay.analysis.types import Analysis, Look
from assay.experiment.types import Blocks

GROWTH = 1.5
"""About how much more is known at each look than at the one before."""


def looks(blocks: Blocks, comparisons: int = 1) -> tuple[Look, ...]:
    """Return the planned looks at the results, the first one first.

    Looks are spread evenly on the logarithmic scale from `fewest` to `most` blocks, and each has a share of the 5%
    in proportion to its blocks. Looks at the start that could not decide anything are left out: the smallest
    two-sided p-value of n pairs is 2 / 2**n, and has to be below the level after a correction for the number of
    comparisons. A campaign that never ends early has one look at the 95% interval.

    Args:
        blocks: how many times each condition is run.
        comparisons: how many share a level where the campaign runs until all have a verdict.
    """
    counts = [blocks.most]
    if blocks.until is not None and blocks.fewest < blocks.most:
        steps = max(1, round(log(blocks.most / blocks.fewest) / log(GROWTH)))
        growth = (blocks.most / blocks.fewest) ** (1 / steps)
        counts = [ceil(blocks.fewest * growth**step - 1e-9) for step in range(steps)] + [blocks.most]
    family = comparisons if blocks.until == "verdict" else 1
    while len(counts) > 1 and family * 2.0 ** (1 - counts[0]) > (1 - CONFIDENCE) * counts[0] / sum(counts):
        counts = counts[1:]
    return tuple(
        Look(number, len(counts), count, 1 - (1 - CONFIDENCE) * count / sum(counts))
        for number, count in enumerate(counts, 1)
    )


def settled(analysis: Analysis, blocks: Blocks) -> str:
    """Return why a campaign may end at the look that `analysis` rests on, or "" where it may not.

    The comparisons of the main metric and the aggregates decide; further metrics do not.
    """
    found = (*analysis.comparisons, *analysis.aggregates)
    if analysis.look is None or blocks.until is None:
        return ""
    if blocks.until == "verdict":
        return "" if any(one.verdict == "undecided" for one in found) else "every comparison has a verdict"
    intervals = [one.interval for one in found if one.interval is not None]
    if len(intervals) < len(found) or any(
        100 * (interval.high / interval.low - 1) > blocks.until for interval in intervals
    ):
        return ""
    return f"every interval is at most {blocks.until:g}% wide"
