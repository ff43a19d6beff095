import json
from pathlib import Path

import pytest

from assay import programs
from assay.errors import AssayError


def script(path: Path, code: str) -> Path:
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


def test_the_folder_of_the_environment_variable_is_the_only_one_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_PROGRAMS", str(tmp_path))
    with pytest.raises(AssayError, match=r"sh .* ASSAY_PROGRAMS .*make build"):
        programs.find("sh")
    program = script(tmp_path / "sh", "")
    assert programs.find("sh") == program


def test_without_it_the_path_is_searched_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_PROGRAMS", raising=False)
    assert programs.find("sh").name in {"sh", "dash", "bash"}
    with pytest.raises(AssayError, match=r"assay-none .* PATH; .*make build"):
        programs.find("assay-none")


def test_a_program_says_which_subjects_it_has(tmp_path: Path) -> None:
    entry = {
        "name": "a",
        "description": "one",
        "structure": "map",
        "max_threads": None,
        "types": [],
        "operations": ["size"],
        "holds_nothing": False,
        "reclaims": "epochs",
    }
    program = script(tmp_path / "x", f"echo '{json.dumps([entry | {'further': 1}])}'")
    assert programs.listing(program) == [entry]


def test_a_program_runs_once_while_its_file_stays_as_it_is(tmp_path: Path) -> None:
    code = f"echo >> {tmp_path}/runs; echo '[\"a\"]'"
    program = script(tmp_path / "x", code)
    programs.events(program).append("an answer can be changed")
    assert programs.events(program) == ["a"]
    assert (tmp_path / "runs").read_text().count("\n") == 1
    script(tmp_path / "x", code.replace('"a', '"other'))
    assert programs.events(program) == ["other"]


def test_a_program_says_which_engines_it_has(tmp_path: Path) -> None:
    entry = {"name": "a", "description": "one", "state_bits": 64, "available": True, "shared": False}
    program = script(tmp_path / "x", f"test $1 = --engines && echo '{json.dumps([entry | {'bits': 32}])}'")
    assert programs.engines(program) == [entry]


def test_what_a_program_says_when_it_fails_is_said(tmp_path: Path) -> None:
    program = script(tmp_path / "x", "echo 'x: there is no RTM; unset it' >&2; exit 1")
    with pytest.raises(AssayError, match=r"x --list says: x: there is no RTM; unset it$"):
        programs.listing(program)


def test_a_program_says_which_transactions_there_are(tmp_path: Path) -> None:
    here = {"name": "none", "because": "it has none"}
    program = script(tmp_path / "x", f"test $1 = --transactions && echo '{json.dumps(here)}'")
    assert programs.transactions(program) == here


@pytest.mark.parametrize("code", ["exit 3", "echo '{'", 'echo \'[{"name": "a"}]\'', "echo 5"])
def test_a_program_that_does_not_say_so_is_named(tmp_path: Path, code: str) -> None:
    with pytest.raises(AssayError, match=r"x --list .*make build"):
        programs.listing(script(tmp_path / "x", code))
