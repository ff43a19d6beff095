"""Rules about what another tool measured: what its file lacks to rest a conclusion on."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from math import inf
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from assay.audit import findings_of
from assay.audit import rule as shared_rule
from assay.audit.limits import (
    LEFT_OUT,
    LEFT_OUT_REMEDY,
    LEFT_OUT_SAYS,
    SHORTEST_CYCLE_NS,
    TIMES_OF_CALLS,
)
from assay.audit.sources import ANOMALIES, REASONABLE_TIME, WRONG_DATA
from assay.findings import Finding, Severity
from assay.words import agreed, counted
from assay_foreign.types import Benchmark, Benchmarks, ForeignRun, MapRun, Measure

_OURS = "measure it with Assay (`assay race`, or a command in an experiment)"

rule = partial(shared_rule, guide=Path(__file__).parent / "docs" / "audit")

_NAMED_AT_MOST = 1000
"""Benchmarks that a finding names; it says how many more there are."""

_EMPTY = 0.01
"""A map that threads only erase from keeps a smaller share of its elements than this."""
_KEPT = (0.5, 2.0)
"""Elements at the end over those at the start, of a map that keeps its size."""


def _typical(measure: Measure) -> float:
    """Return the median of the samples, or what the tool sums them up to."""
    if measure.samples:
        return median([*chain.from_iterable(measure.samples)])
    return measure.summary.value if measure.summary else inf


def _never_inserts(map_run: MapRun) -> bool:
    inserted = map_run.inserts if map_run.inserted is None else map_run.inserted
    if inserted is not None:
        return inserted == 0 and bool(map_run.erases)
    before, after = map_run.size_before, map_run.size_after
    return before is not None and after is not None and after < _EMPTY * before


def _changed_size(map_run: MapRun) -> bool:
    before, after = map_run.size_before, map_run.size_after
    if not before or after is None or _never_inserts(map_run):
        return False
    low, high = _KEPT
    return not low <= after / before <= high


_TRAITS_OF_MAPS: Mapping[str, Callable[[MapRun], bool]] = {
    "only erased": _never_inserts,
    "of other size": _changed_size,
    "dependent": lambda map_run: bool(map_run.dependent),
    "filled by inserts": lambda map_run: map_run.prefill_inserts is True,
    "filled somehow": lambda map_run: map_run.prefill_inserts is None,
    "unchecked": lambda map_run: not map_run.validated,
    "seeded": lambda map_run: map_run.seed is not None,
    "unseeded": lambda map_run: map_run.seed is None,
    "unpinned": lambda map_run: not map_run.pinned,
    "rounded": lambda map_run: map_run.rounded,
}
"""What holds in one process of a benchmark that did not fail."""


def _traits(benchmark: Benchmark) -> Iterator[str]:
    """Yield what the rules need to know of a benchmark."""
    if benchmark.failure:
        yield "failed"
    if not benchmark.unit_recorded:
        yield "without unit"
    times = [measure for measure in benchmark.measures if measure.metric in TIMES_OF_CALLS]
    if times and min(map(_typical, times)) < SHORTEST_CYCLE_NS:
        yield "impossible"
    if benchmark.processes == 1:
        yield "of one process"
    samples = max([sum(map(len, measure.samples)) for measure in benchmark.measures], default=-1)
    if samples in (0, 1):
        yield "with one sample" if samples else "without samples"
    if benchmark.map_runs and not benchmark.failure:
        yield from (trait for trait, holds in _TRAITS_OF_MAPS.items() if any(map(holds, benchmark.map_runs)))


class Survey:
    """What the rules look at: a run, and how many of its benchmarks have each trait.

    It keeps none of them.

    Attributes:
        dependent, prefills: how updates depend on each other, and how inserts alone filled a map.
    """

    def __init__(self, run: ForeignRun) -> None:
        self.run = run
        self.dependent: set[str] = set()
        self.prefills: set[str] = set()
        self._counts: dict[str, int] = defaultdict(int)
        self._named: dict[str, list[str]] = defaultdict(list)

    def watched(self) -> ForeignRun:
        """Return the run; each benchmark is looked at when it is read, which is to be done once."""
        return replace(self.run, benchmarks=Benchmarks(len(self.run.benchmarks), self._watched))

    def _watched(self) -> Iterator[Benchmark]:
        for benchmark in self.run.benchmarks:
            self._look(benchmark)
            yield benchmark

    def _look(self, benchmark: Benchmark) -> None:
        for trait in _traits(benchmark):
            self._counts[trait] += 1
            if self._counts[trait] <= _NAMED_AT_MOST:
                why = f": {benchmark.failure}" if trait == "failed" else ""
                self._named[trait].append(f"{benchmark.title}{why}")
        for map_run in benchmark.map_runs:
            self.dependent |= {map_run.dependent} - {""}
            self.prefills |= {map_run.prefill} if map_run.prefill_inserts else set()

    def findings(self) -> list[Finding]:
        """Return what the rules find: the most severe first, then in the order of the rules."""
        return findings_of(FOREIGN_RULES, self)

    def of(self, trait: str, says: str, remedy: str, *, severity: Severity = "warning") -> Iterator[Finding]:
        """Yield what is said of the benchmarks that have a trait, where there are any."""
        if count := self._counts[trait]:
            more = count - _NAMED_AT_MOST
            have = "has" if count == 1 else "have"
            yield Finding(
                f"{count} of {counted(self.run.benchmarks, 'benchmark')} {says.format(have=have)}",
                (*self._named[trait], *([f"and {counted(more, 'more benchmark')}"] if more > 0 else [])),
                {"benchmarks": count, "of": len(self.run.benchmarks)},
                remedy,
                severity,
            )


@rule("failed-benchmarks", "Benchmarks failed", "satellites/foreign/docs/README.md")
def failed_benchmarks(seen: Survey) -> Iterator[Finding]:
    """Find benchmarks that reported an error."""
    yield from seen.of(
        "failed",
        "failed: their numbers are left out.",
        "Look at the reason, and run them again.",
        severity="error",
    )


@rule("results-left-out", "Results could not be read", "satellites/foreign/docs/README.md")
def results_left_out(seen: Survey) -> Iterator[Finding]:
    """Find results in a folder that could not be read, while others could."""
    if seen.run.left_out:
        yield Finding(
            f"{counted(seen.run.left_out, 'result')} in the folder could not be read and"
            f" {agreed(seen.run.left_out, 'was', 'were')} left out.",
            seen.run.left_out,
            {"results": len(seen.run.left_out)},
            "Look at the reason: what an older version wrote stays in the folder until it is deleted.",
        )


@rule("unit-not-recorded", "The unit is not in the files", "satellites/foreign/docs/README.md")
def unit_not_recorded(seen: Survey) -> Iterator[Finding]:
    """Find benchmarks whose files do not say in which unit they are."""
    yield from seen.of(
        "without unit",
        f"{{have}} no unit in the files: the values are taken as nanoseconds, which {seen.run.tool} measures"
        " unless a program has a measurement of its own.",
        "Turn on Criterion's feature csv_output, so that raw.csv has the unit; or check that the program"
        " calls no with_measurement.",
        severity="note",
    )


@shared_rule("less-than-a-cycle", LEFT_OUT, "docs/guide/fixtures.md")
def less_than_a_cycle(seen: Survey) -> Iterator[Finding]:
    """Find benchmarks of which a call takes less than a cycle of any processor."""
    yield from seen.of("impossible", LEFT_OUT_SAYS, LEFT_OUT_REMEDY, severity="error")


@rule("one-process", "All samples come from one process", f"{WRONG_DATA}; {REASONABLE_TIME}")
def one_process(seen: Survey) -> Iterator[Finding]:
    """Find benchmarks that a single process measured."""
    yield from seen.of(
        "of one process",
        "{have} all samples from one process: what differs from process to process, as addresses do, is not"
        " in their spread.",
        f"Run the tool in 10 processes or more and import each file, or {_OURS}.",
    )


@rule("fixed-order", "Benchmarks ran in a fixed order", REASONABLE_TIME)
def fixed_order(seen: Survey) -> Iterator[Finding]:
    """Find runs that measured one benchmark after the other."""
    if seen.run.randomised or len(seen.run.benchmarks) < 2:
        return
    known = seen.run.randomised is False
    yield Finding(
        f"{seen.run.tool} measured one benchmark after the other: a host that changed its speed in between"
        " makes two of them differ."
        if known
        else f"The file does not tell whether {seen.run.tool} measured the benchmarks in turns: if not, a"
        " host that changed its speed in between makes two of them differ.",
        (),
        {"benchmarks": len(seen.run.benchmarks)},
        f"Do not read a difference of a few percent from it; {_OURS}, which takes turns in random order.",
        "warning" if known else "note",
    )


@rule("no-samples", "The spread is unknown", REASONABLE_TIME)
def no_samples(seen: Survey) -> Iterator[Finding]:
    """Find benchmarks without samples, or with a single one."""
    yield from seen.of(
        "without samples",
        "{have} no samples in the file, only what the tool sums them up to: neither their spread nor their"
        " distribution can be seen.",
        "Let the tool write the samples where it can (Google Benchmark: without"
        " --benchmark_report_aggregates_only; Criterion.rs: keep sample.json).",
    )
    yield from seen.of(
        "with one sample",
        "{have} a single sample: nothing tells how far a second one would lie from it.",
        "Let the tool repeat each benchmark, as with --benchmark_repetitions=10 of Google Benchmark.",
    )


@rule("no-host-facts", "The file tells nothing of its host", "satellites/foreign/docs/README.md")
def no_host_facts(seen: Survey) -> Iterator[Finding]:
    """Find runs that tell nothing of machine and build."""
    if not seen.run.host:
        yield Finding(
            "The file tells nothing of the machine or the build: nobody can know later what it holds for.",
            (),
            {},
            "Write down the machine, the compiler and the options beside the file.",
        )


@rule("unfit-host", "Host or build are not fit for measuring", "satellites/foreign/docs/README.md")
def unfit_host(seen: Survey) -> Iterator[Finding]:
    """Find what the file says against its host or build itself."""
    if seen.run.host.get("library_build_type") == "debug":
        yield Finding(
            "The library of the benchmark was built for debugging: its loop adds time to every benchmark.",
            (),
            {},
            "Build Google Benchmark with CMAKE_BUILD_TYPE=Release and link that.",
        )
    if seen.run.host.get("cpu_scaling_enabled") is True:
        yield Finding(
            "The processors' frequency was scaled by load while it was measured.",
            (),
            {},
            "Choose the governor `performance` and run it again.",
        )


@rule("no-calibration", "Nothing tells how fast the host was", "satellites/foreign/docs/README.md")
def no_calibration(seen: Survey) -> Iterator[Finding]:
    """Say that modes of the host and other load cannot be seen."""
    yield Finding(
        f"{seen.run.tool} does not measure the host: a slow spell of a virtual machine, or other programs,"
        " may be in any of these numbers.",
        (),
        {"benchmarks": len(seen.run.benchmarks)},
        f"Believe no difference that you have not seen twice; {_OURS}, which calibrates around every trial.",
        "note",
    )


@rule("no-inserts", "Updates erase and never insert", f"{ANOMALIES}, section 4.5.1")
def no_inserts(seen: Survey) -> Iterator[Finding]:
    """Find runs of maps that erased until nothing was left."""
    yield from seen.of(
        "only erased",
        "only erased: once the map is empty an operation finds nothing and returns at once, so the"
        " throughput is that of an empty map, ten times too high or more.",
        "Do not use these numbers. In Synchrobench a variable without a sign holds the -1 that means `insert"
        f" next`: give it a sign. Or {_OURS}, which checks what every operation did.",
        severity="error",
    )


@shared_rule("size-changed", "Maps did not keep their size", f"{ANOMALIES}, section 4.5.1")
def size_changed(seen: Survey) -> Iterator[Finding]:
    """Find runs that ended with a map of another size than they began with."""
    yield from seen.of(
        "of other size",
        "ended with less than half or more than twice of the elements of the start: the throughput is a mean"
        " over maps of many sizes, and depends on how long the run was.",
        "Begin with the size at which as many inserts as erases succeed: half of the key range where they"
        " are as frequent.",
    )


@rule("dependent-updates", "Updates depend on each other", f"{ANOMALIES}, section 4.5.4")
def dependent_updates(seen: Survey) -> Iterator[Finding]:
    """Find runs whose updates are not drawn one by one."""
    yield from seen.of(
        "dependent",
        f"{{have}} updates that are not drawn one by one ({' | '.join(sorted(seen.dependent))}): the mix"
        " that was performed is not the one that was asked for.",
        "Compare no harness that does so with one that does not. With -f 0 Synchrobench draws whether the"
        " next operation is an update, but its inserts and erases still wait for each other."
        f" {_OURS[0].upper()}{_OURS[1:]}.",
    )


@rule(
    "prefill-by-inserts",
    "Maps were filled by inserts alone, or nobody knows how",
    f"{ANOMALIES}, section 4.8",
)
def prefill_by_inserts(seen: Survey) -> Iterator[Finding]:
    """Find runs whose map was not filled as it is used."""
    remedy = "Fill with the mix of updates that is measured (Setbench: -prefill-mixed), by all threads."
    yield from seen.of(
        "filled by inserts",
        f"began with a map that inserts alone had filled ({' | '.join(sorted(seen.prefills))}): its shape,"
        " and where its nodes lie, are not those of a map in use.",
        remedy,
    )
    yield from seen.of("filled somehow", "{have} nothing in the text about how the map was filled.", remedy)


@rule("not-validated", "Nothing was checked", "satellites/foreign/docs/README.md")
def not_validated(seen: Survey) -> Iterator[Finding]:
    """Find runs whose results nobody compared with the map's contents."""
    yield from seen.of(
        "unchecked",
        "did not compare what operations returned with what the map holds at the end: it may have lost keys.",
        "Build the harness with its check (Setbench: -DUSE_TREE_STATS and a structure that supports it).",
    )


@rule("seeds-not-recorded", "Nobody can draw the same numbers again", f"{ANOMALIES}, section 4.5.2")
def seeds_not_recorded(seen: Survey) -> Iterator[Finding]:
    """Say that the seeds of threads are not in the text."""
    unseen = "whether threads drew different keys cannot be seen."
    remedy = (
        "Name a seed where the harness takes one (Synchrobench: -S), and look in its source at how each"
        " thread gets its own: Synchrobench's lock-free tree gives all threads the same."
    )
    says = "{have} the seed of the run in the text, and not those of its threads: " + unseen
    yield from seen.of("seeded", says, remedy, severity="note")
    yield from seen.of("unseeded", "{have} no seed in the text: " + unseen, remedy, severity="note")


@rule("pinning-not-recorded", "Nobody knows where threads ran", "docs/guide/host.md")
def pinning_not_recorded(seen: Survey) -> Iterator[Finding]:
    """Find runs whose text does not say to which processors threads were pinned."""
    yield from seen.of(
        "unpinned",
        "{have} nothing in the text about the processors of the threads: two of them may have shared one.",
        "Pin them and keep the list with the text (Setbench: -pin; else `taskset`).",
        severity="note",
    )


@rule("range-rounded", "Key ranges were made powers of two", "satellites/foreign/docs/README.md")
def range_rounded(seen: Survey) -> Iterator[Finding]:
    """Find runs with another key range than was asked for."""
    yield from seen.of(
        "rounded",
        "ran with the next power of two as key range: up to twice as many keys as were asked for.",
        "Compare only with runs of the same range, which is the parameter key_range here.",
    )


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


def audit_foreign(run: ForeignRun) -> list[Finding]:
    """Return what another tool's results lack: the most severe first, then in the order of the rules."""
    survey = Survey(run)
    deque(survey.watched().benchmarks, maxlen=0)
    return survey.findings()


def audit_samples(
    tool: str, samples: Mapping[str, Sequence[Sequence[float]]], *, randomised: bool
) -> list[Finding]:
    """Return what the results of a harness lack: benchmark -> the throughputs that each process measured.

    Args:
        tool: what the harness is called.
        samples: in the order in which they ran.
        randomised: whether that was drawn at random.
    """
    benchmarks = tuple(
        Benchmark(name, {}, len(processes), (Measure("throughput", "op/s", tuple(map(tuple, processes))),))
        for name, processes in samples.items()
    )
    return audit_foreign(ForeignRun(tool, "", benchmarks, randomised=randomised))
