"""Rules about what another tool measured: what its file lacks to rest a conclusion on."""

from collections.abc import Callable, Iterable, Iterator
from math import inf

from assay.analysis import median
from assay.audit.limits import (
    LEFT_OUT,
    LEFT_OUT_REMEDY,
    LEFT_OUT_SAYS,
    SHORTEST_CYCLE_NS,
    TIMES_OF_CALLS,
)
from assay.audit.sources import ANOMALIES, REASONABLE_TIME, WRONG_DATA
from assay.audit.types import rule
from assay.findings import Finding, Severity
from assay.foreign import Benchmark, ForeignRun, MapRun, Measure
from assay.words import agreed, counted

_OURS = "measure it with Assay (`assay race`, or a command in an experiment)"


@rule("failed-benchmarks", "Benchmarks failed", "docs/guide/foreign.md")
def failed_benchmarks(run: ForeignRun) -> Iterator[Finding]:
    """Find benchmarks that reported an error."""
    failed = [benchmark for benchmark in run.benchmarks if benchmark.failure]
    yield from _of(
        failed,
        run,
        "failed: their numbers are left out.",
        "Look at the reason, and run them again.",
        severity="error",
        where=[f"{benchmark.title}: {benchmark.failure}" for benchmark in failed],
    )


@rule("results-left-out", "Results could not be read", "docs/guide/foreign.md")
def results_left_out(run: ForeignRun) -> Iterator[Finding]:
    """Find results in a folder that could not be read, while others could."""
    if run.left_out:
        yield Finding(
            f"{counted(run.left_out, 'result')} in the folder could not be read and"
            f" {agreed(run.left_out, 'was', 'were')} left out.",
            run.left_out,
            {"results": len(run.left_out)},
            "Look at the reason: what an older version wrote stays in the folder until it is deleted.",
        )


@rule("unit-not-recorded", "The unit is not in the files", "docs/guide/foreign.md")
def unit_not_recorded(run: ForeignRun) -> Iterator[Finding]:
    """Find benchmarks whose files do not say in which unit they are."""
    yield from _of(
        [benchmark for benchmark in run.benchmarks if not benchmark.unit_recorded],
        run,
        f"{{have}} no unit in the files: the values are taken as nanoseconds, which {run.tool} measures"
        " unless a program has a measurement of its own.",
        "Turn on Criterion's feature csv_output, so that raw.csv has the unit; or check that the program"
        " calls no with_measurement.",
        severity="note",
    )


@rule("less-than-a-cycle", LEFT_OUT, "docs/guide/fixtures.md")
def less_than_a_cycle(run: ForeignRun) -> Iterator[Finding]:
    """Find benchmarks of which a call takes less than a cycle of any processor."""
    impossible = [
        benchmark
        for benchmark in run.benchmarks
        if any(
            _typical(measure) < SHORTEST_CYCLE_NS
            for measure in benchmark.measures
            if measure.metric in TIMES_OF_CALLS
        )
    ]
    yield from _of(impossible, run, f"report {LEFT_OUT_SAYS}", LEFT_OUT_REMEDY, severity="error")


def _typical(measure: Measure) -> float:
    """Return the median of the samples, or what the tool sums them up to."""
    samples = [sample for process in measure.samples for sample in process]
    if samples:
        return median(samples)
    return measure.summary.value if measure.summary else inf


@rule("one-process", "All samples come from one process", f"{WRONG_DATA}; {REASONABLE_TIME}")
def one_process(run: ForeignRun) -> Iterator[Finding]:
    """Find benchmarks that a single process measured."""
    yield from _of(
        [benchmark for benchmark in run.benchmarks if benchmark.processes == 1],
        run,
        "{have} all samples from one process: what differs from process to process, as addresses do, is not"
        " in their spread.",
        f"Run the tool in 10 processes or more and import each file, or {_OURS}.",
    )


@rule("fixed-order", "Benchmarks ran in a fixed order", REASONABLE_TIME)
def fixed_order(run: ForeignRun) -> Iterator[Finding]:
    """Find runs that measured one benchmark after the other."""
    if run.randomised or len(run.benchmarks) < 2:
        return
    known = run.randomised is False
    yield Finding(
        f"{run.tool} measured one benchmark after the other: a host that changed its speed in between makes"
        " two of them differ."
        if known
        else f"The file does not tell whether {run.tool} measured the benchmarks in turns: if not, a host"
        " that changed its speed in between makes two of them differ.",
        (),
        {"benchmarks": len(run.benchmarks)},
        f"Do not read a difference of a few percent from it; {_OURS}, which takes turns in random order.",
        "warning" if known else "note",
    )


@rule("no-samples", "The spread is unknown", REASONABLE_TIME)
def no_samples(run: ForeignRun) -> Iterator[Finding]:
    """Find benchmarks without samples, or with a single one."""
    measured = [benchmark for benchmark in run.benchmarks if benchmark.measures]
    counts = [(benchmark, max(_samples(benchmark))) for benchmark in measured]
    yield from _of(
        [benchmark for benchmark, count in counts if count == 0],
        run,
        "{have} no samples in the file, only what the tool sums them up to: neither their spread nor their"
        " distribution can be seen.",
        "Let the tool write the samples where it can (Google Benchmark: without"
        " --benchmark_report_aggregates_only; Criterion.rs: keep sample.json).",
    )
    yield from _of(
        [benchmark for benchmark, count in counts if count == 1],
        run,
        "{have} a single sample: nothing tells how far a second one would lie from it.",
        "Let the tool repeat each benchmark, as with --benchmark_repetitions=10 of Google Benchmark.",
    )


@rule("no-host-facts", "The file tells nothing of its host", "docs/guide/foreign.md")
def no_host_facts(run: ForeignRun) -> Iterator[Finding]:
    """Find runs that tell nothing of machine and build."""
    if not run.host:
        yield Finding(
            "The file tells nothing of the machine or the build: nobody can know later what it holds for.",
            (),
            {},
            "Write down the machine, the compiler and the options beside the file.",
        )


@rule("unfit-host", "Host or build are not fit for measuring", "docs/guide/foreign.md")
def unfit_host(run: ForeignRun) -> Iterator[Finding]:
    """Find what the file says against its host or build itself."""
    if run.host.get("library_build_type") == "debug":
        yield Finding(
            "The library of the benchmark was built for debugging: its loop adds time to every benchmark.",
            (),
            {},
            "Build Google Benchmark with CMAKE_BUILD_TYPE=Release and link that.",
        )
    if run.host.get("cpu_scaling_enabled") is True:
        yield Finding(
            "The processors' frequency was scaled by load while it was measured.",
            (),
            {},
            "Choose the governor `performance` and run it again.",
        )


@rule("no-calibration", "Nothing tells how fast the host was", "docs/guide/foreign.md")
def no_calibration(run: ForeignRun) -> Iterator[Finding]:
    """Say that modes of the host and other load cannot be seen."""
    yield Finding(
        f"{run.tool} does not measure the host: a slow spell of a virtual machine, or other programs, may be"
        " in any of these numbers.",
        (),
        {"benchmarks": len(run.benchmarks)},
        f"Believe no difference that you have not seen twice; {_OURS}, which calibrates around every trial.",
        "note",
    )


_EMPTY = 0.01
"""Of the elements at the start, what is left in a map that only erases have worked on."""
_KEPT = (0.5, 2.0)
"""Elements at the end over those at the start, of a map that keeps its size."""


@rule("no-inserts", "Updates erase and never insert", f"{ANOMALIES}, section 4.5.1")
def no_inserts(run: ForeignRun) -> Iterator[Finding]:
    """Find runs of maps that erased until nothing was left."""
    yield from _of(
        _with_map_run(run, _never_inserts),
        run,
        "only erased: once the map is empty an operation finds nothing and returns at once, so the"
        " throughput is that of an empty map, ten times too high or more.",
        "Do not use these numbers. In Synchrobench a variable without a sign holds the -1 that means `insert"
        f" next`: give it a sign. Or {_OURS}, which checks what every operation did.",
        severity="error",
    )


def _never_inserts(told: MapRun) -> bool:
    inserted = told.inserts if told.inserted is None else told.inserted
    if inserted is not None:
        return inserted == 0 and bool(told.erases)
    before, after = told.size_before, told.size_after
    return before is not None and after is not None and after < _EMPTY * before


@rule("size-changed", "Maps did not keep their size", f"{ANOMALIES}, section 4.5.1")
def size_changed(run: ForeignRun) -> Iterator[Finding]:
    """Find runs that ended with a map of another size than they began with."""
    yield from _of(
        _with_map_run(run, _changed_size),
        run,
        "ended with less than half or more than twice of the elements of the start: the throughput is a mean"
        " over maps of many sizes, and depends on how long the run was.",
        "Begin with the size at which as many inserts as erases succeed: half of the key range where they"
        " are as frequent.",
    )


def _changed_size(told: MapRun) -> bool:
    before, after = told.size_before, told.size_after
    if not before or after is None or _never_inserts(told):
        return False
    low, high = _KEPT
    return not low <= after / before <= high


@rule("dependent-updates", "Updates depend on each other", f"{ANOMALIES}, section 4.5.4")
def dependent_updates(run: ForeignRun) -> Iterator[Finding]:
    """Find runs whose updates are not drawn one by one."""
    told = _with_map_run(run, lambda told: bool(told.dependent))
    ways = {told.dependent for benchmark in run.benchmarks for told in benchmark.map_runs} - {""}
    yield from _of(
        told,
        run,
        f"{{have}} updates that are not drawn one by one ({' | '.join(sorted(ways))}): the mix that was"
        " performed is not the one that was asked for.",
        "Compare no harness that does so with one that does not. With -f 0 Synchrobench draws whether the"
        " next operation is an update, but its inserts and erases still wait for each other."
        f" {_OURS[0].upper()}{_OURS[1:]}.",
    )


@rule(
    "prefill-by-inserts",
    "Maps were filled by inserts alone, or nobody knows how",
    f"{ANOMALIES}, section 4.8",
)
def prefill_by_inserts(run: ForeignRun) -> Iterator[Finding]:
    """Find runs whose map was not filled as it is used."""
    known = _with_map_run(run, lambda told: told.prefill_inserts is True)
    ways = {told.prefill for benchmark in known for told in benchmark.map_runs}
    remedy = "Fill with the mix of updates that is measured (Setbench: -prefill-mixed), by all threads."
    yield from _of(
        known,
        run,
        f"began with a map that inserts alone had filled ({' | '.join(sorted(ways))}): its shape, and where"
        " its nodes lie, are not those of a map in use.",
        remedy,
    )
    unknown = _with_map_run(run, lambda told: told.prefill_inserts is None)
    yield from _of(unknown, run, "{have} nothing in the text about how the map was filled.", remedy)


@rule("not-validated", "Nothing was checked", "docs/guide/foreign.md")
def not_validated(run: ForeignRun) -> Iterator[Finding]:
    """Find runs whose results nobody compared with the map's contents."""
    yield from _of(
        _with_map_run(run, lambda told: not told.validated),
        run,
        "did not compare what operations returned with what the map holds at the end: it may have lost keys.",
        "Build the harness with its check (Setbench: -DUSE_TREE_STATS and a structure that supports it).",
    )


@rule("seeds-not-recorded", "Nobody can draw the same numbers again", f"{ANOMALIES}, section 4.5.2")
def seeds_not_recorded(run: ForeignRun) -> Iterator[Finding]:
    """Say that the seeds of threads are not in the text."""
    unseen = "whether threads drew different keys cannot be seen."
    remedy = (
        "Name a seed where the harness takes one (Synchrobench: -S), and look in its source at how each"
        " thread gets its own: Synchrobench's lock-free tree gives all threads the same."
    )
    seeded = _with_map_run(run, lambda told: told.seed is not None)
    unseeded = _with_map_run(run, lambda told: told.seed is None)
    told = "{have} the seed of the run in the text, and not those of its threads: " + unseen
    yield from _of(seeded, run, told, remedy, severity="note")
    yield from _of(unseeded, run, "{have} no seed in the text: " + unseen, remedy, severity="note")


@rule("pinning-not-recorded", "Nobody knows where threads ran", "docs/guide/host.md")
def pinning_not_recorded(run: ForeignRun) -> Iterator[Finding]:
    """Find runs whose text does not say to which processors threads were pinned."""
    yield from _of(
        _with_map_run(run, lambda told: not told.pinned),
        run,
        "{have} nothing in the text about the processors of the threads: two of them may have shared one.",
        "Pin them and keep the list with the text (Setbench: -pin; else `taskset`).",
        severity="note",
    )


@rule("range-rounded", "Key ranges were made powers of two", "docs/guide/foreign.md")
def range_rounded(run: ForeignRun) -> Iterator[Finding]:
    """Find runs with another key range than was asked for."""
    yield from _of(
        _with_map_run(run, lambda told: told.rounded),
        run,
        "ran with the next power of two as key range: up to twice as many keys as were asked for.",
        "Compare only with runs of the same range, which is the parameter key_range here.",
    )


def _with_map_run(run: ForeignRun, holds: Callable[[MapRun], bool]) -> list[Benchmark]:
    """Return the benchmarks of which something holds in one of their processes."""
    return [
        benchmark
        for benchmark in run.benchmarks
        if not benchmark.failure and any(map(holds, benchmark.map_runs))
    ]


FOREIGN_RULES = (
    failed_benchmarks,
    results_left_out,
    unit_not_recorded,
    less_than_a_cycle,
    no_inserts,
    size_changed,
    dependent_updates,
    prefill_by_inserts,
    not_validated,
    seeds_not_recorded,
    pinning_not_recorded,
    range_rounded,
    one_process,
    fixed_order,
    no_samples,
    no_host_facts,
    unfit_host,
    no_calibration,
)


def _samples(benchmark: Benchmark) -> Iterator[int]:
    """Yield the number of samples of each measure."""
    return (sum(map(len, measure.samples)) for measure in benchmark.measures)


def _of(
    benchmarks: list[Benchmark],
    run: ForeignRun,
    says: str,
    remedy: str,
    *,
    severity: Severity = "warning",
    where: Iterable[str] | None = None,
) -> Iterator[Finding]:
    """Yield what is said of some benchmarks of a run, where there are any."""
    if benchmarks:
        have = "has" if len(benchmarks) == 1 else "have"
        yield Finding(
            f"{len(benchmarks)} of {counted(run.benchmarks, 'benchmark')} {says.format(have=have)}",
            tuple(where or (benchmark.title for benchmark in benchmarks)),
            {"benchmarks": len(benchmarks), "of": len(run.benchmarks)},
            remedy,
            severity,
        )
