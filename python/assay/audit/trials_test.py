"""What the rules say of trials, made up so that one thing is wrong with them."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from assay.audit.testing import CALIBRATION, METRICS, findings, sometimes
from assay.findings import Severity


def test_a_campaign_with_nothing_wrong_has_no_findings() -> None:
    assert findings() == {}


@pytest.mark.parametrize(
    ("status", "severity"), [("invalid", "error"), ("crashed", "error"), ("timed_out", "warning")]
)
def test_trials_that_are_not_valid_are_found_by_status(status: str, severity: Severity) -> None:
    by_rule = findings(sometimes(status=status, reason="key sums differ", metrics={}), blocks=18)
    (finding,) = by_rule.pop("invalid-trials")
    assert finding.message.startswith("8 of 72 trials ")
    assert "key sums differ" in finding.message
    assert finding.where == ("subject=other, threads=2: 8",)
    assert finding.evidence == {status: 8, "trials": 72}
    assert finding.severity == severity
    assert finding.trials == (4, 8, 12, 16, 20, 24, 28, 32)
    assert by_rule == {}


IDLE = {"prefill_size": 0.0, "final_size": 0.0, "effective_share": 0.0, "found_share": 0.0}


def idle(_block: int, subject: str, _threads: int) -> dict[str, Any]:
    return {"metrics": METRICS | (IDLE if subject == "other" else {})}


def test_trials_in_which_nothing_happens_are_an_error_at_the_top() -> None:
    by_rule = findings(idle, mix="erase = 10, find = 90", key_range=20_000)
    (finding,) = by_rule["nothing-happens"]
    assert next(iter(by_rule)) == "nothing-happens"
    assert finding.severity == "error"
    assert finding.evidence == {"conditions": 2}
    assert finding.where[0].startswith("subject=other, threads=1: an empty structure: 0%")
    assert "accept_idle = true" in finding.remedy
    accepted = findings(idle, mix="erase = 10, find = 90", comparison="accept_idle = true")
    assert "nothing-happens" not in accepted


def test_a_metric_that_is_missing() -> None:
    by_rule = findings(sometimes(metrics={"latency_ns": 3.0}))
    (finding,) = by_rule.pop("missing-metric")
    assert finding.message.startswith(
        "8 of 40 valid trials have no part in a verdict: they do not report throughput"
    )
    assert "latency_ns" in finding.remedy
    assert len(finding.trials) == 8


def test_a_further_metric_that_is_missing() -> None:
    def change(block: int, _subject: str, _threads: int) -> Mapping[str, Any]:
        return {"metrics": METRICS | ({"size": 3.0} if block else {})}

    assert "missing-metric" not in findings(change)
    (finding,) = findings(change, comparison='also = ["size"]')["missing-metric"]
    assert finding.message.startswith(
        "4 of 40 valid trials have no part in a verdict: they do not report size"
    )


@pytest.mark.parametrize(
    ("value", "severity", "said"),
    [
        (0.0, "note", "not of typical trials: their throughput is 0"),
        (-1.0, "note", "not of ratios: their throughput is below 0"),
        (float("inf"), "warning", "no part in a verdict: their throughput is not finite"),
        (float("-inf"), "warning", "no part in a verdict: their throughput is not finite"),
    ],
)
def test_a_metric_that_has_no_logarithm(value: float, severity: str, said: str) -> None:
    (finding,) = findings(sometimes(metrics=METRICS | {"throughput": value}))["missing-metric"]
    assert said in finding.message
    assert finding.severity == severity
    assert finding.evidence == {"trials": 8, "valid": 40}


@pytest.mark.parametrize(
    ("rule", "metric", "within", "beyond"),
    [
        ("generation", "generation_share", 0.19, 0.21),
        ("throughput-drift", "throughput_drift", 0.049, 0.051),
        ("throughput-drift", "throughput_drift", -0.049, -0.051),
        ("changing-throughput", "throughput_variation", 0.24, 0.26),
        ("unfair", "slowest_thread_share", 0.51, 0.49),
        ("preempted", "involuntary_context_switches", 99, 101),  # 2 threads, 1 s: 50 for a thread
        ("migrated", "migrations", 0, 1),
        ("paged", "major_page_faults", 0, 1),
        ("multiplexed", "counted_share", 1, 0.4),
    ],
)
def test_numbers_whose_median_passes_a_limit(rule: str, metric: str, within: float, beyond: float) -> None:
    assert findings(sometimes(metrics=METRICS | {metric: within})) == {}
    by_rule = findings(sometimes(metrics=METRICS | {metric: beyond}))
    (finding,) = by_rule.pop(rule)
    (place,) = finding.where
    assert place.startswith("subject=other, threads=2: ")
    assert finding.evidence["conditions"] == 1
    assert "1 condition" in finding.message
    assert any(name.startswith(("worst_", "most_")) for name in finding.evidence)
    assert by_rule == {}


@pytest.mark.parametrize(
    ("metric", "value"), [("throughput_drift", 0.9), ("slowest_thread_share", 0.1), ("migrations", 5.0)]
)
def test_one_disturbed_trial_does_not_make_a_condition_remarkable(metric: str, value: float) -> None:
    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": METRICS | {metric: value}} if block == 0 else {}

    assert findings(change) == {}


def test_threads_that_are_meant_to_lose_their_processors_are_not_found_preempted() -> None:
    changed = sometimes(metrics=METRICS | {"involuntary_context_switches": 1000.0})
    assert "preempted" in findings(changed)
    assert "preempted" not in findings(changed, pinning="[0, 0]")


def test_threads_that_are_not_pinned_may_change_processors() -> None:
    changed = sometimes(metrics=METRICS | {"migrations": 10.0})
    assert set(findings(changed, pinning='"none"')) == {"unpinned"}


ROLES = """
roles = [
    { name = "updaters", threads = 1, mix = { insert = 50, erase = 50, find = 0 } },
    { name = "readers", mix = { insert = 0, erase = 0, find = 100 }ARRIVALS },
]
"""
ARRIVALS = "arrivals = { rate = 1000 }"


@pytest.mark.parametrize(
    ("trial", "rules"),
    [
        ("", {"changing-throughput", "throughput-drift", "unfair"}),
        (ARRIVALS, {"unfair"}),
        (ROLES.replace("ARRIVALS", ""), {"changing-throughput", "throughput-drift"}),
        (ROLES.replace("ARRIVALS", f", {ARRIVALS}"), set()),
    ],
)
def test_open_loops_vary_by_chance_and_roles_differ_by_intent(trial: str, rules: set[str]) -> None:
    metrics = METRICS | {
        "throughput_variation": 0.3,
        "throughput_drift": 0.1,
        "slowest_thread_share": 0.1,
    }
    by_rule = findings(lambda *_: {"metrics": metrics}, threads="[2, 3]", trial=trial)
    assert {"changing-throughput", "throughput-drift", "unfair"} & by_rule.keys() == rules


def test_enormous_values_are_printed_as_numbers() -> None:
    by_rule = findings(
        sometimes(metrics=METRICS | {"generation_share": 1.7e308, "throughput_drift": -1.7e308})
    )
    (generation,), (drift,) = by_rule["generation"], by_rule["throughput-drift"]
    assert generation.where == ("subject=other, threads=2: 1.7e308 times",)
    assert drift.where == ("subject=other, threads=2: -1.7e308 times",)
    assert all(math.isfinite(value) for finding in (generation, drift) for value in finding.evidence.values())


def steady(count: int, *, everywhere: bool = False) -> Any:
    """Keep this many of 20 blocks from a steady state, in one condition or in all."""

    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        chosen = everywhere or (subject, threads) == ("other", 2)
        without = {name: value for name, value in METRICS.items() if name != "steady_after_ms"}
        return {"metrics": without | {"steady": 0.0}} if chosen and block < count else {}

    return change


@pytest.mark.parametrize(
    ("count", "everywhere", "severity"),
    [(4, False, None), (5, False, "note"), (10, False, "note"), (11, False, "warning"), (11, True, "error")],
)
def test_trials_without_a_steady_state(count: int, everywhere: bool, severity: Severity | None) -> None:
    by_rule = findings(steady(count, everywhere=everywhere), blocks=20)
    if severity is None:
        assert by_rule == {}
    else:
        (finding,) = by_rule.pop("no-steady-state")
        assert finding.severity == severity
        conditions = 4 if everywhere else 1
        assert finding.evidence == {
            "conditions": conditions,
            "worst_percent": 100 * (count / 20),
            "trials": conditions * count,
            "valid": 80,
        }
        assert len(finding.trials) == conditions * count
        assert by_rule == {}


@pytest.mark.parametrize(("after_ms", "late"), [(50, False), (51, True)])
def test_warm_up_that_is_measured(after_ms: float, late: bool) -> None:
    changed = sometimes(metrics=METRICS | {"steady_after_ms": after_ms})
    assert ("warm-up" in findings(changed)) == late
    if late:
        (finding,) = findings(changed)["warm-up"]
        assert finding.where == ("subject=other, threads=2: 51 ms",)
        assert "trial.warm_up_ms to 51," in finding.remedy


def test_operations_that_wait_for_arrivals_need_no_steady_state() -> None:
    assert findings(steady(20, everywhere=True), blocks=20, trial=ARRIVALS) == {}
    changed = sometimes(metrics=METRICS | {"steady_after_ms": 900.0})
    assert findings(changed, trial=ARRIVALS) == {}


def test_a_warm_up_that_is_too_short_is_lengthened() -> None:
    changed = sometimes(metrics=METRICS | {"steady_after_ms": 200.0})
    (finding,) = findings(changed, trial="warm_up_ms = 300")["warm-up"]
    assert "trial.warm_up_ms to 500," in finding.remedy


@pytest.mark.parametrize(("late", "found"), [(1, False), (5, False), (6, True)])
def test_a_condition_warms_up_late_if_most_of_its_trials_do(*, late: int, found: bool) -> None:
    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": METRICS | {"steady_after_ms": 700.0 if block < late else 0.0}}

    assert ("warm-up" in findings(change, blocks=10)) == found


@pytest.mark.parametrize("metric", ["iteration_p50_ns", "real_time_ns"])
@pytest.mark.parametrize(
    ("ns", "calibration", "found"),
    [(0.119, CALIBRATION, True), (0.26, CALIBRATION, False), (0.05, {}, True), (0.17, {}, False)],
)
def test_a_call_of_less_than_a_cycle_did_nothing(
    metric: str, ns: float, calibration: dict[str, float], found: bool
) -> None:
    fields = {
        "metrics": METRICS | {metric: ns},
        "calibration_before": calibration,
        "calibration_after": calibration,
    }
    by_rule = findings(sometimes(**fields), metric="throughput")
    assert ("less-than-a-cycle" in by_rule) == found
    if found:
        [finding] = by_rule["less-than-a-cycle"]
        assert finding.severity == "error"
        assert finding.message.startswith("8 of 40 valid trials did no work")
