"""The one place from which git is called."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from assay.errors import AssayError
from assay.runner.process import StopSignals, run_process
from assay.runner.temporary import Temporary
from assay.words import one_line, printable

_OF_A_HOOK = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
)
"""What git tells a hook of the repository that it runs for: Assay may be called from one."""

_SETTINGS = {
    # Hooks are for what the user does.
    "core.hooksPath": "/dev/null",
    # These would leave a process running, or files next to the user's index.
    "core.fsmonitor": "false",
    "core.splitIndex": "false",
    # A warning about ends of lines must not keep a file out of a snapshot.
    "core.safecrlf": "false",
}
_SAID_AT_MOST = 300  # characters

DIFFERENCES = ("--name-only", "-z", "--no-renames", "--ignore-submodules=untracked")
"""Options of `git diff` and similar commands, to list the names of changed files."""


class GitError(AssayError):
    """Git failed; `said` is what it wrote to standard error."""

    def __init__(self, folder: Path, command: str, said: str) -> None:
        super().__init__(f"git {command} failed in {folder}: {said}")
        self.said = said


def environment() -> dict[str, str]:
    """Return our own environment without what ties git to the repository of a surrounding hook."""
    return {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}


def git(
    folder: Path,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    stop: StopSignals | None = None,
) -> str:
    """Run git in a folder, and return what it printed.

    To be called from the main thread, like `run_process`.

    Args:
        folder: where it runs.
        arguments: of its command line, first the name of its command.
        variables: more of its environment.
        stop: ends it, too.

    Raises:
        GitError: it failed.
        AssayError: it is not installed.
        Interrupted: the user asked to stop.
    """
    program = shutil.which("git")
    if program is None:
        raise AssayError("git is not on the PATH; install it, for instance by: apt install git")
    # No optional locks: looking at a checkout must not write its index.
    fixed = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    ended = run_process(
        program,
        "",
        environment=environment() | fixed | dict(variables or {}),
        arguments=[*settings, *arguments],
        directory=folder,
        stop=stop,
    )
    if ended.exit_code != 0:
        said = printable(one_line(ended.stderr.decode(errors="replace"), _SAID_AT_MOST))
        raise GitError(folder, arguments[0], said)
    return ended.stdout.decode(errors="replace")


def succeeds(folder: Path, *arguments: str) -> bool:
    """Return whether git says yes to a question; it may also say why not."""
    try:
        git(folder, *arguments)
    except GitError:
        return False
    return True


def names(printed: str) -> tuple[str, ...]:
    """Return the names that git printed with `-z`."""
    return tuple(printed.split("\0")[:-1])


def differing(folder: Path, commit: str) -> tuple[str, ...]:
    """Return the files of git's in a checkout that differ from a commit."""
    with Temporary(
        "assay-versions-"
    ) as temporary:  # `git diff` writes the index where files have other times
        variables = index_copied(folder, temporary.folder) | temporary.variables
        return names(git(folder, "diff", "--no-ext-diff", *DIFFERENCES, commit, "--", variables=variables))


def index_copied(root: Path, to: Path) -> dict[str, str]:
    """Copy the index of a checkout to a folder, and return what has git use the copy."""
    index = to / "index"
    own = root / git(root, "rev-parse", "--git-path", "index").removesuffix("\n")
    if own.exists():
        # With its time: git reads again what was changed in the moment in which it was written.
        shutil.copy2(own, index)
    return {"GIT_INDEX_FILE": str(index)}
