"""The correction of p-values for their number."""

import numpy as np
from numpy.typing import ArrayLike


def holm(p: ArrayLike) -> list[float]:
    """Return Holm's adjusted p-values: those at most alpha may be rejected together at level alpha.

    The chance that any true hypothesis is rejected is then at most alpha, whatever the p-values have to do
    with each other (Holm 1979): the smallest is multiplied by their number, the next by one less, and so on,
    and none becomes smaller than one before it.
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values)
    adjusted = np.empty(len(values))
    factors = np.arange(len(values), 0, -1)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * factors))
    return list(map(float, adjusted))
