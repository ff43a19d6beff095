"""Changes settings, and restores the earlier values."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from assay.errors import AssayError
from assay.host.journal import Journal, Pending, SettingChange, open_journal
from assay.host.settings import SETTINGS, Isolation, Setting
from assay.host.system import NEEDS_ROOT, System, without_root
from assay.host.threads import AFFINITY
from assay.words import nearest, one_line

Fate = Literal["restored", "as it was", "reset by the boot", "ended", "kept", "changed", "vanished", "failed"]
"""The result of restoring a place; the last three are not settled."""

Thing = TypeVar("Thing")

_REFUSALS = {os.strerror(errno.EPERM), os.strerror(errno.EIO)}

_UNSETTLED = {"changed", "vanished", "failed"}

LONGEST = 60
"""The most characters of a value in a line: a place may hold any text."""


@dataclass(frozen=True)
class Applied:
    """The result of a change: `reason` says why it was not made; "" if it was."""

    change: SettingChange
    reason: str

    @property
    def of_the_kernel(self) -> bool:
        """Whether only the kernel can change the place, and not even root.

        It refuses to change its managed interrupts, such as those of a disk's queues (write_irq_affinity in
        kernel/irq/proc.c), with EPERM, or with EIO in older kernels.
        """
        return self.change.setting == "irq-affinity" and self.reason in _REFUSALS


@dataclass(frozen=True)
class Restored:
    """The result of restoring a place.

    Attributes:
        was: the value before the first change.
        now: the value that was found; None if the place has vanished.
        fate: restored; "as it was", "reset by the boot" or (a thread) ended: nothing had to be done; kept:
            the user chose to keep somebody else's value; changed: somebody else's value is still there;
            vanished; failed.
        reason: why it failed.
    """

    setting: str
    place: str
    was: str
    now: str | None
    fate: Fate
    reason: str = ""

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be done."""
        return self.fate not in _UNSETTLED


Decide = Callable[[str, str, str], Literal["keep", "overwrite"] | None]
"""Decides about a place, from somebody else's value there and the value before our change; None leaves it
undecided."""


def chosen(names: Sequence[str]) -> list[Setting]:
    """Return the settings with these names, by default the usual ones, in the order of `SETTINGS`.

    Raises:
        AssayError: there is no such setting.
    """
    known = [setting.name for setting in SETTINGS]
    for name in names:
        if name not in known:
            raise AssayError(f"assay host tune: no such setting: {name}; {nearest(name, known)}")
    return [setting for setting in SETTINGS if (setting.name in names if names else setting.by_default)]


def planned(system: System, settings: Sequence[Setting]) -> list[SettingChange]:
    """Return the changes that would make settings good, in the order in which they are made."""
    changes: list[SettingChange] = []
    for setting in settings:
        values = setting.read_all(system)
        targets = setting.target_values(values) if values else {}
        changes += [SettingChange(setting.name, place, values[place], to) for place, to in targets.items()]
    return changes


def tune(system: System, journal: Journal, settings: Sequence[Setting]) -> list[Applied]:
    """Make settings good, and return the result of each change; each is in the journal before it is made.

    Raises:
        AssayError: the journal is from another boot, or cannot be written; no more is changed then.
    """
    if journal.pending and journal.boot != system.boot:
        raise AssayError(
            f"{journal.path} is of an earlier boot: first `assay host restore`, which says what became of it"
        )
    applied: list[Applied] = []
    for setting in settings:
        # Planned one by one: a setting may take others' places away, as SMT does.
        for _ in range(setting.rounds):
            tried = {outcome.change.place for outcome in applied}
            changes = [change for change in planned(system, [setting]) if change.place not in tried]
            if changes:
                applied += _apply(system, journal, changes, setting.disturbs)
    if all(system.read(place) == pending.was for place, pending in journal.pending.items()):
        journal.forget()
    return applied


def restore(
    system: System, journal: Journal, decide: Decide, *, give_up_vanished: bool = False
) -> list[Restored]:
    """Restore the values in the journal, the newest first, and remove it if every place is settled.

    It may be killed at any moment and repeated.

    Args:
        decide: decides about places that somebody else has changed since.
        give_up_vanished: places that have vanished count as settled.
    """
    same_boot = journal.boot == system.boot
    outcomes: dict[str, Restored] = {}
    entries = dict(journal.pending)
    for _ in range(Isolation.rounds):
        outcomes |= _restore(system, journal, entries, same_boot, decide)
        entries = _inherited(system, journal.pending, outcomes) if same_boot else {}
        if not entries:
            break
    if all(
        outcome.settled or (give_up_vanished and outcome.fate == "vanished") for outcome in outcomes.values()
    ):
        journal.forget()
    return list(outcomes.values())


def _restore(
    system: System, journal: Journal, entries: Mapping[str, Pending], same_boot: bool, decide: Decide
) -> dict[str, Restored]:
    """Restore some places, the newest first; return place -> result."""
    outcomes: dict[str, Restored] = {}
    to_write: dict[str, str] = {}
    for place, pending in reversed(list(entries.items())):
        is_thread = place.startswith(AFFINITY)
        now = system.read(place) if same_boot or not is_thread else None
        fate: Fate
        if now is None:
            fate = "ended" if is_thread else "vanished"
        elif now == pending.was:
            fate = "as it was" if same_boot else "reset by the boot"
        elif same_boot and now in pending.ours:
            fate = "restored"
        else:
            answer = decide(place, now, pending.was)
            fate = {"keep": "kept", "overwrite": "restored", None: "changed"}[answer]  # type: ignore[assignment]
        if fate == "restored":
            to_write[place] = pending.was
        outcomes[place] = Restored(pending.setting, place, pending.was, now, fate)
    for place, reason in _put_back(system, journal, to_write).items():
        failed = outcomes[place]
        ended = place.startswith(AFFINITY) and system.read(place) is None
        outcomes[place] = replace(failed, fate="ended" if ended else "failed", reason="" if ended else reason)
    return outcomes


def _inherited(system: System, pending: Mapping[str, Pending], known: Container[str]) -> dict[str, Pending]:
    """Return the threads that inherited our affinity from their parents, with the parents' old affinity."""
    if not any(place.startswith(AFFINITY) for place in pending):
        return {}
    threads = {thread.number: thread for thread in system.threads()}
    found: dict[str, Pending] = {}
    for thread in threads.values():
        if thread.place in known or not thread.movable:
            continue
        maker = threads.get(thread.process if thread.process != thread.number else thread.parent)
        while maker and maker.place not in pending:
            maker = threads.get(maker.parent)
        if maker and thread.allowed in pending[maker.place].ours:
            found[thread.place] = pending[maker.place]
    return found


@contextmanager
def tuned(
    system: System, folder: Path, say: Callable[[str], None], settings: Sequence[Setting]
) -> Iterator[None]:
    """While entered, these settings are good; `say` gets what could not be changed or restored.

    If this process is killed, another one puts the host back; if that is killed too, the next run does.

    Raises:
        AssayError: the host is already tuned, by another process or from earlier.
    """
    with open_journal(folder, system, of_run=True) as journal, _restored_if_killed(folder):
        if journal.pending and journal.of_run:
            restore(system, journal, lambda place, now, was: None)
        if journal.pending:
            raise AssayError(
                f"the host has been tuned since {journal.since} ({journal.path}): `assay host restore` first"
            )
        try:
            for line in problems(tune(system, journal, settings)):
                say(line)
            yield
        finally:
            for outcome in restore(system, journal, lambda place, now, was: None):
                if not outcome.settled:
                    say(f"{outcome_in_words(outcome)}; `assay host restore` asks what to do")


@contextmanager
def _restored_if_killed(folder: Path) -> Iterator[None]:
    """While entered, a process waits for the end of this one; unless told that all is well, it restores."""
    restoring = [sys.executable, "-m", "assay", "host", "restore"]
    janitor = subprocess.Popen(  # noqa: S603
        ["sh", "-c", 'trap "" HUP INT TERM; read -r well || exec "$@"', "sh", *restoring],  # noqa: S607
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "ASSAY_HOST_STATE": str(folder)},
        start_new_session=True,
    )
    try:
        yield
    finally:
        janitor.communicate(b"well\n")


def problems(applied: Sequence[Applied]) -> list[str]:
    """Return what could not be changed, a line for each reason of each setting."""
    reasons: dict[tuple[str, str], list[SettingChange]] = {}
    for outcome in applied:
        if outcome.reason:
            reason = f"the kernel keeps it: {outcome.reason}" if outcome.of_the_kernel else outcome.reason
            reasons.setdefault((outcome.change.setting, reason), []).append(outcome.change)
    lines = [
        f"{name}: not changed: {changes[0].place}{and_more(changes)}: {reason}"
        for (name, reason), changes in reasons.items()
        if reason != NEEDS_ROOT
    ]
    if rootless := dict.fromkeys(name for name, reason in reasons if reason == NEEDS_ROOT):
        lines.append(f"not changed, as that needs root: {', '.join(rootless)}; {without_root()}")
    return lines


def outcomes_in_words(outcomes: Sequence[Restored]) -> list[str]:
    """Return the results of places in words, one line for equal results of a setting."""
    together = alike(outcomes, lambda outcome: replace(outcome, place=""))
    return [outcome_in_words(replace(same[0], place=f"{same[0].place}{and_more(same)}")) for same in together]


def alike(things: Sequence[Thing], key: Callable[[Thing], Hashable]) -> list[list[Thing]]:
    """Return things in groups with the same key, in the order of each group's first thing."""
    groups: dict[Hashable, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return list(groups.values())


def and_more(things: Sequence[object]) -> str:
    """Return in words how many there are in addition to the first; "" if none."""
    return f" and {len(things) - 1} more" if len(things) > 1 else ""


def outcome_in_words(outcome: Restored) -> str:
    """Return the result of restoring a place in words."""
    place = f"{outcome.setting}: {outcome.place}"
    was, now = one_line(outcome.was, LONGEST), one_line(outcome.now or "", LONGEST)
    return {
        "restored": f"{place}: {was} again",
        "as it was": f"{place}: is {was} already",
        "ended": f"{place}: has ended",
        "reset by the boot": f"{place}: is {was} since the machine was started",
        "kept": f"{place}: stays {now}; it was {was}",
        "changed": f"{place}: something else made it {now}; it was {was}, and is left alone",
        "vanished": f"{place}: has vanished; it was {was}",
        "failed": f"{place}: cannot be put back to {was}: {outcome.reason}",
    }[outcome.fate]


def remedies(left: Sequence[Restored]) -> list[str]:
    """Return what the user can do about places that are not settled, a line for each remedy."""
    command = "`assay host restore"
    ways: dict[Fate, str] = {
        "changed": f"{command} --keep` leaves what is there now, {command} --overwrite` puts back what was",
        "vanished": f"{command}` again once the setting is back, or {command} --keep` gives it up",
        "failed": f"{command}` again, once the reason is gone",
    }
    fates = [outcome.fate for outcome in left]
    return [f"{fates.count(fate)} {fate}: {way}" for fate, way in ways.items() if fate in fates]


def _apply(
    system: System, journal: Journal, changes: Sequence[SettingChange], disturbed: Sequence[str]
) -> list[Applied]:
    # What may change with them comes first, so that it is put back after them.
    neighbours = [
        SettingChange(changes[0].setting, place, was, was)
        for place, was in system.read_all(*disturbed).items()
    ]
    journal.announce([*neighbours, *changes])
    failed = system.write({change.place: change.to for change in changes}, journal.locks)
    applied: list[Applied] = []
    otherwise: list[SettingChange] = []
    for change in changes:
        now = system.read(change.place)
        if now is None and change.place.startswith(AFFINITY):
            continue  # the thread has ended
        reason = failed.get(change.place, "")
        if not reason and now is None:
            reason = "it has vanished"
        elif not reason and now == change.was:
            reason = f"it stays {now}"
        if not reason and now != change.to:
            otherwise.append(SettingChange(change.setting, change.place, change.was, str(now)))
        applied.append(Applied(change, reason))
    for change in neighbours:
        now = system.read(change.place)
        if now not in {None, change.was}:
            otherwise.append(replace(change, to=str(now)))
    if otherwise:  # the kernel writes a value in its own way, which is ours all the same
        journal.announce(otherwise)
    return applied


def _put_back(system: System, journal: Journal, values: dict[str, str]) -> dict[str, str]:
    """Write values, and return place -> why not; failures are tried again after the others.

    One setting may block another: a governor blocks the energy preference.
    """
    failed: dict[str, str] = {}
    for _ in range(2):
        failed = system.write(values, journal.locks)
        for place, value in values.items():
            now = system.read(place)
            if now == value:
                failed.pop(place, None)
            elif place not in failed:
                failed[place] = f"it stays {now}"
        values = {place: values[place] for place in failed}
        if not values:
            break
    return failed
