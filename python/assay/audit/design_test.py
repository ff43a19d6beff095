"""What the rules say of an experiment, before it runs and after."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import sign_flips
from assay.analysis.verdicts import fewest_pairs
from assay.audit import audit, audit_experiment, too_few_for
from assay.audit.testing import HOST, METRICS, experiment, findings, sometimes, trials
from assay.experiment import parse
from assay.experiment.sensitivity import sensitive
from assay.findings import Finding


def before(**settings: Any) -> dict[str, Finding]:
    """Return rule -> what is said of an experiment that has not run."""
    return {finding.rule: finding for finding in audit_experiment(experiment(**settings), HOST)}


def test_an_experiment_with_nothing_wrong_has_no_findings() -> None:
    assert before() == {}


@pytest.mark.parametrize(
    ("blocks", "expected", "severity"),
    [
        (1, "no verdict", "error"),
        (5, "no verdict", "error"),
        (6, "one odd trial", "warning"),
        (9, "one odd trial", "warning"),
    ],
)
def test_too_few_blocks(blocks: int, expected: str, severity: str) -> None:
    for finding in (before(blocks=str(blocks))["too-few-blocks"], *findings(blocks=blocks)["too-few-blocks"]):
        assert expected in finding.message
        assert finding.where == (f"subject=other, threads=1: {blocks}", f"subject=other, threads=2: {blocks}")
        assert finding.evidence["fewest_pairs"] == blocks
        assert finding.severity == severity
        assert "invalid" not in finding.remedy


def test_pairs_lost_to_trials_that_are_not_valid_make_too_few() -> None:
    assert "too-few-blocks" not in findings(sometimes(status="crashed"))  # no number of pairs would do
    by_rule = findings(sometimes(status="crashed"), comparison="accept_invalid = true")
    (finding,) = by_rule["too-few-blocks"]
    assert finding.where == ("subject=other, threads=2: 2",)
    assert finding.remedy.endswith("; fix the invalid trials.")


def test_pairs_are_those_that_a_verdict_rests_on() -> None:
    for metrics in ({}, {"throughput": float("inf")}):
        by_rule = findings(sometimes(metrics=metrics))
        (finding,) = by_rule["too-few-blocks"]
        assert finding.where == ("subject=other, threads=2: 2",)
    assert "too-few-blocks" not in findings(sometimes(metrics={"throughput": 0.0}))  # which counts


def test_a_campaign_without_trials_has_too_few_blocks_and_nothing_else() -> None:
    assert set(findings(blocks=0)) == {"too-few-blocks"}


@given(comparisons=st.integers(1, 300), pairs=st.integers(1, 14))
def test_pairs_needed_are_those_with_which_the_clearest_difference_is_found(
    comparisons: int, pairs: int
) -> None:
    clearest = float(sign_flips([[1.0] * pairs]).p[0])
    assert (comparisons * clearest <= 0.05) == (pairs >= fewest_pairs(comparisons, 0.95))


THREADS = str(list(range(1, 31)))  # 30 comparisons: 2 / 2**11 is the first p-value below 5% of a 30th
TWO_COMPARISONS = "[1, 2]"


@pytest.mark.parametrize(
    ("blocks", "threads", "correction", "too_large"),
    [
        ("10", THREADS, "family", True),
        ("11", THREADS, "family", False),
        ("10", THREADS, "none", False),
        ("6", TWO_COMPARISONS, "family", True),
        ("7", TWO_COMPARISONS, "family", False),
        ("5", TWO_COMPARISONS, "family", False),  # too-few-blocks says it already
    ],
)
def test_a_family_that_is_too_large(blocks: str, threads: str, correction: str, too_large: bool) -> None:
    by_rule = before(blocks=blocks, threads=threads, comparison=f'correction = "{correction}"')
    assert ("family-too-large" in by_rule) == too_large
    if too_large:
        finding = by_rule["family-too-large"]
        assert finding.severity == "error"
        needed = int(finding.evidence["pairs_needed"])
        assert f"design.blocks to {max(needed, 10)} or more" in finding.remedy
        assert "family-too-large" not in before(blocks=str(needed), threads=threads)


@pytest.mark.parametrize("blocks", ["5", "6", "8", "9"])
def test_all_findings_ask_for_the_same_number_of_blocks(blocks: str) -> None:
    remedies = [finding.remedy for finding in before(blocks=blocks, threads=THREADS).values()]
    advised = [match[1] for remedy in remedies if (match := re.search(r"design.blocks to (\d+)", remedy))]
    assert advised
    assert set(advised) == {"11"}


def test_a_family_that_lost_pairs_is_too_large() -> None:
    (finding,) = findings(blocks=6)["family-too-large"]
    assert finding.evidence == {"comparisons": 2, "pairs": 6, "pairs_needed": 7}
    assert "family-too-large" not in findings(blocks=7)


def test_a_look_that_could_decide_nothing_costs_no_pairs() -> None:
    looked_at_twice = "11\nat_least = 8\nuntil_width_percent = 5"
    for blocks in ("11", looked_at_twice):
        assert before(blocks=blocks, threads=THREADS).keys() == {"oversubscribed"}


@pytest.mark.parametrize(("duration_ms", "too_short"), [(49, True), (50, False)])
def test_short_trials(duration_ms: int, too_short: bool) -> None:
    by_rule = before(duration_ms=duration_ms)
    assert ("short-trials" in by_rule) == too_short
    if too_short:
        assert by_rule["short-trials"].evidence == {"conditions": 4, "shortest_ms": duration_ms}


@pytest.mark.parametrize(("phase_ms", "too_short"), [(49.0, True), (51.0, False)])
def test_a_phase_is_as_long_as_it_took(phase_ms: float, too_short: bool) -> None:
    def loads(_block: int, _subject: str, _threads: int) -> dict[str, object]:
        return {"metrics": METRICS | {"phase_ms": phase_ms, "prefill_threads": 0.0}}

    planned = parse(
        """
[factors]
subject = ["base", "other"]
threads = [1, 2]
[trial]
key_range = 100
phase = "load"
duration_ms = 1
[comparison]
factor = "subject"
""",
        Path("example.toml"),
    )
    found = {finding.rule for finding in audit(planned, trials(planned, loads), HOST)}
    assert ("short-trials" in found) == too_short
    assert not {"empty-at-start", "nothing-happens"} & found
    assert "short-trials" not in {finding.rule for finding in audit_experiment(planned, HOST)}


def test_the_duration_of_a_program_that_prints_what_it_likes_is_its_own() -> None:
    more = '[subjects.{}]\nprogram = "/bin/true"\narguments = ["{{pinning}}"]\nextract = "lines"\n'
    programs = more.format("base") + more.format("other")
    assert before(duration_ms=1, more=programs) == {}


def test_a_command_has_no_keys_and_may_report_any_metric() -> None:
    planned = parse(
        """
[factors]
subject = ["base", "other"]
threads = [1, 2]
[comparison]
factor = "subject"
metric = "throughput"
[subjects.base]
program = "/bin/true"
extract = "lines"
[subjects.other]
program = "/bin/true"
extract = "lines"
""",
        Path("example.toml"),
    )
    numbers = {"final_size": 0.0, "prefill_size": 500.0, "effective_share": 0.0, "prefill_threads": 2.0}
    found = audit(planned, trials(planned, lambda *_: {"metrics": {"throughput": 100.0} | numbers}), HOST)
    assert not {"nothing-happens", "other-key-range", "prefill-without-erases", "size-changed"} & {
        finding.rule for finding in found
    }


@pytest.mark.parametrize(
    ("threads", "pinning", "expected"),
    [
        ("[4, 1]", '"compact"', None),
        ("[5, 1]", '"compact"', "threads=5: 1.25 threads each"),
        ("[2, 1]", "[0, 1]", None),
        ("[2, 1]", "[0, 0]", "threads=2: 2 threads each"),
    ],
)
def test_more_threads_than_processors(threads: str, pinning: str, expected: str | None) -> None:
    for by_rule in (before(threads=threads, pinning=pinning), findings(threads=threads, pinning=pinning)):
        if expected is None:
            assert by_rule == {}
        else:
            rule_findings = by_rule["oversubscribed"]
            finding = rule_findings if isinstance(rule_findings, Finding) else rule_findings[0]
            assert finding.where == (f"subject=base, {expected}", f"subject=other, {expected}")


def test_threads_that_are_not_pinned() -> None:
    finding = before(pinning='"none"')["unpinned"]
    assert len(finding.where) == 4
    assert finding.places.endswith("; and 1 more")
    assert findings(pinning='"none"')["unpinned"] == [finding]


@pytest.mark.parametrize(
    ("pinning", "arguments", "native", "commands"),
    [
        ("[0, 1]", "", 0, 2),
        ("[0, 1]", "--cpu-list, {pinning}", 0, 0),
        ("[0, 1]", "{threads}", 0, 2),
        ('"none"', "{pinning}", 2, 2),
    ],
)
def test_a_command_is_pinned_by_its_arguments_alone(
    pinning: str, arguments: str, native: int, commands: int
) -> None:
    command = f"[subjects.other]\nprogram = 'other'\narguments = ['{arguments}']\nextract = 'lines'"
    planned = experiment(pinning=pinning, more=command)
    unpinned = [finding for finding in audit_experiment(planned, HOST) if finding.rule == "unpinned"]
    assert [len(finding.where) for finding in unpinned] == [count for count in (native, commands) if count]
    if commands:
        assert unpinned[-1].where == ("subject=other, threads=1", "subject=other, threads=2")
        assert "taskset with {pinning}" in unpinned[-1].remedy


@pytest.mark.parametrize(
    ("blocks", "correction", "too_few"),
    [
        ("5", "none", (2, 6)),
        ("6", "none", None),
        ("6", "family", (2, 7)),
        ("7", "family", None),
        ('9\nuntil = "verdict"', "family", None),
    ],
)
def test_blocks_that_can_decide_nothing_are_known_beforehand(
    blocks: str, correction: str, too_few: tuple[int, int] | None
) -> None:
    planned = experiment(blocks=blocks, threads=TWO_COMPARISONS, comparison=f'correction = "{correction}"')
    assert too_few_for(planned) == too_few


def test_blocks_that_are_enough_are_counted_at_the_level_of_the_last_look() -> None:
    planned = experiment(blocks='9\nuntil = "verdict"', threads=THREADS)
    assert too_few_for(planned) == (30, 11)
    assert too_few_for(experiment(blocks='11\nuntil = "verdict"', threads=THREADS)) is None


def test_a_measured_sensitivity_says_what_stood_still() -> None:
    more = "[perturb]\nmix = 0.05\nkey_range = false\nstack = false"
    asked = sensitive(experiment(more=more), 6, 2)
    (finding,) = [of for of in audit_experiment(asked, HOST) if of.rule == "stands-still"]
    still = {"key_range", "duration_ms", "stack", "placement", "layout"}
    assert still <= set(finding.where)
    assert not {"mix", "environment", "heap", "thread_order"} & set(finding.where)
    assert finding.evidence == {"things": len(finding.where)}
    assert finding.severity == "note"
    assert "stands-still" not in {of.rule for of in audit_experiment(experiment(more=more), HOST)}
