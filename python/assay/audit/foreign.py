"""Rules about what another tool measured: what its file lacks to rest a conclusion on."""

from collections.abc import Iterable, Iterator

from assay.audit.sources import REASONABLE_TIME, WRONG_DATA
from assay.audit.types import rule
from assay.findings import Finding, Severity
from assay.foreign import Benchmark, ForeignRun
from assay.words import counted

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


FOREIGN_RULES = (
    failed_benchmarks,
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
