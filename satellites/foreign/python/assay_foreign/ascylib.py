"""ASCYLIB's text, of its programs `test_simple`.

It names neither the structure nor the share of updates: the file's name stands for the former, and the shares
are those that were performed. All threads insert until the structure has its initial size. Initial size and
key range are made powers of two. Seeds come from the time stamp counter, and are not printed; threads are
pinned as the program was built, which is not printed either.
"""

from pathlib import PurePath

from assay.words import storable
from assay_foreign.harness import Harness, Run, one_process
from assay_foreign.types import Benchmark, Fact, MapRun

_SHARES = (("insert_percent", "insr"), ("erase_percent", "rems"))


def _read(run: Run) -> Benchmark:
    wrong = run.text(r"(// WRONG size.*)").removeprefix("// ")
    throughput = 0.0 if wrong else run.rate(r"#Mops +(.*)") * 1e6
    counts = {row: _counts(run, row) for row in ("srch", "insr", "rems")}
    tried = sum(count for count, _ in counts.values() if count)
    inserts, erases = counts["insr"], counts["rems"]
    updates = round(100 * ((inserts[0] or 0) + (erases[0] or 0)) / tried) if tried else 0
    rounded = run.whole(r"\*\* rounding up range .* new: (\d+)")
    parameters: dict[str, Fact] = {
        **run.facts((("threads", r"#txs (\d+)"), ("initial", r"## Initial: (\d+)"))),
        "key_range": rounded or run.whole(r"## Initial: \d+ / Range: (\d+)") or 0,
        "updates": updates,
    }
    after = run.whole(r"#AFTER +size is: (.*)")
    map_run = MapRun(
        size_before=run.whole(r"#BEFORE size is: (.*)"),
        size_after=after,
        inserts=inserts[0],
        inserted=inserts[1],
        erases=erases[0],
        erased=erases[1],
        validated=after is not None,
        prefill="all threads insert",
        prefill_inserts=True,
        rounded=rounded is not None,
    )
    return one_process(
        storable(PurePath(run.source.removesuffix(".gz")).stem), parameters, throughput, map_run, wrong
    )


def _requested(run: Run) -> dict[str, Fact]:
    """Return what the text says of a run's options, and the shares of its updates to a tenth of a percent."""
    shares = {name: run.text(rf"{row}: \d+ +\| \d+ +\| +[\d.]+% \| +([\d.]+)%") for name, row in _SHARES}
    others = run.text(r"## Initial: \d+ / Range: \d+ /(.*)")
    return {name: value for name, value in {**shares, "options": others}.items() if value}


def _counts(run: Run, row: str) -> tuple[int | None, int | None]:
    """Return how many operations of a kind were tried, and how many succeeded."""
    return run.whole(rf"{row}: (\d+)"), run.whole(rf"{row}: \d+ +\| (\d+)")


ASCYLIB = Harness("ASCYLIB", r"## Initial: \d+ / Range: \d+", _read, _requested)
