"""What SQLite reports, as messages that a person can act on."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from assay.errors import AssayError

BUSY_TIMEOUT_S = 30.0
"""How long a process waits for another that is writing."""


def located(path: Path) -> Path:
    """Return the file that a store's path leads to, all links followed, whether it is there or not.

    SQLite keeps its own files beside that one, and two names of one file must mean one lock.

    Raises:
        AssayError: it leads to something that is not a regular file.
    """
    file = Path(os.path.realpath(path))
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return file
    except OSError as error:
        raise AssayError(
            f"cannot open {path}: {error.strerror}; choose another store with --store"
        ) from error
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise AssayError(f"{path} is {what}: name a file with --store, such as results/assay.sqlite")
    return file


def make_folder(file: Path) -> None:
    """Make the folder that a store's file is to be in.

    Raises:
        AssayError: it cannot be made.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (
            "a part of it is a file"
            if isinstance(error, FileExistsError | NotADirectoryError)
            else error.strerror
        )
        raise AssayError(
            f"cannot create the folder {file.parent}: {reason}; choose another store with --store"
        ) from error


@contextmanager
def explained(path: Path, after_full: str = "try again") -> Iterator[None]:
    """Turn what goes wrong with a store's file into an AssayError.

    `after_full` says what to do once there is space on a full disk.
    """
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            _raise_explained(error.orig, path, after_full)
        raise
    except sqlite3.Error as error:
        _raise_explained(error, path, after_full)
        raise


def damaged(path: Path, what: str) -> AssayError:
    """Return the error for a file that cannot be read as a store."""
    return AssayError(
        f"{path} is not a store, or is damaged ({what}). It was left as it is: move it away "
        f"(mv {path} {path}.damaged) and run again, or choose another store with --store"
    )


def _raise_explained(error: sqlite3.Error, path: Path, after_full: str) -> None:
    # The low byte of SQLite's code is the kind of error; errors of the Python module have none.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            raise damaged(path, str(error)) from error
        case sqlite3.SQLITE_FULL:
            raise _full(path, after_full) from error
        case sqlite3.SQLITE_IOERR:
            if shutil.disk_usage(path.parent).free < 1 << 20:
                raise _full(path, after_full) from error
            raise AssayError(f"cannot read or write {path}: {error}; see the system's log (dmesg)") from error
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            raise AssayError(
                f"cannot open {path}: {error}. SQLite needs to write in {path.parent}{os.sep}, even to read; "
                "choose or copy to another place and name it with --store"
            ) from error
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            raise AssayError(
                f"another process has locked {path} for {BUSY_TIMEOUT_S:.0f} s; try again when it ends"
            ) from error


def _full(path: Path, after_full: str) -> AssayError:
    return AssayError(
        f"the disk that holds {path} is full; nothing that ended before is lost: free space and {after_full}"
    )
