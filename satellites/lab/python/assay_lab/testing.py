"""What tests of the lab share."""

import subprocess
from pathlib import Path


def compiled(folder: Path, source: str, *flags: str) -> Path:
    """Return a program of some C++ source."""
    program = folder / "program"
    command = ["c++", "-x", "c++", "-", "-o", str(program), *flags]
    subprocess.run(command, input=source, text=True, check=True)  # noqa: S603
    return program
