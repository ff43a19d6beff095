"""The journal: what was there before each change, so that it can be put back whatever happens.

A file of lines, each a checksum and a JSON object. The first says whose it is: host, boot, when. Every other
one announces a change, and is on the disk before the change is made. A last line without its end announced a
change that was never made. While there is no file, there is nothing to put back.

A journal that is damaged elsewhere is refused, and nothing is changed; `salvage` makes one of the lines that
can be read, and keeps the damaged file.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from assay.errors import AssayError
from assay.host.system import System
from assay.words import printable, shortened

_VERSION = 1
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
    ours: set[str] = field(default_factory=set)


class Journal:
    """The journal of this machine. Open it with `open_journal`, which holds its lock.

    Attributes:
        path: its file.
        boot: the boot in which it was begun, "" while there is none.
        since: when it was begun, as text.
        locks: open files that hold its lock and the machine's.
        begun: its file is there, if only with a line that was not finished.
        pending: place -> what is to be put back there, in the order of the first changes.
    """

    def __init__(self, path: Path, system: System, locks: Sequence[int]) -> None:
        self.path = path
        self.locks = locks
        self._system = system
        self.boot, self.since = "", ""
        self.pending: dict[str, Pending] = {}
        self._end = 0
        self.begun = path.exists()
        self._read()

    def announce(self, changes: Sequence[Change]) -> None:
        """Have changes on the disk before they are made.

        Raises:
            AssayError: they could not be written; nothing may be changed then.
        """
        messages: list[Mapping[str, Any]] = []
        boot, since = self.boot, self.since
        if not boot:
            boot, since = self._system.boot, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
            messages.append(_heading(self._system, boot, since))
        messages += [asdict(change) for change in changes]
        data = b"".join(_line(message) for message in messages)
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
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

    def forget(self) -> None:
        """Remove it: everything is put back."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        _sync_folder(self.path.parent)
        self.boot, self.since, self._end = "", "", 0
        self.pending.clear()

    def _note(self, change: Change) -> None:
        self.pending.setdefault(change.place, Pending(change.setting, change.was)).ours.add(change.to)

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise AssayError(f"cannot read the journal {self.path}: {error.strerror}; run as root") from error
        self._end = data.rfind(b"\n") + 1
        for number, line in enumerate(data[: self._end].splitlines(), 1):
            try:
                message = _message(line)
                if number > 1:
                    self._note(Change(**message))
                    continue
                if message.pop("version") != _VERSION:
                    raise AssayError(f"{self.path} comes from another version of Assay: restore with that")
                machine, name, self.boot, self.since = (
                    str(message[key]) for key in ("machine", "name", "boot", "since")
                )
            except (ValueError, TypeError, KeyError) as error:
                raise AssayError(
                    f"{self.path}:{number}: the journal is damaged here, and nothing was changed;"
                    " `assay host restore --readable` puts back what the other lines say, and keeps the file"
                ) from error
        if self.boot and machine != self._system.machine:
            raise AssayError(
                f"{self.path} is the journal of another host, {name}: restore there; if that host is gone,"
                " remove the file"
            )


def salvage(path: Path, system: System) -> list[str]:
    """Make a journal of those lines of a damaged one that can be read; keep that one beside it.

    Whoever calls it holds the lock of the folder. If it is killed, the damaged journal is still in place.

    Returns:
        A line of text for each that is lost, and one that says where the damaged file is; none if the journal
        is not there, or not damaged.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    kept, said = list[bytes](), list[str]()
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            Change(**_message(line)) if number > 1 else _message(line)["version"]
            kept.append(line + b"\n")
        except (ValueError, TypeError, KeyError):
            what = (
                "of which host and boot it is"
                if number == 1
                else printable(shortened(line.decode(errors="replace"), 300))
            )
            said.append(f"{path}:{number}: lost: {what}")
            if number == 1:  # a boot that is none: whatever differs is asked about
                kept.append(_line(_heading(system, "unknown", "an unknown time")))
    if not said:
        return []
    number = 1
    while (damaged := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    damaged.hardlink_to(path)
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        file.write(b"".join(kept))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)
    return [*said, f"the damaged journal is kept as {damaged}"]


def journal_folder() -> Path:
    """Return where this user's journal is: of root in /var/lib/assay, of others among their own files."""
    if named := os.environ.get("ASSAY_HOST_STATE"):
        return Path(named)
    if os.geteuid() == 0:
        return Path("/var/lib/assay")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "assay"


@contextmanager
def open_journal(
    folder: Path, system: System, lost: Callable[[str], object] | None = None
) -> Iterator[Journal]:
    """Open the journal in a folder, and have nobody else tune this machine meanwhile.

    Users have journals of their own; so a folder of /sys is locked too, which is the same for all of them.

    Args:
        folder: where it is.
        system: the machine.
        lost: is told what `salvage` says of a damaged journal, which is refused otherwise.

    Raises:
        AssayError: another process has it; it is damaged, of another host, or cannot be read or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / "host.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
        path = folder / "host.journal"
        if lost:
            for line in salvage(path, system):
                lost(line)
        yield Journal(path, system, locks)
    finally:
        for file in reversed(locks):
            os.close(file)


def _heading(system: System, boot: str, since: str) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "machine": system.machine,
        "name": system.name,
        "boot": boot,
        "since": since,
    }


def _line(message: Mapping[str, Any]) -> bytes:
    text = json.dumps(message).encode()
    return b"%08x %s\n" % (crc32(text), text)


def _message(line: bytes) -> dict[str, Any]:
    """Return what a line says; a ValueError if it is damaged."""
    checksum, _, text = line.partition(b" ")
    if int(checksum, 16) != crc32(text):
        raise ValueError("the checksum differs")
    message: dict[str, Any] = json.loads(text)
    return message


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
