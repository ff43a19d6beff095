"""The audit: each known pitfall is a rule, with limits in numbers, and says what it finds in a campaign."""

from collections.abc import Iterable, Mapping
from typing import Any

from assay.audit.rules import RULES
from assay.audit.types import Evidence, Finding, Rule, condition_name
from assay.experiment.types import Experiment
from assay.store.types import StoredTrial

__all__ = ["RULES", "Evidence", "Finding", "Rule", "audit", "condition_name"]


def audit(experiment: Experiment, trials: Iterable[StoredTrial], host: Mapping[str, Any]) -> list[Finding]:
    """Return what the rules say, in the order of the rules.

    Args:
        experiment: what was asked.
        trials: the campaign's ended trials.
        host: what is known of the machine; `processors` is its number of processors.
    """
    evidence = Evidence(experiment, trials, host)
    return [finding for rule in RULES for finding in rule.check(evidence)]
