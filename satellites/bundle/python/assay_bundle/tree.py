"""The files of a bundle before they are packed: a root file system, in which its Python and programs run.

README.md, replay                what to read, and what to run, first
experiment.toml, experiment.json, plan.json, host.json, store.sqlite, site/
project/                         files of the experiment's project that trials need
programs/                        Assay's programs, and those from elsewhere
python/                          the interpreter, its library and packages, with Assay
lib*/, bin/, usr/                shared libraries and system programs, under their own names
sources/, licences/
ro-crate-metadata.json, bundle.json, SHA256SUMS
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError

SUMS = "SHA256SUMS"
"""The file with the digests of all others."""

PROJECT, PROGRAMS = "/project", "/programs"
"""The folders of a bundle's root for the experiment's project and for programs."""


@dataclass(frozen=True)
class Entry:
    """One file of a bundle.

    Attributes:
        content: its bytes, or the file that has them.
        executable: whether it can be started.
    """

    content: Path | bytes
    executable: bool = False

    @property
    def name(self) -> str:
        """The file that has its bytes."""
        return "one made here" if isinstance(self.content, bytes) else str(self.content)

    @property
    def size(self) -> int:
        """The number of its bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def read(self) -> bytes:
        """Return its bytes."""
        return self.content if isinstance(self.content, bytes) else self.content.read_bytes()


Tree = dict[str, Entry]
"""Path within the bundle -> the file."""


def added(tree: Tree, more: Tree) -> None:
    """Add files to a tree.

    Raises:
        AssayError: a path has another content already.
    """
    for path, entry in more.items():
        if path in tree and tree[path].content != entry.content and tree[path].read() != entry.read():
            raise AssayError(
                f"two files that differ would be {path} in a bundle, {tree[path].name} and {entry.name}; let"
                " all programs use one of them"
            )
        tree.setdefault(path, entry)


def files_below(folder: Path, at: str, skipped: Iterable[str] = ()) -> Tree:
    """Return the files of a folder at a path of the bundle, without those with a part that is skipped."""
    left_out = {"__pycache__", *skipped}
    return {
        f"{at}/{path.relative_to(folder)}": Entry(path)
        for path in folder.rglob("*")
        if path.is_file() and left_out.isdisjoint(path.relative_to(folder).parts)
    }
