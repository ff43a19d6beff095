"""Shared by tests of the host: a made machine, and real settings that are restored even after kill -9."""

import errno
import fcntl
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.host.system import CPUSET, GROUPS, ONLINE, RUNNING, SERVICE, System
from assay.host.threads import AFFINITY, numbers, thread_of
from assay.host.tune import chosen, planned

CPU = "/sys/devices/system/cpu"

MACHINE = {
    "/etc/machine-id": "0123456789abcdef",
    "/proc/sys/kernel/hostname": "made",
    "/proc/sys/kernel/random/boot_id": "first-boot",
    "/proc/sys/kernel/sched_rt_runtime_us": "950000",
    "/proc/sys/kernel/randomize_va_space": "1",
    "/proc/sys/kernel/nmi_watchdog": "1",
    "/proc/sys/kernel/timer_migration": "1",
    "/proc/sys/vm/swappiness": "60",
    "/proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 999 0 -2",
    "/proc/loadavg": "0.01 0.02 0.03 1/100 42",
    "/proc/irq/default_smp_affinity": "f",
    "/proc/irq/7/smp_affinity_list": "0-3",
    "/proc/irq/12/smp_affinity_list": "2",
    f"{CPU}/online": "0-3",
    f"{CPU}/isolated": "",
    f"{CPU}/smt/control": "on",
    f"{CPU}/intel_pstate/no_turbo": "0",
    f"{CPU}/cpufreq/policy0/scaling_governor": "powersave",
    f"{CPU}/cpufreq/policy0/energy_performance_preference": "balance_performance",
    f"{CPU}/cpufreq/policy10/scaling_governor": "schedutil",
    f"{CPU}/cpufreq/policy10/energy_performance_preference": "power",
    f"{CPU}/cpu0/cpuidle/state0/latency": "0",
    f"{CPU}/cpu0/cpuidle/state1/latency": "133",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3",
    "/sys/class/thermal/thermal_zone0/temp": "91000",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always",
    "/sys/block/sda/queue/scheduler": "none [mq-deadline] bfq",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
    "/usr/lib/systemd/system/irqbalance.service": "[Service]",
}
"""A machine where everything is wrong: place -> value."""


class MadeSystem(System):
    """A machine that is a made tree of /proc and /sys.

    umockdev mocks /sys and /dev, but neither /proc/sys nor /proc/irq: tests use it to send a value through
    the root script, and made trees for all settings together.
    """

    def usable(self) -> list[int]:
        """Return all processors."""
        return numbers(self.read(ONLINE) or "0")

    def write(self, values: Mapping[str, str], locks: Sequence[int] = ()) -> dict[str, str]:
        """Write values to their places; return place -> why, of those that could not be."""
        failed: dict[str, str] = {}
        for place, value in values.items():
            try:
                if place.startswith(SERVICE):
                    self._set_made_service(place.removeprefix(SERVICE), value)
                    continue
                if place == CPUSET:
                    self._set_made_cpuset(value)
                    continue
                if place.startswith(AFFINITY):
                    self._set_made_affinity(place, value)
                    continue
                file = self._file(place)
                part = file.with_name(f"{file.name}.part")  # as in /proc, there is never half a value
                file.stat()
                part.write_text(f"{value}\n", encoding="ascii")
                part.replace(file)
            except OSError as error:
                failed[place] = error.strerror or str(error)
        return failed

    def _set_made_cpuset(self, value: str) -> None:
        """Add our control group to the made tree, or remove it."""
        folder = self._file(f"{GROUPS}/assay")
        if value == "none":
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
            return
        folder.mkdir(exist_ok=True)
        (folder / "cpuset.cpus").write_text(value)
        (folder / "cpuset.cpus.partition").write_text("isolated")

    def _set_made_affinity(self, place: str, value: str) -> None:
        """Move a thread of the made tree to other processors."""
        found = thread_of(self.root, place)
        if found is None:
            raise ProcessLookupError(errno.ESRCH, "No such process")
        status = self._file(f"/proc/{found.number}/status")
        status.write_text(re.sub(r"(Cpus_allowed_list:\s*).*", rf"\g<1>{value}", status.read_text()))

    def _set_made_service(self, name: str, value: str) -> None:
        """Start or stop a service of the made tree."""
        folder = self.root / RUNNING[0] / f"{name}.service"
        if value == "active":
            folder.mkdir(parents=True)
        else:
            folder.rmdir()


def made_machine(root: Path, values: Mapping[str, str] = MACHINE) -> MadeSystem:
    """Write a tree of /proc and /sys, and return it as a machine."""
    for place, value in values.items():
        file = root / place.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value + "\n", encoding="ascii")
    (root / "sys/fs/cgroup/system.slice/irqbalance.service").mkdir(parents=True)  # it runs
    return MadeSystem(root)


def add_thread(
    root: Path, number: int, *, parent: int = 1, process: int = 0, allowed: str = "0-3", kernel: bool = False
) -> str:
    """Add a thread to a made machine, in a new process or in another one; return its place."""
    process = process or number
    (root / f"proc/{process}/task/{number}").mkdir(parents=True)
    folder = root / f"proc/{number}"
    folder.mkdir(exist_ok=True)
    before = f"{number} (a (name) S {parent} 0 0 0 -1 {0x200000 if kernel else 64}"
    (folder / "stat").write_text(f"{before} {'0 ' * 12}{number * 10} 0\n")
    (folder / "status").write_text(f"Tgid:\t{process}\nCpus_allowed:\tf\nCpus_allowed_list:\t{allowed}\n")
    return f"affinity:{number}:{number * 10}"


@contextmanager
def put_back_at_the_end(*places: str) -> Iterator[dict[str, str]]:
    """Let a test change real settings, by default all that `assay host tune` would change; restore them.

    Only one test on this machine has them at a time. A separate process restores them when its standard input
    ends, even if the test is killed. Yield place -> the value before.
    """
    lock = os.open("/tmp/assay-host-settings.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)  # noqa: S108
    fcntl.flock(lock, fcntl.LOCK_EX)
    places = places or tuple(change.place for change in planned(System(), chosen([])))
    values = {place: Path(place).read_text(encoding="ascii").strip() for place in places}
    words = [word for pair in values.items() for word in pair]
    janitor = subprocess.Popen(  # noqa: S603
        ["sh", "-c", 'cat > /dev/null; while [ "$1" ]; do echo "$2" > "$1"; shift 2; done', "sh", *words],  # noqa: S607
        stdin=subprocess.PIPE,
        start_new_session=True,
        pass_fds=[lock],  # the next test waits until they are back
    )
    try:
        yield values
    finally:
        janitor.communicate()
        os.close(lock)
        assert {place: Path(place).read_text(encoding="ascii").strip() for place in places} == values
