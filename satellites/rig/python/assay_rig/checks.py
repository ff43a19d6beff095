"""Runs the checks of a rig program, each in its own process, and reads their results."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.errors import AssayError
from assay.runner.process import Ended, StopSignals, check_startable, run_process
from assay.words import one_line

Result = Literal["passed", "failed", "incomplete", "nothing_to_check", "not_checked", "not_run"]

LISTING_S = 60.0
GRACE_S = 120.0
"""How much longer than twice its time a check may take before it is killed: it has a watchdog of its own."""
HUNG = 3
"""Exit code of a check that made no progress."""
_FRAME = re.compile(r"\s*#\d+ ")
_PLACE = re.compile(r"\s*#\d+ (?:0x\w+ in )?(.+) (/\S+:\d+)(?: \(.*\))?")
"""A frame in a sanitizer's call stack: the function, and the file with the line."""
_PLACELESS = re.compile(
    r"\s*#\d+ (?:0x\w+ in )?(.+\(.*\)(?: const|)(?: \[\S+ \S+\])*)"
    r" (?:<null> )?\((?:\S*/)?([^/\s]+)\+0x\w+\)(?: \(BuildId: \w+\))?"
)
"""A frame without a known line: the C++ function, and the program or library."""
_LIBRARIES_OWN = re.compile(r"(assay|std|__\w+)::|new\b|delete\b")
RANDOMISED = ("linearizability", "owners", "stress")
"""Checks that delay threads, which they can do with more randomness."""
_NO_TIME = "no time for "
_SILENT = ("model", "stress", "memory")
"""Checks that print nothing if they pass, so that what is printed is the map's."""
HASTE: Mapping[str, str] = {"ASSAY_RIG_PATIENCE": "3"}
"""After a check that hung: the others of such a map probably do, too, each after ten seconds by default."""
_SANITIZERS: Mapping[str, str] = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Attributes:
        check: its name.
        result: its result; a crash and a hang are failures. "incomplete": it found no mistake, but had no
            time for all of its cases; "not_checked": it could not be made; "not_run": it was not reached.
        histories: number of histories that were recorded and judged.
        operations: number of operations that it performed.
        exit_code: its process's exit code, negative for a signal; None if it was not run or was killed.
        seconds: how long it took.
        found: a line that says what it found, or why it was not made; may be empty.
        text: all output of the program about it.
    """

    check: str
    result: Result
    histories: int = 0
    operations: int = 0
    exit_code: int | None = None
    seconds: float = 0
    found: str = ""
    text: str = ""


def offered(program: Path) -> dict[str, list[str]]:
    """Ask a rig program for its maps and the checks that apply to each.

    Raises:
        AssayError: it does not answer.
    """
    check_startable(str(program))
    try:
        answer = subprocess.run(  # noqa: S603
            [program, "list"], capture_output=True, check=True, timeout=LISTING_S, text=True, errors="replace"
        )
        maps = [_fields(line) for line in answer.stdout.splitlines()]
        return {entry["map"]: entry["checks"].split(",") for entry in maps}
    except subprocess.CalledProcessError as error:
        said = one_line(error.stderr) or "it says nothing"
        raise AssayError(f"{program} list ended with {error.returncode}: {said}") from error
    except (OSError, subprocess.SubprocessError, KeyError) as error:
        raise AssayError(
            f"{program} does not list its maps as a program linked with assay::rig does ({error})"
        ) from error


def run_checks(
    program: Path,
    name: str,
    checks: Sequence[str],
    *,
    seed: int,
    seconds: float,
    randomness: float = 0,
    stop: StopSignals,
) -> Iterator[CheckResult]:
    """Run checks of a map one after the other, and yield what came of each when it has ended.

    Args:
        program: is linked with assay::rig.
        name: of the map.
        checks: their names.
        seed: of each.
        seconds: for all together: time that one leaves over goes to those after it.
        randomness: how much noise delays of threads have, C of e^(C Z); above 0 only for `RANDOMISED`.
        stop: ends the check that runs.

    Raises:
        Interrupted: the user asked to stop.
    """
    end = time.monotonic() + seconds
    haste: Mapping[str, str] = {}
    for number, check in enumerate(checks):
        share = max((end - time.monotonic()) / (len(checks) - number), 0.1)
        limit_s = 2 * share + GRACE_S
        ended = run_process(
            str(program),
            "",
            environment={**_SANITIZERS, **haste, **os.environ},
            arguments=[
                *(check, name, "--seed", str(seed), "--seconds", f"{share:.3g}"),
                *(["--randomness", f"{randomness:g}"] if randomness else []),
            ],
            directory=Path.cwd(),
            timeout_s=limit_s,
            stop=stop,
        )
        if ended.timed_out or ended.exit_code == HUNG:
            haste = HASTE
        yield outcome_of(check, ended, limit_s)


def outcome_of(check: str, ended: Ended, limit_s: float) -> CheckResult:
    """Return the result of a check whose process has ended."""
    printed = ended.stdout.decode(errors="replace").splitlines()
    said = ended.stderr.decode(errors="replace").splitlines()
    last = _fields(printed[-1]) if printed else {}
    if "result" not in last:
        last = {}
    body = [line for line in printed if not line.startswith(f"check={check} map=")]
    text = "\n".join([*body, *said]).strip("\n")
    result, found = _judged(ended, last.get("result", ""), body, said, limit_s)
    if result == "passed" and check in _SILENT and any(line.strip() for line in body):
        found = "it prints to standard output"
    return CheckResult(
        check=check,
        result=result,
        histories=_count(last, "histories"),
        operations=_count(last, "operations"),
        exit_code=None if ended.timed_out else ended.exit_code,
        seconds=ended.wall_s,
        found=found,
        text=text,
    )


def _judged(
    ended: Ended, result: str, body: Sequence[str], said: Sequence[str], limit_s: float
) -> tuple[Result, str]:
    """Return the result of a check, and in a line what it found."""
    if ended.timed_out:
        return "failed", f"did not end in {limit_s:.0f} s"
    # A sanitizer ends the program where it stands, and its last line says what it saw.
    for line in reversed(said):
        if line.startswith("SUMMARY: "):
            return "failed", _summarised(line.removeprefix("SUMMARY: "), said)
    code = ended.exit_code
    first = _first([*body, *said])
    known: dict[tuple[int, str], tuple[Result, str]] = {
        (0, "passed"): ("passed", ""),
        (0, "nothing_to_check"): ("nothing_to_check", first),
        (1, "failed"): ("failed", first),
        (2, result): ("not_checked", first),
        (2, "incomplete"): ("incomplete", next((line for line in body if line.startswith(_NO_TIME)), first)),
        (HUNG, result): ("failed", _first(said) or _first([line for line in body if "did not end" in line])),
    }
    how = (
        f"crashed: {signal.strsignal(-code)} (signal {-code})" if code < 0 else f"ended with exit code {code}"
    )
    return known.get((code, result), ("failed", how if code < 0 else _first(said) or how))


def readable(report: Sequence[str], program: str) -> list[str]:
    """Return lines without what few need of a sanitizer's report: frames in libraries, shadow bytes.

    Args:
        report: the lines.
        program: file name of the program that printed them.
    """
    own: list[str] = []
    in_stack = False
    for line in report:
        if _FRAME.match(line):
            in_stack = True
            if _own_place(line) or _own_function(line, program):
                own.append(line)
            continue
        if in_stack and own and own[-1].endswith(":"):
            own.pop()  # None of the frames that it announces is left.
        in_stack = False
        if line.strip() or (own and own[-1].strip()):
            own.append(line)
        if line.startswith("SUMMARY: "):
            break
    return own


def _own_function(line: str, program: str) -> bool:
    """Return whether a frame without a line is of the program, and neither Assay's nor a library's."""
    frame = _PLACELESS.fullmatch(line)
    if frame is None or frame[2] != program:
        return False
    # Its name is what is left without arguments and return type: void assay::run<my_map>(my_map&) const.
    name = frame[1].replace("(anonymous namespace)", "anonymous")
    while (shorter := re.sub(r"<[^<>()]*>|\([^<>()]*\)", "", name)) != name:
        name = shorter
    words = re.sub(r"( const| \[[^]]*\])+$", "", name).split()
    return bool(words) and not _LIBRARIES_OWN.match(words[-1])


def _own_place(line: str) -> tuple[str, str] | None:
    """Return function and place of a frame, if it is in sources that are neither Assay's nor a library's."""
    place = _PLACE.fullmatch(line)
    own = place and not re.search("^/usr/|/(native|include)/assay/", place[2])
    return (place[1], place[2]) if place and own else None


def _summarised(summary: str, said: Sequence[str]) -> str:
    """Return what a sanitizer says of a mistake, and the first place in the map's own sources."""
    place = next(filter(None, map(_own_place, said)), None)
    if place is None:
        return summary
    function, file = place
    return f"{re.split(' [(/]', summary)[0]} in {function}, {file.rpartition('/')[2]}"


def _first(lines: Sequence[str]) -> str:
    """Return the first sentence of some lines, less what announces more."""
    line = next((line.strip() for line in lines if line.strip()), "").removeprefix("error: ")
    return re.split(r"(?<=[^.]{3})\. ", line)[0].rstrip(".:")


def _fields(line: str) -> dict[str, str]:
    """Read a line of key=value."""
    return dict(re.findall(r"(\w+)=(\S+)", line))


def _count(fields: Mapping[str, str], name: str) -> int:
    value = fields.get(name, "")
    return int(value) if value.isdigit() else 0
