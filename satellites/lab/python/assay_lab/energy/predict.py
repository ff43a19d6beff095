"""Predicts a measured program's time and energy at other frequencies, with intervals over its runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.intervals import median, median_interval
from assay.analysis.types import Interval
from assay.errors import AssayError
from assay_lab.energy.measure import ProgramMeasurement
from assay_lab.energy.model import Predicted, predicted
from assay_lab.energy.native import Simulated

EXPONENTS = {"E": 0, "ED": 1, "ED^2": 2}


@dataclass(frozen=True)
class Row:
    """The prediction for a frequency.

    Attributes:
        gigahertz: the frequency.
        seconds: the median over the predictions from each run, with its interval.
        joules: the same for energy.
        costs: the same for "E", "ED" and "ED^2".
        best: the costs for which it is the best frequency.
    """

    gigahertz: float
    seconds: tuple[float, Interval | None]
    joules: tuple[float, Interval | None]
    costs: Mapping[str, float]
    best: tuple[str, ...]


@dataclass(frozen=True)
class Prediction:
    """A program's predictions; `power` is a sentence that names the source of its power."""

    rows: tuple[Row, ...]
    power: str


def predict(measured: ProgramMeasurement, machine: Simulated | None) -> Prediction:
    """Predict a program at each frequency.

    Args:
        measured: the program.
        machine: gives the frequencies and the power that this machine does not offer.

    Raises:
        AssayError: power is not known, and no machine is given.
    """
    frequencies = measured.frequencies
    if measured.watts:
        (low, low_watts), (high, high_watts) = sorted(measured.watts)
        dynamic = max(high_watts - low_watts, 0.0) / (high**3 - low**3)
        watts = {f: max(low_watts + dynamic * (f**3 - low**3), 0.0) for f in frequencies}
        power = (
            f"measured: {low_watts:.3g} W at {low:g} GHz, {high_watts:.3g} W at {high:g}, by the cube between"
        )
    elif machine is None:
        raise AssayError(
            "this machine has no energy counters that this user may read; leave --machine to xeon"
        )
    else:
        frequencies = frequencies or machine.frequencies
        there = machine.watts(measured.work)
        watts = {f: there[min(there, key=lambda step: abs(step - f))] for f in frequencies}
        power = f"simulated: that of the machine {machine.name}, not of this one"
    every = [predicted(work, frequencies, watts.__getitem__) for work in measured.works]
    columns = list(zip(*every, strict=True))
    costs = [
        {name: median([each.cost(exponent) for each in column]) for name, exponent in EXPONENTS.items()}
        for column in columns
    ]
    best = {name: min(range(len(columns)), key=lambda at: costs[at][name]) for name in EXPONENTS}
    return Prediction(
        tuple(
            _row(column, costs[at], tuple(name for name, where in best.items() if where == at))
            for at, column in enumerate(columns)
        ),
        power,
    )


def _row(column: tuple[Predicted, ...], costs: Mapping[str, float], best: tuple[str, ...]) -> Row:
    seconds = [each.seconds for each in column]
    joules = [each.joules for each in column]
    return Row(
        column[0].gigahertz,
        (median(seconds), median_interval(seconds)),
        (median(joules), median_interval(joules)),
        costs,
        best,
    )
