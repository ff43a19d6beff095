"""Runs a program, or the trials of a campaign, under assay-rtm, and reads the record."""

import json
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay import programs
from assay.errors import AssayError
from assay.runner.process import StopSignals, run_process, signal_name
from assay.runner.temporary import Temporary
from assay.runner.types import Binary
from assay.words import elapsed, printable
from assay_lab.advice.types import EmulationSettings, Observed

_REFUSED = 2
_LINES_SHOWN = 5


def observe(command: Sequence[str], settings: EmulationSettings, stop: StopSignals) -> Observed:
    """Run a program with its arguments; it reads an empty standard input, and what it prints is not shown.

    Raises:
        AssayError: it cannot be run under the emulator.
        Interrupted: `stop` was signalled.
    """
    emulator = programs.find("assay-rtm")
    shown = shlex.join(command)
    with Temporary("assay-advise-") as temporary:
        record = temporary.folder / "record.json"
        ended = run_process(
            str(emulator),
            "",
            environment=os.environ,
            arguments=[*_options(record, settings), *command],
            directory=Path.cwd(),
            timeout_s=settings.timeout_s,
            stop=stop,
        )
        said = printable(ended.stderr.decode(errors="replace").strip())
        if not record.exists():
            if ended.exit_code == _REFUSED and said.startswith("error: "):
                raise AssayError(said.removeprefix("error: "))
            raise AssayError(f"{shown} ended before the emulator was in it: {said or 'it said nothing'}")
        trouble = ""
        if ended.timed_out:
            trouble = f"It did not end within {elapsed(settings.timeout_s)} (--within), and was ended."
        elif ended.exit_code < 0:
            trouble = f"It crashed ({signal_name(-ended.exit_code)})."
        elif ended.exit_code > 0:
            trouble = f"It ended with exit code {ended.exit_code}."
        if trouble and said:
            trouble += " It said last: " + " / ".join(said.splitlines()[-_LINES_SHOWN:])
        return Observed(_read(record), shown, trouble)


@contextmanager
def recording(
    settings: EmulationSettings,
) -> Iterator[tuple[Callable[[Binary], Binary], Callable[[str], Observed]]]:
    """Yield what makes a trial run under the emulator, and what reads its record, given a name for people."""
    emulator = str(programs.find("assay-rtm"))
    with Temporary("assay-advise-") as temporary:
        record = temporary.folder / "record.json"
        options = _options(record, settings)

        def started_from(binary: Binary) -> Binary:
            return Binary(emulator, (*options, binary.program, *binary.arguments), binary.measured)

        def read(name: str) -> Observed:
            if not record.exists():
                raise AssayError(f"{name} did not start under the emulator")
            return Observed(_read(record), name)

        yield started_from, read


def _options(record: Path, settings: EmulationSettings) -> list[str]:
    sizes = {"sets": settings.sets, "ways": settings.ways, "read-ways": settings.read_ways}
    words = [word for name, value in sizes.items() for word in (f"--{name}", str(value))]
    return ["--record", str(record), *words]


def _read(record: Path) -> dict[str, Any] | None:
    text = record.read_text(encoding="utf-8")
    if not text:
        return None
    found: dict[str, Any] = json.loads(text)
    return found
