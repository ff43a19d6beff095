"""Synchrobench's text, of its C and C++ programs.

A run begins with the type of its set and repeats its options. Threads' own counts are there in most programs.
What the loop does with the options follows from its sources: one thread inserts until the set has its initial
size; where `Effective` is 1 an update that changed nothing counts as a search, and the next operation is an
update as long as too few have changed something; an erase is tried only after an insert has succeeded, and
the reverse. Some versions write `Efffective`.
"""

from assay_foreign.harness import Harness, Run, one_process
from assay_foreign.types import Benchmark, Fact, MapRun

_OPTIONS = (
    ("threads", r"Nb (?:threads|cores) *: (.*)"),
    ("key_range", r"Value range *: (.*)"),
    ("initial", r"Initial size *: (.*)"),
    ("updates", r"Update rate *: (.*)"),
)
_OPTION = r"([A-Za-z][^:]*?) *: *(.*)"
_RUNS = r"Adding \d+ entries|Set size|Creating thread|STARTING"
"""The first line that is not about what was requested."""
_KNOWN = (
    *("Set type", "Bench type", "Nb threads", "Nb cores", "Value range", "Initial size", "Update rate"),
    *("Alternate", "Effective", "Efffective", "Seed"),
)
_EFFECTIVE = r"Eff+ective *: (.*)"
_ALTERNATE = r"Alternate *: (.*)"


def _read(run: Run) -> Benchmark:
    throughput = run.rate(r"#txs *: \d+ \(([^ ]*) / s\)")
    if run.find(r"#update txs *: \d+ \(") is None:
        run.broken_off()
    alternate, effective = run.whole(_ALTERNATE) or 0, run.whole(_EFFECTIVE) or 0
    parameters = run.facts(_OPTIONS) | {
        name: value for name, value in (("alternate", alternate), ("effective", effective)) if value
    }
    after = run.whole(r"Set size *: (\d+) \(expected")
    expected = run.whole(r"Set size *: \d+ \(expected: (\d+)\)")
    failure = (
        f"it counted {after} elements at the end, and {expected} were expected" if after != expected else ""
    )
    ways = [
        *(["an insert that succeeded is followed by an erase of its key"] if alternate else []),
        *(["updates that change nothing count as searches"] if effective else []),
        "an erase is tried only after an insert has succeeded, and the reverse",
    ]
    seed = run.whole(r"Seed *: (.*)")
    map_run = MapRun(
        size_before=run.whole(r"Set size *(?:\(TENTATIVE\))? *: (\d+)$"),
        size_after=after,
        size_expected=expected,
        inserts=run.total(r" +#add +: (\d+)"),
        inserted=run.total(r" +#added +: (\d+)"),
        erases=run.total(r" +#remove +: (\d+)"),
        erased=run.total(r" +#removed +: (\d+)"),
        validated=expected is not None,
        dependent="; ".join(ways),
        prefill="one thread inserts",
        prefill_inserts=True,
        seed=seed or None,
    )
    return one_process(run.text(r"(?:Set|Bench) type *: (.*)"), parameters, throughput, map_run, failure)


def _requested(run: Run) -> dict[str, Fact]:
    return run.options(_OPTION, _RUNS, _KNOWN)


SYNCHROBENCH = Harness("Synchrobench", r"(?:Set|Bench) type +: ", _read, _requested)
