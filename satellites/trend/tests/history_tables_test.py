"""`make calibration` of what is told over commits: its page shows the table as it is."""

import importlib.util

from calibration import BEGIN, CAMPAIGNS, END
from conftest import ROOT
from promises import markdown

_spec = importlib.util.spec_from_file_location("history_tables", ROOT / "satellites/trend/history_tables.py")
assert _spec
assert _spec.loader
history_tables = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(history_tables)


def test_the_page_shows_what_the_table_says_now_with_all_promises_kept() -> None:
    shown = history_tables.PAGE.read_text().split(BEGIN)[1].split(END)[0].strip()
    (table,) = history_tables.tables(CAMPAIGNS)
    top = markdown(table, [])
    assert shown.startswith(f"{top}\n")
    assert shown[len(top) :].count("\n") == len(table.rows)
    assert "FAIL" not in shown
