"""A user's git repository for tests."""

import subprocess
from pathlib import Path

WITH_LOCAL_SUBMODULES = ("-c", "protocol.file.allow=always")


class ExampleRepository:
    """A repository with one commit, of a file `speed` that says 1."""

    def __init__(self, root: Path) -> None:
        """Make it in a new folder."""
        self.root = root
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.first = self.commit("First", speed="1\n")

    def git(self, *arguments: str) -> str:
        """Return what git prints."""
        words = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@localhost", *arguments]
        ended = subprocess.run(words, cwd=self.root, check=True, capture_output=True, text=True)  # noqa: S603
        return ended.stdout.rstrip()

    def commit(self, message: str, **files: str) -> str:
        """Write files and commit all that has changed; return the commit."""
        for name, text in files.items():
            (self.root / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def add_submodule(self, path: str, part: "ExampleRepository") -> str:
        """Add a submodule, with its own; return the commit."""
        self.git(*WITH_LOCAL_SUBMODULES, "submodule", "--quiet", "add", str(part.root), path)
        self.git(*WITH_LOCAL_SUBMODULES, "submodule", "--quiet", "update", "--init", "--recursive")
        return self.commit(f"With {path}")

    def everything(self) -> dict[str, bytes]:
        """Return all files, git's too: index, HEAD, branches, stash, worktrees, settings; not objects."""
        objects = self.root / ".git" / "objects"
        files = (path for path in sorted(self.root.rglob("*")) if path.is_file())
        return {str(path): path.read_bytes() for path in files if objects not in path.parents}
