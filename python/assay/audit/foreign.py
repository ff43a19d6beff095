"""Rules about what another tool measured: what its file lacks to rest a conclusion on."""

from collections.abc import Iterable, Iterator

from assay.audit.sources import ANOMALIES, REASONABLE_TIME, WRONG_DATA
from assay.audit.types import rule
from assay.findings import Finding, Severity
from assay.foreign import Benchmark, ForeignRun, Loop
from assay.words import counted

_OURS = "measure it with Assay (`assay race`, or a command in an experiment)"
_KEPT = (0.5, 2.0)
"""Of its first size, between which shares a structure has kept it: full instead of half full is twice."""
_FEW = 0.05
"""Share of updates below which these have no effect: about half have in a steady state."""


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


@rule("size-not-kept", "The structure did not keep its size", f"{ANOMALIES}, sections 4.5.1 and 4.8")
def size_not_kept(run: ForeignRun) -> Iterator[Finding]:
    """Find runs of a harness for sets whose structure emptied, or whose updates changed nothing."""
    changed = {
        benchmark.title: loop
        for benchmark in run.benchmarks
        for loop in benchmark.loops
        if _changed_its_size(loop) or _without_effect(loop)
    }
    if changed:
        yield Finding(
            f"In {len(changed)} of {counted(run.benchmarks, 'benchmark')} what was measured is not what was"
            " asked for: operations on an emptied structure, and updates that change nothing, are cheap"
            " searches.",
            tuple(f"{title}: {_what_became_of(loop)}" for title, loop in changed.items()),
            {"benchmarks": len(changed), "of": len(run.benchmarks)},
            "Believe no throughput of these. Let inserts and erases be drawn at random in equal shares, fill"
            f" to half of the key range, and look at the size at the end; or {_OURS}, which checks the"
            " contents.",
            "error",
        )


@rule("misleading-loop", "The loop misleads in known ways", f"{ANOMALIES}, sections 4 and 5")
def misleading_loop(run: ForeignRun) -> Iterator[Finding]:
    """Find what the loop of a harness for sets is known to do, as far as its output tells."""
    reasons = dict.fromkeys(
        reason for benchmark in run.benchmarks for loop in benchmark.loops for reason in loop.misleads
    )
    if reasons:
        yield Finding(
            f"{run.tool} measures in ways that are known to change throughput, up to a hundred times.",
            tuple(reasons),
            {"ways": len(reasons)},
            f"Compare only runs that share all of them, and no absolute figure; or {_OURS}.",
        )


@rule("not-validated", "Nothing tells that the contents were right", f"{ANOMALIES}, sections 4.5.4 and 4.8")
def not_validated(run: ForeignRun) -> Iterator[Finding]:
    """Find runs of a harness for sets that compare less than the keys themselves."""

    def checked(by: str) -> list[Benchmark]:
        return [
            benchmark for benchmark in run.benchmarks if any(loop.checked == by for loop in benchmark.loops)
        ]

    yield from _of(
        checked(""),
        run,
        "{have} no result of a check of the contents: a broken structure can be fast.",
        "Build the harness with its validation, and keep all that it prints.",
    )
    yield from _of(
        checked("number of keys"),
        run,
        "{have} nothing but the number of keys checked: a structure that loses one key and holds another"
        " twice passes.",
        f"Check a sum of the keys as well; or {_OURS}, which checks keys and values.",
        severity="note",
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


FOREIGN_RULES = (
    failed_benchmarks,
    one_process,
    fixed_order,
    no_samples,
    size_not_kept,
    misleading_loop,
    not_validated,
    no_host_facts,
    unfit_host,
    no_calibration,
)


def _changed_its_size(loop: Loop) -> bool:
    if not loop.size_before or loop.size_after is None:
        return False
    least, most = _KEPT
    return not least < loop.size_after / loop.size_before < most


def _without_effect(loop: Loop) -> bool:
    if not loop.updates or loop.effective_updates is None:
        return False
    return loop.effective_updates < _FEW * loop.updates


def _what_became_of(loop: Loop) -> str:
    said = []
    if _changed_its_size(loop):
        said.append(f"{loop.size_before} keys at the start, {loop.size_after} at the end")
    if _without_effect(loop):
        said.append(f"{loop.effective_updates} of {loop.updates} updates changed it")
    return ", ".join(said)


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
