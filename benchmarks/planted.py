"""Tries verdicts in real trials whose truth is known: identical code, 3% more work, twice the work.

Each experiment runs by the command that a user would type, in a store of its own. What comes out depends on
this machine and this hour, unlike the simulations.

What is planted has to be found: undecided is as wrong as equivalent. The chance to find it with all blocks of
an experiment is above 99%, where a trial's noise is 2%. From the groups of one mode of the host, a verdict is
expected where there are pairs enough (`Planted.pairs`); with fewer, only a wrong one breaks the promise.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HEAD = (
    "| experiment | compared, in N conditions | said | ratios | in a mode of the host | promise |\n"
    "|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Planted:
    """An experiment whose right verdict is slower in every comparison.

    Attributes:
        name: of its file.
        what: is planted.
        pairs: from which on one mode of the host is expected to give the right verdict.
    """

    name: str
    what: str
    pairs: int


PLANTED = (
    # Where a trial's noise is 2%, 16 pairs give both verdicts in 95% of campaigns, and 24 in 99%.
    Planted("planted-3-percent", "3% more work", 16),
    # No noise turns a pair round, and then the smallest p-value, 2 / 2**8, is enough among six comparisons.
    Planted("planted-twice", "the same work twice", 8),
)


def all_slower(comparisons: Sequence[Mapping[str, Any]], pairs: int) -> bool:
    """Tell whether every verdict is slower, from all groups and from those of each mode with enough pairs."""
    modes = [estimate for comparison in comparisons for estimate in comparison["modes"].values()]
    return (
        len(comparisons) > 0
        and all(comparison["verdict"] == "slower" for comparison in comparisons)
        and all(
            estimate["verdict"] == "slower"
            or (estimate["verdict"] == "undecided" and estimate["pairs"] < pairs)
            for estimate in modes
        )
    )


def main() -> None:
    """Print a table with a row for each experiment; end with an error where a promise is broken."""
    print(HEAD)
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        for row, holds in _rows(Path(folder) / "assay.sqlite"):
            print(row, flush=True)
            kept.append(holds)
    if not all(kept):
        sys.exit("error: not every verdict is what was planted")


def _rows(store: Path) -> Iterator[tuple[str, bool]]:
    """Yield a table row for each experiment, and whether its promise was kept."""
    yield identical(_run("experiments/aa.toml", store, "--identical"))
    for planted in PLANTED:
        report = _run(f"experiments/{planted.name}.toml", store)
        yield different(planted, report["analysis"]["comparisons"])


def identical(report: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the row of identical code, from what is printed, and whether its promise was kept."""
    alarms, kept = report["false_alarms"], bool(report["compatible"])
    rate = "no comparison has enough pairs"
    if alarms["interval"] is not None:
        low, high = (alarms["interval"][end] for end in ("low", "high"))
        rate = f"rate of false alarms before correction: {low:.1%} to {high:.1%}"
    row = _row(
        "aa",
        f"identical code, {alarms['comparisons']}",
        f"different: {alarms['uncorrected']} before correction, {alarms['verdicts']} verdicts",
        rate,
        "",
        "kept" if kept else "BROKEN",
    )
    return row, kept


def different(planted: Planted, comparisons: Sequence[Mapping[str, Any]]) -> tuple[str, bool]:
    """Return the row of code that differs, from its comparisons, and whether its promise was kept."""
    ratios = [comparison["ratio"] for comparison in comparisons if comparison["ratio"] is not None]
    modes = [estimate for comparison in comparisons for estimate in comparison["modes"].values()]
    enough = [estimate for estimate in modes if estimate["pairs"] >= planted.pairs]
    kept = all_slower(comparisons, planted.pairs)
    row = _row(
        planted.name,
        f"{planted.what}, {len(comparisons)}",
        f"slower: {_slower(comparisons)}",
        f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "none",
        f"slower: {_slower(enough)} of {len(enough)} with {planted.pairs} pairs or more",
        "kept" if kept else "BROKEN",
    )
    return row, kept


def _slower(estimates: Sequence[Mapping[str, Any]]) -> int:
    return sum(estimate["verdict"] == "slower" for estimate in estimates)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _run(experiment: str, store: Path, *options: str) -> dict[str, Any]:
    """Run an experiment and return what it prints as JSON, whatever its exit code."""
    words = [sys.executable, "-m", "assay", "run", experiment, *options, "--store", str(store), "--json"]
    completed = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=False)  # noqa: S603
    try:
        printed: dict[str, Any] = json.loads(completed.stdout)
    except ValueError:
        sys.exit(f"error: assay run {experiment} ended with {completed.returncode} and no result")
    return printed


if __name__ == "__main__":
    main()
