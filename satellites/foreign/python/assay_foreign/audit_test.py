"""Rules about what another tool measured."""

import pytest
from msgspec.structs import replace

from assay_foreign.audit import audit_foreign
from assay_foreign.types import Benchmark, ForeignRun, MapRun, Measure, Summary

FACTS = {"host_name": "vm"}


def measured(*processes: tuple[float, ...]) -> Benchmark:
    """Return a benchmark with the samples of some processes."""
    return Benchmark("sum", {}, len(processes), (Measure("time_ns", "ns", processes),))


def rules(run: ForeignRun) -> dict[str, str]:
    """Return rule -> severity of what is found."""
    return {finding.rule: finding.severity for finding in audit_foreign(run)}


def test_a_run_that_lacks_nothing_has_the_note_that_nobody_calibrated() -> None:
    run = ForeignRun("pyperf", "2", (measured((1, 2), (3,)), measured((1,), (2,))), True, FACTS)
    assert rules(run) == {"no-calibration": "note"}


@pytest.mark.parametrize(("randomised", "found"), [(True, None), (None, "note"), (False, "warning")])
def test_an_order_that_is_fixed_or_not_told(randomised: bool | None, found: str | None) -> None:
    two = (measured((1, 2), (3,)),) * 2
    assert rules(ForeignRun("JMH", "1", two, randomised, FACTS)).get("fixed-order") == found
    assert "fixed-order" not in rules(ForeignRun("JMH", "1", two[:1], randomised, FACTS))


def test_what_one_process_measured() -> None:
    run = ForeignRun("Criterion.rs", "", (measured((1, 2, 3)), measured((1,), (2,))), True, FACTS)
    (finding,) = (finding for finding in audit_foreign(run) if finding.rule == "one-process")
    assert finding.message.startswith("1 of 2 benchmarks has all samples from one process: ")
    assert finding.where == ("sum",)


def test_samples_that_are_missing_or_single() -> None:
    summed = Benchmark("copy", {}, 1, (Measure("time_ns", "ns", summary=Summary(3, "mean")),))
    run = ForeignRun("Catch2", "3", (summed, measured((1,)), measured((1, 2))), True, FACTS)
    messages = [finding.message for finding in audit_foreign(run) if finding.rule == "no-samples"]
    assert messages[0].startswith("1 of 3 benchmarks has no samples in the file")
    assert messages[1].startswith("1 of 3 benchmarks has a single sample")


@pytest.mark.parametrize(("ns", "found"), [(0.119, "error"), (0.0, "error"), (0.25, None)])
def test_a_call_of_less_than_a_cycle_did_nothing(ns: float, found: str | None) -> None:
    run = ForeignRun("pyperf", "2", (measured((ns, ns, 1), (ns,)), measured((9, 9), (9,))), True, FACTS)
    assert rules(run).get("less-than-a-cycle") == found
    summed = Benchmark("copy", {}, 1, (Measure("real_time_ns", "ns", summary=Summary(ns, "mean")),))
    assert (
        rules(ForeignRun("Google Benchmark", "1", (summed,), True, FACTS)).get("less-than-a-cycle") == found
    )


def test_a_benchmark_that_failed_is_an_error() -> None:
    failed = Benchmark("copy", {"n": 3}, 1, (), "no such file")
    (finding, *_) = audit_foreign(ForeignRun("Catch2", "3", (failed, measured((1,), (2,))), True, FACTS))
    assert (finding.rule, finding.severity) == ("failed-benchmarks", "error")
    assert finding.where == ("copy (n=3): no such file",)


def test_what_the_file_tells_of_its_host() -> None:
    two = (measured((1,), (2,)),)
    assert rules(ForeignRun("hyperfine", "", two, True))["no-host-facts"] == "warning"
    host: dict[str, str | bool] = {"library_build_type": "debug", "cpu_scaling_enabled": True}
    found = [finding.rule for finding in audit_foreign(ForeignRun("Google Benchmark", "", two, True, host))]
    assert found == ["unfit-host", "unfit-host", "no-calibration"]


HONEST = MapRun(
    size_before=10_000,
    size_after=10_100,
    size_expected=10_100,
    inserts=500,
    inserted=250,
    erases=480,
    erased=150,
    validated=True,
    prefill="mixed",
    prefill_inserts=False,
    seed=7,
    pinned=True,
)


def map_rules(told: MapRun) -> dict[str, str]:
    """Return rule -> severity of what is found of a harness's run, beside what is found of an honest one."""
    processes = ((1.0, 2.0), (3.0,))
    tree = Benchmark("tree", {}, 2, (Measure("throughput", "op/s", processes),), map_runs=(HONEST, told))
    found = rules(ForeignRun("Synchrobench", "", (tree,), True, FACTS))
    for always in ("no-calibration", "seeds-not-recorded"):
        assert found.pop(always) == "note"
    return found


def test_an_honest_run_of_a_harness_has_no_finding_of_its_own() -> None:
    assert map_rules(HONEST) == {}


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (replace(HONEST, inserts=0, inserted=0), {"no-inserts": "error"}),
        (replace(HONEST, inserted=0), {"no-inserts": "error"}),
        (replace(HONEST, inserts=None, inserted=None, size_after=3), {"no-inserts": "error"}),
        (replace(HONEST, inserts=0, inserted=0, erases=0, erased=0), {}),
        (replace(HONEST, size_after=4_900), {"size-changed": "warning"}),
        (replace(HONEST, size_after=20_100), {"size-changed": "warning"}),
        (replace(HONEST, dependent="failed ones are searches"), {"dependent-updates": "warning"}),
        (replace(HONEST, prefill_inserts=True), {"prefill-by-inserts": "warning"}),
        (replace(HONEST, prefill_inserts=None), {"prefill-by-inserts": "warning"}),
        (replace(HONEST, validated=False), {"not-validated": "warning"}),
        (replace(HONEST, pinned=False), {"pinning-not-recorded": "note"}),
        (replace(HONEST, rounded=True), {"range-rounded": "warning"}),
    ],
)
def test_what_a_harness_of_maps_did_or_did_not_tell(told: MapRun, found: dict[str, str]) -> None:
    assert map_rules(told) == found


def test_no_option_of_a_harness_makes_its_updates_independent() -> None:
    told = replace(HONEST, dependent="an erase is tried only after an insert has succeeded, and the reverse")
    tree = Benchmark("tree", {}, 1, (Measure("throughput", "op/s", ((1.0,),)),), map_runs=(told,))
    found = audit_foreign(ForeignRun("Synchrobench", "", (tree,), True, FACTS))
    (finding,) = (finding for finding in found if finding.rule == "dependent-updates")
    assert "With -f 0 Synchrobench draws whether the next operation is an update, but" in finding.remedy
    assert "inserts and erases still wait for each other. Measure it with Assay" in finding.remedy


def test_the_seeds_of_threads_are_never_told() -> None:
    tree = Benchmark("tree", {}, 1, (Measure("throughput", "op/s", ((1.0, 2.0),)),))
    for seed, says in (
        (7, "1 of 1 benchmark has the seed of the run"),
        (None, "1 of 1 benchmark has no seed"),
    ):
        run = ForeignRun(
            "Setbench", "", (replace(tree, map_runs=(replace(HONEST, seed=seed),)),), True, FACTS
        )
        (finding,) = (finding for finding in audit_foreign(run) if finding.rule == "seeds-not-recorded")
        assert finding.message.startswith(says)
    assert "seeds-not-recorded" not in rules(ForeignRun("JMH", "", (tree,), True, FACTS))
