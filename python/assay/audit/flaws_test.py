"""Rules about loops that mislead: they fire on those, and not on honest ones."""

import json
import subprocess

import pytest

from assay import programs
from assay.audit import guide_page
from assay.audit.testing import METRICS, Change, findings

DELIBERATE = "[pitfall]\ndeliberate = true"
HONEST = {"insert_throughput": 1e6, "erase_throughput": 1e6, "find_throughput": 8e6, "throughput": 1e7}


def performing(**rates: float) -> Change:
    """Return a change that gives every trial these rates."""
    return lambda _block, _subject, _threads: {"metrics": METRICS | HONEST | rates}


def test_each_flaw_is_a_finding() -> None:
    flawed = findings(trial='flaws = ["never_inserts", "one_seed"]', more=DELIBERATE)["flawed-on-purpose"]
    assert [finding.severity for finding in flawed] == ["error", "error"]
    assert "4 conditions are flawed on purpose, never_inserts:" in flawed[0].message
    assert "assay lesson one-seed" in flawed[1].remedy
    assert "flawed-on-purpose" not in findings(more=DELIBERATE)
    assert "flawed-on-purpose" not in findings()


def test_each_flaw_leads_to_its_own_lesson_whatever_explains_the_experiment() -> None:
    about = f'{DELIBERATE}\nlesson = "never-inserts"'
    flawed = findings(trial='flaws = ["never_inserts", "one_seed"]', more=about)["flawed-on-purpose"]
    assert ["assay lesson never-inserts" in finding.remedy for finding in flawed] == [True, False]
    assert "assay lesson one-seed" in flawed[1].remedy


def test_the_page_has_what_the_program_says_of_each_flaw() -> None:
    program = programs.find("assay-pitfalls")
    listed = json.loads(subprocess.run([program, "--flaws"], capture_output=True, check=True).stdout)
    rows = [f"| `{flaw['name']}` | {flaw['description']} | {flaw['source']} |" for flaw in listed]
    page = guide_page("flawed-on-purpose").read_text(encoding="utf-8")
    assert "\n".join(["|---|---|---|", *rows, ""]) in page


def test_a_loop_that_never_inserts_shows_in_what_it_performed() -> None:
    (finding,) = findings(performing(insert_throughput=0, erase_throughput=2e6))["mix-not-performed"]
    assert finding.evidence["conditions"] == 4
    assert finding.evidence["worst_percent"] == pytest.approx(10, abs=0.1)
    assert "mix-not-performed" not in findings(performing())


def test_chance_is_no_finding() -> None:
    few = {name: rate / 1e5 for name, rate in HONEST.items()} | {"find_throughput": 90, "erase_throughput": 0}
    assert "mix-not-performed" not in findings(performing(**few))


def test_a_mix_that_was_moved_at_random_is_left_out() -> None:
    def moved(block: int, subject: str, threads: int) -> dict[str, object]:
        changed = performing(insert_throughput=0)(block, subject, threads)
        return {**changed, "perturbation": {"mix.insert": 5.0}}

    assert "mix-not-performed" not in findings(moved)


def given(**metrics: float) -> Change:
    """Return a change that gives the trials of the other subject with 2 threads these metrics."""
    return lambda _block, subject, threads: (
        # As a key range is moved unless an experiment says otherwise.
        {"metrics": METRICS | metrics, "perturbation": {"key_range": 1.0}}
        if (subject, threads) == ("other", 2)
        else {}
    )


@pytest.mark.parametrize(
    ("rule", "flawed", "honest"),
    [
        ("shared-seeds", {"thread_seeds": 1}, {"thread_seeds": 2}),
        ("idle-processors", {"processors_allowed": 1}, {"processors_allowed": 2}),
        ("nominal-time", {"measured_ms": 1000.0}, {"measured_ms": 1000.000001}),
        ("empty-at-start", {"prefill_threads": 0}, {"prefill_threads": 2}),
        ("prefill-by-one-thread", {"prefill_threads": 1}, {"prefill_threads": 2}),
        (
            "prefill-without-erases",
            {"prefill_threads": 2, "prefill_erases": 0},
            {"prefill_threads": 2, "prefill_erases": 700},
        ),
        (
            "other-key-range",
            {"prefill_threads": 2, "prefill_size": 1024},
            {"prefill_threads": 2, "prefill_size": 560},
        ),
        (
            "size-changed",
            {"prefill_size": 500, "final_size": 390},
            {"prefill_size": 500, "final_size": 410},
        ),
        ("size-changed", {"prefill_size": 500, "final_size": 610}, {"prefill_size": 99, "final_size": 20}),
        ("clock-share", {"clock_share": 0.11}, {"clock_share": 0.09}),
        (
            "latency-without-waiting",
            {"latency_mean_ns": 70, "response_mean_ns": 100},
            {"latency_mean_ns": 90, "response_mean_ns": 100},
        ),
    ],
)
def test_what_a_trial_tells_of_itself_shows_its_flaw(
    rule: str, flawed: dict[str, float], honest: dict[str, float]
) -> None:
    timed = 'latency = "all"'
    (finding,) = findings(given(**flawed), key_range=1000, trial=timed)[rule]
    assert finding.evidence["conditions"] == 1
    assert "subject=other" in finding.where[0]
    assert rule not in findings(given(**honest), key_range=1000, trial=timed)
    assert rule not in findings()


def test_a_map_of_few_keys_is_filled_by_whoever_comes_first() -> None:
    assert "prefill-by-one-thread" not in findings(given(prefill_threads=1))


def test_a_mix_that_only_inserts_is_filled_by_inserts() -> None:
    filled = given(prefill_threads=2, prefill_erases=0, prefill_size=1000)
    several = findings(filled, key_range=1000, mix="insert = 10, find = 90")
    assert not {"prefill-without-erases", "other-key-range"} & several.keys()
    half = findings(filled, key_range=1000, mix="find = 100")
    assert {"prefill-without-erases", "other-key-range"} <= half.keys()


def test_the_size_of_what_is_not_drawn_evenly_is_not_known() -> None:
    filled = given(prefill_threads=2, prefill_erases=0, prefill_size=1000)
    several = findings(filled, key_range=1000, trial='distribution = { kind = "latest", exponent = 1 }')
    assert not {"prefill-without-erases", "other-key-range"} & several.keys()
    empty = given(prefill_threads=0, prefill_erases=0, prefill_size=0)
    assert "other-key-range" not in findings(empty, key_range=1000)


def test_a_key_range_that_was_moved_leads_to_another_size() -> None:
    def moved(_block: int, _subject: str, _threads: int) -> dict[str, object]:
        filled = {"prefill_threads": 2, "prefill_erases": 9000, "prefill_size": 6000}
        return {"metrics": METRICS | filled, "perturbation": {"key_range": 20.0}}

    assert "other-key-range" not in findings(moved, key_range=10_000)
    assert "other-key-range" in findings(moved, key_range=8_000)


@pytest.mark.parametrize(("measured_ms", "found"), [(1013.0, True), (1013.000001, False), (1000.0, False)])
def test_the_time_that_was_asked_for_is_that_of_the_trial(measured_ms: float, found: bool) -> None:
    def moved(_block: int, _subject: str, _threads: int) -> dict[str, object]:
        drawn = {"duration_ms": 100 * (1013 / 1000 - 1)}
        return {"metrics": METRICS | {"measured_ms": measured_ms}, "perturbation": drawn}

    assert ("nominal-time" in findings(moved, more="[perturb]\nduration_ms = 0.02")) == found


def test_who_times_some_operations_alone_may_meet_none_that_waited() -> None:
    sampled = given(latency_mean_ns=20, response_mean_ns=100)
    assert "latency-without-waiting" not in findings(sampled, trial="latency = 64")


def test_the_loop_reads_the_clock_for_each_rare_operation() -> None:
    often = given(clock_share=0.5)
    assert "clock-share" in findings(often)
    assert "clock-share" not in findings(
        often, mix="insert = 10, erase = 10, find = 30, range = 50", trial="range = { length = 10 }"
    )


def test_where_latencies_are_compared_the_clock_is_what_measures() -> None:
    timed = given(clock_share=0.9, latency_p50_ns=100.0)
    assert "clock-share" in findings(timed)
    assert "clock-share" not in findings(timed, metric="latency_p50_ns", trial='latency = "all"')


def test_a_prefill_that_is_set_says_how_many_elements_there_are() -> None:
    filled = given(prefill_threads=2, prefill_erases=0, prefill_size=700)
    as_asked = findings(filled, key_range=1000, trial="prefill = 700")
    assert "other-key-range" not in as_asked
    assert "prefill-without-erases" in as_asked
    assert "other-key-range" in findings(filled, key_range=1000, trial="prefill = { percent = 50 }")
    moving = 'distribution = { kind = "zipf", exponent = 1 }\nprefill = 500'
    assert "other-key-range" in findings(filled, key_range=1000, trial=moving)
    empty = given(prefill_threads=0, prefill_erases=0, prefill_size=0)
    none = findings(empty, key_range=1000, trial='prefill = "none"')
    assert "empty-at-start" in none
    assert "other-key-range" not in none


def test_what_only_erases_begins_empty() -> None:
    empty = given(prefill_threads=0)
    assert "empty-at-start" not in findings(empty, mix="erase = 50, find = 50")
    assert "empty-at-start" in findings(empty, mix="find = 100")


def test_updates_that_all_succeed_are_not_drawn_at_random() -> None:
    rates = HONEST | {"effective_update_throughput": 1.9e6}
    (finding,) = findings(performing(**rates))["updates-always-succeed"]
    assert finding.evidence["worst_percent"] == pytest.approx(190)
    fewer = rates | {"effective_update_throughput": 1.2e6}
    assert "updates-always-succeed" not in findings(performing(**fewer))
    moving = 'distribution = { kind = "zipf", exponent = 1 }'
    assert "updates-always-succeed" not in findings(performing(**rates), trial=moving)
