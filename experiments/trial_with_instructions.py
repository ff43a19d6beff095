#!/usr/bin/env python3
"""Runs a trial, and says how many instructions an operation took where the processor does not count them.

A program that speaks the trial protocol, for `[subjects.NAME]`. The parameter `map` names the subject of
assay-trial that is measured; the result is that of assay-trial. Where it lacks `instructions_per_operation`,
the same trial is run once more under valgrind's callgrind, shorter, with instructions counted only in the
function that measures. Its times are those of the first run.

With the parameter `misses = 1` callgrind also simulates the caches, as large as those of the processor that
it runs on, from the prefill on: `l1_misses_per_operation` are the accesses to data that miss the first level,
and `last_level_misses_per_operation` those that miss the last.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

METRIC = "instructions_per_operation"
EVENTS = {
    METRIC: ("Ir",),
    "l1_misses_per_operation": ("D1mr", "D1mw"),
    "last_level_misses_per_operation": ("DLmr", "DLmw"),
}
"""What callgrind counts under its names for them; all but the first where it simulates caches."""
MEASURED = "assay::trial::measure(*"
"""The function of assay-trial in which a thread's operations are generated and performed."""
DURATION_MS = 200
ARRAY = 100_000


def trial_program() -> str:
    """Return assay-trial: that of this tree, or one on the PATH."""
    built = Path(__file__).resolve().parents[1] / "build" / "release" / "bin" / "assay-trial"
    program = shutil.which(built) or shutil.which("assay-trial")
    if program is None:
        refuse(f"there is no {built}; run make build")
    return program


def refuse(why: str) -> NoReturn:
    """End as the protocol says of a request that cannot be carried out."""
    print(f"error: {why}", file=sys.stderr)
    sys.exit(2)


def run(command: list[str], request: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a trial; what it says and how it ends is passed on where there is none."""
    completed = subprocess.run(  # noqa: S603
        command, input=json.dumps(request), capture_output=True, text=True, check=False
    )
    if completed.returncode != 0:
        sys.stderr.write(completed.stderr)
        sys.exit(completed.returncode if completed.returncode > 0 else 1)
    result: dict[str, Any] = json.loads(completed.stdout)
    return result


def counted_per_operation(program: str, request: dict[str, Any], misses: bool) -> dict[str, float]:
    """Return what callgrind counts, with misses of simulated caches or without."""
    valgrind = shutil.which("valgrind") or refuse(
        "valgrind is not installed, and the processor has no counters"
    )
    request = {**request, "duration_ms": DURATION_MS, "warm_up_ms": 0}
    engine = request.get("engine", {})
    if "array" in engine:
        request["engine"] = {**engine, "array": min(engine["array"], ARRAY)}
    with tempfile.TemporaryDirectory() as folder:
        counted = Path(folder) / "callgrind.out"
        options = ["--tool=callgrind", "--collect-atstart=no", f"--toggle-collect={MEASURED}"]
        if misses:
            options.append("--cache-sim=yes")
        result = run([valgrind, *options, f"--callgrind-out-file={counted}", program], request)
        lines = dict(re.findall(r"^(events|totals): (.*)", counted.read_text(encoding="utf-8"), re.MULTILINE))
    totals = dict(zip(lines["events"].split(), map(int, lines["totals"].split()), strict=False))
    operations = sum(
        count["attempted"] for thread in result["threads"] for count in thread["operations"].values()
    )
    if result["status"] != "valid" or not totals.get("Ir") or operations == 0:
        refuse(f"callgrind counted nothing in {MEASURED}, in a trial that was {result['status']}")
    return {
        metric: sum(totals[event] for event in events) / operations
        for metric, events in EVENTS.items()
        if set(events) <= set(totals)
    }


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    parameters = request.pop("parameters", {})
    if not {"map"} <= set(parameters) <= {"map", "misses"}:
        refuse("parameters: this program takes map, which names a subject of assay-trial, and misses, 0 or 1")
    request["subject"] = parameters["map"]
    misses = bool(parameters.get("misses", 0))
    program = trial_program()
    result = run([program], request)
    if result["status"] == "valid" and (misses or METRIC not in result["metrics"]):
        # What the processor has counted itself stands.
        result["metrics"] = counted_per_operation(program, request, misses) | result["metrics"]
    print(json.dumps(result))


main()
