"""Trials in which practically nothing happens, and which are fast for this reason.

A mix that only erases leaves a map empty, one that only inserts leaves it full, and then each update fails:
the first anomaly of Kharal and Brown (sections 4.5.1 and 4.8). The cause does not matter here: the check uses
what trials did and what the structure held at their end, not what they were requested to do.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from assay.analysis.intervals import median
from assay.experiment.types import Experiment
from assay.store.types import StoredTrial
from assay.words import percent

FEW = 0.025
"""If a smaller share of updates, or of searches, succeeds, practically none do. With uniform keys, that is
the case with at most 1 insert in 79 updates: they leave very few keys.
"""
_EMPTY, _FULL = 0.01, 0.99
"""Shares of the key range below and above which a map is empty or full."""
_MANY = 100
"""A structure with this many elements does not become empty by chance."""


def drawn_key_range(trial: StoredTrial, settings: Mapping[str, Any]) -> float:
    """Return the key range of a trial after its random shift."""
    moved = float(trial.perturbation.get("key_range", 0))
    return float(settings["key_range"] * (1 + moved / 100))


def idleness(trials: Iterable[StoredTrial], experiment: Experiment) -> str:
    """Return in words what a typical trial measured if practically nothing happened in it.

    Args:
        trials: the trials of one condition; only valid ones count.

    Returns:
        "" if something happened, if the experiment accepts that nothing does, or if the program does not
        report what it held at the end. A phase always does something, or is invalid.
    """
    trials = [trial for trial in trials if trial.status == "valid" and "final_size" in trial.metrics]
    if not trials or experiment.comparison.accept_idle or experiment.pitfall.deliberate:
        return ""
    settings = experiment.settings(trials[0].levels)
    if "phase" in settings or "key_range" not in settings or experiment.is_command(settings["subject"]):
        return ""

    def typical(metric: str, otherwise: float = 0) -> float:
        """Return the median of a metric, or `otherwise` if no trial has it."""
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
