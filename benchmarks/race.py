"""`assay race` beside hyperfine: how far each is off in the same time, and what its intervals are worth.

Both compare a command with itself, so that the ratio is 1. hyperfine runs as it does by default, and the
race for as long as that took. hyperfine gives no interval of a ratio: it is made from its runs, as if they
were independent (Welch 1947). They are not, because all runs of a command follow each other: how often
either interval holds the truth says whether their widths may be compared. Errors always may: an interval of
either that holds the truth as often as it says is as wide as they are large. They shrink with the square
root of time; an interval of few blocks shrinks faster, as the quantile of Student's t that belongs to them
falls, too.

What a race of long commands pays, where nothing disturbs the host: hyperfine's 10 runs of each of two
commands have 18 degrees of freedom, 10 pairs have 9, so that an interval as narrow takes 11 to 12 pairs. The
rehearsal, of which nothing is recorded, is another one. So it takes 1.2 to 1.3 times as long; 1.1 times where
either runs 30 times.
"""

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from statistics import fmean, variance
from typing import NamedTuple

from scipy.stats import t  # type: ignore[import-untyped]

from assay.campaign.time_budget import FEWEST_BLOCKS
from harness import figure

ROUNDS = 6
COMMANDS = {"1 ms": "seq 1000", "10 ms": "seq 1500000", "1 s": "seq 200000000"}


class Raced(NamedTuple):
    """What one comparison took, and the interval of the logarithm of its ratio.

    Attributes:
        took_s: from the start of its process to its end.
        low, high: the ends of the interval.
        blocks, level: of a race: the blocks that the interval rests on, and how often it may be wrong.
    """

    took_s: float
    low: float
    high: float
    blocks: int = 0
    level: float = 0.05

    @property
    def width(self) -> float:
        """How wide the interval is."""
        return self.high - self.low

    @property
    def error_percent(self) -> float:
        """How far its middle is from the truth."""
        return 50 * abs(self.high + self.low)

    @property
    def holds_1(self) -> bool:
        """Whether it holds the truth."""
        return self.low <= 0 <= self.high


def main() -> None:
    """Race commands of three lengths, by turns with hyperfine."""
    if shutil.which("hyperfine") is None:
        print("\nrace: left out, as hyperfine is not installed: apt-get install hyperfine")
        return
    with tempfile.TemporaryDirectory() as name:
        for length, command in COMMANDS.items():
            _beside(length, [_both(command, Path(name)) for _ in range(ROUNDS)])


def _beside(length: str, rounds: Sequence[tuple[Raced, Raced]]) -> None:
    """Print what both say of a command of this length."""
    print(f"\na command of {length} beside itself, in the time that hyperfine takes: error of the ratio, %")
    for tool, raced in zip(("assay race", "hyperfine"), zip(*rounds, strict=True), strict=True):
        held = sum(one.holds_1 for one in raced)
        took_s = fmean(one.took_s for one in raced)
        name = f"{tool}, {took_s:.1f} s; its interval holds 1 in {held} of {len(raced)}"
        figure(name, [one.error_percent for one in raced], "races", digits=2)
    print(f"time to an equally narrow interval, assay race / hyperfine, {length} (goal: at most 1)")
    times = [_time_to(other.width, race) / other.took_s for race, other in rounds]
    figure("whatever the intervals hold", times, "races", digits=2)
    race, other = (
        fmean(one.error_percent**2 * one.took_s for one in tool) for tool in zip(*rounds, strict=True)
    )
    print(f"  {'to an equal error, so with intervals that hold it equally often':<58}{race / other:>8.2f}")


def _time_to(width: float, race: Raced) -> float:
    """Return how many seconds the race takes until its interval is so narrow, the rehearsal among them."""

    def narrow(blocks: int) -> float:
        return float(t.ppf(1 - race.level / 2, blocks - 1)) / math.sqrt(blocks)

    wanted = narrow(race.blocks) * width / race.width
    blocks = next(blocks for blocks in count(FEWEST_BLOCKS) if narrow(blocks) <= wanted)
    return (blocks + 1) / (race.blocks + 1) * race.took_s


def _both(command: str, folder: Path) -> tuple[Raced, Raced]:
    """Return what the race and hyperfine say of a command beside itself."""
    other = _hyperfine(command, folder)
    return _race(command, folder, other.took_s), other


def _hyperfine(command: str, folder: Path) -> Raced:
    result = folder / "hyperfine.json"
    words = ["hyperfine", "-N", "--style=none", "--export-json", str(result), command, command]
    began = time.monotonic()
    subprocess.run(words, check=True, capture_output=True, cwd=folder)  # noqa: S603
    took_s = time.monotonic() - began
    sides = [side["times"] for side in json.loads(result.read_text())["results"]]
    center = math.log(fmean(sides[1]) / fmean(sides[0]))
    parts = [variance(times) / len(times) / fmean(times) ** 2 for times in sides]
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(times) - 1) for part, times in zip(parts, sides, strict=True)
    )
    half = float(t.ppf(0.975, freedom)) * math.sqrt(sum(parts))
    return Raced(took_s, center - half, center + half)


def _race(command: str, folder: Path, within_s: float) -> Raced:
    # A difference so small is never decided, so that the race takes all of its time.
    options = ("--smallest-effect", "0.01", "--within", f"{within_s:.1f}s", "--quiet", "--json")
    words = [sys.executable, "-m", "assay", "race", command, command, *options]
    began = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603
    took_s = time.monotonic() - began
    if "give it more time" in done.stderr:  # on a busy host
        return _race(command, folder, 2 * within_s)
    if done.returncode:
        sys.exit(done.stderr)
    analysis = json.loads(done.stdout)["analysis"]
    interval = analysis["comparisons"][0]["interval"]
    if interval is None:
        return _race(command, folder, 2 * within_s)
    look = analysis["look"]
    ends = math.log(interval["low"]), math.log(interval["high"])
    return Raced(took_s, *ends, look["blocks"], 1 - look["confidence"])


if __name__ == "__main__":
    main()
