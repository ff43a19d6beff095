"""One small class for each setting of a host: what it reads, how it judges that, and what it wants instead.

Applying and restoring are the same for all: a value is written to a place (`tune`). The sources of judgements
are On Benchmarking, Part 2 (JayBeams, 2017), pyperf's `system tune`, krun, and the kernel's documentation;
docs/guide/host.md names them.
"""

import os
import re
import resource
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from assay.findings import Severity
from assay.host.system import CPUSET, ONLINE, System
from assay.host.threads import AFFINITY, numbers, ranges
from assay.words import one_line

_CPU = "/sys/devices/system/cpu"
_DEFAULT_AFFINITY = "/proc/irq/default_smp_affinity"
_INTERRUPTS = "/proc/irq/[0-9]*/smp_affinity_list"


@dataclass(frozen=True)
class Judgement:
    """What is wrong with a setting.

    Attributes:
        severity: how much it weighs.
        message: what was seen.
        effect: what it is likely to do to measurements.
        remedy: what to do, where `assay host tune` cannot do it.
    """

    severity: Severity
    message: str
    effect: str
    remedy: str = ""


class Setting(ABC):
    """One setting of the host.

    Attributes:
        name: as it is typed.
        lacking: why a machine has no such setting.
        by_default: `assay host tune` changes it where no setting is named.
        lasting: it is part of the state in which trials ran; what changes from second to second is not.
        disturbs: patterns of other places that the kernel changes with it.
        rounds: how often it is looked for places that have come up while others were changed.
    """

    name: ClassVar[str]
    lacking: ClassVar[str] = "the kernel does not offer it"
    by_default: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    disturbs: ClassVar[tuple[str, ...]] = ()
    rounds: ClassVar[int] = 1

    @abstractmethod
    def read(self, system: System) -> dict[str, str]:
        """Return place -> value; empty where the machine has no such setting."""

    def read_all(self, system: System) -> dict[str, str]:
        """Return all that may have to be changed, where to read it takes longer than `read`."""
        return self.read(system)

    @abstractmethod
    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        """Return what is wrong with some values that were read, None if nothing is."""

    def wanted(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return place -> value, of the places that are to be changed."""
        return {}

    @property
    def can_be_set(self) -> bool:
        """Whether it has a value to be changed; others are judged only, or are of each trial."""
        return type(self).wanted is not Setting.wanted

    def words(self, values: Mapping[str, str]) -> str:
        """Return in short what it is."""
        return joined(values.values())


class _Files(Setting):
    """A setting whose places are files, all of which should hold the same value."""

    places: ClassVar[tuple[str, ...]]
    good: ClassVar[str]
    severity: ClassVar[Severity] = "warning"
    says: ClassVar[str] = "it is {}"
    effect: ClassVar[str]

    def read(self, system: System) -> dict[str, str]:
        return system.read_all(*self.places)

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        others = [values[place] for place in self.wanted(values)]
        return Judgement(self.severity, self.says.format(joined(others)), self.effect) if others else None

    def wanted(self, values: Mapping[str, str]) -> dict[str, str]:
        return {place: self.good for place, value in values.items() if value != self.good}


class Scheduling(Setting):
    """Scheduling class of trials: `assay run --tuned` starts them as SCHED_FIFO, where that is allowed."""

    name = "scheduling"
    lacking = "the kernel tells no limit of real-time priorities"

    def read(self, system: System) -> dict[str, str]:
        policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
        name = {os.SCHED_FIFO: "fifo", os.SCHED_RR: "rr", os.SCHED_OTHER: "other"}.get(policy, str(policy))
        priority = os.sched_getparam(0).sched_priority
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        return {
            "process:class": f"{name} {priority}" if priority else f"{name}, nice {nice}" if nice else name,
            "process:highest": str(highest_priority()),
        }

    def words(self, values: Mapping[str, str]) -> str:
        return values["process:class"]

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        effect = (
            "other programs take the processor from a trial whenever they want it: on a loaded host outliers"
        )
        if values["process:highest"] == "0":
            return Judgement(
                "warning",
                "trials run in the default class, and this user may not choose another",
                effect,
                'allow it: "YOU - rtprio 99" in /etc/security/limits.d/assay.conf, then log in again; or run'
                " as root",
            )
        if values["process:class"].startswith("other"):
            return Judgement(
                "note",
                "trials run in the default class",
                effect,
                "`assay run --tuned` runs them as SCHED_FIFO",
            )
        return None


class MemoryLock(Setting):
    """Whether programs that ask for it may keep their memory (mlockall)."""

    name = "memory-lock"
    lacking = "the kernel tells no limit of locked memory"

    def read(self, system: System) -> dict[str, str]:
        limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        free = limit == resource.RLIM_INFINITY or os.geteuid() == 0
        return {"process:memlock": "unlimited" if free else f"{limit // 1024} KiB"}

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        limit = values["process:memlock"]
        if limit == "unlimited":
            return None
        return Judgement(
            "note",
            f"programs may lock {limit} of memory",
            "a fixture that asks for mlockall is refused; pages may be taken from it while it runs",
            'allow it: "YOU - memlock unlimited" in /etc/security/limits.d/assay.conf, then log in again',
        )


class RealTimeShare(_Files):
    """The share of each second that real-time processes may have: by default 95%."""

    name = "real-time-share"
    places = ("/proc/sys/kernel/sched_rt_runtime_us",)
    good = "-1"
    severity = "note"
    says = "real-time processes have {} of 1,000,000 µs"
    effect = (
        "a trial in a real-time class that needs a whole processor is stopped for the rest of each second"
    )


class SMT(_Files):
    """Simultaneous multithreading: two processors that are one core."""

    name = "smt"
    places = (f"{_CPU}/smt/control",)
    good = "off"
    by_default = False  # it takes processors away, which changes what is measured
    disturbs = (_INTERRUPTS,)  # those of a processor that goes are given to others, for good
    severity = "note"
    says = "two processors share a core (SMT is {})"
    effect = "what runs beside a trial on the same core takes part of its units and caches"

    def wanted(self, values: Mapping[str, str]) -> dict[str, str]:
        return {place: "off" for place, value in values.items() if value == "on"}


class Turbo(_Files):
    """Frequencies above the nominal one: turbo on Intel, boost elsewhere."""

    name = "turbo"
    lacking = "the kernel offers neither intel_pstate/no_turbo nor cpufreq/boost"
    places = (f"{_CPU}/intel_pstate/no_turbo", f"{_CPU}/cpufreq/boost")
    good = ""
    says = "processors may exceed their nominal frequency"
    effect = "speed depends on heat and on how many processors are busy: one thread runs faster than several"

    def wanted(self, values: Mapping[str, str]) -> dict[str, str]:
        off = {f"{_CPU}/intel_pstate/no_turbo": "1", f"{_CPU}/cpufreq/boost": "0"}
        return {place: off[place] for place, value in values.items() if value != off[place]}


class EnergyPreference(_Files):
    """What a processor that chooses its own frequency prefers.

    It is tuned before the governor and restored after it: under `performance` the kernel admits no other.
    """

    name = "energy-preference"
    lacking = "the processors take no such preference"
    places = (f"{_CPU}/cpufreq/policy*/energy_performance_preference",)
    good = "performance"
    says = "processors prefer {}"
    effect = "frequency rises late and falls early: short trials run slower, and by chance"


class Governor(_Files):
    """What chooses the frequency of the processors."""

    name = "governor"
    lacking = "the kernel does not set frequencies (in virtual machines the host does)"
    places = (f"{_CPU}/cpufreq/policy*/scaling_governor",)
    good = "performance"
    says = "the frequency follows the load (governor {})"
    effect = "an idle machine measures slower and with more spread than a busy one"

    def __init__(self, good: str = "performance") -> None:
        """Want the governor of a name."""
        self.good = good  # type: ignore[misc]  # of this one


class AddressRandomisation(_Files):
    """Where the kernel places stacks, heaps and libraries: at random, so that none is special."""

    name = "address-randomisation"
    places = ("/proc/sys/kernel/randomize_va_space",)
    good = "2"
    says = "addresses are not all drawn at random (randomize_va_space is {})"
    effect = "every process has the same layout of memory, and a verdict may rest on it"


class HugePages(_Files):
    """Transparent huge pages: `madvise` gives them to those who ask, and to nobody behind their back."""

    name = "huge-pages"
    places = ("/sys/kernel/mm/transparent_hugepage/enabled",)
    good = "madvise"
    says = "the kernel may join pages of any process (it is {})"
    effect = (
        "whether a heap lies on huge pages is chance, and a thread of the kernel joins them during trials"
    )

    def wanted(self, values: Mapping[str, str]) -> dict[str, str]:
        return {place: "madvise" for place, value in values.items() if value == "always"}


class Swap(Setting):
    """Whether the kernel moves memory to a disk although there is enough."""

    name = "swap"
    lacking = "there is no swap"

    def read(self, system: System) -> dict[str, str]:
        areas = (system.read("/proc/swaps") or "").splitlines()[1:]
        return system.read_all("/proc/sys/vm/swappiness") if areas else {}

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        if not self.wanted(values):
            return None
        return Judgement(
            "warning",
            f"there is swap, and swappiness is {joined(values.values())}",
            "pages of a trial may be on a disk when it needs them: milliseconds for one access",
        )

    def wanted(self, values: Mapping[str, str]) -> dict[str, str]:
        return {place: "0" for place, value in values.items() if value != "0"}


class NmiWatchdog(_Files):
    """The watchdog for hard lockups, which holds a hardware counter."""

    name = "nmi-watchdog"
    places = ("/proc/sys/kernel/nmi_watchdog",)
    good = "0"
    severity = "note"
    says = "the watchdog for lockups runs"
    effect = "it holds one hardware counter of each processor, and interrupts every few seconds"


class TimerMigration(_Files):
    """Whether timers of idle processors are moved to busy ones."""

    name = "timer-migration"
    places = ("/proc/sys/kernel/timer_migration",)
    good = "0"
    severity = "note"
    says = "timers move from idle processors to busy ones"
    effect = "timers of other programs interrupt the processors of a trial"


class Irqbalance(_Files):
    """The service that moves interrupts among processors."""

    name = "irqbalance"
    lacking = "the service is not installed"
    places = ("service:irqbalance",)
    good = "inactive"
    says = "irqbalance is running"
    effect = "it moves interrupts to the processors of a trial while it runs"

    def read(self, system: System) -> dict[str, str]:
        state = system.read(self.places[0])
        return {} if state is None else {self.places[0]: state}


class IrqAffinity(Setting):
    """Which processors serve interrupts: one is enough, the last, which trials use last."""

    name = "irq-affinity"
    lacking = "no interrupt can be moved, or there is one processor"

    def read(self, system: System) -> dict[str, str]:
        online = numbers(system.read(ONLINE) or "0")
        if len(online) < 2:
            return {}
        places = system.read_all(_DEFAULT_AFFINITY, _INTERRUPTS)
        return {ONLINE: ranges(online), **places} if places else {}

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        others = [place for place in self.wanted(values) if place.endswith("_list")]
        if not others:
            return None
        return Judgement(
            "note",
            f"{len(others)} of {len(_served(values))} interrupts are not kept to one processor, but go to"
            f" {joined(values[place] for place in others)}",
            "devices interrupt trials: latencies have a tail that is not the program's",
        )

    def words(self, values: Mapping[str, str]) -> str:
        return joined(_served(values).values())

    def wanted(self, values: Mapping[str, str]) -> dict[str, str]:
        last = max(numbers(values[ONLINE]), default=0)
        wanted = {place: str(last) for place, value in _served(values).items() if value != str(last)}
        default = values.get(_DEFAULT_AFFINITY, "")
        if re.fullmatch(r"[0-9a-f,]+", default) and int(default.replace(",", ""), 16) != 1 << last:
            wanted[_DEFAULT_AFFINITY] = _mask(last)
        return wanted


class Isolation(Setting):
    """Whether processors are kept free for trials: of all, the last is left to everything else.

    Where the kernel has the controller of control groups (v2) for it, a group of ours takes the others from
    everything else. Otherwise each thread of each process gets an affinity to the last, and so do those that
    it makes. Threads of the kernel stay where they are.
    """

    name = "isolation"
    lacking = "there is one processor"
    by_default = False  # everything else becomes slow
    rounds = 3  # threads that were made by others just before those were moved

    def read(self, system: System) -> dict[str, str]:
        usable = system.usable()
        if len(usable) < 2:
            return {}
        group = system.read(CPUSET)
        return {
            ONLINE: ranges(usable),
            f"{_CPU}/isolated": system.read(f"{_CPU}/isolated") or "none",
            "process:free": ranges(free_processors(system)) or "none",
            **({} if group is None else {CPUSET: group}),
        }

    def read_all(self, system: System) -> dict[str, str]:
        values = self.read(system)
        if not values or CPUSET in values:
            return values
        return values | {thread.place: thread.allowed for thread in system.threads() if thread.movable}

    def words(self, values: Mapping[str, str]) -> str:
        if values[f"{_CPU}/isolated"] != "none":
            return f"{values[f'{_CPU}/isolated']}, since the start"
        if (free := values["process:free"]) == "none":
            return "none"
        return f"{free}, by {'cpuset' if CPUSET in values else 'affinity'}"

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        if self.words(values) != "none":
            return None
        by = "by affinity, as control groups here have no cpuset controller"
        return Judgement(
            "note",
            "no processor is kept free of other work",
            "whatever else runs may come to the processors of a trial",
            "`assay run --isolated` leaves everything else the last processor while it runs"
            f" ({'by a cpuset' if CPUSET in values else by}); the kernel's own threads stay, unless it was"
            " started with isolcpus= and nohz_full=",
        )

    def wanted(self, values: Mapping[str, str]) -> dict[str, str]:
        *first, last = numbers(values[ONLINE])
        if CPUSET in values:
            return {CPUSET: ranges(first)} if values[CPUSET] == "none" else {}
        return {
            place: str(last)
            for place, value in values.items()
            if place.startswith(AFFINITY) and value != str(last)
        }


class IdleLatency(Setting):
    """How deep processors may sleep: `assay run --tuned` holds /dev/cpu_dma_latency at 0 while it runs."""

    name = "idle-latency"
    lacking = "the kernel has no idle states here (in virtual machines the host has)"

    def read(self, system: System) -> dict[str, str]:
        return system.read_all(f"{_CPU}/cpu0/cpuidle/state[0-9]*/latency")

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        deepest = max((int(value) for value in values.values() if value.isdigit()), default=0)
        if deepest <= 1:
            return None
        return Judgement(
            "note",
            f"processors may sleep so deep that they take {deepest} µs to wake",
            "operations after a wait begin late: open loops and blocking locks show it",
            "`assay run --tuned` keeps them awake while it runs",
        )


class IoPriority(Setting):
    """Whose reads and writes the disk serves first."""

    name = "io-priority"
    lacking = "no disk has a scheduler that knows priorities"

    def read(self, system: System) -> dict[str, str]:
        schedulers = system.read_all("/sys/block/*/queue/scheduler")
        return {place: value for place, value in schedulers.items() if value in {"bfq", "cfq", "mq-deadline"}}

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        return None  # `assay run --tuned` starts trials with the highest that is allowed


class ClockSource(_Files):
    """What the kernel reads time from."""

    name = "clock-source"
    places = ("/sys/devices/system/clocksource/clocksource0/current_clocksource",)
    good = "tsc"
    says = "the kernel's clock is {}, although the processor's counter (tsc) is there"
    effect = "reading the clock takes up to a microsecond in place of 20 ns, in every program"

    def read(self, system: System) -> dict[str, str]:
        found = super().read(system)
        available = system.read(self.places[0].replace("current", "available")) or ""
        return found if "tsc" in available.split() or "tsc" in found.values() else {}


class Load(Setting):
    """What else runs now."""

    name = "load"
    lacking = "the kernel tells no load"
    lasting = False

    def words(self, values: Mapping[str, str]) -> str:
        return values["/proc/loadavg"]

    def read(self, system: System) -> dict[str, str]:
        average = (system.read("/proc/loadavg") or "").split()
        online = numbers(system.read(ONLINE) or "0")
        return {"/proc/loadavg": average[0], ONLINE: ranges(online)} if average else {}

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        average, processors = float(values["/proc/loadavg"]), len(numbers(values[ONLINE]))
        share = average / processors
        if share < 0.1:
            return None
        return Judgement(
            "error" if share > 0.5 else "warning",
            f"{average:g} processes ran on average over the last minute, on {processors} processors",
            "trials lose processor time to other work: verdicts are withheld, or wrong",
            'stop other work (`top` shows it), or have campaigns wait: busy = "wait" in [design]',
        )


class Heat(Setting):
    """How warm the processors are, and whether they had to slow down for it."""

    name = "heat"
    lacking = "the kernel tells no temperature (in virtual machines only the host knows it)"
    lasting = False
    _ZONES = "/sys/class/thermal/thermal_zone*/temp"
    _THROTTLED = f"{_CPU}/cpu*/thermal_throttle/*_throttle_count"
    _HOT_C = 85

    def read(self, system: System) -> dict[str, str]:
        found = system.read_all(self._ZONES, self._THROTTLED)
        return {place: value for place, value in found.items() if re.fullmatch(r"-?\d+", value)}

    def words(self, values: Mapping[str, str]) -> str:
        hottest = hottest_c(values)
        return "unknown" if hottest is None else f"{hottest:.0f} °C"

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        hottest, throttled = hottest_c(values), throttles(values)
        if hottest is not None and hottest >= self._HOT_C:
            return Judgement(
                "warning",
                f"the processors are at {hottest:.0f} °C",
                "they slow down when they become too warm, in whichever trial that happens",
                "let them cool, and mend the cooling",
            )
        if throttled:
            return Judgement(
                "note",
                f"processors have slowed down for heat {throttled} times since the machine started",
                "a campaign during which that happens measures the cooling",
                "watch the metric host_throttles of trials",
            )
        return None


SETTINGS: tuple[Setting, ...] = (
    SMT(),
    Turbo(),
    EnergyPreference(),
    Governor(),
    Scheduling(),
    RealTimeShare(),
    MemoryLock(),
    AddressRandomisation(),
    HugePages(),
    Swap(),
    NmiWatchdog(),
    TimerMigration(),
    Irqbalance(),
    IrqAffinity(),
    Isolation(),
    IdleLatency(),
    IoPriority(),
    ClockSource(),
    Load(),
    Heat(),
)
"""Every setting, in the order in which they are applied; they are restored the other way round."""


SET_BY_TRIAL = "set by the trial"
"""Under this name a trial's settings say which of them its own program changed, for itself alone."""


def free_processors(system: System) -> list[int]:
    """Return the processors that are kept free for trials."""
    group = system.read(CPUSET)
    if group is not None and group != "none":
        return numbers(group)
    # What the first process may not have, none that it has made since has, unless it took it for itself.
    first = system.thread(1)
    if first is None or {*numbers(system.read(ONLINE) or "0")} <= {*numbers(first.allowed)}:
        return []
    return sorted({*system.usable()} - {*numbers(first.allowed)})


def state(system: System) -> dict[str, str]:
    """Return name of setting -> what it is, of all that this host has and that lasts: what trials meet."""
    found = {setting: setting.read(system) for setting in SETTINGS if setting.lasting}
    return {setting.name: setting.words(values) for setting, values in found.items() if values}


def joined(values: Iterable[str]) -> str:
    """Return the different values among some, or how many there are of many."""
    different = sorted({one_line(value, 40) for value in values})
    more = len(different) - 4
    return ", ".join(different if more <= 0 else [*different[:4], f"{more} more"])


def highest_priority() -> int:
    """Return the highest real-time priority that this user may give to a process, 0 for none."""
    highest = os.sched_get_priority_max(os.SCHED_FIFO)
    if os.geteuid() == 0:
        return highest
    limit, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    return highest if limit == resource.RLIM_INFINITY else min(limit, highest)


def hottest_c(values: Mapping[str, str]) -> float | None:
    """Return the highest temperature among what `Heat` read, degrees Celsius."""
    zones = [int(value) / 1000 for place, value in values.items() if place.endswith("/temp")]
    return max(zones, default=None)


def throttles(values: Mapping[str, str]) -> int:
    """Return how often processors slowed down for heat, among what `Heat` read."""
    return sum(int(value) for place, value in values.items() if place.endswith("_throttle_count"))


def _mask(processor: int) -> str:
    """Return the kernel's mask of one processor: groups of 8 hexadecimal digits."""
    groups = processor // 32
    return ",".join([f"{1 << processor % 32:x}", *["00000000"] * groups])


def _served(values: Mapping[str, str]) -> dict[str, str]:
    """Return place -> processors, of what `IrqAffinity` read."""
    return {place: value for place, value in values.items() if place.endswith("/smp_affinity_list")}
