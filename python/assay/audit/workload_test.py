"""Rules about engines, arrivals and roles."""

import pytest

from assay.audit import KNOWN_FLAWS
from assay.audit.testing import METRICS, findings, sometimes


def test_a_flawed_engine_is_an_error_that_says_what_is_wrong() -> None:
    exposed = 'engine = "fnv1a"\ndraws = "two"\nbounding = "modulo"'
    (found,) = findings(trial=exposed)["rejected-engine"]
    assert found.severity == "error"
    assert found.message.startswith("4 conditions draw their operations with fnv1a: ")
    assert KNOWN_FLAWS["fnv1a"] in found.message
    assert len(found.where) == 4
    (found,) = findings(trial='engine = "fnv1a"\ndraws = "two"')["rejected-engine"]
    assert found.severity == "warning"
    assert "draws = two and bounding = multiply" in found.message
    (found,) = findings(trial='engine = "lcg64"\nbounding = "modulo"')["rejected-engine"]
    assert found.severity == "error"  # the low bits of its one draw are the key's
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
    found = findings(trial=f"engine = {engine}").get("not-replayable", [])
    assert [len(each.where) for each in found] == ([conditions] if conditions else [])
    assert all(each.severity == "note" for each in found)


@pytest.mark.parametrize(
    ("backlog", "throughput", "share"),
    [(300, 700, "30%"), (10, 940, None), (300, 960, None), (1100, 10, "100%")],
)
def test_a_queue_that_grows_is_a_warning(backlog: float, throughput: float, share: str | None) -> None:
    more = {"arrival_rate": 1000.0, "backlog": backlog, "throughput": throughput}
    found = findings(sometimes(metrics={**METRICS, **more})).get("overloaded", [])
    assert [each.where for each in found] == ([(f"subject=other, threads=2: {share}",)] if share else [])


def test_what_a_closed_loop_beside_it_does_keeps_no_queue_from_growing() -> None:
    role = "arrivals = { rate = 1000 }"
    roles = f'roles = [{{ name = "a", threads = 1, {role} }}, {{ name = "b" }}]'
    more = {"arrival_rate": 1000.0, "backlog": 300, "throughput": 1e6}
    for served, said in ((700, True), (990, False)):
        metrics = {**METRICS, **more, "role_a_throughput": served, "role_b_throughput": 1e6}
        found = findings(lambda *_, m=metrics: {"metrics": m}, threads="[2, 3]", trial=roles)
        assert ("overloaded" in found) == said


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
    found = findings(sometimes(metrics=METRICS | metrics)).get("starved", [])
    assert [each.where for each in found] == ([(f"subject=other, threads=2: {share}",)] if share else [])
