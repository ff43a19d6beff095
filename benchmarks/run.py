"""Measures Assay itself: `make bench`.

Every figure has an interval of 95% and, where there is one, the goal that it is held against. Ratios
come from campaigns of Assay's own, in which the two sides run in alternation.
"""

import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median

import store
from assay.analysis import Analysis, median_interval
from assay.report.gather import gather
from assay.store import Store

HERE = Path(__file__).parent


def main() -> None:
    """Run every benchmark and print its figures."""
    with tempfile.TemporaryDirectory() as folder:
        with measured("trial_loop.toml", folder) as opened:
            trial_loop(gather(opened, 1).analysis)
        with measured("trial_overhead.toml", folder) as opened:
            trial_overhead(opened)
    store.main()


def measured(experiment: str, folder: str) -> Store:
    """Run one of the experiments beside this file; return a store that holds its campaign alone."""
    path = Path(folder) / f"{experiment}.sqlite"
    subprocess.run(  # noqa: S603
        [sys.executable, "-m", "assay", "run", HERE / experiment, "--store", path, "--json"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return Store.open(path, create=False)


def trial_loop(analysis: Analysis) -> None:
    """Print the time of an operation in the trial loop over that in a hand-inlined loop."""
    print("\ntime per operation over a no-op map, trial loop / hand-inlined loop (goal: at most 2.0)")
    for each in analysis.comparisons:
        if each.ratio is None or each.interval is None:
            sys.exit(f"error: no interval for {dict(each.context)}: too few valid trials")
        low, high = 1 / each.interval.high, 1 / each.interval.low
        print(
            f"  {each.context['mix']:40} {1 / each.ratio:6.3f}   [{low:.3f}, {high:.3f}]   {each.pairs} pairs"
        )


def trial_overhead(opened: Store) -> None:
    """Print what a trial takes beside its prefill, its calibrations and its measured interval.

    That is the time from its start to the next one's, less what is excepted. Between the two lie one
    calibration after the first and one before the second; each says how long it took.
    """
    print("\ntime of a trial beside prefill, calibration and measured interval, ms (goal: at most 150)")
    overheads: dict[str, list[float]] = {}
    for one, following in pairwise(opened.trials(1)):
        record, next_record = opened.record_of(one.id), opened.record_of(following.id)
        excepted = (
            record["request"]["duration_ms"]
            + one.metrics["prefill_ms"]
            + record["calibration_after"]["elapsed_ms"]
            + next_record["calibration_before"]["elapsed_ms"]
        )
        between = (following.started_at - one.started_at).total_seconds() * 1e3
        name = ", ".join(f"{factor} {level}" for factor, level in one.levels.items())
        overheads.setdefault(name, []).append(between - excepted)
    for name, values in sorted(overheads.items()):
        interval = median_interval(values)
        assert interval is not None
        middle = f"{median(values):6.1f}   [{interval.low:.1f}, {interval.high:.1f}]"
        print(f"  {name:40} {middle}   {len(values)} trials")


if __name__ == "__main__":
    main()
