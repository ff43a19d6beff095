"""The modes of the host, told from its calibrations alone.

A virtual machine's host may move its processors between states in which two threads reach each other quickly
or slowly, and stay in each for seconds or minutes. The rule sees calibrations and never a result, so leaving
out or repeating what it names cannot favour either side of a comparison.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.analysis.intervals import median
from assay.analysis.types import HostMode, HostModes
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

METRIC = "core_to_core_ns"
"""The calibration that tells modes apart: there where a trial has two processors or more."""

CLEAR_FACTOR = 1.5
"""Modes are at least this far apart: calibrations in a row differ by less than 10% 19 times in 20."""

CLEAR_OF_SCATTER = 1.5
"""The gap is at least this many times as wide (log scale) as 90% of the values of either mode are spread."""

FEWEST = 3
"""Fewer calibrations are strays, not a mode."""

SMALLEST_SHARE = 0.02
"""Neither is a smaller share of all calibrations a mode."""

STRAY_SHARE = 0.01
"""This share may lie in the gap: a calibration during which the host changed shows something between."""

RECENT = 4000
"""The trials that tell, while a campaign runs, whether there are two modes: as many as take a few ms."""

_Placement = tuple[Any, ...]
_Boundaries = Mapping[_Placement, float]


def host_modes(trials: Sequence[StoredTrial], experiment: Experiment) -> HostModes | None:
    """Tell the modes of the host apart, and say in which one each group ran.

    A calibration depends on the placement (threads and pinning), so each placement has a boundary of its own.
    `centers` and `boundary` are those of the placement with the most calibrations among those with two modes.
    A group is "unknown" too where its placements show one mode only.

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
    sides: dict[int, set[HostMode]] = defaultdict(set)
    for trial in trials:
        sides[trial.group] |= _sides(trial, placement_of, boundaries)
    of_group: dict[int, Literal["fast", "slow", "mixed", "unknown"]] = {}
    for group, seen in sides.items():
        of_group[group] = "mixed" if len(seen) > 1 else next(iter(seen), "unknown")
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
    if len({side for trial in group for side in _sides(trial, placement_of, boundaries)}) < 2:
        return ""
    seen = sorted(
        value for trial in group if placement_of(trial) in boundaries for value in _calibrations(trial)
    )
    return f"the host changed its mode: {METRIC} from {seen[0]:.1f} to {seen[-1]:.1f}"


def gap(values: ArrayLike) -> float | None:
    """Return the boundary between two clusters of positive values; None where there is no clear gap.

    The gap is the widest on the logarithmic scale that leaves enough values on both sides for a mode. It is
    clear where it reaches both `CLEAR_FACTOR` and `CLEAR_OF_SCATTER`. The boundary is its geometric middle.
    """
    logs = np.sort(np.log(np.asarray(values, dtype=np.float64)))
    least = max(FEWEST, math.ceil(SMALLEST_SHARE * logs.size))
    strays = int(STRAY_SHARE * logs.size)
    if logs.size < 2 * least + strays:
        return None
    below, above = logs[least - 1 : logs.size - least - strays], logs[least + strays :]
    above = above[: below.size]
    at = int(np.argmax(above - below))
    low, high = float(below[at]), float(above[at])
    clusters = logs[: least + at], logs[least + at + strays :]
    scatter = max(float(np.subtract(*np.quantile(cluster, (0.95, 0.05)))) for cluster in clusters)
    if high - low < max(math.log(CLEAR_FACTOR), CLEAR_OF_SCATTER * scatter):
        return None
    return math.exp((low + high) / 2)


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


def _calibrations(trial: StoredTrial) -> Iterator[float]:
    for calibration in (trial.calibration_before, trial.calibration_after):
        value = calibration.get(METRIC)
        if value is not None and 0 < value < math.inf:
            yield value


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


def _sides(trial: StoredTrial, placement_of: _Placements, boundaries: _Boundaries) -> set[HostMode]:
    boundary = boundaries.get(placement_of(trial))
    if boundary is None:
        return set()
    return {"fast" if value < boundary else "slow" for value in _calibrations(trial)}
