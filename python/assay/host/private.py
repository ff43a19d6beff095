"""Files that only this user can have written: opened without waiting, and never through a link."""

import os
import stat
from pathlib import Path

from assay.errors import AssayError

LONGEST_BYTES = 2**26
"""The largest file that is read, bytes."""


def open_private(file: Path, flags: int, *, or_of_root: bool = False) -> int:
    """Open a file; if `flags` say so, create it for this user alone.

    Raises:
        OSError: it cannot be opened.
        AssayError: it is a link, a device, a pipe or a folder, or another user's.
    """
    if file.is_symlink():  # O_NOFOLLOW refuses one that comes now, but does not say what it is
        raise AssayError(f"{file} is a link, which could lead anywhere: remove it")
    # A pipe would wait for its other end.
    opened = os.open(file, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    found = os.fstat(opened)
    owners = {os.getuid(), 0} if or_of_root else {os.getuid()}
    if not stat.S_ISREG(found.st_mode):
        wrong = "is not a plain file"
    elif found.st_uid not in owners:
        wrong = "belongs to another user"
    else:
        return opened
    os.close(opened)
    raise AssayError(f"{file} {wrong}: remove it, or name another folder")


def read_private(file: Path, *, or_of_root: bool = False) -> bytes:
    """Return the content of a file; see `open_private`.

    Raises:
        OSError: it cannot be read.
        AssayError: it is not such a file, or is too long.
    """
    with os.fdopen(open_private(file, os.O_RDONLY, or_of_root=or_of_root), "rb") as opened:
        data = opened.read(LONGEST_BYTES + 1)
    if len(data) > LONGEST_BYTES:
        raise AssayError(f"{file} is longer than {LONGEST_BYTES >> 20} MiB: nothing here writes that much")
    return data
