"""The machine as a set of places, each with one value that can be read and perhaps written.

A place is a file of /proc or /sys, `service:irqbalance`, the processors that a thread may run on (`threads`),
or `cpuset:assay`: the processors that a control group of ours keeps for itself.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from assay.host.threads import AFFINITY, Thread, all_threads, numbers, thread, thread_of

_SCRIPT = Path(__file__).with_name("assay-host-set")
INSTALLED = Path("/usr/local/sbin/assay-host-set")
"""The path of the root script for users who are not root."""

NEEDS_ROOT = "needs root"
"""The reason why a value was not written without root."""

SERVICE = "service:"
CPUSET = "cpuset:assay"
GROUPS = "/sys/fs/cgroup"
MEMBERS = f"{GROUPS}/assay/cgroup.procs"
"""The file that lists the processes of our control group."""
ONLINE = "/sys/devices/system/cpu/online"
_UNITS = ("etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
RUNNING = ("sys/fs/cgroup/system.slice", "sys/fs/cgroup/systemd/system.slice")
"""systemd has a control group for each service that runs: reading one disturbs nothing, unlike systemctl."""


class System:
    """This machine, whose places can also be read in a copy of its /proc and /sys.

    Attributes:
        root: the folder that contains the places.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    @property
    def machine(self) -> str:
        """The identity of this machine, independent of its name."""
        return self.read("/etc/machine-id") or self.name

    @property
    def name(self) -> str:
        """The name of this machine."""
        return self.read("/proc/sys/kernel/hostname") or "unknown"

    @property
    def boot(self) -> str:
        """The identity of this boot."""
        return self.read("/proc/sys/kernel/random/boot_id") or "unknown"

    def read(self, place: str) -> str | None:
        """Return the value of a place; None if the machine does not have it or it cannot be read.

        If one of several words is in brackets, such as `always [madvise] never`, that word is the value.
        """
        if place.startswith(SERVICE):
            return self._service(place.removeprefix(SERVICE))
        if place.startswith(AFFINITY):
            found = thread_of(self.root, place)
            return found.allowed if found else None
        if place == CPUSET:
            return self._cpuset()
        try:
            text = self._file(place).read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return None
        chosen = re.search(r"\[([\w-]+)\]", text)
        return chosen[1] if chosen else text

    def read_all(self, *patterns: str) -> dict[str, str]:
        """Return place -> value of all places that match one of some patterns, `*` and `[0-9]` being wild."""
        found: dict[str, str] = {}
        for pattern in patterns:
            places = [pattern]
            if any(letter in pattern for letter in "*["):
                files = sorted(self.root.glob(pattern.lstrip("/")), key=_natural)
                places = [f"/{file.relative_to(self.root)}" for file in files]
            found |= {place: value for place in places if (value := self.read(place)) is not None}
        return found

    def threads(self) -> Iterator[Thread]:
        """Yield each thread of the machine."""
        return all_threads(self.root)

    def thread(self, number: int) -> Thread | None:
        """Return the thread with a number, or None."""
        return thread(self.root, number)

    def usable(self) -> list[int]:
        """Return the processors that a process of ours may use, whatever its present affinity.

        In containers these may be fewer than the machine has.
        """
        online = numbers(self.read(ONLINE) or "0")

        def try_all() -> set[int]:
            os.sched_setaffinity(0, online)  # of this one thread; the kernel leaves out what is forbidden
            return os.sched_getaffinity(0)

        with ThreadPoolExecutor(1) as another:
            return sorted(another.submit(try_all).result())

    def write(self, values: Mapping[str, str], locks: Sequence[int] = ()) -> dict[str, str]:
        """Write values to their places, in order; return place -> why, for those that could not be written.

        Args:
            values: place -> value.
            locks: files that the root script keeps open until it ends, even if we are killed.
        """
        assert self.root == Path("/")
        command = root_script()
        if command is None:
            return dict.fromkeys(values, NEEDS_ROOT)
        lines = "".join(f"{place} {value}\n" for place, value in values.items())
        done = subprocess.run(  # noqa: S603
            command,
            input=lines,
            capture_output=True,
            text=True,
            check=False,
            pass_fds=locks,
        )
        if done.returncode not in {0, 3}:
            if "not allowed" in done.stderr and len(values) > 1:  # the script refuses all for one
                items = list(values.items())
                halves = dict(items[: len(items) // 2]), dict(items[len(items) // 2 :])
                return self.write(halves[0], locks) | self.write(halves[1], locks)
            why = done.stderr.strip().splitlines() or [f"{command[0]} ended with {done.returncode}"]
            return dict.fromkeys(values, why[-1])
        return {place: why for place, _, why in (line.partition(" ") for line in done.stdout.splitlines())}

    def _file(self, place: str) -> Path:
        return self.root / place.lstrip("/")

    def _cpuset(self) -> str | None:
        """Return the processors that our control group keeps; None if there can be no such group.

        A group that was not finished keeps none.
        """
        if "cpuset" not in (self.read(f"{GROUPS}/cgroup.subtree_control") or "").split():
            return None
        kept = self.read(f"{GROUPS}/assay/cpuset.cpus.partition") == "isolated"
        return (self.read(f"{GROUPS}/assay/cpuset.cpus") or "none") if kept else "none"

    def _service(self, name: str) -> str | None:
        unit = f"{name}.service"
        if any((self.root / folder / unit).is_dir() for folder in RUNNING):
            return "active"
        return "inactive" if any((self.root / folder / unit).exists() for folder in _UNITS) else None


def root_script() -> list[str] | None:
    """Return the command that changes settings as root; None if this user may not."""
    if os.geteuid() == 0:
        return [sys.executable, "-I", str(_SCRIPT)]
    with suppress(OSError):
        if INSTALLED.stat().st_uid == 0 and (sudo := shutil.which("sudo")):
            return [sudo, "-n", str(INSTALLED)]
    return None


def without_root() -> str:
    """Return how a user who is not root can get the right to change settings."""
    return (
        f"run it as root, or once: sudo install -o root -m 755 {_SCRIPT} {INSTALLED}, and allow that in"
        " sudoers as docs/guide/host.md says"
    )


def _natural(file: Path) -> list[int | str]:
    """Return a sort key by which cpu10 comes after cpu2."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(file))]
