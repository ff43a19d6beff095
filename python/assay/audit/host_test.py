"""What the rules say of a host that changes, and of programs and machines that are not fit."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.audit import Evidence, audit
from assay.audit.host import one_layout
from assay.audit.testing import (
    CALIBRATION,
    ENVIRONMENT,
    HOST,
    METRICS,
    Change,
    experiment,
    findings,
    sometimes,
    trials,
)
from assay.findings import Finding
from assay.host.settings import SET_BY_TRIAL

FAST, SLOW = CALIBRATION, CALIBRATION | {"core_to_core_ns": 190.0}


def flips(block: int, subject: str, _threads: int) -> dict[str, Any]:
    """Let the host become slow in the middle of every group of the sixth of 12 blocks."""
    changed = block > 5 or (block == 5 and subject == "other")
    return {"calibration_before": SLOW if changed else FAST, "calibration_after": SLOW if changed else FAST}


def loses(share: float) -> Change:
    """Return what makes the trials of the other subject with two threads lose processor time."""
    return lambda _block, subject, threads: (
        {"metrics": METRICS | {"lost_share": share}} if (subject, threads) == ("other", 2) else {}
    )


@pytest.mark.parametrize(
    ("share", "more", "severity", "says"),
    [
        (0.35, "", "error", "lost more than 10% of their processor time to other work, 35% at worst"),
        (0.35, "", "error", "Verdicts are withheld, as such load has turned verdicts: in 1 condition"),
        (0.35, 'busy = "count"', "error", "Verdicts may be wrong, as such load has turned verdicts"),
        (0.05, "", "warning", "lost more than 3%"),
    ],
)
def test_what_trials_lost_to_other_work(share: float, more: str, severity: str, says: str) -> None:
    planned = experiment(more=more)
    (finding,) = [of for of in audit(planned, trials(planned, loses(share)), HOST) if of.rule == "busy-host"]
    assert finding.severity == severity
    assert says in finding.message
    assert finding.where == (f"subject=other, threads=2: {share:.0%}",)
    assert finding.evidence == {"conditions": 1, "worst_percent": pytest.approx(100 * share)}


def test_load_that_the_experiment_asks_for_is_a_note() -> None:
    planned = experiment(trial="busy_processes = 2", more='busy = "count"')
    (finding,) = [of for of in audit(planned, trials(planned, loses(0.35)), HOST) if of.rule == "busy-host"]
    assert finding.severity == "note"
    assert "the experiment itself keeps processors busy: threads lost up" in finding.message
    assert finding.where == ("subject=other, threads=2: 35%",)


@pytest.mark.parametrize("metric", ["simulated_instructions_per_operation", "computed_joules"])
def test_load_is_not_mentioned_where_it_has_no_part_in_what_is_compared(metric: str) -> None:
    planned = experiment()
    for also, found in (({}, False), ({"throughput": "higher"}, True)):
        comparison = planned.comparison.model_copy(update={"metric": metric, "also": also})
        simulated = planned.model_copy(update={"comparison": comparison})
        told = audit(simulated, trials(simulated, loses(0.35)), HOST)
        assert ("busy-host" in {of.rule for of in told}) == found


def test_a_quiet_host_is_not_mentioned() -> None:
    planned = experiment()
    assert "busy-host" not in {of.rule for of in audit(planned, trials(planned, loses(0.02)), HOST)}


def of_the_host(repetition: Mapping[str, float] | None) -> Finding:
    """Return what is found where the mixed groups are repeated and meet a certain host, or are not."""
    planned = experiment(blocks=12, threads="[2, 4]")
    made = trials(planned, flips, 12)
    if repetition is not None:
        mixed = [trial for trial in made if trial.block == 5]
        made += [
            replace(
                trial,
                id=trial.id + 100,
                ordinal=trial.ordinal + 100,
                group=trial.group + 100,
                repeats=trial.group,
                calibration_before=repetition,
                calibration_after=SLOW,
            )
            for trial in mixed
        ]
    (finding,) = [finding for finding in audit(planned, made, HOST) if finding.rule == "host-changed"]
    return finding


def test_a_host_that_changed_its_mode_within_groups_that_were_not_repeated() -> None:
    finding = of_the_host(repetition=None)
    assert finding.severity == "warning"
    assert finding.where == ("threads=2: 1", "threads=4: 1")
    assert finding.evidence == {"groups": 2, "repetitions": 0, "lost": 2}
    assert "repeat others" not in finding.message
    assert finding.trials == (21, 22, 23, 24)
    assert "latency between cores: 50 ns when fast and 190 ns when slow" in finding.message


def test_a_repetition_in_one_mode_makes_up_for_a_mixed_group() -> None:
    finding = of_the_host(repetition=SLOW)
    assert finding.severity == "note"
    assert finding.evidence == {"groups": 2, "repetitions": 2, "lost": 0}
    assert "2 of these groups repeat others" in finding.message


def test_a_repetition_in_which_the_host_changes_again_does_not() -> None:
    finding = of_the_host(repetition=FAST)
    assert finding.severity == "warning"
    assert finding.evidence == {"groups": 4, "repetitions": 2, "lost": 2}


def test_a_host_that_changed_between_groups_is_what_blocks_are_for() -> None:
    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        slow = {name: 3 * value for name, value in CALIBRATION.items()}
        return {"calibration_before": slow, "calibration_after": slow} if block % 2 else {}

    assert findings(change) == {}


@pytest.mark.parametrize(("metric", "limit"), [("memory_ns", 1.2), ("arithmetic_ns", 1.1)])
@pytest.mark.parametrize("when", ["calibration_before", "calibration_after"])
def test_memory_or_arithmetic_that_changed_within_groups(metric: str, limit: float, when: str) -> None:
    def changed(by: float) -> dict[str, list[Finding]]:
        return findings(sometimes(**{when: CALIBRATION | {metric: CALIBRATION[metric] * by}}))

    assert changed(limit - 0.01) == {}
    assert changed(1 / (limit - 0.01)) == {}
    for by in (limit + 0.01, 1 / (limit + 0.01)):
        by_rule = changed(by)
        (finding,) = by_rule.pop("host-changed")
        assert finding.message.startswith(
            "The host changed speed in 8 of 20 groups, which count: intervals are"
        )
        assert f"differs by more than {limit} times" in finding.message
        assert metric not in finding.message
        assert finding.evidence["counted"] == finding.evidence["groups"] == 8
        assert finding.where == ("threads=2: 8",)
        assert by_rule == {}


@pytest.mark.parametrize(
    ("elsewhere", "effect"),
    [(False, "which are left out"), (True, "of which 8 count")],
)
def test_of_memory_that_changed_with_the_mode_no_verdict_is_said_to_count(
    elsewhere: bool, effect: str
) -> None:
    """Eight groups of two threads change mode and memory; eight of one thread the latter alone."""

    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        if subject == "base" or block >= 8 or (threads == 1 and not elsewhere):
            return {}
        core = 190.0 if threads == 2 else CALIBRATION["core_to_core_ns"]
        slow = CALIBRATION | {"core_to_core_ns": core, "memory_ns": 2 * CALIBRATION["memory_ns"]}
        return {"calibration_before": slow, "calibration_after": slow}

    (finding,) = [
        finding
        for finding in findings(change, blocks=20)["host-changed"]
        if "latency of memory" in finding.message
    ]
    assert effect in finding.message
    assert finding.evidence["counted"] == (8 if elsewhere else 0)


def test_enormous_ratios_are_printed_as_numbers() -> None:
    (finding,) = findings(sometimes(calibration_after=CALIBRATION | {"memory_ns": 1e-308}))["host-changed"]
    assert finding.evidence["worst_ratio"] < float("inf")


@pytest.mark.parametrize("when", ["calibration_before", "calibration_after"])
def test_calibrations_that_are_missing(when: str) -> None:
    by_rule = findings(sometimes(**{when: {}}))
    (finding,) = by_rule.pop("missing-calibration")
    assert finding.message.startswith("8 of 40 valid trials")
    assert len(finding.trials) == 8
    assert by_rule == {}


@pytest.mark.parametrize("when", ["calibration_before", "calibration_after"])
def test_core_to_core_latency_is_missing_only_where_threads_have_several_processors(when: str) -> None:
    def change(_block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {when: {"memory_ns": 90.0, "arithmetic_ns": 1.0}}

    (finding,) = findings(change)["missing-calibration"]
    assert "20 of 40 valid trials do not say whether the latency between cores changed" in finding.message
    assert finding.where == ("subject=base, threads=2: 10", "subject=other, threads=2: 10")
    assert "missing-calibration" not in findings(change, pinning="[0, 0]")


def drifting(share: float) -> Change:
    """Let one condition get faster from the first of 30 blocks to the last."""
    return lambda block, subject, threads: (
        {"metrics": METRICS | {"throughput": 100.0 * (1 + share * block / 29)}}
        if (subject, threads) == ("other", 2)
        else {}
    )


@pytest.mark.parametrize(("share", "drifts"), [(0.2, True), (-0.2, True), (0.05, False)])
def test_results_that_drift_across_the_campaign(share: float, drifts: bool) -> None:
    by_rule = findings(drifting(share), blocks=30)
    assert ("campaign-drift" in by_rule) == drifts
    if drifts:
        (finding,) = by_rule["campaign-drift"]
        assert finding.severity == "note"
        assert math.copysign(1, finding.evidence["worst_percent"]) == math.copysign(1, share)
        (place,) = finding.where
        assert place.startswith("subject=other, threads=2: ")


@settings(max_examples=40)
@given(st.permutations([100.0 + block for block in range(30)]))
def test_drift_is_said_where_order_and_size_show_it_alone(values: list[float]) -> None:
    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": METRICS | {"throughput": values[block]}}

    drifts = "campaign-drift" in findings(change, blocks=30)
    first, last = sorted(values[:10]), sorted(values[20:])
    if abs((last[4] + last[5]) / (first[4] + first[5]) - 1) <= 0.05:
        assert not drifts


def test_a_steady_rise_is_drift() -> None:
    assert "campaign-drift" in findings(
        lambda block, subject, threads: {"metrics": METRICS | {"throughput": 100.0 + block}}, blocks=30
    )


def test_thirds_that_differ_without_a_trend_are_no_drift() -> None:
    values = [130, 100, 100, 70, 160, 60, 150, 50, 140, 110, 110, 60]

    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": METRICS | {"throughput": float(values[block])}}

    assert "campaign-drift" not in findings(change, blocks=len(values))


def test_a_jump_of_one_trial_is_no_drift() -> None:
    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": METRICS | {"throughput": 900.0 if block == 29 else 100.0 + block % 3}}

    assert "campaign-drift" not in findings(change, blocks=30)


def test_a_program_or_machine_that_changed_within_a_campaign() -> None:
    (finding,) = findings(sometimes(environment="another"))["environment-changed"]
    assert finding.where == ("other: 12, 8 trials",)
    assert finding.evidence == {"subjects": 1, "environments": 2}
    assert finding.trials == (4, 8, 12, 16, 20, 24, 28, 32)


def test_subjects_may_have_environments_of_their_own_or_none() -> None:
    def change(_block: int, subject: str, threads: int) -> dict[str, Any]:
        return {"environment": None if threads == 2 else subject}

    assert findings(change) == {}
    assert findings(sometimes(environment="other", status="crashed"), blocks=18).keys() == {"invalid-trials"}


def test_trials_with_flaws_run_in_a_program_of_their_own_which_is_no_change() -> None:
    def change(_block: int, _subject: str, threads: int) -> dict[str, object]:
        return {"environment": "usual" if threads == 1 else "other"}

    def rules(*flaws: str) -> set[str]:
        asked = experiment(more="[pitfall]\ndeliberate = true")
        threads = {1: {"threads": 1}, 2: {"threads": 2, "flaws": [*flaws]}}
        planned = asked.model_copy(update={"changes": asked.changes | {"threads": threads}})
        environments = {"usual": ENVIRONMENT, "other": ENVIRONMENT | {"program": {"build_id": "1"}}}
        found = audit(planned, trials(planned, change), HOST, environments=environments)
        return {finding.rule for finding in found}

    assert "environment-changed" in rules()
    assert "environment-changed" not in rules("one_seed")


SETTINGS: dict[str, dict[str, Any]] = {
    "usual": ENVIRONMENT,
    "quiet": {"governor": "performance", "timer-migration": "0"},
    "loud": {"governor": "powersave", "timer-migration": "0"},
}


def test_settings_of_the_host_that_changed_within_groups() -> None:
    def change(block: int, subject: str, _threads: int) -> dict[str, Any]:
        return {"host": "loud" if (block, subject) == (3, "other") else "quiet"}

    (finding,) = findings(change, environments=SETTINGS)["host-settings"]
    assert finding.where == (
        "governor: performance in 38 trials from 1 on; powersave in 2 trials from 14 on",
    )
    assert (finding.severity, finding.trials) == ("error", (14, 16))
    assert finding.evidence == {"settings": 2, "groups": 2}


def test_settings_of_the_host_that_changed_between_groups_turn_no_ratio() -> None:
    def change(block: int, _subject: str, _threads: int) -> dict[str, Any]:
        return {"host": "loud" if block < 3 else "quiet"}

    (finding,) = findings(change, environments=SETTINGS)["host-settings"]
    assert (finding.severity, finding.evidence["groups"]) == ("warning", 0)


@pytest.mark.parametrize(
    ("own", "severity"),
    [("governor", "note"), ("timer-migration", "error"), ("governor by chance", "error")],
)
def test_settings_that_programs_make_for_a_condition_are_compared(own: str, severity: str) -> None:
    def change(block: int, subject: str, _threads: int) -> dict[str, Any]:
        own_way = subject == "other" and (own != "governor by chance" or block != 3)
        return {"host": "loud" if own_way else "quiet"}

    loud = {**SETTINGS["loud"], SET_BY_TRIAL: own.removesuffix(" by chance")}
    (finding,) = findings(change, environments=SETTINGS | {"loud": loud})["host-settings"]
    assert finding.severity == severity
    assert "governor: " in finding.where[0]


def test_settings_that_stay_are_no_finding() -> None:
    assert findings(lambda *_: {"host": "quiet"}, environments=SETTINGS) == {}


def with_environment(**parts: Any) -> dict[str, list[Finding]]:
    """Return what is found where the other subject's environment has other parts than the baseline's."""
    other = ENVIRONMENT | {
        name: {**ENVIRONMENT.get(name, {}), **part} if isinstance(part, dict) else part
        for name, part in parts.items()
    }
    return findings(
        lambda _block, subject, _threads: {"environment": subject},
        environments={"base": ENVIRONMENT, "other": other},
    )


@pytest.mark.parametrize("part", ["allocator", "program"])
def test_an_allocator_that_was_asked_for_is_a_setting_and_no_change(part: str) -> None:
    environments = {"usual": ENVIRONMENT, "other": ENVIRONMENT | {part: {"name": "jemalloc"}}}

    def change(block: int, _subject: str, threads: int) -> dict[str, Any]:
        return {"environment": "other" if threads == 2 or block == 3 else "usual"}

    assert "environment-changed" in findings(change, environments=environments)
    by_rule = findings(change, environments=environments, trial='allocator = "jemalloc"')
    assert ("environment-changed" in by_rule) == (part == "program")


@pytest.mark.parametrize("is_setting", [True, False])
def test_compared_allocators_that_were_asked_for_are_no_different_builds(is_setting: bool) -> None:
    by_rule = findings(
        lambda _block, subject, _threads: {"environment": subject},
        environments={"base": ENVIRONMENT, "other": ENVIRONMENT | {"allocator": {"name": "jemalloc"}}},
        trial='allocator = "jemalloc"' if is_setting else "",
    )
    assert ("different-builds" in by_rule) != is_setting


@pytest.mark.parametrize(
    ("program", "severity", "place"),
    [
        ({"optimised": False}, "error", "other: without optimisation"),
        ({"sanitizers": ["address"]}, "error", "other: with ['address']"),
    ],
)
def test_a_subject_that_was_not_built_for_speed(program: dict[str, Any], severity: str, place: str) -> None:
    by_rule = with_environment(program=program)
    (finding,) = by_rule.pop("unoptimised-build")
    assert (finding.severity, finding.where) == (severity, (place,))
    assert by_rule == {}


def test_assertions_that_are_on() -> None:
    by_rule = with_environment(program={"assertions": True})
    (finding,) = by_rule.pop("unoptimised-build")
    assert (finding.severity, finding.where) == ("warning", ("other",))
    assert by_rule.keys() == {"different-builds"}


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"program": {"compiler": "Clang 19"}}, "other: program compiler Clang 19, base GNU 12.2.0"),
        ({"library": {"flags": "-O2"}}, "other: library flags -O2, base -O3"),
        ({"allocator": {"name": "jemalloc"}}, "other: allocator name jemalloc, base glibc"),
    ],
)
def test_compared_programs_that_were_built_differently(parts: dict[str, Any], place: str) -> None:
    by_rule = with_environment(**parts)
    (finding,) = by_rule.pop("different-builds")
    assert finding.where == (place,)
    assert by_rule == {}


@pytest.mark.parametrize(
    ("governor", "places"),
    [
        ("powersave", ("governor powersave",)),
        (["performance", "ondemand"], ("governor ondemand",)),
    ],
)
def test_a_frequency_that_follows_the_load(governor: Any, places: tuple[str, ...]) -> None:
    by_rule = with_environment(processor={"governor": governor})
    (finding,) = by_rule.pop("frequency-scaling")
    assert (finding.severity, finding.where) == ("warning", places)
    assert by_rule == {}


def test_processors_that_may_exceed_their_frequency() -> None:
    (finding,) = with_environment(processor={"boost": True})["frequency-scaling"]
    assert finding.severity == "note"


def test_processes_that_all_have_the_same_layout() -> None:
    by_rule = with_environment(address_randomisation={"process": False})
    (finding,) = by_rule.pop("fixed-layout")
    assert finding.where == ("other",)
    assert by_rule == {}


def test_commands_that_are_all_placed_alike_because_the_experiment_says_so() -> None:
    (finding,) = findings(more='[perturb]\naddress_space = "fixed"')["fixed-layout"]
    assert finding.where == ("base", "other")


ONE_LAYOUT = {"other": "there is no other.link.tar beside it, and no link command"}


@pytest.mark.parametrize(("baseline", "verdicts"), [("base", 2), ("other", 4), ("third", 2)])
def test_verdicts_that_rest_on_one_layout(baseline: str, verdicts: int) -> None:
    planned = experiment(
        subjects='["base", "other", "third"]', baseline=f'"{baseline}"', more="[perturb]\nlayout = true"
    )
    (finding,) = one_layout.check(Evidence(planned, (), {"one_layout": ONE_LAYOUT}))
    assert finding.message.startswith(f"Chance may decide {verdicts} of 4 verdicts: they rest on one layout")
    assert all("other: there is no other.link.tar" in place for place in finding.where)
    assert len(finding.where) == verdicts


@pytest.mark.parametrize(("host", "layout"), [({"one_layout": ONE_LAYOUT}, "false"), ({}, "true")])
def test_layouts_that_nobody_asked_for_or_that_were_drawn(host: dict[str, Any], layout: str) -> None:
    planned = experiment(more=f"[perturb]\nlayout = {layout}")
    assert not list(one_layout.check(Evidence(planned, (), host)))


@pytest.mark.parametrize(
    "content", [None, 7, [], {}, {"program": [], "processor": 3, "allocator": {"name": {}}}]
)
def test_environments_may_hold_anything(content: Any) -> None:
    by_rule = findings(
        lambda _block, subject, _threads: {"environment": subject},
        environments={"base": content, "other": content},
    )
    assert by_rule == {}


def test_what_cannot_be_found_out_is_not_held_against_a_machine() -> None:
    unavailable = {"governor": {"unavailable": "no cpufreq"}, "boost": {"unavailable": "no cpufreq"}}
    assert with_environment(processor=unavailable) == {}
