"""What an experiment's own rules find."""

from typing import Any

import pytest

from assay.audit import audit
from assay.audit.testing import HOST, METRICS, Change, experiment, findings, sometimes, trials, unchanged
from assay.findings import Finding


def violated(rule: str, change: Change = unchanged, **settings: Any) -> list[Finding]:
    """Return the findings of one rule of the user's own."""
    return findings(change, more=f"[[validate]]\n{rule}\n", **settings).get("validate", [])


@pytest.mark.parametrize(
    ("demand", "good", "bad"),
    [
        ('is = "present"', 0.0, None),
        ('is = "positive"', 1e-9, 0.0),
        ('is = "positive"', 1.0, -1.0),
        ("equals = 3", 3.0, 3.001),
        ("between = [1, 2]", 1.0, 0.999),
        ("between = [1, 2]", 2.0, 2.001),
    ],
)
def test_a_rule_about_every_trial(demand: str, good: float, bad: float | None) -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        value = bad if (subject, threads) == ("other", 2) and block < 3 else good
        return {"metrics": METRICS if value is None else METRICS | {"mine": value}}

    rule = f'metric = "mine"\n{demand}'
    (finding,) = violated(rule, change)
    assert finding.where == ("subject=other, threads=2: 3",)
    assert finding.trials == (4, 8, 12)
    assert finding.evidence == {"trials": 3, "valid": 40}
    assert finding.message.startswith("mine must ")
    assert f"for example trial 4: {'missing' if bad is None else f'{bad:.6g}'}" in finding.message
    assert violated(rule, lambda *_: {"metrics": METRICS | {"mine": good}}) == []


@pytest.mark.parametrize(
    "demand", ['is = "present"', 'is = "positive"', "equals = 100", "between = [1, 200]"]
)
def test_a_trial_that_lacks_the_metric_violates_every_rule_about_each_trial(demand: str) -> None:
    rule = f'metric = "throughput"\n{demand}'
    lacking = sometimes(metrics={name: value for name, value in METRICS.items() if name != "throughput"})
    (finding,) = violated(rule, lacking)
    assert finding.evidence == {"trials": 8, "valid": 40}
    assert "missing" in finding.message
    assert violated(rule) == []


def test_trials_that_are_not_valid_violate_nothing() -> None:
    assert violated('metric = "throughput"\nis = "present"', sometimes(status="crashed", metrics={})) == []


@pytest.mark.parametrize(
    ("demand", "good", "bad", "shown"),
    [
        ('equals = "success"', ["success"], ["failure"], "'failure'"),
        ('equals = "success"', ["success"] * 2, ["success", "Success"], "'success', 'Success'"),
        ('matches = "^v[0-9]+$"', ["v12"], ["v12b"], "'v12b'"),
        ('is = "present"', [""], [], "missing"),
    ],
)
def test_a_rule_about_a_text(demand: str, good: list[str], bad: list[str], shown: str) -> None:
    planned = experiment(blocks=10, more=f'[[validate]]\ntext = "result"\n{demand}\n')
    ended = trials(planned, unchanged, 10)

    def found(of_trial_7: list[str]) -> list[Finding]:
        texts = {trial.id: {"result": of_trial_7 if trial.id == 7 else good} for trial in ended}
        return [each for each in audit(planned, ended, HOST, texts=texts) if each.rule == "validate"]

    (finding,) = found(bad)
    assert finding.trials == (7,)
    assert finding.message.startswith("result must ")
    assert f"for example trial 7: {shown}" in finding.message
    assert found(good) == []


def test_a_rule_about_a_text_that_nobody_reports_is_no_rule_that_holds() -> None:
    (finding,) = violated('text = "result"\nequals = "success"')
    assert (
        finding.message
        == "result must equal 'success': no valid trial reports result, so nothing was checked."
    )


def test_its_severity_is_the_users() -> None:
    rule = 'metric = "throughput"\nbetween = [0, 1]\nseverity = "{}"'
    assert [violated(rule.format(severity))[0].severity for severity in ("error", "warning", "note")] == [
        "error",
        "warning",
        "note",
    ]


def test_a_rule_about_a_metric_that_nobody_reports_is_no_rule_that_holds() -> None:
    (finding,) = violated('metric = "mine"\nis = "positive"')
    assert "no valid trial reports mine, so nothing was checked" in finding.message


def scaling(first: float, second: float, spread: float) -> Change:
    """Give conditions of 1 and 2 threads values around a center each."""
    return lambda block, _subject, threads: {
        "metrics": METRICS | {"mine": (first if threads == 1 else second) + spread * (block - 4.5) / 4.5}
    }


@pytest.mark.parametrize(
    ("demand", "first", "second", "spread", "violates"),
    [
        ("increases_with", 10.0, 20.0, 1.0, False),
        ("increases_with", 20.0, 10.0, 1.0, True),
        ("decreases_with", 10.0, 20.0, 1.0, True),
        ("decreases_with", 20.0, 10.0, 1.0, False),
        ("increases_with", 20.0, 19.0, 5.0, False),  # the intervals overlap: it may be noise
        ("increases_with", 10.0, 10.0, 0.0, False),
        ("decreases_with", 10.0, 10.0, 0.0, False),
    ],
)
def test_a_rule_about_the_order_of_levels(
    demand: str, first: float, second: float, spread: float, violates: bool
) -> None:
    rule = f'metric = "mine"\n{demand} = "threads"'
    rule_findings = violated(rule, scaling(first, second, spread))
    assert len(rule_findings) == violates
    if violates:
        assert rule_findings[0].where == (
            f"subject=base, threads=1 to 2: {first:g} then {second:g}",
            f"subject=other, threads=1 to 2: {first:g} then {second:g}",
        )
        assert rule_findings[0].evidence == {"steps": 2, "checked": 2}


def test_levels_are_compared_in_the_order_of_the_file() -> None:
    rule = 'metric = "mine"\nincreases_with = "threads"'
    assert violated(rule, scaling(10.0, 20.0, 1.0), threads="[2, 1]")
    assert not violated(rule, scaling(20.0, 10.0, 1.0), threads="[2, 1]")


@pytest.mark.parametrize("demand", ["increases_with", "decreases_with"])
def test_an_order_that_cannot_be_checked_is_said_to_be_so(demand: str) -> None:
    rule = f'metric = "mine"\n{demand} = "threads"'
    (finding,) = violated(rule, scaling(10.0, 20.0, 1.0), blocks=5)
    assert "not checked: 2 of 2 steps" in finding.message
    assert finding.where == ("subject=base, threads=1 to 2", "subject=other, threads=1 to 2")
    assert finding.severity == "note"


def test_what_of_an_order_can_be_checked_is_checked() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        lacking = subject == "other" and block < 5
        return {"metrics": METRICS if lacking else METRICS | {"mine": 20.0 - threads}}

    violation, unchecked = violated('metric = "mine"\nincreases_with = "threads"', change)
    assert violation.evidence == {"steps": 1, "checked": 1}
    assert violation.severity == "error"
    assert unchecked.where == ("subject=other, threads=1 to 2",)
    assert unchecked.evidence == {"unchecked": 1, "steps": 2}
    assert unchecked.severity == "note"


def test_an_order_of_conditions_that_are_excluded_is_said_not_to_be_checked() -> None:
    rule = 'exclude = [{ threads = 2 }]\n[[validate]]\nmetric = "throughput"\nincreases_with = "threads"'
    planned = experiment(more=rule)
    ran = [trial for trial in trials(planned) if trial.levels in planned.conditions()]
    (finding,) = (
        finding for finding in audit(planned, ran, HOST, environments={}) if finding.rule == "validate"
    )
    assert "not checked: no two conditions differ in threads alone" in finding.message
    assert finding.severity == "note"
