"""Programs under the emulator: transactions of their own, the documented hazard, elided critical sections."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from assay import programs
from assay_openmp.testing import compiled

SOURCES = Path(__file__).parent / "transactions"


@pytest.fixture(scope="module", params=["gcc", "clang-22"])
def compiler(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def emulated(program: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program under the runtime and the emulator of transactions, with two threads."""
    command = [str(programs.find(name)) for name in ("assay-rtm", "assay-omp")] + [*options, str(program)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | environment, timeout=300
    )


def test_transactions_of_the_program_itself_happen_once(compiler: str, tmp_path: Path) -> None:
    source = (SOURCES / "own.c").read_text()
    program = compiled(tmp_path, "own", source, "-O2", "-fopenmp", "-mrtm", compiler=compiler)
    done = emulated(program, "--statistics")
    assert done.returncode == 0, done.stderr
    assert "ran ahead at" in done.stderr


def test_a_thread_runs_ahead_of_another(compiler: str, tmp_path: Path) -> None:
    """The program ends when one has; on a busy machine others are tried before."""
    program = compiled(
        tmp_path, "ahead", (SOURCES / "ahead.c").read_text(), "-O2", "-fopenmp", compiler=compiler
    )
    done = emulated(program, "--statistics")
    assert done.returncode == 0, done.stderr
    assert "a thread ran ahead" in done.stdout
    assert re.search(r"^assay-rtm: [1-9]\d* transactions committed", done.stderr, re.M)
    assert "libassay" not in done.stderr, (
        "each place is in the program, also where a function ends with a barrier"
    )


def test_the_hazard_is_found_and_each_remedy_ends_it(compiler: str, tmp_path: Path) -> None:
    source = (SOURCES / "hazard.c").read_text()
    program = compiled(tmp_path, "hazard", source, "-O2", "-fopenmp", "-mrtm", compiler=compiler)
    done = emulated(program, "--statistics")
    assert int(done.stdout.split()[0]) > 0
    assert re.search(r"a thread ran ahead at hazard\+0x\w+, and the program itself committed", done.stderr)
    places = re.findall(r"^(hazard\+0x\w+) .*", done.stderr.partition("ran ahead at")[2], re.M)
    assert places
    for remedy in ({"ASSAY_OMP_SPECULATION": "off"}, {"ASSAY_OMP_WAIT_AT": ",".join(places)}):
        assert emulated(program, **remedy).stdout == "0 times too early\n"


CRITICAL = """
#include <omp.h>
static long counts[2][64];
int main() {
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 500; ++i) {
#pragma omp critical
    ++counts[omp_get_thread_num()][0];
  }
  return counts[0][0] != 500 || counts[1][0] != 500;
}"""


def test_statistics_say_what_becomes_of_elided_critical_sections(compiler: str, tmp_path: Path) -> None:
    program = compiled(tmp_path, "critical", CRITICAL, "-O2", "-fopenmp", compiler=compiler)
    done = emulated(program, "--statistics", ASSAY_OMP_CRITICAL="elision")
    assert done.returncode == 0, done.stderr
    line = r"^critical sections as transactions: (\d+); committed (\d+), .*: (\d+)$"
    found = re.search(line, done.stderr, re.MULTILINE)
    assert found is not None, done.stderr
    begun, committed, under_lock = map(int, found.groups())
    assert 0 < committed <= begun
    assert committed + under_lock == 1000
    assert "as transactions" not in emulated(program, "--statistics", ASSAY_OMP_CRITICAL="none").stderr
