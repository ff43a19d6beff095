"""Rules about engines, arrivals and roles."""

from typing import Any

import pytest

from assay.audit.testing import METRICS, findings, sometimes
from assay.engines import KNOWN_FLAWS


def test_a_flawed_engine_is_an_error_that_says_what_is_wrong() -> None:
    (found,) = findings(trial='engine = "fnv1a"')["rejected-engine"]
    assert found.severity == "error"
    assert KNOWN_FLAWS["fnv1a"] in found.message
    assert len(found.where) == 4
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


def test_a_queue_that_grows_is_a_warning() -> None:
    def served(backlog: float) -> dict[str, Any]:
        return {"metrics": {**METRICS, "arrival_rate": 1000.0, "backlog": backlog}}

    (found,) = findings(sometimes(**served(300)))["overloaded"]
    assert found.where == ("subject=other, threads=2: 30%",)
    assert "overloaded" not in findings(sometimes(**served(10)))


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
