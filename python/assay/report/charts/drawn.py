"""What a module of this package yields for one figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.experiment import Experiment
from assay.plan.types import Level
from assay.report.charts.drawings import Specification
from assay.words import condition_name

WIDE = 30  # where the largest is so many times the smallest, a logarithmic scale is needed to see both


@dataclass(frozen=True)
class Drawn:
    """A figure that has no name yet, with what makes its specification.

    Attributes as those of `Figure`; drawings of one kind have one specification.
    """

    section: str
    kind: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    specification: Callable[[], Specification]
    note: str = ""


def titled(what: str, shared: Mapping[str, Level]) -> str:
    """Return the title of a figure, with the levels that all of it shares."""
    return f"{what}: {condition_name(shared)}" if shared else what


def measured(experiment: Experiment, metric: str) -> str:
    """Return a metric with its unit, where that is known."""
    unit = experiment.unit(metric)
    own = any(program.extract != "protocol" for program in experiment.programs.values())
    if not unit and not own and metric.endswith("throughput"):
        unit = "operations / s"
    return f"{metric} ({unit})" if unit else metric


def wide(values: Sequence[float]) -> bool:
    """Tell whether values differ so much that only a logarithmic scale shows them all."""
    return bool(values) and min(values) > 0 and max(values) > WIDE * min(values)
