"""The audit: each known pitfall is a rule with numerical limits that reports its findings in a campaign."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.analysis import Analysis
from assay.audit.design import too_few_for
from assay.audit.known_flaws import KNOWN_FLAWS
from assay.audit.rules import DESIGN_RULES, RULES
from assay.audit.trials import maps_of
from assay.audit.types import GUIDE, Evidence, Rule, Seen, rule
from assay.experiment.types import Experiment
from assay.findings import SEVERITIES, Finding
from assay.satellites import added
from assay.store.types import StoredTrial

__all__ = [
    "DESIGN_RULES",
    "GUIDE",
    "KNOWN_FLAWS",
    "RULES",
    "Evidence",
    "Rule",
    "audit",
    "audit_experiment",
    "findings_of",
    "guide_page",
    "known_rules",
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
    programs: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Finding]:
    """Return the findings about a campaign: the most severe first, then in the order of the rules.

    Args:
        experiment: the campaign's experiment.
        trials: the campaign's ended trials.
        host: facts about the machine; `processors` is its number of processors.
        analysis: the result of `summarise` for the trials, if it exists already.
        environments: digest -> what trials report about machine and program, from `Store.environments`.
        texts: trial -> name -> the texts that it reports, from `Store.texts`.
        programs: subject -> host -> the program that it ran there, if several hosts ran trials.
    """
    evidence = Evidence(experiment, trials, host, analysis, environments, texts=texts, programs=programs)
    return findings_of(RULES, evidence)


def audit_experiment(experiment: Experiment, host: Mapping[str, Any]) -> list[Finding]:
    """Return the findings about an experiment before it runs, in the same order."""
    return findings_of(DESIGN_RULES, Evidence(experiment, None, host))


def known_rules() -> dict[str, Rule[Any]]:
    """Return id -> rule, for campaign rules and for rules that satellites add (`assay.rules`)."""
    further = (rule for point in added("assay.rules").values() for rule in point.load())
    return {rule.id: rule for rule in (*further, *RULES)}


def guide_page(rule: str) -> Path:
    """Return the Markdown file that explains a rule."""
    known = known_rules().get(rule)
    return (known.guide if known else GUIDE) / f"{rule}.md"


def findings_of(rules: Iterable[Rule[Seen]], seen: Seen) -> list[Finding]:
    """Return the findings of rules about their object: the most severe first, then in the rules' order."""
    order = list(SEVERITIES)
    findings = (finding for rule in rules for finding in rule.check(seen))
    return sorted(findings, key=lambda finding: order.index(finding.severity))
