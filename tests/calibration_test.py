"""`make calibration` at a reduced size: the same simulations, with fewer campaigns."""

import re
from functools import partial

import pytest

from assay.experiment.types import Blocks
from calibration import (
    BEGIN,
    END,
    PAGE,
    Rate,
    Row,
    Table,
    broken,
    early,
    family,
    fixed,
    markdown,
    tables,
    two_modes,
    until_verdict,
    ways,
)
from simulation import NOISES


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
    ]
    kept = [cell for row in rows for cell in promises(row)]
    assert len(kept) == 2 + 2 + 1 + 1 + 3
    assert all(cell.holds for cell in kept), rows


def test_more_is_found_of_what_differs_more_and_with_more_blocks() -> None:
    few, many = (
        [cell.share for cell in fixed("normal", blocks, 200)[7:] if isinstance(cell, Rate)]
        for blocks in (8, 20)
    )
    assert few == sorted(few)
    assert all(found > before for before, found in zip(few, many, strict=True))
    assert many[-1] == 1


def test_looking_early_keeps_the_level_where_looking_naively_does_not() -> None:
    alarms, naive, coverage = promises(early("normal", 300))
    assert alarms.holds
    assert coverage.holds
    assert naive.share > 0.1


@pytest.mark.parametrize(("blocks", "effect"), [(Blocks(12), 0.0), (Blocks(20, until="verdict"), 0.05)])
def test_verdicts_are_right_on_a_host_that_changes_its_mode(blocks: Blocks, effect: float) -> None:
    row = two_modes(blocks, effect, 20)
    assert all(cell.holds for cell in promises(row)), row


def test_every_way_to_look_early_finds_a_clear_difference() -> None:
    cells = ways(0.03, 0.05, 1, 8)[3:]
    assert all(str(cell).endswith(", 100%") for cell in cells), cells


# What is said of the results


def test_a_promise_is_broken_only_beyond_monte_carlo_error() -> None:
    assert Rate(0.054, 4000, "at most 5%").holds
    assert not Rate(0.065, 4000, "at most 5%").holds
    assert not Rate(0.93, 4000, "at least 95%").holds
    assert not Rate(0.05, 4000, "above 5%").holds
    assert Rate(0.9, 4000).holds


def test_a_broken_promise_is_marked_and_named() -> None:
    table = Table("Title", "Text.", ("noise", "blocks", "false alarms %"), (partial(tuple),))
    rows: list[Row] = [
        ("normal", 8, Rate(0.05, 1000, "at most 5%")),
        ("drift", 12, Rate(0.2, 1000, "at most 5%")),
    ]
    assert broken(table, rows) == [
        "Title: drift, 12: false alarms % is 20.0 ± 1.3 **FAIL**, promised at most 5%"
    ]
    assert "| drift | 12 | 20.0 ± 1.3 **FAIL** |" in markdown(table, rows)


def test_the_page_shows_every_table_with_all_promises_kept() -> None:
    shown = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    assert re.findall("^### (.*)$", shown, re.MULTILINE) == [table.title for table in tables(16)]
    assert "FAIL" not in shown
