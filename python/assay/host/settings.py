"""The settings of a host: for each, how it is read and judged, and its target values.

Applying and restoring are the same for all: a value is written to a place (`tune`). The sources of judgements
are On Benchmarking, Part 2 (JayBeams, 2017), pyperf's `system tune`, krun, and the kernel's documentation;
docs/guide/host.md names them.
"""

import os
import re
import resource
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from assay.findings import Severity
from assay.host.system import CPUSET, ONLINE, System
from assay.host.threads import AFFINITY, numbers, ranges
from assay.words import counted, one_line

_CPU = "/sys/devices/system/cpu"
_DEFAULT_AFFINITY = "/proc/irq/default_smp_affinity"
_INTERRUPTS = "/proc/irq/[0-9]*/smp_affinity_list"
_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Judgement:
    """What is wrong with a setting.

    Attributes:
        severity: how serious it is.
        message: what is wrong.
        effect: its probable effect on measurements.
        remedy: what to do, if `assay host tune` cannot do it.
    """

    severity: Severity
    message: str
    effect: str
    remedy: str = ""


class Setting(ABC):
    """One setting of the host.

    Attributes:
        name: its name on the command line.
        lacking: why a machine has no such setting.
        by_default: `assay host tune` changes it if no setting is named.
        lasting: it is recorded as the state in which trials ran; values that change every second are not.
        disturbs: patterns of other places that the kernel changes with it.
        rounds: number of searches for places that appear while others are changed.
        places: patterns of the places that `read` reads.
        numeric: values that are not numbers are ignored.
    """

    name: str
    lacking: str = "the kernel does not offer it"
    by_default: bool = True
    lasting: bool = True
    disturbs: tuple[str, ...] = ()
    rounds: int = 1
    places: tuple[str, ...] = ()
    numeric: bool = False

    def read(self, system: System) -> dict[str, str]:
        """Return place -> value; empty where the machine has no such setting."""
        found = system.read_all(*self.places)
        return {
            place: value for place, value in found.items() if not self.numeric or _NUMBER.fullmatch(value)
        }

    def read_all(self, system: System) -> dict[str, str]:
        """Return all places that may have to be changed, if that takes longer than `read`."""
        return self.read(system)

    @abstractmethod
    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        """Return what is wrong with the values that were read, or None."""

    def target_values(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return place -> new value, for the places that must be changed."""
        return {}

    @property
    def can_be_set(self) -> bool:
        """Whether it can be changed; others are only judged, or set by each trial."""
        return type(self).target_values is not Setting.target_values

    def words(self, values: Mapping[str, str]) -> str:
        """Return the values in short."""
        return joined(values.values())


@dataclass(eq=False)
class Uniform(Setting):
    """A setting whose places should all hold the same value.

    Attributes:
        good: this value.
        says: what is wrong if they hold other values, which replace `{}`.
        effect: the effect, as in `Judgement`.
        wrong: the only value that is changed; "": all values except `good` are.
    """

    name: str
    places: tuple[str, ...] = field()
    good: str
    says: str
    effect: str
    severity: Severity = "warning"
    wrong: str = ""
    lacking: str = Setting.lacking
    by_default: bool = True
    disturbs: tuple[str, ...] = ()

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        others = [values[place] for place in self.target_values(values)]
        return Judgement(self.severity, self.says.format(joined(others)), self.effect) if others else None

    def target_values(self, values: Mapping[str, str]) -> dict[str, str]:
        return {
            place: self.good
            for place, value in values.items()
            if value != self.good and self.wrong in ("", value)
        }


class Scheduling(Setting):
    """Scheduling class of trials: `assay run --tuned` starts them as SCHED_FIFO, if that is allowed."""

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
    """Whether programs may lock their memory (mlockall)."""

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


class CoreTypes(Setting):
    """Processors of several kinds: performance and efficiency cores, big and little ones."""

    name = "core-types"
    lacking = "the kernel tells of no kinds of processors"
    _KINDS = ("/sys/devices/cpu_core/cpus", "/sys/devices/cpu_atom/cpus", "/sys/devices/cpu_lowpower/cpus")

    def read(self, system: System) -> dict[str, str]:
        kinds = system.read_all(*self._KINDS, f"{_CPU}/cpu[0-9]*/cpu_capacity")
        return {ONLINE: ranges(system.usable()), **kinds} if kinds else {}

    def words(self, values: Mapping[str, str]) -> str:
        kinds = [ranges(kind) for kind in self._kinds(values)]
        return " and ".join(kinds) if len(kinds) > 1 else "one"

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        first, *others = self._kinds(values)
        if not others:
            return None
        return Judgement(
            "warning",
            f"processors are of several kinds: {self.words(values)}",
            "a trial is slower where the scheduler puts a thread on a smaller core: by half, and by chance",
            f"keep trials on one kind: start Assay by `taskset -c {ranges(first)}`, or pin threads"
            f" (pinning = [{', '.join(map(str, first[:4]))}] in [trial])",
        )

    def _kinds(self, values: Mapping[str, str]) -> list[list[int]]:
        """Return the usable processors of each kind, the fastest kind first."""
        usable = {*numbers(values[ONLINE])}
        named = [sorted(usable & {*numbers(values[place])}) for place in self._KINDS if place in values]
        by_capacity: dict[int, list[int]] = {}
        for place, value in values.items():
            if place.endswith("/cpu_capacity") and value.isdigit():
                processor = int(place.split("/")[-2].removeprefix("cpu"))
                by_capacity.setdefault(int(value), []).extend({processor} & usable)
        sized = [sorted(by_capacity[capacity]) for capacity in sorted(by_capacity, reverse=True)]
        found = max(list(filter(None, named)), list(filter(None, sized)), key=len)
        return found or [sorted(usable)]


class Quota(Setting):
    """The processor time that control groups allow to Assay and its children: in containers, a quota."""

    name = "quota"
    lacking = "no control group of ours can have one"
    _GROUP = "/sys/fs/cgroup"

    def read(self, system: System) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in (system.read("/proc/self/cgroup") or "0::/").splitlines():
            _, controllers, path = line.split(":", 2)
            tops = [f"{self._GROUP}/{controllers}", f"{self._GROUP}/cpu"] if controllers else [self._GROUP]
            if controllers and "cpu" not in controllers.split(","):
                continue
            # A container may see its own group at the top, whatever its path is outside.
            parts = [part for part in path.split("/") if part not in {"", ".."}]
            for top in tops:
                for depth in range(len(parts) + 1):
                    group = "/".join([top, *parts[:depth]])
                    files = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat")
                    found |= system.read_all(*(f"{group}/{file}" for file in files))
        limited = any(place.endswith(("cpu.max", "cpu.cfs_quota_us")) for place in found)
        return {ONLINE: ranges(system.usable()), **found} if limited else {}

    def words(self, values: Mapping[str, str]) -> str:
        quota = self._tightest(values)
        return "none" if quota is None else f"{quota[0]:.3g} processors"

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        quota, processors = self._tightest(values), len(numbers(values[ONLINE]))
        if quota is None or quota[0] >= processors:
            return None
        allowed, group = quota
        stat = dict(line.split() for line in values.get(f"{group}/cpu.stat", "").splitlines() if " " in line)
        stopped, periods = int(stat.get("nr_throttled", 0)), int(stat.get("nr_periods", 0))
        so_far = f", and stopped them in {stopped:,} of {periods:,} periods" if stopped else ""
        return Judgement(
            "error" if stopped > 0.1 * periods else "warning",
            f"a control group ({group}) gives its processes {allowed:.3g} of"
            f" {counted(processors, 'processor')}{so_far}",
            "trials with more threads, or beside other work, stand still for the rest of each period",
            "lift the quota: start the container with --cpuset-cpus in place of --cpus, without a CPU limit"
            " in Kubernetes, without CPUQuota= in systemd",
        )

    def _tightest(self, values: Mapping[str, str]) -> tuple[float, str] | None:
        """Return the number of processors that our tightest group allows, and this group."""
        quotas = []
        for place, value in values.items():
            group, _, file = place.rpartition("/")
            words = value.split()
            if file == "cpu.cfs_quota_us":
                words = [value, values.get(f"{group}/cpu.cfs_period_us", "100000")]
            elif file != "cpu.max":
                continue
            if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):  # not max, or -1
                quotas.append((int(words[0]) / int(words[1]), group))
        return min(quotas, default=None)


class FrequencyLimit(Setting):
    """A frequency limit below the processors' maximum, set by the kernel or the firmware.

    It is tuned before turbo and restored after it, as turbo changes the maximum.
    """

    name = "frequency-limit"
    lacking = "the kernel does not set frequencies (in virtual machines the host does)"
    _SHARE = f"{_CPU}/intel_pstate/max_perf_pct"
    places = (
        _SHARE,
        f"{_CPU}/cpufreq/policy*/scaling_min_freq",
        f"{_CPU}/cpufreq/policy*/scaling_max_freq",
        f"{_CPU}/cpufreq/policy*/cpuinfo_max_freq",
        f"{_CPU}/cpufreq/policy*/bios_limit",
    )
    numeric = True

    def words(self, values: Mapping[str, str]) -> str:
        limits = self._limits(values)
        shown = [f"{low / 1e6:.3g} of {most / 1e6:.3g} GHz" for low, most, _ in limits.values()]
        if values.get(self._SHARE, "100") != "100":
            shown.append(f"{values[self._SHARE]}%")
        return joined(shown) or "none"

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        limits, targets = self._limits(values), self.target_values(values)
        if not limits and not targets:
            return None
        held = all(
            values.get(f"{policy}/scaling_min_freq") == str(low) for policy, (low, *_) in limits.items()
        )
        return Judgement(
            "note" if limits and held and self._SHARE not in targets else "warning",
            f"the frequency is {'held' if held and limits else 'limited'}: {self.words(values)}",
            "everything that does not wait for memory is slower, and by how much no other machine repeats",
            "" if targets else "the firmware limits it: see power and heat settings of the BIOS",
        )

    def target_values(self, values: Mapping[str, str]) -> dict[str, str]:
        share = {self._SHARE: "100"} if values.get(self._SHARE, "100") != "100" else {}
        return share | {
            f"{policy}/scaling_max_freq": str(most)
            for policy, (_, most, by_kernel) in self._limits(values).items()
            if by_kernel
        }

    def _limits(self, values: Mapping[str, str]) -> dict[str, tuple[int, int, bool]]:
        """Return policy -> its limit and its maximum, in kHz, and whether the kernel itself limits it."""
        limits = {}
        for place, value in values.items():
            policy, _, file = place.rpartition("/")
            if file == "cpuinfo_max_freq":
                most = int(value)
                kernel = int(values.get(f"{policy}/scaling_max_freq", most))
                low = min(kernel, int(values.get(f"{policy}/bios_limit", most)))
                if low < most:
                    limits[policy] = low, most, kernel < most
        return limits


class PowerLimit(Setting):
    """The power that a package may use for a long time."""

    name = "power-limit"
    lacking = "the kernel tells no limit of power"
    places = (
        "/sys/class/powercap/*/constraint_0_power_limit_uw",
        "/sys/class/powercap/*/constraint_0_max_power_uw",
    )
    numeric = True

    def words(self, values: Mapping[str, str]) -> str:
        limits = [f"{low / 1e6:.3g} of {most / 1e6:.3g} W" for low, most in self._limits(values)]
        return joined(limits) or "none"

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        if not self._limits(values):
            return None
        return Judgement(
            "warning",
            f"the processors may take {self.words(values)}",
            "the frequency falls when several processors are busy: a thread alone runs faster than several",
            "raise constraint_0_power_limit_uw in /sys/class/powercap, or the limit in the BIOS",
        )

    def _limits(self, values: Mapping[str, str]) -> list[tuple[int, int]]:
        pairs = [
            (int(value), int(values.get(place.replace("power_limit", "max_power"), "0")))
            for place, value in values.items()
            if place.endswith("power_limit_uw")
        ]
        return [(low, most) for low, most in pairs if low < most]


class Turbo(Uniform):
    """Frequencies above the nominal one: turbo on Intel, boost elsewhere."""

    def target_values(self, values: Mapping[str, str]) -> dict[str, str]:
        off = {place: "1" if place.endswith("/no_turbo") else "0" for place in values}
        return {place: off[place] for place, value in values.items() if value != off[place]}


class Swap(Uniform):
    """Whether the kernel moves memory to a disk although there is enough."""

    def read(self, system: System) -> dict[str, str]:
        areas = (system.read("/proc/swaps") or "").splitlines()[1:]
        return super().read(system) if areas else {}


class IoPriority(Setting):
    """The disk priority of processes; `assay run --tuned` gives trials the highest allowed one."""

    name = "io-priority"
    lacking = "no disk has a scheduler that knows priorities"
    places = ("/sys/block/*/queue/scheduler",)

    def read(self, system: System) -> dict[str, str]:
        schedulers = super().read(system)
        return {place: value for place, value in schedulers.items() if value in {"bfq", "cfq", "mq-deadline"}}

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        return None


class ClockSource(Uniform):
    """The clock from which the kernel reads time."""

    def read(self, system: System) -> dict[str, str]:
        found = super().read(system)
        available = system.read(self.places[0].replace("current", "available")) or ""
        return found if self.good in available.split() or self.good in found.values() else {}


class IrqAffinity(Setting):
    """The processors that serve interrupts: one is enough, the last, as trials use it last."""

    name = "irq-affinity"
    lacking = "no interrupt can be moved, or there is one processor"

    def read(self, system: System) -> dict[str, str]:
        online = numbers(system.read(ONLINE) or "0")
        if len(online) < 2:
            return {}
        places = system.read_all(_DEFAULT_AFFINITY, _INTERRUPTS)
        return {ONLINE: ranges(online), **places} if places else {}

    def judge(self, values: Mapping[str, str]) -> Judgement | None:
        others = [place for place in self.target_values(values) if place.endswith("_list")]
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

    def target_values(self, values: Mapping[str, str]) -> dict[str, str]:
        last = max(numbers(values[ONLINE]), default=0)
        targets = {place: str(last) for place, value in _served(values).items() if value != str(last)}
        default = values.get(_DEFAULT_AFFINITY, "")
        if re.fullmatch(r"[0-9a-f,]+", default) and int(default.replace(",", ""), 16) != 1 << last:
            targets[_DEFAULT_AFFINITY] = _mask(last)
        return targets


class Isolation(Setting):
    """Whether processors are kept free for trials: everything else runs on the last one.

    If the kernel has the cpuset controller of control groups (v2), a group of ours takes the other processors
    for itself. Otherwise each thread of each process, and each thread that it starts, gets an affinity to the
    last processor. Threads of the kernel stay where they are.
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

    def target_values(self, values: Mapping[str, str]) -> dict[str, str]:
        *first, last = numbers(values[ONLINE])
        if CPUSET in values:
            return {CPUSET: ranges(first)} if values[CPUSET] == "none" else {}
        return {
            place: str(last)
            for place, value in values.items()
            if place.startswith(AFFINITY) and value != str(last)
        }


class IdleLatency(Setting):
    """How deeply processors may sleep: `assay run --tuned` holds /dev/cpu_dma_latency at 0 while it runs."""

    name = "idle-latency"
    lacking = "the kernel has no idle states here (in virtual machines the host has)"
    places = (f"{_CPU}/cpu0/cpuidle/state[0-9]*/latency",)

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


class Load(Setting):
    """The present load by other programs."""

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
    """The temperature of the processors, and whether they slowed down because of it."""

    name = "heat"
    lacking = "the kernel tells no temperature (in virtual machines only the host knows it)"
    lasting = False
    places = ("/sys/class/thermal/thermal_zone*/temp", f"{_CPU}/cpu*/thermal_throttle/*_throttle_count")
    numeric = True
    _HOT_C = 85

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


def governor(good: str = "performance") -> Uniform:
    """Return the setting of the frequency governor, whose good value is this name."""
    return Uniform(
        "governor",
        (f"{_CPU}/cpufreq/policy*/scaling_governor",),
        good,
        "the frequency follows the load (governor {})",
        "an idle machine measures slower and with more spread than a busy one",
        lacking="the kernel does not set frequencies (in virtual machines the host does)",
    )


REAL_TIME_SHARE = Uniform(
    "real-time-share",
    ("/proc/sys/kernel/sched_rt_runtime_us",),
    "-1",
    "real-time processes have {} of 1,000,000 µs",
    "a trial in a real-time class that needs a whole processor is stopped for the rest of each second",
    "note",
)

SETTINGS: tuple[Setting, ...] = (
    Uniform(  # simultaneous multithreading
        "smt",
        (f"{_CPU}/smt/control",),
        "off",
        "two processors share a core (SMT is {})",
        "what runs beside a trial on the same core takes part of its units and caches",
        "note",
        wrong="on",
        by_default=False,  # it takes processors away, which changes what is measured
        disturbs=(_INTERRUPTS,),  # those of a processor that goes are given to others, for good
    ),
    CoreTypes(),
    Quota(),
    FrequencyLimit(),
    PowerLimit(),
    Turbo(
        "turbo",
        (f"{_CPU}/intel_pstate/no_turbo", f"{_CPU}/cpufreq/boost", f"{_CPU}/cpufreq/policy*/boost"),
        "",
        "processors may exceed their nominal frequency",
        "speed depends on heat and on how many processors are busy: one thread runs faster than several",
        lacking="the kernel offers neither intel_pstate/no_turbo nor cpufreq/boost nor policy*/boost",
        disturbs=(f"{_CPU}/cpufreq/policy*/scaling_max_freq",),
    ),
    # Tuned before the governor and restored after it: under `performance` the kernel admits no other.
    Uniform(
        "energy-preference",
        (f"{_CPU}/cpufreq/policy*/energy_performance_preference",),
        "performance",
        "processors prefer {}",
        "frequency rises late and falls early: short trials run slower, and by chance",
        lacking="the processors take no such preference",
    ),
    governor(),
    Scheduling(),
    REAL_TIME_SHARE,
    MemoryLock(),
    Uniform(
        "address-randomisation",
        ("/proc/sys/kernel/randomize_va_space",),
        "2",
        "addresses are not all drawn at random (randomize_va_space is {})",
        "every process has the same layout of memory, and a verdict may rest on it",
    ),
    Uniform(  # `madvise` gives them to those who ask, and to nobody behind their back
        "huge-pages",
        ("/sys/kernel/mm/transparent_hugepage/enabled",),
        "madvise",
        "the kernel may join pages of any process (it is {})",
        "whether a heap lies on huge pages is chance, and a thread of the kernel joins them during trials",
        wrong="always",
    ),
    Swap(
        "swap",
        ("/proc/sys/vm/swappiness",),
        "0",
        "there is swap, and swappiness is {}",
        "pages of a trial may be on a disk when it needs them: milliseconds for one access",
        lacking="there is no swap",
    ),
    Uniform(  # the watchdog for hard lockups
        "nmi-watchdog",
        ("/proc/sys/kernel/nmi_watchdog",),
        "0",
        "the watchdog for lockups runs",
        "it holds one hardware counter of each processor, and interrupts every few seconds",
        "note",
    ),
    Uniform(
        "timer-migration",
        ("/proc/sys/kernel/timer_migration",),
        "0",
        "timers move from idle processors to busy ones",
        "timers of other programs interrupt the processors of a trial",
        "note",
    ),
    Uniform(
        "irqbalance",
        ("service:irqbalance",),
        "inactive",
        "irqbalance is running",
        "it moves interrupts to the processors of a trial while it runs",
        lacking="the service is not installed",
    ),
    IrqAffinity(),
    Isolation(),
    IdleLatency(),
    IoPriority(),
    ClockSource(
        "clock-source",
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource",),
        "tsc",
        "the kernel's clock is {}, although the processor's counter (tsc) is there",
        "reading the clock takes up to a microsecond in place of 20 ns, in every program",
    ),
    Load(),
    Heat(),
)
"""Every setting, in the order in which they are applied; they are restored the other way round."""


SET_BY_TRIAL = "set by the trial"
"""The name under which a trial lists the settings that its own program changed, for itself alone."""


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
    """Return name -> value in words, for all lasting settings of this host: the state in which trials run."""
    found = {setting: setting.read(system) for setting in SETTINGS if setting.lasting}
    return {setting.name: setting.words(values) for setting, values in found.items() if values}


def joined(values: Iterable[str]) -> str:
    """Return the different values joined, or their number if there are many."""
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
    """Return the highest temperature in the values that `Heat` read, degrees Celsius."""
    zones = [int(value) / 1000 for place, value in values.items() if place.endswith("/temp")]
    return max(zones, default=None)


def throttles(values: Mapping[str, str]) -> int:
    """Return how often processors slowed down because of heat, from the values that `Heat` read."""
    return sum(int(value) for place, value in values.items() if place.endswith("_throttle_count"))


def _mask(processor: int) -> str:
    """Return the kernel's mask of one processor: groups of 8 hexadecimal digits."""
    groups = processor // 32
    return ",".join([f"{1 << processor % 32:x}", *["00000000"] * groups])


def _served(values: Mapping[str, str]) -> dict[str, str]:
    """Return place -> processors, from the values that `IrqAffinity` read."""
    return {place: value for place, value in values.items() if place.endswith("/smp_affinity_list")}
