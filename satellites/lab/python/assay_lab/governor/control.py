"""Starts `assay-govern` after what it will change is in the journal, and puts everything back when it ends.

The journal is that of `assay host tune`: a governor killed together with its loop leaves it, and the next
start, `assay-governor restore` (systemd's ExecStopPost) or `assay host restore` puts back what it holds.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from assay import programs
from assay.errors import AssayError
from assay.host.journal import Journal, SettingChange, open_journal
from assay.host.system import System
from assay.host.tune import Restored, outcome_in_words
from assay.host.tune import restore as restore_host

SETTING = "frequency"
"""The journal's name for a governor's changes."""

PROGRAM = "assay-govern"
USERSPACE = "userspace"

_CPUFREQ = "/sys/devices/system/cpu/cpufreq"

_FREQUENCIES = ("/scaling_setspeed", "/scaling_min_freq", "/scaling_max_freq")
"""The ends of places whose values a driver rounds, or caps while a processor is hot."""

_ENDS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}

Say = Callable[[str], None]


def look(system: System) -> dict[str, Any]:
    """Return what this machine has: its `machine`, `policies`, and what is `lacking` and why.

    Raises:
        AssayError: the program is missing, or fails.
    """
    command = [str(programs.find(PROGRAM)), "--root", str(system.root)]
    request = json.dumps({"protocol": 1, "action": "look"})
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)  # noqa: S603
    return _answer(done.returncode, done.stdout, done.stderr)


def changes(system: System, machine: dict[str, Any]) -> list[SettingChange]:
    """Return what a governor may change: every value that it may put in each place.

    The governor becomes `userspace` where the kernel has that; else it stays, and both limits become the
    frequency.
    """
    found: list[SettingChange] = []
    for policy in machine["policies"]:
        place, frequencies = policy["place"], policy["frequencies_khz"]
        offered = (system.read(f"{place}/scaling_available_governors") or "").split()
        files = ["scaling_min_freq", "scaling_max_freq"]
        if USERSPACE in offered:
            files = ["scaling_setspeed"] if policy["governor"] == USERSPACE else []
            if not files:
                found.append(
                    SettingChange(SETTING, f"{place}/scaling_governor", policy["governor"], USERSPACE)
                )
        for file in files:
            was = system.read(f"{place}/{file}")
            if was is not None:
                found += [SettingChange(SETTING, f"{place}/{file}", was, str(to)) for to in frequencies]
    return found


def put_back(system: System, journal: Journal) -> list[Restored]:
    """Put back what a governor left, and return what could not be.

    After another boot nothing of a governor's is left: what is there then stays.

    Raises:
        AssayError: the host is tuned otherwise, which stays.
    """
    if any(pending.setting != SETTING for pending in journal.pending.values()):
        raise AssayError(
            f"the host has been tuned since {journal.since} ({journal.path}): `assay host restore` first"
        )
    same_boot = journal.boot == system.boot

    def decide(place: str, _now: str, _was: str) -> Literal["keep", "overwrite"] | None:
        if not same_boot:
            return "keep"
        return "overwrite" if place.endswith(_FREQUENCIES) else None  # the driver may have made it of ours

    outcomes = restore_host(system, journal, decide, give_up_vanished=not same_boot)
    return [outcome for outcome in outcomes if same_boot and not outcome.settled]


def governed(system: System, folder: Path, request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Let `assay-govern` execute a request that changes frequencies, and restore everything.

    Args:
        system: the machine.
        folder: the journal's folder.
        request: the program's request, without its protocol.
        say: gets what cannot be restored.

    Returns:
        The program's answer.

    Raises:
        AssayError: the machine lacks something, another governor runs, or the program failed. Nothing is left
            changed then but what was said.
    """
    program = str(programs.find(PROGRAM))
    with open_journal(folder, system) as journal, _ends_are_held():
        # What cannot be put back yet, as where a processor is offline, stays in the journal until it can.
        left = put_back(system, journal) if journal.pending else []
        if changed := [outcome_in_words(outcome) for outcome in left if outcome.fate == "changed"]:
            raise AssayError(
                f"what an earlier governor left cannot be put back: {'; '.join(changed)};"
                " `assay host restore` asks what to do"
            )
        machine = look(system)
        for what in ("frequencies", "counters"):
            if why := machine["lacking"].get(what):
                raise AssayError(f"frequencies cannot be governed: {why}")
        planned = changes(system, machine)
        tunables = _tunables(system, planned)
        try:
            _prepare(system, journal, planned)
            return _run_driver([program, "--root", str(system.root)], request, journal.locks)
        finally:
            for outcome in put_back(system, journal):
                say(f"{outcome_in_words(outcome)}; `assay host restore` asks what to do")
            for place, was in tunables.items():
                if (now := system.read(place)) not in {was, None}:
                    made = f"is {now} since {USERSPACE} ended, as the kernel made it anew"
                    say(f"{place}: was {was}, and {made}: write it again")


def _tunables(system: System, planned: Sequence[SettingChange]) -> dict[str, str]:
    """Return the values of the governors that `userspace` takes the place of.

    The kernel drops them with their governor. They are not in the journal: a file that is gone while the
    journal is put back would hold it, and the root script writes none of them.
    """
    left = [change for change in planned if change.to == USERSPACE]
    folders = {f"{change.place.rpartition('/')[0]}/{change.was}" for change in left}
    folders |= {f"{_CPUFREQ}/{change.was}" for change in left}
    return system.read_all(*(f"{folder}/*" for folder in sorted(folders)))


def _prepare(system: System, journal: Journal, planned: Sequence[SettingChange]) -> None:
    """Announce all that may be changed, and make the changes of governors."""
    if not planned:
        raise AssayError("frequencies cannot be governed: no policy tells its governor or its limits")
    if system.root == Path("/") and os.geteuid() != 0:
        raise AssayError(f"{planned[0].place} cannot be changed: only root may; nothing was changed")
    journal.announce(planned)
    governors = {change.place: change.to for change in planned if change.to == USERSPACE}
    for place, why in system.write(governors, journal.locks).items():
        raise AssayError(f"{place} cannot be changed to {USERSPACE}: {why}; nothing is left changed")
    for place, to in governors.items():
        if (now := system.read(place)) != to:
            raise AssayError(f"{place} was set to {to}, and stays {now}: the kernel does not take it")


def _run_driver(command: list[str], request: dict[str, Any], locks: Sequence[int]) -> dict[str, Any]:
    """Run the program until it ends, and pass on signals that end it. It dies with this process.

    It also holds the journal's locks: while it runs, no other one can begin.
    """
    # setpriv cannot ask in time where this process dies at once: then the shell finds another parent.
    launcher = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"']
    with tempfile.TemporaryFile("w+") as answer, tempfile.TemporaryFile("w+") as asked:
        json.dump({"protocol": 1} | request, asked)
        asked.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603
                [*launcher, str(os.getpid()), *command],
                stdin=asked,
                stdout=answer,
                stderr=subprocess.PIPE,
                text=True,
                pass_fds=locks,
            )
        except FileNotFoundError as error:
            raise AssayError(
                f"{error.filename} is missing, by which {PROGRAM} ends with this process: install util-linux"
            ) from error
        assert process.stderr is not None
        said: list[str] = []
        undo = _forwarded(process)
        try:
            for line in process.stderr:  # until it ends
                said.append(line)
                if line.startswith("note: "):
                    print(line, end="", file=sys.stderr, flush=True)
        except BaseException:  # such as a note that cannot be written
            process.kill()
            raise
        finally:
            process.wait()  # while it lives, it would change again what is put back
            undo()
        answer.seek(0)
        return _answer(process.returncode, answer.read(), "".join(said))


def _forwarded(process: subprocess.Popen[str]) -> Callable[[], None]:
    """Pass on signals that end this process to another one, until what is returned is called."""
    before = {number: signal.signal(number, lambda *_: process.terminate()) for number in _ENDS}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)

    def undo() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
        for number, handler in before.items():
            signal.signal(number, handler)

    return undo


@contextmanager
def _ends_are_held() -> Iterator[None]:
    """Block signals that would end this process between a change and its restoration.

    A signal that comes meanwhile is ignored: everything has ended by then.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        while signal.sigtimedwait(_ENDS, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answer(status: int, answer: str, said: str) -> dict[str, Any]:
    if status == 0:
        result: dict[str, Any] = json.loads(answer)
        return result
    errors = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    ended = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
    raise AssayError(errors[-1] if errors else f"{PROGRAM} {ended}; what it had changed was put back")
