"""What became of an experiment's metrics over the commits of a project: steps, and slow drift.

A step is a changepoint (Daly et al. 2020): the commits before it have one level and those after it another.
A drift is a change by a little at every commit, which no comparison of two neighbours shows. Both are
judged by the noise between neighbouring commits, which holds what the host does from day to day, and not by
the intervals within campaigns. `docs/statistics.md` has the error rates.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.analysis.changepoints import Values, changepoints, noises, smooth
from assay.analysis.intervals import median, median_interval
from assay.analysis.types import Interval
from assay.experiment.metrics import Better
from assay.experiment.question import of_trials, why_other_trials
from assay.experiment.types import REVISION, SHORT, Experiment
from assay.plan.types import Level
from assay.store.types import CampaignSummary, StoredTrial
from assay.words import counted

FEWEST_CAMPAIGNS = 3
"""Fewer are no history."""

FEWEST_COMMITS = 6
"""Of fewer commits no step and no drift is told: their noise is not known."""

ERROR = 0.05
"""About the probability that anything at all is told of an experiment in which nothing changed; half of it
is for steps and half for drift, divided by the number of series."""

SHORTEST = 2
"""Commits on either side of a step: a single one that differs may be a busy hour of the host."""

LEAST_NOISE = 1e-4
"""Relative noise that every series is taken to have at least; counts of instructions have next to none."""

QUIET = 0.75
"""The share of neighbours, those that differ least, from which noise is taken: the others may be steps."""

DRAWS = 20_000
"""Series without a step that are drawn to learn how large the largest of chance is."""

MANY = 30
"""Commits from which neighbouring windows are compared too; of fewer, too many windows have a step inside."""

TAILS = 3
"""Degrees of freedom of the noise by which chance is judged: that of hosts has heavier tails than normal."""

CALIBRATIONS = ("arithmetic_ns", "memory_ns", "core_to_core_ns")


class TrendLine(NamedTuple):
    """A straight line through logarithms.

    Attributes:
        begin: the index of the first commit.
        slope, low, high: of Theil and Sen, for each commit, with the ends of its interval.
        p: of Kendall's test.
    """

    begin: int
    slope: float
    low: float
    high: float
    p: float

    def rise(self, commits: int) -> Values:
        """Return by how much each commit lies above the first of the line, by its slope."""
        return self.slope * np.maximum(np.arange(commits) - self.begin, 0)


@dataclass(frozen=True)
class Commit:
    """Of a project that is measured.

    Attributes:
        subject: the first line of its message.
    """

    hash: str
    subject: str
    committed_at: datetime

    @property
    def short(self) -> str:
        """The start of the hash, as people write it."""
        return self.hash[:SHORT]


@dataclass(frozen=True)
class MeasuredCampaign:
    """A campaign with what it measured."""

    campaign: CampaignSummary
    experiment: Experiment
    trials: Sequence[StoredTrial]


@dataclass(frozen=True)
class Point:
    """What one campaign says of one metric.

    Attributes:
        value: the median over valid trials.
        interval: of the median; None where there are too few trials for one.
    """

    commit: Commit
    campaign: int
    value: float
    interval: Interval | None
    trials: int


@dataclass(frozen=True)
class Changepoint:
    """A commit from which on a metric has another level.

    Attributes:
        commit: the first that was measured at the new level.
        before: the last that was measured at the old one; commits between the two may be the cause.
        ratio: the new level over the old one.
        worse: whether that is a change for the worse; None for the host's calibrations.
        host: calibrations of the host that have a step at the same commit.
    """

    commit: Commit
    before: Commit
    ratio: float
    worse: bool | None
    host: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drift:
    """A slow change over many commits.

    Attributes:
        first, last: between which it is seen.
        commits: how many were measured there.
        percent_per_commit: the slope of Theil and Sen.
        ratio: the last over the first, by that slope.
        interval: of the ratio.
        p: of Kendall's rank test.
        host: calibrations of the host that drift as well.
    """

    first: Commit
    last: Commit
    commits: int
    percent_per_commit: float
    ratio: float
    interval: Interval
    p: float
    worse: bool | None
    host: tuple[str, ...] = ()


@dataclass(frozen=True)
class Segment:
    """Commits between two steps, and the value that they have without their noise.

    Attributes:
        begin, end: at the first and at the last of them; equal where there is no drift.
    """

    first: Commit
    last: Commit
    begin: float
    end: float


@dataclass(frozen=True)
class MetricSeries:
    """One metric of one condition over commits.

    Attributes:
        levels: of the condition; empty for a calibration of the host.
        better: which values are; None for a calibration.
        points: by the date of their commit, then in the order of their campaigns.
        segments: between steps; without steps there is one. None of too few commits.
        noise_percent: between neighbouring commits; None where there are too few.
        visible_percent: a step half-way that would be told with a probability of about one half.
    """

    metric: str
    levels: Mapping[str, Level]
    better: Better | None
    points: tuple[Point, ...]
    steps: tuple[Changepoint, ...] = ()
    drift: Drift | None = None
    segments: tuple[Segment, ...] = ()
    noise_percent: float | None = None
    visible_percent: float | None = None


@dataclass(frozen=True)
class SkippedCampaign:
    """A campaign that is not in a history, and why."""

    campaign: int
    reason: str


@dataclass(frozen=True)
class Unplaced:
    """Campaigns in which the median of a metric has no logarithm: they are in no series, and no step and
    no drift tells of them.

    Attributes:
        campaigns: their numbers.
        commits: at which these ran.
    """

    metric: str
    levels: Mapping[str, Level]
    campaigns: tuple[int, ...]
    commits: tuple[Commit, ...]


@dataclass(frozen=True)
class History:
    """What became of an experiment.

    Attributes:
        host: the name of the one that all campaigns ran on.
        series: by metric, the main one first, then by condition; those of calibrations are in `calibrations`.
        commits: that were measured, in order.
        campaigns: how many are joined.
        unplaced: by metric and condition, the joined campaigns whose median is not above 0 or not finite.
    """

    experiment: str
    host: str
    commits: tuple[Commit, ...]
    series: tuple[MetricSeries, ...]
    calibrations: tuple[MetricSeries, ...]
    left_out: tuple[SkippedCampaign, ...]
    campaigns: int
    unplaced: tuple[Unplaced, ...] = ()


def commit_of(campaign: CampaignSummary) -> Commit | None:
    """Return the commit that a campaign measured; None where it is not known."""
    stored = campaign.host.get("commit")
    if not stored:
        return None
    return Commit(stored["hash"], stored["subject"], datetime.fromisoformat(stored["committed_at"]))


def history(campaigns: Iterable[MeasuredCampaign]) -> History:
    """Return the history of an experiment, of which the latest campaign says the host and the conditions.

    Joined are points of the same host and of conditions with the same settings. Campaigns of which nothing
    can be joined are named with their reason.

    Args:
        campaigns: of one experiment, at least one, in the order of their numbers.
    """
    campaigns = list(campaigns)
    latest = next((of for of in reversed(campaigns) if not _unusable(of)), campaigns[-1])
    wanted = _identities(latest.experiment)
    left_out, joined = [], []
    for of in campaigns:
        reason = _reason(of, latest, wanted)
        if reason:
            left_out.append(SkippedCampaign(of.campaign.id, reason))
        else:
            joined.append(of)
    joined = _in_order(joined)
    design = latest.experiment.comparison
    metrics: dict[str, Better] = {design.metric: design.better, **design.also}
    series: list[MetricSeries] = []
    unplaced: list[Unplaced] = []
    for metric, better in metrics.items():
        for levels, identity in wanted.items():
            measured = [*_points(joined, metric, levels, identity)]
            placed = tuple(point for point in measured if _has_logarithm(point))
            if placed:
                series.append(MetricSeries(metric, dict(levels), better, placed))
            if others := [point for point in measured if not _has_logarithm(point)]:
                numbers = tuple(point.campaign for point in others)
                where = {point.commit.hash: point.commit for point in others}
                unplaced.append(Unplaced(metric, dict(levels), numbers, tuple(where.values())))
    calibrations = [
        MetricSeries(metric, {}, None, points)
        for metric in CALIBRATIONS
        if (points := tuple(filter(_has_logarithm, _calibrated(joined, metric))))
    ]
    commits = {commit.hash: commit for of in joined if (commit := commit_of(of.campaign))}
    told_of_host = _judged(calibrations)
    return History(
        experiment=latest.campaign.experiment,
        host=str(latest.campaign.host.get("name", "")),
        commits=tuple(commits.values()),
        series=_judged(series, told_of_host),
        calibrations=told_of_host,
        left_out=tuple(left_out),
        campaigns=len(joined),
        unplaced=tuple(unplaced),
    )


_Levels = tuple[tuple[str, Level], ...]


def _identities(experiment: Experiment) -> dict[_Levels, dict[str, str]]:
    """Return condition -> what makes it the same condition in another campaign."""
    return {
        tuple(condition.items()): of_trials(experiment, condition) for condition in experiment.conditions()
    }


def _host(campaign: CampaignSummary) -> tuple[Any, ...]:
    return tuple(campaign.host.get(name) for name in ("name", "processors"))


def _unusable(of: MeasuredCampaign) -> str:
    """Return why a campaign says nothing of a commit; empty where it does."""
    stored = of.campaign.host.get("commit")
    if not stored:
        return "its commit is not known: the experiment's file was not in a git repository"
    if REVISION in of.experiment.factors:
        return "it compares revisions with each other"
    if stored["changed"]:
        changes = counted(stored["changed"], "file")
        return f"it measured {stored['hash'][:SHORT]} with uncommitted changes of {changes}"
    if not any(trial.status == "valid" for trial in of.trials):
        return "it has no valid trial"
    return ""


def _reason(of: MeasuredCampaign, latest: MeasuredCampaign, wanted: Mapping[_Levels, dict[str, str]]) -> str:
    """Return why nothing of a campaign can be joined; empty where something can."""
    campaign, reason = of.campaign, _unusable(of)
    if reason:
        return reason
    if _host(campaign) != _host(latest.campaign):
        name, processors = _host(campaign)
        return f"it ran on another host: {name}, {processors} processors"
    if of.experiment.mark != latest.experiment.mark:
        last = f"campaign {latest.campaign.id}, the latest"
        if of.experiment.mark:
            return f"{of.experiment.mark}, unlike {last}"
        return f"honest, unlike {last}: {latest.experiment.mark}"
    identities = _identities(of.experiment)
    if not any(identities.get(levels) == identity for levels, identity in wanted.items()):
        why = why_other_trials(latest.experiment, of.experiment)
        return f"none of its conditions is one of campaign {latest.campaign.id}, the latest: it has {why}"
    return ""


def _in_order(campaigns: Sequence[MeasuredCampaign]) -> list[MeasuredCampaign]:
    """Return campaigns by the date of their commit; of the same second, that which was measured first."""
    commits = {of.campaign.id: commit for of in campaigns if (commit := commit_of(of.campaign))}
    first: dict[str, datetime] = {}
    for of in campaigns:
        begun = first.setdefault(commits[of.campaign.id].hash, of.campaign.started_at)
        first[commits[of.campaign.id].hash] = min(begun, of.campaign.started_at)

    def place(of: MeasuredCampaign) -> tuple[datetime, datetime, str, datetime]:
        commit = commits[of.campaign.id]
        return commit.committed_at, first[commit.hash], commit.hash, of.campaign.started_at

    return sorted(campaigns, key=place)


def _points(
    campaigns: Iterable[MeasuredCampaign], metric: str, levels: _Levels, identity: dict[str, str]
) -> Iterable[Point]:
    for of in campaigns:
        if _identities(of.experiment).get(levels) != identity:
            continue
        yield from _point(
            of,
            [
                float(trial.metrics[metric])
                for trial in of.trials
                if trial.status == "valid"
                and metric in trial.metrics
                and all(trial.levels.get(factor) == level for factor, level in levels)
            ],
        )


def _calibrated(campaigns: Iterable[MeasuredCampaign], metric: str) -> Iterable[Point]:
    for of in campaigns:
        yield from _point(
            of,
            [trial.calibration_before[metric] for trial in of.trials if metric in trial.calibration_before],
        )


def _point(of: MeasuredCampaign, values: Sequence[float]) -> Iterable[Point]:
    """Yield the point of a campaign where it has values."""
    commit = commit_of(of.campaign)
    if commit is not None and values:
        yield Point(commit, of.campaign.id, median(values), median_interval(values), len(values))


def _has_logarithm(point: Point) -> bool:
    return point.value > 0 and math.isfinite(point.value)


def _judged(series: Sequence[MetricSeries], host: Sequence[MetricSeries] = ()) -> tuple[MetricSeries, ...]:
    """Return series with what is told of them, all together wrong in at most `ERROR`."""
    level = ERROR / 2 / max(1, len(series))
    return tuple(_judge(of, level, host) for of in series)


def _judge(series: MetricSeries, level: float, host: Sequence[MetricSeries]) -> MetricSeries:
    parts = [(commit, [*points]) for commit, points in groupby(series.points, lambda point: point.commit)]
    commits = [commit for commit, _ in parts]
    values = np.array([np.median([math.log(point.value) for point in points]) for _, points in parts])
    if len(values) < FEWEST_COMMITS:
        return series
    starts, line = described(values, level)
    rise = np.zeros(len(values)) if line is None else line.rise(len(values))
    bounds = list(pairwise([0, *starts, len(values)]))
    levels = [float(np.median((values - rise)[begin:end])) for begin, end in bounds]
    steps = []
    for start, (old, new) in zip(starts, pairwise(levels), strict=True):
        ratio = math.exp(new - old)
        also = tuple(of.metric for of in host if any(step.commit == commits[start] for step in of.steps))
        steps.append(
            Changepoint(commits[start], commits[start - 1], ratio, _is_worse(ratio, series.better), also)
        )
    noise, half = noise_of(values), len(values) // 2
    visible = math.sqrt(threshold(len(values), level) * (1 / half + 1 / (len(values) - half))) * noise
    return replace(
        series,
        steps=tuple(steps),
        drift=None if line is None else _drift(line, commits, series.better, host),
        segments=tuple(
            Segment(
                commits[begin],
                commits[end - 1],
                math.exp(at + rise[begin]),
                math.exp(at + rise[end - 1]),
            )
            for at, (begin, end) in zip(levels, bounds, strict=True)
        ),
        noise_percent=100 * math.expm1(noise),
        visible_percent=100 * math.expm1(visible),
    )


def _drift(
    line: TrendLine, commits: Sequence[Commit], better: Better | None, host: Sequence[MetricSeries]
) -> Drift:
    after = len(commits) - 1 - line.begin
    ratio, low, high = (math.exp(slope * after) for slope in (line.slope, line.low, line.high))
    return Drift(
        first=commits[line.begin],
        last=commits[-1],
        commits=after + 1,
        percent_per_commit=100 * math.expm1(line.slope),
        ratio=ratio,
        interval=Interval(low, high, 0.95),
        p=line.p,
        worse=_is_worse(ratio, better),
        host=tuple(of.metric for of in host if of.drift is not None),
    )


def _is_worse(ratio: float, better: Better | None) -> bool | None:
    return None if better is None else (ratio < 1) == (better == "higher")


def described(values: Values, level: float) -> tuple[list[int], TrendLine | None]:
    """Return where steps begin in a series of logarithms, and the drift, if there is one.

    Steps and a line are two ways to describe the same rise. Told is what has the smallest criterion of
    Schwarz: steps alone, or a line from the first commit or from a step on, with steps in what is left.

    Args:
        level: the probability with which a series without any change has a step, and that of a drift.

    Returns:
        Indices of the first commit after each step; the drift.
    """
    starts = _steps(values, level)
    best: tuple[list[int], TrendLine | None] = starts, None
    least = _criterion(values, starts, 0)
    for begin in [0, *starts]:
        line = _line(values, level, begin)
        if line is None:
            continue
        straight = values - line.rise(values.size)
        beside = _steps(straight, level)
        criterion = _criterion(straight, beside, 1 if begin == 0 else 2)
        if criterion < least:
            best, least = (beside, line), criterion
    return best


def _criterion(values: Values, starts: Sequence[int], more: int) -> float:
    """Return the criterion of Schwarz of steps, each with its place and its level, and of more parameters."""
    rest = np.concatenate([part - part.mean() for part in np.split(values, starts)])
    variance = max(float(rest @ rest) / rest.size, LEAST_NOISE**2)
    return rest.size * math.log(variance) + (1 + 2 * len(starts) + more) * math.log(rest.size)


def _line(values: Values, level: float, begin: int = 0) -> TrendLine | None:
    """Return the line through a series from an index on, where Kendall's test says that there is one."""
    # Loaded late because it is slow; it ships no types.
    from scipy.stats import kendalltau, theilslopes  # type: ignore[import-untyped] # noqa: PLC0415

    part = values[begin:]
    if part.size < FEWEST_COMMITS:
        return None
    p = float(kendalltau(np.arange(part.size), part).pvalue)
    if not p <= level:  # not a number where all are equal
        return None
    slope, _, low, high = theilslopes(part)
    if abs(slope) * (part.size - 1) < LEAST_NOISE:
        return None
    return TrendLine(begin, float(slope), float(low), float(high), p)


def _steps(values: Values, level: float) -> list[int]:
    """Return where steps begin that chance alone makes with this probability."""
    smoothed = smooth(values[None, :] - values.mean())[0]
    return changepoints(smoothed, noise_of(values), threshold(values.size, level), SHORTEST)


def noise_of(values: Values) -> float:
    """Return the noise between neighbouring commits as a relative standard deviation, up to a factor.

    `threshold` is in units of just this.
    """
    return float(_noises(values[None, :])[0])


def _noises(rows: Values) -> Values:
    return noises(rows, _quiet, LEAST_NOISE, MANY)


def _quiet(differences: Values) -> Values:
    """Return the root mean square of the smallest differences of each row."""
    squares = np.sort(differences**2, axis=1)
    kept = math.ceil(QUIET * squares.shape[1])
    return np.asarray(np.sqrt(squares[:, :kept].mean(axis=1)))


@cache
def threshold(commits: int, level: float) -> float:
    """Return which fall of the squared error by one step, in units of the noise, chance reaches this rarely.

    By series without a step whose noise has heavy tails (Student's t), drawn always alike.
    """
    chance = np.random.default_rng(commits)
    sizes = np.arange(SHORTEST, commits - SHORTEST + 1)
    factor = 1 / sizes + 1 / (commits - sizes)
    falls = []
    for _ in range(0, DRAWS, _CHUNK):
        rows = chance.standard_t(TAILS, (_CHUNK, commits))
        before = np.cumsum(smooth(rows), axis=1)
        first = before[:, sizes - 1]
        shift = first / sizes - (before[:, -1:] - first) / (commits - sizes)
        falls.append((shift**2 / factor).max(axis=1) / _noises(rows) ** 2)
    return float(np.quantile(np.concatenate(falls), 1 - level))


_CHUNK = 2_000
