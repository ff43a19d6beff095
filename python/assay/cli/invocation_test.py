import os
import shlex
import sys
from pathlib import Path

import pytest

from assay.cli.invocation import invocation
from assay.cli.options import DEFAULT_STORE


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "my tools" / "assay"
    path.parent.mkdir()
    path.touch(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    return path


def test_a_command_off_the_path_is_printed_as_it_was_typed(program: Path) -> None:
    assert shlex.split(invocation("resume", "1")) == [str(program), "resume", "1"]


def test_a_command_on_the_path_is_printed_by_its_name(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert invocation("resume", "1") == "assay resume 1"


def test_another_store_is_named(program: Path) -> None:
    assert invocation("resume", "1", store=DEFAULT_STORE.absolute()) == invocation("resume", "1")
    assert shlex.split(invocation("store", "list", store=Path("a b")))[1:] == [
        "store",
        "list",
        "--store",
        "a b",
    ]
