"""What a shell gets that asks for completions as Typer's scripts do, in a process of its own."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from assay.experiment.testing import experiment
from assay.plan.types import Plan
from assay.store import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with experiments, another TOML file, and a store with two campaigns."""
    (tmp_path / "experiments").mkdir()
    for name in ("mine.toml", "experiments/maps.toml", "experiments/trees.toml"):
        (tmp_path / name).write_text("factors.threads = [1, 2]\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with Store.open(tmp_path / "results" / "assay.sqlite") as store:
        for name in ("maps", "trees"):
            store.begin_campaign(experiment=experiment(name), plan=Plan(1, ()), host={})
    return tmp_path


def offered(folder: Path, *words: str, **more: str) -> list[str]:
    """Return what bash is offered for the last of the words."""
    asked = {
        "_ASSAY_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["assay", *words]),
        "COMP_CWORD": str(len(words)),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "assay"],
        cwd=folder,
        env=os.environ | asked | more,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout.split()


def test_commands_experiments_and_subjects_are_completed(folder: Path) -> None:
    assert offered(folder, "res") == ["resume"]
    assert offered(folder, "run", "") == ["experiments/maps.toml", "experiments/trees.toml", "mine.toml"]
    assert offered(folder, "plan", "experiments/t") == ["experiments/trees.toml"]
    assert "std_map_mutex" in offered(folder, "new", "experiment", "x", "std_map_m")


def test_campaigns_are_completed_from_the_store_that_is_named(folder: Path) -> None:
    assert offered(folder, "report", "--campaign", "") == ["2", "1"]
    store = str(folder / "results" / "assay.sqlite")
    elsewhere = folder / "experiments"
    assert offered(elsewhere, "report", "--campaign", "") == []
    assert offered(elsewhere, "report", "--store", shlex.quote(store), "--campaign", "") == ["2", "1"]
    assert offered(elsewhere, "report", "--campaign", "", ASSAY_STORE=f"sqlite:///{store}") == ["2", "1"]


def test_what_cannot_be_read_offers_nothing(folder: Path) -> None:
    (folder / "results" / "assay.sqlite").write_text("no store")
    assert offered(folder, "report", "--campaign", "") == []
    assert offered(folder, "new", "experiment", "x", "std", ASSAY_PROGRAMS=str(folder)) == []


def test_fish_is_offered_each_word_with_a_description_on_one_line(folder: Path) -> None:
    fish = {
        "_ASSAY_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": "assay new experiment x bt_",
    }
    ended = subprocess.run(
        [sys.executable, "-m", "assay"],
        cwd=folder,
        env=os.environ | fish,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = ended.stdout.splitlines()
    assert lines
    assert all(line.startswith("bt_") and "\t" in line for line in lines)


def test_completion_loads_nothing_that_takes_long(folder: Path) -> None:
    slow = ["numpy", "scipy", "pandas", "sqlalchemy", "altair", "jinja2", "jsonschema", "assay.experiment"]
    code = (
        "import sys\nfrom assay.cli import main\n"
        f"try: main()\nfinally: print('loaded:', *(name for name in {slow} if name in sys.modules))"
    )
    asked = {"_ASSAY_COMPLETE": "complete_bash", "COMP_WORDS": "assay report --campaign ", "COMP_CWORD": "3"}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == ["2", "1", "loaded:"]
