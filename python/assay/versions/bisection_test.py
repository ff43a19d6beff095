"""Searches over the commits of real repositories."""

import math
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.versions import Bisection, Repository
from assay.versions.testing import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def search(bisection: Bisection, bad: Collection[str], skipped: Collection[str] = ()) -> list[str]:
    """Search, and return what was asked about."""
    tried = []
    while (commit := bisection.next) is not None:
        tried.append(commit)
        if commit in skipped:
            bisection.told(commit, "skipped", "did not build")
        else:
            bisection.told(commit, "bad" if commit in bad else "good")
    return tried


def test_any_of_16_commits_is_found_in_4_steps(project: Project) -> None:
    commits = [project.commit(f"{number}") for number in range(16)]
    for planted in range(16):
        bisection = Bisection(Repository.find(project.root), project.first, commits[-1])
        assert len(search(bisection, commits[planted:])) == 4
        assert bisection.suspects.commits == (commits[planted],)


def test_in_a_history_with_merges_the_choices_are_those_of_git_bisect(project: Project) -> None:
    for side in ("left", "right"):
        project.git("checkout", "--quiet", "-b", side, project.first)
        for number in range(4):
            project.commit(f"{side} {number}", **{side: f"{number}\n"})
        project.git("checkout", "--quiet", "main")
        project.commit(f"before {side}")
        project.git("merge", "--quiet", "--no-ff", "--message", f"Merge {side}", side)
    last = project.commit("last")
    commits = project.git("rev-list", f"{project.first}..{last}").split()
    for planted in commits:
        bad = {*project.git("rev-list", "--ancestry-path", f"{planted}..{last}").split(), planted}
        bisection = Bisection(Repository.find(project.root), project.first, last)
        tried = search(bisection, bad)
        assert bisection.suspects.commits == (planted,)

        theirs = []
        said = project.git("bisect", "start", "--no-checkout", last, project.first)
        while "is the first bad commit" not in said:
            theirs.append(project.git("rev-parse", "BISECT_HEAD"))
            said = project.git("bisect", "bad" if theirs[-1] in bad else "good")
        assert said.startswith(planted)
        assert tried == theirs
    project.git("bisect", "reset")


def test_what_cannot_be_told_apart_is_named_with_why(project: Project) -> None:
    commits = [project.commit(f"{number}") for number in range(8)]
    repository = Repository.find(project.root)

    @settings(max_examples=30)
    @given(st.integers(0, 7), st.sets(st.sampled_from(commits[:-1])))
    def holds(planted: int, skipped: set[str]) -> None:
        bisection = Bisection(repository, project.first, commits[-1])
        tried = search(bisection, commits[planted:], skipped)
        result = bisection.suspects
        assert commits[planted] in result.commits
        # Each but the newest was skipped, which is known to be bad.
        assert list(result.skipped) == list(result.commits[:-1])
        assert set(result.skipped.values()) <= {"did not build"}
        assert len(tried) == len(set(tried))
        assert len(set(tried) - skipped) <= math.log2(8) + len(skipped)

    holds()


def test_a_single_commit_needs_no_question(project: Project) -> None:
    only = project.commit("only")
    bisection = Bisection(Repository.find(project.root), project.first, only)
    assert bisection.next is None
    assert bisection.suspects.commits == (only,)
