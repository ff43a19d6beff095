#!/usr/bin/env python3
"""Runs a trial on a host that is conditioned for it: with load or without, in a scheduling class, and so on.

A program that speaks the trial protocol, for `[subjects.NAME]`. Its arguments are the command that runs the
trial, by default assay-trial. Parameters:

- `measured`: the subject of that command.
- `load`: none, or busy: beside the trial runs one process for each processor that does nothing but run.
- `scheduling`: other, or fifo: the highest real-time priority that is allowed.
- `real_time_share`: as_found, or unlimited: real-time processes may have all of the time.
- `governor`: as_found, or performance.
- `seeding`: fresh, or fixed: every trial has the same seed.

What is changed on the host is in the journal of `assay host`, and put back when the trial has ended. Beside
the metrics of the trial, `iteration_p25_ns` and so on up to `iteration_max_ns`, and `iteration_iqr_ns`, are
those of its single operations, where it has a latency of each and does not report them itself.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from assay.errors import AssayError
from assay.host.journal import journal_folder
from assay.host.priority import of_trial
from assay.host.system import System
from assay.host.tune import tuned

LEVELS = {
    "load": ("none", "busy"),
    "scheduling": ("other", "fifo"),
    "real_time_share": ("as_found", "unlimited"),
    "governor": ("as_found", "performance"),
    "seeding": ("fresh", "fixed"),
}
"""Parameter -> its values, the default first."""
TUNED = {"real_time_share": "real-time-share", "governor": "governor"}
"""Parameter -> the setting of the host that its second value makes good."""
FIXED_SEED = 1
SHARES = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p999": 0.999}
LONGEST_S = 60
"""A real-time trial that holds a processor for longer is ended by the kernel."""


def refuse(why: str) -> NoReturn:
    """End as the protocol says of a request that cannot be carried out."""
    print(f"error: {why}", file=sys.stderr)
    sys.exit(2)


def trial_command() -> list[str]:
    """Return the command that runs the trial."""
    if sys.argv[1:]:
        return sys.argv[1:]
    built = Path(__file__).resolve().parents[1] / "build" / "release" / "bin" / "assay-trial"
    program = shutil.which(built) or shutil.which("assay-trial")
    return [program] if program else refuse(f"there is no {built}; run make build")


@contextmanager
def load(wanted: bool) -> Iterator[None]:
    """While entered, one process for each processor is busy."""
    busy = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(busy) for _ in os.sched_getaffinity(0) if wanted]  # noqa: S603
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def conditioned(parameters: Mapping[str, Any], held: ExitStack) -> None:
    """Have the host as it is asked for until `held` is closed."""

    def fail(line: str) -> None:
        refuse(line)

    settings = [setting for name, setting in TUNED.items() if parameters[name] != LEVELS[name][0]]
    if settings:
        system = System()
        for setting in settings:
            if setting == "governor" and not system.read_all(
                "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
            ):
                refuse("governor: the kernel of this machine sets no frequencies")
        try:
            held.enter_context(tuned(system, journal_folder(), fail, settings))
        except AssayError as error:
            refuse(str(error))
    held.enter_context(load(parameters["load"] == "busy"))


def iterations(result: Mapping[str, Any]) -> dict[str, float]:
    """Return what the times of single operations come to, nanoseconds."""
    buckets = sorted(
        bucket for histogram in result["latency"]["histograms"] for bucket in histogram["buckets"]
    )
    total = sum(count for _, _, count in buckets)
    found: dict[str, float] = {}
    for name, share in SHARES.items():
        passed = 0
        for low, high, count in buckets:
            passed += count
            if passed >= share * total:
                found[f"iteration_{name}_ns"] = (low + high) / 2
                break
    longest = max(histogram["max_ns"] for histogram in result["latency"]["histograms"])
    return {
        **found,
        "iteration_max_ns": longest,
        "iteration_iqr_ns": found["iteration_p75_ns"] - found["iteration_p25_ns"],
    }


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    given = request.pop("parameters", {})
    parameters = {name: given.pop(name, levels[0]) for name, levels in LEVELS.items()}
    for name, levels in LEVELS.items():
        if parameters[name] not in levels:
            refuse(f"parameters.{name}: {parameters[name]!r} is neither {' nor '.join(levels)}")
    request["subject"] = given.pop("measured", request["subject"])
    if given:
        request["parameters"] = given
    if parameters["seeding"] == "fixed":
        request["seed"] = FIXED_SEED
    command = trial_command()
    if parameters["scheduling"] == "fifo":
        priority = of_trial(request, LONGEST_S)
        if "scheduling" not in priority.state:
            refuse(
                "scheduling: real-time processes are not permitted: run as root, or see docs/guide/host.md"
            )
        command = [*priority.command, *command]
    with ExitStack() as held:
        conditioned(parameters, held)
        done = subprocess.run(  # noqa: S603
            command, input=json.dumps(request), capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 1)
    result: dict[str, Any] = json.loads(done.stdout)
    if result["status"] == "valid" and "latency" in result and "iteration_p50_ns" not in result["metrics"]:
        result["metrics"] |= iterations(result)
    print(json.dumps(result))


main()
