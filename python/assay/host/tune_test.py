"""Settings are changed and put back, whatever happens in between."""

import errno
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from assay.errors import AssayError
from assay.host import journal
from assay.host import tune as tuning
from assay.host.journal import open_journal
from assay.host.settings import SETTINGS
from assay.host.system import System
from assay.host.testing import CPU, MACHINE, MadeSystem, add_thread, made_machine, put_back_at_the_end
from assay.host.tune import Restored, chosen, planned, restore, tune

GOVERNOR = f"{CPU}/cpufreq/policy0/scaling_governor"
TIMERS = "/proc/sys/kernel/timer_migration"
STEPS = ("open", "write", "fsync", "ftruncate", "replace", "unlink", "mkdir", "rmdir")
"""Functions of `os` by which journal and places are changed."""


@pytest.fixture
def system(tmp_path: Path) -> System:
    made = made_machine(tmp_path / "root")
    add_thread(made.root, 1, parent=0)
    add_thread(made.root, 20, allowed="0-1")
    return made


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return where the journal is: in memory, where syncing takes no time."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as made:
        yield Path(made) / "state"


def values(system: System) -> dict[str, str | None]:
    return {place: system.read(place) for place in (*MACHINE, "service:irqbalance", "affinity:20:200")}


def tune_it(system: System, folder: Path, *names: str) -> list[tuning.Applied]:
    with open_journal(folder, system) as journal:
        return tune(system, journal, chosen(names))


def restore_it(
    system: System, folder: Path, answer: Any = None, *, give_up_vanished: bool = False
) -> list[Restored]:
    with open_journal(folder, system) as journal:
        return restore(system, journal, lambda *_: answer, give_up_vanished=give_up_vanished)


def put(system: System, place: str, value: str) -> None:
    (system.root / place.lstrip("/")).write_text(value + "\n")


def boot_again(system: System) -> None:
    put(system, "/proc/sys/kernel/random/boot_id", "second-boot")


def fates(outcomes: list[Restored]) -> set[str]:
    return {outcome.fate for outcome in outcomes}


EVERY = tuple(setting.name for setting in SETTINGS)
SEVERAL = ("energy-preference", "governor", "irqbalance", "isolation")
"""Two settings of several places, and two whose places are no files."""


def test_every_setting_is_changed_and_comes_back(system: System, folder: Path) -> None:
    before = values(system)
    applied = tune_it(system, folder, *EVERY)
    assert [outcome for outcome in applied if outcome.reason] == []
    assert len({outcome.change.setting for outcome in applied}) == 14
    assert all(system.read(outcome.change.place) == outcome.change.to for outcome in applied)
    assert planned(system, chosen(EVERY)) == []
    assert fates(restore_it(system, folder)) == {"restored"}
    assert values(system) == before
    assert not (folder / "host.journal").exists()


def test_without_names_no_processor_is_taken_away(system: System, folder: Path) -> None:
    tune_it(system, folder)
    assert system.read(f"{CPU}/smt/control") == "on"
    assert system.read(GOVERNOR) == "performance"


def test_a_dry_run_changes_nothing(system: System) -> None:
    before = values(system)
    assert {change.setting for change in planned(system, chosen(["governor"]))} == {"governor"}
    assert values(system) == before


def killed_at(number: int, how: str, act: Callable[[], object]) -> bool:
    """Do something in a process that kills itself at one of its steps; return whether it came so far."""

    def body() -> None:
        steps = 0

        def stepping(real: Callable[..., Any]) -> Callable[..., Any]:
            def step(*arguments: Any, **named: Any) -> Any:
                nonlocal steps
                steps += 1
                if steps == number and how == "before":
                    os.kill(os.getpid(), signal.SIGKILL)
                if steps == number and how == "within" and real is writing:
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                last = steps == number
                try:
                    return real(*arguments, **named)
                finally:
                    if last:
                        os.kill(os.getpid(), signal.SIGKILL)

            return step

        writing = os.write
        for name in STEPS:
            setattr(os, name, stepping(getattr(os, name)))
        act()
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=body)
    process.start()
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0


@pytest.mark.parametrize("how", ["before", "within", "after"])
def test_kill_9_at_each_step_of_tuning_loses_nothing(system: System, folder: Path, how: str) -> None:
    before = values(system)
    for number in range(1, 1000):
        killed = killed_at(number, how, lambda: tune_it(system, folder, *SEVERAL))
        assert fates(restore_it(system, folder)) <= {"restored", "as it was"}
        assert values(system) == before, number
        assert not (folder / "host.journal").exists()
        if not killed:
            break
    assert 20 < number < 1000


@pytest.mark.parametrize("how", ["before", "within", "after"])
def test_kill_9_at_each_step_of_restoring_loses_nothing(system: System, folder: Path, how: str) -> None:
    before = values(system)
    for number in range(1, 1000):
        tune_it(system, folder, *SEVERAL)
        killed = killed_at(number, how, lambda: restore_it(system, folder))
        restore_it(system, folder)
        assert values(system) == before, number
        assert not (folder / "host.journal").exists()
        if not killed:
            break
    assert 10 < number < 1000


def test_tuning_again_after_a_kill_remembers_the_first_values(system: System, folder: Path) -> None:
    before = values(system)
    for number in range(1, 60, 7):
        killed_at(number, "within", lambda: tune_it(system, folder, *SEVERAL))
    tune_it(system, folder, *SEVERAL)
    restore_it(system, folder)
    assert values(system) == before


def test_what_somebody_else_changed_is_left_and_told(system: System, folder: Path) -> None:
    tune_it(system, folder, "governor", "timer-migration")
    put(system, GOVERNOR, "ondemand")
    outcomes = restore_it(system, folder)
    changed = [outcome for outcome in outcomes if not outcome.settled]
    assert [(outcome.place, outcome.was, outcome.now, outcome.fate) for outcome in changed] == [
        (GOVERNOR, "powersave", "ondemand", "changed")
    ]
    assert system.read(GOVERNOR) == "ondemand"
    assert system.read(TIMERS) == "1"  # the others are back
    assert (folder / "host.journal").exists()


@pytest.mark.parametrize(
    ("answer", "fate", "value"), [("keep", "kept", "ondemand"), ("overwrite", "restored", "powersave")]
)
def test_the_user_decides_about_it(system: System, folder: Path, answer: str, fate: str, value: str) -> None:
    tune_it(system, folder, "governor")
    put(system, GOVERNOR, "ondemand")
    outcomes = restore_it(system, folder, answer)
    assert {outcome.fate for outcome in outcomes if outcome.place == GOVERNOR} == {fate}
    assert system.read(GOVERNOR) == value
    assert not (folder / "host.journal").exists()


def test_settings_that_a_boot_reset_are_recognised(system: System, folder: Path) -> None:
    before = values(system)
    tune_it(system, folder, "governor", "timer-migration")
    for place, value in MACHINE.items():
        put(system, place, value)
    boot_again(system)
    assert fates(restore_it(system, folder)) == {"reset by the boot"}
    assert values(system) | {"/proc/sys/kernel/random/boot_id": "first-boot"} == before
    assert not (folder / "host.journal").exists()


def test_after_a_boot_our_own_value_is_not_ours_any_more(system: System, folder: Path) -> None:
    """Whoever configured the machine may want it."""
    tune_it(system, folder, "timer-migration")
    boot_again(system)
    assert fates(restore_it(system, folder)) == {"changed"}
    assert system.read(TIMERS) == "0"
    with pytest.raises(AssayError, match="is of an earlier boot: first `assay host restore`"):
        tune_it(system, folder, "timer-migration")


def test_a_setting_that_vanished_is_told_and_the_others_come_back(system: System, folder: Path) -> None:
    tune_it(system, folder, "governor", "timer-migration")
    (system.root / GOVERNOR.lstrip("/")).unlink()
    outcomes = restore_it(system, folder)
    assert {outcome.place for outcome in outcomes if outcome.fate == "vanished"} == {GOVERNOR}
    assert system.read(TIMERS) == "1"
    assert (folder / "host.journal").exists()
    restore_it(system, folder, "keep", give_up_vanished=True)
    assert not (folder / "host.journal").exists()


def test_what_fails_is_tried_again_after_the_others(
    system: System, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `performance`, intel_pstate admits no other energy preference, whatever the order is."""
    before = values(system)
    tune_it(system, folder, "governor", "timer-migration")
    write = MadeSystem.write

    def one_holds_the_other(
        self: MadeSystem, values: dict[str, str], locks: Sequence[int] = ()
    ) -> dict[str, str]:
        held = {TIMERS: "Device or resource busy"} if self.read(GOVERNOR) == "performance" else {}
        return (
            write(self, {place: value for place, value in values.items() if place not in held}, locks) | held
        )

    monkeypatch.setattr(MadeSystem, "write", one_holds_the_other)
    assert fates(restore_it(system, folder)) == {"restored"}
    assert values(system) == before


@pytest.mark.parametrize(("setting", "kept"), [("irq-affinity", True), ("timer-migration", False)])
@pytest.mark.parametrize("code", [errno.EPERM, errno.EROFS])
def test_only_interrupts_that_the_kernel_keeps_are_no_failure(
    system: System, folder: Path, monkeypatch: pytest.MonkeyPatch, setting: str, kept: bool, code: int
) -> None:
    monkeypatch.setattr(MadeSystem, "write", lambda _, values, *__: dict.fromkeys(values, os.strerror(code)))
    applied = tune_it(system, folder, setting)
    assert applied
    is_kept = kept and code == errno.EPERM
    assert {outcome.of_the_kernel for outcome in applied} == {is_kept}
    assert all(("the kernel keeps it" in line) == is_kept for line in tuning.problems(applied))


def test_what_the_kernel_changes_beside_a_setting_comes_back_after_it(
    system: System, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt of a processor that SMT takes away goes to the others, and stays there."""
    before = values(system)
    write = MadeSystem.write

    def with_the_kernel(self: MadeSystem, wanted: dict[str, str], locks: Sequence[int]) -> dict[str, str]:
        failed = write(self, wanted, locks)
        if wanted.get(f"{CPU}/smt/control") == "off":
            put(self, "/proc/irq/12/smp_affinity_list", "0-1")
        return failed

    monkeypatch.setattr(MadeSystem, "write", with_the_kernel)
    tune_it(system, folder, "smt")
    outcomes = restore_it(system, folder)
    assert outcomes[0].place == f"{CPU}/smt/control"
    assert fates(outcomes) == {"restored", "as it was"}
    assert values(system) == before


def test_a_damaged_journal_is_refused_with_its_line(system: System, folder: Path) -> None:
    tune_it(system, folder, "governor")
    file = folder / "host.journal"
    lines = file.read_bytes().splitlines(keepends=True)
    for broken in (lines[1].replace(b"powersave", b"performan"), b"\0" * 40 + b"\n", b"x\n", b"\n"):
        file.write_bytes(lines[0] + broken + b"".join(lines[2:]))
        with pytest.raises(AssayError, match=r"host.journal:2: the journal is damaged here"):
            restore_it(system, folder)
    assert system.read(GOVERNOR) == "performance"


@pytest.mark.parametrize(
    "text",
    [
        *(b"7", b"[]", b"{}", b"null", b"[" * 100_000, b'"\\ud800"'),
        b'{"setting": "governor", "place": "/a b", "was": "1", "to": "2"}',
        b'{"setting": "governor", "place": "/a", "was": 1, "to": "2"}',
        b'{"setting": "governor", "place": "/a", "was": "1\\n/b 2", "to": "2"}',
    ],
)
@pytest.mark.parametrize("number", [1, 2])
def test_a_line_that_says_nothing_is_damaged_whatever_its_checksum(
    system: System, folder: Path, text: bytes, number: int
) -> None:
    tune_it(system, folder, "governor")
    file = folder / "host.journal"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[number - 1] = b"%08x %s\n" % (crc32(text), text)
    file.write_bytes(b"".join(lines))
    with pytest.raises(AssayError, match=rf"host.journal:{number}: the journal is damaged here"):
        restore_it(system, folder)


@pytest.mark.parametrize("name", ["host.lock", "host.journal"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "zero"])
def test_only_plain_files_are_opened(system: System, folder: Path, name: str, kind: str) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / name
    elsewhere = folder / "elsewhere"
    elsewhere.write_text("mine")
    match kind:
        case "link":
            file.symlink_to(elsewhere)
        case "zero":
            file.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(file)
        case _:
            file.mkdir()
    with pytest.raises(AssayError, match=str(folder)):
        restore_it(system, folder)
    assert elsewhere.read_text() == "mine"


def test_the_files_are_for_this_user_alone(system: System, folder: Path) -> None:
    tune_it(system, folder, "governor")
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir() if file.is_file()} == {0o600}


def test_one_value_that_is_not_allowed_does_not_block_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def script(command: list[str], *, input: str, **_: object) -> subprocess.CompletedProcess[str]:
        if "/bad" in input:
            return subprocess.CompletedProcess(command, 1, "", f"assay-host-set: not allowed: {input!r}")
        written.extend(input.splitlines())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("assay.host.system.root_script", lambda: ["script"])
    monkeypatch.setattr(subprocess, "run", script)
    failed = System().write({"/a": "1", "/b": "2", "/bad": "3", "/c": "4"})
    assert list(failed) == ["/bad"]
    assert "not allowed" in failed["/bad"]
    assert written == ["/a 1", "/b 2", "/c 4"]


@pytest.mark.parametrize("broken", [1, 2, 3])
def test_what_can_be_read_of_a_damaged_journal_is_put_back_if_asked(
    system: System, folder: Path, broken: int
) -> None:
    tune_it(system, folder, "governor", "timer-migration")
    file = folder / "host.journal"
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4  # whose it is, two governors, the timers
    lines[broken - 1] = b"x" + lines[broken - 1][1:]
    file.write_bytes(b"".join(lines))
    with open_journal(folder, system, readable=True) as opened:
        assert opened.damaged == [broken]
        # Without its first line nobody knows whether the values are ours: it asks.
        outcomes = restore(system, opened, lambda *_: "overwrite" if broken == 1 else None)
    assert all(outcome.fate == "restored" for outcome in outcomes)
    assert len(outcomes) == (3 if broken == 1 else 2)
    assert not file.exists()
    assert (folder / "host.journal.damaged").read_bytes() == b"".join(lines)


def test_the_journal_of_another_host_is_refused(system: System, folder: Path) -> None:
    tune_it(system, folder, "governor")
    put(system, "/etc/machine-id", "fedcba9876543210")
    with pytest.raises(AssayError, match="is the journal of another host, made: restore there"):
        restore_it(system, folder)
    assert system.read(GOVERNOR) == "performance"


def test_a_journal_of_another_version_is_refused(system: System, folder: Path) -> None:
    folder.mkdir()
    (folder / "host.journal").write_bytes(journal._line({"version": 2}))
    with pytest.raises(AssayError, match="comes from another version of Assay"):
        restore_it(system, folder)


def test_two_cannot_tune_at_once(system: System, folder: Path) -> None:
    with (
        open_journal(folder, system),
        pytest.raises(AssayError, match=f"another assay .process {os.getpid()}. tunes this host"),
    ):
        tune_it(system, folder, "governor")
    tune_it(system, folder, "governor")


def test_two_cannot_tune_at_once_with_journals_of_their_own(system: System, folder: Path) -> None:
    """As those of two users are."""
    with (
        open_journal(folder / "one", system),
        pytest.raises(AssayError, match=r"another assay tunes this host, whose journal is not in .*/other:"),
    ):
        tune_it(system, folder / "other", "governor")
    tune_it(system, folder / "other", "governor")


def test_the_children_of_a_killed_run_are_waited_for(system: System, folder: Path) -> None:
    with open_journal(folder, system):
        pass
    run = subprocess.Popen(
        [sys.executable, "-c", HOLDS_THE_LOCK, folder / "host.lock"], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    child = int(run.stdout.readline())
    run.kill()
    run.wait()
    ended = threading.Timer(0.1, os.kill, (child, signal.SIGKILL))
    ended.start()
    tune_it(system, folder, "governor")
    ended.join()


def test_a_tuned_run_leaves_everything_as_it_was(system: System, folder: Path) -> None:
    before, said = values(system), list[str]()
    seen: list[str | None] = []

    def fail() -> None:
        with tuning.tuned(system, folder, said.append, tuning.chosen(())):
            seen.append(system.read(GOVERNOR))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == ["performance"]
    assert (values(system), said) == (before, [])


def test_a_tuned_run_says_what_somebody_else_changed_meanwhile(system: System, folder: Path) -> None:
    said: list[str] = []
    with tuning.tuned(system, folder, said.append, tuning.chosen(())):
        put(system, GOVERNOR, "ondemand")
    assert len(said) == 1
    assert "something else made it ondemand; it was powersave, and is left alone" in said[0]
    with (
        pytest.raises(AssayError, match="the host has been tuned since"),
        tuning.tuned(system, folder, said.append, tuning.chosen(())),
    ):
        pass


def test_a_journal_that_cannot_be_written_whole_changes_nothing(system: System, folder: Path) -> None:
    before = values(system)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(
            AssayError, match=r"cannot write the journal .*: File too large; nothing was changed"
        ):
            tune_it(system, folder, "governor")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert values(system) == before
    tune_it(system, folder, "governor")
    restore_it(system, folder)
    assert values(system) == before


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changes real settings, which needs root")


@root_only
@pytest.mark.parametrize("how", ["before", "after"])
def test_kill_9_at_each_step_on_the_real_machine(folder: Path, how: str) -> None:
    system = System()
    with put_back_at_the_end(TIMERS, "/proc/sys/kernel/sched_rt_runtime_us") as before:
        for number in range(1, 100):
            killed = killed_at(
                number, how, lambda: tune_it(system, folder, "timer-migration", "real-time-share")
            )
            while True:  # the root script may still be at work: it holds the lock meanwhile
                try:
                    restore_it(system, folder)
                    break
                except AssayError as error:
                    assert "another assay" in str(error)  # noqa: PT017
            assert {place: system.read(place) for place in before} == before
            assert not (folder / "host.journal").exists()
            if not killed:
                break
        assert 5 < number < 100


@root_only
def test_real_interrupts_are_moved_and_come_back(folder: Path) -> None:
    system = System()
    with put_back_at_the_end() as before:
        places = [place for place in before if place.startswith("/proc/irq/")]
        if not places:
            pytest.skip("this machine has no interrupts to move")
        applied = tune_it(system, folder, "irq-affinity")
        assert any(not outcome.reason for outcome in applied)
        assert fates(restore_it(system, folder)) <= {"restored", "as it was"}
        assert {place: system.read(place) for place in before} == before


HOLDS_THE_LOCK = """
import fcntl, os, signal, sys
lock = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
os.write(lock, b"%d\\n" % os.getpid())
child = os.fork()
if child:
    print(child, flush=True)
signal.pause()
"""
READ_ONLY = """
mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys || exit 77
exec "$@"
"""


def assay_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "assay", *words]


def ended(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Return how a command ended, for which no other test changes real settings."""
    with put_back_at_the_end(TIMERS):
        Path(TIMERS).write_text("1\n")
        return subprocess.run(
            command,
            env={**os.environ, "ASSAY_HOST_STATE": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )


@root_only
def test_read_only_settings_are_told_and_nothing_is_left_behind(folder: Path) -> None:
    tuning_it = assay_command("host", "tune", "timer-migration")
    done = ended(["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", *tuning_it], folder)
    if done.returncode == 77:
        pytest.skip("no name space of mounts may be made here")
    assert done.returncode == 1
    assert f"timer-migration: not changed: {TIMERS}: Read-only file system" in done.stderr
    assert not (folder / "host.journal").exists()


@root_only
def test_without_root_it_says_what_it_could_not_do(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    folder.parent.chmod(0o755)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = ended([*nobody, *assay_command("host", "tune", "timer-migration")], folder)
    if done.returncode not in {0, 1, 2}:
        pytest.skip("nobody may not read the interpreter here")
    assert done.returncode == 1, done.stderr
    assert "not changed, as that needs root: timer-migration; run it as root, or once: sudo" in done.stderr
    assert not (folder / "host.journal").exists()


# umockdev's attributes keep what a shorter value leaves of a longer one, so that these are of one length.
MOCKED = """\
P: /devices/system/cpu/cpufreq/policy0
E: SUBSYSTEM=cpu
A: scaling_governor=interactive

P: /devices/system/cpu/cpufreq
E: SUBSYSTEM=cpu
A: boost=1
"""


@root_only
def test_a_mocked_governor_and_boost_are_set_by_the_root_script_and_come_back(
    folder: Path, tmp_path: Path
) -> None:
    machine = tmp_path / "machine.umockdev"
    machine.write_text(MOCKED)
    assay = " ".join(assay_command("host"))
    show = f"cat {GOVERNOR} {CPU}/cpufreq/boost; echo"
    script = f"{assay} tune governor turbo && {show} && {assay} restore && {show}"
    done = ended(["umockdev-run", "--device", str(machine), "--", "sh", "-c", script], folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("interactive -> performance") == done.stdout.count("boost: 1 -> 0") == 1
    shown = [line for line in done.stdout.splitlines() if re.fullmatch(r"[a-z]+[01]", line)]
    assert shown == ["performance0", "interactive1"]
