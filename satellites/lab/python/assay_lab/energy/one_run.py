"""One run of a program at a frequency, as a command whose output is the run's metrics.

`python -m assay_lab.energy.one_run JOURNAL GIGAHERTZ PROGRAM [ARGS]...` holds no frequency at 0. The trial's
time includes the start of this process, so the program's own is measured here, by the same `assay-meter`.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from assay.errors import AssayError
from assay.host.joules import joules_between, joules_so_far
from assay.host.system import System
from assay.runner.process import run_process
from assay_lab.energy.frequencies import held


def run(journal: Path, gigahertz: float, words: Sequence[str], system: System) -> dict[str, float]:
    """Run a program once, and return its seconds, the processors that it keeps busy, and its joules.

    Raises:
        AssayError: it fails, or leaves processes behind; or the frequency cannot be held.
    """
    program, *arguments = words
    with held(system, journal, gigahertz) if gigahertz else nullcontext():
        before = joules_so_far(system)
        ended = run_process(
            program,
            "",
            environment=os.environ,
            arguments=arguments,
            directory=Path.cwd(),
            measured=True,
            discard=True,
        )
        joules = joules_between(before, joules_so_far(system))
    if ended.exit_code != 0:
        raise AssayError(f"{program} {ended_in_words(ended.exit_code, ended.stderr)}")
    if ended.left:
        raise AssayError(
            f"{program} ended while {ended.left_in_words()} that it had started still ran; "
            "let it wait for what it starts"
        )
    seconds = ended.used["wall_ms"] / 1e3
    on_processor = (ended.used["user_ms"] + ended.used["system_ms"]) / 1e3
    found = {"gigahertz": gigahertz, "seconds": seconds, "cores": max(on_processor / seconds, 0.01)}
    return found if joules is None else found | {"joules": joules}


def ended_in_words(code: int, written: bytes) -> str:
    """Return how a process ended that failed, with the last line of its standard error."""
    lines = written.decode(errors="replace").strip().splitlines()
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
    return ended + (f": {lines[-1][:200]}" if lines else "")


def main() -> None:
    """Run what the command line names, and print its metrics."""
    _, journal, gigahertz, *words = sys.argv
    try:
        for name, value in run(Path(journal), float(gigahertz), words, System()).items():
            print(f"{name}={value}")
    except AssayError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
