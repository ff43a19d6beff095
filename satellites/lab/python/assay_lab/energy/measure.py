"""What a program comes to on this machine: from runs at two frequencies, or from its cache misses.

Of each of several runs there is a `Work`, so that what is predicted has an interval. Where no frequency can
be set, the time outside of the chip is the number of reads that miss the last cache, which valgrind counts
once, times what a read takes, which is calibrated before each run. That is the most that it can be: misses
that are waited for together or are prefetched take less, and valgrind sees neither.
"""

import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.host.joules import joules_between, joules_so_far
from assay.host.journal import journal_folder
from assay.host.system import System, root_script, without_root
from assay.runner.process import run_process
from assay.runner.temporary import Temporary
from assay.words import in_unit
from assay_lab.energy.frequencies import held, offered
from assay_lab.energy.model import Work, from_two_runs
from assay_lab.energy.native import calibrated

SHORTEST_S = 0.02
"""A shorter run is mostly the start of its process."""
_WIDEST = 6
"""Instructions of a cycle at most, so that even what waits for memory has this part on the chip."""
_LARGEST_CACHE = 32 * 2**20
"""A larger one is shared by the guests of a host, and no program has it for itself."""


@dataclass(frozen=True)
class Measured:
    """What a program comes to.

    Attributes:
        command: its words.
        works: one of each run.
        memory_ns: of a read here.
        how: in a sentence, from what it is known.
        frequencies: that can be set here, in GHz; empty where none can.
        watts: frequency -> power there, of the two that it ran at; empty where it is not known.
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


@dataclass(frozen=True)
class _Ran:
    seconds: float
    cores: float


def measure(command: Sequence[str], runs: int, system: System | None = None) -> Measured:
    """Measure a program, whose output is not shown.

    Args:
        command: its words.
        runs: how often it is run, at each frequency.
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
    words = (program, *command[1:])
    frequencies = offered(system)
    if len(frequencies) > 1:
        return _at_two_frequencies(tuple(command), words, runs, system, frequencies)
    return _by_misses(tuple(command), words, runs)


def two_of(frequencies: Sequence[float]) -> tuple[float, float]:
    """Return two frequencies to measure at, about a quarter and three quarters of the range."""
    low, high = frequencies[0], frequencies[-1]
    near = [min(frequencies, key=lambda f: abs(f - (low + share * (high - low)))) for share in (0.25, 0.75)]
    return (near[0], near[1]) if near[0] != near[1] else (low, high)


def _at_two_frequencies(
    command: tuple[str, ...],
    words: Sequence[str],
    runs: int,
    system: System,
    frequencies: tuple[float, ...],
) -> Measured:
    if root_script() is None:
        raise AssayError(f"frequencies can be set here, but not by this user: {without_root()}")
    two = two_of(frequencies)
    memory_ns = calibrated().memory_ns
    works: list[Work] = []
    watts: dict[float, list[float]] = {gigahertz: [] for gigahertz in two}
    for number in range(runs):
        seen: dict[float, _Ran] = {}
        for gigahertz in two if number % 2 else reversed(two):
            with held(system, journal_folder(), gigahertz):
                before = joules_so_far(system)
                seen[gigahertz] = _run(words)
                joules = joules_between(before, joules_so_far(system))
            if joules is not None:
                watts[gigahertz].append(joules / seen[gigahertz].seconds)
        one, other = ((gigahertz, seen[gigahertz].seconds) for gigahertz in two)
        works.append(from_two_runs(one, other, seen[two[0]].cores))
    known = tuple((gigahertz, statistics.median(seen)) for gigahertz, seen in watts.items() if seen)
    how = f"{runs} runs each at {two[0]:g} and {two[1]:g} GHz"
    return Measured(command, tuple(works), memory_ns, how, frequencies, known if len(known) == 2 else ())


def _by_misses(command: tuple[str, ...], words: Sequence[str], runs: int) -> Measured:
    if shutil.which("valgrind") is None:
        raise AssayError(
            "no frequency can be set here, and valgrind is not installed, which counts what a program"
            " waits for; install it (Debian's package valgrind)"
        )
    works: list[tuple[_Ran, float, float]] = []
    for _ in range(runs):
        host = calibrated()
        works.append((_run(words), host.memory_ns, host.gigahertz))
    instructions, misses = _counted(words)
    found: list[Work] = []
    overlaps = 0
    for ran, memory_ns, gigahertz in works:
        threads = max(ran.cores, 1.0)
        least_on = min(instructions / threads / _WIDEST / gigahertz / 1e9, ran.seconds)
        outside = misses * memory_ns / 1e9 / threads
        overlaps += outside > ran.seconds - least_on
        outside = min(outside, ran.seconds - least_on)
        found.append(Work((ran.seconds - outside) * gigahertz, outside, misses, ran.cores))
    memory_ns = statistics.median(ns for _, ns, _ in works)
    gigahertz = statistics.median(ghz for _, _, ghz in works)
    how = (
        f"{runs} runs at {gigahertz:.2g} GHz, and {misses:,.0f} reads that miss a cache of"
        f" {in_unit(_last_cache(), 'bytes')}, counted by valgrind, at {memory_ns:.0f} ns each"
    )
    return Measured(command, tuple(found), memory_ns, how, overlaps=2 * overlaps > runs)


def _run(words: Sequence[str]) -> _Ran:
    program, *arguments = words
    ended = run_process(
        program,
        "",
        environment=os.environ,
        arguments=arguments,
        directory=Path.cwd(),
        measured=True,
        discard=True,
    )
    if ended.exit_code != 0:
        raise AssayError(f"{program} {_ended(ended.exit_code)}{_last_line(ended.stderr)}")
    if ended.left:
        raise AssayError(
            f"{program} ended while {ended.left_in_words()} that it had started still ran; "
            "let it wait for what it starts"
        )
    seconds = ended.used["wall_ms"] / 1e3
    if seconds < SHORTEST_S:
        raise AssayError(
            f"{program} ends after {in_unit(seconds, 's')}, which is too short to measure; give it more"
            f" work, at least {in_unit(SHORTEST_S, 's')}"
        )
    on_processor = (ended.used["user_ms"] + ended.used["system_ms"]) / 1e3
    return _Ran(seconds, max(on_processor / seconds, 0.01))


def _ended(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with {code}"


def _last_line(written: bytes) -> str:
    lines = written.decode(errors="replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""


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
                f"under valgrind {words[0]} {_ended(ended.returncode)}{_last_line(ended.stderr)}; it may use"
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
