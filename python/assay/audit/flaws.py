"""Rules about trials whose loop misleads: those that say so, and those whose results show it."""

import math
from collections.abc import Iterator

from assay.audit.limits import limited, typical
from assay.audit.sources import ANOMALIES
from assay.audit.types import Evidence, of_places, rule
from assay.experiment.flaws import WHAT, flaws_of, lesson_of
from assay.findings import Finding
from assay.store.types import StoredTrial
from assay.words import counted


@rule("flawed-on-purpose", "Trials mislead on purpose", f"{ANOMALIES}, sections 4 to 7")
def flawed_on_purpose(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions with flaws, one finding for each flaw."""
    experiment = evidence.experiment
    settings = evidence.settings_by_condition()
    for flaw in experiment.flaws():
        where = [condition for condition, chosen in settings.items() if flaw in flaws_of(chosen)]
        lesson = experiment.pitfall.lesson or lesson_of(flaw)
        yield from of_places(
            where,
            "conditions",
            f"{counted(where, 'condition')} {'is' if len(where) == 1 else 'are'} flawed on purpose, {flaw}:"
            f" {WHAT[flaw]}.",
            f"Believe none of these numbers; `assay lesson {lesson}` shows why.",
            "error",
        )


@limited(
    "mix-not-performed",
    "Other operations were performed than the mix asks for",
    f"{ANOMALIES}, section 4.5.1",
    "In {conditions} the share of some operation differs from that of the mix by more than {limit} of all"
    " operations in the typical trial, {worst} at worst: another workload was measured.",
    "Look at the operations of each thread on the page of a trial, and at what draws them.",
    limit=0.02,
)
@typical
def mix_not_performed(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return by how much the share of an operation differs from its mix, beyond what is chance.

    None of roles, each of which has a mix of its own, and where the mix was moved at random.
    """
    settings = evidence.settings(trial)
    throughput = trial.metrics.get("throughput", 0)
    moved = any(name.startswith("mix") for name in trial.perturbation)
    if throughput <= 0 or moved or "roles" in settings or "mix" not in settings:
        return None
    shares = {
        operation: trial.metrics[f"{operation}_throughput"] / throughput
        for operation in settings["mix"]
        if f"{operation}_throughput" in trial.metrics
    }
    if not shares:
        return None
    chance = 3 * 0.5 / math.sqrt(max(1, throughput * settings["duration_ms"] / 1000))
    worst = max(abs(share - settings["mix"][operation] / 100) for operation, share in shares.items())
    return max(0.0, float(worst - chance))
