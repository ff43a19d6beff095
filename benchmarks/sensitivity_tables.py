"""Simulated systems of known sensitivity, and whether `assay.analysis.sensitivity` measures them right."""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from assay.analysis.sensitivity import (
    NEARLY,
    Sensitivity,
    enough,
    least_enough,
    pathological,
    relative,
    sensitivity,
)
from assay.analysis.types import Interval
from promises import Promise, Rate, Row, Table, rng_of
from simulation import Array

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

SCATTER = 0.05
"""Standard deviation between configurations, and between replicates, where there is one."""

CERTAIN = 200_000
"""Draws that a true value rests on where no formula gives it."""

SIZES = (20, 100)
"""Configurations of a set."""

REPLICATES = 10
"""Trials of each configuration."""

SHAPES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "two states": lambda rng, shape: (
        np.where(rng.random(shape) < 0.5, 0.98, -0.98) + math.sqrt(1 - 0.98**2) * rng.standard_normal(shape)
    ),
    "exponential": lambda rng, shape: 1 - rng.exponential(size=shape),
    "none": lambda _, shape: np.zeros(shape),
}
"""Name -> function that draws deviations with variance 1, or none at all."""

NOISES: dict[str, Draw] = {
    **{name: SHAPES[name] for name in ("normal", "two states", "exponential")},
    "t (1.5)": lambda rng, shape: rng.standard_t(1.5, shape),
}
"""The same of replicates; the last has no variance."""

CURVES: dict[str, tuple[float, ...]] = {
    "Blackwell's table 5": (0.453, 0.427, 0.403, 0.374, 0.314, 0.238, 0.143, 0.073, 0.032, 0.020),
    "falls, then stays": (0.4, 0.25, 0.1, 0.1, 0.1),
    "never falls": (0.1, 0.1, 0.1, 0.1),
    "falls to nothing": (0.4, 0.2, 0.05, 0.0),
    "nothing at all": (0.0, 0.0, 0.0, 0.0),
    "at the limit": (0.4, 0.1801, 0.1),
}
"""Name -> true sensitivity, the deviation between configurations, at growing amounts of randomness.

At the limit the second amount is just not enough, which is where the interval misses most.
"""

DRAWN = ((12, 4), (100, 4), (20, 10))
"""Configurations, and replicates of each; the first are the usual ones of `assay run --sensitivity`."""

SCATTERS = {
    "normal": ("normal", 0.05),
    "much": ("normal", 0.3),
    "exponential": ("exponential", 0.3),
    "t (1.5)": ("t (1.5)", 0.05),
}
"""Noise of replicates -> its shape and its deviation, which adding randomness does not change here."""

RATIOS = ((1.0, 1.0), (1.0, 4.0), (0.25, 1.0))
"""Sensitivity of a system over that of another one, and the same of what their replicates scatter by."""

MANY = 8
"""Conditions of a campaign, the largest of which is picked."""

STARVED = 69 / 240
"""The probability that a trial, or a configuration, has a metric of 0."""


class Truth(NamedTuple):
    """What endless measuring of a simulated system would give."""

    deviation: float
    single: float
    repeated: float
    medians: Array


def tables(campaigns: int) -> list[Table]:
    """Return the tables; `campaigns` is how many rows of others rest on."""
    quarter = campaigns // 4
    return [
        Table(
            "Sensitivity",
            f"{quarter} sets of trials a row, half as many where there are 100 configurations, of systems of "
            f"known sensitivity: the standard deviation is {100 * SCATTER:g}% between configurations (0 for "
            f"*none*) and {100 * SCATTER:g}% between the {REPLICATES} replicates of each. How often the "
            "interval holds the truth: of the deviation of the medians; of the deviation between "
            "configurations, of that between replicates, and of the share of the first in the variance; of "
            "the typical error of a comparison by one trial of each system, and by medians. *Extent*: how "
            "often it holds the share of all configurations that is said. *Pathological*: of the probability "
            "of a trial below 0.9, from one trial of each configuration. *Width*: the median of the "
            "deviation's interval, high / low. Student's t with 1.5 degrees of freedom has no variance.",
            (
                "configurations",
                "replicates",
                "number",
                "deviation %",
                "between %",
                "within %",
                "share %",
                "typical, one trial %",
                "typical, medians %",
                "extent %",
                "pathological %",
                "width",
            ),
            tuple(
                partial(measured, shape, noise, size, quarter if size == SIZES[0] else quarter // 2)
                for shape in SHAPES
                for noise in NOISES
                for size in SIZES
            ),
        ),
        Table(
            "How much randomness is enough",
            f"{quarter} systems a row, half as many where there are 100 configurations, measured at growing "
            f"amounts of randomness; enough is where no greater one takes away more than {NEARLY:.0%} of the "
            "sensitivity at the least. Replicates scatter by 5%, *much* and *exponential* by 30%. *Holds "
            "it*: the amounts from `low` to `high` include the true one. *Known*: `high` is not the greatest "
            "amount. *Right*: the estimate is the true one.",
            (
                *("sensitivity", "configurations are", "replicates", "number"),
                *("true amount", "holds it %", "known %", "right %"),
            ),
            tuple(
                partial(randomness, curve, shape, noise, drawn, quarter if drawn[0] < 100 else quarter // 2)
                for curve in CURVES
                for shape, noise in (
                    *(("normal", noise) for noise in SCATTERS if noise != "exponential"),
                    ("exponential", "exponential"),
                )
                for drawn in (DRAWN if (shape, noise) == ("normal", "normal") else DRAWN[:2])
            ),
        ),
        Table(
            "One system less sensitive than another",
            f"{quarter} pairs of systems a row, whose configurations are drawn alike, as in a campaign; the "
            "first is as sensitive as the ratio says, and its replicates scatter this much more. *Holds "
            "it*: the interval includes the ratio. *Less*, *more*: the verdict is that it is less or more "
            "sensitive, which is wrong where the ratio is 1.",
            (
                "configurations are",
                "replicates",
                "number",
                "ratio",
                "scatter",
                "holds it %",
                "less %",
                "more %",
            ),
            tuple(
                partial(compared, shape, noise, drawn, ratio, quarter)
                for shape, noise in (("normal", "normal"), ("exponential", "normal"), ("normal", "t (1.5)"))
                for drawn in ((12, 4), (40, 4))
                for ratio in RATIOS
            ),
        ),
        Table(
            "The largest of many conditions",
            f"{quarter} campaigns a row, of {MANY} conditions that are all equally sensitive, by 5%; "
            "replicates scatter by 5%. How often the interval of the typical error by one trial holds the "
            "truth: where it is the largest of all; the same without the allowance for that; and between the "
            "medians of the ends, of the median condition. *Largest*, *median*: the estimate over the truth, "
            "the median of all campaigns.",
            ("number", "largest %", "without %", "median condition %", "largest / truth", "median / truth"),
            tuple(partial(largest, *drawn, quarter) for drawn in DRAWN),
        ),
        Table(
            "Systems that starve",
            f"{quarter} sets of trials a row, in which the metric is 0 in {STARVED:.0%} of the trials, by "
            "chance or because of their configuration, and else varies by 5% between configurations and "
            "replicates. How often the interval holds the truth, over the mean of all trials: of "
            "the deviation of the medians, of that between configurations, of the typical error by one.",
            ("starves", "number", "deviation %", "between %", "typical, one trial %"),
            tuple(
                partial(starved, by, *drawn, quarter)
                for by in ("trials", "configurations")
                for drawn in DRAWN
            ),
        ),
    ]


def measured(shape: str, noise: str, configurations: int, sets: int) -> Row:
    """Sets of trials of one system."""
    rng = rng_of("sensitivity", shape, noise, configurations)
    truth = _truth(shape, noise)
    between, within = (0.0 if shape == "none" else SCATTER), (SCATTER if noise != "t (1.5)" else math.nan)
    size = configurations, REPLICATES
    trials = [
        _configurations(rng, shape, configurations)[:, None] + _noise(rng, noise, size) for _ in range(sets)
    ]
    results = [sensitivity(list(values)) for values in trials]
    splits = [result.split for result in results if result.split is not None]
    intervals = [result.spread.interval for result in results if result.spread.interval is not None]
    bound = math.log(0.9)
    tail = float(np.mean(_configurations(rng, shape, CERTAIN) + _noise(rng, noise, (CERTAIN,)) < bound))
    below = [pathological(values[:, 0], bound, "higher").interval for values in trials]
    split: tuple[Rate | str, ...] = ("", "", "")
    if not math.isnan(within):
        total = between**2 + within**2
        split = (
            _holds([split.between_interval for split in splits], between),
            _holds([split.within_interval for split in splits], within),
            _holds([split.share_interval for split in splits], between**2 / total),
        )
    return (
        shape,
        noise,
        configurations,
        _holds(intervals, truth.deviation),
        *split,
        _holds([result.single.interval for result in results], math.exp(truth.single)),
        _holds([result.repeated.interval for result in results], math.exp(truth.repeated)),
        Rate.of([_extent_holds(*pair, truth) for pair in zip(trials, results, strict=True)], "at least 95%"),
        _holds(below, tail),
        float(np.median([interval.high / interval.low for interval in intervals])),
    )


def randomness(curve: str, shape: str, noise: str, drawn: tuple[int, int], systems: int) -> Row:
    """Systems that become less sensitive the more randomness they have."""
    configurations, replicates = drawn
    rng = rng_of("enough", curve, shape, noise, configurations)
    true = CURVES[curve]
    amount = least_enough(true)
    kind, scatter = SCATTERS[noise]

    def trials(deviation: float) -> list[Array]:
        moved = deviation * SHAPES[shape](rng, (configurations, 1))
        return list(moved + scatter * NOISES[kind](rng, (configurations, replicates)))

    results = [
        enough({index: trials(deviation) for index, deviation in enumerate(true)}) for _ in range(systems)
    ]
    return (
        curve,
        shape,
        noise,
        f"{configurations} of {replicates}",
        f"{amount + 1} of {len(true)}",
        Rate.of([result.low <= amount <= result.high for result in results], "at least 95%"),
        Rate.of([result.known for result in results]),
        Rate.of([result.amount == amount for result in results]),
    )


def compared(shape: str, noise: str, drawn: tuple[int, int], ratio: tuple[float, float], pairs: int) -> Row:
    """Pairs of systems, one of which is as sensitive as the other one times a ratio."""
    configurations, replicates = drawn
    sensitive, scatter = ratio
    rng = rng_of("relative", shape, noise, configurations, sensitive, scatter)
    results = []
    for _ in range(pairs):
        moved = SCATTER * SHAPES[shape](rng, (configurations, 1))
        one, other = (scale * moved + by * _noise(rng, noise, drawn) for scale, by in (ratio, (1.0, 1.0)))
        result = relative(list(one), list(other))
        assert result is not None
        results.append(result)
    holds = [result.low <= sensitive <= (result.high or math.inf) for result in results]
    wrong: Promise = "at most 5%" if sensitive == 1 else ""
    less, more = (
        Rate.of([result.verdict == f"{word} sensitive" for result in results], wrong)
        for word in ("less", "more")
    )
    return (
        *(shape, noise, f"{configurations} of {replicates}", sensitive, scatter),
        *(Rate.of(holds, "at least 95%"), less, more),
    )


def largest(configurations: int, replicates: int, campaigns: int) -> Row:
    """Campaigns of conditions that are alike, the most sensitive of which is named."""
    rng = rng_of("largest", configurations)
    truth = 0.6745 * math.sqrt(2 * 2 * SCATTER**2)
    picked, alone, medians, estimates = [], [], [], []
    for _ in range(campaigns):
        moved = SCATTER * rng.standard_normal((MANY, configurations, 1))
        trials = moved + _noise(rng, "normal", (MANY, configurations, replicates))
        found = [sensitivity(list(values), together=MANY).single for values in trials]
        first = max(range(MANY), key=lambda at: found[at].typical)
        intervals = [of.interval for of in found if of.interval is not None]
        picked.append(intervals[first])
        alone.append(sensitivity(list(trials[first])).single.interval)
        low, high = (float(np.median([getattr(of, end) for of in intervals])) for end in ("low", "high"))
        medians.append(Interval(low, high, intervals[0].confidence))
        typical = [of.typical - 1 for of in found]
        estimates.append((max(typical) / math.expm1(truth), float(np.median(typical)) / math.expm1(truth)))
    return (
        f"{configurations} of {replicates}",
        _holds(picked, math.exp(truth)),
        _holds(alone, math.exp(truth), ""),
        _holds(medians, math.exp(truth)),
        *(float(np.median([pair[place] for pair in estimates])) for place in (0, 1)),
    )


def starved(by: str, configurations: int, replicates: int, sets: int) -> Row:
    """Sets of trials of a system some of whose trials are 0."""
    rng = rng_of("starved", by, configurations)
    fewer = replicates if by == "trials" else 1

    def trials(number: int) -> Array:
        values = np.exp(
            SCATTER * rng.standard_normal((number, 1)) + _noise(rng, "normal", (number, replicates))
        )
        return np.asarray(np.where(rng.random((number, fewer)) < STARVED, 0.0, values))

    def over_mean(values: Array) -> Array:
        return np.asarray(values / values.mean())

    truth = over_mean(trials(CERTAIN))
    medians, first = np.median(truth, axis=1), truth[:, 0]
    between = math.sqrt(max(0.0, truth.mean(axis=1).var() - truth.var(axis=1, ddof=1).mean() / replicates))
    typical = float(np.median(np.abs(first[::2] - first[1::2])))
    results = [sensitivity(list(over_mean(trials(configurations))), "mean") for _ in range(sets)]
    splits = [result.split for result in results if result.split is not None]
    return (
        by,
        f"{configurations} of {replicates}",
        _holds([result.spread.interval for result in results], float(medians.std())),
        _holds([split.between_interval for split in splits], between),
        _holds([result.single.interval for result in results], typical),
    )


@cache
def _truth(shape: str, noise: str) -> Truth:
    rng = rng_of("truth", shape, noise)
    of_noise = np.median(_noise(rng, noise, (CERTAIN, REPLICATES)), axis=1)
    medians = _configurations(rng, shape, CERTAIN) + of_noise
    trials = _configurations(rng, shape, CERTAIN) + _noise(rng, noise, (CERTAIN,))
    single, repeated = (float(np.median(np.abs(values[::2] - values[1::2]))) for values in (trials, medians))
    between = 0.0 if shape == "none" else SCATTER
    return Truth(math.hypot(between, float(np.std(of_noise))), single, repeated, np.sort(medians))


def _configurations(rng: np.random.Generator, shape: str, number: int) -> Array:
    return SCATTER * SHAPES[shape](rng, (number,))


def _noise(rng: np.random.Generator, noise: str, size: tuple[int, ...]) -> Array:
    return SCATTER * NOISES[noise](rng, size)


def _holds(intervals: Sequence[Interval | None], truth: float, promise: Promise = "at least 95%") -> Rate:
    present = [interval for interval in intervals if interval is not None]
    slack = 1e-9  # what rounding leaves of ends that are the truth itself
    return Rate.of([ends.low - slack <= truth <= ends.high + slack for ends in present], promise)


def _extent_holds(values: Array, result: Sensitivity, truth: Truth) -> bool:
    """Return whether the extent of the medians holds the share of all configurations that is said of it."""
    medians = np.median(values, axis=1)
    low = np.searchsorted(truth.medians, medians.min(), "left")
    high = np.searchsorted(truth.medians, medians.max(), "right")
    return bool((high - low) / len(truth.medians) >= result.spread.share)
