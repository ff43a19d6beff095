"""Searches over the commits of real repositories."""

import math
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.versions import Bisection, Repository
from assay.versions.bisection import Answer
from assay.versions.testing import ExampleRepository


@pytest.fixture
def project(tmp_path: Path) -> ExampleRepository:
    return ExampleRepository(tmp_path / "project")


def search(bisection: Bisection, bad: Collection[str], skipped: Collection[str] = ()) -> list[str]:
    """Search, and return what was asked about."""
    tried = []
    while (commit := bisection.next) is not None:
        tried.append(commit)
        if commit in skipped:
            bisection.record_answer(commit, "skipped", "did not build")
        else:
            bisection.record_answer(commit, "bad" if commit in bad else "good")
    return tried


def test_any_of_16_commits_is_found_in_4_steps(project: ExampleRepository) -> None:
    commits = [project.commit(f"{number}") for number in range(16)]
    for planted in range(16):
        bisection = Bisection(Repository.find(project.root), project.first, commits[-1])
        assert len(search(bisection, commits[planted:])) == 4
        assert bisection.suspects.commits == (commits[planted],)


def test_in_a_history_with_merges_the_choices_are_those_of_git_bisect(project: ExampleRepository) -> None:
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


def test_what_cannot_be_told_apart_is_named_with_why(project: ExampleRepository) -> None:
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


def test_a_single_commit_needs_no_question(project: ExampleRepository) -> None:
    only = project.commit("only")
    bisection = Bisection(Repository.find(project.root), project.first, only)
    assert bisection.next is None
    assert bisection.suspects.commits == (only,)


class Graph(Repository):
    """A history in memory: commit 0 is its first, and parents have smaller numbers than their children."""

    def __init__(self, parents: Sequence[Collection[int]]) -> None:
        self._parents = parents
        self.contained: list[set[int]] = []  # commit -> it and its ancestors
        for commit, its_parents in enumerate(parents):
            self.contained.append({commit}.union(*(self.contained[parent] for parent in its_parents)))

    def suspects(self, good: Sequence[str], bad: str) -> list[str]:
        ends = {int(commit) for commit in good}
        assert ends & self.contained[int(bad)]
        excluded = set[int]().union(*(self.contained[end] for end in ends))
        left = self.contained[int(bad)] - excluded
        return [str(commit) for commit in sorted(left) if self.contained[commit] & ends]

    def midpoint(self, good: Sequence[str], bad: str, skipped: Collection[str]) -> str | None:
        suspects = self.suspects(good, bad)
        known = {int(commit) for commit in suspects}
        left = [commit for commit in suspects if commit != bad and commit not in skipped]
        middle = len(suspects) / 2
        return min(left, key=lambda one: abs(len(self.contained[int(one)] & known) - middle), default=None)

    def parents(self, commit: str) -> list[str]:
        return [str(parent) for parent in sorted(self._parents[int(commit)])]

    def descends(self, commit: str, ancestor: str) -> bool:
        return int(ancestor) in self.contained[int(commit)]

    def fork(self, one: str, other: str) -> str | None:
        return str(max(self.contained[int(one)] & self.contained[int(other)]))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a history with merges, most of whose commits follow one of the latest."""
    parents: list[set[int]] = [set()]
    for commit in range(1, draw(st.integers(2, 40))):
        near = st.integers(max(0, commit - 4), commit - 1)
        more = st.sets(st.integers(0, commit - 1), max_size=2)
        parents.append({draw(near)} | (draw(more) if draw(st.integers(0, 2)) == 0 else set()))
    return Graph(parents)


def asked(graph: Graph, good: int, answer: Callable[[int], Answer]) -> tuple[Bisection, list[str]]:
    """Search up to the last commit; return the search and what was asked about."""
    bisection = Bisection(graph, str(good), str(len(graph.contained) - 1))
    tried = []
    while (commit := bisection.next) is not None:
        assert commit not in tried
        tried.append(commit)
        bisection.record_answer(commit, answer(int(commit)), "why")
    return bisection, tried


@settings(max_examples=200)
@given(graphs(), st.data())
def test_what_is_named_is_bad_and_each_of_its_parents_good_whatever_the_history(
    graph: Graph, data: st.DataObject
) -> None:
    last = len(graph.contained) - 1
    good = data.draw(st.sampled_from(sorted(graph.contained[last] - {last})))
    sides: st.SearchStrategy[Answer] = st.sampled_from(("good", "bad", "bad", "skipped"))
    answers = data.draw(st.lists(sides, min_size=last + 1, max_size=last + 1))
    answers[good], answers[last] = "good", "bad"
    bisection, tried = asked(graph, good, answers.__getitem__)
    suspects = bisection.suspects
    assert answers[int(suspects.commits[-1])] == "bad"
    assert not suspects.unknown
    assert set(suspects.skipped) == set(suspects.commits[:-1])
    if suspects.named is not None:
        assert {answers[int(parent)] for parent in graph.parents(suspects.named)} <= {"good"}
        assert graph.parents(suspects.named)
    for parent, fork in suspects.inherited.items():
        assert answers[int(parent)] == "bad"
        assert fork is None or answers[int(fork)] in ("bad", "skipped")
    for bad, later in bisection.reversals:
        assert (answers[int(bad)], answers[int(later)]) == ("bad", "good")
        assert int(bad) in graph.contained[int(later)]
    assert bool(suspects.named) or bool(suspects.skipped) or bool(suspects.inherited)
    assert {str(good), str(last)}.isdisjoint(tried)


@settings(max_examples=100)
@given(graphs(), st.data())
def test_one_of_the_commits_that_bring_a_change_is_named_if_what_contains_it_has_it(
    graph: Graph, data: st.DataObject
) -> None:
    last = len(graph.contained) - 1
    planted = data.draw(st.sets(st.sampled_from(sorted(graph.contained[last] - {0})), min_size=1, max_size=3))
    # Those of several that contain another one bring nothing new.
    first = {one for one in planted if graph.contained[one] & planted == {one}}
    unharmed = [one for one in sorted(graph.contained[last]) if not graph.contained[one] & planted]
    good = data.draw(st.sampled_from(unharmed))
    bisection, tried = asked(graph, good, lambda one: "bad" if graph.contained[one] & planted else "good")
    named = bisection.suspects.named
    assert named is not None
    assert int(named) in first
    assert bisection.reversals == []
    commits = len(graph.contained[last] - graph.contained[good])
    # As many as `analysis.bisection.campaigns_of` such a history admits; one compares the ends.
    assert 1 + len(tried) <= 2 * (1 + math.ceil(math.log2(commits))) + 2
