"""The eight programs that the experiments, tables and benchmarks of layouts use."""

import subprocess
from pathlib import Path

NAMES = ("compress", "jpeg", "lua", "lz4", "perl", "sqlite", "tcc", "x86")
_HERE = Path(__file__).resolve().parent
FOLDER = _HERE.parents[1] / "build" / "layout"
"""It has NAME, NAME.link.tar, NAME.trace and, of other work, NAME.other.trace."""


def make() -> None:
    """Build and record those that are not there."""
    subprocess.run([_HERE / "tools" / "programs"], check=True)  # noqa: S603
