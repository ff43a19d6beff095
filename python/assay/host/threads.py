"""The threads of the machine, and the processors on which each may run.

A thread's affinity is a place, like a file: `affinity:THREAD:BEGAN`. The time when it began, in ticks since
the machine was started, distinguishes it from a later thread with the same number.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

AFFINITY = "affinity:"
_KERNEL = 0x00200000 | 0x04000000  # PF_KTHREAD, PF_NO_SETAFFINITY: they are where their work is
_ENDED = {"Z", "X"}


@dataclass(frozen=True)
class Thread:
    """A thread of the machine.

    Attributes:
        number: the kernel's number of it.
        process, parent: the process that it belongs to, and this process's parent.
        began: when it began, in ticks since the machine was started.
        allowed: the processors that it may run on, such as `0-3`.
        movable: it is a user's thread and still runs, so that it may get other processors.
    """

    number: int
    process: int
    parent: int
    began: int
    allowed: str
    movable: bool

    @property
    def place(self) -> str:
        """The place of its affinity."""
        return f"{AFFINITY}{self.number}:{self.began}"


def all_threads(root: Path) -> Iterator[Thread]:
    """Yield each thread of the machine whose /proc is in a folder."""
    for tasks in (root / "proc").glob("[0-9]*/task"):
        with suppress(OSError):  # it has ended meanwhile
            numbers = [int(task.name) for task in tasks.iterdir()]
            yield from (found for number in numbers if (found := thread(root, number)))


def thread(root: Path, number: int) -> Thread | None:
    """Return the thread with a number, or None."""
    folder = root / "proc" / str(number)
    try:
        stat = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        status = (folder / "status").read_text(errors="replace")
    except OSError:
        return None
    facts = dict(re.findall(r"^(Tgid|Cpus_allowed_list):\s*(\S+)$", status, re.MULTILINE))
    if len(stat) < 20 or len(facts) < 2:
        return None
    return Thread(
        number=number,
        process=int(facts["Tgid"]),
        parent=int(stat[1]),
        began=int(stat[19]),
        allowed=facts["Cpus_allowed_list"],
        movable=stat[0] not in _ENDED and not int(stat[6]) & _KERNEL,
    )


def thread_of(root: Path, place: str) -> Thread | None:
    """Return the thread of a place; None if it has ended."""
    number, began = map(int, place.removeprefix(AFFINITY).split(":"))
    found = thread(root, number)
    return found if found and found.began == began and found.movable else None


def numbers(ranges_: str) -> list[int]:
    """Return the numbers in a list such as `0-3,8`; empty if the text is not such a list."""
    found: list[int] = []
    for part in ranges_.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            return []
        found += range(int(first), int(last or first) + 1)
    return found


def ranges(processors: list[int]) -> str:
    """Return numbers as a list such as `0-3,8`."""
    starts = [number for number in processors if number - 1 not in processors]
    ends = [number for number in processors if number + 1 not in processors]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))
