"""Writes the files that people read: whole, or not at all."""

import errno
import os
import re
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from assay.errors import AssayError

STANDARD_OUTPUT = Path("-")
"""The name of a file that is standard output."""

_LINKS_AT_MOST = 40  # as the kernel follows


def write(file: Path, content: str | bytes, option: str = "--output") -> Path:
    """Write a file, and the folder that it is in, so that it is there as a whole or not at all.

    Links are followed. A plain file is replaced and keeps its mode and, where that is allowed, its owner.
    Devices, pipes and sockets are written to. What UTF-8 cannot express (half a surrogate pair) becomes a
    question mark.

    Args:
        file: what is written. `-` is standard output.
        content: text, or bytes.
        option: of the command line, which names another folder.

    Raises:
        AssayError: it cannot be written.
    """
    data = content.encode(errors="replace") if isinstance(content, str) else content
    if file == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return file
    try:
        if _is_plain(file):
            with whole_file(file, option) as part:
                part.write_bytes(data)
        else:
            with _open(file) as opened:
                opened.write(data)
    except OSError as error:
        raise _cannot_write(file, error, option) from error
    return file


@contextmanager
def whole_file(file: Path, option: str = "--output") -> Iterator[Path]:
    """Yield an empty part, which becomes a plain file at the end of the block, or is removed.

    Links, mode and owner are as in `write`, which is shorter for what fits into memory.

    Args:
        file: what is written.
        option: of the command line, which names another folder.

    Raises:
        AssayError: it cannot be written.
    """
    try:
        real = Path(os.path.realpath(file))
        part = _part_of(real)
        try:
            with part.open("xb") as opened, suppress(FileNotFoundError):
                before = real.stat()
                with suppress(PermissionError):
                    os.fchown(opened.fileno(), before.st_uid, before.st_gid)
                os.fchmod(opened.fileno(), stat.S_IMODE(before.st_mode))
            yield part
            part.replace(real)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot_write(file, error, option) from error


def check_writable(file: Path, option: str) -> None:
    """Refuse a file that `write` could not write: before what takes long, not after it.

    Nothing is opened, as the reader of a pipe would see its end.

    Raises:
        AssayError: it cannot be written.
    """
    if file == STANDARD_OUTPUT:
        return
    try:
        if _is_plain(file):
            part = _part_of(Path(os.path.realpath(file)))
            part.touch()
            part.unlink()
        elif file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        elif not os.access(file, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _cannot_write(file, error, option) from error


def _is_plain(file: Path) -> bool:
    """Tell whether a path leads to a plain file, or to nothing yet."""
    if _descriptor(file) is not None:
        return False
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return True


def _part_of(file: Path) -> Path:
    """Return what holds the content of a file until it is whole; nothing of that name is there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)  # of a process of the same number, which was killed
    return part


def _open(file: Path) -> IO[bytes]:
    """Open what is not a plain file as it is."""
    descriptor = _descriptor(file)
    if descriptor is not None:
        sys.stdout.flush()
        return os.fdopen(os.dup(descriptor), "wb")
    if file.is_socket():
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(file))
            return peer.makefile("wb")
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_NOCTTY), "wb")


def _descriptor(file: Path) -> int | None:
    """Return which of this process's own open files a path leads to, as /dev/stdout and /dev/fd/3 do.

    What is open is written to where it is: opened anew, a file would be written from its beginning, and a
    socket cannot be opened.
    """
    path = file.absolute()
    for _ in range(_LINKS_AT_MOST):
        folder = os.path.realpath(path.parent)
        if re.fullmatch(rf"/proc/{os.getpid()}(/task/\d+)?/fd", folder) and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = Path(folder, path.readlink())
    return None


def _cannot_write(file: Path, error: OSError, option: str) -> AssayError:
    why = error.strerror or str(error)
    remedy = "free space, or name" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "name"
    return AssayError(f"cannot write {file}: {why}; {remedy} another place with {option}")
