"""Checkouts of several revisions, built apart from the user's own, and removed at the end in any case."""

from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote

from assay.errors import AssayError
from assay.experiment.types import MeasuredRevision, Revision
from assay.runner.build import run_shell
from assay.runner.process import CannotStartError, StopSignals
from assay.runner.temporary import Temporary
from assay.versions.contents import SUBMODULE, entries_of, require_same
from assay.versions.git import differing, environment, git, names, succeeds
from assay.versions.repository import Repository
from assay.words import printable


class BuildFailedError(AssayError):
    """A revision does not build; `label` and `revision` say which one."""

    def __init__(self, label: str, revision: Revision, why: str) -> None:
        super().__init__(f"revision {revision} does not build: {why}")
        self.label = label
        self.revision = revision


class Worktrees:
    """While entered, each revision has a worktree, built.

    Attributes:
        folders: label -> its worktree. All paths have the same length: it moves the stack of programs that
            run there, and so changes their performance (Mytkowicz et al., 2009).
        built: label -> the revision in its worktree.
        temporary: contains the worktrees.
    """

    folders: Mapping[str, Path]
    built: Mapping[str, MeasuredRevision]
    temporary: Temporary

    def __init__(
        self,
        repository: Repository,
        revisions: Mapping[str, Revision],
        *,
        build: str | None,
        say: Callable[[str], None],
        show_output: Callable[[str], None],
        stop: StopSignals | None = None,
    ) -> None:
        """Take the revisions to check out.

        Args:
            repository: has the revisions.
            revisions: label -> the revision.
            build: a command for the shell, run at the top of each worktree.
            say: gets a line when a build begins, or when a worktree lacks something.
            show_output: gets the last lines of a build that failed, safe for a terminal.
            stop: ends the running step.
        """
        self._repository = repository
        self._revisions = revisions
        self._build = build
        self._say = say
        self._show_output = show_output
        self._stop = stop

    def __enter__(self) -> "Worktrees":
        """Make the worktrees, and build.

        Raises:
            BuildFailedError: a revision does not build.
            OtherFilesError: its files are not what the user has.
            AssayError: a revision cannot be checked out.
            Interrupted: the user asked to stop.
        """
        self._git_folder = self._repository.git_folder
        self.temporary = Temporary("assay-versions-", self._git_folder / "worktrees").__enter__()
        try:
            parent = self.temporary.folder
            # Git names its notes of a worktree after the folder.
            self.folders = {
                label: parent / f"{parent.name}-{number:03}" for number, label in enumerate(self._revisions)
            }
            for label, revision in self._revisions.items():
                self._check_out(revision, self.folders[label])
            self.built = {
                label: MeasuredRevision(
                    **vars(revision),
                    folder=self.folders[label],
                    changed_by_build=self._changed_by_build(label),
                )
                for label, revision in self._revisions.items()
            }
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End what still runs in the worktrees, and remove them."""
        left = self.temporary.close()
        if left:
            self._say(f"{left} cannot be removed whole: files in it belong to another user; remove it")

    def _check_out(self, revision: Revision, folder: Path) -> None:
        add = ("worktree", "add", "--quiet", "--detach", str(folder), revision.commit)
        git(self._repository.root, *add, variables=self.temporary.variables, stop=self._stop)
        require_same(revision, folder, self._repository.root, revision.commit)
        self._add_submodules(revision, folder, self._repository.root, self._git_folder)

    def _add_submodules(self, revision: Revision, folder: Path, root: Path, git_folder: Path) -> None:
        """Fill the submodules of a checkout from the user's, without a network."""
        commits = _submodules(folder)
        if not commits or not (folder / ".gitmodules").exists():
            return
        listing = ("config", "--file", ".gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$")
        for entry in names(git(folder, *listing)):
            key, _, path = entry.partition("\n")
            if path not in commits:
                continue
            source = git_folder / "modules" / key.removeprefix("submodule.").removesuffix(".path")
            if not source.exists() and (root / path / ".git").is_dir():
                source = root / path / ".git"  # a clone that later became a submodule
            if not source.exists():
                self._say(
                    f"{revision}: the submodule {printable(path)} is not in your clone and stays empty; "
                    f"if it is needed: git submodule update --init {quote(printable(path))}"
                )
                continue
            if not succeeds(source, "cat-file", "-e", f"{commits[path]}^{{commit}}"):
                raise AssayError(
                    f"{revision} needs commit {commits[path]} of the submodule {printable(path)}, which your "
                    f"clone lacks; get it: git -C {quote(printable(path))} fetch origin {commits[path]}"
                )
            # What is shared need not be copied.
            clone = ("clone", "--quiet", "--shared", "--no-checkout", str(source), str(folder / path))
            git(folder, *clone, variables=self.temporary.variables, stop=self._stop)
            check_out = ("checkout", "--quiet", "--detach", commits[path])
            git(folder / path, *check_out, variables=self.temporary.variables, stop=self._stop)
            require_same(revision, folder / path, root / path, commits[path])
            self._add_submodules(revision, folder / path, root / path, source)

    def _changed_by_build(self, label: str) -> tuple[str, ...]:
        """Build a worktree, and return which files in git the build changed."""
        if self._build is None:
            return ()
        revision, folder = self._revisions[label], self.folders[label]
        # Rules for line ends can make files differ from the commit as soon as they are checked out.
        before = differing(folder, revision.commit)
        self._say(f"building {printable(label)}, {revision}: {printable(self._build)}")
        try:
            marked = environment() | self.temporary.variables
            run_shell("build", self._build, folder, self._show_output, self._stop, environment=marked)
        except CannotStartError as error:
            raise BuildFailedError(label, revision, str(error)) from error
        return tuple(name for name in differing(folder, revision.commit) if name not in before)


def _submodules(folder: Path) -> dict[str, str]:
    """Return path -> commit of the submodules of what is checked out."""
    return {path: commit for path, (mode, _, commit) in entries_of(folder).items() if mode == SUBMODULE}
