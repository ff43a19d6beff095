"""How an experiment's metrics changed over the commits of a project: steps, and slow drift.

A step is a changepoint (Daly et al. 2020): the commits before it have one level and those after it another.
A drift is a small change at every commit, too small for a comparison of two neighbours. Both are tested
against the noise between neighbouring commits, which includes the host's changes from day to day, not
against the intervals within campaigns. `docs/statistics.md` has the error rates.
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
"""A history needs at least this many."""

FEWEST_COMMITS = 6
"""With fewer commits no step and no drift is reported, as the noise is unknown."""

ERROR = 0.05
"""The approximate probability of any report about an experiment in which nothing changed: half for steps and
half for drift, divided by the number of series."""

SHORTEST = 2
"""Fewest commits on either side of a step: a single outlier may be a busy hour of the host."""

LEAST_NOISE = 1e-4
"""The least relative noise of a series; counts of instructions have almost none."""

QUIET = 0.75
"""The share of neighbouring pairs, those that differ least, that give the noise: the others may be steps."""

DRAWS = 20_000
"""Series without a step that are drawn to find the largest step that chance makes."""

MANY = 30
"""From this many commits on, neighbouring windows are compared too; with fewer, too many contain a step."""

TAILS = 3
"""Degrees of freedom of the simulated noise: a host's noise has heavier tails than normal noise."""

CALIBRATIONS = ("arithmetic_ns", "memory_ns", "core_to_core_ns")


class TrendLine(NamedTuple):
    """A straight line through logarithms.

    Attributes:
        begin: the index of the first commit.
        slope, low, high: the slope of Theil and Sen per commit, and its interval's ends.
        p: the p-value of Kendall's test.
    """

    begin: int
    slope: float
    low: float
    high: float
    p: float

    def rise(self, commits: int) -> Values:
        """Return how far the line at each commit lies above its first commit."""
        return self.slope * np.maximum(np.arange(commits) - self.begin, 0)


@dataclass(frozen=True)
class Commit:
    """A commit of the measured project.

    Attributes:
        subject: the first line of its message.
    """

    hash: str
    subject: str
    committed_at: datetime

    @property
    def short(self) -> str:
        """The abbreviated hash."""
        return self.hash[:SHORT]


@dataclass(frozen=True)
class MeasuredCampaign:
    """A campaign with what it measured."""

    campaign: CampaignSummary
    experiment: Experiment
    trials: Sequence[StoredTrial]


@dataclass(frozen=True)
class Point:
    """One metric in one campaign.

    Attributes:
        value: the median over valid trials.
        interval: the median's interval; None with too few trials.
    """

    commit: Commit
    campaign: int
    value: float
    interval: Interval | None
    trials: int


@dataclass(frozen=True)
class Changepoint:
    """A step: a commit from which on a metric has a different level.

    Attributes:
        commit: the first commit that was measured at the new level.
        before: the last commit that was measured at the old level; commits between the two may be the cause.
        ratio: the new level over the old one.
        worse: whether the change is for the worse; None for the host's calibrations.
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
        first, last: the commits between which it is seen.
        commits: number of measured commits from the first to the last.
        percent_per_commit: the slope of Theil and Sen.
        ratio: the value at the last commit over that at the first, by this slope.
        interval: the ratio's interval.
        p: the p-value of Kendall's rank test.
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
    """Commits between two steps, and their values without noise.

    Attributes:
        begin, end: the values at the first and the last commit; equal if there is no drift.
    """

    first: Commit
    last: Commit
    begin: float
    end: float


@dataclass(frozen=True)
class MetricSeries:
    """One metric of one condition over commits.

    Attributes:
        levels: factor -> level in the condition; empty for a calibration of the host.
        better: which values are better; None for a calibration.
        points: sorted by the date of their commit, then by campaign.
        segments: the segments between steps, at least one; empty with too few commits.
        noise_percent: the noise between neighbouring commits; None with too few commits.
        visible_percent: the size of a step in the middle that would be found with probability 1/2.
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
    """A campaign that the history does not include, and the reason."""

    campaign: int
    reason: str


@dataclass(frozen=True)
class Unplaced:
    """Campaigns in which the median of a metric has no logarithm: they are in no series, and no step or drift
    takes them into account.

    Attributes:
        campaigns: their numbers.
        commits: the commits that they measured.
    """

    metric: str
    levels: Mapping[str, Level]
    campaigns: tuple[int, ...]
    commits: tuple[Commit, ...]


@dataclass(frozen=True)
class History:
    """The history of an experiment.

    Attributes:
        host: the name of the host on which all campaigns ran.
        series: by metric, the main metric first, then by condition; without calibrations.
        commits: the measured commits, in order.
        campaigns: number of campaigns that are joined.
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
    """Return the history of an experiment on the host and in the conditions of its latest campaign.

    It joins campaigns on the same host in conditions with the same settings. A campaign that has nothing to
    join is skipped, with the reason.

    Args:
        campaigns: at least one campaign of the experiment, in the order of their numbers.
    """
    campaigns = list(campaigns)
    latest = next((measured for measured in reversed(campaigns) if not _unusable(measured)), campaigns[-1])
    identities = _identities(latest.experiment)
    left_out, joined = [], []
    for measured in campaigns:
        reason = _reason(measured, latest, identities)
        if reason:
            left_out.append(SkippedCampaign(measured.campaign.id, reason))
        else:
            joined.append(measured)
    joined = _in_order(joined)
    design = latest.experiment.comparison
    metrics: dict[str, Better] = {design.metric: design.better, **design.also}
    series: list[MetricSeries] = []
    unplaced: list[Unplaced] = []
    for metric, better in metrics.items():
        for levels, identity in identities.items():
            all_points = [*_points(joined, metric, levels, identity)]
            placed = tuple(point for point in all_points if _has_logarithm(point))
            if placed:
                series.append(MetricSeries(metric, dict(levels), better, placed))
            if others := [point for point in all_points if not _has_logarithm(point)]:
                numbers = tuple(point.campaign for point in others)
                where = {point.commit.hash: point.commit for point in others}
                unplaced.append(Unplaced(metric, dict(levels), numbers, tuple(where.values())))
    calibrations = [
        MetricSeries(metric, {}, None, points)
        for metric in CALIBRATIONS
        if (points := tuple(filter(_has_logarithm, _calibrated(joined, metric))))
    ]
    commits = {commit.hash: commit for measured in joined if (commit := commit_of(measured.campaign))}
    judged_calibrations = _judged(calibrations)
    return History(
        experiment=latest.campaign.experiment,
        host=str(latest.campaign.host.get("name", "")),
        commits=tuple(commits.values()),
        series=_judged(series, judged_calibrations),
        calibrations=judged_calibrations,
        left_out=tuple(left_out),
        campaigns=len(joined),
        unplaced=tuple(unplaced),
    )


_Levels = tuple[tuple[str, Level], ...]


def _identities(experiment: Experiment) -> dict[_Levels, dict[str, str]]:
    """Return condition -> the settings that identify it in other campaigns."""
    return {
        tuple(condition.items()): of_trials(experiment, condition) for condition in experiment.conditions()
    }


def _host(campaign: CampaignSummary) -> tuple[Any, ...]:
    return tuple(campaign.host.get(name) for name in ("name", "processors"))


def _unusable(measured: MeasuredCampaign) -> str:
    """Return why a campaign does not measure a single commit; empty if it does."""
    stored = measured.campaign.host.get("commit")
    if not stored:
        return "its commit is not known: the experiment's file was not in a git repository"
    if REVISION in measured.experiment.factors:
        return "it compares revisions with each other"
    if stored["changed"]:
        changes = counted(stored["changed"], "file")
        return f"it measured {stored['hash'][:SHORT]} with uncommitted changes of {changes}"
    if not any(trial.status == "valid" for trial in measured.trials):
        return "it has no valid trial"
    return ""


def _reason(
    measured: MeasuredCampaign, latest: MeasuredCampaign, identities: Mapping[_Levels, dict[str, str]]
) -> str:
    """Return why a campaign must be skipped; empty if it can be joined."""
    campaign, reason = measured.campaign, _unusable(measured)
    if reason:
        return reason
    if _host(campaign) != _host(latest.campaign):
        name, processors = _host(campaign)
        return f"it ran on another host: {name}, {processors} processors"
    if measured.experiment.mark != latest.experiment.mark:
        last = f"campaign {latest.campaign.id}, the latest"
        if measured.experiment.mark:
            return f"{measured.experiment.mark}, unlike {last}"
        return f"honest, unlike {last}: {latest.experiment.mark}"
    own = _identities(measured.experiment)
    if not any(own.get(levels) == identity for levels, identity in identities.items()):
        why = why_other_trials(latest.experiment, measured.experiment)
        return f"none of its conditions is one of campaign {latest.campaign.id}, the latest: it has {why}"
    return ""


def _in_order(campaigns: Sequence[MeasuredCampaign]) -> list[MeasuredCampaign]:
    """Return campaigns sorted by the date of their commit, then by when the commit was first measured."""
    commits = {
        measured.campaign.id: commit for measured in campaigns if (commit := commit_of(measured.campaign))
    }
    first: dict[str, datetime] = {}
    for measured in campaigns:
        begun = first.setdefault(commits[measured.campaign.id].hash, measured.campaign.started_at)
        first[commits[measured.campaign.id].hash] = min(begun, measured.campaign.started_at)

    def place(measured: MeasuredCampaign) -> tuple[datetime, datetime, str, datetime]:
        commit = commits[measured.campaign.id]
        return commit.committed_at, first[commit.hash], commit.hash, measured.campaign.started_at

    return sorted(campaigns, key=place)


def _points(
    campaigns: Iterable[MeasuredCampaign], metric: str, levels: _Levels, identity: dict[str, str]
) -> Iterable[Point]:
    for measured in campaigns:
        if _identities(measured.experiment).get(levels) != identity:
            continue
        yield from _point(
            measured,
            [
                float(trial.metrics[metric])
                for trial in measured.trials
                if trial.status == "valid"
                and metric in trial.metrics
                and all(trial.levels.get(factor) == level for factor, level in levels)
            ],
        )


def _calibrated(campaigns: Iterable[MeasuredCampaign], metric: str) -> Iterable[Point]:
    for measured in campaigns:
        yield from _point(
            measured,
            [
                trial.calibration_before[metric]
                for trial in measured.trials
                if metric in trial.calibration_before
            ],
        )


def _point(measured: MeasuredCampaign, values: Sequence[float]) -> Iterable[Point]:
    """Yield the point of a campaign if it has values."""
    commit = commit_of(measured.campaign)
    if commit is not None and values:
        yield Point(commit, measured.campaign.id, median(values), median_interval(values), len(values))


def _has_logarithm(point: Point) -> bool:
    return point.value > 0 and math.isfinite(point.value)


def _judged(series: Sequence[MetricSeries], host: Sequence[MetricSeries] = ()) -> tuple[MetricSeries, ...]:
    """Return the series with their steps and drift; all of these together are wrong in at most `ERROR`."""
    level = ERROR / 2 / max(1, len(series))
    return tuple(_judge(one, level, host) for one in series)


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
        also = tuple(
            calibration.metric
            for calibration in host
            if any(step.commit == commits[start] for step in calibration.steps)
        )
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
        host=tuple(calibration.metric for calibration in host if calibration.drift is not None),
    )


def _is_worse(ratio: float, better: Better | None) -> bool | None:
    return None if better is None else (ratio < 1) == (better == "higher")


def described(values: Values, level: float) -> tuple[list[int], TrendLine | None]:
    """Return where the steps of a series of logarithms begin, and its drift, if there is one.

    Steps and a line can both describe the same rise. The description with the smallest criterion of Schwarz
    wins: steps alone, or a line from the first commit or from a step on, with steps in the remainder.

    Args:
        level: the probability that a series without any change has a step, and the same for a drift.

    Returns:
        The index of the first commit after each step; the drift.
    """
    starts = _steps(values, level)
    best: tuple[list[int], TrendLine | None] = starts, None
    least = _criterion(values, starts, 0)
    for begin in [0, *starts]:
        line = _line(values, level, begin)
        if line is None:
            continue
        straight = values - line.rise(values.size)
        rest = _steps(straight, level)
        criterion = _criterion(straight, rest, 1 if begin == 0 else 2)
        if criterion < least:
            best, least = (rest, line), criterion
    return best


def _criterion(values: Values, starts: Sequence[int], more: int) -> float:
    """Return the criterion of Schwarz: two parameters for each step, one for the first level, and `more`."""
    rest = np.concatenate([part - part.mean() for part in np.split(values, starts)])
    variance = max(float(rest @ rest) / rest.size, LEAST_NOISE**2)
    return rest.size * math.log(variance) + (1 + 2 * len(starts) + more) * math.log(rest.size)


def _line(values: Values, level: float, begin: int = 0) -> TrendLine | None:
    """Return the line through a series from an index on; None if Kendall's test finds no trend."""
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
    """Return where steps begin; chance alone makes one with probability `level`."""
    smoothed = smooth(values[None, :] - values.mean())[0]
    return changepoints(smoothed, noise_of(values), threshold(values.size, level), SHORTEST)


def noise_of(values: Values) -> float:
    """Return the noise between neighbouring commits: a relative standard deviation, up to a factor.

    It is the unit of `threshold`.
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
    """Return by how much one step must reduce the squared error, in units of the noise, to be no chance.

    Chance reduces it this much with probability `level`, as simulated with fixed seeds by series without a
    step whose noise has heavy tails (Student's t).
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
