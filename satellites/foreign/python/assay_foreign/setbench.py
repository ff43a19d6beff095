"""Setbench's text, of its microbenchmark: lines NAME=VALUE, and sentences between them.

A run begins with the name of its program and repeats its options, which tell benchmarks apart. Random numbers
are seeded by the time, which it does not print. A run whose validation fails ends without a throughput.
"""

from assay_foreign.harness import Harness, Run, one_process
from assay_foreign.types import Benchmark, Fact, MapRun

_OPTIONS = (
    ("threads", r"TOTAL_THREADS=(.*)"),
    ("key_range", r"MAXKEY=(.*)"),
)
_SHARES = (("insert", r"INS_FRAC=(.*)"), ("erase", r"DEL_FRAC=(.*)"), ("range", r"RQ=(.*)"))
_NAMES = (("reclaim", r"RECLAIM=(.*)"), ("alloc", r"ALLOC=(.*)"))
_OPTION = r"(?!\w*TIMESTAMP|REALTIME_)([A-Za-z]\S*?)=(.*)"
_RUNS = r"(?i:info: *)?(?i:prefilling)|pref_|prefill_|BEGIN RUNNING"
"""The first line that is not about what was requested."""
_KNOWN = ("DS_TYPENAME", "TOTAL_THREADS", "MAXKEY", "INS_FRAC", "DEL_FRAC", "RQ", "RECLAIM", "ALLOC")
_FAILED = r"((?:Structural v|V)alidation FAILURE.*)"


def _read(run: Run) -> Benchmark:
    failure = run.text(_FAILED)
    throughput = 0.0 if failure else run.rate(r"total_throughput=(.*)")
    texts = ((name, run.text(pattern)) for name, pattern in (*_SHARES, *_NAMES))
    parameters: dict[str, Fact] = {
        **run.facts(_OPTIONS),
        **{name: text for name, text in texts if text not in {"", "0"}},
    }
    threads = run.whole(r"PREFILL_THREADS=(.*)")
    kind = run.text(r"PREFILL_TYPE=(.*)") or ("none" if threads == 0 else "")
    skipped = run.find(r"\*+ WARNING: VALIDATION WAS ACTUALLY _SKIPPED_") is not None
    map_run = MapRun(
        size_before=run.whole(r"pref_size=(.*)"),
        size_after=run.whole(r"final_size=(\d+)"),
        inserts=run.whole(r"total_inserts=(.*)"),
        erases=run.whole(r"total_deletes=(.*)"),
        validated=run.find(r"validate_result=success") is not None and not skipped,
        prefill=f"{kind}, {threads} threads" if threads else kind,
        prefill_inserts="insert" in kind.lower() if kind else None,
        pinned=run.find(r"ACTUAL_THREAD_BINDINGS=\d") is not None,
    )
    name = run.text(r"DS_TYPENAME=(.*)") or run.text(r"binary=(?:.*/)?(.*)")
    return one_process(name, parameters, throughput, map_run, failure)


def _requested(run: Run) -> dict[str, Fact]:
    return run.options(_OPTION, _RUNS, _KNOWN)


SETBENCH = Harness("Setbench", r"binary=", _read, _requested)
