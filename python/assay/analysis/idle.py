"""Trials in which practically nothing happens, and which are fast for that.

A mix that only erases leaves a map empty, one that only inserts leaves it full, and each update then fails:
the first anomaly of Kharal and Brown (sections 4.5.1 and 4.8). How that comes about does not matter here: it
shows in what trials did and in what was held when they ended, and not in what they were asked to do.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from assay.analysis.intervals import median
from assay.experiment.types import Experiment
from assay.store.types import StoredTrial
from assay.words import percent

FEW = 0.025
"""Fewer of the updates, or of the searches, are practically none. With uniform keys, 1 insert in 79 updates
or fewer leaves so few keys that as few updates change anything.
"""
_EMPTY, _FULL = 0.01, 0.99
"""Of the key range."""
_MANY = 100
"""Elements that are not lost by chance."""


def drawn_key_range(trial: StoredTrial, settings: Mapping[str, Any]) -> float:
    """Return the key range of a trial, as it was moved at random."""
    moved = float(trial.perturbation.get("key_range", 0))
    return float(settings["key_range"] * (1 + moved / 100))


def idleness(trials: Iterable[StoredTrial], experiment: Experiment) -> str:
    """Return what the typical trial of a condition measured if practically nothing happened in it, in words.

    Args:
        trials: of one condition; those that are not valid do not count.

    Returns:
        "" where something happened, where the experiment accepts that nothing does, and where the trials'
        program does not report what was held in the end. A phase always does something, or is invalid.
    """
    trials = [trial for trial in trials if trial.status == "valid" and "final_size" in trial.metrics]
    if not trials or experiment.comparison.accept_idle or experiment.pitfall.deliberate:
        return ""
    settings = experiment.settings(trials[0].levels)
    if "phase" in settings or "key_range" not in settings or experiment.is_command(settings["subject"]):
        return ""

    def typical(metric: str, otherwise: float = 0) -> float:
        """Return the median of a metric that some trials have."""
        values = [trial.metrics[metric] for trial in trials if metric in trial.metrics]
        return median(values) if values else otherwise

    first, last = typical("prefill_size"), typical("final_size")
    share = median([trial.metrics["final_size"] / drawn_key_range(trial, settings) for trial in trials])
    changed, found = typical("effective_share", -1), typical("found_share", 1)
    has_updates = changed >= 0
    few = max(first, last) < _EMPTY * settings["key_range"]
    erases_more = typical("erase_throughput") > typical("insert_throughput")
    sizes = f"it held {first:,.0f} elements at first and {last:,.0f} in the end"
    effect = f"{percent(changed)} of its updates changed it"
    empty = "an empty" if last == 0 else "a nearly empty"
    cases = {
        f"{empty} structure: {sizes}": last == 0 and not has_updates,
        f"{empty} structure: {effect}": has_updates and changed < FEW and share < _EMPTY,
        f"a full structure: {effect}": has_updates and changed < 1 / 2 and share >= _FULL,
        f"an unchanging structure: {effect}": has_updates and changed < FEW,
        f"a structure that was emptied: {sizes}": first >= _MANY and last < _EMPTY * first,
        # A queue from which more is taken than comes: what comes is taken at once.
        f"{empty} structure, as {sizes}": few and erases_more,
        f"searches that find nothing: {percent(found)} did": found < FEW,
    }
    return next((what for what, holds in cases.items() if holds), "")
