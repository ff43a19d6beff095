"""Rules about engines, arrivals and roles."""

from typing import Any

import pytest

from assay.audit import KNOWN_FLAWS, audit_experiment
from assay.audit.testing import ENVIRONMENT, HOST, METRICS, experiment, findings, sometimes
from assay.findings import Finding


def test_a_flawed_engine_is_an_error_that_says_what_is_wrong() -> None:
    exposed = 'engine = "fnv1a"\ndraws = "two"\nbounding = "modulo"'
    (finding,) = findings(trial=exposed)["rejected-engine"]
    assert finding.severity == "error"
    assert finding.message.startswith(
        "In 4 conditions operations are less random than they look, drawn with fnv1a: "
    )
    assert KNOWN_FLAWS["fnv1a"] in finding.message
    assert len(finding.where) == 4
    (finding,) = findings(trial='engine = "fnv1a"\ndraws = "two"')["rejected-engine"]
    assert finding.severity == "warning"
    assert "draws = two and bounding = multiply" in finding.message
    (finding,) = findings(trial='engine = "lcg64"\nbounding = "modulo"')["rejected-engine"]
    assert finding.severity == "error"  # the low bits of its one draw are the key's
    for engine in ('"xoshiro256pp"', '{ name = "pcg64" }'):
        assert "rejected-engine" not in findings(trial=f"engine = {engine}")
    assert "rejected-engine" not in findings()


@pytest.mark.parametrize(
    ("engine", "conditions"),
    [
        ('{ name = "rdrand" }', 4),
        ('{ name = "pcg64", reseed_every = 1000 }', 4),
        ('"c_rand"', 2),  # those with two threads
        ('"pcg64"', 0),
    ],
)
def test_what_does_not_follow_from_the_seed_is_noted(engine: str, conditions: int) -> None:
    rule_findings = findings(trial=f"engine = {engine}").get("not-replayable", [])
    assert [len(finding.where) for finding in rule_findings] == ([conditions] if conditions else [])
    assert all(finding.severity == "note" for finding in rule_findings)


@pytest.mark.parametrize(
    ("engine", "bits", "threads", "throughput", "chance"),
    [
        ("own", 32, 8, 80e6, "13%"),  # 8 * 7 * 10^7 / 2^32
        ("own", 32, 1, 5e9, "100%"),  # more than there are states
        ("own", 32, 1, 4e9, None),
        ("wyrand", 64, 8, 1e9, None),
        ("mm3", 64, 4, 5e9, "49%"),  # 1 - exp(-(5 * 10^9)^2 / 2^65)
        ("mm3", 64, 1, 1e8, None),
        ("rdrand", 0, 8, 1e9, None),
    ],
)
def test_an_engine_whose_numbers_come_again_within_a_trial(
    engine: str, bits: int, threads: int, throughput: float, chance: str | None
) -> None:
    metrics = {**METRICS, "engine_state_bits": float(bits), "throughput": throughput}

    def change(_block: int, subject: str, _threads: int) -> dict[str, Any]:
        return {"metrics": metrics} if subject == "other" else {}

    drawn = f'engine = "{engine}"'
    rule_findings = findings(change, threads=f"[{threads}]", trial=drawn).get("engine-state", [])
    assert [finding.where for finding in rule_findings] == (
        [(f"subject=other, threads={threads}: {chance}",)] if chance else []
    )
    for spared in ("array = 1000", "reseed_every = 1000"):
        other = f'engine = {{ name = "{engine}", {spared} }}'
        assert "engine-state" not in findings(change, threads=f"[{threads}]", trial=other)


@pytest.mark.parametrize(
    ("share", "trial", "found"),
    [(0, "", 1), (0, 'transactions = "none"', 0), (0.4, "", 0), (None, "", 0)],
)
def test_elided_locks_that_elide_nothing_are_named_unless_that_was_asked_for(
    share: float | None, trial: str, found: int
) -> None:
    metrics = METRICS if share is None else {**METRICS, "elided_share": share}

    def change(_block: int, subject: str, threads: int) -> dict[str, Any]:
        return {"metrics": metrics} if (subject, threads) == ("other", 2) else {}

    here = {"usual": {**ENVIRONMENT, "transactions": {"name": "none", "because": "it has no RTM"}}}
    rule_findings = findings(change, environments=here, trial=trial).get("nothing-elided", [])
    assert [finding.where for finding in rule_findings] == [("subject=other, threads=2",)] * found
    assert all("a transaction (it has no RTM)." in finding.message for finding in rule_findings)
    there = {"usual": {**ENVIRONMENT, "transactions": {"name": "rtm"}}}
    rule_findings = findings(change, environments=there, trial=trial).get("nothing-elided", [])
    assert ["every attempt aborted" in finding.message for finding in rule_findings] == [True] * found


@pytest.mark.parametrize(
    ("backlog", "throughput", "share"),
    [(300, 700, "30%"), (10, 940, None), (300, 960, None), (1100, 10, "100%")],
)
def test_a_queue_that_grows_is_a_warning(backlog: float, throughput: float, share: str | None) -> None:
    more = {"arrival_rate": 1000.0, "backlog": backlog, "throughput": throughput}
    rule_findings = findings(sometimes(metrics={**METRICS, **more})).get("overloaded", [])
    assert [finding.where for finding in rule_findings] == (
        [(f"subject=other, threads=2: {share}",)] if share else []
    )


def test_what_a_closed_loop_beside_it_does_keeps_no_queue_from_growing() -> None:
    role = "arrivals = { rate = 1000 }"
    roles = f'roles = [{{ name = "a", threads = 1, {role} }}, {{ name = "b" }}]'
    more = {"arrival_rate": 1000.0, "backlog": 300, "throughput": 1e6}
    for served, overloaded in ((700, True), (990, False)):
        metrics = {**METRICS, **more, "role_a_throughput": served, "role_b_throughput": 1e6}
        by_rule = findings(lambda *_, m=metrics: {"metrics": m}, threads="[2, 3]", trial=roles)
        assert ("overloaded" in by_rule) == overloaded


@pytest.mark.parametrize(
    ("metrics", "share"),
    [
        ({"role_scanners_longest_ns": 0.9e9}, "90%"),
        ({"role_scanners_longest_ns": 0.1e9}, None),
        ({"role_scanners_throughput": 0.0}, "100%"),
        ({"role_scanners_throughput": 1.0, "longest_ns": 0.9e9}, None),
    ],
)
def test_a_role_that_waits_for_the_others_is_a_warning(metrics: dict[str, float], share: str | None) -> None:
    rule_findings = findings(sometimes(metrics=METRICS | metrics)).get("starved", [])
    assert [finding.where for finding in rule_findings] == (
        [(f"subject=other, threads=2: {share}",)] if share else []
    )


def searched_for_nothing(kinds: dict[str, str], **settings: Any) -> list[Finding]:
    """Return what is found in an experiment of two subjects, of these kinds, with some settings changed."""
    planned = experiment()
    planned = planned.model_copy(update={"fixed": planned.fixed | settings})
    found = audit_experiment(planned, HOST | {"subjects": kinds})
    return [finding for finding in found if finding.rule == "mix-without-finds"]


MAPS = {"base": "map", "other": "map"}


@pytest.mark.parametrize("operation", ["find", "contains", "find_many", "lower_bound"])
def test_a_mix_with_searches_sees_their_errors(operation: str) -> None:
    assert not searched_for_nothing(MAPS, mix={"insert": 10, "erase": 10, operation: 80})


@pytest.mark.parametrize("operation", ["range", "size", "snapshot", "insert_or_assign"])
def test_a_mix_of_a_map_without_searches_is_noted(operation: str) -> None:
    mix = {"insert": 10, "erase": 10, "find": 0, operation: 80}
    (finding,) = searched_for_nothing({"base": "map", "other": "queue"}, mix=mix)
    assert finding.where == ("subject=base, threads=1", "subject=base, threads=2")
    assert finding.severity == "note"
    assert "`assay check base`" in finding.remedy
    for kinds in ({}, {"base": "nothing", "other": "multimap"}):
        assert not searched_for_nothing(kinds, mix=mix)
    assert searched_for_nothing(MAPS, mix=mix, roles=[{"name": "all"}])
    assert not searched_for_nothing(MAPS, mix=mix, roles=[{"name": "all", "mix": {"find": 100}}])


@pytest.mark.parametrize(("effective", "shown"), [(9.0, None), (1.0, "10%"), (0.0, "0%")])
def test_updates_that_change_nothing_are_a_warning(effective: float, shown: str | None) -> None:
    updates = {"insert_throughput": 10.0, "erase_throughput": 10.0, "effective_update_throughput": effective}
    found = findings(sometimes(metrics={**METRICS, **updates})).get("updates-without-effect", [])
    assert [finding.where for finding in found] == (
        [(f"subject=other, threads=2: {shown}",)] if shown else []
    )
    assert all(finding.severity == "warning" for finding in found)


@pytest.mark.parametrize(
    ("engine", "throughput", "passes"),
    [
        ('{ name = "pcg64", array = 500 }', 2000, "2.0 times"),  # 2 threads, 1 s
        ('{ name = "pcg64", array = 500 }\ndraws = "two"', 2000, "4.0 times"),
        ('{ name = "pcg64", array = 500 }\nwarm_up_ms = 1000', 2000, "4.0 times"),
        ('{ name = "pcg64", array = 1000 }', 2000, None),
        ('{ name = "pcg64" }', 2000, None),
    ],
)
def test_an_array_that_is_read_again_is_a_warning(engine: str, throughput: float, passes: str | None) -> None:
    change = sometimes(metrics={**METRICS, "throughput": throughput})
    rule_findings = findings(change, trial=f"engine = {engine}").get("array-repeats", [])
    assert [finding.where for finding in rule_findings] == (
        [(f"subject=other, threads=2: {passes}",)] if passes else []
    )
    assert all(finding.severity == "warning" for finding in rule_findings)


def test_reseeding_from_an_engine_follows_from_the_seed() -> None:
    engine = '{ name = "pcg64", reseed_every = 1000, reseed_from = "mm2" }'
    assert "not-replayable" not in findings(trial=f"engine = {engine}")
    assert "not-replayable" in findings(trial=f"engine = {engine.replace('mm2', 'rdrand')}")


@pytest.mark.parametrize(
    ("reclaims", "severity"),
    [
        ({"base": "epochs", "other": "never"}, "warning"),
        ({"base": "epochs", "other": "hazard pointers"}, "note"),
        ({"base": "epochs", "other": "epochs"}, None),
        ({"base": "never", "other": "never"}, None),
        ({"base": "nothing", "other": "never"}, None),
        ({"base": "epochs"}, None),
        ({}, None),
    ],
)
def test_subjects_that_reclaim_differently(reclaims: dict[str, str], severity: str | None) -> None:
    found = audit_experiment(experiment(), {**HOST, "reclaims": reclaims})
    severities = [finding.severity for finding in found if finding.rule == "reclamation-differs"]
    assert severities == ([severity] if severity else [])


def test_subjects_that_reclaim_differently_are_named_with_their_ways() -> None:
    (finding,) = (
        finding
        for finding in audit_experiment(
            experiment(), {**HOST, "reclaims": {"base": "epochs", "other": "never"}}
        )
        if finding.rule == "reclamation-differs"
    )
    assert finding.where == ("base: epochs", "other: never")
    assert "other frees nothing" in finding.message


UPDATES_AND_RANGES = "{ insert = 10, erase = 10, range = 80 }"


@pytest.mark.parametrize(
    ("roles", "conditions"),
    [
        (f'{{ name = "all", mix = {UPDATES_AND_RANGES} }}', 2),  # those with two threads
        ('{ name = "a", mix = { insert = 50, erase = 50 } }', 0),
        (
            '{ name = "a", mix = { insert = 50, erase = 50 } },'
            ' { name = "b", threads = 1, mix = { range = 100 } }',
            0,
        ),
        (f'{{ name = "a", threads = 1, mix = {UPDATES_AND_RANGES} }}, {{ name = "b" }}', 0),
    ],
)
def test_threads_that_update_and_query_ranges_are_noted(roles: str, conditions: int) -> None:
    threads = "[2, 3]" if "threads = 1" in roles else "[1, 2]"
    found = findings(threads=threads, trial=f"roles = [{roles}]").get("ranges-among-updates", [])
    assert [len(finding.where) for finding in found] == ([conditions] if conditions else [])


@pytest.mark.parametrize(
    ("metric", "mean", "found"),
    [("latency_mean_ns", 450.0, True), ("latency_mean_ns", 150.0, False), ("latency_p99_ns", 450.0, False)],
)
def test_a_mean_that_few_latencies_make(metric: str, mean: float, found: bool) -> None:
    latencies = {"latency_p50_ns": 100.0, "latency_mean_ns": mean, "latency_p99_ns": 9000.0}

    def timed(_block: int, _subject: str, _threads: int) -> dict[str, object]:
        return {"metrics": METRICS | latencies}

    by_rule = findings(timed, trial='latency = "all"', comparison=f'also = ["{metric}"]')
    assert ("mean-of-latencies" in by_rule) == found
    if found:
        assert by_rule["mean-of-latencies"][0].evidence == {"conditions": 4, "worst_ratio": 4.5}
