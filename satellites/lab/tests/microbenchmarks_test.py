"""That each microbenchmark does what it says: what valgrind counts of it, and which instruction is hot."""

import re
import subprocess
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from assay import programs
from assay.experiment import load
from conftest import ROOT

UNITS = 20_000  # 20 calls of run
PAGES_AS_LINES = ("--I1=524288,4,4096", "--D1=262144,4,4096", "--LL=2097152,4,4096")
CACHES = ("--I1=32768,4,64", "--D1=32768,8,64", "--LL=8388608,16,64")


class Counts(NamedTuple):
    """What callgrind counted, and how often each instruction ran, by its mnemonic."""

    events: dict[str, float]  # for each unit
    instructions: dict[str, float]


def counted(folder: Path, name: str, *words: str, caches: tuple[str, ...] = CACHES) -> Counts:
    program = programs.find("assay-microbenchmarks")
    out = folder / "callgrind.out"
    options = (
        *("--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no", "--cache-sim=yes"),
        *("--branch-sim=yes", "--dump-instr=yes", "--compress-pos=no", "--compress-strings=no"),
        *(*caches, f"--callgrind-out-file={out}"),
    )
    once = ("--iterations", "1", "--batch", str(UNITS // 1000), "--warm-up", "1")
    subprocess.run(
        ["valgrind", *options, program, name, *once, *words], capture_output=True, check=True, timeout=120
    )
    text = out.read_text()
    lines = dict(re.findall(r"^(events|totals): (.*)", text, re.MULTILINE))
    totals = dict(zip(lines["events"].split(), map(int, lines["totals"].split()), strict=True))
    # "0xADDRESS LINE Ir ...", but not the cost of what a call came to, which follows a line "calls=".
    ran: Counter[int] = Counter()
    for before, line in pairwise(text.splitlines()):
        address, *numbers = line.split()[:3] or [""]
        if address.startswith("0x") and not before.startswith("calls="):
            ran[int(address, 16)] += int(numbers[1])
    return Counts({event: n / UNITS for event, n in totals.items()}, _by_mnemonic(program, ran))


@cache
def _mnemonics(program: Path) -> dict[int, str]:
    shown = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True
    ).stdout
    return {int(at, 16): name for at, name in re.findall(r"^\s*([0-9a-f]+):\s+(\S+)", shown, re.MULTILINE)}


def _by_mnemonic(program: Path, ran: Counter[int]) -> dict[str, float]:
    hot = [address for address, times in ran.items() if times >= UNITS / 100]
    names = _mnemonics(program)
    sums: Counter[str] = Counter()
    for address in hot:
        sums[names.get(address, "?")] += ran[address]
    return {name: times / UNITS for name, times in sums.items()}


def test_the_counter_is_read_and_written_for_each_step_and_stays_in_the_cache(tmp_path: Path) -> None:
    events = counted(tmp_path, "volatile_counter").events
    assert events["Dr"] == pytest.approx(1, abs=0.1)
    assert events["Dw"] == pytest.approx(1, abs=0.1)
    assert events["D1mr"] + events["D1mw"] < 0.01


@pytest.mark.parametrize("name", ["dependent_reads", "independent_reads"])
def test_each_read_misses_every_cache_that_is_smaller_than_the_array(tmp_path: Path, name: str) -> None:
    far = counted(tmp_path, name, "--sizes", str(1 << 24)).events
    assert far["Dr"] == pytest.approx(1, abs=0.1)
    assert far["Dw"] == pytest.approx(1, abs=0.1)
    assert far["DLmr"] == pytest.approx(1, abs=0.1)
    near = counted(tmp_path, name, "--sizes", str(1 << 13)).events
    assert near["Dr"] == pytest.approx(1, abs=0.1)
    assert near["D1mr"] < 0.02


def test_pages_miss_the_tlb_where_their_lines_are_in_a_cache(tmp_path: Path) -> None:
    words = ("tlb_misses", "--sizes", "4096")
    assert counted(tmp_path, *words, caches=PAGES_AS_LINES).events["D1mr"] > 0.95
    lines = counted(tmp_path, *words).events
    assert lines["Dr"] == pytest.approx(1, abs=0.1)
    assert lines["DLmr"] < 0.3  # of the first time that each is read
    assert counted(tmp_path, "tlb_misses", "--sizes", "16", caches=PAGES_AS_LINES).events["D1mr"] < 0.02


def test_random_branches_are_mispredicted_half_of_the_time(tmp_path: Path) -> None:
    random = counted(tmp_path, "random_branches").events
    regular = counted(tmp_path, "regular_branches").events
    assert random["Bcm"] > 0.3
    assert regular["Bcm"] < 0.1
    assert random["Bc"] >= 1
    assert regular["Bc"] >= 1


@pytest.mark.parametrize(
    ("words", "mnemonic"),
    [
        (("nops",), "nop"),
        (("divisions",), "div"),
        (("population_counts",), "popcnt"),
        (("vector_xor", "--set", "width=scalar"), "xor|not"),
        (("vector_xor", "--set", "width=sse2"), "pxor"),
        (("vector_xor",), "v?pxor"),
        (("vector_multiply", "--set", "width=scalar"), "mulss"),
        (("vector_multiply", "--set", "width=sse2"), "mulps"),
        (("vector_multiply",), "v?mulps"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_each_unit_is_one_instruction_of_its_kind(
    tmp_path: Path, words: tuple[str, ...], mnemonic: str
) -> None:
    done = counted(tmp_path, *words).instructions
    assert sum(n for name, n in done.items() if re.fullmatch(f"({mnemonic})q?", name)) == pytest.approx(
        1, abs=0.05
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dependent_reads", "--sizes", "255"), "size: must be at least 256 bytes"),
        (("vector_xor", "--set", "width=mmx"), "width: there is no mmx; there are widest, scalar, sse2"),
    ],
)
def test_what_cannot_be_is_said(words: tuple[str, ...], message: str) -> None:
    ended = subprocess.run(
        [programs.find("assay-microbenchmarks"), *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert message in ended.stderr


def test_the_experiment_has_every_microbenchmark() -> None:
    experiment = load(ROOT / "satellites/lab/experiments" / "microbenchmarks.toml")
    listed = subprocess.run(
        [programs.find("assay-microbenchmarks"), "--list"], capture_output=True, text=True, check=True
    ).stdout
    asked = {experiment.settings(condition)["subject"] for condition in experiment.conditions()}
    assert asked == set(re.findall(r'"name": ?"(\w+)"', listed))
