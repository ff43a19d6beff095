"""A temporary folder that is removed however this process ends, with all processes that run for it."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from assay.errors import AssayError
from assay.runner import janitor


class Temporary:
    """While entered, `folder` exists.

    A process in its own session waits for the end and removes it (`janitor.py`), after an ordinary end, an
    exception, Ctrl-C or `kill -9` alike. It also makes the folder, so that it is responsible at any moment.

    Attributes:
        folder: the path, without symbolic links.
        variables: environment variables for all processes that are started for the folder; they end with it.
    """

    def __init__(self, prefix: str, worktrees: Path | None = None) -> None:
        """Take the start of its name, and git's folder of worktree notes if worktrees are made in it.

        When it is made, folders with the same prefix whose janitors were killed are removed.
        """
        self._prefix = prefix
        self._worktrees = worktrees

    def __enter__(self) -> "Temporary":
        """Make the folder, under TMPDIR if that is set.

        Raises:
            AssayError: it cannot be made.
        """
        self._janitor = subprocess.Popen(  # noqa: S603
            # The standard library is all that it needs: it starts in a few hundredths of a second.
            [
                sys.executable,
                "-I",
                "-S",
                janitor.__file__,
                self._prefix,
                *([str(self._worktrees)] if self._worktrees else []),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            text=True,
        )
        assert self._janitor.stdout is not None
        path = self._janitor.stdout.readline().rstrip("\n")
        if not path:
            self.close()
            raise AssayError(
                f"no temporary folder can be made in {tempfile.gettempdir()}; "
                "make room there, or set TMPDIR to another place"
            )
        self.folder = Path(path)
        self.variables = {janitor.MARK: path}
        return self

    def owe(self, commands: Sequence[tuple[str, Path]]) -> None:
        """Have these commands run in their folders if this process dies before the next call."""
        assert self._janitor.stdin is not None
        text = json.dumps([(command, str(where)) for command, where in commands])
        with suppress(BrokenPipeError):  # the janitor was killed
            self._janitor.stdin.write(f"{text}\n")
            self._janitor.stdin.flush()

    def __exit__(self, *_: object) -> None:
        """Remove the folder."""
        self.close()

    def close(self) -> str:
        """Remove the folder; return its path if something in it cannot be removed, else nothing."""
        left, _ = self._janitor.communicate()
        return left.rstrip("\n")
