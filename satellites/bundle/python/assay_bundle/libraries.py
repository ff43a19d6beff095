"""Finds the shared libraries that programs need, with the dynamic loader, as `ldd` names them."""

import re
import subprocess
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from assay.errors import AssayError
from assay.words import listed_briefly
from assay_bundle.tree import Entry, Tree, added

OF_LIBRARY = "library "
"""How names of facts about libraries begin in what is known of a host of a campaign on several."""

_ELF = b"\x7fELF"
_FILES_AT_ONCE = 100
_LIBRARY = re.compile(r"^\t(\S+)(?: => (\S.*?))? \(0x[0-9a-f]+\)$")
_MISSING = re.compile(r"^\t(\S+) => not found$")


def is_elf(file: Path) -> bool:
    """Return whether a file is a program or a library of the system's own format."""
    with file.open("rb") as opened:
        return opened.read(4) == _ELF


def libraries_of(files: Collection[Path], carried: Path | None = None) -> Tree:
    """Return the libraries and loaders that files need, where the loader of a bundle looks for them.

    A library from a folder of the system keeps its path. Any other lies next to the C library, which is where
    every loader looks.

    Args:
        files: programs and libraries; those of another format, or without libraries, need none.
        carried: a folder that is in the bundle as it is, whose libraries need no second place and find each
            other when a program has loaded them.

    Raises:
        AssayError: a library is missing.
    """
    needed: dict[str, Path] = {}
    ordered = sorted(file for file in files if is_elf(file))
    for first in range(0, len(ordered), _FILES_AT_ONCE):
        some = ordered[first : first + _FILES_AT_ONCE]
        for line in _ldd(some):
            if carried is None and (missing := _MISSING.match(line)):
                raise AssayError(f"a program of the campaign needs {missing[1]}, which is not installed here")
            if (match := _LIBRARY.match(line)) and (match[2] or match[1].startswith("/")):
                path = Path(match[2] or match[1])
                if carried is None or not path.is_relative_to(carried):
                    needed[str(path if match[2] is None else path.with_name(Path(match[1]).name))] = path
    beside_libc = next((Path(name).parent for name in needed if Path(name).name.startswith("libc.so")), None)
    tree: Tree = {}
    for name, file in needed.items():
        of_system = Path(name).parts[1] in {"lib", "lib32", "lib64", "usr"}
        place = Path(name) if of_system or beside_libc is None else beside_libc / Path(name).name
        added(tree, {str(place).lstrip("/"): Entry(file.resolve(), executable=True)})
    return tree


def other_libraries(tree: Tree, hosts: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return in words which hosts measured with other libraries than a bundle has.

    Args:
        tree: the bundle's files.
        hosts: name -> the settings in its records, with the start of the digest of each library.
    """
    ours = {PurePosixPath(path).name: entry for path, entry in tree.items()}
    others: dict[str, list[str]] = {}
    for host, settings in hosts.items():
        for name, digest in settings.items():
            entry = ours.get(name.removeprefix(OF_LIBRARY)) if name.startswith(OF_LIBRARY) else None
            if entry is not None and not sha256(entry.read()).hexdigest().startswith(digest):
                others.setdefault(name.removeprefix(OF_LIBRARY), []).append(host)
    return [
        f"{name} of {listed_briefly(names)}, which had another version than the machine that wrote the bundle"
        for name, names in sorted(others.items())
    ]


def _ldd(files: list[Path]) -> list[str]:
    command = ["ldd", *map(str, files)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise AssayError(
            f"ldd cannot be started: {error.strerror}; it finds the libraries of programs"
        ) from error
    return done.stdout.splitlines()
