"""Decides which commit to try next in a search for the commit that made something worse.

Commits of side branches may be bad for a reason of their own, and what is good may have been bad before. So a
commit is named only when it was found bad and each of its parents good:

1. At any time `bad` was found bad, and descends from a commit in `good`, which were all found good.
   On each path between the two there is a bad commit whose parent on that path is good.
2. The commits on these paths are halved until only `bad` is left, as `git bisect` does: commits that a commit
   in `good` contains are not tried. This assumes that ancestors of good commits are good.
3. Then the assumption is tested: each parent of `bad` that has no answer is tried. If one is bad, the search
   goes on between it and a good ancestor, which may be the commit where it and the good end forked. If there
   is no good ancestor (`inherited`), no commit is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.versions.repository import Repository

Answer = Literal["good", "bad", "skipped"]


@dataclass(frozen=True)
class Suspects:
    """The result of a search.

    Attributes:
        commits: one of them is the first bad commit; the newest last.
        skipped: commits among them that could not be judged -> why.
        unknown: their parents that were not tried.
        inherited: their parents that are bad too and have no known good ancestor -> the commit where the
            parent and the good end forked.
    """

    commits: tuple[str, ...]
    skipped: Mapping[str, str]
    unknown: tuple[str, ...]
    inherited: Mapping[str, str | None]

    @property
    def named(self) -> str | None:
        """The commit that is bad and whose parents are all good; None if the search has found none."""
        is_certain = len(self.commits) == 1 and not self.unknown and not self.inherited
        return self.commits[0] if is_certain else None


class Bisection:
    """A search, which needs an answer about one commit after the other.

    Attributes:
        bad: the oldest commit that was found bad, in the part of the history that is searched.
        next: the commit to try; None at the end.
    """

    def __init__(self, repository: Repository, good: str, bad: str) -> None:
        """Take a commit that is known to be good, and a descendant of it that is bad."""
        self._repository, self._end = repository, good
        self._answers: dict[str, Answer] = {good: "good", bad: "bad"}
        self._why: dict[str, str] = {}
        self.bad = bad
        self.next = self._next()

    def record_answer(self, commit: str, answer: Answer, why: str = "") -> None:
        """Record the answer about a commit; `why` says why it is skipped: did not build, undecided."""
        self._answers[commit] = answer
        if answer == "skipped":
            self._why[commit] = why
        while (older := self._older_bad()) is not None:
            self.bad = older
        self.next = self._next()

    @property
    def good(self) -> str:
        """The ancestor of `bad` that was found good last."""
        return self._good_ancestors(self.bad)[-1]

    @property
    def suspects(self) -> Suspects:
        """The commits that the answers so far leave."""
        commits, parents = self._left()
        return Suspects(
            commits=tuple(commits),
            skipped={commit: self._why[commit] for commit in commits if commit in self._why},
            unknown=tuple(parent for parent in parents if parent not in self._answers),
            inherited={
                parent: self._repository.fork(self._end, parent)
                for parent in parents
                if parent in self._answers
            },
        )

    @property
    def reversals(self) -> list[tuple[str, str]]:
        """Pairs of a bad commit and a later good commit that contains it."""
        return [
            (bad, good)
            for bad in self._found("bad")
            for good in self._found("good")
            if self._repository.descends(good, bad)
        ]

    def _found(self, answer: Answer) -> list[str]:
        return [commit for commit, found in self._answers.items() if found == answer]

    def _good_ancestors(self, commit: str) -> list[str]:
        return [good for good in self._found("good") if self._repository.descends(commit, good)]

    def _older_bad(self) -> str | None:
        """Return a bad ancestor of `bad` that has a good ancestor."""
        for commit in self._found("bad"):
            if (
                commit != self.bad
                and self._repository.descends(self.bad, commit)
                and self._good_ancestors(commit)
            ):
                return commit
        return None

    def _excluded(self) -> list[str]:
        """Return the good commits that do not contain `bad`: the others say nothing about its ancestors."""
        return [good for good in self._found("good") if not self._repository.descends(good, self.bad)]

    def _left(self) -> tuple[list[str], list[str]]:
        """Return the suspects, the newest last, and their parents that were not found good."""
        queue = self._repository.suspects(self._excluded(), self.bad)[::-1]
        seen = {*queue, *self._found("good")}
        parents: list[str] = []
        for commit in queue:
            for parent in self._repository.parents(commit):
                if parent in seen:
                    continue
                seen.add(parent)
                # A skipped parent may be the first bad commit: its own parents must be looked at, too.
                (queue if self._answers.get(parent) == "skipped" else parents).append(parent)
        return queue[::-1], parents

    def _next(self) -> str | None:
        middle = self._repository.midpoint(self._excluded(), self.bad, self._found("skipped"))
        if middle is not None:
            return middle
        _, parents = self._left()
        forks = (self._repository.fork(self._end, parent) for parent in parents)
        return next((commit for commit in (*parents, *forks) if commit not in self._answers and commit), None)
