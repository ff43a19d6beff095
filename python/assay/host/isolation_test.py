"""Everything else is kept off the processors of trials, by a control group or by affinity, and comes back."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.host import tune as tuning
from assay.host.journal import open_journal
from assay.host.priority import AS_STARTED, started
from assay.host.settings import Isolation, free_processors, state
from assay.host.system import CPUSET, MEMBERS, System
from assay.host.testing import MACHINE, add_thread, made_machine, put_back_at_the_end
from assay.host.threads import numbers, ranges
from assay.host.tune import Restored, chosen

TIMERS = "/proc/sys/kernel/timer_migration"
ONE, TWO, FOUR = ({"threads": threads, "pinning": "none"} for threads in (1, 2, 4))


@pytest.fixture
def system(tmp_path: Path) -> System:
    """Return a machine with four processors, and a first process."""
    made = made_machine(tmp_path / "root")
    add_thread(made.root, 1, parent=0)
    return made


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return where the journal is: in memory, where syncing takes no time."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as made:
        yield Path(made)


def isolate(system: System, folder: Path) -> list[tuning.Applied]:
    with open_journal(folder, system) as journal:
        return tuning.tune(system, journal, chosen(["isolation"]))


def restore(system: System, folder: Path, answer: None = None) -> list[Restored]:
    with open_journal(folder, system) as journal:
        return tuning.restore(system, journal, lambda *_: answer)


def with_controller(system: System) -> None:
    groups = system.root / "sys/fs/cgroup"
    (groups / "cgroup.subtree_control").write_text("cpuset cpu memory\n")


def test_threads_of_users_leave_the_processors_of_trials_and_come_back(system: System, folder: Path) -> None:
    user = add_thread(system.root, 20)
    second = add_thread(system.root, 21, process=20, allowed="1-2")
    kernel = add_thread(system.root, 30, kernel=True)
    assert free_processors(system) == []
    assert [outcome.reason for outcome in isolate(system, folder)] == ["", "", ""]
    assert [system.read(place) for place in (user, second)] == ["3", "3"]
    assert system.thread(30).allowed == "0-3", kernel  # type: ignore[union-attr]
    assert free_processors(system) == [0, 1, 2]
    assert state(system)["isolation"] == "0-2, by affinity"
    assert {outcome.fate for outcome in restore(system, folder)} == {"restored"}
    assert [system.read(place) for place in (user, second)] == ["0-3", "1-2"]
    assert not (folder / "host.journal").exists()


def test_what_they_make_meanwhile_comes_back_too(system: System, folder: Path) -> None:
    add_thread(system.root, 20, allowed="0-1")
    isolate(system, folder)
    child = add_thread(system.root, 40, parent=20, allowed="3")
    grandchild = add_thread(system.root, 41, parent=40, allowed="3")
    thread = add_thread(system.root, 42, process=20, allowed="3")
    elsewhere = add_thread(system.root, 43, parent=20, allowed="2")  # that was its own choice
    restore(system, folder)
    assert [system.read(place) for place in (child, grandchild, thread)] == ["0-1"] * 3
    assert system.read(elsewhere) == "2"


def test_threads_that_ended_are_settled_and_others_of_their_number_left_alone(
    system: System, folder: Path
) -> None:
    ended = add_thread(system.root, 20)
    isolate(system, folder)
    shutil.rmtree(system.root / "proc/20")
    add_thread(system.root, 20, allowed="3")
    stat = system.root / "proc/20/stat"
    stat.write_text(stat.read_text().replace(" 200 ", " 9999 "))
    fates = {outcome.place: outcome.fate for outcome in restore(system, folder)}
    assert fates[ended] == "ended"
    assert not (folder / "host.journal").exists()


def test_after_a_boot_no_thread_is_taken_for_one_of_before(system: System, folder: Path) -> None:
    same_number = add_thread(system.root, 20)
    isolate(system, folder)
    (system.root / "proc/sys/kernel/random/boot_id").write_text("second-boot\n")
    assert {outcome.fate for outcome in restore(system, folder)} == {"ended"}
    assert system.read(same_number) == "3"
    assert not (folder / "host.journal").exists()


def test_with_the_controller_a_control_group_keeps_the_processors(system: System, folder: Path) -> None:
    with_controller(system)
    user = add_thread(system.root, 20)
    [outcome] = isolate(system, folder)
    assert (outcome.change.place, outcome.change.was, outcome.change.to) == (CPUSET, "none", "0-2")
    assert system.read(user) == "0-3"  # the kernel sees to it
    assert state(system)["isolation"] == "0-2, by cpuset"
    restore(system, folder)
    assert system.read(CPUSET) == "none"
    assert not (system.root / "sys/fs/cgroup/assay").exists()


def test_what_is_said_of_it(system: System) -> None:
    judgement = Isolation().judge(Isolation().read(system))
    assert judgement is not None
    assert "by affinity, as control groups here have no cpuset controller" in judgement.remedy
    with_controller(system)
    judgement = Isolation().judge(Isolation().read(system))
    assert judgement is not None
    assert "by a cpuset" in judgement.remedy


def test_trials_run_on_the_processors_that_are_free(system: System, folder: Path) -> None:
    assert started(system, ONE) == AS_STARTED
    isolate(system, folder)
    assert started(system, TWO).command == ("taskset", "--cpu-list", "0-2")
    assert started(system, {"threads": 2, "pinning": [1, 2]}).command == ("taskset", "--cpu-list", "0-2")
    for too_many in (FOUR, {"threads": 1, "pinning": [3]}):
        everywhere = started(system, too_many)
        assert everywhere.command == ("taskset", "--cpu-list", "0-3")
        assert everywhere.state == {"isolation": "none: 0-2 is too few for this trial"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may put a process into a control group")
def test_trials_enter_the_control_group_or_do_not_run(system: System, folder: Path) -> None:
    with_controller(system)
    isolate(system, folder)
    command = started(system, TWO).command
    assert MEMBERS in " ".join(command)
    done = subprocess.run([*command, "echo", "ran"], capture_output=True, text=True, check=False)
    if Path(MEMBERS).exists():
        pytest.skip("this machine has such a group now")
    assert (done.returncode, done.stdout) == (1, "")
    assert "No such file or directory" in done.stderr
    assert started(system, FOUR).command == ()


def test_a_machine_with_one_processor_has_nothing_to_isolate(tmp_path: Path) -> None:
    system = made_machine(tmp_path, MACHINE | {"/sys/devices/system/cpu/online": "0"})
    assert Isolation().read(system) == {}


IN_A_NAME_SPACE = """
sleep 1000 & early=$!
"$1" -m assay host tune isolation > tuned || exit
sleep 1000 & late=$!
for process in $early $late 1; do taskset --cpu-list --pid $process; done
"$1" -m assay host check | grep isolation
"$1" -m assay host restore > restored || exit
for process in $early $late 1; do taskset --cpu-list --pid $process; done
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="name spaces of processes need root")
def test_real_processes_are_moved_and_come_back(tmp_path: Path) -> None:
    """In a name space of processes, so that only these are moved."""
    usable = System().usable()
    if len(usable) < 2:
        pytest.skip("there is one processor")
    if System().read(CPUSET) is not None:
        pytest.skip("control groups do it here")
    script = ["sh", "-c", IN_A_NAME_SPACE, "sh", sys.executable]
    with put_back_at_the_end(TIMERS):  # no other test tunes this machine meanwhile
        done = subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *script],
            cwd=tmp_path,
            env={**os.environ, "ASSAY_HOST_STATE": str(tmp_path), "COLUMNS": "1000"},
            capture_output=True,
            text=True,
            check=False,
        )
    if "unshare" in done.stderr:
        pytest.skip("no name space of processes may be made here")
    masks = [line.rpartition(": ")[2] for line in done.stdout.splitlines() if "affinity list" in line]
    ours = sorted(os.sched_getaffinity(0))  # some of them, under taskset
    assert [numbers(mask) for mask in masks] == [usable[-1:]] * 3 + [ours] * 3, done
    assert f"isolation {ranges(usable[:-1])}, by affinity" in done.stdout
