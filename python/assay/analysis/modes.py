"""The modes of the host, found from its calibrations alone.

A virtual machine's host may move its processors between states in which two threads reach each other quickly
or slowly, and stay in each for seconds or minutes. The rule sees calibrations and never a result, so dropping
or repeating the groups that it names cannot favour either side of a comparison.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
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
"""The calibration that distinguishes modes; it exists if a trial has at least two processors."""

ALONE: tuple[Any, ...] = ()
"""The placement of a single thread, wherever it runs: it reaches no other thread, so it has no modes."""

CLEAR_FACTOR = 1.5
"""Modes are at least this far apart: calibrations in a row differ by less than 10% 19 times in 20."""

FEW_VALUES = 4
"""The spread of m values counts (1 + 4/m) times, as few values show less than the true spread."""

CLEAR_ALONE = 2.5
"""A gap this many times as wide as the clusters next to it is clear, whatever the other gaps are."""

MOST_CLUSTERS = 4
"""The search for a clear gap splits the values into at most this many clusters."""

FEWEST = 3
"""A cluster has at least this many calibrations more than may lie in a gap; fewer are strays."""

SMALLEST_SHARE = 0.02
"""A cluster has at least this share of all calibrations."""

STRAY_SHARE = 0.01
"""This share may lie in the gap: during such a calibration the host changed."""

RECENT = 2000
"""While a campaign runs, the modes are found from this many latest trials, which takes a few ms."""

_GroupMode = Literal["fast", "slow", "mixed", "unknown"]
_Placement = tuple[Any, ...]
_PlacementOf = Callable[[StoredTrial], _Placement]
_Boundaries = Mapping[_Placement, float]


def host_modes(trials: Sequence[StoredTrial], experiment: Experiment) -> HostModes | None:
    """Return the modes of the host, and the mode in which each group ran.

    A calibration depends on the placement (threads and pinning) and on the host, so each placement on each
    host has its own boundary: two machines are not two modes.
    `centers` and `boundary` are those of the placement with the most calibrations among those with two modes.
    A group is "mixed" if two of its calibrations lie on different sides. It is "fast" or "slow" if every
    trial whose placement has a boundary was calibrated before and after, all on the same side. It is
    "unknown" if one of these calibrations is missing, or no placement of the group has a boundary; a single
    thread's placement has none.

    Args:
        trials: ended trials of one campaign, in any order.

    Returns:
        None if no trial with several threads has the calibration.
    """
    placement_of = _placements(experiment)
    values = _by_placement(trials, placement_of)
    if not values:
        return None
    boundaries = _boundaries(values)
    if not boundaries:
        return HostModes(METRIC, {}, None, dict.fromkeys((trial.group for trial in trials), "unknown"))
    sides: dict[int, list[HostMode | None]] = defaultdict(list)
    for trial in trials:
        sides[trial.group] += _sides(trial, placement_of, boundaries)
    of_group = {group: _mode(of_trials) for group, of_trials in sides.items()}
    shown = max(boundaries, key=lambda placement: (len(values[placement]), repr(placement)))
    boundary = boundaries[shown]
    centers: dict[HostMode, float] = {
        "fast": median([value for value in values[shown] if value < boundary]),
        "slow": median([value for value in values[shown] if value >= boundary]),
    }
    return HostModes(METRIC, centers, boundary, of_group)


def disagreement(group: Sequence[StoredTrial], ended: Sequence[StoredTrial], experiment: Experiment) -> str:
    """Return why a group that has just ended must be repeated: its calibrations lie in both modes.

    It applies the rule of `host_modes` to the last `RECENT` trials; nothing is repeated until a second mode
    has occurred.

    Args:
        group: the group's ended trials.
        ended: all ended trials of the campaign, including the group's, in the order in which they ran.

    Returns:
        A reason for a person, or "".
    """
    placement_of = _placements(experiment)
    placements = {placement_of(trial) for trial in group}
    boundaries = _boundaries(_by_placement(ended[-RECENT:], placement_of, placements))
    if _mode([side for trial in group for side in _sides(trial, placement_of, boundaries)]) != "mixed":
        return ""
    values = sorted(
        value for trial in group if placement_of(trial) in boundaries for value in _calibrations(trial)
    )
    return f"the host changed its mode: {METRIC} from {values[0]:.1f} to {values[-1]:.1f}"


def gap(values: ArrayLike) -> float | None:
    """Return the boundary between fast and slow among positive values; None without a clear gap.

    On the logarithmic scale the values are split at their widest gap, then at the next, into up to
    `MOST_CLUSTERS` clusters. A gap stands out if it is at least as wide as the spread of 90% of the values in
    either neighbouring cluster (see `FEW_VALUES`). It is clear if all gaps of the split stand out, or if it
    is `CLEAR_ALONE` times as wide as needed. The boundary is the geometric middle of the widest clear gap, if
    its factor reaches `CLEAR_FACTOR`. The spread is that of a cluster, not of a whole side, so that a third
    or fourth state, or outliers, do not hide a gap.

    `docs/statistics.md` says what this misses, and how often it is wrong in simulations (`modes_test.py`).
    """
    logs = np.sort(np.log(np.asarray(values, dtype=np.float64)))
    strays = int(STRAY_SHARE * logs.size)
    least = max(FEWEST + strays, math.ceil(SMALLEST_SHARE * logs.size))
    clusters, gaps, clear = [logs], list[_Gap](), list[_Gap]()
    while len(clusters) < MOST_CLUSTERS:
        widest_gaps = [(_widest(cluster, least, strays), place) for place, cluster in enumerate(clusters)]
        widest, place = max(widest_gaps, key=lambda pair: pair[0].width)
        if not widest.width:
            break
        cluster = clusters[place]
        clusters[place : place + 1] = [cluster[: widest.start], cluster[widest.start + strays :]]
        gaps.insert(place, widest)
        spreads = [max(pair) for pair in pairwise(map(_spread, clusters))]
        gap_spreads = list(zip(gaps, spreads, strict=True))
        times = 1 if all(gap.width >= spread for gap, spread in gap_spreads) else CLEAR_ALONE
        clear += [gap for gap, spread in gap_spreads if gap.width >= times * spread]
    boundary = max(clear, key=lambda gap: gap.width, default=None)
    if boundary is None or boundary.width < math.log(CLEAR_FACTOR):
        return None
    return math.exp(boundary.middle)


class _Gap(NamedTuple):
    """A gap between two clusters of sorted values: the lower cluster ends before index `start`."""

    width: float
    middle: float
    start: int


def _widest(logs: NDArray[np.float64], least: int, strays: int) -> _Gap:
    """Return the widest gap with `strays` values inside and `least` on either side; of width 0 if none."""
    if logs.size < 2 * least + strays:
        return _Gap(0.0, 0.0, 0)
    below, above = logs[least - 1 : logs.size - least - strays], logs[least + strays :]
    above = above[: below.size]
    at = int(np.argmax(above - below))
    low, high = float(below[at]), float(above[at])
    return _Gap(high - low, (low + high) / 2, least + at)


def _spread(logs: NDArray[np.float64]) -> float:
    """Return the spread of 90% of a cluster's values, with an allowance for few values."""
    low, high = np.quantile(logs, (0.05, 0.95))
    return (1 + FEW_VALUES / logs.size) * float(high - low)


def _placements(experiment: Experiment) -> _PlacementOf:
    """Return a function that gives a trial's placement and host; it computes each condition's once."""

    @cache
    def of(host: str | None, *levels: tuple[str, Level]) -> _Placement:
        settings = experiment.settings(dict(levels))
        threads = settings.get("threads")
        if threads == 1 and not experiment.is_command(settings.get("subject", "")):
            return ALONE  # a command has as many as it likes
        return threads, str(settings.get("pinning")), host or ""

    return lambda trial: of(trial.ran_on, *trial.levels.items())


def _calibrations(trial: StoredTrial) -> list[float]:
    both = (trial.calibration_before.get(METRIC), trial.calibration_after.get(METRIC))
    return [value for value in both if value is not None and 0 < value < math.inf]


def _by_placement(
    trials: Iterable[StoredTrial], placement_of: _PlacementOf, placements: set[_Placement] | None = None
) -> dict[_Placement, list[float]]:
    by_placement: dict[_Placement, list[float]] = defaultdict(list)
    for trial in trials:
        placement = placement_of(trial)
        if placement != ALONE and (placements is None or placement in placements):
            by_placement[placement].extend(_calibrations(trial))
    return {placement: values for placement, values in by_placement.items() if values}


def _boundaries(by_placement: Mapping[_Placement, Sequence[float]]) -> dict[_Placement, float]:
    """Return the boundary of every placement that has two modes."""
    boundaries = {placement: gap(values) for placement, values in by_placement.items()}
    return {placement: boundary for placement, boundary in boundaries.items() if boundary is not None}


def _sides(trial: StoredTrial, placement_of: _PlacementOf, boundaries: _Boundaries) -> list[HostMode | None]:
    """Return the sides of both calibrations, None for a missing one; empty if there is no boundary."""
    boundary = boundaries.get(placement_of(trial))
    if boundary is None:
        return []
    sides: list[HostMode | None] = ["fast" if value < boundary else "slow" for value in _calibrations(trial)]
    return sides + [None] * (2 - len(sides))


def _mode(sides: Iterable[HostMode | None]) -> _GroupMode:
    distinct = {*sides}
    if {"fast", "slow"} <= distinct:
        return "mixed"
    return "fast" if distinct == {"fast"} else "slow" if distinct == {"slow"} else "unknown"
