"""Trials in which practically nothing happens: which they are, and what follows for verdicts."""

from pathlib import Path

import pytest

from assay.analysis import summarise
from assay.analysis.summary_test import campaign, only
from assay.experiment import Experiment, parse
from assay.store.types import StoredTrial

KEYS = 20_000
HALF = {"prefill_size": 10_000.0, "final_size": 10_000.0, "insert_throughput": 1e6, "erase_throughput": 1e6}


def asked(trial: str = "mix = { insert = 10, erase = 10, find = 80 }", more: str = "") -> Experiment:
    return parse(
        f"""
[factors]
subject = ["base", "other", "third"]
threads = [1, 2]
[trial]
key_range = {KEYS}
{trial}
[comparison]
factor = "subject"
baseline = "base"
{more}
[design]
blocks = 10
""",
        Path("example.toml"),
    )


def reason_of(experiment: Experiment, moved: float = 0.0, **metrics: float) -> str:
    """Return why there is no verdict on the subject `other` with one thread, whose trials report this."""

    def change(_block: int, subject: str, threads: int) -> dict[str, object]:
        usual = {"throughput": 100.0, "effective_share": 0.5, "found_share": 0.5} | HALF
        there = (subject, threads) == ("other", 1)
        perturbation = {"key_range": moved}
        return {"metrics": usual | (metrics if there else {}), "perturbation": perturbation if there else {}}

    analysis = summarise(campaign(10, change), experiment)
    assert [answer.withheld for answer in analysis.comparisons].count(True) <= 1
    comparison = only(analysis.comparisons, "other", 1)
    assert comparison.withheld == (comparison.ratio is None)
    return comparison.reason if comparison.withheld else ""


EMPTY = {"prefill_size": 0.0, "final_size": 0.0}
FULL = {"prefill_size": float(KEYS), "final_size": float(KEYS)}
DRAINED = {"prefill_size": 10_000.0, "final_size": 3.0}


@pytest.mark.parametrize(
    ("metrics", "measured"),
    [
        (
            EMPTY | {"effective_share": 0.0, "found_share": 0.0},
            "an empty structure: 0% of its updates changed it",
        ),
        (
            FULL | {"effective_share": 0.0, "found_share": 1.0},
            "a full structure: 0% of its updates changed it",
        ),
        (FULL | {"prefill_size": 10_000.0, "effective_share": 0.12}, "a full structure: 12% of its updates"),
        ({"effective_share": 0.001}, "an unchanging structure: 0.1% of its updates"),
        (
            DRAINED | {"effective_share": 0.3, "found_share": 0.2},
            "a structure that was emptied: it held 10,000 elements at first and 3 in the end",
        ),
        ({"found_share": 0.0}, "searches that find nothing: 0% did"),
        # A queue from which more is taken than comes in: each that comes is taken.
        (
            {"prefill_size": 0.0, "final_size": 20.0, "effective_share": 0.9, "erase_throughput": 2e6},
            "a nearly empty structure, as it held 0 elements at first and 20 in the end",
        ),
    ],
)
def test_trials_in_which_practically_nothing_happens_have_no_verdict(
    metrics: dict[str, float], measured: str
) -> None:
    reason = reason_of(asked(), **metrics)
    assert reason.startswith("trials of other measured ")
    assert measured in reason
    assert reason_of(asked(more="accept_idle = true"), **metrics) == ""


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"found_share": 1.0},
        {"effective_share": 0.05, "prefill_size": 500.0, "final_size": 510.0},  # 1 insert in 40 updates
        FULL | {"effective_share": 1.0},  # updates that replace values
        {"prefill_size": 0.0, "final_size": 9000.0},  # it grows
        {"prefill_size": 5000.0, "final_size": 60_000.0, "effective_share": 1.0},  # a queue that grows
        {"prefill_size": 3.0, "final_size": 0.0},  # of a few elements
    ],
)
def test_trials_in_which_something_happens_have_one(metrics: dict[str, float]) -> None:
    assert reason_of(asked(), **metrics) == ""


def without(metric: str) -> list[StoredTrial]:
    """Return trials of every condition that lack a metric, and of which all searches fail on nothing."""
    metrics = {"throughput": 100.0, "found_share": 0.0, **EMPTY}
    metrics.pop(metric)
    return campaign(10, lambda _block, _subject, _threads: {"metrics": metrics})


def test_searches_alone_are_idle_where_nothing_is_held_and_not_in_a_full_map() -> None:
    searches = asked("mix = { find = 100 }")
    of_all = FULL | {"found_share": 1.0}
    full = campaign(10, lambda *_: {"metrics": {"throughput": 100.0, **of_all}})
    assert not any(answer.withheld for answer in summarise(full, searches).comparisons)
    empty = summarise(without("found_share"), searches)
    assert all(answer.withheld for answer in empty.comparisons)
    assert "an empty structure: it held 0 elements" in empty.comparisons[0].reason


def test_of_a_program_that_does_not_say_what_was_held_nothing_is_known() -> None:
    analysis = summarise(without("final_size"), asked())
    assert not any(answer.withheld for answer in analysis.comparisons)


def test_a_key_range_that_was_moved_is_full_with_its_own_keys() -> None:
    metrics = {"prefill_size": 19_000.0, "final_size": 19_000.0, "effective_share": 0.1}
    assert "a full structure" in reason_of(asked(), moved=-5.0, **metrics)
    assert reason_of(asked(), **metrics) == ""


def test_what_misleads_on_purpose_and_phases_are_not_idle() -> None:
    idle = EMPTY | {"effective_share": 0.0}
    deliberate = asked(more="[pitfall]\ndeliberate = true")
    assert reason_of(deliberate, **idle) == ""
    assert reason_of(asked('phase = "drain"'), **DRAINED, effective_share=1.0) == ""


def test_invalid_trials_do_not_make_a_condition_idle() -> None:
    experiment = asked(more="accept_invalid = true")

    def change(block: int, _subject: str, _threads: int) -> dict[str, object]:
        usual = {"throughput": 100.0, "effective_share": 0.5, **HALF}
        if block >= 8:
            return {"metrics": usual}
        return {"status": "invalid", "metrics": usual | EMPTY | {"effective_share": 0.0}}

    assert not any(answer.withheld for answer in summarise(campaign(10, change), experiment).comparisons)
