"""One estimate for a population of hosts, from an effect on each host.

Hosts are a random effect: a host is one observation, however many blocks it ran. The interval is Student's
for the mean of the hosts' effects. Each host may have a variance of its own, from its noise and its number of
blocks: if effects are normal, the test then errs less often, not more, at every level up to 8% (Bakirov and
Székely 2006; Ibragimov and Müller 2010). `docs/statistics.md` says what it assumes.
"""

import math

import numpy as np
from numpy.typing import NDArray

from assay.analysis.intervals import NEGLIGIBLE, as_ratio
from assay.analysis.pairs import Sample
from assay.analysis.types import Estimate, Interval
from assay.words import counted

FEWEST_HOSTS = 4
"""From fewer hosts nothing is said about others."""


def host_effects(sample: Sample) -> NDArray[np.float64]:
    """Return the effect on each host, hosts in the order of their first pair.

    It is the mean log ratio, the logarithm of the ratio of the sums, or the mean difference. The second is
    infinite, or not a number, if all values of a side are 0.
    """
    names = list(dict.fromkeys(sample.hosts))
    number = {name: index for index, name in enumerate(names)}
    host = np.array([number[name] for name in sample.hosts])
    if sample.scale == "means":
        sums = [np.bincount(host, side, len(names)) for side in (sample.level, sample.baseline)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(sums[0]) - np.log(sums[1]), dtype=np.float64)
    shares = sample.changes / np.bincount(host)[host]
    return np.asarray(np.bincount(host, shares, len(names)), dtype=np.float64)


def population(sample: Sample, level: float) -> Estimate:
    """Return the estimate for the population of hosts, without a verdict.

    Args:
        sample: at least one pair; `hosts` says where each one ran.
        level: 1 less the interval's confidence.
    """
    effects = host_effects(sample)
    known = bool(np.isfinite(effects).all())
    as_number = float if sample.scale == "differences" else as_ratio
    if not known:
        with np.errstate(divide="ignore", invalid="ignore"):
            center = float(sample.level.sum() / sample.baseline.sum())
    else:
        center = as_number(float(effects.mean()))
    ratio, difference = (None, center) if sample.scale == "differences" else (center, None)
    if not known or effects.size < FEWEST_HOSTS:
        few = f"{counted(effects, 'host')} with pairs: it takes {FEWEST_HOSTS} to speak of others"
        reason = few if known else "a host has only values of 0, and so no ratio"
        return Estimate(
            ratio,
            None,
            None,
            "undecided",
            sample.changes.size,
            None,
            reason,
            None,
            None,
            difference,
            sample.zeros,
        )
    from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load

    freedom = effects.size - 1
    unit = max(float(np.abs(effects).max()), 1.0)  # so that no square overflows
    scaled = effects / unit
    mean, error = float(scaled.mean()), float(scaled.std(ddof=1)) / math.sqrt(effects.size)
    mean, error = (0.0 if abs(value) < NEGLIGIBLE else value for value in (mean, error))
    p = 2 * float(stdtr(freedom, -abs(mean) / error)) if error else float(not mean)
    half = float(stdtrit(freedom, 1 - level / 2)) * error
    low, high = (as_number(unit * end) for end in (mean - half, mean + half))
    interval = Interval(low, high, 1 - level)
    return Estimate(
        ratio, interval, p, "undecided", sample.changes.size, difference=difference, zeros=sample.zeros
    )
