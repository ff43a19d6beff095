"""Reads the user's project from git. Nothing here changes the checkout, its index, branches or stash."""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from assay.errors import AssayError
from assay.experiment.types import SHORT, Revision
from assay.runner.temporary import Temporary
from assay.versions.git import DIFFERENCES, GitError, differing, git, index_copied, names, succeeds
from assay.words import counted, listed, nearest, printable, show

_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Assay"), ("EMAIL", "assay@localhost"))
}


@dataclass(frozen=True)
class Repository:
    """A repository with a checkout.

    Attributes:
        root: its top folder.
        first_parent: searches follow only the first parent of a merge.
    """

    root: Path
    first_parent: bool = False

    @classmethod
    def find(cls, folder: Path) -> "Repository":
        """Return the repository to which a folder belongs.

        Raises:
            AssayError: git is not installed, or the folder is not part of a checkout.
        """
        try:
            return cls(Path(git(folder, "rev-parse", "--show-toplevel").removesuffix("\n")))
        except GitError as error:
            if "not a git repository" in error.said:
                raise AssayError(
                    f"{folder} is not in a git repository, which versions come from; go to your project's "
                    "checkout, or make it one: git init && git add -A && git commit"
                ) from error
            if "must be run in a work tree" in error.said:
                raise AssayError(
                    f"{folder} is in a git repository without files; go to a checkout: git worktree add"
                ) from error
            raise

    @staticmethod
    def commit_of(folder: Path) -> Revision | None:
        """Return the commit that a folder has checked out, and which files in git differ from it.

        Files that git does not know do not count: results are often written next to the code. None if git is
        not installed, outside a repository, and before the first commit.
        """
        with suppress(AssayError):
            repository = Repository.find(folder)
            return replace(repository.revision("HEAD"), changed=differing(repository.root, "HEAD"))
        return None

    @property
    def git_folder(self) -> Path:
        """The folder of the repository itself, which all worktrees share."""
        return (self.root / git(self.root, "rev-parse", "--git-common-dir").removesuffix("\n")).resolve()

    def revision(self, name: str) -> Revision:
        """Return the revision that a name means, in any form that gitrevisions(7) describes.

        Raises:
            AssayError: there is no such commit, or not in this shallow clone.
        """
        try:
            commit = git(self.root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").strip()
        except GitError as error:
            raise AssayError(self._unknown(name, error)) from error
        return self._described(commit, name)

    def working_tree(self) -> Revision:
        """Return HEAD if all is committed, else a commit of the files as they are, which no branch names.

        It includes files that git does not know, except ignored ones. The commit is made with a copy of the
        index, which knows which files need not be read again, and which ones a sparse checkout leaves out.

        Raises:
            AssayError: nothing is committed yet, or files within a submodule are changed.
        """
        head = self.revision("HEAD")
        with Temporary("assay-versions-") as temporary:
            variables = index_copied(self.root, temporary.folder) | temporary.variables
            git(self.root, "add", "--all", variables=variables)
            unseen = names(git(self.root, "diff-files", *DIFFERENCES, variables=variables))
            if unseen:
                raise AssayError(
                    f"{counted(unseen, 'submodule')} of {self.root} with changes that are not committed: "
                    f"{listed(list(map(printable, unseen)))}; commit or stash them there"
                )
            tree = git(self.root, "write-tree", variables=variables).strip()
        if tree == head.tree:
            return head
        message = f"Uncommitted changes of {head.short}"
        arguments = ("commit-tree", "-p", head.commit, "-m", message, tree)
        commit = git(self.root, *arguments, variables=_IDENTITY).strip()
        changed = names(git(self.root, "diff-tree", "-r", "--name-only", "-z", head.tree, tree))
        return replace(self._described(commit, "working tree"), changed=changed)

    def author(self, commit: str) -> tuple[str, datetime]:
        """Return who wrote a commit, and when."""
        name, date, seconds = self._shown(commit, "%an%x00%aI%x00%at")
        return name, _moment(date, seconds)

    def between(self, good: Revision, bad: Revision) -> list[str]:
        """Return the commits that came after `good` up to `bad`, the newest last.

        Raises:
            AssayError: `bad` does not descend from `good`.
        """
        if good.commit == bad.commit:
            raise AssayError(
                f"{good} and {bad} are the same commit; name an older one as good and a newer one as bad"
            )
        if not self.descends(bad.commit, good.commit):
            hint = "a search needs the commits from one to the other"
            if self.descends(good.commit, bad.commit):
                hint = "it is the other way round: exchange them"
            elif self._is_shallow():
                hint = "this clone is shallow, and may lack what lies between: git fetch --unshallow"
            elif fork := self.fork(good.commit, bad.commit):
                hint += f"; they forked at {fork[:SHORT]}: if that is not slower, name it as good"
            raise AssayError(f"{good} is not an ancestor of {bad}; {hint}")
        commits = git(
            self.root, "rev-list", "--reverse", "--topo-order", *self._only, *_range(good, bad), "--"
        )
        return commits.split()

    def suspects(self, good: Sequence[str], bad: str) -> list[str]:
        """Return `bad` and those of its ancestors that no commit in `good` contains, the newest last.

        They descend from a commit in `good`, which must be an ancestor of `bad`.
        """
        return self._listed("--reverse", "--topo-order", bad, *_not(good)).split()

    def midpoint(self, good: Sequence[str], bad: str, skipped: Collection[str]) -> str | None:
        """Return the suspect to try next, as `git bisect` chooses; None if none is left.

        Its answer leaves the fewest suspects. Skipped commits are passed over for the next best.
        """
        # If several are equally good, the two options choose differently; `git bisect` uses both like this.
        # A plain `--bisect` would also read the state of a bisection that the user has begun.
        printed = self._listed("--bisect-all" if skipped else "--bisect-vars", bad, *_not(good))
        commits = re.findall(r"^(?:bisect_rev=')?([0-9a-f]{40,})", printed, re.MULTILINE)
        return next((commit for commit in commits if commit != bad and commit not in skipped), None)

    def parents(self, commit: str) -> list[str]:
        """Return the parents of a commit."""
        parents = git(self.root, "rev-list", "--parents", "--max-count=1", commit, "--").split()[1:]
        return parents[:1] if self.first_parent else parents

    def descends(self, commit: str, ancestor: str) -> bool:
        """Return whether a commit is another one, or contains it."""
        return succeeds(self.root, "merge-base", "--is-ancestor", ancestor, commit)

    def fork(self, one: str, other: str) -> str | None:
        """Return the latest commit that both contain, or None if there is none."""
        if not succeeds(self.root, "merge-base", one, other):
            return None
        return git(self.root, "merge-base", one, other).strip()

    def has_merges(self, good: Revision, bad: Revision) -> bool:
        """Return whether a search between two commits meets a merge and follows all of its parents."""
        merges = git(self.root, "rev-list", "--merges", "--max-count=1", *_range(good, bad), "--")
        return bool(merges) and not self.first_parent

    @property
    def _only(self) -> tuple[str, ...]:
        return ("--first-parent",) if self.first_parent else ()

    def _listed(self, *arguments: str) -> str:
        return git(self.root, "rev-list", "--ancestry-path", *self._only, *arguments, "--")

    def _described(self, commit: str, name: str) -> Revision:
        tree, date, seconds, subject = self._shown(commit, "%T%x00%cI%x00%ct%x00%s")
        return Revision(commit, name, subject, _moment(date, seconds), tree)

    def _shown(self, commit: str, what: str) -> list[str]:
        options = ("--no-patch", "--no-show-signature", "--encoding=UTF-8", f"--format={what}")
        return git(self.root, "show", *options, commit, "--").removesuffix("\n").split("\0")

    def _is_shallow(self) -> bool:
        return git(self.root, "rev-parse", "--is-shallow-repository").strip() == "true"

    def _refs(self) -> list[str]:
        kinds = ("refs/heads", "refs/tags", "refs/remotes")
        return git(self.root, "for-each-ref", "--format=%(refname:short)", *kinds).split()

    def _unknown(self, name: str, error: GitError) -> str:
        if name == "HEAD":
            return f"{self.root} has no commit yet; make one: git add -A && git commit"
        if "ambiguous" in error.said:
            return f"{show(name)} stands for several objects in {self.root}; write more of the hash"
        start = re.split(r"[~^]", name)[0]
        if start != name and succeeds(self.root, "rev-parse", "--verify", "--end-of-options", start):
            line = git(self.root, "rev-list", "--count", "--first-parent", start, "--")
            hint = f"{start} has {counted(int(line) - 1, 'ancestor')}"
        elif re.fullmatch(r"[0-9a-f]{7,}", name):
            hint = "get it: git fetch"
        else:
            hint = nearest(name, self._refs())
        if self._is_shallow():
            hint += "; this clone is shallow, and may lack it: git fetch --unshallow"
        return f"there is no revision {show(name)} in {self.root}; {hint}"


def _moment(date: str, seconds: str) -> datetime:
    """Return when a commit was made. git takes any year and time zone, Python the years 1 to 9999.

    Args:
        date: the moment in ISO 8601.
        seconds: the same since 1970.
    """
    try:
        moment = datetime.fromisoformat(date)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        last = int(datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp())
        whole = int(seconds) if re.fullmatch(r"\d+", seconds) else 0
        return datetime.fromtimestamp(min(whole, last), UTC)
    return moment


def _range(good: Revision, bad: Revision) -> tuple[str, str]:
    return bad.commit, f"^{good.commit}"


def _not(commits: Sequence[str]) -> list[str]:
    return [f"^{commit}" for commit in commits]
