"""Writes the files that people read: whole, or not at all."""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from assay.errors import AssayError

STANDARD_OUTPUT = Path("-")
"""The name of a file that is standard output."""


def write(file: Path, content: str | bytes, option: str = "--output") -> Path:
    """Write a file, and the folder that it is in, so that it is there as a whole or not at all.

    What UTF-8 cannot express (half a surrogate pair) becomes a question mark.

    Args:
        file: what is written; one that is there already is replaced. `-` is standard output.
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
    part = file.with_name(f"{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(file)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise _cannot_write(file, error, option) from error
    return file


def check_writable(file: Path, option: str) -> None:
    """Refuse a file that `write` could not write: before what takes long, not after it.

    Raises:
        AssayError: it cannot be written.
    """
    if file == STANDARD_OUTPUT:
        return
    try:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.part")
        part.touch()
        part.unlink()
    except OSError as error:
        raise _cannot_write(file, error, option) from error


def _cannot_write(file: Path, error: OSError, option: str) -> AssayError:
    return AssayError(
        f"cannot write {file}: {error.strerror}; free space, or choose another folder with {option}"
    )
