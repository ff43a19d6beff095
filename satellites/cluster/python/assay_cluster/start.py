"""What runs on a host before its worker: it starts the worker, and leaves nothing of Dask behind.

`python -m assay_cluster.start` prints what is installed there. The rest is called by Dask's processes.
"""

import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator
from importlib.metadata import version
from typing import IO

from assay.words import listed, one_line, printable
from assay_cluster.units import Work

WORKER = "assay_cluster.worker"
_END_BYTES = 4096


def words(work: Work, unit: str, host: str | None = None) -> list[str]:
    """Return the worker's command line after its module."""
    given = ["--store", work.store, "--campaign", str(work.campaign), "--unit", unit]
    given += ["--name", host] if host else []
    return given + ["--tuned"] * work.tuned + ["--isolated"] * work.isolated


def installed() -> dict[str, str]:
    """Return the name of this host, and the versions of what must be the same on all."""
    version("distributed")  # which the worker's start needs
    python = ".".join(platform.python_version_tuple()[:2])
    return {"name": platform.node(), "Python": python, "Assay": version("assay-cluster")}


def different(there: dict[str, str]) -> str:
    """Say what a host has other versions of than this one, and what to do; "" if nothing."""
    here = installed()
    others = [name for name in ("Python", "Assay") if there.get(name) != here[name]]
    if not others:
        return ""
    found = listed([f"{name} {there.get(name)} (here {here[name]})" for name in others])
    return f"it has {found}; install the same versions there"


def shell_word(path: str) -> str:
    """Return a path as a shell reads it, in which ~/ is a home."""
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") else shlex.quote(path)


def last_words(status: int | None, printed: str) -> str:
    """Return how a worker ended, in one line: the end of what it printed, and its exit status.

    If that is 0, or 2 after it has said why, it is left out.
    """
    lines = [line for line in printed.splitlines() if line.strip()]
    said = printable(one_line(lines[-1].removeprefix("error: "), 300)) if lines else ""
    if status is None or status == 0 or (status == 2 and said):
        return said
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    return "; ".join(filter(None, [said, how]))


def end_of(file: IO[bytes]) -> str:
    """Return the end of a file as text."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - _END_BYTES))
    return file.read().decode(errors="replace")


class QuietWorker:
    """A worker for Dask's `dask spec`, which it replaces: an idle one of Dask's costs 34 ms a second."""

    def __init__(self, scheduler: str, command: str, log: str = "") -> None:
        """Take the worker's words, as one line of shell without quotes of any kind (`encoded`).

        Args:
            scheduler: there is none.
            command: the words.
            log: where what it prints goes, which then runs in a session of its own; standard error if empty.
        """
        self._command, self._log = command, log

    def __await__(self) -> Generator[None, None, None]:
        """Become the worker."""
        yield from ()
        if not self._log:  # Dask waits for the first line, and `SshUnit` for the second one
            print(f"worker at: {platform.node()}\n{os.getpid()}", file=sys.stderr, flush=True)
        else:
            os.setsid()  # the terminal's Ctrl-C is for the leader
            os.dup2(os.open(self._log, os.O_WRONLY | os.O_APPEND), 2)
        os.dup2(2, 1)  # which nobody reads
        os.environ.pop("DASK_INTERNAL_INHERIT_CONFIG", None)
        os.execv(sys.executable, [sys.executable, "-m", WORKER, *decoded(self._command)])  # noqa: S606


def encoded(command: list[str]) -> str:
    """Return words as text that a shell leaves as it is within any quotes, as Dask puts it within some."""
    return shlex.join(command).encode().hex()


def decoded(text: str) -> list[str]:
    """Return the words of `encoded`."""
    return shlex.split(bytes.fromhex(text).decode())


_running: dict[str, subprocess.Popen[bytes]] = {}


def run_worker(key: str, command: list[str]) -> str:
    """Run a worker beside a worker of Dask, with which it ends; return its last words. A task of Dask's."""
    with tempfile.TemporaryFile() as log:
        with_parent = ["setpriv", "--pdeathsig", "TERM"]
        process = subprocess.Popen(  # noqa: S603
            [*with_parent, sys.executable, "-m", WORKER, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        _running[key] = process
        try:
            return last_words(process.wait(), end_of(log))
        finally:
            del _running[key]


def signal_worker(key: str, number: int) -> bool:
    """Send a signal to what `run_worker` runs; return whether it still does."""
    process = _running.get(key)
    if process is not None:
        process.send_signal(number)
    return process is not None


if __name__ == "__main__":
    print(json.dumps(installed()))
