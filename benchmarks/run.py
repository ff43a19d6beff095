"""Measures Assay itself: `make bench`; `benchmarks/run.py PART...` only some parts.

Every figure has an interval of 95% and, where there is one, the goal that it is held against. The two
sides of a ratio ran in alternation: trials of campaigns of Assay's own, or turns within a process of the
programs that measure a data structure.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import store
from assay.analysis import Analysis, median_interval
from assay.report.gather import gather
from assay.runner.allocators import library_of
from assay.store import Store

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "build/release/bin"
PROCESSES = 15
SAMPLING_PROCESSES = 9  # of some 6 s each
PROCESSES_OF_MAPS = 9

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


def main() -> None:
    """Run the benchmarks that are named, or all, and print their figures."""
    every = (generation, sampling, reclamation, trees, bt_map, elb_trees, trials, stores)
    parts = {part.__name__: part for part in every}
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(f"usage: benchmarks/run.py [PART...], all without one, of {', '.join(parts)}")
        return
    for name in sys.argv[1:]:
        if name not in parts:
            sys.exit(f"error: there is no part {name}; there are {', '.join(parts)}")
    for name in sys.argv[1:] or parts:
        parts[name]()


def trials() -> None:
    """Print what the trial loop, a trial and probes cost, from campaigns of Assay's own."""
    with tempfile.TemporaryDirectory() as folder:
        with measured("trial_loop.toml", folder) as opened:
            title = "time per operation over a no-op map, trial loop / hand-inlined loop (goal: at most 1.25)"
            times(title, gather(opened, 1).analysis)
        with measured("trial_overhead.toml", folder) as opened:
            trial_overhead(opened)
        with measured("probes_idle.toml", folder) as opened:
            probes_idle(gather(opened, 1).analysis)
        with measured("probes_recorded.toml", folder) as opened:
            probes_recorded(opened)


def stores() -> None:
    """Print what a large store costs."""
    store.main()


def answers(program: str, processes: int, *arguments: str, allocator: str = "") -> list[dict[str, Any]]:
    """Return what each of some processes of a program prints as JSON.

    An allocator is loaded before the C library's, and the program is told to look for it.
    """
    command = [str(PROGRAMS / program), *arguments]
    environment = dict(os.environ)
    if allocator:
        command += ["--allocator", allocator]
        environment["LD_PRELOAD"] = library_of(allocator)
    done: list[dict[str, Any]] = []
    for _ in range(processes):
        ran = subprocess.run(command, env=environment, check=False, stdout=subprocess.PIPE)  # noqa: S603
        if ran.returncode:
            sys.exit(ran.returncode)
        done.append(json.loads(ran.stdout))
    return done


def sampling() -> None:
    """Print what sampling latency costs on maps of a million keys: medians over processes."""
    done = answers("sampling_benchmark", SAMPLING_PROCESSES)
    print("\ntime per operation, one latency in 64 taken / none, 1 million keys (goal: at most 1.03)")
    for subject in done[0]:
        figure(subject, [ratios[subject] for ratios in done])


def generation() -> None:
    """Print how long it takes to fill a batch, in several ways and from several distributions.

    A process alternates between all of them and gives the median of each; what is printed are medians over
    processes.
    """
    done = answers("generation_benchmark", PROCESSES)
    print(
        "\nfilling a batch, uniform keys and three kinds, ns per operation (goal: at most 0.4 with AVX-512)"
    )
    for name in done[0]:
        if name.startswith("fill_"):
            figure(name.removeprefix("fill_"), [each[name] for each in done])
    print("\nfilling a batch from 10^9 keys, time per operation / from the uniform distribution")
    for name in done[0]:
        if name.startswith("distribution_"):
            ratios = [each[name] / each["distribution_uniform"] for each in done]
            figure(name.removeprefix("distribution_"), ratios)
    print("\ntime per draw from Zipf's law, 0.99 over 10^9 keys, exact / formula of YCSB (goal: at most 0.5)")
    figure("zipf", [each["zipf_exact"] / each["zipf_gray"] for each in done])


def figure(name: str, values: list[float]) -> None:
    """Print the median of one value a process with its interval."""
    interval = median_interval(values)
    if interval is None:
        sys.exit(f"error: no interval for {name}: too few values")
    middle = f"{median(values):6.3f}   [{interval.low:.3f}, {interval.high:.3f}]"
    print(f"  {name:64} {middle}   {len(values)} processes")


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


def times(title: str, analysis: Analysis) -> None:
    """Print the time of an operation over that of the baseline, in each context."""
    print(f"\n{title}")
    for each in analysis.comparisons:
        if each.ratio is None or each.interval is None:
            sys.exit(f"error: no interval for {named(each.context)}: too few valid trials")
        low, high = 1 / each.interval.high, 1 / each.interval.low
        print(
            f"  {named(each.context):40} {1 / each.ratio:6.3f}   [{low:.3f}, {high:.3f}]   {each.pairs} pairs"
        )


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
    for one, following in pairwise(trials):
        calibrations = (one.calibration_after, following.calibration_before)
        if one.status != "valid" or not all(calibrations):
            left_out += 1
            continue
        excepted = (
            records[one.id]["request"]["duration_ms"]
            + one.metrics["prefill_ms"]
            + sum(calibration["elapsed_ms"] for calibration in calibrations)
        )
        between = (following.started_at - one.started_at).total_seconds() * 1e3
        overheads.setdefault(named(one.levels), []).append(between - excepted)
    if left_out:
        print(f"  {left_out} trials are left out: not valid, or without a calibration")
    for name, values in sorted(overheads.items()):
        interval = median_interval(values)
        if interval is None:
            sys.exit(f"error: no interval for {name}: too few valid trials")
        middle = f"{median(values):6.1f}   [{interval.low:.1f}, {interval.high:.1f}]"
        print(f"  {name:40} {middle}   {len(values)} trials")


def probes_idle(analysis: Analysis) -> None:
    """Print the time of an operation with a probe that does not record over that without the probe."""
    print(
        "\ntime per operation with an idle probe / compiled out (goal: 1 is inside, less than 1% either way)"
    )
    for each in analysis.comparisons:
        if each.ratio is None or each.interval is None:
            sys.exit("error: no interval for idle probes: too few valid trials")
        low, high = 1 / each.interval.high, 1 / each.interval.low
        print(f"  {'std::map':40} {1 / each.ratio:6.3f}   [{low:.3f}, {high:.3f}]   {each.pairs} pairs")


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
    interval = median_interval(values)
    if interval is None:
        sys.exit("error: no interval for counters: too few valid trials")
    floor = median(times["loop_unprobed"] for times in pairs)
    middle = f"{median(values):6.2f}   [{interval.low:.2f}, {interval.high:.2f}]"
    print(f"  {f'over a floor of {floor:.2f}':40} {middle}   {len(values)} pairs")


def reclamation() -> None:
    """Print what reclamation costs and how much waits for it: medians over processes."""
    done = answers("reclamation_benchmark", PROCESSES)
    for title, figures in done[0].items():
        print(f"\n{title}")
        for name in figures:
            figure(name, [each[title][name] for each in done])


def trees() -> None:
    """Print the throughput of each tree over that of each peer, two threads: medians over processes."""
    entrants = [f"{subject}:2" for subject in (*TREES, *PEERS_OF_TREES)]
    mixes = [
        f"--mix={updates}={updates / 2},{updates / 2},{100 - updates},50" for updates in (0, 10, 50, 100)
    ]
    for keys in (20_000, 2_000_000):
        done = answers("maps_benchmark", PROCESSES_OF_MAPS, str(keys), *entrants, *mixes)
        print(f"\nthroughput, tree / peer, {keys:,} keys, two threads (goal: above 1)")
        for updates in sorted(done[0], key=int):
            for tree, peer in product(TREES, PEERS_OF_TREES):
                name = f"{tree} / {peer}, {updates}% updates"
                figure(name, ratios([rates[updates] for rates in done], f"{tree}:2", f"{peer}:2"))


def ratios(done: list[dict[str, list[float]]], one: str, other: str) -> list[float]:
    """Return the median ratio of what two did by turns, for each process."""
    return [median(map(truediv, rates[one], rates[other])) for rates in done]


Cells: TypeAlias = dict[tuple[str, int, str], list[dict[str, list[float]]]]
"""Operations per second: layout of keys, key range and workload -> a process each -> entrant -> rounds."""


def cells_of(entrants: Sequence[str], workloads: Sequence[str]) -> Cells:
    """Return what entrants did by turns, on dense and sparse keys of three ranges."""
    mixes = [f"--mix={name}={WORKLOADS[name]}" for name in workloads]
    cells: Cells = {}
    for layout, keys in product(("dense", "sparse"), (100, 10_000, 1_000_000)):
        # A large map takes longer to come back into the caches after others' turns.
        turns = ("--rounds=3", "--warm-up-ms=30", "--measured-ms=60")
        if keys < 1_000_000:
            turns = ("--rounds=4", "--warm-up-ms=5", "--measured-ms=30")
        arguments = (str(keys), *entrants, *mixes, f"--layout={layout}", *turns)
        done = answers("maps_benchmark", PROCESSES_OF_BT_MAP, *arguments, allocator="jemalloc")
        for workload in workloads:
            cells[layout, keys, workload] = [rates[workload] for rates in done]
    return cells


def table(title: str, cells: Cells, one: str, other: str, goal: Callable[[int, str], str]) -> None:
    """Print the throughput of one entrant over that of another in each cell, with the goal for it."""
    print(f"\nthroughput, {title}")
    for (layout, keys, workload), rates in cells.items():
        figure(f"{layout}, {keys:9,} keys, {workload:8}   {goal(keys, workload)}", ratios(rates, one, other))


def at_least(small: float, constant: float, others: float) -> Callable[[int, str], str]:
    """Return goals: for a hundred keys, and for more of them by workload."""

    def goal(keys: int, workload: str) -> str:
        larger = constant if workload == "Constant" else others
        return f"goal: at least {small if keys == 100 else larger}"

    return goal


def bt_map() -> None:
    """Print what bt_map does beside other maps: medians over processes.

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

    alone = answers("bt_map_benchmark", PROCESSES_OF_BT_MAP, allocator="jemalloc")
    for title, figures in alone[0].items():
        print(f"\n{title}")
        for name in figures:
            figure(name, [each[title][name] for each in alone])


def elb_trees() -> None:
    """Print what ELB-trees do beside other multimaps and queues: medians over processes.

    The paper's experiments (Bonnichsen 2016, section 5.5), but for a time instead of n operations.
    """
    multimaps = ["std_multimap_unsynchronised:1"]
    multimaps += [f"{each}:{threads}" for each, threads in product((*MULTIMAPS, MAP), THREADS_OF_ELB_TREES)]
    raced = {n: races(n, multimaps, "20,20,60,50") for n in SIZES_OF_ELB_TREES}
    goals = {10_000: "goal: at least 0.8", 1_000_000: "goal: at least 1.4"}
    peers("elb_multimap", raced, "std_multimap_unsynchronised", (1,), goals)
    goals = {100_000: "goal: at least 1.8", 1_000_000: "goal: at least 1.8"}
    for multimap in ("elb_multimap", "elb_multimap_wide"):
        for few, more in pairwise(THREADS_OF_ELB_TREES):
            print(f"\nthroughput, {multimap}, threads: {more} / {few}")
            for n, done in raced.items():
                goal = goals.get(n, "") if multimap == "elb_multimap" and more == 2 else ""
                figure(f"{n:9,} entries   {goal}", ratios(done, f"{multimap}:{more}", f"{multimap}:{few}"))
    peers("elb_multimap", raced, "std_multimap_mutex", THREADS_OF_ELB_TREES, {})
    goals = dict.fromkeys(SIZES_OF_ELB_TREES, "goal: at least 0.6")
    for other in ("bt_multimap", MAP):
        peers("elb_multimap", raced, other, THREADS_OF_ELB_TREES, goals)
    for other in ("elb_multimap_wide", "elb_multimap_epochs"):
        peers(other, raced, "elb_multimap", THREADS_OF_ELB_TREES, {})

    subjects = (*QUEUES, "elb_priority_queue_narrow", *QUEUES_OF_OTHERS)
    queues = [f"{each}:{threads}" for each, threads in product(subjects, THREADS_OF_ELB_TREES)]
    raced = {n: races(n, queues, "50,50,0,50") for n in SIZES_OF_ELB_TREES}
    for queue, peer, threads in product(QUEUES, QUEUES_OF_OTHERS, THREADS_OF_ELB_TREES):
        has_goal = (queue, peer, threads) == ("elb_priority_queue", "std_priority_queue_mutex", 2)
        goals = dict.fromkeys(SIZES_OF_ELB_TREES, "goal: above 1") if has_goal else {}
        peers(queue, raced, peer, (threads,), goals)
    for other in ("elb_priority_queue_near", "elb_priority_queue_narrow"):
        peers(other, raced, "elb_priority_queue", THREADS_OF_ELB_TREES, {})
    for n in SIZES_OF_ELB_TREES:
        ranks = answers("queue_ranks", PROCESSES_OF_ELB_TREES, str(n), allocator="jemalloc")
        print(f"\nlower entries in elb_priority_queue when one is popped, {n:,} entries")
        for name in ranks[0]:
            figure(name, [done[name] for done in ranks])


def races(n: int, entrants: Sequence[str], mix: str) -> list[dict[str, list[float]]]:
    """Return what entrants did by turns on n entries, for each process."""
    turns = ("--rounds=3", "--warm-up-ms=30", "--measured-ms=60")
    if n < 1_000_000:
        turns = ("--rounds=4", "--warm-up-ms=5", "--measured-ms=30")
    arguments = (str(2 * n), *entrants, f"--mix=all={mix}", "--numbers=32", *turns)
    done = answers("maps_benchmark", PROCESSES_OF_ELB_TREES, *arguments, allocator="jemalloc")
    return [rates["all"] for rates in done]


def peers(
    one: str,
    raced: Mapping[int, list[dict[str, list[float]]]],
    other: str,
    numbers: Sequence[int],
    goals: Mapping[int, str],
) -> None:
    """Print the throughput of one over that of another, with the same numbers of threads."""
    for threads in numbers:
        print(f"\nthroughput, {one} / {other}, threads: {threads}")
        for n, done in raced.items():
            rates = ratios(done, f"{one}:{threads}", f"{other}:{threads}")
            figure(f"{n:9,} entries   {goals.get(n, '')}", rates)


if __name__ == "__main__":
    main()
