"""Real processes say in which surroundings they run; what belongs to a machine is changed on a made one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.host.priority import allowed
from assay.host.testing import CPU, made_machine
from assay.runner import energy
from assay.runner.process import CannotStartError
from assay.runner.surroundings import surrounded

GOVERNOR = f"{CPU}/cpufreq/policy0/scaling_governor"
SHARE = "/proc/sys/kernel/sched_rt_runtime_us"
TELL = """import json, os, subprocess
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "class": os.sched_getscheduler(0),
    "io": subprocess.run(["ionice", "-p", str(os.getpid())], capture_output=True, text=True).stdout.strip(),
    "locked_kb": int(status["VmLck"].split()[0]),
}))"""


def told(system_root: Path, **wanted: object) -> tuple[dict[str, object], dict[str, str]]:
    """Run a process in surroundings; return what it says of itself, and what is recorded."""
    system = made_machine(system_root)
    with surrounded(wanted, Path(sys.executable), 60, system) as around:
        environment = {"PATH": "/usr/bin:/bin"} | ({"LD_PRELOAD": around.preload} if around.preload else {})
        command = [*around.command, sys.executable, "-c", TELL]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return json.loads(done.stdout), dict(around.state)


@pytest.mark.parametrize(
    ("name", "number"), [("other", 0), ("fifo", 1), ("rr", 2), ("batch", 3), ("idle", 5)]
)
def test_a_process_runs_in_the_scheduling_class_of_its_settings(
    tmp_path: Path, name: str, number: int
) -> None:
    words = ["chrt", f"--{name}", "1" if name in {"fifo", "rr"} else "0"]
    if not allowed(*words):
        with pytest.raises(CannotStartError, match=f"scheduling = {name} is not permitted here"):
            told(tmp_path, scheduling=name)
        return
    said, state = told(tmp_path, scheduling=name)
    assert said["class"] == number
    assert state["scheduling"].startswith(name)


@pytest.mark.parametrize(("name", "shown"), [("best_effort", "best-effort: prio 0"), ("idle", "idle")])
def test_a_process_has_the_io_priority_of_its_settings(tmp_path: Path, name: str, shown: str) -> None:
    assert told(tmp_path, io_priority=name)[0]["io"] == shown


def test_the_memory_of_a_process_is_locked_or_it_fails_and_says_why(tmp_path: Path) -> None:
    refused = ""
    try:
        said, state = told(tmp_path, memory_locked=True)
    except subprocess.CalledProcessError as error:
        refused = error.stderr
    if not refused:
        assert said["locked_kb"]
        assert state["memory-lock"] == "locked"
    else:  # by a limit of this user
        assert "memory cannot be locked" in refused


def test_a_static_program_cannot_have_its_memory_locked(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text("int main() { return 0; }\n")
    program = tmp_path / "x"
    subprocess.run(["cc", "-static", "-o", program, source], check=True)
    wanted = {"memory_locked": True}
    with (
        pytest.raises(CannotStartError, match="linked statically"),
        surrounded(wanted, program, 1, made_machine(tmp_path / "machine")),
    ):
        pass


def test_load_is_there_while_the_process_runs_and_gone_after(tmp_path: Path) -> None:
    def running() -> int:
        listed = subprocess.run(
            ["ps", "--ppid", str(own), "-o", "pid="], capture_output=True, text=True, check=False
        )
        return len(listed.stdout.split()) - 1  # less ps itself

    own = int(Path("/proc/self").resolve().name)
    before = running()
    with surrounded({"busy_processes": 2}, Path(sys.executable), 60, made_machine(tmp_path)) as around:
        assert running() == before + 2
        assert around.state["load"] == "2 busy"
    assert running() == before


def test_a_machine_has_the_governor_and_share_while_the_process_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOST_STATE", str(tmp_path / "state"))
    system = made_machine(tmp_path / "machine")
    wanted = {"frequency_governor": "ondemand", "real_time_share": "unlimited"}
    with surrounded(wanted, Path(sys.executable), 60, system) as around:
        assert (system.read(GOVERNOR), system.read(SHARE)) == ("ondemand", "-1")
        assert around.state == {"governor": "ondemand", "real-time-share": "-1"}
    assert (system.read(GOVERNOR), system.read(SHARE)) == ("powersave", "950000")


@pytest.mark.parametrize("ended_by", [KeyboardInterrupt, CannotStartError])
def test_whatever_ends_a_trial_the_governor_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended_by: type[BaseException]
) -> None:
    monkeypatch.setenv("ASSAY_HOST_STATE", str(tmp_path / "state"))
    system = made_machine(tmp_path / "machine")
    wanted = {"frequency_governor": "performance"}
    with pytest.raises(ended_by), surrounded(wanted, Path(sys.executable), 60, system):
        raise ended_by("the trial")
    assert system.read(GOVERNOR) == "powersave"


def test_if_assay_is_killed_in_a_trial_and_what_puts_back_the_governor_too_the_next_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOST_STATE", str(tmp_path / "state"))
    system = made_machine(tmp_path / "machine")
    wanted = {"frequency_governor": "performance"}
    child = os.fork()
    if child == 0:
        with surrounded(wanted, Path(sys.executable), 60, system):
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert system.read(GOVERNOR) == "performance"
    with surrounded(wanted, Path(sys.executable), 60, system):
        assert system.read(GOVERNOR) == "performance"
    assert system.read(GOVERNOR) == "powersave"


def test_a_machine_without_governors_refuses_one(tmp_path: Path) -> None:
    system = made_machine(tmp_path, {"/proc/loadavg": "0 0 0 1/1 1"})
    with (
        pytest.raises(CannotStartError, match="governor cannot be set on this machine: the kernel does not"),
        surrounded({"frequency_governor": "performance"}, Path(sys.executable), 60, system),
    ):
        pass


def test_as_found_changes_nothing(tmp_path: Path) -> None:
    system = made_machine(tmp_path, {"/proc/loadavg": "0 0 0 1/1 1"})
    wanted = {
        "frequency_governor": "as_found",
        "real_time_share": "as_found",
        "busy_processes": 0,
        "memory_locked": False,
    }
    with surrounded(wanted, Path(sys.executable), 60, system) as around:
        assert (around.command, around.preload, around.state) == ([], "", {})


def test_energy_times_delay() -> None:
    of_command = energy.metrics({"wall_ms": 2000.0, "runs": 4.0}, 40.0)
    assert of_command == {
        "energy_j": 10,
        "energy_delay": 20,
        "energy_delay2": 40,
        "energy_delay3": 80,
    }
    of_trial = energy.metrics({"energy_uj_per_operation": 3.0, "throughput": 5e8}, 40.0)
    assert of_trial == {
        "energy_delay_per_operation": 6,
        "energy_delay2_per_operation": 12,
        "energy_delay3_per_operation": 24,
    }
    assert energy.metrics({"wall_ms": 2000.0}, None) == {}
