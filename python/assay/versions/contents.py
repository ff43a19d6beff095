"""Checks that a worktree has the user's files: git's settings can check the same commit out differently."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote

from assay.errors import AssayError
from assay.experiment.types import Revision
from assay.versions.git import differing, git, names
from assay.words import counted, printable

SUBMODULE = "160000"
"""The mode of a submodule's entry in a tree."""

_POINTERS = {
    b"version https://git-lfs.github.com/spec/": ("git-lfs", "git lfs pull"),
    b"/annex/objects/": ("git-annex", "git annex get"),
}
_POINTER_AT_MOST = 1024  # bytes
_ANNEX = ".git/annex/objects/"
_ATTRIBUTES = ("text", "eol", "crlf", "ident", "filter", "working-tree-encoding")
_UNSET = ("unspecified", "unset")


class OtherFilesError(AssayError):
    """A worktree of a revision has other files than the user."""

    def __init__(self, revision: Revision, differences: Mapping[str, str]) -> None:
        [(name, why), *more] = differences.items()
        others = f" (and {counted(more, 'further file')})" if more else ""
        super().__init__(
            f"what {revision} would measure is not what you have: {printable(name)}{others} {why}"
        )


def require_same(revision: Revision, folder: Path, root: Path, commit: str) -> None:
    """Check that a new checkout has the same files as the user's checkout of the same commit.

    Args:
        revision: for messages, and for the files that are not committed.
        folder: the checkout, of the revision or of one of its submodules.
        root: the user's checkout.
        commit: the commit that is checked out.

    Raises:
        OtherFilesError: a file is another one, or a pointer to one.
    """
    entries = {name: facts for name, facts in entries_of(folder).items() if facts[0] != SUBMODULE}
    differences = {name: why for name in entries if (why := _pointer(folder / name))}
    if not differences and (root / ".git").exists():
        others = set(differing(root, commit)) - _unchanged(revision, root, entries)
        same = (name for name in entries if name not in others)
        differences = {name: why for name in same if (why := _difference(name, root, folder))}
    if differences:
        raise OtherFilesError(revision, differences)


def entries_of(folder: Path) -> dict[str, list[str]]:
    """Return file -> mode, kind and hash in the commit that is checked out."""
    entries = (entry.partition("\t") for entry in names(git(folder, "ls-tree", "-r", "-z", "HEAD")))
    return {path: facts.split() for facts, _, path in entries}


def _unchanged(revision: Revision, root: Path, entries: Mapping[str, list[str]]) -> set[str]:
    """Return the new files of a working tree that have not changed since; git compares only known files."""
    new = [name for name in revision.changed if name in entries and (root / name).is_file()]
    hashes = git(root, "hash-object", "--", *new).split() if new else []
    return {name for name, found in zip(new, hashes, strict=True) if entries[name][2] == found}


def _pointer(path: Path) -> str:
    """Return the remedy if a file is only a pointer to another one; else ""."""
    if path.is_symlink():
        found = None if path.exists() or _ANNEX not in str(path.readlink()) else b"/annex/objects/"
    elif path.is_file() and path.stat().st_size <= _POINTER_AT_MOST:
        content = path.read_bytes()
        found = next((start for start in _POINTERS if content.startswith(start)), None)
    else:
        found = None
    if found is None:
        return ""
    tool, get = _POINTERS[found]
    return f"is a pointer of {tool} and not the file itself; get it: {get}"


def _difference(name: str, root: Path, folder: Path) -> str:
    """Return how a file in a new checkout differs from the user's, with the remedy; "" if it does not."""
    theirs, ours = root / name, folder / name
    if not os.path.lexists(theirs):
        return ""  # a sparse checkout leaves it out
    if not os.path.lexists(ours):
        return "is not in a new checkout, which is sparse; take it in: git sparse-checkout add, or: disable"
    again = f"write yours anew: rm {quote(name)} && git checkout -- {quote(name)}"
    if theirs.is_symlink() or ours.is_symlink():
        is_same = theirs.is_symlink() and ours.is_symlink() and theirs.readlink() == ours.readlink()
        return "" if is_same else f"is another link, or a file for a link (core.symlinks); {again}"
    if _is_executable(theirs) != _is_executable(ours):
        mode, where = ("+x", "your") if _is_executable(theirs) else ("-x", "a new")
        return (
            f"is executable only in {where} checkout (core.fileMode);"
            f" commit what you have: git update-index --chmod={mode} {quote(name)}"
        )
    is_same = theirs.stat().st_size == ours.stat().st_size and theirs.read_bytes() == ours.read_bytes()
    return "" if is_same else _other_bytes(name, root, folder, again)


def _other_bytes(name: str, root: Path, folder: Path, again: str) -> str:
    flag = git(root, "ls-files", "-v", "--", name)[:1]
    if flag.islower() or flag == "S":
        kind = "skip-worktree" if flag in "Ss" else "assume-unchanged"
        return f"has changes that git ignores; let it see them: git update-index --no-{kind} {quote(name)}"
    ours, theirs = ((top / name).read_bytes() for top in (folder, root))
    reasons = ", ".join(_reasons(name, folder)) or "a setting of git changed since your files were written"
    what = "has other bytes in a new checkout than in yours"
    remedy = again
    if ours.replace(b"\r\n", b"\n") == theirs.replace(b"\r\n", b"\n"):
        what = f"ends lines with {_ends(ours)} in a new checkout, and with {_ends(theirs)} in yours"
        if "core.autocrlf=true" in reasons:
            remedy = f"keep yours: git config core.autocrlf input; or {again}"
    return f"{what} ({reasons}); {remedy}"


def _is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & stat.S_IXUSR)


def _ends(content: bytes) -> str:
    pairs = content.count(b"\r\n")
    return "LF" if not pairs else "CR LF" if pairs == content.count(b"\n") else "LF and CR LF"


def _reasons(name: str, folder: Path) -> Iterator[str]:
    """Yield the settings and attributes with which git changes a file when it checks it out."""
    fields = names(git(folder, "check-attr", "-z", *_ATTRIBUTES, "--", name))
    for attribute, value in zip(fields[1::3], fields[2::3], strict=True):
        if value not in _UNSET:
            yield f"{attribute}={printable(value)} in .gitattributes"
    settings = dict(
        setting.split("\n", 1) for setting in names(git(folder, "config", "-z", "--list")) if "\n" in setting
    )
    yield from (f"{key}={settings[key]}" for key in ("core.autocrlf", "core.eol") if key in settings)
