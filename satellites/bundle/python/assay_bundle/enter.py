"""Enters the file system that an unpacked bundle is, and replays it there: the last step of `replay`.

The script has given this process namespaces of its own. The standard library is all that is used here.
"""

import ctypes
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ENVIRONMENT = {
    "ASSAY_PROGRAMS": "/programs",
    "HOME": "/tmp",  # noqa: S108 - of the bundle's own file system
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/programs",
    "PYTHONHOME": "/python",
    "PYTHONPATH": "/python/packages",
}
"""What a replay runs with, and nothing else."""

COMMAND = ("/python/bin/python3", "-m", "assay_bundle.inside")
"""What replays a bundle whose files are the root of the file system."""

_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18  # sys/mount.h
_LDCONFIG = Path("/sbin/ldconfig")


def _mount(source: str, target: str, kind: str = "", flags: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def enter(root: str) -> None:
    """Make a folder the root, with the machine's /dev, /proc and /sys, and an empty /tmp."""
    _mount(root, root, flags=_BIND)
    os.chdir(root)  # into what was mounted
    _mount("none", ".", flags=_PRIVATE | _RECURSIVE)  # so that nobody else sees what follows
    for machines in ("/dev", "/sys"):
        _mount(machines, f".{machines}", flags=_BIND | _RECURSIVE)
    _mount("tmpfs", "./tmp", "tmpfs")
    try:
        _mount("proc", "./proc", "proc")
    except OSError:  # some containers hide a part of it
        _mount("/proc", "./proc", flags=_BIND | _RECURSIVE)
    os.chroot(".")
    os.chdir("/")


def main(root: str, arguments: list[str]) -> None:
    """Replay the bundle in a folder."""
    try:
        enter(root)
        if _LDCONFIG.exists():  # by which an allocator's library is found
            Path("/etc").mkdir(exist_ok=True)
            subprocess.run([_LDCONFIG], check=True, env=ENVIRONMENT)  # noqa: S603
        os.execve(COMMAND[0], [*COMMAND, *arguments], ENVIRONMENT)  # noqa: S606
    except (OSError, subprocess.SubprocessError) as error:
        with suppress(OSError):
            print(f"error: the file system of the bundle cannot be entered: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
