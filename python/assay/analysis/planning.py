"""How many blocks and minutes a verdict will probably take, forecast from trials that have run.

The bootstrap and the variance components serve only planning; no verdict rests on them.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, fmean, median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.analysis.intervals import NEGLIGIBLE, sign_flips
from assay.analysis.modes import host_modes
from assay.analysis.pairs import (
    PlannedComparison,
    by_condition,
    by_context,
    condition_key,
    failures,
    pairs,
    planned_comparisons,
)
from assay.analysis.sequential import looks, sharing
from assay.analysis.summary import summarise
from assay.experiment.events import SIMULATION_S
from assay.experiment.types import ComparisonDesign, Experiment, Until
from assay.plan.types import Level
from assay.store.types import StoredTrial

FEWEST_PAIRS = 6
"""Fewer pairs of one campaign show almost nothing of their scatter, and have no 95% interval. With several
campaigns, each costs a degree of freedom, as it has its own mean."""

ASSURANCE = 0.8
"""The share of campaigns of the forecast length that have a verdict, or an interval narrow enough."""

DRAWS = 100

LARGEST_DRAWN = 40
"""Samples of up to this many pairs are drawn; beyond, the width falls as for normal noise."""

LARGEST_SIZE = 10_000
"""Beyond this many pairs, the width falls with their square root."""

LONGER_PAYS = 1.5
"""Longer trials are advised if the best length is at least this many times the present length."""

LONGEST = 10.0
"""The advice is at most this many times the present length."""

GATES = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)
"""Percent: the gates that `gates` offers."""

LARGEST_VARIATION = 1e9
"""The coefficient of variation of n intervals is below the square root of n; a larger value is an error."""

_Values = NDArray[np.float64]


@dataclass(frozen=True)
class Components:
    """Where the variance of a comparison's log ratios comes from (after Kalibera & Jones 2013).

    Attributes:
        within_share: the share that comes from within trials, from 0 to 1; longer trials reduce it.
        duration_ms: the trial length that gives the narrowest interval in the same total time, at most
            `LONGEST` times the present length.
        longer_pays: whether this is much longer than the present length.
    """

    within_share: float
    duration_ms: float
    longer_pays: bool


@dataclass(frozen=True)
class ComparisonForecast:
    """What one comparison will take.

    Attributes:
        context: factor -> level, without the compared factor.
        pairs: the number of pairs; if they are too few (`FEWEST_PAIRS` for one campaign), all following
            fields are empty.
        ratio: geometric mean of the ratios.
        scatter_percent: standard deviation of the ratios within groups, percent.
        planned_width_percent: the width that the experiment's planned number of blocks will probably give;
            None in a forecast of decisions.
        blocks: the blocks after which the comparison is probably decided, or its interval narrow enough.
        minutes: the time that these blocks take, with all other comparisons.
        components: None if the trials have no throughput series.
        withheld: why there is no forecast, if trials were not valid or values have no logarithm; else empty.
    """

    context: Mapping[str, Level]
    level: Level
    pairs: int
    ratio: float | None = None
    scatter_percent: float | None = None
    planned_width_percent: float | None = None
    blocks: int | None = None
    minutes: float | None = None
    components: Components | None = None
    withheld: str = ""


@dataclass(frozen=True)
class Forecast:
    """How many blocks and minutes an experiment's verdicts will take.

    Attributes:
        until: what is forecast: verdicts, decisions against the gate, or a width of every interval.
        family: number of comparisons, including those over workloads, whose intervals share the level.
        confidence: the joint confidence of these intervals, at the last look if the experiment looks early.
        planned: number of blocks that the experiment plans, or that fit into its time budget.
        minutes_per_block: the time of a block, including repeats and calibrations.
        comparisons: by context, then by level, in the experiment's order.
    """

    until: Until
    family: int
    confidence: float
    planned: int
    minutes_per_block: float
    comparisons: tuple[ComparisonForecast, ...]

    @property
    def width_percent(self) -> float | None:
        """The full width of every interval, 100 (high / low - 1); None in a forecast of decisions."""
        return None if isinstance(self.until, str) else self.until

    @property
    def decided(self) -> tuple[ComparisonForecast, ...]:
        """The comparisons for which the planned blocks are enough."""
        return tuple(
            comparison
            for comparison in self.comparisons
            if comparison.blocks is not None and comparison.blocks <= self.planned
        )

    @property
    def slowest(self) -> ComparisonForecast | None:
        """The comparison that takes the most blocks; None if none has a forecast."""
        return max(
            (comparison for comparison in self.comparisons if comparison.blocks is not None),
            key=lambda comparison: comparison.blocks or 0,
            default=None,
        )


@dataclass(frozen=True)
class GateForecast:
    """How many blocks and minutes a gate will take.

    Attributes:
        blocks: number of blocks after which, in every comparison, identical code has probably passed, and
            code that is worse by the gate twice over, (1 + gate)^2 - 1, has probably failed.
        minutes: the time that these blocks take.
    """

    gate_percent: float
    blocks: int
    minutes: float


def forecast(
    campaigns: Sequence[Sequence[StoredTrial]],
    experiment: Experiment,
    until: Until = "verdict",
    draws: int = DRAWS,
) -> Forecast:
    """Return how many blocks it will probably take to decide all comparisons, or to reach a width.

    It assumes that log ratios scatter as before, in each campaign around its own mean. Samples of n are drawn
    with replacement, and scaled by the possible error of their standard deviation. n blocks are enough if 80%
    of the samples have narrow enough sign-flip intervals, each with its share of the family's level. For a
    verdict, or to fail the gate, the interval must be narrow enough if the ratio stays the same; to pass the
    gate, the comparison's own interval counts. If some groups do not count (a trial is not valid, the
    calibrations disagree), it takes more blocks accordingly.

    Args:
        campaigns: the ended trials of each campaign of this experiment, at least one trial in total.
        until: as in the experiment's design; for "gate" the experiment must have a gate.
        draws: number of samples that are drawn for each size.
    """
    most, minutes = experiment.design.blocks, experiment.design.minutes
    design = experiment.comparison
    family, confidence = _family(experiment)
    seconds = _seconds_per_block(campaigns, experiment)
    planned = most if minutes is None else min(most, int(minutes * 60 / seconds))
    samples = _samples(campaigns, experiment, draws)
    width = None if isinstance(until, str) else math.log1p(until / 100)
    comparisons = []
    for sample in samples:
        target, size = sample.target, sample.residuals.size
        if not sample.is_enough:
            comparisons.append(
                ComparisonForecast(target.context, target.level, size, withheld=sample.withheld)
            )
            continue
        planned_width = math.inf
        if width is None:
            pairs_needed = _pairs_to_decide(sample, until, design, family, 1 - confidence)
        else:
            widths = sample.widths(1 - (1 - confidence) / family)
            pairs_needed = widths.pairs_for(width)
            planned_width = widths.at(int(planned * sample.per_block))
        needed = math.ceil(pairs_needed / sample.per_block)
        comparisons.append(
            ComparisonForecast(
                context=target.context,
                level=target.level,
                pairs=size,
                ratio=math.exp(min(max(sample.center, -700), 700)),
                scatter_percent=_percent(float(np.std(sample.residuals))),
                planned_width_percent=_percent(planned_width) if math.isfinite(planned_width) else None,
                blocks=needed,
                minutes=needed * seconds / 60,
                components=_components(sample, campaigns, experiment, seconds),
            )
        )
    return Forecast(until, family, confidence, planned, seconds / 60, tuple(comparisons))


def gates(
    campaigns: Sequence[Sequence[StoredTrial]], experiment: Experiment, draws: int = DRAWS
) -> tuple[GateForecast, ...]:
    """Return a forecast for each of `GATES`, the narrowest first; empty if there are too few trials.

    The scatter is that of `forecast`. Every comparison counts, even a clear one: each is assumed to be as far
    from the gate as identical code, on either side, and is corrected for the whole family.
    """
    family, confidence = _family(experiment)
    minutes = _seconds_per_block(campaigns, experiment) / 60
    enough = [sample for sample in _samples(campaigns, experiment, draws) if sample.is_enough]
    widths = [(sample, sample.widths(1 - (1 - confidence) / family)) for sample in enough]
    forecasts = []
    for percent in GATES if enough else ():
        blocks = max(
            math.ceil(sample.pairs_to_exclude(math.log1p(percent / 100), narrow) / sample.per_block)
            for sample, narrow in widths
        )
        forecasts.append(GateForecast(percent, blocks, blocks * minutes))
    return tuple(forecasts)


def _family(experiment: Experiment) -> tuple[int, float]:
    """Return the number of decisions that are corrected together, and the confidence of the last look."""
    design = experiment.comparison
    answers = len(summarise((), experiment).answers)
    family = design.campaigns * (answers if design.correction == "family" else 1)
    return family, looks(experiment.design, sharing(design, experiment.design, answers))[-1].confidence


def _pairs_to_decide(
    sample: "_Sample", until: Until, design: ComparisonDesign, family: int, level: float
) -> int:
    """Return how many pairs a comparison needs until its interval probably decides it.

    Passing the gate is not corrected for the family.

    Args:
        family: number of comparisons that share the level; 1 without correction.
        level: the level of the look on which decisions rest.
    """
    kind, distance = _aim(sample.center, until, design)
    sharing = design.campaigns if kind == "passed" else family
    return sample.pairs_to_exclude(distance, sample.widths(1 - level / sharing))


def _aim(
    center: float, until: Until, design: ComparisonDesign
) -> tuple[Literal["different", "equivalent", "passed", "failed"], float]:
    """Return the decision about a ratio if it stays the same, and its distance from the nearest wrong value.

    The interval must exclude 1 or lie within the smallest effect, whichever leaves more distance; or lie on
    one side of the gate.
    """
    if until == "gate":
        assert design.gate_percent is not None
        beyond = (center if design.better == "lower" else -center) - math.log1p(design.gate_percent / 100)
        return ("failed" if beyond > 0 else "passed"), max(abs(beyond), NEGLIGIBLE)
    different, equivalent = abs(center), math.log1p(design.smallest_effect_percent / 100) - abs(center)
    return ("equivalent", equivalent) if equivalent > different else ("different", different)


@dataclass(frozen=True)
class _Sample:
    """The log ratios of a comparison, relative to the mean of their campaign.

    `center` is the mean of all log ratios; `freedom` the degrees of freedom of their standard deviation.
    `per_block` is their number per block, at most 1. `withheld` says why a campaign's do not count: trials
    were not valid. `draws` samples of each size are drawn.
    """

    target: PlannedComparison
    residuals: _Values
    center: float
    freedom: int
    per_block: float
    withheld: str
    draws: int

    def widths(self, confidence: float) -> "_Widths":
        """Return the probable widths of intervals with this confidence."""
        return _Widths(self.residuals, self.freedom, confidence, self.draws)

    @property
    def is_enough(self) -> bool:
        """Whether there are enough pairs to estimate the scatter."""
        return self.freedom >= FEWEST_PAIRS - 1

    def pairs_to_exclude(self, distance: float, widths: "_Widths") -> int:
        """Return the fewest pairs whose interval probably excludes a value this far from the center.

        With the required assurance, the interval's middle is off by up to half the width, times the quotient
        of the two quantiles of the normal distribution.
        """
        normal = NormalDist()
        off = normal.inv_cdf(ASSURANCE) / normal.inv_cdf((1 + widths.confidence) / 2)
        return widths.pairs_for(2 * distance / (1 + off))


def _samples(
    campaigns: Sequence[Sequence[StoredTrial]], experiment: Experiment, draws: int
) -> Iterator[_Sample]:
    """Yield the sample of each comparison: by context, then by level, in the experiment's order.

    All blocks count, also those after the last look: they show the scatter as well, and no verdict rests on
    it.
    """
    parts = [
        (
            by_context(trials, experiment),
            host_modes(trials, experiment),
            failures(by_condition(trials, experiment).values(), experiment),
        )
        for trials in campaigns
    ]
    for target in planned_comparisons(experiment):
        log_ratios, groups = [], 0
        withheld = ""
        for contexts, modes, failed in parts:
            sample = pairs(contexts, target, experiment.comparison.metric, failed)
            why = sample.withheld or sample.without_ratio
            if experiment.comparison.smallest_effect is not None:
                why = why or "differences are compared, and only ratios are forecast"
            if why:
                withheld = why
                continue
            in_context = contexts.get(target.key, {}).values()
            groups += sum(next(iter(group.values())).repeats is None for group in in_context)
            log_ratios.append(sample.without_mixed(modes).log_ratios)
        freedom = sum(sample.size - 1 for sample in log_ratios if sample.size > 1)
        per_block = min(1.0, sum(sample.size for sample in log_ratios) / max(groups, 1))
        every = np.concatenate(log_ratios) if log_ratios else np.empty(0)
        center = float(every.mean()) if every.size else 0.0
        yield _Sample(target, _residuals(log_ratios), center, freedom, per_block, withheld, draws)


def _residuals(log_ratios: Sequence[_Values]) -> _Values:
    """Return log ratios minus the mean of their campaign, scaled to the variance around the true mean."""
    parts = [
        (sample - sample.mean()) * math.sqrt(sample.size / (sample.size - 1))
        for sample in log_ratios
        if sample.size > 1
    ]
    return np.concatenate(parts) if parts else np.empty(0)


class _Widths:
    """The probable widths of intervals, as log ratios, for samples of a given size."""

    def __init__(self, residuals: _Values, freedom: int, confidence: float, draws: int) -> None:
        self._residuals = residuals
        self.confidence = confidence
        fewest = math.ceil(math.log2(2 / (1 - confidence)) - 1e-9)  # below there is no interval
        self._sizes = np.arange(fewest, LARGEST_SIZE + 1)
        self._freedom = freedom
        self._normal = _normal_widths(self._sizes, self._freedom, confidence)
        self._draws = draws
        self._drawn: dict[int, float] = {}

    def at(self, size: int) -> float:
        """Return the width that a share `ASSURANCE` of samples does not exceed; inf without intervals."""
        if size < self._sizes[0]:
            return math.inf
        drawn = min(size, LARGEST_DRAWN)
        return self._draw(drawn) * self._normal_width(size) / self._normal_width(drawn)

    def pairs_for(self, width: float) -> int:
        """Return the fewest pairs whose intervals are probably at most this wide.

        The width is drawn for one size, extrapolated as for normal noise, and drawn again near the result.
        """
        size = 2 * int(self._sizes[0])
        for _ in range(2):
            drawn = min(size, LARGEST_DRAWN)
            factor = self._draw(drawn) / self._normal_width(drawn)
            enough = int(np.searchsorted(-self._normal * factor, -width))  # the widths decrease
            size = int(self._sizes[min(enough, self._sizes.size - 1)])
        largest = float(self._normal[-1]) * factor
        return size if largest <= width else math.ceil(LARGEST_SIZE * (largest / width) ** 2)

    def _normal_width(self, size: int) -> float:
        return float(self._normal[min(size, LARGEST_SIZE) - self._sizes[0]])

    def _draw(self, size: int) -> float:
        if size not in self._drawn:
            chance = np.random.default_rng(size)  # the same forecast each time
            chosen = chance.integers(self._residuals.size, size=(self._draws, size))
            # What the scatter may really be: it was measured on a few pairs.
            scale = np.sqrt(self._freedom / chance.chisquare(self._freedom, size=(self._draws, 1)))
            tests = sign_flips(self._residuals[chosen] * scale, self.confidence)
            assert tests.low is not None
            assert tests.high is not None
            self._drawn[size] = float(np.quantile(tests.high - tests.low, ASSURANCE))
        return self._drawn[size]


def _normal_widths(sizes: NDArray[np.int64], freedom: int, confidence: float) -> _Values:
    """Return the widths that a share `ASSURANCE` of Student's intervals does not exceed, up to a factor.

    Args:
        sizes: numbers of pairs in a future campaign with normal noise.
        freedom: degrees of freedom of the standard deviation, which is the unit.
    """
    # Loaded late because it is slow; it ships no types.
    from scipy.special import fdtri, stdtrit  # type: ignore[import-untyped] # noqa: PLC0415

    deviation = np.sqrt(fdtri(sizes - 1, freedom, ASSURANCE))
    widths: _Values = stdtrit(sizes - 1, (1 + confidence) / 2) * deviation / np.sqrt(sizes)
    return widths


def _seconds_per_block(campaigns: Sequence[Sequence[StoredTrial]], experiment: Experiment) -> float:
    """Return the seconds that a block takes, including repeats: from each trial's start to the next one's.

    A group is simulated before its first trial; this time counts for the conditions of its trials. The median
    of each condition counts, so that a pause of a day before a campaign was resumed does not.
    """
    took: dict[tuple[Level, ...], list[float]] = defaultdict(list)
    lived: dict[tuple[Level, ...], list[float]] = defaultdict(list)
    simulated: dict[tuple[Level, ...], list[float]] = defaultdict(list)
    ended = firsts = 0
    for trials in campaigns:
        before: dict[int, float] = defaultdict(float)
        for trial in trials:
            before[trial.group] += trial.metrics.get(SIMULATION_S, 0)
        ordered = sorted(trials, key=lambda trial: trial.started_at)
        ended += len(ordered)
        firsts += sum(trial.repeats is None for trial in ordered)
        for trial in ordered:
            key = condition_key(trial.levels, experiment)
            lived[key].append(trial.wall_s)
            simulated[key].append(trial.metrics.get(SIMULATION_S, 0))
        for trial, following in pairwise(ordered):
            seconds = (following.started_at - trial.started_at).total_seconds()
            if following.group != trial.group:
                seconds -= before[following.group]
            took[condition_key(trial.levels, experiment)].append(seconds)
    per_trial = fmean(
        median(took.get(key, seconds)) + median(simulated[key]) for key, seconds in lived.items()
    )
    return per_trial * len(experiment.conditions()) * ended / firsts


def _components(
    sample: _Sample, campaigns: Sequence[Sequence[StoredTrial]], experiment: Experiment, block_s: float
) -> Components | None:
    """Split the variance of log ratios into the parts within and between trials.

    Throughput is a mean over a trial's intervals, so its variance within trials is the intervals' squared
    variation over their number: a lower bound if neighbouring intervals are correlated.
    """
    comparison = experiment.comparison
    if comparison.metric != "throughput":
        return None
    within = 0.0  # of one interval, both trials together, relative to the mean
    for compared in (sample.target.level, sample.target.baseline):
        condition = {**sample.target.context, comparison.factor: compared}
        variations = [
            trial.metrics["throughput_variation"]
            for trials in campaigns
            for trial in trials
            if trial.levels == condition
            and trial.status == "valid"
            and abs(trial.metrics.get("throughput_variation", math.inf)) < LARGEST_VARIATION
        ]
        settings = experiment.settings(condition)
        if not variations or not {"duration_ms", "interval_ms"} <= settings.keys():
            return None
        within += fmean(variation**2 for variation in variations)
        duration_ms, interval_ms = settings["duration_ms"], settings["interval_ms"]
    total = float(np.mean(sample.residuals**2))
    if total == 0:
        return None
    intervals = duration_ms / interval_ms
    share = min(1.0, within / intervals / total)
    around_ms = max(0.0, 1000 * block_s / len(experiment.conditions()) - duration_ms)
    between = max(total - within / intervals, 1e-9 * total)
    best_ms = interval_ms * math.sqrt(around_ms / interval_ms * within / between)
    return Components(share, min(best_ms, LONGEST * duration_ms), best_ms >= LONGER_PAYS * duration_ms)


def _percent(log_ratio: float) -> float:
    """Return how far a ratio is from 1 in percent; it never overflows."""
    return 100 * math.expm1(min(log_ratio, 700))
