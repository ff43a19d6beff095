"""Measures a program's work on this machine: from runs at two frequencies, or from its cache misses.

Each run gives a `Work`, so that predictions have an interval. If no frequency can be set, the time outside of
the chip is the number of reads that miss the last cache, which valgrind counts once, times the time of a
read, which is calibrated before each run. That is an upper bound: overlapping or prefetched misses take less,
and valgrind sees neither.
"""

import math
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from assay.errors import AssayError
from assay.experiment import Experiment, made
from assay.experiment.race import plain_name
from assay.host.journal import journal_folder
from assay.host.system import System, root_script, without_root
from assay.runner.temporary import Temporary
from assay.store.types import StoredTrial
from assay.words import in_unit, printable
from assay_lab.energy.frequencies import offered
from assay_lab.energy.model import Work, from_two_runs
from assay_lab.energy.native import gigahertz_of
from assay_lab.energy.one_run import ended_in_words

SHORTEST_S = 0.02
"""A shorter run is mostly the start of its process."""
_WIDEST = 6
"""The most instructions per cycle: even a program that waits for memory spends this time on the chip."""
RunCampaign = Callable[[Experiment], Sequence[StoredTrial]]
_LARGEST_CACHE = 32 * 2**20
"""A larger one is shared by the guests of a host, and no program has it for itself."""


@dataclass(frozen=True)
class ProgramMeasurement:
    """A measured program.

    Attributes:
        command: its words.
        works: the work of each run.
        memory_ns: time of a memory read here.
        how: a sentence that says how it was measured.
        frequencies: the frequencies that can be set here, in GHz; empty if none can.
        watts: frequency -> power, for the two frequencies that it ran at; empty if unknown.
        overlaps: its misses would take longer than it ran, so that it waits for several at once.
    """

    command: tuple[str, ...]
    works: tuple[Work, ...]
    memory_ns: float
    how: str
    frequencies: tuple[float, ...] = ()
    watts: tuple[tuple[float, float], ...] = ()
    overlaps: bool = False

    @property
    def work(self) -> Work:
        """Return the median of what its runs come to."""
        return Work(
            statistics.median(work.gigacycles for work in self.works),
            statistics.median(work.outside_s for work in self.works),
            self.works[0].misses,
            statistics.median(work.cores for work in self.works),
        )


def measure(
    command: Sequence[str], runs: int, run: RunCampaign, system: System | None = None
) -> ProgramMeasurement:
    """Measure a program, whose output is not shown: a campaign with a block for each run.

    Args:
        command: its words.
        runs: how often it is run, at each frequency.
        run: runs the campaign of an experiment, and returns its trials.
        system: this machine.

    Raises:
        AssayError: it is not there, fails, or is too short; or valgrind, or a permission, is missing.
    """
    system = system or System()
    program = shutil.which(command[0])
    if program is None:
        file = Path(command[0])
        if file.is_file():
            raise AssayError(f"{command[0]} is not executable; chmod +x makes it so")
        raise AssayError(f"there is no program {command[0]}; give its path, or the name of one on the PATH")
    words = (str(Path(program).absolute()), *command[1:])
    frequencies = offered(system)
    if len(frequencies) > 1:
        if root_script() is None:
            raise AssayError(f"frequencies can be set here, but not by this user: {without_root()}")
        two = two_of(frequencies)
        trials = _trials(words, runs, run, two)
        return _at_two_frequencies(tuple(command), trials, two, frequencies)
    if shutil.which("valgrind") is None:
        raise AssayError(
            "no frequency can be set here, and valgrind is not installed, which counts what a program"
            " waits for; install it (Debian's package valgrind)"
        )
    trials = _trials(words, runs, run, ())
    return _by_misses(tuple(command), trials, *_counted(words))


def experiment_of(words: Sequence[str], runs: int, frequencies: Sequence[float]) -> Experiment:
    """Return the experiment that runs a program at two frequencies.

    Without frequencies half of the runs are compared with the other half, which are the same.
    """
    name = plain_name(words[0])
    levels = {f"{gigahertz:g} GHz": gigahertz for gigahertz in frequencies} or {"first": 0, "second": 0}
    document = {
        "name": f"energy-{name}",
        "question": f"What does {printable(Path(words[0]).name)} come to at other frequencies?",
        "factors": {
            "frequency": {label: {"parameters": {"gigahertz": value}} for label, value in levels.items()}
        },
        "trial": {"subject": name},
        "design": {"blocks": runs if frequencies else math.ceil(runs / 2)},
        "comparison": {"factor": "frequency", "metric": "seconds", "better": "lower"},
        "subjects": {
            name: {
                "program": sys.executable,
                "arguments": [
                    *("-m", "assay_lab.energy.one_run", str(journal_folder()), "{gigahertz}"),
                    *(word.replace("{", "{{") for word in words),
                ],
                "extract": "lines",
            }
        },
    }
    return made(document, Path("energy.toml"))


def _trials(
    words: Sequence[str], runs: int, run: RunCampaign, frequencies: Sequence[float]
) -> Sequence[StoredTrial]:
    trials = run(experiment_of(words, runs, frequencies))
    for trial in trials:
        if trial.status != "valid":
            raise AssayError(f"{words[0]}: {trial.reason}")
        if trial.metrics["seconds"] < SHORTEST_S:
            raise AssayError(
                f"{words[0]} ends after {in_unit(trial.metrics['seconds'], 's')}, which is too short to"
                f" measure; give it more work, at least {in_unit(SHORTEST_S, 's')}"
            )
        if "memory_ns" not in trial.calibration_before:
            raise AssayError("the latency of memory is not known here: no calibration measured it")
    return trials


def two_of(frequencies: Sequence[float]) -> tuple[float, float]:
    """Return two frequencies to measure at, about a quarter and three quarters of the range."""
    low, high = frequencies[0], frequencies[-1]
    near = [min(frequencies, key=lambda f: abs(f - (low + share * (high - low)))) for share in (0.25, 0.75)]
    return (near[0], near[1]) if near[0] != near[1] else (low, high)


def _at_two_frequencies(
    command: tuple[str, ...],
    trials: Sequence[StoredTrial],
    two: tuple[float, float],
    frequencies: tuple[float, ...],
) -> ProgramMeasurement:
    works: list[Work] = []
    watts: dict[float, list[float]] = {gigahertz: [] for gigahertz in two}
    for _, block in groupby(trials, key=lambda trial: trial.block):
        ran = {trial.metrics["gigahertz"]: trial.metrics for trial in block}
        one, other = ((gigahertz, ran[gigahertz]["seconds"]) for gigahertz in two)
        works.append(from_two_runs(one, other, ran[two[0]]["cores"]))
        for gigahertz, metrics in ran.items():
            if "joules" in metrics:
                watts[gigahertz].append(metrics["joules"] / metrics["seconds"])
    memory_ns = statistics.median(trial.calibration_before["memory_ns"] for trial in trials)
    known = tuple((gigahertz, statistics.median(seen)) for gigahertz, seen in watts.items() if seen)
    how = f"{len(works)} runs each at {two[0]:g} and {two[1]:g} GHz"
    return ProgramMeasurement(
        command, tuple(works), memory_ns, how, frequencies, known if len(known) == 2 else ()
    )


def _by_misses(
    command: tuple[str, ...], trials: Sequence[StoredTrial], instructions: float, misses: float
) -> ProgramMeasurement:
    works: list[Work] = []
    speeds: list[float] = []
    overlaps = 0
    for trial in trials:
        seconds, cores = trial.metrics["seconds"], trial.metrics["cores"]
        speeds.append(gigahertz := gigahertz_of(trial.calibration_before))
        threads = max(cores, 1.0)
        least_on = min(instructions / threads / _WIDEST / gigahertz / 1e9, seconds)
        outside = misses * trial.calibration_before["memory_ns"] / 1e9 / threads
        overlaps += outside > seconds - least_on
        outside = min(outside, seconds - least_on)
        works.append(Work((seconds - outside) * gigahertz, outside, misses, cores))
    memory_ns = statistics.median(trial.calibration_before["memory_ns"] for trial in trials)
    how = (
        f"{len(works)} runs at {statistics.median(speeds):.2g} GHz, and {misses:,.0f} reads that miss a cache"
        f" of {in_unit(_last_cache(), 'bytes')}, counted by valgrind, at {memory_ns:.0f} ns each"
    )
    return ProgramMeasurement(command, tuple(works), memory_ns, how, overlaps=2 * overlaps > len(works))


def _last_cache() -> int:
    """Return bytes of the last cache to simulate: a power of two, at most that of this machine."""
    sizes = System().read_all("/sys/devices/system/cpu/cpu0/cache/index[0-9]*/size").values()
    largest = max((int(size.rstrip("K")) * 1024 for size in sizes if size.endswith("K")), default=0)
    return 1 << (min(largest or _LARGEST_CACHE, _LARGEST_CACHE).bit_length() - 1)


def _counted(words: Sequence[str]) -> tuple[float, float]:
    """Return the instructions of a program, and how many of its reads miss the last cache."""
    with Temporary("assay-energy-") as temporary:
        options = (
            "--tool=cachegrind",
            "--cache-sim=yes",
            "--trace-children=yes",
            f"--LL={_last_cache()},16,64",
            f"--cachegrind-out-file={temporary.folder}/%p",
        )
        ended = subprocess.run(  # noqa: S603
            ["valgrind", *options, *words],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if ended.returncode != 0:
            raise AssayError(
                f"under valgrind {words[0]} {ended_in_words(ended.returncode, ended.stderr)}; it may use"
                " instructions that this valgrind does not know"
            )
        instructions = misses = 0.0
        for file in temporary.folder.iterdir():
            lines = dict(
                re.findall(r"^(events|summary): (.*)", file.read_text(errors="replace"), re.MULTILINE)
            )
            counts = dict(zip(lines["events"].split(), map(int, lines["summary"].split()), strict=True))
            instructions += counts["Ir"]
            misses += counts["DLmr"] + counts["ILmr"]
    if not instructions:
        raise AssayError(
            f"valgrind counted nothing of {words[0]}; give the program itself, not what starts it"
        )
    return instructions, misses
