from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.audit import RULES, Finding, audit
from assay.experiment import Experiment, parse
from assay.plan.types import Level
from assay.store.types import StoredTrial

HOST = {"processors": 4}
STEADY = {
    "throughput": 100.0,
    "generation_share": 0.05,
    "throughput_drift": 0.01,
    "throughput_variation": 0.05,
}
CALIBRATION = {"core_to_core_ns": 50.0, "memory_ns": 90.0, "arithmetic_ns": 1.0}

Change = Callable[[int, str, int], dict[str, Any]]


def unchanged(_block: int, _subject: str, _threads: int) -> dict[str, Any]:
    return {}


def experiment(pinning: str = '"compact"', threads: str = "[1, 2]") -> Experiment:
    return parse(
        f"""
name = "example"
question = "Which is faster?"
[factors]
subject = ["base", "other"]
threads = {threads}
[trial]
pinning = {pinning}
key_range = 100
mix = {{ insert = 10, erase = 10, find = 80 }}
[comparison]
metric = "throughput"
factor = "subject"
baseline = "base"
smallest_effect_percent = 5
[design]
blocks = 10
""",
        Path("example.toml"),
    )


def findings(change: Change = unchanged, blocks: int = 10, **settings: str) -> dict[str, list[Finding]]:
    """What the audit says of a campaign with nothing wrong but what `change` makes wrong."""
    asked = experiment(**settings)
    trials: list[StoredTrial] = []
    for block in range(blocks):
        for context, threads in enumerate(asked.factors["threads"]):
            for subject in asked.factors["subject"]:
                levels: dict[str, Level] = {"subject": subject, "threads": threads}
                usual: dict[str, Any] = {
                    "status": "valid",
                    "reason": "",
                    "metrics": STEADY,
                    "calibration_before": CALIBRATION,
                    "calibration_after": CALIBRATION,
                    "environment": "e",
                }
                trials.append(
                    StoredTrial(
                        id=len(trials) + 1,
                        ordinal=len(trials),
                        block=block,
                        group=2 * block + context,
                        levels=levels,
                        started_at=datetime(2024, 1, 1, tzinfo=UTC),
                        wall_s=1.0,
                        **usual | change(block, str(subject), int(threads)),
                    )
                )
    found: dict[str, list[Finding]] = {}
    for finding in audit(asked, trials, HOST):
        found.setdefault(finding.rule, []).append(finding)
    return found


def sometimes(**fields: Any) -> Change:
    """Change the trials of the other subject with 2 threads in the first 8 blocks."""
    return lambda block, subject, threads: fields if (subject, threads) == ("other", 2) and block < 8 else {}


def test_a_campaign_with_nothing_wrong_has_no_findings() -> None:
    assert findings() == {}


@pytest.mark.parametrize("status", ["invalid", "crashed", "timed_out"])
def test_trials_that_are_not_valid_are_found_by_status(status: str) -> None:
    found = findings(sometimes(status=status, reason="key sums differ", metrics={}), blocks=18)
    (finding,) = found.pop("invalid-trials")
    assert finding.message.startswith("8 of 72 trials ")
    assert "key sums differ" in finding.message
    assert finding.where == ("subject=other, threads=2: 8",)
    assert finding.evidence == {status: 8, "trials": 72}
    assert found == {}


@pytest.mark.parametrize(("blocks", "expected"), [(5, "no 95% interval"), (6, "fragile"), (9, "fragile")])
def test_too_few_blocks(blocks: int, expected: str) -> None:
    (finding,) = findings(blocks=blocks)["too-few-blocks"]
    assert expected in finding.message
    assert finding.where == (f"subject=other, threads=1: {blocks}", f"subject=other, threads=2: {blocks}")
    assert finding.evidence["fewest_pairs"] == blocks


def test_pairs_lost_to_trials_that_are_not_valid_make_too_few() -> None:
    found = findings(sometimes(status="crashed"))
    (finding,) = found["too-few-blocks"]
    assert finding.where == ("subject=other, threads=2: 2",)


def test_pairs_are_those_that_a_verdict_rests_on() -> None:
    for metrics in ({}, {"throughput": 0.0}, {"throughput": float("inf")}):
        found = findings(sometimes(metrics=metrics))
        (finding,) = found["too-few-blocks"]
        assert finding.where == ("subject=other, threads=2: 2",)


def test_a_program_or_machine_that_changed_within_a_campaign() -> None:
    (finding,) = findings(sometimes(environment="another"))["environment-changed"]
    assert finding.where == ("other: 12, 8 trials",) or finding.where == ("other: 8, 12 trials",)
    assert finding.evidence == {"subjects": 1, "environments": 2}


def test_subjects_may_have_environments_of_their_own_or_none() -> None:
    def change(_block: int, subject: str, threads: int) -> dict[str, Any]:
        return {"environment": None if threads == 2 else subject}

    assert findings(change) == {}
    assert findings(sometimes(environment="other", status="crashed"), blocks=18).keys() == {"invalid-trials"}


def test_enormous_values_are_printed_as_numbers() -> None:
    found = findings(sometimes(metrics=STEADY | {"generation_share": 1.7e308, "throughput_drift": -1.7e308}))
    (generation,), (unsteady,) = found["generation"], found["unsteady"]
    assert generation.where == ("subject=other, threads=2: 1.7e+308 times",)
    assert unsteady.where == ("subject=other, threads=2: -1.7e+308 times",)
    tiny = {"core_to_core_ns": 1e-308, "memory_ns": 90.0, "arithmetic_ns": 1.0}
    (changed,) = findings(sometimes(calibration_after=tiny))["host-changed"]
    assert changed.evidence["worst_ratio"] < float("inf")


def test_a_campaign_without_trials_has_too_few_blocks_and_nothing_else() -> None:
    assert set(findings(blocks=0)) == {"too-few-blocks"}


@pytest.mark.parametrize(
    ("threads", "pinning", "expected"),
    [
        ("[4, 1]", '"compact"', None),
        ("[5, 1]", '"compact"', "threads=5: 5 threads on 4"),
        ("[2, 1]", "[0, 1]", None),
        ("[2, 1]", "[0, 0]", "threads=2: 2 threads on 1"),
    ],
)
def test_more_threads_than_processors(threads: str, pinning: str, expected: str | None) -> None:
    found = findings(threads=threads, pinning=pinning)
    if expected is None:
        assert found == {}
    else:
        (finding,) = found["oversubscribed"]
        assert finding.where == (f"subject=base, {expected}", f"subject=other, {expected}")


def test_threads_that_are_not_pinned() -> None:
    (finding,) = findings(pinning='"none"')["unpinned"]
    assert len(finding.where) == 4
    assert finding.places.endswith("; and 1 more")


@pytest.mark.parametrize(
    ("rule", "metric", "below", "above"),
    [
        ("generation", "generation_share", 0.19, 0.21),
        ("unsteady", "throughput_drift", 0.049, 0.051),
        ("unsteady", "throughput_drift", -0.049, -0.051),
        ("unsteady", "throughput_variation", 0.24, 0.26),
    ],
)
def test_metrics_whose_median_passes_a_limit(rule: str, metric: str, below: float, above: float) -> None:
    assert findings(sometimes(metrics=STEADY | {metric: below})) == {}
    found = findings(sometimes(metrics=STEADY | {metric: above}))
    (finding,) = found.pop(rule)
    assert finding.where == (f"subject=other, threads=2: {above:.0%}",)
    assert above in finding.evidence.values()
    assert found == {}


def test_one_disturbed_trial_does_not_make_a_condition_unsteady() -> None:
    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": STEADY | {"throughput_drift": 0.9}} if block == 0 else {}

    assert findings(change) == {}


@pytest.mark.parametrize("metric", ["core_to_core_ns", "memory_ns", "arithmetic_ns"])
@pytest.mark.parametrize("when", ["calibration_before", "calibration_after"])
def test_a_host_that_changed_within_groups(metric: str, when: str) -> None:
    limit = {"core_to_core_ns": 1.5, "memory_ns": 1.2, "arithmetic_ns": 1.1}[metric]

    def changed(by: float) -> dict[str, list[Finding]]:
        return findings(sometimes(**{when: CALIBRATION | {metric: CALIBRATION[metric] * by}}))

    assert changed(limit - 0.01) == {}
    assert changed(1 / (limit - 0.01)) == {}
    for by in (limit + 0.01, 1 / (limit + 0.01)):
        found = changed(by)
        (finding,) = found.pop("host-changed")
        assert finding.message.startswith(
            f"{metric} differs by more than {limit} times within 8 of 20 groups"
        )
        assert finding.where == ("threads=2: 8",)
        assert finding.evidence["within_trials"] == 8
        assert found == {}


def test_a_host_that_changed_between_groups_is_what_blocks_are_for() -> None:
    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        slow = {name: 3 * value for name, value in CALIBRATION.items()}
        return {"calibration_before": slow, "calibration_after": slow} if block % 2 else {}

    assert findings(change) == {}


@pytest.mark.parametrize("when", ["calibration_before", "calibration_after"])
def test_calibrations_that_are_missing(when: str) -> None:
    found = findings(sometimes(**{when: {}}))
    (finding,) = found.pop("missing-calibration")
    assert finding.message.startswith("8 of 40 valid trials")
    assert found == {}


@pytest.mark.parametrize("when", ["calibration_before", "calibration_after"])
def test_core_to_core_latency_is_missing_only_where_threads_have_several_processors(when: str) -> None:
    def change(_block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {when: {"memory_ns": 90.0, "arithmetic_ns": 1.0}}

    (finding,) = findings(change)["missing-calibration"]
    assert "20 of 40 valid trials lack the core-to-core latency" in finding.message
    assert finding.where == ("subject=base, threads=2: 10", "subject=other, threads=2: 10")
    assert "missing-calibration" not in findings(change, pinning="[0, 0]")


def test_a_metric_that_is_missing() -> None:
    found = findings(sometimes(metrics={"latency_ns": 3.0}))
    (finding,) = found.pop("missing-metric")
    assert finding.message.startswith("8 of 40 valid trials do not report throughput")
    assert "latency_ns" in finding.remedy


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf")])
def test_a_metric_that_has_no_logarithm(value: float) -> None:
    (finding,) = findings(sometimes(metrics=STEADY | {"throughput": value}))["missing-metric"]
    assert "not above zero" in finding.message
    assert finding.evidence == {"trials": 8, "valid": 40}


def test_every_rule_is_explained_and_cited() -> None:
    guide = (Path(__file__).parents[3] / "docs/guide/audit.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert f'<a id="{rule.id}"></a>' in guide
        assert rule.title in guide
        assert rule.source
