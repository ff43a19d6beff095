"""The search for the commit that made something worse: no git and no measurement, but the decisions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


class Ancestry(Protocol):
    """What the search needs to know of commits; a `Repository` does, and simulations without git do."""

    def suspects(self, good: Sequence[str], bad: str) -> list[str]:
        """Return the commits up to `bad` that none of `good` contains, the newest last."""

    def midpoint(self, good: Sequence[str], bad: str, skipped: Collection[str]) -> str | None:
        """Return the commit to try, or None if there is none."""


@dataclass(frozen=True)
class Suspects:
    """What a search came to.

    Attributes:
        commits: one of them is the first bad one; the newest last.
        skipped: those of them about which nothing could be said -> why.
    """

    commits: tuple[str, ...]
    skipped: Mapping[str, str]


class Bisection:
    """Asks about one commit after the other, as `git bisect` does.

    Attributes:
        good: the commits that are known to be good, the latest last.
        bad: the oldest commit that is known to be bad.
        skipped: the commits about which nothing could be said -> why.
        next: the commit to say something about; None at the end.
    """

    def __init__(self, ancestry: Ancestry, good: str, bad: str) -> None:
        """Take a commit that is known to be good, and a descendant of it that is bad."""
        self._ancestry = ancestry
        self.good = [good]
        self.bad = bad
        self.skipped: dict[str, str] = {}
        self.next = ancestry.midpoint(self.good, bad, self.skipped)

    def told(self, commit: str, answer: Literal["good", "bad", "skipped"], why: str = "") -> None:
        """Take the answer about a commit; where it is skipped, `why`: did not build, undecided."""
        if answer == "good":
            self.good.append(commit)
        elif answer == "bad":
            self.bad = commit
        else:
            self.skipped[commit] = why
        self.next = self._ancestry.midpoint(self.good, self.bad, self.skipped)

    @property
    def suspects(self) -> Suspects:
        """What the answers so far leave."""
        commits = tuple(self._ancestry.suspects(self.good, self.bad))
        return Suspects(commits, {one: self.skipped[one] for one in commits if one in self.skipped})
