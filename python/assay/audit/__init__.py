"""The audit: each known pitfall is a rule, with limits in numbers, and says what it finds in a campaign."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.analysis import Analysis
from assay.audit.design import too_few_for
from assay.audit.foreign import FOREIGN_RULES, Survey
from assay.audit.known_flaws import KNOWN_FLAWS
from assay.audit.rules import DESIGN_RULES, RULES
from assay.audit.trials import maps_of
from assay.audit.types import Evidence, Rule, Seen, rule
from assay.experiment.types import Experiment
from assay.findings import SEVERITIES, Finding
from assay.foreign import ForeignRun
from assay.store.types import StoredTrial

__all__ = [
    "DESIGN_RULES",
    "FOREIGN_RULES",
    "KNOWN_FLAWS",
    "RULES",
    "Evidence",
    "Rule",
    "audit",
    "audit_experiment",
    "audit_foreign",
    "guide_page",
    "maps_of",
    "rule",
    "too_few_for",
]


def audit(
    experiment: Experiment,
    trials: Iterable[StoredTrial],
    host: Mapping[str, Any],
    *,
    analysis: Analysis | None = None,
    environments: Mapping[str, Any] | None = None,
    texts: Mapping[int, Mapping[str, Sequence[str]]] | None = None,
) -> list[Finding]:
    """Return what the rules say of a campaign: the most severe first, then in the order of the rules.

    Args:
        experiment: the question.
        trials: the campaign's ended trials.
        host: what is known of the machine; `processors` is its number of processors.
        analysis: what `summarise` says of the trials, where that is known already.
        environments: digest -> what trials report of machine and program, as `Store.environments` gives it.
        texts: trial -> name -> what it reports in words, as `Store.texts` gives it.
    """
    return _findings(RULES, Evidence(experiment, trials, host, analysis, environments, texts=texts))


def audit_experiment(experiment: Experiment, host: Mapping[str, Any]) -> list[Finding]:
    """Return what can be said of an experiment before it runs, in the same order."""
    return _findings(DESIGN_RULES, Evidence(experiment, None, host))


def audit_foreign(run: ForeignRun) -> list[Finding]:
    """Return what another tool's results lack, in the same order."""
    return _findings(FOREIGN_RULES, Survey(run))


def guide_page(rule: str) -> Path:
    """Return the Markdown file that explains a rule."""
    return Path(__file__).parent / "guide" / f"{rule}.md"


def _findings(rules: Iterable[Rule[Seen]], seen: Seen) -> list[Finding]:
    order = list(SEVERITIES)
    findings = (finding for rule in rules for finding in rule.check(seen))
    return sorted(findings, key=lambda finding: order.index(finding.severity))
