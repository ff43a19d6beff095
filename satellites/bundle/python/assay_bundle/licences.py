"""The licences of what a bundle carries: of Assay, of Python's packages, and of Debian's packages."""

import subprocess
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path

from assay_bundle.tree import Entry, Tree

_NAMES = ("LICEN", "COPYING", "NOTICE", "AUTHORS")


def licences(tree: Tree, distributions: Iterable[Distribution]) -> Tree:
    """Return the licence files that are on this machine, each under its package's name."""
    found: Tree = {}
    for distribution in distributions:
        at = f"licences/python/{distribution.metadata['Name'].lower()}"
        for file in distribution.files or ():
            if ".dist-info/" in file.as_posix() and file.name.upper().startswith(_NAMES):
                found[f"{at}/{file.name}"] = Entry(Path(str(file.locate())))
    python = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    if python.is_file():
        found["licences/python/python/LICENSE.txt"] = Entry(python)
    for package in sorted(set(_debian_packages(tree))):
        text = Path("/usr/share/doc", package, "copyright")
        if text.is_file():
            found[f"licences/debian/{package}"] = Entry(text)
    return found


def _debian_packages(tree: Tree) -> Iterator[str]:
    """Yield the Debian packages that own files of the system; none on another system."""
    of_system = [
        str(name)
        for entry in tree.values()
        if isinstance(entry.content, Path) and entry.executable
        for name in _names(entry.content)
    ]
    try:
        done = subprocess.run(["dpkg", "--search", *of_system], capture_output=True, text=True, check=False)  # noqa: S603, S607
    except OSError:
        return
    for line in done.stdout.splitlines():
        yield line.partition(": ")[0].partition(":")[0]


def _names(file: Path) -> tuple[str, ...]:
    """Return the names by which dpkg may know a file: since /lib leads to /usr/lib, some have the old one."""
    return (str(file), str(file).removeprefix("/usr")) if str(file).startswith("/usr/") else (str(file),)
