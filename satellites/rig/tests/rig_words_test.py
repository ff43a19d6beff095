"""How the commands take their words."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("words", ["inspect f --output -"])
def test_standard_output_is_no_folder(words: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", *words.split()]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "- is standard output, and these are files of a folder" in ended.stderr
    assert list(tmp_path.iterdir()) == []
