"""Runs one process to its end: whatever it does, it cannot hang the runner or leave processes behind.

It runs under `assay-meter`, which adopts the processes that it leaves behind, also those that leave its
session. The meter ends them all when the process has ended, when it receives a stop signal, and when the
runner dies. If the meter itself is killed, they become children of the runner, which ends them.
"""

import ctypes
import errno
import json
import math
import os
import re
import select
import selectors
import signal
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from assay import programs
from assay.errors import AssayError
from assay.words import NAMES_AT_MOST, counted, printable

STDOUT_LIMIT = 64 * 2**20
STDERR_KEPT = 64 * 2**10
_CHUNK = 2**16
_PIPE_HOLDS = 2**20  # the most that the system lets an unprivileged process ask for

_LAUNCHER = "assay-launcher"  # begins what the meter says of a program that it cannot execute
_CANNOT_EXECUTE = (126, 127)
_NOT_STARTED = (
    2,
    *_CANNOT_EXECUTE,
)  # what a shell exits with where it or an interpreter cannot read a script
_FIRST_LINE = 256  # bytes of it that the kernel reads
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_S = 10.0  # for a meter to end what it started


class CannotStartError(AssayError):
    """A program cannot be started; this does not count as a trial."""


class Interrupted(BaseException):
    """The user stopped the runner with the signal `signum`.

    It is not an `Exception`, so that handlers of failures do not catch it.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class StopSignals:
    """While entered, SIGINT, SIGTERM and SIGHUP are recorded and have no other effect.

    The trial is then stopped at a point where nothing is half-done. A SIGHUP that is ignored, as under nohup,
    stays ignored.
    """

    def __enter__(self) -> "StopSignals":
        """Begin to record signals."""
        self.signum = 0
        self._at_once = False
        self.wakes, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        noted = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            noted.append(signal.SIGHUP)
        self._previous = {signum: signal.signal(signum, self._note) for signum in noted}
        return self

    def __exit__(self, *_: object) -> None:
        """Let signals act as they did before."""
        self._restore()
        os.close(self.wakes)
        os.close(self._wake)

    def check(self) -> None:
        """Raise `Interrupted` if a signal has come."""
        if self.signum:
            raise Interrupted(self.signum)

    def act_at_once(self) -> None:
        """From now on raise `Interrupted` as soon as a signal comes; a second one acts as before."""
        self._at_once = True
        self.check()

    def _restore(self) -> None:
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)

    def _note(self, signum: int, _frame: object) -> None:
        if self._at_once:
            self._restore()
            raise Interrupted(signum)
        if not self.signum:
            self.signum = signum
            os.write(self._wake, b"x")


@dataclass(frozen=True)
class Ended:
    """A process that has ended.

    Attributes:
        exit_code: its exit status, negative for the number of the signal that ended it.
        stdout: what it printed, at most a little more than `STDOUT_LIMIT`.
        stderr: the end of its standard error, at most `STDERR_KEPT` bytes; if a shell could not start a
            script, a line of ours says why.
        timed_out: it was killed because it took too long.
        wall_s: how long it ran, seconds.
        used: metric -> its use of time and memory by the meter; empty if not measured or killed.
        left: names of the processes that it started and that still ran when it ended; they were ended.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    wall_s: float
    used: Mapping[str, float] = field(default_factory=dict)
    left: Sequence[str] = ()

    def left_in_words(self) -> str:
        """Return how many processes it left, with some of their names: `2 processes (sleep)`."""
        names = sorted(set(self.left))
        more = ", ..." * (len(names) > NAMES_AT_MOST)
        return f"{counted(self.left, 'process', 'processes')} ({', '.join(names[:NAMES_AT_MOST])}{more})"


def run_process(
    program: str,
    stdin: str,
    *,
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
    directory: Path | None = None,
    measured: bool = False,
    repeat_ms: int = 0,
    wait_for_children: bool = False,
    stdin_file: Path | None = None,
    discard: bool = False,
    timeout_s: float = math.inf,
    memory_limit_mb: int | None = None,
    preload: str = "",
    fixed_addresses: bool = False,
    priority: Sequence[str] = (),
    stop: StopSignals | None = None,
) -> Ended:
    """Run a program in its own session, and end every process that it leaves behind.

    Call it from the main thread: the process ends when the thread that started it ends.

    Args:
        program: the executable, an absolute path.
        stdin: its standard input.
        environment: its whole environment.
        arguments: its command line's arguments.
        directory: where it runs; by default the program's folder.
        measured: its use of time and memory is measured.
        repeat_ms: it is run again until this many milliseconds have passed.
        wait_for_children: it has ended only when the processes that it started have ended, too.
        stdin_file: a file for its standard input in place of `stdin`.
        discard: it prints to /dev/null.
        timeout_s: seconds after which it is killed.
        memory_limit_mb: data segment that it may use, MiB; None for no limit.
        preload: a library that the dynamic linker loads before all others; "" for none.
        fixed_addresses: the kernel places its stack, heap and libraries at the same addresses each time.
        priority: the words of a command that runs it at another priority.
        stop: ends it, too.

    Raises:
        Interrupted: `stop` was signalled; the process is gone.
        CannotStartError: the program did not start.
    """
    began = time.monotonic()
    check_startable(program)
    limit = "" if memory_limit_mb is None else str(memory_limit_mb * 1024)
    meter = str(programs.find("assay-meter"))
    with _stdin(stdin, stdin_file) as request, _memory_file("") as report:
        fixed = ["setarch", "-R"] if fixed_addresses else []
        numbers = [report.fileno(), os.getpid(), repeat_ms, int(measured), int(wait_for_children)]
        command = [*priority, *fixed, meter, *map(str, numbers), limit, preload, program, *arguments]
        before = _children()
        _adopt(adopting=True)
        try:
            process = subprocess.Popen(  # noqa: S603
                command,
                stdin=request,
                stdout=subprocess.DEVNULL if discard else subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=directory or Path(program).parent,
                env=environment,
                start_new_session=True,
                pass_fds=[report.fileno()],
            )
        except OSError as error:
            raise CannotStartError(
                f"{error.filename or program} cannot be started: {error.strerror}"
            ) from error
        output = _Output(process, before)
        try:
            timed_out = output.collect(began + timeout_s, stop)
            wall_s = time.monotonic() - began
        finally:
            output.end()
        report.seek(0)
        account = json.loads(report.read() or "{}")
    if stop is not None:
        stop.check()
    stderr = output.end_of_stderr()
    if process.returncode in _CANNOT_EXECUTE and stderr.startswith(f"{_LAUNCHER}: ".encode()):
        why = stderr.decode(errors="replace").strip().rpartition(": ")[2]
        raise CannotStartError(f"{program} cannot be started: {why}")
    if process.returncode in _NOT_STARTED:
        folder = directory or Path(program).parent
        stderr = stderr.rstrip() + _scripts_not_started([program, *arguments], folder).encode()
    used = account["used"] if measured and account else {}
    left = account.get("left", ())
    return Ended(process.returncode, bytes(output.stdout), stderr, timed_out, wall_s, used, left)


def signal_name(number: int) -> str:
    """Return the name of a signal: SIGSEGV, or "signal 40" as real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def check_startable(program: str) -> None:
    """Check what can be known about a program without starting it.

    Raises:
        CannotStartError: it is missing, not a file, or not executable.
    """
    try:
        mode = Path(program).stat().st_mode
    except OSError as error:
        raise CannotStartError(f"{program} cannot be started: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise CannotStartError(f"{program} cannot be started: it is not a file")
    if not os.access(program, os.X_OK):
        raise CannotStartError(f"{program} cannot be started: {os.strerror(errno.EACCES)}")
    if why := _interpreter_missing(Path(program)):
        raise CannotStartError(f"{program} cannot be started: {why}")


def _interpreter_missing(program: Path) -> str:
    """Return why the first line of a script names an interpreter that is not there, or ""."""
    try:
        with program.open("rb") as file:
            line, newline, _ = file.read(_FIRST_LINE).partition(b"\n")
    except OSError:
        return ""
    if not (line.startswith(b"#!") and newline):
        return ""
    named = printable(line[2:].decode(errors="replace").strip(" \t"))
    if line.endswith(b"\r"):
        return (
            f"its first line names {named}, as its line endings are CR LF; write it with LF (of git's files: "
            "core.autocrlf = input, or eol=lf in .gitattributes)"
        )
    interpreter = Path(os.fsdecode(line[2:].strip().split()[0])) if line[2:].strip() else Path()
    missing = interpreter.is_absolute() and not interpreter.exists()
    return f"its first line names {named}, which is not there; install it, or correct the line" * missing


def _scripts_not_started(arguments: Sequence[str], folder: Path) -> str:
    """Return a line for each script in the arguments (for instance a shell's) that could not be started."""
    words = {word for text in arguments for word in re.split(r"[\s;&|()<>'\"]+", text) if "/" in word}
    reasons = {word: _interpreter_missing(folder / word) for word in sorted(words)}
    return "".join(f"\n{printable(word)} cannot be started: {why}" for word, why in reasons.items() if why)


class _Output:
    """The output of a process, read immediately so that a full pipe never blocks the process."""

    def __init__(self, process: subprocess.Popen[bytes], others: set[int]) -> None:
        assert process.stderr is not None
        self._process = process
        self._others = others
        self.stdout, self._stderr = bytearray(), bytearray()
        self._exited = os.pidfd_open(process.pid)
        self._pipes = {process.stderr: self._stderr}
        if process.stdout is not None:
            self._pipes[process.stdout] = self.stdout
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    def collect(self, deadline: float, stop: StopSignals | None) -> bool:
        """Read until the process ends, prints too much or must stop; return whether time ran out."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._exited, selectors.EVENT_READ)
            for pipe in self._pipes:
                selector.register(pipe, selectors.EVENT_READ)
            if stop is not None:
                selector.register(stop.wakes, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                ready = [key.fileobj for key, _ in selector.select(None if left == math.inf else left)]
                for pipe in self._pipes:
                    if pipe in ready and not self._read(pipe):
                        selector.unregister(pipe)
                if len(self.stdout) > STDOUT_LIMIT or (stop is not None and stop.signum):
                    return False
                if self._exited in ready:
                    self._drain()
                    return False
        return True

    def end_of_stderr(self) -> bytes:
        """Return the last `STDERR_KEPT` bytes of standard error."""
        return bytes(self._stderr[-STDERR_KEPT:])

    def end(self) -> None:
        """End the process, if it runs, with all that it started, and close its pipes."""
        # It is waited for last: until then its number, and so its group's, is not used again.
        os.kill(self._process.pid, signal.SIGTERM)
        select.select([self._exited], [], [], _PATIENCE_S)
        os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.wait() == -signal.SIGKILL:
            _end_orphans(self._others)
        _adopt(adopting=False)
        os.close(self._exited)
        for pipe in self._pipes:
            pipe.close()

    def _drain(self) -> None:
        """Read what the pipes still hold, without waiting for their end: a child may keep them open."""
        for pipe in self._pipes:
            for _ in range(_PIPE_HOLDS // _CHUNK):
                if not self._read(pipe):
                    break

    def _read(self, pipe: IO[bytes]) -> bool:
        """Read once; return whether there may be more to come."""
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        kept = self._pipes[pipe]
        kept += data
        if kept is self._stderr and len(kept) > 2 * STDERR_KEPT:
            del kept[:-STDERR_KEPT]
        return bool(data)


def _adopt(*, adopting: bool) -> None:
    """Begin, or stop, to adopt the processes that a killed meter leaves behind; see prctl(2)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopting), 0, 0, 0)


def _children() -> set[int]:
    """Return the children of this process; none where the kernel does not list them."""
    with suppress(OSError):
        return set(map(int, Path("/proc/thread-self/children").read_text().split()))
    return set()


def _end_orphans(others: set[int]) -> None:
    """End all children of this process except `others`, and their children, which it then adopts."""
    deadline = time.monotonic() + _PATIENCE_S
    while (orphans := _children() - others) and time.monotonic() < deadline:
        for orphan in orphans:
            with suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, os.WNOHANG)


def _stdin(text: str, file: Path | None) -> IO[bytes]:
    if file is None:
        return _memory_file(text)
    try:
        return file.open("rb")
    except OSError as error:
        raise CannotStartError(f"the input {file} cannot be read: {error.strerror}") from error


def _memory_file(text: str) -> IO[bytes]:
    """Return a file in memory that holds the text: unlike a pipe, it never blocks its writer."""
    file = os.fdopen(os.memfd_create("assay"), "w+b")
    file.write(text.encode())
    file.seek(0)
    return file
