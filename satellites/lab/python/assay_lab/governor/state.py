"""What a running governor says of itself: its last decisions, in a file that it writes whole."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.host.private import read_private

PROGRAMS = {b"assay-govern", b"mocked_govern"}
"""The names of processes that govern, as the kernel has them; the second is that of tests."""


def state_file() -> Path:
    """Return where a governor that runs has its state; ASSAY_GOVERNOR_STATE names another file."""
    return Path(os.environ.get("ASSAY_GOVERNOR_STATE", "/run/assay-governor/state.json"))


def make_folder(file: Path) -> None:
    """Make the folder of the state.

    Raises:
        AssayError: it cannot be made.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssayError(
            f"{file.parent}, where the state of the governor belongs, cannot be made: {error.strerror};"
            " run as root, or name another file with ASSAY_GOVERNOR_STATE"
        ) from error


def running(file: Path) -> dict[str, Any] | None:
    """Return the state of the governor that runs, None where none does.

    Raises:
        AssayError: it cannot be read.
    """
    try:
        state: dict[str, Any] = json.loads(read_private(file, or_of_root=True))
        process = int(state["process"])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AssayError(f"the state of the governor cannot be read: {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AssayError(f"{file} is not the state of a governor: remove it") from error
    try:
        name = Path(f"/proc/{process}/comm").read_bytes().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if name not in PROGRAMS:  # its number is another process's now
        return None
    try:
        objective(state["exponent"])
        explained(state)
        [str(note) for note in state["notes"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AssayError(
            f"process {process} governs, and {file} is of another version: ask that one"
        ) from error
    return state


def forget(file: Path) -> None:
    """Remove the state of a governor that has ended; that of one which runs stays."""
    with suppress(OSError, AssayError):
        if running(file) is None:
            file.unlink()


def objective(exponent: float) -> str:
    """Return the name of energy * time^exponent."""
    if exponent == 0:
        return "E"
    return "ED" if exponent == 1 else f"ED^{exponent:g}"


def explained(state: dict[str, Any]) -> list[str]:
    """Return why each domain has its present frequency, and what was decided before, in lines."""
    lines: list[str] = []
    for domain in state["domains"]:
        processors = ", ".join(map(str, domain["processors"]))
        *before, last = domain["decisions"]
        lines.append(f"processors {processors}: {_ghz(last)}: {_why(last)}")
        if seen := last.get("seen"):
            lines.append(
                f"  seen at {_ghz(seen)}: {seen['instructions_per_second'] / 1e6:,.0f}M instructions and"
                f" {seen['cache_misses_per_second'] / 1e6:,.1f}M cache misses a second,"
                f" {seen['active_processors']:.1f} processors busy,"
                f" {seen['active_in_machine']:.1f} in the machine"
            )
        lines += [f"  before: {_ghz(decision)}: {_why(decision)}" for decision in reversed(before[-4:])]
    return lines


def _why(decision: dict[str, Any]) -> str:
    times = decision["times"]
    return f"{decision['why']} ({times} times)" if times > 1 else str(decision["why"])


def _ghz(frequency: dict[str, Any]) -> str:
    return f"{frequency['frequency_khz'] / 1e6:.4g} GHz"
