"""Simulates, by `assay-layouts`, what a recorded execution costs under layouts of its program."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import programs
from assay.errors import AssayError
from assay.runner.process import run_process


@dataclass(frozen=True)
class Cache:
    """A cache of instructions.

    Attributes:
        size: bytes.
        ways: how many lines of one set it holds.
        line: bytes of a line.
    """

    size: int = 8192
    ways: int = 1
    line: int = 32

    def __str__(self) -> str:
        """Return it as a sentence names it."""
        size = f"{self.size // 1024} KiB" if self.size % 1024 == 0 else f"{self.size} bytes"
        ways = "one way" if self.ways == 1 else f"{self.ways} ways"
        return f"{size}, {ways}, lines of {self.line} bytes"


@dataclass(frozen=True)
class Simulation:
    """What an execution costs, by layout.

    Attributes:
        instructions: how many are counted.
        outside: how many more were executed in no procedure of the program, such as in libraries.
        build_id: of the program.
        misses: by layout, of the first cache and of the second.
        cycles: by layout, estimated for an instruction: 0.5, 5 for a miss of the first cache, and 50 more if
            the second one misses, too (Blackwell 1998, section 4.2).
        details: the rest of the result.
    """

    instructions: int
    outside: int
    build_id: str
    misses: NDArray[np.float64]
    cycles: NDArray[np.float64]
    details: Mapping[str, Any]

    @cached_property
    def miss_rates(self) -> NDArray[np.float64]:
        """Return the misses of the first cache in 1,000 instructions, by layout."""
        rates: NDArray[np.float64] = self.misses[:, 0] / self.instructions * 1000
        return rates

    @property
    def factors(self) -> NDArray[np.float64]:
        """Return the factor of expansion of each layout."""
        return np.array(self.details["factors"], dtype=np.float64)

    @cached_property
    def made_for(self) -> "Simulation":
        """Return what the trace costs from which the profile came; this one, if it is the same trace."""
        if "made_for" not in self.details:
            return self
        found = self.details["made_for"]
        layouts = np.array(found["layouts"], dtype=np.float64)
        return replace(
            self, instructions=found["instructions"], misses=layouts[:, :2], cycles=layouts[:, 2], details={}
        )


def simulate(
    trace: Path | None, scheme: str, cache: Cache, *, seed: int, layouts: int = 1, **more: Any
) -> Simulation:
    """Replay a trace under layouts.

    Args:
        trace: what `assay layout profile` recorded; without one, `more` has `procedures` and `weights`.
        scheme: as docs/README.md lists them.
        cache: the first one.
        seed: from which all is drawn.
        layouts: how many are drawn.
        more: further parameters, as docs/README.md lists them.

    Raises:
        AssayError: the trace cannot be read, or a parameter is refused.
    """
    parameters = {
        **({"trace": str(trace.absolute())} if trace else {}),
        "scheme": scheme,
        "layouts": layouts,
        "l1_bytes": cache.size,
        "l1_ways": cache.ways,
        "line_bytes": cache.line,
        **more,
    }
    request = {"protocol": 1, "seed": seed, "parameters": parameters}
    ended = run_process(
        str(programs.find("assay-layouts")),
        json.dumps(request),
        environment={"PATH": os.environ.get("PATH", "")},
    )
    if ended.exit_code:
        said = ended.stderr.decode(errors="replace").strip().removeprefix("error: ")
        raise AssayError(said or "assay-layouts ended early; is there enough memory for the trace?")
    details = json.loads(ended.stdout)["details"]
    layouts_drawn = np.array(details["layouts"], dtype=np.float64)
    return Simulation(
        instructions=details["instructions"],
        outside=details["outside"],
        build_id=details["build_id"],
        misses=layouts_drawn[:, :2],
        cycles=layouts_drawn[:, 2],
        details=details,
    )
