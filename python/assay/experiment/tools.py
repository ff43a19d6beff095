"""Makes the experiment that measures the benchmarks of another tool, each in a process of its own."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.experiment.race import escaped, plain_name
from assay.experiment.types import Tool

METRIC: Mapping[Tool, str] = {"google-benchmark": "real_time_ns", "catch2": "time_ns"}
"""Tool -> what is compared where nobody says."""

BENCHMARK, CHOOSES = "benchmark", "chooses"
"""Parameters of a trial: the benchmark's name, and the argument that has the program run it."""

_ARGUMENTS: Mapping[Tool, Sequence[str]] = {
    "google-benchmark": (f"--benchmark_filter={{{CHOOSES}}}", "--benchmark_format=json"),
    # Without the bootstrap, which takes longer than the benchmark: trials are compared, not its intervals.
    "catch2": (f"{{{CHOOSES}}}", "--reporter=xml", "--benchmark-no-analysis"),
}


_SPECIAL: Mapping[Tool, re.Pattern[str]] = {
    # Its regular expressions refuse an escaped closing bracket or brace.
    "google-benchmark": re.compile(r"[.\[^$|()*+?{\\]"),
    "catch2": re.compile(r'^-|[\\,\[*"~]'),
}


def chooses(tool: Tool, name: str) -> str:
    """Return the argument by which a tool's program runs a benchmark alone; of Catch2, its test case."""
    escaped_name = _SPECIAL[tool].sub(r"\\\g<0>", name)
    return f"^{escaped_name}$" if tool == "google-benchmark" else escaped_name


def tool_tables(
    tool: Tool,
    words: Sequence[str],
    benchmarks: Mapping[str, Mapping[str, str]],
    comparison: Mapping[str, Any],
    link: str,
) -> dict[str, Any]:
    """Return the tables of an experiment that measures benchmarks of a program.

    Args:
        tool: whose benchmarks they are.
        words: its program, a path from the experiment's file or a name on the PATH; and its arguments.
        benchmarks: name -> its parameters.
        comparison: the table [comparison], but for what is compared.
        link: command that links the program anew; or "".
    """
    program, *arguments = words
    subject = plain_name(program)
    table: dict[str, Any] = {
        "program": program,
        "arguments": [
            *(escaped(argument, ()) for argument in arguments),
            *(option for option in _ARGUMENTS[tool] if option not in arguments),
        ],
        "extract": tool,
    }
    factor = {name: {"parameters": dict(parameters)} for name, parameters in benchmarks.items()}
    return {
        "name": subject.replace("_", "-")[:61].rstrip("-"),
        "factors": {"subject": [subject], BENCHMARK: factor},
        "design": {"blocks": 1},
        "perturb": {"layout": True} if link else {},
        "comparison": {"factor": BENCHMARK, **comparison},
        "subjects": {subject: table | ({"link": link} if link else {})},
    }
