"""Whether values rise or fall with their order."""

import math
from collections.abc import Sequence

import numpy as np


def rank_correlation_p(values: Sequence[float]) -> float:
    """Return the p-value of the rank correlation of three values or more with their order; 1 of equal ones.

    It is Spearman's, by Student's distribution as `scipy.stats.spearmanr` computes it; to load that would
    take most of a second at the end of every campaign.
    """
    # Loaded late because it is slow, and most commands need no statistics; SciPy ships no types.
    from scipy.special import stdtr  # type: ignore[import-untyped] # noqa: PLC0415

    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    if counts.size == 1:
        return 1.0
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # ties share the mean of their ranks
    correlation = float(np.corrcoef(np.arange(ranks.size), ranks)[0, 1])
    unexplained = 1 - correlation**2
    if unexplained <= 0:
        return 0.0
    freedom = ranks.size - 2
    return float(2 * stdtr(freedom, -abs(correlation) * math.sqrt(freedom / unexplained)))
