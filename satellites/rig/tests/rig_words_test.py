"""How the commands take their words."""

from pathlib import Path

import pytest

from assay import programs
from assay.errors import AssayError
from assay.runner.process import StopSignals
from assay_rig.project import Project, build_rig
from conftest import Assay


@pytest.mark.parametrize("words", ["inspect f --output -"])
def test_standard_output_is_no_folder(words: str, assay: Assay, tmp_path: Path) -> None:
    said = assay(*words.split(), expect=2).stderr
    assert "- is standard output, and these are files of a folder" in said
    assert list(tmp_path.iterdir()) == []


def test_an_error_says_where_the_libraries_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "install_prefix", lambda: None)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES NONE)\n"
        "find_package(assay REQUIRED COMPONENTS trial rig NO_DEFAULT_PATH)\n"
    )
    project = Project(tmp_path, tmp_path / "build", Path("mine"))
    shown: list[str] = []
    with StopSignals() as stop, pytest.raises(AssayError, match=r"C\+\+ libraries.*make build"):
        build_rig(project, None, lambda _: None, shown.append, stop)
    assert not shown


def test_an_option_of_other_commands_is_explained(assay: Assay) -> None:
    said = assay("check", "mine", "--experiment", "own.toml", expect=2).stderr
    why = "no such option: --experiment; name the folder of experiment.toml with --directory"
    assert said == f"error: assay check: {why}\n"
