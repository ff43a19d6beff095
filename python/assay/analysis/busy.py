"""Trials that other work on the host disturbed: how much processor time their threads lost to it.

The rule sees lost time and never a result, and drops or repeats whole groups: it favours neither side of a
comparison.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from assay.experiment.metrics import BUSY, LOST
from assay.experiment.types import Experiment
from assay.store.types import StoredTrial
from assay.words import whole_percent


def lost(trials: Iterable[StoredTrial]) -> float | None:
    """Return the mean share of processor time that trials lost; None if no trial reports it.

    It is the mean because one trial in three that loses half of its time changes a ratio, but not a median.
    """
    shares = [share for trial in trials if 0 <= (share := trial.metrics.get(LOST, -1)) <= 1]
    return sum(shares) / len(shares) if shares else None


def is_busy(share: float | None) -> bool:
    """Return whether verdicts on trials that lost this share may be wrong."""
    return share is not None and share > BUSY


def disturbance(share: float | None, whose: str) -> str:
    """Return in words what trials lost, if it is too much: `trials of my_map lost 35% of ...`; else ""."""
    if share is None or not is_busy(share):
        return ""
    return f"trials {whose} lost {whole_percent(share)} of their processor time to other work"


def busy_reason(group: Iterable[StoredTrial]) -> str:
    """Return why a group that has just ended must be repeated on a quiet host, or ""."""
    share = lost(group)
    if share is None or not is_busy(share):
        return ""
    return f"the host was busy: threads lost {whole_percent(share)} of their processor time to other work"


def without_busy(trials: Sequence[StoredTrial], experiment: Experiment) -> Sequence[StoredTrial]:
    """Return trials without those of disturbed groups that have been repeated.

    Only an experiment that waits for a quiet host (`busy = "wait"`) repeats them for that reason.
    """
    if experiment.design.busy != "wait":
        return trials
    groups: dict[int, list[StoredTrial]] = defaultdict(list)
    runs: dict[int, list[int]] = defaultdict(list)  # a planned group -> itself and its repetitions
    for trial in trials:
        if trial.group not in groups:
            runs[trial.group if trial.repeats is None else trial.repeats].append(trial.group)
        groups[trial.group].append(trial)
    replaced = {
        group for numbers in runs.values() for group in sorted(numbers)[:-1] if is_busy(lost(groups[group]))
    }
    return [trial for trial in trials if trial.group not in replaced]
