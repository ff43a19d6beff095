"""Simulated campaigns: trials in time order on a noisy host, and the log ratios of their groups."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter  # type: ignore[import-untyped]

from assay.analysis.modes import disagreement
from assay.experiment.types import Experiment
from assay.plan.types import Level
from assay.store.types import StoredTrial

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Array]

SLOW_MODE = 2.4
"""By how much two writing threads slow down in the other mode of a virtual machine: 1.2 to 3.4 was seen."""

FLIP = 0.1
"""The chance that the mode is another one at the next trial."""


def modes(rng: np.random.Generator, campaigns: int, trials: int) -> NDArray[np.bool_]:
    """Return whether the host is in its slow mode, shape (campaigns, trials)."""
    flips = rng.random((campaigns, trials)) < FLIP
    flips[:, 0] = rng.random(campaigns) < 0.5
    slow: NDArray[np.bool_] = np.cumsum(flips, axis=1) % 2 == 1
    return slow


def _normal(rng: np.random.Generator, campaigns: int, trials: int) -> Array:
    logs: Array = np.log1p(0.02 * rng.standard_normal((campaigns, trials)))
    return logs


def _log_normal(rng: np.random.Generator, campaigns: int, trials: int) -> Array:
    """Delays whose size is log-normal: skewed, on the logarithmic scale too."""
    logs: Array = -np.log1p(0.02 * rng.lognormal(size=(campaigns, trials)))
    return logs


def _bimodal(rng: np.random.Generator, campaigns: int, trials: int) -> Array:
    slow = modes(rng, campaigns, trials)
    logs: Array = -np.log(SLOW_MODE) * slow + 0.01 * rng.standard_normal(slow.shape)
    return logs


def _drifting(rng: np.random.Generator, campaigns: int, trials: int) -> Array:
    """A fall by 30% over the campaign, and a random walk."""
    steps = 0.005 * rng.standard_normal((campaigns, trials))
    return (
        np.cumsum(steps, axis=1) + np.log(np.linspace(1, 0.7, trials)) + _normal(rng, campaigns, trials) / 2
    )


def _autocorrelated(rng: np.random.Generator, campaigns: int, trials: int) -> Array:
    """Each trial's deviation of 5% is nine tenths of the one before."""
    shocks = 0.05 * rng.standard_normal((campaigns, trials))
    shocks[:, 1:] *= np.sqrt(1 - 0.9**2)
    return np.asarray(lfilter([1], [1, -0.9], shocks, axis=1)) + _normal(rng, campaigns, trials) / 2


def _heavy_tailed(rng: np.random.Generator, campaigns: int, trials: int) -> Array:
    """Student's t with 1.5 degrees of freedom, which has no variance."""
    return 0.01 * rng.standard_t(1.5, size=(campaigns, trials))


NOISES: dict[str, Noise] = {
    "normal": _normal,
    "log-normal": _log_normal,
    "bimodal": _bimodal,
    "drifting": _drifting,
    "autocorrelated": _autocorrelated,
    "heavy-tailed": _heavy_tailed,
}
"""Name -> function that draws logarithms of a metric in time order, shape (campaigns, trials)."""


def log_ratios(
    noise: Noise, rng: np.random.Generator, campaigns: int, blocks: int, *, contexts: int = 1, levels: int = 2
) -> Array:
    """Return the log ratios of identical code, shape (campaigns, contexts * (levels - 1), blocks).

    Within a block the groups, and within a group its levels, run in random order, one after another.
    """
    times = noise(rng, campaigns, blocks * contexts * levels).reshape(campaigns, blocks, contexts, levels)
    groups = np.argsort(rng.random((campaigns, blocks, contexts)), axis=2)
    by_level = rng.permuted(np.take_along_axis(times, groups[..., None], axis=2), axis=3)
    ratios: Array = by_level[..., 1:] - by_level[..., :1]
    return ratios.transpose(0, 2, 3, 1).reshape(campaigns, contexts * (levels - 1), blocks)


def host_campaign(
    rng: np.random.Generator, experiment: Experiment, effects: Mapping[Level, float]
) -> list[StoredTrial]:
    """Return the trials of a campaign on a host with two modes, as a runner would have recorded them.

    The mode may change at each calibration and each trial. Groups whose calibrations disagree are repeated
    by the rule that the runner follows.

    Args:
        rng: draws all that is random.
        experiment: its `threads` is the number of threads; one thread does not feel the mode.
        effects: level of the compared factor -> logarithm of its speed.
    """
    host, compared = _Host(rng), experiment.comparison.factor
    trials: list[StoredTrial] = []
    contexts: dict[tuple[Level, ...], list[dict[str, Level]]] = {}
    for condition in experiment.conditions():
        contexts.setdefault(experiment.context(condition), []).append(condition)
    groups = list(contexts.values())
    number = 0
    for block in range(experiment.design.blocks):
        for context in rng.permutation(len(groups)):
            first = number
            for _ in range(1 + experiment.design.repeat):
                repeats = None if number == first else first
                group: list[StoredTrial] = []
                for levels in rng.permutation(np.array(groups[context], dtype=object)):
                    planned = _trial(len(trials) + len(group), block, number, levels, repeats)
                    group.append(host.run(planned, effects[levels[compared]]))
                trials += group
                number += 1
                if not disagreement(group, trials, experiment):
                    break
    return trials


def _trial(
    ordinal: int, block: int, group: int, levels: Mapping[str, Level], repeats: int | None
) -> StoredTrial:
    return StoredTrial(
        id=ordinal,
        ordinal=ordinal,
        block=block,
        group=group,
        levels=levels,
        status="valid",
        reason="",
        metrics={},
        calibration_before={},
        calibration_after={},
        started_at=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=ordinal),
        wall_s=1.0,
        environment=None,
        repeats=repeats,
    )


class _Host:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._slow = bool(rng.random() < 0.5)

    def run(self, trial: StoredTrial, effect: float) -> StoredTrial:
        """Return the trial with what it measured, between two calibrations."""
        before = self._calibrate()
        slow = self._mode() and trial.levels["threads"] != 1
        speed = effect - np.log(SLOW_MODE) * slow + 0.02 * self._rng.standard_normal()
        return replace(
            trial,
            metrics={"throughput": float(np.exp(speed))},
            calibration_before=before,
            calibration_after=self._calibrate(),
        )

    def _mode(self) -> bool:
        self._slow ^= bool(self._rng.random() < FLIP / 3)
        return self._slow

    def _calibrate(self) -> dict[str, float]:
        nanoseconds = 60.0 * (SLOW_MODE if self._mode() else 1)
        return {"core_to_core_ns": nanoseconds * float(self._rng.lognormal(0, 0.05))}
