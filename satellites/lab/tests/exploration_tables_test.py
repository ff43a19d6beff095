"""`make calibration` of what exploring finds, at a reduced size."""

import importlib.util

import pytest

from calibration import BEGIN, CAMPAIGNS, END
from conftest import ROOT
from promises import Rate, Row, markdown

_spec = importlib.util.spec_from_file_location(
    "exploration_tables", ROOT / "satellites/lab/exploration_tables.py"
)
assert _spec
assert _spec.loader
exploration_tables = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(exploration_tables)


def promises(row: Row) -> list[Rate]:
    return [cell for cell in row if isinstance(cell, Rate) and cell.promise]


@pytest.mark.parametrize("planted", exploration_tables.PLANTED)
def test_exploring_holds_the_rate_of_false_discoveries_and_finds_what_is_planted(planted: str) -> None:
    *_, found, first = row = exploration_tables.explored("normal", planted, 25)
    assert [cell.holds for cell in promises(row)] == [True, True], row
    for cell in (found, first):
        assert cell == "" or (isinstance(cell, Rate) and cell.share == 1), row


def test_exploring_without_a_correction_breaks_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.stats.false_discovery_control", lambda p, method: p)
    assert not promises(exploration_tables.explored("normal", "nothing", 25))[0].holds


def test_the_page_shows_what_the_table_says_now_with_all_promises_kept() -> None:
    shown = exploration_tables.PAGE.read_text().split(BEGIN)[1].split(END)[0].strip()
    (table,) = exploration_tables.tables(CAMPAIGNS)
    top = markdown(table, [])
    assert shown.startswith(f"{top}\n")
    assert shown[len(top) :].count("\n") == len(table.rows)
    assert "FAIL" not in shown
