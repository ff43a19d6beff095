"""Measures the lab, as a part of `make bench`; only some parts, of those that `--help` lists:

PYTHONPATH=benchmarks .venv/bin/python satellites/lab/benchmarks.py PART...
"""

import json
import sys
from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from assay import programs
from assay.analysis import median
from harness import figure, medians, output, processes, run_parts, variants_of

PROCESSES = 15


def emulation() -> None:
    """Print how many transactions of a word assay-rtm emulates."""
    print("\nemulated transactions a second and thread (goal: at least 5,000)")
    program = programs.find("emulation_benchmark")
    for threads in (1, 2):
        rates = [float(output("assay-rtm", str(program), str(threads))) for _ in range(PROCESSES)]
        figure(f"threads: {threads}", rates, digits=0)


def governor() -> None:
    """Print what a governor of frequencies costs: a decision, and a sample of a machine."""
    done = processes(PROCESSES, "governor_benchmark")
    print("\nmicroseconds of a decision for one domain, simulated machine (goal: at most 20)")
    decisions = variants_of(done, "decision")
    for name in decisions[0]:
        figure(name, [each / 1000 for each in medians(decisions, name)])
    print("\nsampling at 10 Hz, counters of software, percent of one processor (goal: at most 0.1)")
    samples = medians(variants_of(done, "sample"), "64 processors")
    figure("64 processors", [100 * 10 * each / 1e9 for each in samples])


def evaluation() -> None:
    """Print how long the 54 workloads' evaluation on the simulated machine takes, and what it says.

    Ends the process where the adaptive governor misses one of its goals.
    """
    print("\nseconds of the evaluation of governors: 54 workloads, 5 seeds (goal: at most 120)")
    done = json.loads(output("assay-governor-simulation", "evaluate"))
    print(f"  evaluation: {done['took_seconds']:.0f}")
    print("\nSIMULATED: cost of the adaptive governor, by workload")
    misses = 0
    for exponent, name in enumerate(("E", "ED", "ED2")):
        adaptive = costs_of(done["results"], "adaptive", exponent)
        oracle = costs_of(done["results"], "oracle", exponent)
        fixed = [
            costs_of(done["results"], governor, exponent)
            for governor in sorted({one["governor"] for one in done["results"]})
            if governor.startswith("static-")
        ]
        best = min(fixed, key=lambda each: geometric_mean(each.values()))
        over_best = [cost / best[workload] for workload, cost in adaptive.items()]
        over_oracle = [cost / oracle[workload] for workload, cost in adaptive.items()]
        for what, ratio, goal in (
            ("mean, of the best static frequency's (goal: below 1)", geometric_mean(over_best), 1.0),
            ("the worst, of that (goal: below 1.05)", max(over_best), 1.05),
            ("median, of the oracle's (goal: below 1.03)", median(over_oracle), 1.03),
        ):
            print(f"  {name}, {what}: {ratio:.3f}")
            misses += ratio >= goal
    if misses:
        sys.exit(f"error: {misses} goals of the evaluation are missed")


def costs_of(results: Sequence[Mapping[str, Any]], governor: str, exponent: int) -> dict[str, float]:
    """Return workload -> median of energy * time^exponent over the seeds, of a governor.

    What does not weigh the exponent ran once for all of them.
    """
    weighs = governor in {"adaptive", "oracle"}
    return {
        one["workload"]: median([j * s**exponent for j, s in zip(one["joules"], one["seconds"], strict=True)])
        for one in results
        if one["governor"] == governor and one["exponent"] == (exponent if weighs else 0)
    }


if __name__ == "__main__":
    run_parts((emulation, governor, evaluation))
