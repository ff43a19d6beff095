"""Lists the benchmarks in programs of other tools."""

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from assay.experiment.tools import BENCHMARK, CHOOSES, chooses
from assay.experiment.types import Tool
from assay.runner.process import CannotStartError, Ended, StopSignals, run_process
from assay.runner.tool_output import check_readable, read
from assay.words import one_line, printable, shortened

_CATCH2_TAG = "[!benchmark]"
"""A tag of test cases that Catch2 runs only on request, where benchmarks usually are."""


def benchmarks_of(
    tool: Tool, folder: Path, words: Sequence[str], chosen: str, stop: StopSignals
) -> dict[str, dict[str, str]]:
    """Return each benchmark of a program -> the parameters of its trials; empty if there is no program.

    A program of Catch2 lists only its test cases, so each runs once, as briefly as possible.

    Args:
        tool: the tool of the program.
        folder: where it runs; its path is relative to this folder.
        words: its path or its name on the PATH, and its arguments.
        chosen: selects benchmarks; "" for all.
        stop: ends it.

    Raises:
        CannotStartError: it does not answer as programs of this tool do, or no satellite reads their output.
        Interrupted: `stop` was signalled.
    """
    check_readable(tool)
    program, *arguments = words
    path = folder / program if "/" in program else Path(shutil.which(program) or folder / program)
    if not path.is_file():
        return {}

    def ask(*options: str) -> str:
        ended = run_process(
            str(path),
            "",
            environment=os.environ,
            arguments=[*arguments, *options],
            directory=folder,
            stop=stop,
        )
        if ended.exit_code:
            raise CannotStartError(f"{printable(program)} does not list its benchmarks: {_why(ended)}")
        return ended.stdout.decode(errors="replace")

    if tool == "google-benchmark":
        listed = ask(*[f"--benchmark_filter={chosen}"] * bool(chosen), "--benchmark_list_tests").splitlines()
        names = Counter(name for name in listed if name.strip())
        if several := [name for name, count in names.items() if count > 1]:
            raise CannotStartError(
                f"{printable(program)} has several benchmarks called {printable(several[0])}: give each its"
                " own name"
            )
        return {name: {BENCHMARK: name, CHOOSES: chooses(tool, name)} for name in names}
    briefly = {"--benchmark-samples": "=1", "--benchmark-no-analysis": "", "--benchmark-warmup-time": "=0"}
    given = {argument.partition("=")[0] for argument in arguments}  # Catch2 takes no option twice
    options = [f"{name}{value}" for name, value in briefly.items() if name not in given]
    printed = ask(chosen or _CATCH2_TAG, "--reporter=xml", *options)
    try:
        benchmarks = read(printed, tool)
    except ValueError as error:
        raise CannotStartError(f"{printable(program)} does not list its benchmarks: {error}") from error
    return {
        benchmark.name: {BENCHMARK: benchmark.name, CHOOSES: chooses(tool, benchmark.test_case)}
        for benchmark in benchmarks
    }


def _why(ended: Ended) -> str:
    said = one_line(printable(ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]))
    how = (
        f"exited with {ended.exit_code}" if ended.exit_code > 0 else f"was ended by signal {-ended.exit_code}"
    )
    return f"it {how}{f': {shortened(said)}' if said else ''}"
