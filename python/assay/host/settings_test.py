"""What each setting reads, how it is judged, and what it wants; and what the root script admits."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from assay.host import priority
from assay.host import system as host_system
from assay.host.settings import SETTINGS, IrqAffinity, state
from assay.host.system import _SCRIPT, System
from assay.host.testing import CPU, MACHINE, add_thread, made_machine
from assay.host.threads import numbers, ranges
from assay.host.tune import chosen, planned, tuned

GOOD = {
    "/proc/sys/kernel/sched_rt_runtime_us": "-1",
    "/proc/sys/kernel/randomize_va_space": "2",
    "/proc/sys/kernel/nmi_watchdog": "0",
    "/proc/sys/kernel/timer_migration": "0",
    "/proc/sys/vm/swappiness": "0",
    "/proc/irq/default_smp_affinity": "8",
    "/proc/irq/7/smp_affinity_list": "3",
    "/proc/irq/12/smp_affinity_list": "3",
    f"{CPU}/isolated": "2-3",
    f"{CPU}/smt/control": "off",
    f"{CPU}/intel_pstate/no_turbo": "1",
    f"{CPU}/cpufreq/policy0/scaling_governor": "performance",
    f"{CPU}/cpufreq/policy0/energy_performance_preference": "performance",
    f"{CPU}/cpufreq/policy10/scaling_governor": "performance",
    f"{CPU}/cpufreq/policy10/energy_performance_preference": "performance",
    f"{CPU}/cpu0/cpuidle/state1/latency": "1",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "0",
    "/sys/class/thermal/thermal_zone0/temp": "41000",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
}
"""A machine made for measuring: what differs from `MACHINE`."""

OF_THE_PROCESS = {"scheduling", "memory-lock"}
"""Settings of whoever asks, not of the machine."""


def judged(system: System) -> dict[str, str]:
    """Return the name of each setting that is not right -> what is said of it."""
    found: dict[str, str] = {}
    for setting in SETTINGS:
        values = setting.read(system)
        judgement = setting.judge(values) if values else None
        if judgement and setting.name not in OF_THE_PROCESS:
            found[setting.name] = judgement.message
    return found


def test_a_machine_where_everything_is_wrong(tmp_path: Path) -> None:
    assert judged(made_machine(tmp_path, MACHINE | {"/proc/loadavg": "3.5 1 1 1/9 9"})) == {
        "smt": "two processors share a core (SMT is on)",
        "turbo": "processors may exceed their nominal frequency",
        "energy-preference": "processors prefer balance_performance, power",
        "governor": "the frequency follows the load (governor powersave, schedutil)",
        "real-time-share": "real-time processes have 950000 of 1,000,000 µs",
        "address-randomisation": "addresses are not all drawn at random (randomize_va_space is 1)",
        "huge-pages": "the kernel may join pages of any process (it is always)",
        "swap": "there is swap, and swappiness is 60",
        "nmi-watchdog": "the watchdog for lockups runs",
        "timer-migration": "timers move from idle processors to busy ones",
        "irqbalance": "irqbalance is running",
        "irq-affinity": "2 of 2 interrupts are not kept to one processor, but go to 0-3, 2",
        "isolation": "no processor is kept free of other work",
        "idle-latency": "processors may sleep so deep that they take 133 µs to wake",
        "clock-source": "the kernel's clock is hpet, although the processor's counter (tsc) is there",
        "load": "3.5 processes ran on average over the last minute, on 4 processors",
        "heat": "the processors are at 91 °C",
    }


def test_a_machine_made_for_measuring(tmp_path: Path) -> None:
    system = made_machine(tmp_path, MACHINE | GOOD)
    (tmp_path / "sys/fs/cgroup/system.slice/irqbalance.service").rmdir()
    assert judged(system) == {}
    assert planned(system, SETTINGS) == []


def test_a_machine_that_has_nothing(tmp_path: Path) -> None:
    system = System(tmp_path)
    assert {setting.name for setting in SETTINGS if setting.read(system)} == OF_THE_PROCESS
    assert judged(system) == {}
    assert state(system).keys() == OF_THE_PROCESS


def test_an_amd_processor_has_boost(tmp_path: Path) -> None:
    system = made_machine(tmp_path, {f"{CPU}/cpufreq/boost": "1"})
    [change] = planned(system, chosen(["turbo"]))
    assert (change.place, change.was, change.to) == (f"{CPU}/cpufreq/boost", "1", "0")


POLICY = f"{CPU}/cpufreq/policy0"
KINDS = {"/sys/devices/cpu_core/cpus": "0-1", "/sys/devices/cpu_atom/cpus": "2-3"}
CAPACITIES = {f"{CPU}/cpu{number}/cpu_capacity": "1024" if number % 2 else "446" for number in range(4)}
FREE = {f"{POLICY}/scaling_max_freq": "4800000", f"{POLICY}/cpuinfo_max_freq": "4800000"}
POWER = "/sys/class/powercap/intel-rapl:0/constraint_0"
V1 = "/sys/fs/cgroup/cpu,cpuacct"
STAT = "nr_periods 5000\nnr_throttled 3100\nthrottled_usec 9"


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        (KINDS, "core-types", "processors are of several kinds: 0-1 and 2-3"),
        (CAPACITIES, "core-types", "processors are of several kinds: 1,3 and 0,2"),
        (KINDS | {f"{CPU}/online": "0-1"}, "core-types", None),
        (dict.fromkeys(CAPACITIES, "1024"), "core-types", None),
        (
            {"/sys/fs/cgroup/cpu.max": "150000 100000", "/sys/fs/cgroup/cpu.stat": STAT},
            "quota",
            "a control group (/sys/fs/cgroup) gives its processes 1.5 of 4 processors,"
            " and stopped them in 3,100 of 5,000 periods",
        ),
        ({"/sys/fs/cgroup/cpu.max": "max 100000"}, "quota", None),
        ({"/sys/fs/cgroup/cpu.max": "400000 100000"}, "quota", None),
        (
            {
                "/proc/self/cgroup": "0::/pod/box",
                "/sys/fs/cgroup/pod/cpu.max": "50000 100000",
                "/sys/fs/cgroup/pod/box/cpu.max": "200000 100000",
            },
            "quota",
            "a control group (/sys/fs/cgroup/pod) gives its processes 0.5 of 4 processors",
        ),
        (
            {
                "/proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/docker/1\n0::/",
                f"{V1}/cpu.cfs_quota_us": "-1",
                f"{V1}/cpu.cfs_period_us": "100000",
                f"{V1}/docker/1/cpu.cfs_quota_us": "25000",
                f"{V1}/docker/1/cpu.cfs_period_us": "50000",
            },
            "quota",
            f"a control group ({V1}/docker/1) gives its processes 0.5 of 4 processors",
        ),
        (
            # Inside, a container has its group at the top, whatever its path is outside.
            {"/proc/self/cgroup": "4:cpu,cpuacct:/docker/1", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000"},
            "quota",
            "a control group (/sys/fs/cgroup/cpu) gives its processes 1 of 4 processors",
        ),
        (FREE, "frequency-limit", None),
        (
            FREE | {f"{POLICY}/scaling_max_freq": "800000", f"{POLICY}/scaling_min_freq": "400000"},
            "frequency-limit",
            "the frequency is limited: 0.8 of 4.8 GHz",
        ),
        (
            FREE | {f"{POLICY}/bios_limit": "2000000"},
            "frequency-limit",
            "the frequency is limited: 2 of 4.8 GHz",
        ),
        (
            FREE | {f"{POLICY}/scaling_max_freq": "2000000", f"{POLICY}/scaling_min_freq": "2000000"},
            "frequency-limit",
            "the frequency is held: 2 of 4.8 GHz",
        ),
        ({f"{CPU}/intel_pstate/max_perf_pct": "60"}, "frequency-limit", "the frequency is limited: 60%"),
        (
            {f"{POWER}_power_limit_uw": "15000000", f"{POWER}_max_power_uw": "65000000"},
            "power-limit",
            "the processors may take 15 of 65 W",
        ),
        ({f"{POWER}_power_limit_uw": "65000000", f"{POWER}_max_power_uw": "65000000"}, "power-limit", None),
        ({f"{POLICY}/boost": "1"}, "turbo", "processors may exceed their nominal frequency"),
        ({f"{POLICY}/boost": "0"}, "turbo", None),
    ],
)
def test_what_makes_a_machine_unfit(
    tmp_path: Path, values: dict[str, str], name: str, message: str | None
) -> None:
    system = made_machine(tmp_path, MACHINE | GOOD | values)
    assert judged(system).get(name) == message
    assert name in state(system)


def test_a_quota_that_stopped_trials_is_an_error_and_a_held_frequency_a_note(tmp_path: Path) -> None:
    values = {
        f"{CPU}/online": "0-3",
        "/sys/fs/cgroup/cpu.max": "150000 100000",
        "/sys/fs/cgroup/cpu.stat": STAT,
        f"{POLICY}/scaling_max_freq": "2000000",
        f"{POLICY}/scaling_min_freq": "2000000",
        f"{POLICY}/cpuinfo_max_freq": "4800000",
    }
    system = made_machine(tmp_path, values)
    judgements = {
        setting.name: setting.judge(setting.read(system)) for setting in chosen(["quota", "frequency-limit"])
    }
    severities = {name: judgement and judgement.severity for name, judgement in judgements.items()}
    assert severities == {"quota": "error", "frequency-limit": "note"}


def test_boost_and_limits_of_each_policy_are_tuned_and_put_back(tmp_path: Path) -> None:
    values = {f"{POLICY}/boost": "1", **FREE, f"{POLICY}/scaling_max_freq": "800000"}
    system = made_machine(tmp_path / "machine", values)
    settings = chosen(["turbo", "frequency-limit"])
    with tuned(system, tmp_path / "journal", print, settings):
        assert system.read(f"{POLICY}/boost") == "0"
        assert system.read(f"{POLICY}/scaling_max_freq") == "4800000"
    assert {place: system.read(place) for place in values} == values


def test_interrupts_of_large_machines_have_long_masks() -> None:
    values = {f"{CPU}/online": "0-66", "/proc/irq/default_smp_affinity": "7,ffffffff,ffffffff"}
    assert IrqAffinity().target_values(values) == {"/proc/irq/default_smp_affinity": "4,00000000,00000000"}


def test_the_state_has_what_lasts_and_nothing_else(tmp_path: Path) -> None:
    system = made_machine(tmp_path)
    before = state(system)
    assert before["governor"] == "powersave, schedutil"
    assert not {"load", "heat"} & before.keys()


@pytest.mark.parametrize(
    ("text", "processors"), [("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), ("x", []), ("1-", [1])]
)
def test_lists_of_processors(text: str, processors: list[int]) -> None:
    assert numbers(text) == processors
    assert numbers(ranges(processors)) == processors


def run_script(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return how the root script ended that was given a text."""
    command = [sys.executable, "-I", str(_SCRIPT), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "line",
    [
        "/etc/passwd x",
        "/proc/sys/kernel/core_pattern |/tmp/x",
        "/proc/sys/kernel/../kernel/timer_migration 0",
        "/proc/sys/kernel/timer_migration 7",
        "/proc/sys/kernel/timer_migration 1 2",
        "/proc/sys/kernel/timer_migration",
        "/proc/sys/kernel/timer_migration\t1",
        "/proc/irq/7/../8/smp_affinity_list 1",
        "service:ssh inactive",
        "affinity:1 0",
        "affinity:1:2:3 0",
        "affinity:../1:2 0",
        "affinity:1:2 0-99999999",
        "cpuset:other 0",
        "/sys/fs/cgroup/other/cgroup.procs 1",
        "",
    ],
)
def test_the_root_script_refuses_what_it_is_not_made_for(line: str) -> None:
    """The first line is allowed, and is not carried out either: it is not a setting of this machine."""
    allowed = "/proc/irq/999999999/smp_affinity_list 0"
    done = run_script(f"{allowed}\n{line}\n")
    assert done.returncode == 1
    assert done.stderr.startswith("assay-host-set: not allowed: ")
    assert done.stdout == ""


def test_the_root_script_refuses_more_than_it_reads() -> None:
    """A value that is cut would be another one."""
    done = run_script("/proc/irq/999999999/smp_affinity_list 0\n" * 30_000)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "assay-host-set: not allowed: more than 1048576 characters\n"


@pytest.mark.parametrize("processors", ["0", "3-1"])
def test_the_root_script_leaves_a_thread_that_took_over_a_number(processors: str) -> None:
    place = f"affinity:{os.getpid()}:1"
    done = run_script(f"{place} {processors}\n")
    assert (done.returncode, done.stdout) == (3, f"{place} it has ended, and another has its number\n")


def test_the_root_script_takes_no_other_argument() -> None:
    done = run_script("", "x")
    assert (done.returncode, done.stderr) == (1, "assay-host-set: takes no argument but hold-latency\n")


def test_the_root_script_says_what_it_could_not_write_and_creates_nothing() -> None:
    done = run_script("/proc/irq/999999999/smp_affinity_list 0\n")
    assert done.stdout == "/proc/irq/999999999/smp_affinity_list No such file or directory\n"


def test_who_is_not_root_may_be_allowed_the_script_by_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, sudo = tmp_path / "assay-host-set", tmp_path / "sudo"
    monkeypatch.setattr(host_system, "INSTALLED", installed)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    place = "/proc/irq/999999999/smp_affinity_list"
    assert System().write({place: "0"}) == {place: "needs root"}
    sudo.write_text('#!/bin/sh\n[ "$1" = -n ] && shift && exec "$@"\n')
    sudo.chmod(0o755)
    installed.write_text(_SCRIPT.read_text())
    installed.chmod(0o755)
    if installed.stat().st_uid == 0:
        assert System().write({place: "0"}) == {place: "No such file or directory"}
    sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    if installed.stat().st_uid == 0:
        assert System().write({place: "0"}) == {place: "sudo: a password is required"}


def test_every_change_that_a_setting_wants_is_admitted_by_the_root_script(tmp_path: Path) -> None:
    """And so is the way back."""
    system = made_machine(tmp_path)
    add_thread(system.root, 20)
    changes = planned(system, SETTINGS)
    (system.root / "sys/fs/cgroup/cgroup.subtree_control").write_text("cpuset\n")
    changes += planned(system, chosen(["isolation"]))
    assert {"affinity:20:200", "cpuset:assay"} <= {change.place for change in changes}
    allowed = runpy.run_path(str(_SCRIPT))["ALLOWED"]
    for change in changes:
        for value in (change.was, change.to):
            assert any(
                re.fullmatch(place, change.place) and re.fullmatch(values, value)
                for place, values in allowed.items()
            ), change


@pytest.mark.skipif(os.geteuid() != 0, reason="real-time classes need root")
def test_a_trial_gets_the_highest_priority_that_is_allowed() -> None:
    chosen = priority.of_trial({"threads": 1, "pinning": [0], "key_range": 9}, timeout_s=3, processors=2)
    if "scheduling" not in chosen.state:
        pytest.skip("real-time classes are forbidden here")
    said = subprocess.run(
        [
            *chosen.command,
            "sh",
            "-c",
            "chrt -p $$; prlimit --rttime --noheadings --output HARD; ionice -p $$",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "SCHED_FIFO" in said
    assert "3000000" in said
    assert "realtime: prio 0" in said


def test_threads_that_would_share_a_processor_are_not_run_as_fifo() -> None:
    shared = priority.of_trial({"threads": 2, "pinning": [0, 0]}, timeout_s=3, processors=2)
    assert "scheduling" not in shared.state
    map_on_all = {"threads": 2, "pinning": "none", "key_range": 9}
    assert "scheduling" not in priority.of_trial(map_on_all, timeout_s=3, processors=2).state


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_processors_are_kept_awake_while_it_is_entered() -> None:
    latency = Path("/dev/cpu_dma_latency")
    if not latency.exists():
        pytest.skip("the kernel does not offer it")

    def read() -> int:
        with latency.open("rb", buffering=0) as file:
            return int.from_bytes(file.read(4), sys.byteorder)

    before = read()
    with priority.awake() as why_not:
        assert (why_not, read()) == ("", 0)
    assert read() == before
