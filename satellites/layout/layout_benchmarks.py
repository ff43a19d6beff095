"""Measures the simulator and the optimisers of layouts; a part of `make bench`.

PYTHONPATH=benchmarks .venv/bin/python satellites/layout/layout_benchmarks.py PART...

`orders` needs Debian's `apt-get`, gcc, lld, qemu-user, and llvm-bolt if it is to be compared.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import lua_layouts
from assay_layout.linking import LLD_ORDERS, Recorded
from assay_layout.optimising import Search, places_of
from assay_layout.program import read_image
from assay_layout.recording import record
from assay_layout.simulator import Cache, simulate
from harness import figure, run_parts

PASSES = 9
LAYOUTS = 100
OPTIMISER = "Pettis-Hansen, history 0.7"
COMPARISONS = 500
OTHER_INPUT = """
-- Other work than that of lua_layouts.PROGRAM: recursion, string building, numbers.
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local parts, sum = {}, fib(20)
for i = 1, 4000 do parts[#parts + 1] = tostring(i * 3.25):sub(1, 4) end
local text = table.concat(parts, ",")
for word in text:gmatch("[^,]+") do sum = sum + tonumber(word) // 1 end
for i = 1, 20000 do sum = (sum * 31 + i) % 1000003 end
print(sum)
"""


def replay() -> None:
    """Print how fast a trace is recorded, replayed and compared."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, trace, _ = _lua(folder)
        image = read_image(program)
        recording, replaying, comparing = [], [], []
        for seed in range(PASSES):
            began = time.monotonic()
            record(image, [str(folder / "program.lua")], folder / "again.trace")
            recording.append(time.monotonic() - began)
            once, many = (_seconds(trace, "permuted", layouts, seed) for layouts in (1, 41))
            replaying.append((many - once) / 40)
            comparing.append(
                sum(_seconds(trace, "conflicts", COMPARISONS // PASSES, seed, history=a) for a in (0, 0.5))
            )
        answer = simulate(trace, "linked", Cache(), seed=0)
    print("\nlayouts of Lua, in millions of instructions a second")
    million = (answer.instructions + answer.outside) / 1e6
    figure("recorded (goal: at least 50)", [million / each for each in recording], "passes", 0)
    figure(
        "replayed, layouts drawn (goal: at least 500)",
        [answer.instructions / 1e6 / each for each in replaying],
        "passes",
        0,
    )
    figure(
        "minutes for 10,000 comparisons (goal: at most 20)",
        [each / (COMPARISONS // PASSES) * 10_000 / 60 for each in comparing],
        "passes", 1,
    )  # fmt: skip


def orders() -> None:
    """Print the misses of our best order beside lld's and BOLT's, for another input than theirs."""
    cache = Cache()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, trace, other = _lua(folder)
        recorded = Recorded.beside(program, folder)
        assert recorded is not None
        calls = simulate(trace, "linked", cache, seed=0, calls=1).details["calls"]
        theirs = {}
        for title, word in LLD_ORDERS.items():
            recorded.by_lld(word, calls, folder / "theirs")
            theirs[title] = _misses(other, folder / "theirs")
        bolted = _by_bolt(recorded, folder)
        if bolted is not None:
            theirs["BOLT"] = bolted
        ours = []
        for seed in range(PASSES):
            by = Search(program, trace, other, cache, LAYOUTS, 0.1, seed)
            best = int(np.argmin(by.drawn(OPTIMISER, LAYOUTS).misses[:, 0]))
            recorded.in_order(
                by.drawn(OPTIMISER, 1, first=best, addresses=1).details["addresses"], folder / "ours"
            )
            ours.append(_misses(other, folder / "ours"))
    print(f"\nmisses of Lua in {cache}, really linked, another input; ours is the best of {LAYOUTS}")
    for title, misses in theirs.items():
        figure(f"ours / {title}", [each / misses for each in ours], "seeds")
    least = min(misses for title, misses in theirs.items() if title != "BOLT")
    figure("ours / the better of lld's (goal: at most 0.95)", [each / least for each in ours], "seeds")


def _lua(folder: Path) -> tuple[Path, Path, Path]:
    """Return Lua, linked by a recorded link, and traces of two inputs."""
    program = lua_layouts.build(lua_layouts.source(folder))
    traces = []
    for name, text in (("program", lua_layouts.PROGRAM), ("other", OTHER_INPUT)):
        (folder / f"{name}.lua").write_text(text)
        traces.append(folder / f"{name}.trace")
        record(read_image(program), [str(folder / f"{name}.lua")], traces[-1])
    return program, traces[0], traces[1]


def _seconds(trace: Path, scheme: str, layouts: int, seed: int, **more: float) -> float:
    began = time.monotonic()
    simulate(trace, scheme, Cache(), seed=seed, layouts=layouts, **more)
    return time.monotonic() - began


def _misses(trace: Path, program: Path) -> float:
    """Return the misses of a trace where procedures are as in a program."""
    return float(simulate(trace, "placed", Cache(), seed=0, places=places_of(program)).misses[0, 0])


def _by_bolt(recorded: Recorded, folder: Path) -> float | None:
    """Return the misses of the program as BOLT orders its functions; None if it is not installed.

    It gets a profile of its own, by its instrumentation, and moves whole functions alone.
    """
    bolt = next(
        (
            path
            for version in range(30, 14, -1)
            if (path := shutil.which(f"/usr/lib/llvm-{version}/bin/llvm-bolt"))
        ),
        None,
    )
    if bolt is None:
        print("BOLT is not installed: apt-get install bolt-22")
        return None
    program, profiled, bolted = (folder / name for name in ("relocatable", "instrumented", "bolted"))
    recorded.with_relocations(program)
    profile = folder / "bolt.fdata"

    def run(*command: str | Path) -> None:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            sys.exit(f"error: {command[0]}: {done.stderr[-500:]}")

    run(bolt, program, "-instrument", f"--instrumentation-file={profile}", "-o", profiled)
    run(profiled, folder / "program.lua")
    run(bolt, program, f"-data={profile}", "-reorder-functions=cdsort", "-o", bolted)
    image = read_image(bolted)
    record(image, [str(folder / "other.lua")], folder / "bolted.trace")
    return float(simulate(folder / "bolted.trace", "linked", Cache(), seed=0).misses[0, 0])


def main() -> None:
    """Run the parts that the command line names, or all."""
    run_parts([replay, orders])


if __name__ == "__main__":
    main()
