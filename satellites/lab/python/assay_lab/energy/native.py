"""Asks `assay-energy` about a simulated machine, and a calibration about this one."""

import json
import math
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay import programs
from assay.errors import AssayError
from assay_lab.energy.model import Work

_FEWEST_CYCLES = 1e-6  # the simulated machine takes no program that only waits
_RUN_S = 5.0
"""The approximate length of programs that are simulated for their power, in simulated seconds."""


def ask(program: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a program answers to a request.

    Raises:
        AssayError: it is missing, or refuses.
    """
    path = programs.find(program)
    try:
        ended = subprocess.run(  # noqa: S603
            [path], input=json.dumps(request), capture_output=True, text=True, check=False, timeout=120
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise AssayError(f"{program} does not answer ({error}); {programs.REMEDY}") from error
    if ended.returncode != 0:
        raise AssayError(f"{program}: {ended.stderr.strip().removeprefix('error: ')}")
    return dict(json.loads(ended.stdout))


_CYCLES_OF_ARITHMETIC = 4
"""3 of a multiplication and 1 of an addition, on Intel since Nehalem and on AMD since Zen (Fog 2014)."""


def gigahertz_of(calibration: Mapping[str, float]) -> float:
    """Return cycles in a nanosecond at a calibration: a dependent multiplication and addition take four."""
    return _CYCLES_OF_ARITHMETIC / calibration["arithmetic_ns"]


@dataclass(frozen=True)
class Simulated:
    """A simulated machine.

    Attributes:
        name: its name.
        frequencies: in GHz, ascending.
        processors: number of threads that it runs at once.
        memory_ns: time of a memory read.
    """

    name: str
    frequencies: tuple[float, ...]
    processors: int
    memory_ns: float

    def run(self, runs: Sequence[Mapping[str, float]]) -> list[tuple[float, float]]:
        """Return the seconds and joules of programs, each at a frequency; keys as `assay-energy` has them."""
        answer = ask("assay-energy", {"machine": self.name, "seed": 1, "runs": list(runs)})
        return [(run["seconds"], run["joules"]) for run in answer["runs"]]

    def watts(self, work: Work) -> dict[float, float]:
        """Return frequency -> power of the machine while it runs work with this memory boundness."""
        threads = min(max(round(work.cores), 1), self.processors)
        waits_only = math.isinf(work.memory_boundness)
        cycles, outside_ns = (_FEWEST_CYCLES, 1.0) if waits_only else (1.0, work.memory_boundness)
        runs = [
            {
                "khz": round(gigahertz * 1e6),
                "instructions": threads * _RUN_S * 1e9 / (outside_ns + cycles / gigahertz),
                "threads": threads,
                "cycles": cycles,
                "misses": outside_ns / self.memory_ns,
                "parallel_misses": 1,
                "activity": 1,
            }
            for gigahertz in self.frequencies
        ]
        return {
            gigahertz: joules / seconds
            for gigahertz, (seconds, joules) in zip(self.frequencies, self.run(runs), strict=True)
        }


def simulated(name: str) -> Simulated:
    """Return a simulated machine by its name.

    Raises:
        AssayError: there is none of this name.
    """
    answer = ask("assay-energy", {"machine": name, "seed": 1, "runs": []})
    frequencies = tuple(khz / 1e6 for khz in answer["frequencies_khz"])
    return Simulated(answer["machine"], frequencies, answer["processors"], answer["memory_ns"])
