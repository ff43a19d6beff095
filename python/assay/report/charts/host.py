"""The host over the campaign: its calibrations, and the modes that they tell apart."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from assay.analysis.types import HostModes
from assay.report.charts import drawings
from assay.report.charts.drawn import Drawn
from assay.report.charts.panels import Panels, since_first, thinned, unit_of_time

CALIBRATIONS = {
    "core_to_core_ns": "One way between cores (ns)",
    "memory_ns": "Load from memory (ns)",
    "arithmetic_ns": "Step of arithmetic (ns)",
}
TRIALS = 500  # at most in one figure, each with two calibrations


def host(panels: Panels) -> Iterator[Drawn]:
    """Yield one figure for each calibration that there is."""
    report = panels.report
    modes = report.analysis.host_modes
    for metric, what in CALIBRATIONS.items():
        calibrated = [
            trial
            for trial in report.trials
            if metric in trial.calibration_before or metric in trial.calibration_after
        ]
        boundary = modes.boundary if modes is not None and modes.metric == metric else None
        kept, every = thinned(calibrated, TRIALS)
        rows: list[list[Any]] = [
            [
                since_first(report, trial),
                values[metric],
                when,
                None if boundary is None else "slow" if values[metric] > boundary else "fast",
                trial.id,
            ]
            for trial in kept
            for when, values in (("before", trial.calibration_before), ("after", trial.calibration_after))
            if metric in values
        ]
        notes = [_said(modes)] if modes is not None and modes.metric == metric else []
        if every > 1:
            notes.append(f"Calibrations of every {every}th trial are drawn.")
        if rows:
            yield Drawn(
                section="host",
                kind=metric,
                title=what,
                columns=("time", "value", "when", "side", "trial"),
                rows=rows,
                specification=partial(drawings.host_over_time, what, unit_of_time(report), boundary),
                note=" ".join(notes),
            )


def _said(modes: HostModes) -> str:
    """Return what the calibrations say of the host's modes."""
    if modes.boundary is None:
        return "The calibrations show one mode of the host."
    centers = ", ".join(f"{mode} around {center:.4g} ns" for mode, center in modes.centers.items())
    return f"Two modes of the host: {centers}. Points are calibrations, by their side of the rule."
