"""The lessons, in the order in which they are taught. Their texts and experiments are in `course/`."""

from assay.lessons.judges import (
    baseline_first,
    few_blocks,
    invalid,
    layouts,
    levels,
    looking,
    many_comparisons,
    metric,
    one_process,
    spread,
    two_modes,
    updates_share,
)
from assay.lessons.lesson import Judge, Lesson

LOOP = "The loop"
NUMBERS = "Numbers and keys"
HOST = "The host"
STATISTICS = "Statistics"
PARTS = (LOOP, NUMBERS, HOST, STATISTICS)


def _numbered(*lessons: tuple[str, str, str, Judge, tuple[str, ...], bool]) -> tuple[Lesson, ...]:
    return tuple(Lesson(number, *lesson) for number, lesson in enumerate(lessons, start=1))


_CERTAIN, _BY_CHANCE = True, False

LESSONS = _numbered(
    (
        "never-inserts",
        LOOP,
        "mix-not-performed",
        levels("operations a second, in millions", metric("throughput"), times=1.5, per=1e6),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "effective-updates",
        LOOP,
        "mix-not-performed",
        levels(
            "inserts as a share of all operations", metric("insert_throughput", over="throughput"), times=0.5
        ),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "failed-updates-as-searches",
        LOOP,
        "flawed-on-purpose",
        levels("share of updates that changed something", updates_share, times=1.5),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "alternating-keys",
        LOOP,
        "mix-not-performed",
        levels("share of updates that changed something", updates_share, times=1.15),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "clock-every-operation",
        LOOP,
        "flawed-on-purpose",
        levels("processor time of an operation, in ns", metric("processor_ns_per_operation"), times=1.4),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "nominal-time",
        LOOP,
        "flawed-on-purpose",
        levels("operations a second, in millions", metric("throughput"), times=1.1, per=1e6),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "no-prefill",
        LOOP,
        "flawed-on-purpose",
        levels(
            "memory that the map took, in MiB",
            metric("peak_resident_bytes", less="resident_before_bytes"),
            times=0.8,
            per=2**20,
        ),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "insert-only-prefill",
        LOOP,
        "flawed-on-purpose",
        levels("milliseconds of prefill", metric("prefill_ms"), times=0.7),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "single-threaded-prefill",
        LOOP,
        "flawed-on-purpose",
        levels("milliseconds of prefill", metric("prefill_ms"), times=1.1),
        ("flaws", "two processors"),
        _BY_CHANCE,
    ),
    (
        "latency-from-start",
        LOOP,
        "flawed-on-purpose",
        levels("99th percentile of the latency, in us", metric("latency_p99_ns"), times=0.5, per=1e3),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "overload",
        LOOP,
        "overloaded",
        levels("median latency, in us", metric("latency_p50_ns"), times=3, per=1e3),
        (),
        _CERTAIN,
    ),
    ("short-trials", LOOP, "short-trials", spread("throughput", metric("throughput")), (), _BY_CHANCE),
    (
        "ranges-among-updates",
        LOOP,
        "ranges-among-updates",
        levels("inserts a second, in thousands", metric("insert_throughput"), times=0.7, per=1e3),
        ("two processors",),
        _CERTAIN,
    ),
    (
        "one-seed",
        NUMBERS,
        "flawed-on-purpose",
        levels("share of updates that changed something", updates_share, times=0.97),
        ("flaws", "two processors"),
        _CERTAIN,
    ),
    (
        "short-array",
        NUMBERS,
        "array-repeats",
        levels("share of updates that changed something", updates_share, times=0.5),
        (),
        _CERTAIN,
    ),
    (
        "hardware-numbers",
        NUMBERS,
        "generation",
        levels("processor time of an operation, in ns", metric("processor_ns_per_operation"), times=1.2),
        ("rdrand",),
        _CERTAIN,
    ),
    (
        "hidden-lock",
        NUMBERS,
        "rejected-engine",
        levels("nanoseconds to draw an operation", metric("generation_ns"), times=3),
        ("two processors",),
        _CERTAIN,
    ),
    (
        "patterned-engine",
        NUMBERS,
        "rejected-engine",
        levels("trials that were not valid, as a share", invalid, times=2),
        (),
        _CERTAIN,
    ),
    (
        "invalid-trials",
        NUMBERS,
        "invalid-trials",
        levels("trials that were not valid, as a share", invalid, times=2),
        (),
        _CERTAIN,
    ),
    (
        "power-of-two-range",
        NUMBERS,
        "flawed-on-purpose",
        levels(
            "memory that the map took, in MiB",
            metric("peak_resident_bytes", less="resident_before_bytes"),
            times=1.2,
            per=2**20,
        ),
        ("flaws",),
        _CERTAIN,
    ),
    (
        "oversubscribed",
        HOST,
        "oversubscribed",
        levels("longest wait of any operation, in ms", metric("longest_ns"), times=1.5, per=1e6),
        (),
        _BY_CHANCE,
    ),
    (
        "half-the-processors",
        HOST,
        "flawed-on-purpose",
        levels("operations a second, in millions", metric("throughput"), times=0.8, per=1e6),
        ("flaws", "two processors"),
        _BY_CHANCE,
    ),
    (
        "unpinned",
        HOST,
        "unpinned",
        levels("moves between processors in a trial", metric("migrations"), times=2),
        ("two processors",),
        _BY_CHANCE,
    ),
    (
        "memory-not-freed",
        HOST,
        "memory-use",
        levels(
            "memory that the map took, in MiB",
            metric("peak_resident_bytes", less="resident_before_bytes"),
            times=3,
            per=2**20,
        ),
        (),
        _CERTAIN,
    ),
    ("fixed-layout", HOST, "fixed-layout", layouts, (), _BY_CHANCE),
    ("too-few-blocks", STATISTICS, "too-few-blocks", few_blocks, (), _BY_CHANCE),
    ("many-comparisons", STATISTICS, "family-too-large", many_comparisons, (), _BY_CHANCE),
    ("two-modes", STATISTICS, "several-clusters", two_modes, (), _CERTAIN),
    ("one-process", STATISTICS, "one-process", one_process, (), _BY_CHANCE),
    ("baseline-first", STATISTICS, "fixed-order", baseline_first, (), _BY_CHANCE),
    ("looking", STATISTICS, "too-few-blocks", looking, (), _BY_CHANCE),
)
