"""Tries verdicts in real trials whose truth is known: identical code, 3% more work, twice the work.

Each experiment runs by the command that a user would type, in a store of its own. What comes out depends on
this machine and this hour, unlike the simulations: the table says which.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "statistics.md"
BEGIN, END = "<!-- real trials: begin -->\n", "<!-- real trials: end -->\n"
HEAD = (
    "| experiment | compared, in N conditions | said | ratios | in a mode of the host | promise |\n"
    "|---|---|---|---|---|---|\n"
)


def main() -> None:
    """Print a row for each experiment; with --write also put the table into docs/statistics.md."""
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for row, kept in _rows(Path(folder) / "assay.sqlite"):
            rows.append((row, kept))
            print(row, flush=True)
    table = HEAD + "".join(f"{row}\n" for row, _ in rows)
    processors = len(os.sched_getaffinity(0))
    when = f"{datetime.now(UTC):%Y-%m-%d}, on {processors} processors, Linux {platform.release()}:\n\n{table}"
    if "--write" in sys.argv:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n" + when + "\n" + END + rest.split(END)[1])
    if not all(kept for _, kept in rows):
        sys.exit("error: not every verdict is what was planted")


def _rows(store: Path) -> Iterator[tuple[str, bool]]:
    """Yield a table row for each experiment, and whether its promise was kept."""
    said = _assay("aa", "experiments/aa.toml", store)
    alarms = said["false_alarms"]
    low, high = (alarms["interval"][end] for end in ("low", "high"))
    yield (
        _row(
            "aa",
            f"identical code, {alarms['comparisons']}",
            f"different: {alarms['uncorrected']} before correction, {alarms['verdicts']} verdicts",
            f"rate of false alarms before correction: {low:.1%} to {high:.1%}",
            "",
            "kept" if alarms["compatible"] else "BROKEN",
        ),
        alarms["compatible"],
    )
    for name, what in (("planted-3-percent", "3% more work"), ("planted-twice", "the same work twice")):
        analysis = _assay("run", f"experiments/{name}.toml", store)["analysis"]
        comparisons = analysis["comparisons"]
        slower = sum(each["verdict"] == "slower" for each in comparisons)
        modes = [each for one in comparisons for each in one["modes"].values()]
        # Few pairs in a mode leave it undecided; what may not be is a mode that says anything else.
        contrary = [each for each in modes if each["verdict"] not in {"slower", "undecided"}]
        kept = slower == len(comparisons) and not contrary
        yield (
            _row(
                name,
                f"{what}, {len(comparisons)}",
                f"slower: {slower}",
                f"{min(map(_ratio, comparisons)):.3f} to {max(map(_ratio, comparisons)):.3f}",
                f"slower: {sum(each['verdict'] == 'slower' for each in modes)} of {len(modes)}, "
                f"contrary: {len(contrary)}",
                "kept" if kept else "BROKEN",
            ),
            kept,
        )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _ratio(comparison: Mapping[str, Any]) -> float:
    ratio = comparison["ratio"]
    assert isinstance(ratio, float)
    return ratio


def _assay(command: str, experiment: str, store: Path) -> dict[str, Any]:
    """Run a command of assay and return what it prints as JSON, whatever its exit code."""
    words = [sys.executable, "-m", "assay", command, experiment, "--store", str(store), "--json"]
    ended = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=False)  # noqa: S603
    try:
        said: dict[str, Any] = json.loads(ended.stdout)
    except ValueError:
        sys.exit(f"error: assay {command} {experiment} ended with {ended.returncode} and no result")
    return said


if __name__ == "__main__":
    main()
