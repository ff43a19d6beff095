"""What an audit rule says, as every package knows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]
"""How much a finding weighs."""

SEVERITIES: Mapping[Severity, str] = {
    "error": "do not believe the verdicts",
    "warning": "know this before you believe the verdicts",
    "note": "good to know",
}
"""Severity -> what it means, the heaviest first."""

NAMED_AT_MOST = 3


@dataclass(frozen=True)
class Finding:
    """What a rule says about an experiment or its data.

    Attributes:
        rule: the rule's id, which `assay.audit.rule` adds; `python/assay/audit/guide/ID.md` is its page.
        message: what was seen, one sentence with its numbers.
        where: the conditions, contexts or groups that it concerns, by name.
        evidence: name -> number.
        remedy: what to do about it.
        severity: how much it weighs.
        trials: the trials that show it, by number, where it is about single trials.
    """

    rule: str = field(default="", kw_only=True)
    message: str
    where: tuple[str, ...]
    evidence: Mapping[str, float]
    remedy: str
    severity: Severity = "warning"
    trials: tuple[int, ...] = ()

    @property
    def places(self) -> str:
        """The first few of `where`, and how many more there are."""
        more = len(self.where) - NAMED_AT_MOST
        named = "; ".join(self.where[:NAMED_AT_MOST])
        return f"{named}; and {more} more" if more > 0 else named
