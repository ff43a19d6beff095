"""How far the verdicts of a campaign may be trusted, and the findings that say most about it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from assay.audit import known_rules
from assay.findings import Finding, Severity
from assay.report import words
from assay.report.gather import Report
from assay.words import counted, listed, printable, quantity

Degree = Literal["with confidence", "with care", "not"]
BY_SEVERITY: dict[Severity, Degree] = {"error": "not", "warning": "with care", "note": "with confidence"}
REASONS_AT_MOST = 2
_FINDING_AT_MOST = 68  # characters: with its severity on one line of 80


class Trust(NamedTuple):
    """How far the verdicts may be trusted.

    Attributes:
        degree: "not" where a finding is an error or nothing is decided, "with care" where one is a warning.
        reasons: why it is no more, in full: the messages of the findings that weigh most; no notes.
        counts: how many findings there are of each severity, in words; empty where there are none.
        worst: the findings that say most, at most two; no notes.
    """

    degree: Degree
    reasons: tuple[str, ...]
    counts: str
    worst: tuple[Finding, ...]

    @property
    def summary(self) -> str:
        """The degree and the counts in one line."""
        return f"{self.degree}{': ' * bool(self.counts)}{self.counts}"

    def lines(self, measured: str) -> Iterator[str]:
        """Yield what was measured with the summary, and the worst findings, on lines of 80 characters."""
        yield f"{measured}; trust: {self.summary}"
        for finding in self.worst:
            yield f"  {finding.severity}: {printable(short(finding, _FINDING_AT_MOST))}"


def trust(report: Report) -> Trust:
    """Return how far the verdicts of a campaign may be trusted; its findings are the most severe first."""
    findings = [finding for finding in report.findings if finding.severity != "note"]
    severity = findings[0].severity if findings else "note"
    reasons = tuple(finding.message for finding in findings if finding.severity == severity)
    number_of = words.severities(report.findings)
    counts = listed([counted(count, of) for of, count in number_of.items()]) if number_of else ""
    worst = tuple(findings[:REASONS_AT_MOST])
    if report.analysis.look is None:
        undecided = f"nothing is decided yet, {report.analysis.waits}"
        return Trust("not", (undecided, *reasons), "; ".join(filter(None, (undecided, counts))), worst)
    return Trust(BY_SEVERITY[severity], reasons, counts, worst)


def short(finding: Finding, length: int) -> str:
    """Return a finding in a few words: what its rule is about, and as many of its numbers as fit.

    Of a rule of the user's own it is the message, which may be longer.
    """
    rule = known_rules().get(finding.rule)
    if rule is None or rule.id == "validate":
        return finding.message
    said, mark = rule.title, ":"
    for name, text in (quantity(name, value) for name, value in finding.evidence.items()):
        part = f"{text} {_one(name, text)}" if name.endswith("s") else f"{name} {text}"
        if len(said) + len(part) + 2 > length:
            break
        said, mark = f"{said}{mark} {part}", ","
    return said


def _one(plural: str, count: str) -> str:
    return plural.removesuffix("s") if count == "1" else plural
