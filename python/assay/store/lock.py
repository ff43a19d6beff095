"""One runner for a store at a time: two campaigns on one host would measure each other."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import AssayError
from assay.store.faults import located, make_folder


@contextmanager
def runner_lock(path: Path) -> Iterator[None]:
    """Hold the right to run trials into the store at `path`.

    It is a lock of the kernel on a file beside the store's, whose name has `.lock` added and which holds the
    owner's process id. The kernel releases it when its owner ends, however it ends; the file stays and means
    nothing by itself.

    Raises:
        AssayError: another process holds it, `path` cannot be a store, or the file cannot be written.
    """
    file = located(path)
    make_folder(file)
    lock = file.with_name(file.name + ".lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise AssayError(
            f"cannot write {lock}: {error.strerror}; choose another store with --store"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            raise AssayError(
                f"another runner (process {owner or 'unknown'}) is running trials into {path}: wait until it "
                "ends, or stop it with Ctrl-C; trials that ran together would disturb each other"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
