#!/usr/bin/env python3
"""Runs a trial, and says how many instructions an operation took where the processor does not count them.

A program that speaks the trial protocol, for `[subjects.NAME]`. The parameter `map` names the subject of
assay-trial that is measured; the result is that of assay-trial. Where it lacks `instructions_per_operation`,
the same trial is run once more under valgrind's callgrind, shorter, with instructions counted only in the
function that measures. Its times are those of the first run.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

METRIC = "instructions_per_operation"
MEASURED = "assay::trial::measure(*"
"""The function of assay-trial in which a thread's operations are generated and performed."""
DURATION_MS = 50
ARRAY = 100_000


def trial_program() -> str:
    """Return assay-trial: that of this tree, or one on the PATH."""
    built = Path(__file__).resolve().parents[1] / "build" / "release" / "bin" / "assay-trial"
    found = shutil.which(built) or shutil.which("assay-trial")
    if found is None:
        refuse(f"there is no {built}; run make build")
    return found


def refuse(why: str) -> Any:
    """End as the protocol says of a request that cannot be carried out."""
    print(f"error: {why}", file=sys.stderr)
    sys.exit(2)


def run(command: list[str], request: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a trial; what it says and how it ends is passed on where there is none."""
    ended = subprocess.run(  # noqa: S603
        command, input=json.dumps(request), capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        sys.stderr.write(ended.stderr)
        sys.exit(ended.returncode if ended.returncode > 0 else 1)
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def instructions_per_operation(program: str, request: dict[str, Any]) -> float:
    """Return what callgrind counts."""
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
        result = run([valgrind, *options, f"--callgrind-out-file={counted}", program], request)
        total = re.search(r"^totals: (\d+)", counted.read_text(encoding="utf-8"), flags=re.MULTILINE)
    operations = sum(
        each["attempted"] for thread in result["threads"] for each in thread["operations"].values()
    )
    if result["status"] != "valid" or total is None or int(total[1]) == 0 or operations == 0:
        refuse(f"callgrind counted nothing in {MEASURED}, in a trial that was {result['status']}")
    return int(total[1]) / operations


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    parameters = request.pop("parameters", {})
    if set(parameters) != {"map"}:
        refuse("parameters: this program takes one, map, which names a subject of assay-trial")
    request["subject"] = parameters["map"]
    program = trial_program()
    result = run([program], request)
    if result["status"] == "valid" and METRIC not in result["metrics"]:
        result["metrics"][METRIC] = instructions_per_operation(program, request)
    print(json.dumps(result))


main()
