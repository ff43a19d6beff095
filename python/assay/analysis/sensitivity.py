"""How sensitive a system is to what is arbitrary: pure functions over logarithms of a metric.

Blackwell (1998, section 5.3.2) perturbs a configuration N times, measures each of these M times, and calls
the standard deviation of the N medians the sensitivity of the system. Everything here takes what such a set
of trials gave: for each configuration an array of the natural logarithms of the metric of its valid trials.
`docs/statistics.md` says what the intervals assume, and `make calibration` how often they hold the truth.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.analysis.aa import binomial_interval
from assay.analysis.intervals import CONFIDENCE, NEGLIGIBLE
from assay.analysis.types import Interval, Pathology
from assay.analysis.verdicts import Better, as_ratio

FEWEST = 6
"""Configurations that an interval takes, as elsewhere the fewest pairs that have one."""

CAREFUL = 5
"""Intervals of variances and of the typical error are calculated at 5% / 5: no method covers 95% of variances
for every distribution, and where that is skewed, the known ones attain 87% (`docs/statistics.md`)."""

ONE_IN = 20
"""How seldom a comparison is as wrong as `Misjudgement.seldom` says."""

DIFFERENCES = 1 << 20
"""Of single trials, held at once: 8 MiB. Beyond that the first replicates stand for all."""

NEARLY = 2.0
"""An amount of randomness is enough if no greater one makes the system half as sensitive."""


@dataclass(frozen=True)
class Spread:
    """How far the medians of the configurations lie apart.

    Attributes:
        deviation: standard deviation of their logarithms, which is Blackwell's sensitivity (1998, table 5,
            there of base 10). 0.05 is about 5%.
        interval: of the deviation; None with fewer than 6 configurations, or where all medians agree.
        extent: the largest median over the smallest.
        share: at least this share of all configurations lies in the extent, with 95% confidence and whatever
            their distribution (Wilks 1941).
    """

    deviation: float
    interval: Interval | None
    extent: float
    share: float


@dataclass(frozen=True)
class VarianceSplit:
    """The variance of single trials, split between configurations and replicates (one-way random effects).

    Attributes:
        between: standard deviation between configurations, of logarithms: 0 where the replicates explain
            all there is.
        within: standard deviation between replicates of a configuration.
        share: the part of the variance that is between configurations; 0 where nothing varies.
        between_interval, within_interval, share_interval: None with fewer than 6 configurations, or where
            replicates agree exactly.
    """

    between: float
    within: float
    share: float
    between_interval: Interval | None
    within_interval: Interval | None
    share_interval: Interval | None


@dataclass(frozen=True)
class Misjudgement:
    """By which factor a comparison of two identical systems in different configurations would be wrong.

    That is what somebody risks who compares two systems, each as it happens to be configured.

    Attributes:
        typical: half of such comparisons are wrong by this factor or more; at least 1.
        interval: of `typical`; None with fewer than 6 configurations.
        seldom: one in 20 is wrong by this factor or more; an estimate without an interval, since the few
            configurations that it rests on allow none.
    """

    typical: float
    interval: Interval | None
    seldom: float


@dataclass(frozen=True)
class Sensitivity:
    """What the trials of one set of perturbed parameters say.

    Attributes:
        configurations: those with a valid trial.
        without: configurations that have none, and so count nowhere.
        trials: valid ones.
        spread: of the configurations' medians.
        split: None unless two configurations have two trials each.
        single: two systems compared by one trial each.
        repeated: the same by the median of as many replicates as there are: what repeating trials of a fixed
            configuration does not cure.
    """

    configurations: int
    without: int
    trials: int
    spread: Spread
    split: VarianceSplit | None
    single: Misjudgement
    repeated: Misjudgement


@dataclass(frozen=True)
class Enough:
    """The least amount of randomness beyond which the sensitivity stops falling.

    Attributes:
        amount: the least of those measured that is at most `nearly` times as sensitive as any greater one.
        low, high: between which the true one lies with 95% confidence. `high` may be the greatest amount
            measured, and then more of it may still help.
        nearly: what counts as falling.
        measured: the amounts, the least first.
    """

    amount: float
    low: float
    high: float
    nearly: float
    measured: tuple[float, ...]

    @property
    def known(self) -> bool:
        """Whether the greatest amount measured is more than what it takes."""
        return self.high < self.measured[-1]


def sensitivity(values: Sequence[ArrayLike]) -> Sensitivity:
    """Return how sensitive a system is to one set of perturbed parameters.

    Args:
        values: for each configuration the logarithms of the metric of its valid trials, finite, as many as
            there are. At least two configurations must have one.

    Raises:
        ValueError: there are fewer than two.
    """
    all_rows = [np.asarray(row, dtype=np.float64) for row in values]
    rows = [row for row in all_rows if row.size]
    if len(rows) < 2:
        raise ValueError("a sensitivity takes two configurations or more that have a valid trial")
    medians = np.array([np.median(row) for row in rows])
    return Sensitivity(
        configurations=len(rows),
        without=len(all_rows) - len(rows),
        trials=sum(row.size for row in rows),
        spread=_spread(medians),
        split=_split([row for row in rows if row.size > 1]),
        single=_misjudgement(_padded(rows)),
        repeated=_misjudgement(medians[:, None]),
    )


def enough(amounts: Mapping[float, Sequence[ArrayLike]], nearly: float = NEARLY) -> Enough:
    """Return how much randomness is enough, as Blackwell reads it from his tables 5 and 6.

    Enough is the least amount k whose sensitivity (`Spread.deviation`) is at most `nearly` times that of any
    greater amount. `low` rises from the least amount while one is shown to be too little: its sensitivity is
    more than `nearly` times that of some greater one, at 2.5% shared among these. The first amount that in
    truth is enough stops it, or is passed with 2.5% at most. `high` falls from the greatest while the next
    is shown to be enough: against each greater one, at 2.5% each. The first that in truth is not enough
    stops it, or is passed with 2.5% at most. So the two miss with at most 5%.

    Args:
        amounts: amount -> what `sensitivity` takes, from configurations drawn anew for each.
        nearly: above 1.

    Raises:
        ValueError: an amount has fewer than two configurations, or there is no amount.
    """
    if not amounts:
        raise ValueError("it takes the trials of at least one amount of randomness")
    measured = sorted(amounts)
    variances = [_LogVariance.of_medians(amounts[amount]) for amount in measured]
    last = len(measured) - 1

    def ratio(less: int, more: int, shared: int) -> tuple[float, float, float]:
        """Return the factor by which the sensitivity falls, and its limits, in units of `nearly`."""
        return variances[less].over(variances[more], shared, 2 * math.log(nearly))

    def greater(index: int) -> range:
        return range(index + 1, last + 1)

    falls = (any(ratio(index, more, 1)[1] > 0 for more in greater(index)) for index in range(last + 1))
    amount = next(index for index, falling in enumerate(falls) if not falling)
    low = 0
    while any(ratio(low, more, last - low)[0] > 0 for more in greater(low)):
        low += 1
    high = last
    while high > 0 and all(ratio(high - 1, more, 1)[2] <= 0 for more in greater(high - 1)):
        high -= 1
    return Enough(measured[amount], measured[low], measured[high], nearly, tuple(measured))


def pathological(values: ArrayLike, bound: float, better: Better) -> Pathology:
    """Return how probable it is that a trial is worse than a bound.

    Args:
        values: the metric of independent trials, at least one, or its logarithms. Replicates of one
            configuration are not independent: give one value for each configuration.
        bound: on the same scale. For a tenth of the median it is that, of logarithms plus log(0.1).
        better: below the bound is worse where higher is better, else above it.
    """
    data = np.asarray(values, dtype=np.float64)
    count = int(np.sum(data < bound if better == "higher" else data > bound))
    return Pathology(bound, count, data.size, count / data.size, binomial_interval(count, data.size))


@dataclass(frozen=True)
class _LogVariance:
    """The logarithm of a variance, and its standard error (Bonett 2006).

    Attributes:
        estimate: minus infinity where nothing varies.
        center: of the interval, which Bonett moves a little.
        error: None with too few values.
        size: number of values.
    """

    estimate: float
    center: float
    error: float | None
    size: int

    @classmethod
    def of_medians(cls, values: Sequence[ArrayLike]) -> "_LogVariance":
        medians = [np.median(row) for row in map(np.asarray, values) if row.size]
        if len(medians) < 2:
            raise ValueError("each amount of randomness takes two configurations or more with a valid trial")
        return cls.of(np.array(medians))

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> "_LogVariance":
        size = len(values)
        variance = _variance(values)
        if variance == 0:
            return cls(-math.inf, -math.inf, 0.0 if size >= FEWEST else None, size)
        estimate = math.log(variance)
        if size < FEWEST:
            return cls(estimate, estimate, None, size)
        correction = math.log(_small_sample(size))
        return cls(estimate, estimate + correction, _error(_influences(values)), size)

    def over(self, other: "_LogVariance", shared: int, bound: float) -> tuple[float, float, float]:
        """Return the lower limit, estimate and upper limit of the logarithm of a ratio, less a bound."""
        if math.isinf(self.estimate) or math.isinf(other.estimate):
            both = 0.0 if self.estimate == other.estimate else self.estimate - other.estimate
            limits = (both, both) if None not in (self.error, other.error) else (-math.inf, math.inf)
            return limits[0] - bound, both - bound, limits[1] - bound
        estimate = self.estimate - other.estimate - bound
        if self.error is None or other.error is None:
            return -math.inf, estimate, math.inf
        reach = _reach(min(self.size, other.size), shared) * math.hypot(self.error, other.error)
        center = self.center - other.center - bound
        return center - reach, estimate, center + reach


def _spread(medians: NDArray[np.float64]) -> Spread:
    variance = _LogVariance.of(medians)
    interval = None
    if variance.error:
        reach = _reach(len(medians)) * variance.error
        low, high = (math.exp((variance.center + end) / 2) for end in (-reach, reach))
        interval = Interval(low, high, CONFIDENCE)
    from scipy.special import betaincinv  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load

    # What lies between the least and the greatest of n is distributed as Beta(n - 1, 2).
    share = float(betaincinv(len(medians) - 1, 2, 1 - CONFIDENCE))
    return Spread(math.exp(variance.estimate / 2), interval, as_ratio(np.ptp(medians)), share)


def _split(rows: Sequence[NDArray[np.float64]]) -> VarianceSplit | None:
    """Return the variance components by unweighted means (Thomas and Hultquist 1978).

    With V the variance of the configurations' means, W the pooled variance of replicates and m the harmonic
    mean of their numbers, between^2 is V - W / m. Its interval combines those of V and W (Burdick and
    Graybill 1992, with standard errors that need no normal distribution); the interval of the
    share follows from that of m V / W.
    """
    if len(rows) < 2:
        return None
    means = np.array([row.mean() for row in rows])
    sizes = np.array([row.size for row in rows])
    m = 1 / float(np.mean(1 / sizes))
    v = _variance(means)
    of_rows = np.array([_variance(row) for row in rows])
    weights = (sizes - 1) / np.mean(sizes - 1)
    w = float(np.mean(weights * of_rows))
    difference = v - w / m
    between = max(0.0, difference)
    components = math.sqrt(between), math.sqrt(w), between / (between + w) if between else 0.0
    if len(rows) < FEWEST or not w or not v:
        return VarianceSplit(*components, None, None, None)
    of_v, of_w = _influences(means), weights * (of_rows / w - 1)
    center = _small_sample(len(rows)) * v
    v_low, v_high = _limits(center, of_v)
    w_low, w_high = _limits(w, of_w)
    low = difference - math.hypot(v - min(v_low, v), (w_high - w) / m)
    high = difference + math.hypot(v_high - v, (w - w_low) / m)
    least, most = (max(1.0, end) - 1 for end in _limits(m * center / w, of_v - of_w))
    return VarianceSplit(
        *components,
        between_interval=Interval(math.sqrt(max(0.0, low)), math.sqrt(max(0.0, high)), CONFIDENCE),
        within_interval=Interval(math.sqrt(w_low), math.sqrt(w_high), CONFIDENCE),
        share_interval=Interval(least / (least + m), most / (most + m), CONFIDENCE),
    )


def _limits(center: float, influences: NDArray[np.float64]) -> tuple[float, float]:
    """Return the interval of a variance, or of a ratio of two, around a center."""
    reach = _reach(len(influences)) * _error(influences)
    return center * math.exp(-reach), center * math.exp(reach)


def _misjudgement(matrix: NDArray[np.float64]) -> Misjudgement:
    """Return how far two configurations differ that are drawn at random.

    The share of the pairs of configurations that differ by at most t is a U-statistic, whose standard error
    comes from the shares of each configuration alone (Hoeffding 1948). The interval of the median difference
    holds every t whose share is within the interval of one half (Woodruff 1952, on the logit scale).

    Args:
        matrix: shape (configurations, columns), NaN where there is no value. Pairs are made within columns.
    """
    size = len(matrix)
    first, second = np.triu_indices(size, 1)
    columns = matrix[:, : max(1, DIFFERENCES // len(first))].T
    differences = np.abs(columns[:, first] - columns[:, second])
    present = ~np.isnan(differences)
    ordered = np.sort(differences[present])
    typical, seldom = (_at(ordered, share) for share in (0.5, 1 - 1 / ONE_IN))
    if size < FEWEST:
        return Misjudgement(as_ratio(typical), None, as_ratio(seldom))
    ends = np.stack([first, second])
    smaller, met = (
        np.bincount(ends.ravel(), np.tile(counts.sum(axis=0), 2), size)
        for counts in (present & (differences <= typical), present)
    )
    error = 2 * float(np.std(smaller / met, ddof=1)) / math.sqrt(size)
    logit = 4 * _reach(size) * error  # the logit's derivative at one half is 4
    low, high = (_at(ordered, 1 / (1 + math.exp(end))) for end in (logit, -logit))
    return Misjudgement(
        as_ratio(typical), Interval(as_ratio(low), as_ratio(high), CONFIDENCE), as_ratio(seldom)
    )


def _padded(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return rows as a matrix, with NaN where one is shorter than the longest."""
    matrix = np.full((len(rows), max(row.size for row in rows)), np.nan)
    for index, row in enumerate(rows):
        matrix[index, : row.size] = row
    return matrix


def _variance(values: NDArray[np.float64]) -> float:
    """Return the sample variance, 0 where only rounding tells values apart."""
    return 0.0 if np.ptp(values) < NEGLIGIBLE else float(np.var(values, ddof=1))


def _influences(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each value does to the logarithm of the variance, around a trimmed mean (Bonett 2006)."""
    size = len(values)
    trimmed = np.sort(values)[(cut := int(size / (2 * math.sqrt(size - 4)))) : size - cut]
    influences: NDArray[np.float64] = (values - trimmed.mean()) ** 2 / np.var(values) - 1
    return influences


def _error(influences: NDArray[np.float64]) -> float:
    """Return the standard error of the logarithm of a variance (Bonett 2006).

    His kurtosis less (n - 3) / n is the mean square of the influences plus 3 / n.
    """
    size = len(influences)
    spread = float(np.mean(influences**2)) + 3 / size
    return _small_sample(size) * math.sqrt(spread / (size - 1))


def _small_sample(size: int) -> float:
    """Return Bonett's correction n / (n - z)."""
    return size / (size - 1.959964)


def _reach(size: int, shared: int = 1) -> float:
    """Return how many standard errors an interval reaches to either side.

    Args:
        size: number of configurations.
        shared: among how many tests the level is shared.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to load

    return float(stdtrit(size - 1, 1 - (1 - CONFIDENCE) / 2 / CAREFUL / max(1, shared)))


def _at(ordered: NDArray[np.float64], share: float) -> float:
    """Return the least value that this share of the values does not exceed."""
    rank = math.ceil(share * len(ordered) - NEGLIGIBLE)
    return float(ordered[min(max(rank, 1), len(ordered)) - 1])
