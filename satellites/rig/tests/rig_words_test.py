"""How the commands and programs of the rig take words, and what they do when nobody reads their output."""

import json
from pathlib import Path

import pytest

from assay import programs
from assay.errors import AssayError
from assay.runner.process import StopSignals
from assay_rig.project import Project, build_rig
from conftest import Assay
from program_output import HOSTILE, check_lost_output, check_unknown_words, quoted


@pytest.mark.parametrize("words", ["inspect f --output -"])
def test_standard_output_is_no_folder(words: str, assay: Assay, tmp_path: Path) -> None:
    said = assay(*words.split(), expect=2).stderr
    assert "- is standard output, and these are files of a folder" in said
    assert list(tmp_path.iterdir()) == []


def test_an_error_says_where_the_libraries_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "install_prefix", lambda: None)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES NONE)\n"
        "find_package(assay REQUIRED COMPONENTS trial NO_DEFAULT_PATH)\n"
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


@pytest.mark.parametrize("program", ["assay-linearizability", "assay-rig"])
def test_a_program_quotes_a_word_that_it_does_not_know_printable_and_short(program: str) -> None:
    check_unknown_words(program)


def test_programs_quote_options_and_histories_so_too() -> None:
    for words in ([b"model", HOSTILE], [b"model", b"noop", b"--seed", HOSTILE]):
        assert len(quoted("assay-rig", *words)) < 400
    history = {"map": HOSTILE.decode("latin-1"), "seed": 1, "number": 1, "start": [], "end": []}
    asked = {"thread": 0, "op": "find", "key": 1, "call": 0, "return": 1, "answer": 5}
    line = json.dumps({**history, "operations": [asked]}).encode() + b"\n"
    assert "not linearizable" in quoted("assay-linearizability", asked=line)


@pytest.mark.parametrize(
    "command",
    ["assay-rig list", "assay-rig --help", "assay-rig model std_map_mutex --operations 10 --keys 5"],
)
def test_what_is_printed_in_vain_is_an_error(command: str) -> None:
    check_lost_output(command)
