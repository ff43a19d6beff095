"""Where a function spends its time or its instructions: by perf where that may look, else by callgrind."""

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assay.runner.process import Ended, StopSignals, run_process
from assay.runner.temporary import Temporary

CALLS = 10_000
"""Number of calls that callgrind counts."""
PERF_S = 1
PERF_HZ = 1999
"""Samples a second: no divisor or multiple of what programs do at regular times."""
MOST_LINES = 10
MOST_FUNCTIONS = 5
LOOP = "the loop that calls it, with what is inlined there"
"""The name for functions whose code a compiler inlines into Assay's own loop."""
_TIMEOUT_S = 120.0
_INSTRUCTIONS, _WRITES = "Ir", "Dw"

_Place = tuple[str, int]
"""A file and a line."""


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's source.

    Attributes:
        share: its share of all time or work.
        instructions, writes: their number per call, as callgrind counts; None without it.
    """

    file: str
    number: int
    text: str
    share: float
    instructions: float | None
    writes: float | None


@dataclass(frozen=True)
class Profile:
    """Where a function spends its time or work.

    Attributes:
        by: the tool that measured the shares; "" without one.
        of: whether shares are of time, or of work in instructions.
        lines: lines of the user's sources, the largest share first.
        functions: function of the whole program -> its share.
        missing: why something is unknown, in words.
    """

    by: Literal["perf", "callgrind", ""]
    of: Literal["time", "work"]
    lines: tuple[SourceLine, ...] = ()
    functions: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def profiled(program: Path, name: str, *, folder: Path, stop: StopSignals) -> Profile:
    """Profile a fixture.

    Args:
        program: the fixture's program.
        name: the fixture's name.
        folder: the folder of the user's own sources.
        stop: ends it.

    Raises:
        Interrupted: the user asked to stop.
    """
    with Temporary("assay-profile-") as temporary:
        counted, no_counts = _callgrind(program, name, temporary.folder, stop)
        sampled, no_samples = _perf(program, name, temporary.folder, stop)
    missing = tuple(why for why in (no_samples, no_counts) if why)
    shares, functions = (sampled.lines, sampled.functions) if sampled else ({}, {})
    if not sampled and counted:
        shares, functions = counted.by(_INSTRUCTIONS), counted.functions
    if not functions:
        return Profile("", "time", missing=missing)
    whole = sum(functions.values())
    own = _own(folder, shares)
    largest = sorted(own, key=lambda place: -shares[place])[:MOST_LINES]
    if not own:
        missing += ("the program tells no lines of its source; compile it with -g1",)
    writes = counted.by(_WRITES) if counted else {}
    instructions = counted.by(_INSTRUCTIONS) if counted else {}
    lines = tuple(
        SourceLine(
            own[place].name,
            place[1],
            _line(own[place], place[1]),
            shares[place] / whole,
            _counted(instructions, own, place) if counted else None,
            _counted(writes, own, place) if counted else None,
        )
        for place in largest
    )
    named = Counter(functions).most_common(MOST_FUNCTIONS)
    return Profile(
        "perf" if sampled else "callgrind",
        "time" if sampled else "work",
        lines,
        {function: amount / whole for function, amount in named},
        missing,
    )


def _counted(counts: Mapping[_Place, float], own: Mapping[_Place, Path], place: _Place) -> float:
    """Return what a line counts a call: the two tools may write its file's name in different ways."""
    same = [
        value
        for (file, line), value in counts.items()
        if line == place[1] and Path(file).name == own[place].name
    ]
    return sum(same) / CALLS


def _own(folder: Path, places: Iterable[_Place]) -> dict[_Place, Path]:
    """Return the places in a folder's sources -> the file of each."""
    sources = {
        path.name: path
        for path in sorted(folder.glob("**/*"))
        if path.suffix in {".cpp", ".h", ".hpp", ".cc", ".c"}
    }
    return {place: sources[Path(place[0]).name] for place in places if Path(place[0]).name in sources}


def _line(file: Path, number: int) -> str:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


@dataclass(frozen=True)
class _Sampled:
    lines: Mapping[_Place, float]
    functions: Mapping[str, float]


def _perf(program: Path, name: str, scratch: Path, stop: StopSignals) -> tuple[_Sampled | None, str]:
    """Return where the program was when it was looked at, or why that is not known."""
    perf = shutil.which("perf")
    if perf is None:
        return None, "perf is not installed, so that shares are of instructions"
    data = scratch / "perf.data"
    record = ["record", "-q", "-e", "task-clock:u", "-F", str(PERF_HZ), "-o", str(data), "--", str(program)]
    ended = _run(perf, [*record, name, "--seconds", str(PERF_S)], stop)
    if ended.exit_code != 0 or not data.exists():
        why = " ".join(ended.stderr.decode(errors="replace").split())[:200]
        return (
            None,
            f"perf may not look at programs here, so that shares are of instructions: {why}",
        )
    script = _run(perf, ["script", "-i", str(data), "-F", "ip,sym,srcline"], stop)
    sampled = parse_perf(script.stdout.decode(errors="replace"))
    if script.exit_code != 0 or not sampled.functions:
        why = " ".join(script.stderr.decode(errors="replace").split())[:200] or "it saw nothing"
        return None, f"perf does not tell what it saw, so that shares are of instructions: {why}"
    return sampled, ""


def parse_perf(text: str) -> _Sampled:
    """Return where the program was, from what `perf script -F ip,sym,srcline` prints.

    For each look an address with the function, and below it the line of the source, if that is known.
    """
    lines: Counter[_Place] = Counter()
    functions: Counter[str] = Counter()
    for line in text.splitlines():
        if sample := re.match(r"\s*[0-9a-f]{4,} (.*)", line):
            functions[_short(sample[1])] += 1
        elif place := re.match(r"\s+(\S+):(\d+)\Z", line):
            lines[place[1], int(place[2])] += 1
    return _Sampled(lines, functions)


@dataclass(frozen=True)
class _Counted:
    """What callgrind counted: event -> place -> count, of the code there alone."""

    events: Sequence[str]
    lines: Mapping[_Place, Sequence[int]]
    functions: Mapping[str, float]

    def by(self, event: str) -> dict[_Place, float]:
        at = self.events.index(event)
        return {place: counts[at] for place, counts in self.lines.items() if at < len(counts)}


def _callgrind(program: Path, name: str, scratch: Path, stop: StopSignals) -> tuple[_Counted | None, str]:
    """Return what callgrind counts in the calls that a program measures, or why that is not known."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None, "valgrind is not installed, so instructions and writes are not counted"
    out = scratch / "callgrind.out"
    under = ["-q", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no", "--cache-sim=yes"]
    words = [*under, f"--callgrind-out-file={out}", str(program), name]
    ended = _run(valgrind, [*words, "--iterations", "1", "--batch", str(CALLS), "--warm-up", "0"], stop)
    if ended.exit_code != 0 or not out.exists():
        why = " ".join(ended.stderr.decode(errors="replace").split())[-200:]
        return None, f"valgrind could not run the program, so instructions and writes are not counted: {why}"
    return parse_callgrind(out.read_text(encoding="utf-8", errors="replace")), ""


def parse_callgrind(text: str) -> _Counted:
    """Return what a file of callgrind says of each line and function, of the code there alone.

    Its format: valgrind's manual, "Callgrind Format Specification". Names are given once and numbered; a
    line's number may be relative to the one before; what follows `calls=` is of the called code.
    """
    names: dict[str, dict[str, str]] = {"file": {}, "function": {}}
    events: list[str] = []
    lines: dict[_Place, list[int]] = {}
    functions: Counter[str] = Counter()
    file = function = ""
    number = 0
    of_a_call = False
    for line in text.splitlines():
        if named := re.match(r"(fl|fi|fe|fn)=(?:(\(\d+\)) ?)?(.*)", line):
            known = names["function" if named[1] == "fn" else "file"]
            name = known.setdefault(named[2], named[3]) if named[2] else named[3]
            if named[1] == "fn":
                function = name
            else:
                file = name
        elif line.startswith("events:"):
            events = line.split()[1:]
        elif called := re.match(r"(cfi|cfl|cfn)=(\(\d+\)) (.+)", line):
            names["function" if called[1] == "cfn" else "file"].setdefault(called[2], called[3])
        elif line.startswith("calls="):
            of_a_call = True
        elif cost := re.match(r"(\+\d+|-\d+|\*|\d+)((?: \d+)*)\Z", line):
            where = cost[1]
            number = number if where == "*" else number + int(where) if where[0] in "+-" else int(where)
            if of_a_call:
                of_a_call = False
                continue
            counts = [int(count) for count in cost[2].split()]
            sums = lines.setdefault((file, number), [0] * len(events))
            for at, count in enumerate(counts):
                sums[at] += count
            functions[_short(function)] += counts[0] if counts else 0
    return _Counted(events, lines, functions)


def _short(function: str) -> str:
    """Return the name of a function without its template arguments and parameters."""
    if "time_by" in function and "timed_function" in function:
        return LOOP
    function = function.strip().removesuffix("'2")
    depth, kept = 0, ""
    for char in function:
        depth += char in "<("
        kept += char if depth == 0 else ""
        depth -= char in ">)"
    return kept.strip() or function or "[unknown]"


def _run(program: str, arguments: Sequence[str], stop: StopSignals) -> Ended:
    return run_process(
        program,
        "",
        environment=os.environ,
        arguments=arguments,
        directory=Path.cwd(),
        timeout_s=_TIMEOUT_S,
        stop=stop,
    )
