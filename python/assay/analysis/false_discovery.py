"""The correction of p-values that holds the false-discovery rate."""

import numpy as np
from numpy.typing import ArrayLike


def harmonic(number: int) -> float:
    """Return 1 + 1/2 + ... + 1/number: what not knowing how p-values depend on each other costs."""
    return float(np.sum(1 / np.arange(1, number + 1)))


def benjamini_yekutieli(p: ArrayLike) -> list[float]:
    """Return adjusted p-values: of those at most q, a share of at most q is expected to be false.

    That holds whatever the p-values have to do with each other (Benjamini and Yekutieli 2001, theorem 1.3):
    the k-th smallest of m is multiplied by m (1 + 1/2 + ... + 1/m) / k, and none becomes larger than one
    after it. `docs/statistics.md` has the proof.
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values)
    ranks = np.arange(1, len(values) + 1)
    adjusted = np.empty(len(values))
    factors = len(values) * harmonic(len(values)) / ranks
    adjusted[order] = np.minimum(1, np.minimum.accumulate((values[order] * factors)[::-1])[::-1])
    return list(map(float, adjusted))
