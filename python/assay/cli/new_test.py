from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay import programs
from assay.cli.commands import app
from assay.errors import AssayError
from assay.experiment import Experiment, check, load
from assay.runner.machine import present_machine


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(*words: str) -> Experiment:
    ended = CliRunner().invoke(app, ["new", "experiment", *words], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    assert f"run {words[0]}.toml" in ended.stdout
    experiment = load(Path(f"{words[0]}.toml"))
    check(experiment, present_machine())
    return experiment


def test_an_experiment_runs_as_it_is_written() -> None:
    experiment = written("my-question")
    assert experiment.name == "my-question"
    assert experiment.subjects() == {"std_map_mutex", "std_map_shared_mutex"}


def test_an_experiment_compares_what_it_is_given() -> None:
    names = ("std_map_shared_mutex", "absl_btree_shared_mutex", "tbb_hash_map")
    experiment = written("maps", *names)
    assert experiment.factors["subject"] == names
    assert experiment.comparison.baseline == names[0]
    assert experiment.question == f"Which is faster: {names[0]}, {names[1]} or {names[2]}?"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["My"], "^'My' is not a name for an experiment: use "),
        (["there"], "^there.toml exists already; choose another name"),
        (["x", "bt_map"], "name two or more"),
        (["x", "bt_map", "bt_mab"], '^there is no subject "bt_mab"; did you mean bt_map'),
        (["x", "bt_map", "elb_multimap"], "^elb_multimap is a multimap"),
    ],
)
def test_what_cannot_be_written_says_why_and_writes_nothing(words: list[str], message: str) -> None:
    Path("there.toml").touch()
    with pytest.raises(AssayError, match=message):
        CliRunner().invoke(app, ["new", "experiment", *words], catch_exceptions=False)
    assert [file.name for file in Path().iterdir()] == ["there.toml"]
    assert Path("there.toml").read_text() == ""


def test_a_fixture_comes_with_an_experiment_that_is_sound() -> None:
    said = CliRunner().invoke(app, ["new", "fixture", "mine"], catch_exceptions=False).stdout
    assert "mine/build/fixtures" in said
    assert "assay check" not in said  # which is for maps
    assert "my_fixture" not in "".join(file.read_text() for file in Path("mine").iterdir())
    assert sorted(file.name for file in Path("mine").iterdir()) == [
        "CMakeLists.txt",
        "README.md",
        "experiment.toml",
        "mine.cpp",
    ]
    Path("mine/build").mkdir()
    Path("mine/build/fixtures").touch(mode=0o755)
    experiment = load(Path("mine/experiment.toml"))
    assert experiment.comparison.metric == "iteration_p50_ns"
    assert experiment.comparison.better == "lower"
    settings = experiment.settings(experiment.conditions()[0])
    assert settings.keys() == {"subject", "pinning", "duration_ms", "parameters", "threads"}


@pytest.mark.parametrize("prefix", [None, Path("/opt/assay")])
def test_a_subject_is_told_where_its_libraries_come_from(
    prefix: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "install_prefix", lambda: prefix)
    said = CliRunner().invoke(app, ["new", "subject", "mine"], catch_exceptions=False).stdout
    assert (f"-DCMAKE_PREFIX_PATH={prefix}" in said) == (prefix is not None)
    assert (programs.REMEDY in said) == (prefix is None)
