"""The journal: what was there before each change, so that it can be put back whatever happens.

A file of JSON that says whose it is (host, boot, when) and what is to be put back. It is replaced as a whole,
and is on the disk, before a change is made. While there is no file, there is nothing to put back.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from assay.errors import AssayError
from assay.host.private import open_private, read_private
from assay.host.system import System

_VERSION = 2
_OF_ALL = "sys/devices/system/cpu"


@dataclass(frozen=True)
class Change:
    """One value that is to be changed.

    Attributes:
        setting: the name of the setting that wants it.
        place: where the value stands.
        was, to: the value before, and that which is wanted.
    """

    setting: str
    place: str
    was: str
    to: str


@dataclass
class Pending:
    """What is to be put back in a place.

    Attributes:
        was: the value before our first change.
        ours: all values that we have put there since.
    """

    setting: str
    was: str
    ours: list[str] = field(default_factory=list)


@dataclass
class _Content:
    """What the file says."""

    version: int
    machine: str
    name: str
    boot: str
    since: str
    pending: dict[str, Pending]


_CONTENT = TypeAdapter(_Content)


class Journal:
    """The journal of this machine. Open it with `open_journal`, which holds its lock.

    Attributes:
        path: its file.
        boot: the boot in which it was begun, "" while there is none.
        since: when it was begun, as text.
        locks: open files that hold its lock and the machine's.
        pending: place -> what is to be put back there, in the order of the first changes.
    """

    def __init__(self, path: Path, system: System, locks: Sequence[int]) -> None:
        self.path = path
        self.locks = locks
        self._system = system
        self.boot, self.since = "", ""
        self.pending: dict[str, Pending] = {}
        self._read()

    def announce(self, changes: Sequence[Change]) -> None:
        """Have changes on the disk before they are made.

        Raises:
            AssayError: they could not be written; nothing may be changed then.
        """
        boot = self.boot or self._system.boot
        since = self.since or f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        pending = deepcopy(self.pending)
        for change in changes:
            pending.setdefault(change.place, Pending(change.setting, change.was)).ours.append(change.to)
        content = _Content(_VERSION, self._system.machine, self._system.name, boot, since, pending)
        part = self.path.with_name(f"{self.path.name}.part")
        try:
            file = open_private(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                data = _CONTENT.dump_json(content, indent=1)
                while data:
                    data = data[os.write(file, data) :]
                os.fsync(file)
            finally:
                os.close(file)
            part.replace(self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            raise AssayError(
                f"cannot write the journal {self.path}: {error.strerror}; nothing was changed"
            ) from error
        self.boot, self.since, self.pending = boot, since, pending

    def forget(self) -> None:
        """Remove it: everything is put back."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        _sync_folder(self.path.parent)
        self.boot, self.since = "", ""
        self.pending.clear()

    def _read(self) -> None:
        try:
            content = _CONTENT.validate_json(read_private(self.path))
        except FileNotFoundError:
            return
        except OSError as error:
            raise AssayError(f"cannot read the journal {self.path}: {error.strerror}; run as root") from error
        except ValidationError as error:
            raise AssayError(
                f"{self.path}: the journal is damaged, and nothing was changed: put back by hand what it says"
                " that was there, then remove it"
            ) from error
        if content.version != _VERSION:
            raise AssayError(f"{self.path} comes from another version of Assay: restore with that")
        if content.machine != self._system.machine:
            raise AssayError(
                f"{self.path} is the journal of another host, {content.name}: restore there; if that host is"
                " gone, remove the file"
            )
        self.boot, self.since, self.pending = content.boot, content.since, content.pending


def journal_folder() -> Path:
    """Return where this user's journal is: of root in /var/lib/assay, of others among their own files."""
    if named := os.environ.get("ASSAY_HOST_STATE"):
        return Path(named)
    if os.geteuid() == 0:
        return Path("/var/lib/assay")
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "assay"
    except RuntimeError as error:
        raise AssayError(
            "this user has no home folder: name one for the journal, ASSAY_HOST_STATE"
        ) from error


@contextmanager
def open_journal(folder: Path, system: System) -> Iterator[Journal]:
    """Open the journal in a folder, and have nobody else tune this machine meanwhile.

    Users have journals of their own; so a folder of /sys is locked too, which is the same for all of them.

    Raises:
        AssayError: another process has it; it is damaged, of another host, or cannot be read or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open_private(folder / "host.lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise AssayError(
            f"cannot write to {folder}, where the journal belongs: {error.strerror}; nothing was changed;"
            " name another folder with ASSAY_HOST_STATE"
        ) from error
    locks = [lock]
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip()
            raise AssayError(
                f"another assay (process {holder or 'unknown'}) tunes this host: wait until it has ended"
            ) from error
        with suppress(FileNotFoundError):  # where it is not, there is little to tune
            locks.append(os.open(system.root / _OF_ALL, os.O_RDONLY | os.O_CLOEXEC))
            try:
                fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise AssayError(
                    f"another assay tunes this host, whose journal is not in {folder}: wait until it ends"
                ) from error
        os.truncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield Journal(folder / "host.journal", system, locks)
    finally:
        for file in reversed(locks):
            os.close(file)


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
