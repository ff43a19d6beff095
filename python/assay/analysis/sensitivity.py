"""How sensitive a system is to what is arbitrary: pure functions over a metric on a scale.

Blackwell (1998, section 5.3.2) perturbs a configuration N times, measures each of these M times, and calls
the standard deviation of the N medians the sensitivity of the system. Everything here takes what such a set
of trials gave: for each configuration an array of the metric of its valid trials, on one of three scales.
`docs/statistics.md` says what the intervals assume, and `make calibration` how often they hold the truth.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.analysis.aa import binomial_interval
from assay.analysis.intervals import CONFIDENCE, NEGLIGIBLE, as_ratio
from assay.analysis.types import Interval, Pathology
from assay.analysis.verdicts import Better

FEWEST = 6
"""Configurations that an interval takes, as elsewhere the fewest pairs that have one."""

CAREFUL = 5
"""Intervals of variances and of the typical error are calculated at 5% / 5: no method covers 95% of variances
for every distribution, and where that is skewed, the known ones attain 87% (`docs/statistics.md`)."""

ONE_IN = 20
"""How seldom a comparison is as wrong as `Misjudgement.seldom` says."""

DIFFERENCES = 1 << 20
"""Differences of single trials in memory at once: 8 MiB. With more, only the first replicates count."""

NEARLY = 0.2
"""An amount of randomness is enough if no greater one takes away more than this share of the sensitivity
that there is without. On Blackwell's table 5 (1998) that gives the 5% of traffic that he chose: 20% takes
away 12% more; at 2% it is 27%."""

_ANY_RATIO = 1e12
"""A ratio of variances above which none is told from another one."""

Scale = Literal["logarithm", "mean", "unit"]
"""In what numbers a sensitivity is: the natural logarithm of a metric that is always above 0; where it is
sometimes 0 and never below, the metric over the mean of its trials; where it is sometimes below 0, the metric
itself, which has no meaningful ratio."""


@dataclass(frozen=True)
class Spread:
    """How far the medians of the configurations lie apart.

    Attributes:
        deviation: their standard deviation, which is Blackwell's sensitivity (1998, table 5, there of
            logarithms of base 10). Of logarithms and over the mean 0.05 is about 5%.
        interval: of the deviation; None with fewer than 6 configurations, or where all medians agree.
        extent: the largest median over the smallest; their difference unless the scale is logarithmic.
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
        between: standard deviation between configurations: 0 where the replicates explain all there is.
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

    That is what somebody risks who compares two systems, each as it happens to be configured. Unless the
    scale is logarithmic, it is by which difference.

    Attributes:
        typical: half of such comparisons are wrong by this factor or more; at least 1.
        interval: of `typical`; None with fewer than 6 configurations. Where several sensitivities are
            estimated, all such intervals hold together with 95% confidence.
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
        pathological: how probable a trial is that is pathologically bad, from the first of each
            configuration; None where the experiment names no bound, or their median is not above 0.
    """

    configurations: int
    without: int
    trials: int
    spread: Spread
    split: VarianceSplit | None
    single: Misjudgement
    repeated: Misjudgement
    pathological: Pathology | None = None


@dataclass(frozen=True)
class Enough:
    """The least amount of randomness beyond which the sensitivity stops falling.

    Attributes:
        amount: the least of those measured of which no greater one takes away more than `nearly` of the
            sensitivity at the least amount.
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


@dataclass(frozen=True)
class Relative:
    """How sensitive one system is, relative to another one: by the deviations between configurations.

    Attributes:
        times: as sensitive; None where replicates explain all that the other one's configurations differ by.
        low, high: between which the true ratio lies with 95% confidence, for all ratios that are estimated
            together; `high` is None where it may be without bound.
    """

    times: float | None
    low: float
    high: float | None

    @property
    def verdict(self) -> Literal["less sensitive", "more sensitive", "undecided"]:
        """What the interval shows."""
        if self.high is not None and self.high < 1:
            return "less sensitive"
        return "more sensitive" if self.low > 1 else "undecided"


def sensitivity(values: Sequence[ArrayLike], scale: Scale = "logarithm", together: int = 1) -> Sensitivity:
    """Return how sensitive a system is to one set of perturbed parameters.

    Args:
        values: for each configuration the metric of its valid trials on a scale, finite, as many as there
            are. At least two configurations must have one.
        scale: of the values.
        together: how many sensitivities are estimated, the largest of which may be picked.

    Raises:
        ValueError: there are fewer than two.
    """
    all_rows = [np.asarray(row, dtype=np.float64) for row in values]
    rows = [row for row in all_rows if row.size]
    if len(rows) < 2:
        raise ValueError("a sensitivity takes two configurations or more that have a valid trial")
    medians = np.array([np.median(row) for row in rows])
    components = _Components.of(rows, scale)
    return Sensitivity(
        configurations=len(rows),
        without=len(all_rows) - len(rows),
        trials=sum(row.size for row in rows),
        spread=_spread(medians, scale),
        split=components.split() if components else None,
        single=_misjudgement(_padded(rows), scale, together),
        repeated=_misjudgement(medians[:, None], scale, together),
    )


def enough(
    amounts: Mapping[float, Sequence[ArrayLike]], nearly: float = NEARLY, scale: Scale = "logarithm"
) -> Enough:
    """Return how much randomness is enough, as Blackwell reads it from his table 5.

    The sensitivity is the deviation between configurations (`VarianceSplit.between`): what differs between
    replicates of one counts nowhere, as adding randomness adds to it. Enough is the least amount of which no
    greater one takes away more than `nearly` of the sensitivity at the least amount. `low` rises from the
    least amount while one is shown to be too little: some greater one takes more away, at 2.5% shared among
    these. The first amount that in truth is enough stops it, or is passed with 2.5% at most. `high` falls
    from the greatest while the next is shown to be enough: against each greater one, at 2.5% each. The first
    that in truth is not enough stops it, or is passed with 2.5% at most. So the two miss with at most 5%.

    Args:
        amounts: amount -> what `sensitivity` takes, from configurations drawn anew for each.
        nearly: above 0 and below 1.
        scale: of the values.

    Raises:
        ValueError: there is no amount, or one has fewer than two configurations with two trials.
    """
    if not amounts:
        raise ValueError("it takes the trials of at least one amount of randomness")
    measured = sorted(amounts)
    parts = [_Components.of(amounts[at], scale) for at in measured]
    systems = [part for part in parts if part]
    if len(systems) < len(parts):
        raise ValueError("each amount of randomness takes two configurations or more with two valid trials")
    last = len(measured) - 1

    @cache
    def ends(index: int, shared: int) -> tuple[float, float]:
        return systems[index].deviations(shared)

    def fall(less: int, more: int, shared: int) -> tuple[float, float]:
        """Return the limits of what the greater amount takes away, less what does not count."""
        weights = {less: 1.0, more: -1.0}
        weights[0] = weights.get(0, 0.0) - nearly
        return _combined(
            [(weight, systems[at].deviation, ends(at, shared)) for at, weight in weights.items()]
        )

    def greater(index: int) -> range:
        return range(index + 1, last + 1)

    low = 0
    while any(fall(low, more, last - low)[0] > 0 for more in greater(low)):
        low += 1
    high = last
    while high > 0 and all(fall(high - 1, more, 1)[1] <= 0 for more in greater(high - 1)):
        high -= 1
    amount = least_enough([system.deviation for system in systems], nearly)
    return Enough(measured[amount], measured[low], measured[high], nearly, tuple(measured))


def least_enough(sensitivities: Sequence[float], nearly: float = NEARLY) -> int:
    """Return the index of the first sensitivity that no later one is below by more than a share of the first.

    Args:
        sensitivities: at growing amounts of randomness, the least first.
        nearly: the share.
    """
    bound = nearly * sensitivities[0] + NEGLIGIBLE
    return next(at for at, value in enumerate(sensitivities) if value - min(sensitivities[at:]) <= bound)


def relative(
    one: Sequence[ArrayLike], other: Sequence[ArrayLike], scale: Scale = "logarithm", together: int = 1
) -> Relative | None:
    """Return how sensitive one system is relative to another one, on one scale; None without replicates.

    The interval holds every ratio r with which the variance of the one less r^2 times that of the other may
    be 0 (by the limits of each; Zou and Donner 2008). Where configuration i of one is drawn as that of the
    other, they vary together, which makes it wider than it needs to be.

    Args:
        one, other: what `sensitivity` takes.
        scale: of both.
        together: how many ratios are estimated.
    """
    first, second = (_Components.of(values, scale) for values in (one, other))
    if not first or not second:
        return None
    high = _least_ratio(second, first, together)
    return Relative(
        times=first.deviation / second.deviation if second.deviation else None,
        low=math.sqrt(_least_ratio(first, second, together)),
        high=1 / math.sqrt(high) if high else None,
    )


def spread_ratio(one: ArrayLike, other: ArrayLike) -> Interval | None:
    """Return the interval of how many times the standard deviation of one is that of the other.

    Both are of independent values, without replicates (Bonett 2006). There is none for fewer than six values,
    or equal ones.
    """
    groups = [np.asarray(values, dtype=np.float64) for values in (one, other)]
    if min(len(values) for values in groups) < FEWEST or not all(_variance(values) for values in groups):
        return None
    errors = (_error(_influences(values, "logarithm")) for values in groups)
    reach = _reach(min(len(values) for values in groups)) * math.hypot(*errors)
    first, second = (_small_sample(len(values)) * _variance(values) for values in groups)
    low, high = (math.sqrt(first / second) * math.exp(end / 2) for end in (-reach, reach))
    return Interval(low, high, CONFIDENCE)


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
class _Components:
    """The components of the variance of single trials, by unweighted means (Thomas and Hultquist 1978).

    With V the variance of the configurations' means, W the pooled variance of replicates and m the harmonic
    mean of their numbers, that between configurations is V - W / m. Its interval combines those of V and W
    (Burdick and Graybill 1992, with standard errors that need no normal distribution); the interval of the
    share follows from that of m V / W.

    Attributes:
        v, w, m: as above.
        of_v, of_w: what each configuration does to the logarithms of V and W; empty with fewer than 6.
    """

    v: float
    w: float
    m: float
    of_v: NDArray[np.float64]
    of_w: NDArray[np.float64]

    @classmethod
    def of(cls, values: Sequence[ArrayLike], scale: Scale) -> "_Components | None":
        """Return those of the configurations with two trials; None of fewer than two such."""
        rows = [row for row in (np.asarray(row, dtype=np.float64) for row in values) if row.size > 1]
        if len(rows) < 2:
            return None
        matrix = _padded(rows)
        means, sizes = np.nanmean(matrix, axis=1), np.array([row.size for row in rows])
        weights = (sizes - 1) / np.mean(sizes - 1)
        alike = np.nanmax(matrix, axis=1) - np.nanmin(matrix, axis=1) < NEGLIGIBLE
        weighted = weights * np.where(alike, 0.0, np.nanvar(matrix, axis=1, ddof=1))
        v, w = _variance(means), float(np.mean(weighted))
        none = np.zeros(len(rows) if len(rows) >= FEWEST else 0)
        return cls(
            v=v,
            w=w,
            m=1 / float(np.mean(1 / sizes)),
            of_v=_influences(means, scale) if none.size and v else none,
            of_w=weighted / w - weights + _of_the_mean(means, scale) if none.size and w else none,
        )

    @property
    def difference(self) -> float:
        """The variance between configurations; below 0 where replicates explain more than there is."""
        return self.v - self.w / self.m

    @property
    def deviation(self) -> float:
        """The standard deviation between configurations."""
        return math.sqrt(max(0.0, self.difference))

    def limits(self, shared: int = 1) -> tuple[float, float]:
        """Return the interval of `difference`; `shared` as in `_reach`."""
        if not self.of_v.size:
            return -math.inf, math.inf
        v_low, v_high = _limits(_small_sample(len(self.of_v)) * self.v, self.of_v, shared)
        w_low, w_high = _limits(self.w, self.of_w, shared)
        return (
            self.difference - math.hypot(self.v - min(v_low, self.v), (w_high - self.w) / self.m),
            self.difference + math.hypot(v_high - self.v, (self.w - w_low) / self.m),
        )

    def deviations(self, shared: int = 1) -> tuple[float, float]:
        """Return the interval of `deviation`."""
        low, high = self.limits(shared)
        return math.sqrt(max(0.0, low)), math.sqrt(max(0.0, high))

    def split(self) -> VarianceSplit:
        """Return the components, as they are shown."""
        between = max(0.0, self.difference)
        share = between / (between + self.w) if between else 0.0
        components = self.deviation, math.sqrt(self.w), share
        if not self.of_v.size or not self.w or not self.v:
            return VarianceSplit(*components, None, None, None)
        w_low, w_high = _limits(self.w, self.of_w)
        center = self.m * _small_sample(len(self.of_v)) * self.v / self.w
        least, most = (max(1.0, end) - 1 for end in _limits(center, self.of_v - self.of_w))
        return VarianceSplit(
            *components,
            between_interval=Interval(*self.deviations(), CONFIDENCE),
            within_interval=Interval(math.sqrt(w_low), math.sqrt(w_high), CONFIDENCE),
            share_interval=Interval(least / (least + self.m), most / (most + self.m), CONFIDENCE),
        )


def _combined(terms: Sequence[tuple[float, float, tuple[float, float]]]) -> tuple[float, float]:
    """Return the interval of a weighted sum, from the weight, estimate and interval of each term.

    Each end is as far from the estimate as the ends of the terms together (Zou and Donner 2008).
    """
    total, below, above = 0.0, 0.0, 0.0
    for weight, estimate, ends in terms:
        part, low, high = weight * estimate, *sorted(weight * end for end in ends)
        total += part
        below = math.hypot(below, part - low)
        above = math.hypot(above, high - part)
    return total - below, total + above


def _least_ratio(one: _Components, other: _Components, shared: int) -> float:
    """Return the least ratio q of two variances for which `one` - q `other` may be 0, short of a bound."""
    low, (_, high) = one.limits(shared)[0], other.limits(shared)
    if low <= 0:
        return 0.0
    if high <= 0:
        return _ANY_RATIO
    below, above = one.difference - low, high - other.difference
    # The root of (one - q other)^2 = below^2 + (q above)^2, written so that nothing cancels.
    square = (one.difference - below) * (one.difference + below)
    root = math.hypot(above * math.sqrt(square), other.difference * below)
    return min(_ANY_RATIO, square / (one.difference * other.difference + root))


def _spread(medians: NDArray[np.float64], scale: Scale) -> Spread:
    variance = _variance(medians)
    interval = None
    if variance and len(medians) >= FEWEST:
        center = _small_sample(len(medians)) * variance
        low, high = (math.sqrt(end) for end in _limits(center, _influences(medians, scale)))
        interval = Interval(low, high, CONFIDENCE)
    from scipy.special import betaincinv  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load

    # What lies between the least and the greatest of n is distributed as Beta(n - 1, 2).
    share = float(betaincinv(len(medians) - 1, 2, 1 - CONFIDENCE))
    return Spread(math.sqrt(variance), interval, _apart(float(np.ptp(medians)), scale), share)


def _apart(difference: float, scale: Scale) -> float:
    """Return by how much two values differ: a factor, where they are logarithms."""
    return as_ratio(difference) if scale == "logarithm" else difference


def _limits(center: float, influences: NDArray[np.float64], shared: int = 1) -> tuple[float, float]:
    """Return the interval of a variance, or of a ratio of two, around a center."""
    reach = _reach(len(influences), shared) * _error(influences)
    return center * math.exp(-reach), center * math.exp(reach)


def _misjudgement(matrix: NDArray[np.float64], scale: Scale, together: int) -> Misjudgement:
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
        return Misjudgement(_apart(typical, scale), None, _apart(seldom, scale))
    ends = np.stack([first, second])
    smaller, met = (
        np.bincount(ends.ravel(), np.tile(counts.sum(axis=0), 2), size)
        for counts in (present & (differences <= typical), present)
    )
    error = 2 * float(np.std(smaller / met, ddof=1)) / math.sqrt(size)
    logit = 4 * _reach(size, together) * error  # the logit's derivative at one half is 4
    low, high = (_at(ordered, 1 / (1 + math.exp(end))) for end in (logit, -logit))
    if scale == "mean" and typical > 0:  # that mean is an estimate too
        of_mean = _of_the_mean(np.nanmean(matrix, axis=1), scale)
        log_error = _reach(size, together) * float(np.std(of_mean / 2, ddof=1)) / math.sqrt(size)
        low *= math.exp(-log_error)
        high *= math.exp(log_error)
    interval = Interval(_apart(low, scale), _apart(high, scale), CONFIDENCE)
    return Misjudgement(_apart(typical, scale), interval, _apart(seldom, scale))


def _padded(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return rows as a matrix, with NaN where one is shorter than the longest."""
    matrix = np.full((len(rows), max(row.size for row in rows)), np.nan)
    for index, row in enumerate(rows):
        matrix[index, : row.size] = row
    return matrix


def _variance(values: NDArray[np.float64]) -> float:
    """Return the sample variance, 0 where only rounding tells values apart."""
    return 0.0 if np.ptp(values) < NEGLIGIBLE else float(np.var(values, ddof=1))


def _influences(values: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Return what each value does to the logarithm of the variance, around a trimmed mean (Bonett 2006)."""
    size = len(values)
    trimmed = np.sort(values)[(cut := int(size / (2 * math.sqrt(size - 4)))) : size - cut]
    influences: NDArray[np.float64] = (values - trimmed.mean()) ** 2 / np.var(values) - 1
    return influences + _of_the_mean(values, scale)


def _of_the_mean(values: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Return what each value does to the logarithm of a variance that is over the square of their mean."""
    if scale != "mean" or not values.any():
        return np.zeros(len(values))
    influences: NDArray[np.float64] = 2 - 2 * values / values.mean()
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


@cache
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
