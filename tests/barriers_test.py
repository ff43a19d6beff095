"""The barriers of fixtures (`keep`, `clobber`) in the code that gcc and clang make."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parent.parent / "native"
COMPILERS = [name for name in ("g++", "clang++", "clang++-22", "clang++-19") if shutil.which(name)]

SOURCE = """
#include "assay/fixture/keep.h"
#include <array>
using assay::fixture::clobber;
using assay::fixture::keep;

extern "C" {
void product_is_left_out(long a, long b) { [[maybe_unused]] long c = a * b; }
void product_is_kept(long a, long b) { keep(a * b); }

long product(long a, long b) { long c = a * b; return c; }
long product_kept_too(long a, long b) { long c = a * b; keep(c); return c; }

double sum(double a, double b) { double c = a + b; return c; }
double sum_kept_too(double a, double b) { double c = a + b; keep(c); return c; }

void array_is_left_out(int n) { std::array<int, 16> all; for (int i = 0; i < 16; ++i) all[i] = n * i; }
void array_is_kept(int n) { std::array<int, 16> all; for (int i = 0; i < 16; ++i) all[i] = n * i; keep(all); }

void nothing() {}
void clobber_is_nothing() { clobber(); }

long held;
long read_once(long n) { long s = 0; for (long i = 0; i < n; ++i) s = held; return s; }
long read_each_time(long n) { long s = 0; for (long i = 0; i < n; ++i) { s = held; clobber(); } return s; }
}
"""


def functions(compiler: str, folder: Path) -> dict[str, list[str]]:
    """Return function -> its instructions, less labels, directives and comments."""
    source = folder / "barriers.cpp"
    source.write_text(SOURCE)
    options = ["-std=c++20", "-O2", "-fcf-protection=none", "-fno-asynchronous-unwind-tables", "-fno-pic"]
    assembly = subprocess.run(
        [compiler, *options, f"-I{NATIVE}", "-S", "-o", "-", source],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found: dict[str, list[str]] = {}
    body: list[str] = []
    for line in assembly.splitlines():
        if label := re.match(r"([a-z_]+):", line):
            body = found[label[1]] = []
        elif re.match(r"\t[a-z]", line):
            body.append(line.split("#")[0].strip())
    return found


@pytest.mark.skipif(not COMPILERS, reason="no compiler")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_results_are_kept_at_the_cost_of_no_instruction(compiler: str, tmp_path: Path) -> None:
    made = functions(compiler, tmp_path)
    assert not any("mul" in line for line in made["product_is_left_out"])
    assert any("mul" in line for line in made["product_is_kept"])
    assert made["product_kept_too"] == made["product"]
    assert made["sum_kept_too"] == made["sum"]
    assert len(made["array_is_left_out"]) == 1  # ret
    assert len(made["array_is_kept"]) > 4
    assert made["clobber_is_nothing"] == made["nothing"]
    assert reads_in_a_loop(made["read_each_time"])
    assert not reads_in_a_loop(made["read_once"])


def reads_in_a_loop(body: list[str]) -> bool:
    """Return whether a function that reads has a loop: something in it counts."""
    return any("held" in line for line in body) and any(
        re.match(r"(inc|dec|add|sub|lea)q?\b", line) for line in body
    )
