#!/usr/bin/env python3
"""Runs a trial of a fixture on a host that is conditioned for it: with load, in a scheduling class, and more.

`conditioned_trial.py --trial PROGRAM`, for `[subjects.NAME]` with `fixture = true`, where PROGRAM is one of
fixtures, named from the folder of this file. Parameters, beside those of the fixture:

- `load`: none, or busy: beside the trial runs one process for each processor that does nothing but run.
- `scheduling`: other, or fifo: the highest real-time priority that is allowed.
- `real_time_share`: as_found, or unlimited: real-time processes may have all of the time.
- `governor`: as_found, or performance.
- `seeding`: fresh, or fixed: every trial has the same seed.

What is changed on the host is in the journal of `assay host`, and put back when the trial has ended.
The result says which settings the trial met (`host`).
"""

import json
import os
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
from assay.host.settings import state
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
LONGEST_S = 60
"""A real-time trial that holds a processor for longer is ended by the kernel."""


def refuse(why: str) -> NoReturn:
    """End as the protocol says of a request that cannot be carried out."""
    print(f"error: {why}", file=sys.stderr)
    sys.exit(2)


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


def met(parameters: Mapping[str, Any], priority: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a trial meets, of those that differ by parameters."""
    now = {**state(System()), **priority, "load": parameters["load"]}
    return {name: now[name] for name in ("load", "scheduling", "io-priority", *TUNED.values()) if name in now}


def main() -> None:
    """Answer one request."""
    if len(sys.argv) != 3 or sys.argv[1] != "--trial":
        refuse("usage: conditioned_trial.py --trial PROGRAM")
    command = [str(Path(__file__).resolve().parent / sys.argv[2]), "--trial"]
    request = json.load(sys.stdin)
    given = request.pop("parameters", {})
    parameters = {name: given.pop(name, levels[0]) for name, levels in LEVELS.items()}
    for name, levels in LEVELS.items():
        if parameters[name] not in levels:
            refuse(f"parameters.{name}: {parameters[name]!r} is neither {' nor '.join(levels)}")
    if given:
        request["parameters"] = given
    if parameters["seeding"] == "fixed":
        request["seed"] = FIXED_SEED
    of_process: Mapping[str, str] = {}
    if parameters["scheduling"] == "fifo":
        priority = of_trial(request, LONGEST_S, len(os.sched_getaffinity(0)))
        if "scheduling" not in priority.state:
            refuse(
                "scheduling: real-time processes are not permitted: run as root, or see docs/guide/host.md"
            )
        command, of_process = [*priority.command, *command], priority.state
    with ExitStack() as held:
        conditioned(parameters, held)
        host = met(parameters, of_process)
        done = subprocess.run(  # noqa: S603
            command, input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=False
        )
    if done.returncode != 0:
        print(done.stdout, end="")
        sys.exit(done.returncode if done.returncode > 0 else 1)
    print(json.dumps(json.loads(done.stdout) | {"host": host}))


main()
