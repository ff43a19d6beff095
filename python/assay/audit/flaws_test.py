"""Rules about loops that mislead: they fire on those, and not on honest ones."""

import pytest

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
