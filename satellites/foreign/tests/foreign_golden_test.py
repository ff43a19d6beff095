"""What commands print and write for an imported campaign, and exports for other tools, are what they were.

`golden/` holds it as `tests/golden_test.py` describes, of a store with these campaigns:

    4   commands on a host with two modes
    6   imported from Google Benchmark
"""

from pathlib import Path

import pytest

from golden_test import compare, folder, load, name_of, printed, without_charts

__all__ = ["folder"]  # a fixture

GOLDEN = Path(__file__).parent / "golden"
COMMANDS = (
    "store list",
    "store list --json",
    "store check",
    "store query 'select * from findings' --json",
    "report --campaign 6",
    "report --campaign 6 --verbose",
    "report --campaign 6 --json",
    "report --campaign 6 --audit",
    "report --campaign 6 --audit --json",
    "store list trials --campaign 6",
    "store export markdown --campaign 6 --output -",
    "store show 300",
    "store export csv --campaign 6 --output export",
    "store export google-benchmark --campaign 4 --output -",
    "store export hyperfine --campaign 4 --output -",
)
EXPORTS = (
    *(("maps", f"store export markdown --campaign {number} --output -") for number in range(1, 6)),
    *(("commands", f"store export markdown --campaign {number} --output -") for number in (1, 2)),
    ("maps", "store export csv --campaign 1 --output export"),
)
"""Commands that this satellite adds, run on stores of the core's golden files."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("no_pages")
def test_a_command_prints_what_it_did(folder: Path, command: str) -> None:
    load(str(GOLDEN), folder)
    compare(folder, str(GOLDEN / name_of(command)), printed(folder, command), f"assay {command}")


@pytest.mark.parametrize(("store", "command"), EXPORTS)
def test_an_export_of_a_campaign_of_the_core_is_what_it_was(folder: Path, store: str, command: str) -> None:
    load(store, folder)
    compare(folder, str(GOLDEN / store / name_of(command)), printed(folder, command), f"assay {command}")


def test_its_page_is_what_it_was(folder: Path) -> None:
    load(str(GOLDEN), folder)
    compare(folder, str(GOLDEN / "report.txt"), printed(folder, "report"), "assay report")
    for name in ("index.html", "campaign-6/index.html"):
        page, _ = without_charts((folder / "assay-report" / name).read_text())
        compare(
            folder, str(GOLDEN / "pages" / name.replace("/", "-")), page, f"the page {name} of assay report"
        )


def test_no_file_is_left_over() -> None:
    used = {*map(name_of, COMMANDS), "store.sql.gz", "report.txt"}
    assert {path.name for path in GOLDEN.glob("*.*")} == used
    exports = {f"{store}/{name_of(command)}" for store, command in EXPORTS}
    assert {
        f"{store}/{path.name}" for store in ("maps", "commands") for path in (GOLDEN / store).iterdir()
    } == exports
    assert {path.name for path in (GOLDEN / "pages").iterdir()} == {"index.html", "campaign-6-index.html"}
