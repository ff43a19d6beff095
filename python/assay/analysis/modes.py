"""The modes of the host, told from its calibrations alone.

A virtual machine's host may move its processors between states in which two threads reach each other quickly
or slowly, and stay in each for seconds or minutes. The rule sees calibrations and never a result, so leaving
out or repeating what it names cannot favour either side of a comparison.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.analysis.intervals import median
from assay.analysis.types import HostMode, HostModes
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

METRIC = "core_to_core_ns"
"""The calibration that tells modes apart: there where a trial has two processors or more."""

CLEAR_FACTOR = 1.5
"""Modes are at least this far apart: calibrations in a row differ by less than 10% 19 times in 20."""

FEW_VALUES = 4
"""The spread of m values is taken to be (1 + 4/m) times what they show: a few show less of it."""

CLEAR_ALONE = 2.5
"""A gap this many times as wide as the clusters beside it is clear whatever the other gaps are."""

MOST_CLUSTERS = 4
"""The values are split into no more clusters than this while a clear gap is looked for."""

FEWEST = 3
"""Fewer calibrations, besides as many as may lie in a gap, are strays and not a cluster."""

SMALLEST_SHARE = 0.02
"""Neither is a smaller share of all calibrations a cluster."""

STRAY_SHARE = 0.01
"""This share may lie in the gap: a calibration during which the host changed shows something between."""

RECENT = 2000
"""The trials that tell, while a campaign runs, whether there are two modes: as many as take a few ms."""

_GroupMode = Literal["fast", "slow", "mixed", "unknown"]
_Placement = tuple[Any, ...]
_Boundaries = Mapping[_Placement, float]


def host_modes(trials: Sequence[StoredTrial], experiment: Experiment) -> HostModes | None:
    """Tell the modes of the host apart, and say in which one each group ran.

    A calibration depends on the placement (threads and pinning), so each placement has a boundary of its own.
    `centers` and `boundary` are those of the placement with the most calibrations among those with two modes.
    A group is "mixed" as soon as two of its calibrations lie on different sides. It is "fast" or "slow" where
    every trial whose placement has a boundary was calibrated before and after, and all that lies on one side;
    "unknown" where one of these calibrations is missing, or no placement of the group has a boundary.

    Args:
        trials: ended trials of one campaign, in any order.

    Returns:
        None where no trial has the calibration.
    """
    placement_of = _Placements(experiment)
    values = _by_placement(trials, placement_of)
    if not values:
        return None
    boundaries = _boundaries(values)
    sides: dict[int, list[HostMode | None]] = defaultdict(list)
    for trial in trials:
        sides[trial.group] += _sides(trial, placement_of, boundaries)
    of_group = {group: _mode(seen) for group, seen in sides.items()}
    if not boundaries:
        return HostModes(METRIC, {}, None, of_group)
    shown = max(boundaries, key=lambda placement: (len(values[placement]), repr(placement)))
    boundary = boundaries[shown]
    centers: dict[HostMode, float] = {
        "fast": median([value for value in values[shown] if value < boundary]),
        "slow": median([value for value in values[shown] if value >= boundary]),
    }
    return HostModes(METRIC, centers, boundary, of_group)


def disagreement(group: Sequence[StoredTrial], ended: Sequence[StoredTrial], experiment: Experiment) -> str:
    """Return why a group that has just ended is to be repeated whole: its calibrations lie in both modes.

    It is the rule of `host_modes` on what is known so far, from the last `RECENT` trials; until a second mode
    has shown itself there is one, and nothing is repeated.

    Args:
        group: its ended trials.
        ended: all ended trials of the campaign in the order in which they ran, the group's among them.

    Returns:
        A reason for a person, or "".
    """
    placement_of = _Placements(experiment)
    wanted = {placement_of(trial) for trial in group}
    boundaries = _boundaries(_by_placement(ended[-RECENT:], placement_of, wanted))
    if _mode([side for trial in group for side in _sides(trial, placement_of, boundaries)]) != "mixed":
        return ""
    seen = sorted(
        value for trial in group if placement_of(trial) in boundaries for value in _calibrations(trial)
    )
    return f"the host changed its mode: {METRIC} from {seen[0]:.1f} to {seen[-1]:.1f}"


def gap(values: ArrayLike) -> float | None:
    """Return the boundary between fast and slow, two sides of positive values; None without a clear gap.

    On the logarithmic scale the values are split at their widest gap, then at the next, into up to
    `MOST_CLUSTERS` clusters. A gap stands out where it is at least as wide as 90% of the values of either
    cluster beside it are spread (see `FEW_VALUES`). It is clear where all gaps of a split stand out, or where
    it does so `CLEAR_ALONE` times over. The boundary is the geometric middle of the widest clear gap, if that
    reaches `CLEAR_FACTOR`. Scatter is that of a cluster, not of a side, so a third or fourth state, or values
    far off, do not hide a gap.

    Simulated with 12, 48, 200 and 2000 values (1000 draws each, 150 of 2000 values; `modes_test.py` repeats
    it in small). One mode is taken for two in at most 2.1%, 1.1%, 0.7% and 0% (normal with scatter 0.5 and
    1, t with 2 degrees of freedom, uniform, exponential, Pareto with exponents 1 and 2 and a fifth of the
    first on a constant, random walk, autocorrelated 0.99). Found, states drawn at random with equal chances
    and log-normal scatter within each:

    | states         | scatter | 12  | 48   | 200  | 2000 |
    | -------------- | ------- | --- | ---- | ---- | ---- |
    | 1 : 2.4        | 5%      | 96% | 100% | 100% | 100% |
    | 1 : 2.4        | 10%     | 78% | 83%  | 90%  | 87%  |
    | 1 : 2.4        | 15%     | 28% | 3%   | 0%   | 0%   |
    | 1 : 2.4        | 20%     | 9%  | 0%   | 0%   | 0%   |
    | 1 : 1.8        | 5%      | 86% | 43%  | 10%  | 0%   |
    | 1 : 2 : 4      | 5%      | 70% | 100% | 100% | 100% |
    | 1 : 2 : 4      | 10%     | 27% | 14%  | 0%   | 0%   |
    | 1 : 2 : 4 : 8  | 5%      | 40% | 100% | 100% | 100% |

    So it is blind where modes overlap or nearly touch: the more values, the less of a gap is left between the
    tails, and 2.4 times with a scatter of 20% is one cluster. It is blind to modes less than `CLEAR_FACTOR`
    apart, and to a mode with fewer than `FEWEST` values (more than `STRAY_SHARE` of them) or `SMALLEST_SHARE`
    of all. Of more than two states it tells the sides of one gap: a change within a side counts as none.
    """
    logs = np.sort(np.log(np.asarray(values, dtype=np.float64)))
    strays = int(STRAY_SHARE * logs.size)
    least = max(FEWEST + strays, math.ceil(SMALLEST_SHARE * logs.size))
    clusters, gaps, clear = [logs], list[_Gap](), list[_Gap]()
    while len(clusters) < MOST_CLUSTERS:
        widest = [(_widest(cluster, least, strays), at) for at, cluster in enumerate(clusters)]
        found, at = max(widest, key=lambda each: each[0].width)
        if not found.width:
            break
        cluster = clusters[at]
        clusters[at : at + 1] = [cluster[: found.start], cluster[found.start + strays :]]
        gaps.insert(at, found)
        beside = [max(pair) for pair in pairwise(_spread(each) for each in clusters)]
        all_stand_out = all(one.width >= spread for one, spread in zip(gaps, beside, strict=True))
        times = 1 if all_stand_out else CLEAR_ALONE
        clear += [one for one, spread in zip(gaps, beside, strict=True) if one.width >= times * spread]
    boundary = max(clear, key=lambda one: one.width, default=None)
    if boundary is None or boundary.width < math.log(CLEAR_FACTOR):
        return None
    return math.exp(boundary.middle)


class _Gap(NamedTuple):
    """A gap between two clusters of sorted values: the lower one ends before `start`."""

    width: float
    middle: float
    start: int


def _widest(logs: NDArray[np.float64], least: int, strays: int) -> _Gap:
    """Return the widest gap with `strays` within and `least` values on either side; of no width if none."""
    if logs.size < 2 * least + strays:
        return _Gap(0.0, 0.0, 0)
    below, above = logs[least - 1 : logs.size - least - strays], logs[least + strays :]
    above = above[: below.size]
    at = int(np.argmax(above - below))
    low, high = float(below[at]), float(above[at])
    return _Gap(high - low, (low + high) / 2, least + at)


def _spread(logs: NDArray[np.float64]) -> float:
    """Return how far 90% of the values of a cluster are spread, with an allowance for few of them."""
    low, high = np.quantile(logs, (0.05, 0.95))
    return (1 + FEW_VALUES / logs.size) * float(high - low)


class _Placements:
    """Gives the placement of a trial; a campaign has few conditions, so each is worked out once."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._known: dict[tuple[Level, ...], _Placement] = {}

    def __call__(self, trial: StoredTrial) -> _Placement:
        levels = tuple(trial.levels.values())
        found = self._known.get(levels)
        if found is None:
            settings = self._experiment.settings(trial.levels)
            found = (settings.get("threads"), str(settings.get("pinning")))
            self._known[levels] = found
        return found


def _calibrations(trial: StoredTrial) -> list[float]:
    both = (trial.calibration_before.get(METRIC), trial.calibration_after.get(METRIC))
    return [value for value in both if value is not None and 0 < value < math.inf]


def _by_placement(
    trials: Iterable[StoredTrial], placement_of: _Placements, wanted: set[_Placement] | None = None
) -> dict[_Placement, list[float]]:
    values: dict[_Placement, list[float]] = defaultdict(list)
    for trial in trials:
        placement = placement_of(trial)
        if wanted is None or placement in wanted:
            values[placement].extend(_calibrations(trial))
    return {placement: seen for placement, seen in values.items() if seen}


def _boundaries(values: Mapping[_Placement, Sequence[float]]) -> dict[_Placement, float]:
    """Return the boundary of every placement that has two modes."""
    found = {placement: gap(seen) for placement, seen in values.items()}
    return {placement: boundary for placement, boundary in found.items() if boundary is not None}


def _sides(trial: StoredTrial, placement_of: _Placements, boundaries: _Boundaries) -> list[HostMode | None]:
    """Return the sides of both calibrations, None for a missing one; nothing where there is no boundary."""
    boundary = boundaries.get(placement_of(trial))
    if boundary is None:
        return []
    found: list[HostMode | None] = ["fast" if value < boundary else "slow" for value in _calibrations(trial)]
    return found + [None] * (2 - len(found))


def _mode(sides: Sequence[HostMode | None]) -> _GroupMode:
    seen = set(sides)
    if {"fast", "slow"} <= seen:
        return "mixed"
    if seen == {"fast"}:
        return "fast"
    return "slow" if seen == {"slow"} else "unknown"
