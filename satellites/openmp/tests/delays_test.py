"""A thread that is delayed at any marked point of the runtime changes no result."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from assay import programs

RUNTIME = Path(__file__).parent.parent / "native" / "assay" / "openmp"
POINTS = sorted(
    point
    for source in RUNTIME.rglob("*")
    if source.suffix in {".h", ".cpp"}
    for point in re.findall(r'ASSAY_POINT\("(\w+)"\)', source.read_text())
)
PROGRAMS = (
    ["openmp_random_graphs", "600"],
    ["openmp_loops"],
    ["openmp_ordered"],
    ["openmp_doacross"],
    ["openmp/overheads", "20", "1"],
    ["openmp/critical", "20000", "200"],
)


MOST = 20
"""Passes over all programs in which a thread comes to a point at least once."""


def passes(point: str, program: list[str]) -> int:
    """Run a program with delays at a point, and return how often threads came there."""
    binaries = programs.find("assay-omp").parent
    done = subprocess.run(
        [binaries / program[0], *program[1:]],
        env={
            **os.environ,
            "TEST_POINT": point,
            "LD_PRELOAD": str(binaries.parent / "lib" / "openmp" / "marked" / "libassay-gomp-marked.so"),
            "OMP_NUM_THREADS": "3",
            "OMP_WAIT_POLICY": "passive",  # they sleep, which is where a lost wake-up is forever
            "ASSAY_OMP_CRITICAL": "none",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{program[0]}: {done.stdout}{done.stderr}"
    return int(done.stderr.rpartition("passes: ")[2])


def test_there_are_points() -> None:
    assert len(POINTS) > 20
    assert len(set(POINTS)) == len(POINTS)


@pytest.mark.parametrize("point", POINTS)
def test_results_are_right_with_a_thread_delayed_at(point: str) -> None:
    # Where threads must meet for that, a busy host may let none wait for another in one pass over all.
    assert any(sum(passes(point, program) for program in PROGRAMS) > 0 for _ in range(MOST))
