"""Measures Assay itself: `make bench`; `benchmarks/run.py PART...` only some parts.

Every figure has an interval of 95% and, where there is one, the goal that it is held against. The two
sides of a ratio ran in alternation: trials of campaigns of Assay's own, or turns within a process of the
programs that measure a data structure.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from operator import sub
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import hosts as many_hosts
import race as beside_hyperfine
import store
from assay import programs
from assay.analysis import Analysis, median
from assay.analysis.sensitivity import enough, sensitivity
from assay.experiment import parse
from assay.layout import Layouts
from assay.plan.make_plan import make_plan
from assay.report.gather import gather
from assay.store import Store
from harness import (
    Variants,
    by_turns,
    compared,
    figure,
    line,
    measure,
    medians,
    output,
    processes,
    run_parts,
    variants_of,
)

HERE = Path(__file__).parent
PROCESSES = 15
SAMPLING_PROCESSES = 9  # of some 10 s each
PROCESSES_OF_MAPS = 9
PROCESSES_OF_FIXTURES = 20
REPORTERS = ("fixture_overhead", "google_overhead")
PARAMETERS = 11
ANALYSES = 9
VALUES_MIXES = {"searches": "0,0,100,50", "mixed": "20,20,60,50", "updates": "50,50,0,50"}

TREES = ("natarajan_mittal_bst", "ticket_bst")
PEERS_OF_TREES = ("cds_rcu_skip_list", "cds_bronson_avl_tree")

PROCESSES_OF_BT_MAP = 6  # the fewest that have an interval: to fill a million keys takes long
SEQUENTIAL = "absl_btree_unsynchronised"
ORDERED_PEERS = ("cds_rcu_skip_list", "cds_bronson_avl_tree", "absl_btree_shared_mutex")
# These stand in no process with others of libcds, where threads can be attached to one collector alone.
PEERS_APART = ("cds_hp_skip_list", "cds_ellen_bin_tree")
# Inserts, erases, searches, and the keys present at the start, in percent (Bonnichsen 2016, section 5.3.1):
# as many as after infinitely many operations, and all where there are searches alone.
WORKLOADS = {"Constant": "0,0,100,100", "Mixed": "20,10,70,66.67", "Update": "50,50,0,50"}

LOCKED = {
    "std_map_elided": "std_map_mutex",
    "std_map_elided_shared": "std_map_shared_mutex",
    "std_unordered_map_elided": "std_unordered_map_mutex",
    "bt_map_elided": "bt_map_mutex",
}
"""Maps behind an elided lock: the same behind the lock alone."""

PROCESSES_OF_ELB_TREES = 6
SIZES_OF_ELB_TREES = (10_000, 100_000, 1_000_000)
THREADS_OF_ELB_TREES = (1, 2, 4)
MULTIMAPS = ("elb_multimap", "elb_multimap_wide", "elb_multimap_epochs", "std_multimap_mutex", "bt_multimap")
# As a map, where inserts and erases of half of the keys change nothing.
MAP = "bt_map"
QUEUES = ("elb_priority_queue", "elb_priority_queue_near")
QUEUES_OF_OTHERS = (
    "std_priority_queue_mutex",
    "tbb_priority_queue",
    "cds_ms_priority_queue",
    "cds_skip_list_queue",
)

PROCESSES_OF_COHERENCE = 6  # the fewest that have an interval: they differ by a few percent
PROCESSORS = (2, 16, 64)
SHARED_MAPS = (
    "bt_map",
    "radix_map",
    *TREES,
    "absl_btree_shared_mutex",
    "cds_bronson_avl_tree",
    "tbb_hash_map",
    "boost_concurrent_flat_map",
    "libcuckoo_hash_map",
)
SHARED_BAGS = ("elb_multimap", "elb_priority_queue", "std_priority_queue_mutex")
FloatArray: TypeAlias = npt.NDArray[np.float64]

LAYOUTS_OF = """
[factors]
subject = ["noop", "std_map_mutex"]
[trial]
key_range = 100
mix = { find = 100 }
[design]
blocks = 20
[perturb]
layout = true
"""


def main() -> None:
    """Run the benchmarks that are named, or all, and print their figures."""
    every = (
        generation,
        sampling,
        values,
        reclamation,
        trees,
        bt_map,
        elb_trees,
        coherence,
        sections,
        elision,
        trials,
        layouts,
        fixtures,
        stores,
        hosts,
        race,
        analysis,
    )
    run_parts(every)


def trials() -> None:
    """Print what the trial loop, a trial and probes cost, from campaigns of Assay's own."""
    with tempfile.TemporaryDirectory() as folder:
        with measured("trial_loop.toml", folder) as opened:
            title = "time per operation over a no-op map, trial loop / hand-inlined loop (goal: at most 1.25)"
            times(title, gather(opened, 1).analysis)
        with measured("trial_overhead.toml", folder) as opened:
            trial_overhead(opened)
        with measured("probes_idle.toml", folder) as opened:
            goal = "goal: 1 is inside, less than 1% either way"
            title = f"time per operation with an idle probe / compiled out ({goal})"
            times(title, gather(opened, 1).analysis, "std::map")
        with measured("probes_recorded.toml", folder) as opened:
            probes_recorded(opened)


def layouts() -> None:
    """Print what a fresh layout adds to a block: linking `assay-trial`, and its first start."""
    experiment = parse(LAYOUTS_OF, HERE / "layouts.toml")
    program = programs.find("assay-trial")
    plan = make_plan(experiment, 1, lambda _: str(program), memory_limit_mb=1000)
    blocks = {trial.block: trial for trial in plan.trials}
    added = []
    with Layouts(experiment, print) as drawn:
        drawn.fixed(plan.trials)
        for trial in blocks.values():
            began = time.monotonic()
            fresh = drawn.binary(trial).program
            linked_s = time.monotonic() - began
            added.append(linked_s + started_s(fresh) - started_s(str(program)))
    print("\ntime that a fresh layout of assay-trial adds to a block, s (goal: at most 0.5)")
    figure("linking it and starting it, less starting what was built", added, "layouts")


def started_s(program: str) -> float:
    """Return how long a program takes to start, list its subjects and end, seconds."""
    began = time.monotonic()
    subprocess.run([program, "--list"], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return time.monotonic() - began


def stores() -> None:
    """Print what a large store costs."""
    store.main()


def hosts() -> None:
    """Print how long it takes to analyse a million trials on 100 hosts, and how much memory."""
    many_hosts.measure()


def race() -> None:
    """Print how long a race takes beside hyperfine: some eight minutes."""
    beside_hyperfine.main()


def fixtures() -> None:
    """Print how fixtures time bodies of a known length beside Google Benchmark, and how much that varies."""
    bodies = ("empty", "body_10_ns", "body_1_us", "body_100_us")
    turns = {
        (body, program): partial(reported, program, body) for body, program in product(bodies, REPORTERS)
    }
    done = by_turns(turns, PROCESSES_OF_FIXTURES)
    times = {body: [done[body, program] for program in REPORTERS] for body in bodies}
    print("\ntime that is reported of the same body, fixture / Google Benchmark (goal: at most 1)")
    for body, (ours, theirs) in times.items():
        name = f"{body}, {median(ours):.4g} and {median(theirs):.4g} ns"
        figure(name, [own / other for own, other in zip(ours, theirs, strict=True)])
    print("\nspread over processes, fixture / Google Benchmark (goal: at most 1)")
    for body, (ours, theirs) in times.items():
        drawn = np.random.default_rng(1).integers(PROCESSES_OF_FIXTURES, size=(10_000, PROCESSES_OF_FIXTURES))
        ratios = spread(np.array(ours)[drawn]) / spread(np.array(theirs)[drawn])
        low, high = np.quantile(ratios, [0.025, 0.975])
        ratio = spread(np.array([ours]))[0] / spread(np.array([theirs]))[0]
        line(body, ratio, (low, high), f"{PROCESSES_OF_FIXTURES} processes, bootstrap")


def reported(program: str, body: str) -> float:
    """Return the time of a body in nanoseconds that one process reports.

    Of Google Benchmark that is the mean of processor time, which other programs lengthen less than its mean
    of time; of a fixture the median of time.
    """
    if program == "google_overhead":
        options = (f"--benchmark_filter=^{body}$", "--benchmark_format=json", "--benchmark_min_time=0.2")
        return float(json.loads(output(program, *options))["benchmarks"][0]["cpu_time"])
    entries = json.loads(output(program, body, "--seconds", "0.2", "--json", "-"))["benchmarks"]
    return next(float(entry["real_time"]) for entry in entries if entry.get("aggregate_name") == "median")


def spread(values: FloatArray) -> FloatArray:
    """Return the interquartile range of each row as a share of its median."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=1)
    shares: FloatArray = (high - low) / middle
    return shares


def analysis() -> None:
    """Print how long it takes to analyse the largest campaign that is planned for."""
    rng = np.random.default_rng(1)
    sets = [
        list(rng.standard_normal((100, 1)) + rng.standard_normal((100, 100))) for _ in range(PARAMETERS + 1)
    ]

    def seconds() -> float:
        start = time.perf_counter()
        for values in sets:
            sensitivity(values)
        enough(dict(enumerate(sets)))
        return time.perf_counter() - start

    what = f"{PARAMETERS} parameters alone, and all together: 100 configurations of 100 trials each"
    print("\nseconds to analyse sensitivity (goal: at most 20)")
    figure(what, [seconds() for _ in range(ANALYSES)], "runs")


def generation() -> None:
    """Print how long it takes to fill a batch, in several ways and from several distributions."""
    done = processes(PROCESSES, "generation_benchmark")
    filled = variants_of(done, "ns of an operation, a batch filled in one pass")
    print(
        "\nfilling a batch, uniform keys and three kinds, ns per operation (goal: at most 0.4 with AVX-512)"
    )
    for name in filled[0]:
        figure(name, medians(filled, name))
    drawn = variants_of(done, "ns of an operation, by distribution")
    print("\nfilling a batch from 10^9 keys, time per operation / from the uniform distribution")
    for name in drawn[0]:
        figure(name, compared(drawn, name, "uniform"))
    print("\ntime per draw from Zipf's law, 0.99 over 10^9 keys, exact / formula of YCSB (goal: at most 0.5)")
    figure("zipf", compared(variants_of(done, "ns of a draw from Zipf's law"), "exact", "gray"))


def sampling() -> None:
    """Print what sampling latency costs on maps of a million keys."""
    subjects = ("std_map_mutex", "absl_btree_shared_mutex", "tbb_hash_map")
    entrants = [f"{subject}:1{one_in}" for subject, one_in in product(subjects, ("", ":64"))]
    turns = ("--rounds=31", "--warm-up-ms=10", "--measured-ms=25")
    arguments = ("1000000", *entrants, "--mix=all=10,10,80,50", *turns)
    rates = variants_of(processes(SAMPLING_PROCESSES, "maps_benchmark", *arguments), "all")
    print("\ntime per operation, one latency in 64 taken / none, 1 million keys (goal: at most 1.03)")
    for subject in subjects:
        figure(subject, compared(rates, f"{subject}:1", f"{subject}:1:64"))


def values() -> None:
    """Print what it costs that values say who drew them and when, and that threads watch for stale ones."""
    title = "time per operation, values that say who drew them and when / that depend on the key alone"
    print(f"\n{title} (goal: at most 1.02)")
    cells = {"noop": (20_000,), "tbb_hash_map": (20_000,), "bt_map": (100, 20_000, 1_000_000)}
    for subject, sizes in cells.items():
        for keys in sizes:
            entrants = [f"{subject}:{threads}{more}" for threads, more in product((1, 2), ("", ":signed"))]
            mixes = [f"--mix={name}={mix}" for name, mix in VALUES_MIXES.items()]
            turns = ("--rounds=15", "--warm-up-ms=5", "--measured-ms=20")
            done = processes(PROCESSES_OF_MAPS, "maps_benchmark", str(keys), *entrants, *mixes, *turns)
            for mix, threads in product(VALUES_MIXES, (1, 2)):
                rates = variants_of(done, mix)
                name = f"{subject}, {keys:,} keys, {mix}, threads: {threads}"
                figure(name, compared(rates, f"{subject}:{threads}", f"{subject}:{threads}:signed"))


def measured(experiment: str, folder: str) -> Store:
    """Run one of the experiments beside this file; return a store that holds its campaign alone."""
    path = Path(folder) / Path(experiment).stem / "results.sqlite"  # beside it, the campaign's site
    path.parent.mkdir()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "assay", "run", HERE / experiment, "--store", path, "--json"],
        check=False,
        stdout=subprocess.DEVNULL,
    )
    # 1 also says that some trials are not valid: the others are what there is to report.
    if done.returncode > 1 or not path.exists():
        sys.exit(done.returncode)
    return Store.open(path, create=False)


def times(title: str, analysis: Analysis, alone: str = "") -> None:
    """Print the time of an operation over that of the baseline, in each context, or in one that is alone."""
    print(f"\n{title}")
    for comparison in analysis.comparisons:
        name = named(comparison.context) or alone
        if comparison.ratio is None or comparison.interval is None:
            sys.exit(f"error: no interval for {name}: too few valid trials")
        ends = (1 / comparison.interval.high, 1 / comparison.interval.low)
        line(name, 1 / comparison.ratio, ends, f"{comparison.pairs} pairs")


def named(context: Mapping[str, object]) -> str:
    """Return a context in words."""
    return ", ".join(f"{factor} {level}" for factor, level in context.items())


def trial_overhead(opened: Store) -> None:
    """Print what a trial takes beside its prefill, its calibrations and its measured interval.

    That is the time from its start to the next one's, less what is excepted. Between the two lie one
    calibration after the first and one before the second; each says how long it took. Where one of these
    is missing, or the first trial is not valid, there is nothing to be said.
    """
    print("\ntime of a trial beside prefill, calibration and measured interval, ms (goal: at most 150)")
    overheads: dict[str, list[float]] = {}
    left_out = 0
    trials = opened.trials(1)
    records = {record["trial"]: record for record in opened.records_of([trial.id for trial in trials])}
    for trial, following in pairwise(trials):
        calibrations = (trial.calibration_after, following.calibration_before)
        if trial.status != "valid" or not all(calibrations):
            left_out += 1
            continue
        excepted = (
            records[trial.id]["request"]["duration_ms"]
            + trial.metrics["prefill_ms"]
            + sum(calibration["elapsed_ms"] for calibration in calibrations)
        )
        between = (following.started_at - trial.started_at).total_seconds() * 1e3
        overheads.setdefault(named(trial.levels), []).append(between - excepted)
    if left_out:
        print(f"  {left_out} trials are left out: not valid, or without a calibration")
    for name, values in sorted(overheads.items()):
        figure(name, values, "trials", digits=1)


def probes_recorded(opened: Store) -> None:
    """Print the time that a counter adds to an operation that does nothing else."""
    print("\ntime of a counter that records, beside the loop without it, ns (goal: less than 1)")
    blocks: dict[int, dict[str, float]] = {}
    for trial in opened.trials(1):
        if trial.status == "valid":
            took_ns = 1e9 / trial.metrics["throughput"]
            blocks.setdefault(trial.block, {})[str(trial.levels["subject"])] = took_ns
    pairs = [times for times in blocks.values() if len(times) == 2]
    values = [times["loop_probed"] - times["loop_unprobed"] for times in pairs]
    floor = median([times["loop_unprobed"] for times in pairs])
    figure(f"over a floor of {floor:.2f}", values, "pairs", digits=2)


def reclamation() -> None:
    """Print what reclamation costs and how much waits for it."""
    done = processes(PROCESSES, "reclamation_benchmark")
    print("\ntime of an operation, 200 keys; that reclamation adds to it, ns (goal: epochs at most 3)")
    policies = {"lock-free tree": ("epochs",), "ticket tree": ("epochs", "hazard pointers")}
    for name, group in {"searches": "ns of a search", "updates": "ns of an update"}.items():
        variants = variants_of(done, group)
        for tree, beside in policies.items():
            figure(f"{name}, {tree}", medians(variants, tree))
            for policy in beside:
                added = compared(variants, f"{tree}, {policy}", tree, by=sub)
                figure(f"{name}, {tree}, {policy}", added)
    titles = {
        "ns of a call": "time of the calls of a policy by themselves, ns",
        "nodes that wait": "nodes that wait after a million were retired",
    }
    for group, title in titles.items():
        print(f"\n{title}")
        variants = variants_of(done, group)
        for name in variants[0]:
            figure(name, medians(variants, name))


def trees() -> None:
    """Print the throughput of each tree over that of each peer, two threads."""
    entrants = [f"{subject}:2" for subject in (*TREES, *PEERS_OF_TREES)]
    mixes = {updates: f"{updates / 2},{updates / 2},{100 - updates},50" for updates in (0, 10, 50, 100)}
    arguments = (*entrants, *(f"--mix={updates}={mix}" for updates, mix in mixes.items()))
    turns = {keys: partial(measure, "maps_benchmark", str(keys), *arguments) for keys in (20_000, 2_000_000)}
    for keys, done in by_turns(turns, PROCESSES_OF_MAPS).items():
        print(f"\nthroughput, tree / peer, {keys:,} keys, two threads (goal: above 1)")
        for updates in mixes:
            rates = variants_of(done, str(updates))
            for tree, peer in product(TREES, PEERS_OF_TREES):
                figure(f"{tree} / {peer}, {updates}% updates", compared(rates, f"{tree}:2", f"{peer}:2"))


def sections() -> None:
    """Print the throughput of a map in optimistic sections over that of maps behind locks, two threads."""
    locked = ("treap_shared_mutex", "treap_mutex", "std_map_shared_mutex", "std_map_mutex")
    entrants = [f"{subject}:2" for subject in ("treap_optimistic", *locked)]
    turns = {
        keys: partial(measure, "maps_benchmark", str(keys), *entrants, "--mix=90=5,5,90,50")
        for keys in (200, 2_000)
    }
    for keys, done in by_turns(turns, PROCESSES_OF_MAPS).items():
        print(
            f"\nthroughput, {entrants[0]} / others, {keys // 2:,} elements, 90% searches (goal: at least 1.5)"
        )
        for subject in locked:
            figure(subject, compared(variants_of(done, "90"), entrants[0], f"{subject}:2"))


def elision() -> None:
    """Print what elided locks cost where there are no transactions, and gain where there are."""
    entrants = [f"{subject}:2" for subject in (*LOCKED, *LOCKED.values())]
    mixes = [f"--mix={name}={mix}" for name, mix in WORKLOADS.items()]
    turns = {
        (part, mode): partial(measure, *command, more={"ASSAY_TRANSACTIONS": mode} if mode else {})
        for part, command in {
            "locks": ("elision_benchmark",),
            "maps": (
                "maps_benchmark",
                "10000",
                *entrants,
                *mixes,
                "--rounds=7",
                "--warm-up-ms=5",
                "--measured-ms=20",
            ),
        }.items()
        for mode in ("none", "")
    }
    done = by_turns(turns, PROCESSES_OF_MAPS)
    here = variants_of(done["locks", ""], "transactions")[0]["here"][0]
    goals = {"one thread": "; goal: at most 1.02", "two threads, one counter": "; goal: at most 1.05"}
    for mode, what in (("none", "without"), ("", "with"))[: 2 if here else 1]:
        print(f"\n{what} transactions: time of a section, elided lock / std::mutex")
        for group in ("one thread", "two threads, one counter", "two threads, a counter each"):
            goal = goals.get(group, "") if mode else ""
            variants = variants_of(done["locks", mode], group)
            figure(group + goal, compared(variants, "elided", "mutex"))
            figure(f"{group}, compact lock", compared(variants, "compact", "mutex"))
        calls = variants_of(done["locks", mode], "a call")
        figure(
            "transaction::begin() and commit(), ns", compared(calls, "asks for a transaction", "counts", sub)
        )
        for workload, (elided, locked) in product(WORKLOADS, LOCKED.items()):
            rates = variants_of(done["maps", mode], workload)
            name = f"time of an operation, {elided} / {locked}, 10,000 keys, {workload}"
            figure(name, compared(rates, f"{locked}:2", f"{elided}:2"))


Cells: TypeAlias = dict[tuple[str, int, str], Variants]
"""Operations per second of entrants, by layout of keys, key range and workload."""


def cells_of(entrants: Sequence[str], workloads: Sequence[str]) -> Cells:
    """Return what entrants did by turns, on dense and sparse keys of three ranges."""
    mixes = [f"--mix={name}={WORKLOADS[name]}" for name in workloads]
    turns = {
        (layout, keys): partial(
            measure,
            "maps_benchmark",
            *(str(keys), *entrants, *mixes, f"--layout={layout}", *turns_on(keys)),
            allocator="jemalloc",
        )
        for layout, keys in product(("dense", "sparse"), (100, 10_000, 1_000_000))
    }
    done = by_turns(turns, PROCESSES_OF_BT_MAP)
    return {
        (*cell, workload): variants_of(done[cell], workload) for cell, workload in product(done, workloads)
    }


def turns_on(entries: int) -> tuple[str, ...]:
    """Return how often and how long each is measured on this many entries, and runs before that.

    A large map takes longer to come back into the caches after others' turns.
    """
    if entries < 1_000_000:
        return ("--rounds=4", "--warm-up-ms=5", "--measured-ms=30")
    return ("--rounds=3", "--warm-up-ms=30", "--measured-ms=60")


def table(title: str, cells: Cells, entrant: str, other: str, goal: Callable[[int, str], str]) -> None:
    """Print the throughput of one entrant over that of another in each cell, with the goal for it."""
    print(f"\nthroughput, {title}")
    for (layout, keys, workload), rates in cells.items():
        name = f"{layout}, {keys:9,} keys, {workload:8}   {goal(keys, workload)}"
        figure(name, compared(rates, entrant, other))


def at_least(small: float, constant: float, others: float) -> Callable[[int, str], str]:
    """Return goals: for a hundred keys, and for more of them by workload."""

    def goal(keys: int, workload: str) -> str:
        larger = constant if workload == "Constant" else others
        return f"goal: at least {small if keys == 100 else larger}"

    return goal


def bt_map() -> None:
    """Print what bt_map does beside other maps.

    About a quarter of an hour, most of which it takes to fill maps of a million keys.
    """
    entrants = ["bt_map:1", "bt_map:2", "bt_map:4", f"{SEQUENTIAL}:1", "tbb_hash_map:2"]
    entrants += [f"{peer}:{threads}" for peer, threads in product(ORDERED_PEERS, (1, 2))]
    cells = cells_of(entrants, list(WORKLOADS))
    title = "bt_map / absl::btree_map without a lock, threads: 1"
    table(title, cells, "bt_map:1", f"{SEQUENTIAL}:1", at_least(1.0, 1.5, 1.3))
    for threads in (2, 4):
        title = f"bt_map / absl::btree_map without a lock, threads: {threads} / 1"
        table(title, cells, f"bt_map:{threads}", f"{SEQUENTIAL}:1", lambda *_: "")
    table("bt_map, threads: 2 / 1", cells, "bt_map:2", "bt_map:1", at_least(1.2, 1.9, 1.8))
    table("bt_map, threads: 4 / 2", cells, "bt_map:4", "bt_map:2", at_least(0.9, 0.9, 0.9))
    beside = dict.fromkeys(ORDERED_PEERS, cells)
    for peer in PEERS_APART:
        entrants = [f"{subject}:{threads}" for subject, threads in product(("bt_map", peer), (1, 2))]
        beside[peer] = cells_of(entrants, list(WORKLOADS))
    for (peer, both), threads in product(beside.items(), (1, 2)):
        title = f"bt_map / {peer}, threads: {threads}"
        table(title, both, f"bt_map:{threads}", f"{peer}:{threads}", lambda *_: "goal: above 1")
    # Its erases take time linear in the number of keys, so that it is measured with searches alone.
    searches = cells_of(["bt_map:1", "bt_map:2", "tbb_map:1", "tbb_map:2"], ["Constant"])
    for threads in (1, 2):
        title = f"bt_map / tbb_map, threads: {threads}"
        table(title, searches, f"bt_map:{threads}", f"tbb_map:{threads}", lambda *_: "goal: above 1")
    updates = {cell: rates for cell, rates in cells.items() if cell[2] == "Update"}
    title = "bt_map / tbb_hash_map, threads: 2"
    table(title, updates, "bt_map:2", "tbb_hash_map:2", lambda *_: "goal: above 1")

    alone = processes(PROCESSES_OF_BT_MAP, "bt_map_benchmark", allocator="jemalloc")
    print("\nresident memory of a million keys, bt_map / absl::btree_map filled in random order")
    held = variants_of(alone, "bytes of a million keys")
    goals = {
        "inserted in random order": " (goal: at most 1.4)",
        "loaded from sorted data": " (goal: at most 1.1)",
        "inserted in ascending order": "",
    }
    for how, goal in goals.items():
        figure(how + goal, compared(held, f"bt_map, {how}", "absl::btree_map, inserted in random order"))
    print("\nthroughput with a million keys, one thread")
    one_search = variants_of(alone, "ns of a search")
    figure("find_many / find (goal: at least 2)", compared(one_search, "find", "find_many"))
    print("\ntime of a search among a million keys")
    figure("visit / find (goal: at most 1)", compared(one_search, "visit", "find"))
    for call in ("find", "update"):
        figure(f"{call} in large pages / in small ones", compared(one_search, call, f"{call} in small pages"))
    added = compared(one_search, "find without a handle", "find", sub)
    figure("find without a handle, ns more (goal: at most 5)", added)
    figure("update / find (goal: at most 1.5)", compared(one_search, "update", "find"))
    print("\nthroughput of ranges, one thread, bt_map / absl::btree_map")
    for size, length in product((100, 10_000, 1_000_000), (10, 100, 1_000)):
        if length <= size:
            one_range = variants_of(alone, f"ns of a range of {length} among {size}")
            figure(f"{length:,} of {size:,} elements", compared(one_range, "absl::btree_map", "bt_map"))


def elb_trees() -> None:
    """Print what ELB-trees do beside other multimaps and queues.

    The paper's experiments (Bonnichsen 2016, section 5.5), but for a time instead of n operations.
    """
    multimaps = ["std_multimap_unsynchronised:1"]
    multimaps += [
        f"{subject}:{threads}" for subject, threads in product((*MULTIMAPS, MAP), THREADS_OF_ELB_TREES)
    ]
    raced = races(multimaps, "20,20,60,50")
    goals = {10_000: "goal: at least 0.8", 1_000_000: "goal: at least 1.4"}
    peers("elb_multimap", raced, "std_multimap_unsynchronised", (1,), goals)
    goals = {100_000: "goal: at least 1.8", 1_000_000: "goal: at least 1.8"}
    for multimap in ("elb_multimap", "elb_multimap_wide"):
        for few, more in pairwise(THREADS_OF_ELB_TREES):
            print(f"\nthroughput, {multimap}, threads: {more} / {few}")
            for n, done in raced.items():
                goal = goals.get(n, "") if multimap == "elb_multimap" and more == 2 else ""
                figure(f"{n:9,} entries   {goal}", compared(done, f"{multimap}:{more}", f"{multimap}:{few}"))
    peers("elb_multimap", raced, "std_multimap_mutex", THREADS_OF_ELB_TREES, {})
    goals = dict.fromkeys(SIZES_OF_ELB_TREES, "goal: at least 0.6")
    for other in ("bt_multimap", MAP):
        peers("elb_multimap", raced, other, THREADS_OF_ELB_TREES, goals)
    for other in ("elb_multimap_wide", "elb_multimap_epochs"):
        peers(other, raced, "elb_multimap", THREADS_OF_ELB_TREES, {})

    subjects = (*QUEUES, "elb_priority_queue_narrow", *QUEUES_OF_OTHERS)
    queues = [f"{subject}:{threads}" for subject, threads in product(subjects, THREADS_OF_ELB_TREES)]
    raced = races(queues, "50,50,0,50")
    for queue, peer, threads in product(QUEUES, QUEUES_OF_OTHERS, THREADS_OF_ELB_TREES):
        has_goal = (queue, peer, threads) == ("elb_priority_queue", "std_priority_queue_mutex", 2)
        goals = dict.fromkeys(SIZES_OF_ELB_TREES, "goal: above 1") if has_goal else {}
        peers(queue, raced, peer, (threads,), goals)
    for other in ("elb_priority_queue_near", "elb_priority_queue_narrow"):
        peers(other, raced, "elb_priority_queue", THREADS_OF_ELB_TREES, {})
    turns = {n: partial(measure, "queue_ranks", str(n), allocator="jemalloc") for n in SIZES_OF_ELB_TREES}
    for n, ranks in by_turns(turns, PROCESSES_OF_ELB_TREES).items():
        print(f"\nlower entries in elb_priority_queue when one is popped, {n:,} entries")
        for pop in ranks[0]:
            variants = variants_of(ranks, pop)
            for name in variants[0]:
                figure(f"{pop}, {name}", medians(variants, name))


def coherence() -> None:
    """Print how many cache lines would move between processors that share a map: a simulation."""
    moved(SHARED_MAPS, "--updates", "0", "10", "100")
    moved(SHARED_BAGS, "--updates", "100", "--layout", "dense", "--distributions", "uniform")


def moved(subjects: Sequence[str], *arguments: str) -> None:
    """Print what the simulation counts for each workload.

    A line that moves m times in 1,000 operations holds all processors together to 10,000 / m million
    operations a second if each of its moves takes 100 ns.
    """
    arguments = ("10000", *subjects, *arguments, "--processors", *map(str, PROCESSORS))
    done = processes(PROCESSES_OF_COHERENCE, "coherence_benchmark", *arguments)
    for workload in dict.fromkeys(group.split(":")[0] for group in done[0]):
        fetched, claimed, invalidated, busiest = (
            variants_of(done, f"{workload}: {what}")
            for what in ("fetched", "claimed", "invalidated", "busiest")
        )
        print(f"\nsimulated, not measured: lines that move in 1,000 operations, 10,000 keys, {workload}")
        for subject, number in product(subjects, PROCESSORS):
            entrant = f"{subject}:{number}"
            moves = [
                1000 * (a + b)
                for a, b in zip(medians(fetched, entrant), medians(claimed, entrant), strict=True)
            ]
            figure(f"{subject}, {number} processors", moves, digits=0)
        for subject in subjects:
            entrant = f"{subject}:{PROCESSORS[-1]}"
            name = f"{subject}, {PROCESSORS[-1]} processors"
            figure(
                f"{name}, copies that end", [1000 * each for each in medians(invalidated, entrant)], digits=0
            )
            figure(f"{name}, the busiest line", [1000 * each for each in medians(busiest, entrant)], digits=0)


def races(entrants: Sequence[str], mix: str) -> dict[int, Variants]:
    """Return what entrants did by turns, for each number of entries."""
    turns = {
        n: partial(
            measure,
            "maps_benchmark",
            *(str(2 * n), *entrants, f"--mix=all={mix}", "--numbers=32", *turns_on(n)),
            allocator="jemalloc",
        )
        for n in SIZES_OF_ELB_TREES
    }
    done = by_turns(turns, PROCESSES_OF_ELB_TREES)
    return {n: variants_of(answers, "all") for n, answers in done.items()}


def peers(
    entrant: str,
    raced: Mapping[int, Variants],
    other: str,
    numbers: Sequence[int],
    goals: Mapping[int, str],
) -> None:
    """Print the throughput of one over that of another, with the same numbers of threads."""
    for threads in numbers:
        print(f"\nthroughput, {entrant} / {other}, threads: {threads}")
        for n, done in raced.items():
            rates = compared(done, f"{entrant}:{threads}", f"{other}:{threads}")
            figure(f"{n:9,} entries   {goals.get(n, '')}", rates)


if __name__ == "__main__":
    main()
