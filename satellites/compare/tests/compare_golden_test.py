"""What `assay store compare` prints for stored campaigns is what it was: see `tests/golden_test.py`."""

from pathlib import Path

import pytest

from golden_test import compare, folder, load, name_of, printed

__all__ = ["folder"]  # a fixture

GOLDEN = Path(__file__).parent / "golden"
COMMANDS = (
    ("maps", "store compare 1 2"),
    ("maps", "store compare 3 4"),
    ("maps", "store compare subject=scan,size=10 subject=hash,size=10 --campaign 4"),
    ("maps", "store compare subject=scan,size=10 subject=hash,size=10 --campaign 4 --json"),
    ("maps", "store compare assay.sqlite@1 assay.sqlite@2 --json"),
    ("history", "store compare 1 10"),
    ("history", "store compare 1 10 --json"),
)
"""Each with a store beside the core's golden files."""


@pytest.mark.parametrize(("store", "command"), COMMANDS)
def test_a_command_prints_what_it_did(folder: Path, store: str, command: str) -> None:
    load(store, folder)
    compare(folder, str(GOLDEN / store / name_of(command)), printed(folder, command), f"assay {command}")


def test_no_file_is_left_over() -> None:
    used = {f"{store}/{name_of(command)}" for store, command in COMMANDS}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*")} == used
