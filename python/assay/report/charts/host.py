"""The host over the campaign: its calibrations, and the modes that they tell apart."""

from collections.abc import Iterator, Sequence

from assay.analysis.types import HostModes
from assay.report.charts import drawings
from assay.report.charts.drawings import Row, Specification, Up
from assay.report.charts.drawn import Figure, Table, column, together
from assay.report.charts.panels import Panels, since_first, thinned, unit_of_time
from assay.report.gather import Report

CALIBRATIONS = {
    "core_to_core_ns": "One way between cores (ns)",
    "memory_ns": "Load from memory (ns)",
    "arithmetic_ns": "Step of arithmetic (ns)",
}
COLUMNS = ("time", "value", "when", "side", "trial")
TRIALS = 500  # at most in one figure, each with two calibrations


def host(panels: Panels) -> Iterator[Figure]:
    """Yield one figure for each calibration that there is."""
    for metric, what in CALIBRATIONS.items():
        yield from _calibration(panels.report, metric, what)


def _calibration(report: Report, metric: str, what: str) -> list[Figure]:
    calibrated = [
        trial
        for trial in report.trials
        if metric in trial.calibration_before or metric in trial.calibration_after
    ]
    modes = report.analysis.host_modes
    modes = modes if modes is not None and modes.metric == metric else None
    boundary = None if modes is None else modes.boundary
    kept, every = thinned(calibrated, TRIALS)
    rows: list[Row] = [
        [
            since_first(report, trial),
            values[metric],
            when,
            None if boundary is None else "slow" if values[metric] > boundary else "fast",
            trial.id,
        ]
        for trial in kept
        for when, values in (("before", trial.calibration_before), ("after", trial.calibration_after))
        if values.get(metric, 0) > 0
    ]
    if not rows:
        return []
    notes = [] if modes is None else [_modes(modes)]
    if every > 1:
        notes.append(f"Calibrations of every {every}th trial are drawn.")

    def specification(rows: Sequence[Row]) -> Specification:
        up = Up.sharing(what, [*column(rows, 1), *([] if boundary is None else [boundary])], log=True)
        return drawings.host_over_time(up, unit_of_time(report), boundary)

    return together("host", metric, COLUMNS, [Table(what, rows, " ".join(notes))], specification)


def _modes(modes: HostModes) -> str:
    """Return what the calibrations say of the host's modes."""
    if modes.boundary is None:
        return "The calibrations show one mode of the host."
    centers = ", ".join(f"{mode} around {center:.4g} ns" for mode, center in modes.centers.items())
    return f"Two modes of the host: {centers}. Points are calibrations, by their side of the rule."
