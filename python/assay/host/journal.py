"""The journal: the values before each change, so that they can be restored whatever happens.

Each line of the file is a checksum and a JSON object. The first line has host, boot and time. Every other
line announces a change, and is on the disk before the change is made. An incomplete last line announced a
change that was never made. Without a file, nothing has to be restored. The readable lines of a damaged file
are restored on request; the file is then kept under another name.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from assay.errors import AssayError
from assay.host.private import open_private, read_private
from assay.host.system import System

_VERSION = 1
_OF_ALL = "sys/devices/system/cpu"
_PATIENCE_S = 10


@dataclass(frozen=True)
class SettingChange:
    """A planned change of one value.

    Attributes:
        setting: the name of the setting that requires it.
        place: the place of the value.
        was, to: the old and the new value.
    """

    setting: str
    place: str
    was: str
    to: str


@dataclass
class Pending:
    """A value that must be restored in a place.

    Attributes:
        was: the value before our first change.
        ours: all values that we have written there since.
    """

    setting: str
    was: str
    ours: set[str] = field(default_factory=set)


class Journal:
    """The journal of this machine. Open it with `open_journal`, which holds its lock.

    Attributes:
        path: its file.
        boot: the boot in which it was begun, "" before.
        since: when it was begun, as text.
        locks: open files that hold its lock and the machine's.
        of_run: a run has made its changes, and puts them back when it ends.
        pending: place -> what must be restored there, in the order of the first changes.
        damaged: the numbers of unreadable lines, if the others may be restored.
    """

    def __init__(
        self,
        path: Path,
        system: System,
        locks: Sequence[int],
        *,
        readable: bool = False,
        of_run: bool = False,
    ) -> None:
        self.path = path
        self.locks = locks
        self.of_run = of_run
        self._system = system
        self.boot, self.since = "", ""
        self.pending: dict[str, Pending] = {}
        self.damaged: list[int] = []
        self._end = 0
        self._read(readable)

    def announce(self, changes: Sequence[SettingChange]) -> None:
        """Write changes to the disk before they are made.

        Raises:
            AssayError: they could not be written; nothing may be changed then.
        """
        messages: list[Mapping[str, Any]] = []
        boot, since = self.boot, self.since
        if not boot:
            boot, since = self._system.boot, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
            messages.append(
                {
                    "version": _VERSION,
                    "machine": self._system.machine,
                    "name": self._system.name,
                    "boot": boot,
                    "since": since,
                    "of_run": self.of_run,
                }
            )
        messages += [asdict(change) for change in changes]
        data = b"".join(_line(message) for message in messages)
        try:
            file = open_private(self.path, os.O_WRONLY | os.O_CREAT)
            try:
                os.ftruncate(file, self._end)  # a last line that was not finished
                os.lseek(file, self._end, os.SEEK_SET)
                written = 0
                while written < len(data):
                    written += os.write(file, data[written:])
                os.fsync(file)
            finally:
                os.close(file)
            _sync_folder(self.path.parent)
        except OSError as error:
            raise AssayError(
                f"cannot write the journal {self.path}: {error.strerror}; nothing was changed"
            ) from error
        self.boot, self.since = boot, since
        self._end += len(data)
        for change in changes:
            self._note(change)

    @property
    def kept(self) -> Path:
        """The path to which a damaged journal is moved when it is forgotten."""
        return self.path.with_name(f"{self.path.name}.damaged")

    def forget(self) -> None:
        """Remove the journal, as everything is restored."""
        with suppress(FileNotFoundError):
            if self.damaged:
                self.path.replace(self.kept)
            else:
                self.path.unlink()
        _sync_folder(self.path.parent)
        self.boot, self.since, self._end = "", "", 0
        self.pending.clear()

    def _note(self, change: SettingChange) -> None:
        self.pending.setdefault(change.place, Pending(change.setting, change.was)).ours.add(change.to)

    def _read(self, readable: bool) -> None:
        try:
            data = read_private(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise AssayError(f"cannot read the journal {self.path}: {error.strerror}; run as root") from error
        self._end = data.rfind(b"\n") + 1
        machine = self._system.machine
        for number, line in enumerate(data[: self._end].split(b"\n")[:-1], 1):
            try:
                message = _message(line)
                if number > 1:
                    self._note(_change(message))
                    continue
                if int(message["version"]) != _VERSION:
                    raise AssayError(f"{self.path} comes from another version of Assay: restore with that")
                machine, name, self.boot, self.since = (
                    str(message[key]) for key in ("machine", "name", "boot", "since")
                )
                self.of_run = message.get("of_run") is True
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                if not readable:
                    raise AssayError(
                        f"{self.path}:{number}: the journal is damaged here, and nothing was changed;"
                        " `assay host restore --readable` puts back what its other lines say"
                    ) from error
                self.damaged.append(number)
        if machine != self._system.machine:
            raise AssayError(
                f"{self.path} is the journal of another host, {name}: restore there; if that host is gone,"
                " remove the file"
            )


def journal_folder() -> Path:
    """Return the folder of this user's journal: root's is in /var/lib/assay, others' among their files."""
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
def open_journal(
    folder: Path, system: System, *, readable: bool = False, of_run: bool = False
) -> Iterator[Journal]:
    """Open the journal in a folder, and prevent others from tuning this machine meanwhile.

    Each user has a journal; so a folder of /sys, which all users share, is locked too.

    Args:
        folder: the journal's folder.
        system: the machine.
        readable: skip damaged lines.
        of_run: it is for a run, which also waits a while for another process that uses it.

    Raises:
        AssayError: another process uses it; it is damaged, from another host, or cannot be read or written.
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
        holder = os.pread(lock, 20, 0).decode(errors="replace").strip()
        if not _lock(lock, holder, patient=of_run):
            raise AssayError(
                f"another assay (process {holder or 'unknown'}) tunes this host: wait until it has ended"
            )
        with suppress(FileNotFoundError):  # where it is not, there is little to tune
            locks.append(os.open(system.root / _OF_ALL, os.O_RDONLY | os.O_CLOEXEC))
            if not _lock(locks[-1], holder, patient=of_run):
                raise AssayError(
                    f"another assay tunes this host, whose journal is not in {folder}: wait until it ends"
                )
        os.truncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield Journal(folder / "host.journal", system, locks, readable=readable, of_run=of_run)
        os.truncate(lock, 0)
    finally:
        for file in reversed(locks):
            os.close(file)


def _lock(file: int, holder: str, *, patient: bool) -> bool:
    """Lock a file; return false if another process holds it.

    A killed assay can leave processes that keep its locks for a moment: its root script, or a child that it
    was starting. They are waited for.

    Args:
        file: an open file.
        holder: the number of the process that held it last; empty if that ended in order.
        patient: wait as long for a process that lives, which may put back what a killed run changed.
    """
    waits = patient or (holder.isdigit() and not _lives(int(holder)))
    until = time.monotonic() + (_PATIENCE_S if waits else 0)
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        else:
            return True


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _line(message: Mapping[str, Any]) -> bytes:
    text = json.dumps(message).encode()
    return b"%08x %s\n" % (crc32(text), text)


def _message(line: bytes) -> dict[str, Any]:
    """Return the message in a line; raise a ValueError if it is damaged."""
    checksum, _, text = line.partition(b" ")
    if int(checksum, 16) != crc32(text):
        raise ValueError("the checksum differs")
    message = json.loads(text)
    if not isinstance(message, dict):
        raise TypeError(message)
    return message


def _change(message: dict[str, Any]) -> SettingChange:
    """Return the change that a line announces; raise an error if it is not a change."""
    change = SettingChange(**message)
    for text in vars(change).values():
        if not isinstance(text, str) or len(text.splitlines()) > 1:
            raise TypeError(text)
    if not change.place or " " in change.place:
        raise ValueError(change.place)
    return change


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
