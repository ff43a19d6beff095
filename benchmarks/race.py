"""`assay race` beside hyperfine: how far each is off in the same time, and what its intervals are worth.

Both compare a command with itself, so that the ratio is 1. hyperfine runs as it does by default, and the
race for as long as that took. Errors and widths shrink with the square root of time, so that the time to an
equal interval follows from both widths, and the time to an equal error from both errors. hyperfine gives no
interval of a ratio: it is made from its runs, as if they were independent. They are not, because all runs of
a command follow each other: how often either interval holds the truth says whether their widths may be
compared. Errors always may: an interval of either that holds the truth as often as it says is as wide as
they are large.
"""

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, variance
from typing import NamedTuple

from harness import figure

ROUNDS = 6
COMMANDS = {"1 ms": "seq 1000", "10 ms": "seq 1500000", "1 s": "seq 200000000"}
_Z = 1.96  # of a normal interval of 95%


class Raced(NamedTuple):
    """What one comparison took, and the interval of the logarithm of its ratio."""

    took_s: float
    low: float
    high: float

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
    times = [(race.width / other.width) ** 2 * race.took_s / other.took_s for race, other in rounds]
    figure("whatever the intervals hold", times, "races", digits=2)
    race, other = (
        fmean(one.error_percent**2 * one.took_s for one in tool) for tool in zip(*rounds, strict=True)
    )
    print(f"  {'to an equal error, so with intervals that hold it equally often':<58}{race / other:>8.2f}")


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
    half = _Z * math.sqrt(sum(variance(times) / len(times) / fmean(times) ** 2 for times in sides))
    return Raced(took_s, center - half, center + half)


def _race(command: str, folder: Path, within_s: float) -> Raced:
    # A difference so small is never decided, so that the race takes all of its time.
    options = ("--smallest-effect", "0.01", "--within", f"{within_s:.1f}s", "--quiet", "--json")
    words = [sys.executable, "-m", "assay", "race", command, command, *options]
    began = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603
    took_s = time.monotonic() - began
    too_short = "give it more time" in done.stderr  # on a busy host
    if done.returncode and not too_short:
        sys.exit(done.stderr)
    interval = None if too_short else json.loads(done.stdout)["analysis"]["comparisons"][0]["interval"]
    if interval is None:
        return _race(command, folder, 2 * within_s)
    return Raced(took_s, math.log(interval["low"]), math.log(interval["high"]))


if __name__ == "__main__":
    main()
