"""`make calibration` at a reduced size: the same simulations, with fewer campaigns."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bisection_tables
import planted
import sensitivity_tables
from assay.analysis import CONFIDENCE, HostModes, modes, summarise, summary, verdicts
from assay.analysis.sensitivity import Enough, Sensitivity, enough, sensitivity
from assay.experiment.types import Design, Experiment
from assay.store.types import StoredTrial
from calibration import (
    BEGIN,
    CAMPAIGNS,
    END,
    METHODS,
    PAGE,
    early,
    family,
    fixed,
    host_experiment,
    tables,
    together,
    two_modes,
    until_verdict,
    ways,
    written,
    zeros,
)
from promises import Rate, Row, Table, broken, markdown
from simulation import NOISES, host_campaign


def promises(row: Row) -> list[Rate]:
    return [cell for cell in row if isinstance(cell, Rate) and cell.promise]


@pytest.mark.parametrize("noise", NOISES)
def test_verdicts_are_as_right_as_promised_whatever_the_noise(noise: str) -> None:
    rows = [
        fixed(noise, 8, 400),
        fixed(noise, 20, 200),
        until_verdict(noise, 0.0, 50),
        until_verdict(noise, 0.05, 50),
        family(noise, 12, 50, 0),
        together(noise, 16, 25),
        zeros(noise, 0.5, 50),
    ]
    kept = [cell for row in rows for cell in promises(row)]
    assert len(kept) == 2 + 2 + 1 + 1 + 3 + 4 + 2
    assert all(cell.holds for cell in kept), rows


def test_more_is_found_of_what_differs_more_and_with_more_blocks() -> None:
    few, many = (
        [cell.share for cell in fixed("normal", blocks, 200)[8:] if isinstance(cell, Rate)]
        for blocks in (8, 20)
    )
    assert few == sorted(few)
    assert all(share > before for before, share in zip(few, many, strict=True))
    assert many[-1] == 1


def test_looking_early_keeps_the_level_where_looking_naively_does_not() -> None:
    alarms, naive, coverage = promises(early("normal", 300))
    assert alarms.holds
    assert coverage.holds
    assert naive.share > 0.1


HOSTS = (
    partial(two_modes, Design(blocks=12), 0.0, 50),
    partial(two_modes, Design(blocks=24, until="verdict"), 0.05, 12),
)


@pytest.mark.parametrize("simulate", HOSTS)
def test_verdicts_are_right_on_a_host_that_changes_its_mode(simulate: Callable[[], Row]) -> None:
    row = simulate()
    kept = promises(row)
    assert len(kept) == 3
    assert all(cell.holds for cell in kept), row


def test_every_way_to_look_early_finds_a_clear_difference() -> None:
    cells = ways(0.03, 0.05, 1, 8)[3:]
    assert len(cells) == len(METHODS)
    assert all(str(cell).endswith(", 100%") for cell in cells), cells


@pytest.mark.parametrize("shape", sensitivity_tables.SHAPES)
def test_known_sensitivities_are_measured_right(shape: str) -> None:
    rows = [sensitivity_tables.measured(shape, noise, 20, 40) for noise in ("normal", "t (1.5)")]
    kept = [cell for row in rows for cell in promises(row)]
    assert len(kept) == 8 + 5
    assert all(cell.holds for cell in kept), rows


@pytest.mark.parametrize("curve", sensitivity_tables.CURVES)
def test_the_amounts_of_randomness_that_may_be_enough_hold_the_true_one(curve: str) -> None:
    row = sensitivity_tables.randomness(curve, "normal", "much", (12, 4), 60)
    assert [cell.holds for cell in promises(row)] == [True], row


def test_verdicts_on_which_of_two_systems_is_less_sensitive_are_as_right_as_promised() -> None:
    same = sensitivity_tables.compared("normal", "normal", (12, 4), (1.0, 4.0), 60)
    assert [cell.holds for cell in promises(same)] == [True] * 3, same
    less = sensitivity_tables.compared("normal", "normal", (100, 4), (0.25, 1.0), 20)
    assert less[-2:] == (Rate(20, 20), Rate(0, 20)), less


@pytest.mark.parametrize("by", ["trials", "configurations"])
def test_the_sensitivity_of_systems_that_starve_is_measured_right(by: str) -> None:
    row = sensitivity_tables.starved(by, 12, 4, 60)
    assert [cell.holds for cell in promises(row)] == [True] * 3, row


def test_the_largest_of_many_conditions_allows_for_its_choice() -> None:
    row = sensitivity_tables.largest(12, 4, 40)
    assert [cell.holds for cell in promises(row)] == [True] * 2, row
    largest, median = row[-2:]
    assert isinstance(largest, float)
    assert isinstance(median, float)
    assert largest > 1.15
    assert 0.9 < median < 1.1


@pytest.mark.parametrize("slowdown", bisection_tables.SLOWDOWNS)
def test_bisections_name_no_wrong_commit(slowdown: float) -> None:
    row = bisection_tables.bisections("normal", slowdown, 40)
    wrong, found = row[2:4]
    assert promises(row) == [wrong]
    assert isinstance(wrong, Rate)
    assert isinstance(found, Rate)
    assert wrong.holds
    assert found.share > 0.3


def test_a_bisection_whose_campaigns_err_names_a_wrong_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bisection_tables, "side_of", lambda _: "good")
    assert not promises(bisection_tables.bisections("normal", 0.1, 40))[0].holds


# The proof fails where verdicts are wrong


def test_verdicts_without_any_correction_break_the_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts.Question, "confidence", CONFIDENCE)
    monkeypatch.setattr(verdicts.Question, "sharing", lambda *_: 1)
    assert not promises(early("normal", 150))[0].holds
    uncorrected, alarms, planted, looking = promises(family("normal", 12, 25, 10))
    assert uncorrected.holds
    assert not alarms.holds
    assert not planted.holds
    assert not looking.holds
    assert not promises(HOSTS[0]())[0].holds


def test_intervals_that_do_not_share_the_level_break_the_promises_for_families(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verdicts.Question, "sharing", lambda *_: 1)
    assert not promises(family("normal", 12, 50, 0))[1].holds
    assert not promises(together("normal", 16, 25))[0].holds


def test_replicates_taken_for_configurations_break_the_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten trials of each of 20 configurations are not 200 configurations."""

    def flat(values: Sequence[NDArray[np.float64]]) -> Sensitivity:
        return sensitivity([np.array([value]) for row in values for value in row])

    monkeypatch.setattr(sensitivity_tables, "sensitivity", flat)
    row = sensitivity_tables.measured("two states", "t (1.5)", 20, 40)
    assert not all(cell.holds for cell in promises(row)), row


def test_medians_that_replicates_scatter_are_not_what_randomness_takes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raw(amounts: Mapping[float, Sequence[NDArray[np.float64]]]) -> Enough:
        return enough({at: [np.full(2, np.median(row)) for row in rows] for at, rows in amounts.items()})

    monkeypatch.setattr(sensitivity_tables, "enough", raw)
    row = sensitivity_tables.randomness("Blackwell's table 5", "normal", "much", (100, 4), 40)
    assert not promises(row)[0].holds, row


def test_an_exclusion_by_results_breaks_the_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    def favouring(trials: Sequence[StoredTrial], experiment: Experiment) -> HostModes | None:
        """Leaves out the groups in which the baseline is the fastest."""
        host_modes = modes.host_modes(trials, experiment)
        assert host_modes is not None
        best = {}
        for trial in sorted(trials, key=lambda trial: trial.metrics["throughput"]):
            best[trial.group] = trial.levels["subject"]
        out = {group for group, level in best.items() if level == "a"}
        kept = {group: mode for group, mode in host_modes.of_group.items() if group not in out}
        return replace(host_modes, of_group={**kept, **dict.fromkeys(out, "mixed")})

    monkeypatch.setattr(summary, "host_modes", favouring)
    row = two_modes(Design(blocks=12), 0.0, 30)
    assert not all(cell.holds for cell in promises(row)), row


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.floats(-3, 3), st.randoms())
def test_results_have_no_say_in_which_groups_are_repeated_or_left_out(
    seed: int, effect: float, chance: random.Random
) -> None:
    """On the same host, in the same order of trials: results of code of other speeds, and shuffled."""
    experiment = host_experiment(Design(blocks=8))
    identical, different = (
        host_campaign(np.random.default_rng(seed), experiment, {"a": 0.0, "b": by, "c": -by})
        for by in (0.0, effect)
    )
    results = [trial.metrics for trial in identical]
    chance.shuffle(results)
    shuffled = [replace(trial, metrics=metrics) for trial, metrics in zip(identical, results, strict=True)]
    order, other_order = (
        [(trial.group, trial.repeats) for trial in trials] for trials in (identical, different)
    )
    assert order == other_order
    analysis, *others = (summarise(trials, experiment) for trials in (identical, different, shuffled))
    assert analysis.host_modes is not None
    for other in others:
        assert other.host_modes == analysis.host_modes
        dropped, other_dropped = (
            [comparison.dropped for comparison in summary.comparisons] for summary in (analysis, other)
        )
        assert dropped == other_dropped


# What is planted in real trials has to be found


def judged(verdict: str, **modes: tuple[str, int]) -> dict[str, object]:
    estimates = {mode: {"verdict": word, "pairs": pairs} for mode, (word, pairs) in modes.items()}
    return {"verdict": verdict, "modes": estimates}


@pytest.mark.parametrize(
    ("comparisons", "kept"),
    [
        ([judged("slower")], True),
        ([judged("slower", fast=("slower", 8), slow=("undecided", 7))], True),
        ([], False),
        ([judged("slower"), judged("undecided")], False),
        ([judged("equivalent")], False),
        ([judged("slower", fast=("undecided", 8))], False),
        ([judged("slower", fast=("equivalent", 7))], False),
        ([judged("slower", slow=("faster", 7))], False),
    ],
)
def test_undecided_is_wrong_where_there_are_pairs_enough(
    comparisons: list[dict[str, object]], kept: bool
) -> None:
    assert planted.all_slower(comparisons, pairs=8) == kept


def estimated(verdict: str, ratio: float | None) -> dict[str, object]:
    return {**judged(verdict), "ratio": ratio}


@pytest.mark.parametrize(
    ("comparisons", "cells", "kept"),
    [
        (
            [estimated("slower", 0.5), estimated("slower", 0.52)],
            {"slower: 2", "0.500 to 0.520", "kept"},
            True,
        ),
        ([estimated("slower", 0.5), estimated("undecided", None)], {"slower: 1", "BROKEN"}, False),
        ([estimated("undecided", None)], {"slower: 0", "none", "BROKEN"}, False),
        ([], {"slower: 0", "none", "BROKEN"}, False),
    ],
)
def test_what_is_planted_has_a_row_whatever_came_of_its_trials(
    comparisons: list[dict[str, object]], cells: set[str], kept: bool
) -> None:
    row, holds = planted.different(planted.PLANTED[1], comparisons)
    assert holds == kept
    assert cells <= set(row.strip("| ").split(" | "))
    assert row.count("|") == planted.HEAD.splitlines()[0].count("|")


def test_identical_code_without_an_interval_breaks_the_promise() -> None:
    alarms = {"comparisons": 0, "uncorrected": 0, "verdicts": 0, "interval": None}
    row, kept = planted.identical({"false_alarms": alarms, "compatible": False})
    assert not kept
    assert "BROKEN" in row


# What is said of the results


def test_a_promise_is_broken_only_beyond_monte_carlo_error() -> None:
    assert Rate(216, 4000, "at most 5%").holds
    assert not Rate(260, 4000, "at most 5%").holds
    assert not Rate(3720, 4000, "at least 95%").holds
    assert not Rate(200, 4000, "above 5%").holds
    assert Rate(3600, 4000).holds


def test_a_rate_says_how_sure_it_is_even_where_nothing_happened() -> None:
    assert str(Rate(0, 250)) == "0.0 [0.0, 1.5]"
    assert str(Rate(250, 250)) == "100.0 [98.5, 100.0]"


def test_a_broken_promise_is_marked_and_named() -> None:
    table = Table("Title", "Text.", ("noise", "blocks", "false alarms %"), (partial(tuple),))
    rows: list[Row] = [
        ("normal", 8, Rate(50, 1000, "at most 5%")),
        ("drift", 12, Rate(200, 1000, "at most 5%")),
    ]
    assert broken(table, rows) == [
        "Title: drift, 12: false alarms % is 20.0 [17.6, 22.6] **FAIL**, promised at most 5%"
    ]
    assert "| drift | 12 | 20.0 [17.6, 22.6] **FAIL** |" in markdown(table, rows)


def test_the_page_shows_what_the_tables_say_now_with_all_promises_kept() -> None:
    shown = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    current = tables(CAMPAIGNS)
    sections = re.split(r"\n\n(?=### )", shown.strip())
    assert len(sections) == len(current)
    for section, table in zip(sections, current, strict=True):
        top = markdown(table, [])
        assert section.startswith(f"{top}\n"), f"{table.title}: run `make calibration` with --write"
        assert section[len(top) :].count("\n") == len(table.rows)
    assert "FAIL" not in shown
    row = markdown(current[0], [current[0].rows[0]()]).splitlines()[-1]
    assert row in shown


def test_written_tables_replace_those_of_the_page_and_nothing_else() -> None:
    page = f"Before.\n\n{BEGIN}old{END}\nAfter.\n"
    once = written(page, ["### One\n\n| a |", "### Two"])
    assert once == f"Before.\n\n{BEGIN}\n### One\n\n| a |\n\n### Two\n\n{END}\nAfter.\n"
    assert written(once, ["### Three"]) == written(page, ["### Three"])
