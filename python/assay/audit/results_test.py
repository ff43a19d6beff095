"""What the rules say of what the analysis found."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from assay.analysis import Aggregate, Analysis, Estimate, Verdict, summarise
from assay.audit import audit
from assay.audit.testing import HOST, METRICS, experiment, findings, sometimes, trials
from assay.findings import Finding


def of(analysis: Analysis) -> dict[str, list[Finding]]:
    """Return rule -> what it says of an analysis of trials with nothing wrong."""
    planned = experiment()
    by_rule: dict[str, list[Finding]] = {}
    for finding in audit(planned, trials(planned), HOST, analysis=analysis):
        by_rule.setdefault(finding.rule, []).append(finding)
    return by_rule


@pytest.fixture
def usual() -> Analysis:
    planned = experiment()
    return summarise(trials(planned), planned)


def test_an_analysis_with_nothing_wrong_has_no_findings(usual: Analysis) -> None:
    assert of(usual) == {}


def test_values_that_have_two_clusters() -> None:
    random = Random(5)

    def change(_block: int, _subject: str, threads: int) -> Mapping[str, Any]:
        center = random.choice((100.0, 200.0)) if threads == 2 else 100.0
        return {"metrics": METRICS | {"throughput": random.gauss(center, 1.0)}}

    (finding,) = findings(change, blocks=30)["several-clusters"]
    assert finding.message.startswith("In 2 of 4 conditions the median of throughput")
    assert [place.split(": ")[0] for place in finding.where] == [
        "subject=base, threads=2",
        "subject=other, threads=2",
    ]
    assert finding.evidence == {"conditions": 2, "most_clusters": 2}


def test_values_around_one_center_have_a_typical_one() -> None:
    random = Random(5)

    def change(_block: int, _subject: str, _threads: int) -> Mapping[str, Any]:
        return {"metrics": METRICS | {"throughput": random.gauss(100.0, 1.0)}}

    assert "several-clusters" not in findings(change, blocks=30)


def estimate(verdict: Verdict, pairs: int = 6) -> Estimate:
    return Estimate(1.1, None, 0.01, verdict, pairs)


def differing(
    usual: Analysis, verdict: Verdict, everywhere: Estimate, fast: Verdict, slow: Verdict
) -> list[Finding]:
    comparison = replace(
        usual.comparisons[0],
        verdict=verdict,
        pairs=10,
        all_groups=everywhere,
        modes={"fast": estimate(fast), "slow": estimate(slow)},
    )
    changed = replace(usual, comparisons=(comparison, *usual.comparisons[1:]))
    return of(changed).get("verdicts-differ-by-mode", [])


@pytest.mark.parametrize(
    ("verdict", "everywhere", "fast", "slow", "severity"),
    [
        ("faster", "faster", "faster", "faster", None),
        ("faster", "faster", "undecided", "undecided", None),
        ("undecided", "undecided", "undecided", "faster", None),
        ("faster", "faster", "faster", "slower", "error"),
        ("slower", "faster", "undecided", "undecided", "error"),
        ("faster", "faster", "faster", "equivalent", "warning"),
        ("undecided", "undecided", "faster", "equivalent", "warning"),
    ],
)
def test_verdicts_that_contradict_each_other(
    usual: Analysis,
    verdict: Verdict,
    everywhere: Verdict,
    fast: Verdict,
    slow: Verdict,
    severity: str | None,
) -> None:
    contradictions = differing(usual, verdict, estimate(everywhere, pairs=14), fast, slow)
    assert [finding.severity for finding in contradictions] == ([] if severity is None else [severity])
    for finding in contradictions:
        assert finding.where == (
            f"throughput, subject=other, threads=1: {verdict} without mixed groups, {everywhere} with all"
            f" groups, {fast} in fast mode, {slow} in slow mode",
        )


def test_verdicts_are_called_what_the_report_calls_them(usual: Analysis) -> None:
    memory = replace(usual.comparisons[0], metric="peak_resident_bytes")
    usual = replace(usual, comparisons=(memory,))
    (finding,) = differing(usual, "slower", estimate("faster", pairs=14), "undecided", "undecided")
    assert "worse without mixed groups, better with all groups" in finding.where[0]


def test_a_verdict_that_takes_the_exclusions(usual: Analysis) -> None:
    (finding,) = differing(usual, "faster", estimate("undecided", pairs=14), "faster", "undecided")
    assert finding.severity == "note"
    assert differing(usual, "faster", estimate("undecided", pairs=10), "faster", "undecided") == []


def test_the_same_groups_cannot_contradict_themselves(usual: Analysis) -> None:
    assert differing(usual, "faster", estimate("equivalent", pairs=10), "faster", "undecided") == []


def aggregate(*against: tuple[Mapping[str, Any], Verdict]) -> Aggregate:
    return Aggregate(
        metric="throughput",
        context={"mix": "updates"},
        across=("threads",),
        weights=(0.5, 0.5),
        level="other",
        baseline="base",
        ratio=1.1,
        interval=None,
        p=0.01,
        p_adjusted=0.01,
        verdict="faster",
        pairs=10,
        dropped={},
        reason="",
        against=against,
    )


@pytest.mark.parametrize(("verdict", "severity"), [("slower", "warning"), ("undecided", "note")])
def test_workloads_that_go_the_other_way_are_named(usual: Analysis, verdict: Verdict, severity: str) -> None:
    contradicted = aggregate(({"threads": 2}, verdict))
    (finding,) = of(replace(usual, aggregates=(aggregate(), contradicted)))["subject-against"]
    assert finding.severity == severity
    assert finding.where == (f"mix=updates, subject=other, threads=2: {verdict}, over all faster",)
    assert of(replace(usual, aggregates=(aggregate(),))) == {}


@pytest.mark.parametrize(("used_mb", "exceeds"), [(10, False), (11, True)])
def test_a_baseline_that_uses_next_to_no_memory_counts_as_a_mebibyte(used_mb: int, exceeds: bool) -> None:
    def change(_block: int, subject: str, _threads: int) -> Mapping[str, Any]:
        used = 0 if subject == "base" else used_mb * 1e6
        return {"metrics": METRICS | {"peak_resident_bytes": 10e6 + used}}

    assert ("memory-use" in findings(change)) == exceeds


@pytest.mark.parametrize(("used_mb", "exceeds"), [(199, False), (201, True)])
def test_memory_of_another_order_of_magnitude(used_mb: int, exceeds: bool) -> None:
    by_rule = findings(sometimes(metrics=METRICS | {"peak_resident_bytes": 10e6 + used_mb * 1e6}))
    assert ("memory-use" in by_rule) == exceeds
    if exceeds:
        (finding,) = by_rule["memory-use"]
        assert finding.where == ("subject=other, threads=2: 10.1 times",)


def test_memory_is_compared_with_the_baseline_that_is_there() -> None:
    def change(_block: int, subject: str, threads: int) -> Mapping[str, Any]:
        used_mb = 150 if (subject, threads) == ("third", 2) else 10
        return {"metrics": METRICS | {"peak_resident_bytes": 10e6 + used_mb * 1e6}}

    (finding,) = findings(
        change,
        subjects='["base", "other", "third"]',
        baseline='["base", "other"]',
        more='exclude = [{ subject = "base", threads = 2 }]',
    )["memory-use"]
    assert finding.where == ("subject=third, threads=2: 15 times",)
    assert "more than 10 times that of base or other, 15 times at worst" in finding.message
