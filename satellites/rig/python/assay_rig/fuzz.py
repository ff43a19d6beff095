"""Looks for inputs for which a function and its reference version answer differently, by libFuzzer."""

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.errors import AssayError
from assay.runner.process import Ended, StopSignals, run_process

Result = Literal["same", "differs", "crash", "hang", "memory", "leak"]

CALL_S = 5
"""A call that takes longer hangs."""
MEMORY_MB = 2048
SMALLER_S = 5
"""How long smaller inputs are looked for that show a mistake, too."""
_NO_SUCH_FUNCTION = 2
_GRACE_S = 60.0
_VALUES = re.compile(r"^assay-(?:input|differs) (\{.*\})$", re.MULTILINE)
_KINDS: tuple[tuple[str, Result], ...] = (
    ("assay-differs ", "differs"),
    ("ERROR: libFuzzer: timeout", "hang"),
    ("ERROR: libFuzzer: out-of-memory", "memory"),
    ("ERROR: LeakSanitizer", "leak"),
)


@dataclass(frozen=True)
class Fuzzed:
    """The result of the search for different answers.

    Attributes:
        result: "same" if no failing input was found; a sanitizer's complaint is a crash.
        inputs: number of inputs that were tried.
        covered: number of places in the code that they reached, as libFuzzer counts.
        seconds: how long it took.
        input: the smallest failing input, as text.
        answer, reference: the two answers to it, if they differ.
        said: a sanitizer's summary in a line.
        file: the file with the failing input; None if there is none.
        again: the command that repeats the failure; empty if there is none.
    """

    result: Result
    inputs: int
    covered: int
    seconds: float
    input: str = ""
    answer: str = ""
    reference: str = ""
    said: str = ""
    file: Path | None = None
    again: str = ""


@dataclass(frozen=True)
class _Search:
    """One function's fuzzer.

    Attributes:
        failing: where it writes an input that fails.
    """

    fuzzer: Path
    name: str
    failing: Path
    stop: StopSignals

    def run(
        self,
        arguments: list[str],
        timeout_s: float,
        *,
        seconds: int | None = None,
        found: Path | None = None,
        shows: bool = False,
    ) -> Ended:
        """Run it.

        Args:
            arguments: of libFuzzer.
            timeout_s: for which it is waited, and `_GRACE_S` more.
            seconds: after which it ends by itself, by the steady clock; None if its work has an end.
            found: where it writes an input that fails, if not to `failing`.
            shows: it prints each input.
        """
        more = {"ASSAY_INSPECTED_SHOWS": "1"} if shows else {}
        if seconds is not None:
            more["ASSAY_INSPECTED_SECONDS"] = str(seconds)
        limits = [f"-timeout={CALL_S}", f"-rss_limit_mb={MEMORY_MB}"]
        return run_process(
            str(self.fuzzer),
            "",
            environment={**os.environ, "ASSAY_INSPECTED": self.name, **more},
            arguments=[*limits, f"-exact_artifact_path={found or self.failing}", *arguments],
            directory=self.failing.parent,
            timeout_s=timeout_s + _GRACE_S,
            stop=self.stop,
        )

    def make_smaller(self) -> None:
        """Put a smaller input that fails too in place of the one that does."""
        smaller = self.failing.with_suffix(".smaller")
        smaller.unlink(missing_ok=True)
        words = ["-minimize_crash=1", str(self.failing)]
        self.run(words, SMALLER_S, seconds=SMALLER_S, found=smaller)
        if smaller.exists():
            smaller.replace(self.failing)


def search(fuzzer: Path, name: str, *, seconds: int, seed: int, folder: Path, stop: StopSignals) -> Fuzzed:
    """Search for an input that a function and its reference version answer differently, or that is fatal.

    Args:
        fuzzer: the program, of `build_functions`.
        name: of the function.
        seconds: how long to search.
        seed: of the search.
        folder: where an input that fails is put.
        stop: ends it.

    Raises:
        AssayError: the program has no such function.
        Interrupted: the user asked to stop.
    """
    failing = folder / f"{name}-failing-input"
    failing.unlink(missing_ok=True)
    fuzzing = _Search(fuzzer, name, failing, stop)
    ended = fuzzing.run([f"-seed={seed}"], seconds, seconds=seconds)
    said = ended.stderr.decode(errors="replace")
    if ended.exit_code == _NO_SUCH_FUNCTION and "ASSAY_INSPECTED names none of:" in said:
        names = said.partition("ASSAY_INSPECTED names none of:")[2].split()
        raise AssayError(f"{fuzzer} inspects no function {name}; it has {', '.join(names) or 'none'}")
    done = re.findall(r"^(?:#|assay-inputs )(\d+)", said, re.MULTILINE)
    covered = re.findall(r" cov: (\d+)", said)
    tried, places = int(done[-1]) if done else 0, int(covered[-1]) if covered else 0
    if ended.exit_code == 0:
        return Fuzzed("same", tried, places, ended.wall_s)
    if not failing.exists():
        raise AssayError(f"the fuzzer {fuzzer} ended with {ended.exit_code}: {said.strip()[-500:]}")
    fuzzing.make_smaller()
    again = fuzzing.run([str(failing)], CALL_S, shows=True)
    said = again.stderr.decode(errors="replace") or said
    values: dict[str, str] = {}
    for told in _VALUES.findall(said):
        values |= json.loads(told)
    summary = re.search(r"^SUMMARY: (.*)", said, re.MULTILINE)
    return Fuzzed(
        next((result for words, result in _KINDS if words in said), "crash"),
        tried,
        places,
        ended.wall_s,
        values.get("input", ""),
        values.get("answer", ""),
        values.get("reference", ""),
        summary[1] if summary and "answer" not in values else "",
        failing,
        f"ASSAY_INSPECTED={name} {shlex.quote(str(fuzzer))} {shlex.quote(str(failing))}",
    )
