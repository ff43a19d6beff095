"""An experiment of one checkout becomes one of several worktrees."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError
from assay.experiment import Experiment, load, parse
from assay.experiment.revisions import of_revisions, words_of
from assay.experiment.types import MeasuredRevision
from assay.plan.make_plan import make_plan, moved

TEXT = """
name = "sums"
[factors]
subject = ["plain", "fast"]
size = { small = { parameters = { size = 1 } }, large = { parameters = { size = 9 } } }
[design]
blocks = 6
[comparison]
factor = "subject"
metric = "sum_ns"
across = ["size"]
[subjects.sums]
program = "./bin/sums"
names = ["plain", "fast"]
arguments = ["{subject}", "{size}"]
input = "data/numbers"
extract = "lines"
build = "make"
[subjects.system]
program = "true"
protocol = false
[ab]
build = "make all"
"""


def revision(folder: Path, **more: Any) -> MeasuredRevision:
    given = {"commit": "1a2b3c4d5e6f7a8b", "name": "main", "subject": "s", "tree": "t"}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return MeasuredRevision(committed_at=at, folder=folder, **{**given, **more})


def compared(tmp_path: Path, text: str = TEXT) -> Experiment:
    """Return the experiment of two worktrees, whose file is in a folder of the checkout."""
    root = tmp_path / "checkout"
    experiment = parse(text, root / "bench/sums.toml", identical=True)
    folders = {level: tmp_path / f"trees/{level}" for level in ("base", "head")}
    return of_revisions(experiment, root, {level: revision(at) for level, at in folders.items()})


def test_what_was_compared_becomes_a_context(tmp_path: Path) -> None:
    experiment = compared(tmp_path)
    assert experiment.factors == {
        "subject": ("plain", "fast"),
        "size": ("small", "large"),
        "revision": ("base", "head"),
    }
    assert experiment.comparison.factor == "revision"
    assert experiment.comparison.baseline == "base"
    assert not experiment.comparison.across
    assert not experiment.identical
    assert experiment.name == "sums-ab"
    assert experiment.ab.build == "make all"
    assert len(experiment.groups()) == 4
    assert Experiment.model_validate_json(experiment.model_dump_json()).revisions == experiment.revisions


def test_each_trial_runs_what_is_in_the_worktree_of_its_revision(tmp_path: Path) -> None:
    experiment = compared(tmp_path)
    plan = make_plan(experiment, 1, lambda subject: str(experiment.programs[subject].path), 1000)
    for trial in plan.trials:
        folder = tmp_path / "trees" / str(trial.levels["revision"]) / "bench"
        assert trial.program == str(folder / "bin/sums")
        assert trial.request["run"]["input"] == str(folder / "data/numbers")
        assert experiment.folder_of(trial.levels) == folder
    assert {len(trial.program) for trial in plan.trials} == {len(plan.trials[0].program)}
    there = experiment.in_worktrees()
    assert [there[level].folder for level in there] == [tmp_path / f"trees/{level}/bench" for level in there]
    assert there["head"].programs["system"] == experiment.programs["system"]


def test_trials_move_to_new_worktrees(tmp_path: Path) -> None:
    experiment = compared(tmp_path)
    before = experiment.revisions
    assert before is not None
    levels = {level: replace(of, folder=tmp_path / "new" / level) for level, of in before.levels.items()}
    now = before.model_copy(update={"levels": levels})
    trial = make_plan(experiment, 1, lambda _: str(tmp_path / "checkout/x"), 1000).trials[0]
    again = moved(trial, before, now)
    folder = tmp_path / "new" / str(trial.levels["revision"])
    assert again.program == str(folder / "x")
    assert again.request["run"]["input"] == str(folder / "bench/data/numbers")
    assert trial.program == str(before.levels[str(trial.levels["revision"])].folder / "x")


def test_a_program_outside_the_checkout_stays_where_it_is(tmp_path: Path) -> None:
    text = TEXT.replace('"./bin/sums"', '"../../tools/sums"')
    plan = make_plan(compared(tmp_path, text), 1, lambda _: str(tmp_path / "tools/sums"), 1000)
    assert {trial.program for trial in plan.trials} == {str(tmp_path / "tools/sums")}
    experiment = compared(tmp_path, text)
    assert (
        experiment.in_worktrees()["head"].programs["plain"].path
        == tmp_path / "checkout/bench/../../tools/sums"
    )


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"factors\.revision: revisions are a factor of this name"):
        compared(tmp_path, TEXT.replace("size = {", "revision = {").replace('["size"]', '["revision"]'))
    experiment = parse(TEXT, tmp_path / "elsewhere/sums.toml", identical=True)
    with pytest.raises(AssayError, match=r"is not in .*, whose revisions are compared"):
        of_revisions(experiment, tmp_path / "checkout", {"base": revision(tmp_path)})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "main (1a2b3c4d5e)"),
        ({"name": "1a2b3c4"}, "1a2b3c4d5e"),
        ({"name": "HEAD", "changed": ("a.c",)}, "HEAD (1a2b3c4d5e) with 1 uncommitted change"),
        ({"changed": ("a.c", "b.c")}, "main (1a2b3c4d5e) with 2 uncommitted changes"),
    ],
)
def test_revisions_are_called_what_people_call_them(changes: dict[str, object], words: str) -> None:
    assert words_of(revision(Path(), **changes)) == words


def test_how_revisions_are_built_says_nothing_to_a_run(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(TEXT)
    assert load(tmp_path / "x.toml").revisions is None
    with pytest.raises(AssayError, match=r"ab\.built: unknown key in \[ab\]; did you mean build\?"):
        parse(TEXT.replace('build = "make all"', 'built = "make all"'), tmp_path / "x.toml")
