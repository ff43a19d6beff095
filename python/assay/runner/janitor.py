"""Clears up after a process, however it ends; a separate program (see `temporary.py`).

It makes a temporary folder, prints its path, and waits until its standard input closes: the process at the
other end no longer needs the folder, or is dead, for instance by `kill -9`. Then it ends what still runs for
the folder, runs the commands that the process still owes, and removes the folder and git's notes of worktrees
in it. Each line of its standard input is a JSON list of all owed commands with their folders.

It first clears up after janitors that were killed: each holds a lock on its folder. `git worktree prune`
would also forget the user's worktrees on a disk that is not mounted, and `git worktree remove` does not know
a worktree whose `git worktree add` was killed. gitrepository-layout(5) describes the notes.
"""

import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "ASSAY_TEMPORARY"
"""The variable of the environment that marks what runs for a folder."""

_ROUNDS = 1000
"""Number of searches for processes that a dying one may have started; 10 s in total."""


def main(prefix: str, worktrees: str = "") -> None:
    """Serve one folder; `worktrees` is where the repository keeps its notes of worktrees."""
    runner = os.getppid()
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda *_: None)  # not ignored, as commands that are owed would inherit that
    for folder in Path(tempfile.gettempdir()).resolve().glob(f"{prefix}*"):
        _clear_abandoned(folder, worktrees)
    for notes in Path(worktrees).glob(f"{prefix}*") if worktrees else ():
        with suppress(OSError):
            folder = Path((notes / "gitdir").read_text().strip()).parent.parent
            if notes.name.startswith(f"{folder.name}-"):
                _clear_abandoned(folder, worktrees)
    folder = _new(prefix)
    with suppress(OSError):  # the other process may be dead already
        print(folder, flush=True)
    owed: list[tuple[str, str]] = []
    for line in sys.stdin:
        with suppress(ValueError):  # it died while it wrote
            owed = json.loads(line)
    _end(lambda process: _runs_for(process, folder))
    if owed:
        _await_meters(runner)
        for command, where in owed:
            with suppress(OSError):
                subprocess.run(  # noqa: S603
                    ["/bin/sh", "-c", command],
                    cwd=where,
                    env={**os.environ, MARK: str(folder)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    check=False,
                )
    _clear(folder, worktrees)
    if folder.exists():
        print(folder, flush=True)


def _new(prefix: str) -> Path:
    """Make a folder and lock it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
        # Another janitor may take it for one that was left, and remove it.
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
            folder.stat()
            return folder


def _clear_abandoned(folder: Path, worktrees: str) -> None:
    """Clear a folder whose janitor is dead, if it exists and is this user's."""
    with suppress(OSError), _held(folder):
        _clear(folder, worktrees)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock a folder while entered; an OSError means that it is gone, in use, or another user's."""
    try:
        about = folder.lstat()
    except FileNotFoundError:
        yield
        return
    if about.st_uid != os.geteuid() or not stat.S_ISDIR(about.st_mode):
        raise PermissionError
    descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _clear(folder: Path, worktrees: str) -> None:
    """End the processes of a folder, and remove it with git's notes of worktrees in it."""
    _end(lambda process: _runs_for(process, folder))
    _remove(folder)
    if worktrees:
        for notes in Path(worktrees).glob(f"{folder.name}-*"):
            _remove(notes)
        with suppress(OSError):
            Path(worktrees).rmdir()  # only if it is empty, as git does


def _end(is_meant: Callable[[Path], bool]) -> None:
    """End processes, including those that they start meanwhile."""
    for _ in range(_ROUNDS):
        running = [process for process in Path("/proc").glob("[0-9]*") if is_meant(process)]
        if not running:
            return
        for process in running:
            with suppress(OSError):
                os.kill(int(process.name), signal.SIGKILL)
        time.sleep(0.01)


def _await_meters(runner: int) -> None:
    """Wait until a dead runner's processes have ended; cleanups must come later."""
    for _ in range(_ROUNDS):
        if not any(_is_meter(process, runner) for process in Path("/proc").glob("[0-9]*")):
            return
        time.sleep(0.01)


def _is_meter(process: Path, runner: int) -> bool:
    """Return whether a process is an `assay-meter` of this runner, by its second argument."""
    with suppress(OSError):
        words = (process / "cmdline").read_bytes().split(b"\0")
        return words[0].endswith(b"assay-meter") and words[2:3] == [str(runner).encode()]
    return False


def _runs_for(process: Path, folder: Path) -> bool:
    """Return whether a process (its folder in /proc) was started for, from or in the folder."""
    with suppress(OSError):
        if f"{MARK}={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
            return True
        if (process / "exe").readlink().is_relative_to(folder):
            return True
        # A shell in which somebody looks at a worktree has a terminal; what the runner starts has none.
        terminal = (process / "stat").read_text().rpartition(")")[2].split()[4]
        return terminal == "0" and (process / "cwd").readlink().is_relative_to(folder)
    return False


def _remove(folder: Path) -> None:
    """Remove a folder, even if a build made read-only folders in it, as Go does."""
    for parent, children, _ in os.walk(folder):
        for child in (Path(parent, name) for name in children):
            if not child.is_symlink():
                with suppress(OSError):
                    child.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
