"""Clears up after a process, however that process ends; a program of its own (see `temporary.py`).

It makes a temporary folder, prints its path, and waits until its standard input closes: the process that
holds the other end needs the folder no more, or is dead, by `kill -9` for instance. Then it ends what still
runs for the folder and removes it, and git's notes of worktrees in it.

First it clears up after janitors that were killed themselves: each holds a lock on its folder. `git worktree
prune` would also forget worktrees of the user on a disk that is not mounted, and `git worktree remove` does
not know a worktree whose `git worktree add` was killed. Where the notes are, gitrepository-layout(5) says.
"""

import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "assay-versions-"
MARK = "ASSAY_TEMPORARY"
"""The variable of the environment that marks what runs for a folder."""

_ROUNDS = 1000
"""How often processes are looked for that a dying one may have started; 10 s in all."""


def main(worktrees: str = "") -> None:
    """Serve one folder; `worktrees` is where the repository keeps what it knows of its worktrees."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    for notes in Path(worktrees).glob(f"{_PREFIX}*") if worktrees else ():
        with suppress(OSError):
            abandoned = Path((notes / "gitdir").read_text().strip()).parent.parent
            if notes.name.startswith(f"{abandoned.name}-") and not _is_served(abandoned):
                _clear(abandoned, worktrees)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX)
    with suppress(OSError):  # the other process may be dead already
        print(folder, flush=True)
    sys.stdin.buffer.read()
    _clear(folder, worktrees)
    if folder.exists():
        print(folder, flush=True)


def _is_served(folder: Path) -> bool:
    """Return whether a folder is there whose janitor lives."""
    with suppress(FileNotFoundError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


def _clear(folder: Path, worktrees: str) -> None:
    """End what runs for a folder, and remove it with git's notes of worktrees in it."""
    for _ in range(_ROUNDS):
        running = [process for process in Path("/proc").glob("[0-9]*") if _runs_for(process, folder)]
        if not running:
            break
        for process in running:
            with suppress(OSError):
                os.kill(int(process.name), signal.SIGKILL)
        time.sleep(0.01)
    _remove(folder)
    if worktrees:
        for notes in Path(worktrees).glob(f"{folder.name}-*"):
            _remove(notes)
        with suppress(OSError):
            Path(worktrees).rmdir()  # only if it is empty, as git does


def _runs_for(process: Path, folder: Path) -> bool:
    """Return whether a process, a folder of /proc, was started for the folder, from it or in it."""
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
    """Remove a folder, also where a build made folders in it that nobody may write, as Go does."""
    for parent, children, _ in os.walk(folder):
        for child in (Path(parent, name) for name in children):
            if not child.is_symlink():
                with suppress(OSError):
                    child.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
