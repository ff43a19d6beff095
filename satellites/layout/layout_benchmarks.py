"""Measures the simulator and the optimisers of layouts; a part of `make bench`.

PYTHONPATH=benchmarks .venv/bin/python satellites/layout/layout_benchmarks.py PART...

Both need what satellites/layout/tools/programs needs, and `orders` llvm-bolt if it is to be compared.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import eight_programs
import numpy as np
from ordered import NOISE, by_bolt

from assay_layout.linking import LLD_ORDERS, Recorded
from assay_layout.optimising import Search, places_of
from assay_layout.program import read_image
from assay_layout.recording import record
from assay_layout.simulator import Cache, simulate
from harness import figure, run_parts

PASSES = 9
LAYOUTS = 20
OPTIMISER = "lines"
COMPARISONS = 500


def replay() -> None:
    """Print how fast a trace is recorded, replayed and compared."""
    eight_programs.make()
    image, trace = read_image(eight_programs.FOLDER / "lua"), eight_programs.FOLDER / "lua.trace"
    with tempfile.TemporaryDirectory() as folder:
        recording, replaying, comparing = [], [], []
        for seed in range(PASSES):
            began = time.monotonic()
            record(image, [], Path(folder) / "again.trace")
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
    """Print the misses of our best layout beside lld's and BOLT's orders, for another input than theirs."""
    eight_programs.make()
    cache = Cache()
    print(
        f"\nmisses in {cache}, really linked, another input. Ours is the best of {LAYOUTS} for the"
        " input of the profile; lld's orders also use noisy weights."
    )
    ratios: dict[str, list[float]] = {}
    for name in eight_programs.NAMES:
        program = eight_programs.FOLDER / name
        judged_by = eight_programs.FOLDER / f"{name}.other.trace"
        by = Search(program, program.with_suffix(".trace"), judged_by, cache, LAYOUTS, NOISE, 0)
        ours, theirs = [], {}
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            recorded = Recorded.beside(program, folder)
            assert recorded is not None
            for title, word in LLD_ORDERS.items():
                linked = by.by_lld(recorded, word, PASSES, folder / "theirs")
                theirs[title] = float(np.median(by.judged("placed", places=linked).misses[:, 0]))
            why = by_bolt(by, recorded, "BOLT", folder, folder / "bolted")
            if why:
                print(why)
            else:
                record(read_image(folder / "bolted"), ["other"], folder / "bolted.trace")
                theirs["BOLT"] = float(
                    simulate(folder / "bolted.trace", "linked", cache, seed=0).misses[0, 0]
                )
            for seed in range(PASSES):
                by = replace(by, seed=seed)
                best = int(np.argmin(by.drawn(OPTIMISER, LAYOUTS).made_for.cycles))
                linked_as = folder / "ours"
                recorded.at_places(by.places(OPTIMISER, best), read_image(program), linked_as, gaps=True)
                ours.append(float(by.judged("placed", places=[places_of(linked_as)]).misses[0, 0]))
        random = float(np.median(by.judged("random", LAYOUTS).misses[:, 0]))
        theirs["random"] = random
        theirs["the better of lld's"] = min(theirs[title] for title in LLD_ORDERS)
        for title, misses in theirs.items():
            figure(f"{name}: ours / {title}", [each / misses for each in ours], "seeds")
            ratios.setdefault(title, []).append(float(np.median(ours)) / misses)
    for title, goal in (("the better of lld's", 0.95), ("BOLT", 1)):
        figure(f"ours / {title} (goal: at most {goal} in the median)", ratios.get(title, []), "programs")


def _seconds(trace: Path, scheme: str, layouts: int, seed: int, **more: float) -> float:
    began = time.monotonic()
    simulate(trace, scheme, Cache(), seed=seed, layouts=layouts, **more)
    return time.monotonic() - began


def main() -> None:
    """Run the parts that the command line names, or all."""
    run_parts([replay, orders])


if __name__ == "__main__":
    main()
