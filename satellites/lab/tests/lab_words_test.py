"""How the commands take their words."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "words", ["lab engines --all --output -", "lab energy --microbenchmarks --figures -"]
)
def test_standard_output_is_no_folder(words: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", *words.split()]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "- is standard output, and these are files of a folder" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "place", "remedy"),
    [
        ("lab engines --all --numbers 999", "assay lab engines: --numbers:", "1,000 or more"),
        ("lab engines --all --numbers 1e10", "assay lab engines: --numbers:", "1,000,000,000 or less"),
        ("lab engines --all --reseed-every 0", "assay lab engines: --reseed-every:", "1 or more"),
    ],
)
def test_numbers_out_of_range_end_with_place_and_remedy(
    words: str, place: str, remedy: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "assay", *words.split()]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert place in ended.stderr
    assert remedy in ended.stderr
