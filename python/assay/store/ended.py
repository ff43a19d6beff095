"""Turns an outcome into what the store keeps: numbers for analysis, and the record."""

from collections.abc import Mapping
from typing import Any

from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store.types import StoredTrial

_NOT_IN_RECORD = {"status", "started_at", "wall_s", "host", "ran_on"}
"""Fields of an outcome with their own column."""


def metrics_of(outcome: Outcome) -> dict[str, float]:
    """Return the metrics that a trial reported, and derived ones with other names."""
    reported = {} if outcome.result is None else outcome.result.get("metrics", {})
    return {**outcome.derived, **reported}


def calibrated(message: Mapping[str, Any] | None) -> dict[str, float]:
    """Return the numbers of a calibration: its metrics, and how long it took."""
    return {} if message is None else {**message["metrics"], "elapsed_ms": message["elapsed_ms"]}


def kept_of(outcome: Outcome) -> dict[str, Any]:
    """Return column -> value, for the columns of an ended trial that come from its outcome."""
    return {
        "status": outcome.status,
        "reason": outcome.reason,
        "started_at": outcome.started_at,
        "wall_s": outcome.wall_s,
        "metrics": metrics_of(outcome),
        "calibration_before": calibrated(outcome.calibration_before),
        "calibration_after": calibrated(outcome.calibration_after),
        "ran_on": outcome.ran_on or None,
    }


def content_of(outcome: Outcome) -> dict[str, Any]:
    """Return the part of an outcome that is stored in the trial's record."""
    return {name: value for name, value in vars(outcome).items() if name not in _NOT_IN_RECORD}


def ended_trial(trial_id: int, trial: PlannedTrial, outcome: Outcome) -> StoredTrial:
    """Return a trial that has just been recorded, as `Store.trials` returns it but without `environment`."""
    return StoredTrial(
        id=trial_id,
        ordinal=trial.ordinal,
        block=trial.block,
        group=trial.group,
        levels=trial.levels,
        repeats=trial.repeats,
        perturbation=trial.perturbation,
        host_number=trial.host_number,
        environment=None,
        **kept_of(outcome),
    )
