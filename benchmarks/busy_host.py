"""Measures from which load on verdicts turn: one experiment on the quiet host, then beside busy processes.

`benchmarks/busy_host.py FOLDER [--blocks N] [--load LOAD...]` prints a row for each load, in the form of
`docs/statistics.md`. A load is a number of busy processes; 0.5 is one that is busy half of the time.
The folder gets a store for each, and one that is there already is not measured again.
"""

import argparse
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.analysis import Analysis
from assay.analysis.busy import lost
from assay.report.gather import gather
from assay.store import Store

EXPERIMENT = """
name = "busy-host"
question = "Which verdicts turn beside busy processes?"
[factors]
subject = ["std_map_shared_mutex", "std_map_mutex", "tbb_hash_map", "bt_map"]
[factors.mix]
searches = { insert = 5, erase = 5, find = 90 }
updates = { insert = 50, erase = 50 }
[trial]
threads = 2
key_range = 20_000
duration_ms = 100
[design]
busy = "count"
repeat = 0
[comparison]
factor = "subject"
"""
LOADS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SPIN = """
import sys, time
share = float(sys.argv[1])
while True:
    end = time.monotonic() + 0.05 * share
    while time.monotonic() < end:
        pass
    time.sleep(0.05 * (1 - share))
"""
OPPOSITE = {"faster": "slower", "slower": "faster"}


def main() -> None:
    """Run the campaigns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--load", type=float, nargs="*", default=LOADS)
    options = parser.parse_args()
    print(
        "| busy processes | lost, in the mean | in the worst condition | comparisons | decided"
        " | another verdict | the opposite | ratio changed at most |\n|---|---|---|---|---|---|---|---|"
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    quiet, share, worst = measured(0, options.blocks, options.folder)
    print(row("none", quiet, quiet, share, worst), flush=True)
    for load in options.load:
        seen, share, worst = measured(load, options.blocks, options.folder)
        print(row(f"{load:g}", quiet, seen, share, worst), flush=True)


def measured(load: float, blocks: int, folder: Path) -> tuple[Analysis, float, float]:
    """Run the experiment beside a load; return its analysis, and what its trials lost: mean and worst."""
    file, path = folder / "busy.toml", folder / f"load-{load:g}.sqlite"
    file.write_text(EXPERIMENT, encoding="utf-8")
    command = [sys.executable, "-m", "assay", "run", str(file), "--blocks", str(blocks)]
    if not path.exists():
        command += ["--no-page", "--quiet", "--store", str(path)]
        with busy(load):
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: S603
    with Store.open(path, create=False) as store:
        report = gather(store, 1)
    shares = [condition.lost or 0 for condition in report.analysis.conditions]
    return report.analysis, lost(report.trials) or 0, max(shares)


@contextmanager
def busy(load: float) -> Iterator[None]:
    """Have processes busy meanwhile: whole ones, or one for a share of the time."""
    shares: Sequence[float] = [1.0] * int(load) if load >= 1 else [load] * (load > 0)
    command = [sys.executable, "-IS", "-c", SPIN]
    processes = [subprocess.Popen([*command, str(share)]) for share in shares]  # noqa: S603
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def row(name: str, quiet: Analysis, loaded: Analysis, share: float, worst: float) -> str:
    """Return a row of the table: how the verdicts of a campaign differ from those of the quiet host."""
    decided = another = opposite = 0
    change = 1.0
    for before, now in zip(quiet.comparisons, loaded.comparisons, strict=True):
        decided += now.verdict != "undecided"
        if "undecided" not in (before.verdict, now.verdict):
            another += before.verdict != now.verdict
            opposite += OPPOSITE.get(before.verdict) == now.verdict
        if before.ratio is not None and now.ratio is not None:
            change = max(change, math.exp(abs(math.log(now.ratio / before.ratio))))
    cells = (len(loaded.comparisons), decided, another, opposite)
    return f"| {name} | {share:.1%} | {worst:.1%} | {' | '.join(map(str, cells))} | {change:.2f} times |"


if __name__ == "__main__":
    main()
