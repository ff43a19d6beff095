"""What `assay trend` prints, and its page, are what they were.

`golden/` holds them as `tests/golden_test.py` describes, of its store `history`.
"""

import json
from pathlib import Path

import pytest

from golden_test import compare, folder, load, name_of, printed, without_charts

__all__ = ["folder"]  # a fixture

GOLDEN = Path(__file__).parent / "golden"
COMMANDS = ("trend", "trend speed --json")
PAGES = ("index.html", "history-speed.html")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("no_pages")
def test_a_command_prints_what_it_did(folder: Path, command: str) -> None:
    load("history", folder)
    compare(folder, str(GOLDEN / name_of(command)), printed(folder, command), f"assay {command}")


def test_its_page_is_what_it_was(folder: Path) -> None:
    load("history", folder)
    compare(folder, str(GOLDEN / "report.txt"), printed(folder, "report"), "assay report")
    charts = {}
    for name in PAGES:
        page, charts[name] = without_charts((folder / "assay-report" / name).read_text())
        compare(folder, str(GOLDEN / "pages" / name), page, f"the page {name} of assay report")
    specifications = json.dumps(charts, indent=1, sort_keys=True)
    compare(folder, str(GOLDEN / "pages/charts.json.gz"), specifications, "the charts over commits")


def test_no_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.glob("*.*")} == {
        *map(name_of, COMMANDS),
        "report.txt",
    }
    assert {path.name for path in (GOLDEN / "pages").iterdir()} == {*PAGES, "charts.json.gz"}
