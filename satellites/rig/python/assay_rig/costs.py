"""What a call costs, of a function and of its reference version."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from assay.report import Report
from assay.store.types import StoredTrial
from assay.words import in_unit, number

TIME = "iteration_p50_ns"
_COUNTED = "_per_operation"
_SIMULATED = "simulated_"


@dataclass(frozen=True)
class Cost:
    """Something that calls cost: medians over trials.

    Attributes:
        metric: its name in the store.
        name: in words.
        ours, reference: a call; None where no trial has it.
    """

    metric: str
    name: str
    ours: float | None
    reference: float | None

    def shown(self, value: float | None) -> str:
        """Return one of the two for people."""
        if value is None:
            return "-"
        return in_unit(value, "ns") if self.metric == TIME else number(round(value, 4))


def costs(report: Report, ours: str, reference: str) -> list[Cost]:
    """Return the time of a call, and what was counted or simulated of it."""
    valid = [trial for trial in report.trials if trial.status == "valid"]
    names = {name for trial in valid for name in trial.metrics if name.endswith(_COUNTED)}
    return [
        Cost(
            metric,
            _in_words(metric),
            *(_median(valid, subject, metric) for subject in (ours, reference)),
        )
        for metric in (TIME, *sorted(names, key=_order))
    ]


def _order(metric: str) -> tuple[bool, str]:
    return "instructions" not in metric, metric


def _in_words(metric: str) -> str:
    if metric == TIME:
        return "time"
    bare = metric.removesuffix(_COUNTED)
    words = (
        bare.removeprefix(_SIMULATED)
        .replace("l1_dcache_stores", "writes")
        .replace("l1_dcache", "L1")
        .replace("_", " ")
    )
    return f"{words}, simulated" if bare.startswith(_SIMULATED) else words


def _median(trials: Sequence[StoredTrial], subject: str, metric: str) -> float | None:
    values = [
        trial.metrics[metric]
        for trial in trials
        if trial.levels["subject"] == subject and metric in trial.metrics
    ]
    return median(values) if values else None
