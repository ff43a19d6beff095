"""The errors of the time model for each microbenchmark: from two frequencies, at all others.

This repeats Bonnichsen (2016, figure 3.4), whose two frequencies were 2.0 and 3.4 GHz. If no frequency can be
set here, the times are those of a simulated machine, which has what the model ignores: a queue for memory.
"""

import json
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay import programs
from assay.errors import AssayError
from assay.host.journal import journal_folder
from assay.host.system import System, root_script, without_root
from assay_lab.energy.frequencies import held, offered
from assay_lab.energy.measure import two_of
from assay_lab.energy.model import memory_boundness, relative_time
from assay_lab.energy.native import Simulated, simulated

PROGRAM = "assay-microbenchmarks"

# Per instruction: cycles on the chip, misses of the last cache, how many of these overlap, activity.
_KINDS: dict[str, tuple[float, float, float, float]] = {
    "volatile_counter": (1.7, 0.0, 1, 1.0),
    "nops": (0.25, 0.0, 1, 0.85),
    "vector_xor": (0.33, 0.0, 1, 1.1),
    "vector_multiply": (1.0, 0.0, 1, 1.4),
    "divisions": (25.0, 0.0, 1, 0.6),
    "population_counts": (1.0, 0.0, 1, 0.9),
    "regular_branches": (0.8, 0.0, 1, 1.0),
    "random_branches": (2.6, 0.0, 1, 0.9),
    "tlb_misses": (12.0, 0.0, 1, 0.6),
    "dependent_reads": (1.7, 0.2, 1, 0.8),
    "independent_reads": (0.7, 0.2, 10, 1.0),
}
"""Name -> what the simulated machine is told of it. Cycles of divisions are those of Fog (2014) for Haswell;
reads are five instructions of a loop (listing 3.2), and a core has ten line buffers. The others are ours."""
_RUN_S = 5.0


@dataclass(frozen=True)
class MicrobenchmarkError:
    """A microbenchmark: its m in ns, and the mean and largest error of its predicted times, as shares."""

    name: str
    m: float
    mean: float
    largest: float


@dataclass(frozen=True)
class Errors:
    """The errors of the model.

    Attributes:
        each: the errors for each microbenchmark.
        source: a sentence that says which times it was compared with.
        missing: why others could not be measured.
    """

    each: tuple[MicrobenchmarkError, ...]
    source: str
    missing: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Return the mean over all."""
        return statistics.fmean(each.mean for each in self.each)


def errors_of(machine: str, system: System | None = None) -> Errors:
    """Return the errors of every microbenchmark, on this machine if its frequency can be set.

    Raises:
        AssayError: a program is missing, a permission is, there is no such simulated machine, or no
            microbenchmark can be measured.
    """
    system = system or System()
    missing: tuple[str, ...] = ()
    frequencies = offered(system)
    if len(frequencies) > 2:
        if root_script() is None:
            raise AssayError(f"frequencies can be set here, but not by this user: {without_root()}")
        times, missing = _measured(system, frequencies)
        source = "measured on this machine"
    else:
        simulation = simulated(machine)
        times = {name: simulated_times(simulation, name) for name in _KINDS}
        source = (
            f"no frequency can be set here, so times are those of the simulated machine {machine}, which has"
            " the model's equation and a queue for memory: real processors differ by more"
        )
    one, other = two_of(sorted(next(iter(times.values()))))
    each = tuple(_error(name, of, one, other) for name, of in times.items())
    return Errors(each, f"Predicted from {one:g} and {other:g} GHz; {source}", missing)


def _error(name: str, times: Mapping[float, float], one: float, other: float) -> MicrobenchmarkError:
    m, off = prediction_errors(times, one, other)
    sizes = [abs(share) for share in off.values()]
    return MicrobenchmarkError(name, m, statistics.fmean(sizes), max(sizes))


def prediction_errors(
    times: Mapping[float, float], one: float, other: float
) -> tuple[float, dict[float, float]]:
    """Return m of two frequencies' times, and by which share the prediction is off at each of the others."""
    m = memory_boundness((one, times[one]), (other, times[other]))
    off: dict[float, float] = {}
    for gigahertz, seconds in times.items():
        if gigahertz not in (one, other):
            ratio = 1.0 if m == float("inf") else relative_time(m, gigahertz) / relative_time(m, one)
            off[gigahertz] = ratio * times[one] / seconds - 1
    return m, off


def simulated_times(machine: Simulated, name: str) -> dict[float, float]:
    """Return frequency -> seconds of a microbenchmark on a simulated machine, in one thread."""
    ran = simulated_runs(machine, name, 1, machine.frequencies)
    return dict(zip(machine.frequencies, (seconds for seconds, _ in ran), strict=True))


def simulated_runs(
    machine: Simulated, name: str, threads: int, frequencies: Sequence[float]
) -> list[tuple[float, float]]:
    """Return seconds and joules of the same work of a microbenchmark, in some threads at each frequency."""
    cycles, misses, parallel, activity = _KINDS[name]
    took_ns = cycles / frequencies[-1] + misses * machine.memory_ns / parallel
    return machine.run(
        [
            {
                "khz": round(gigahertz * 1e6),
                "instructions": threads * _RUN_S * 1e9 / took_ns,
                "threads": threads,
                "cycles": cycles,
                "misses": misses,
                "parallel_misses": parallel,
                "activity": activity,
            }
            for gigahertz in frequencies
        ]
    )


def _measured(
    system: System, frequencies: Sequence[float]
) -> tuple[dict[str, dict[float, float]], tuple[str, ...]]:
    """Return name -> frequency -> nanoseconds of a run on this machine, and why some cannot be measured."""
    program = programs.find(PROGRAM)
    times: dict[str, dict[float, float]] = {name: {} for name in _KINDS}
    missing: list[str] = []
    for gigahertz in frequencies:
        with held(system, journal_folder(), gigahertz):
            for name in list(times):
                try:
                    times[name][gigahertz] = timed(str(program), name)
                except AssayError as error:
                    missing.append(str(error))
                    del times[name]
    if not times:
        raise AssayError(missing[-1])
    return times, tuple(missing)


def timed(program: str, name: str, seconds: float = 1.0, threads: int = 1) -> float:
    """Run a microbenchmark for some seconds, and return the nanoseconds that 1,000 of its units take.

    Raises:
        AssayError: this processor has it not, or it fails.
    """
    listing = json.loads(
        subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    )
    sizes = next((entry["sizes"] for entry in listing if entry["name"] == name), None)
    if sizes is None:
        raise AssayError(f"{PROGRAM} has no {name} on this processor")
    words = [program, name, "--seconds", str(seconds), "--threads", str(threads), "--json", "-"]
    words += ["--sizes", str(sizes[0])] if sizes else []
    ended = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    if ended.returncode != 0:
        raise AssayError(f"{PROGRAM} {name}: {ended.stderr.strip().removeprefix('error: ')}")
    return statistics.median(
        float(entry["real_time"])
        for entry in json.loads(ended.stdout)["benchmarks"]
        if entry["run_type"] == "iteration" or entry.get("aggregate_name") == "median"
    )
