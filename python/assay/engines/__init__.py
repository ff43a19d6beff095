"""Judges random number engines before an experiment draws from them.

judged = examine(chosen(["fnv1a"]), numbers=10_000_000, seed=1, reseed_every=None)
print_judged(judged, "10 million numbers", Console())
page = write_judged(judged, "10 million numbers", Path("results/engines"))

`assay-engines` draws and counts, exactly as trials draw; here the counts become p-values, verdicts and
pictures.
"""

from collections.abc import Sequence
from pathlib import Path

from assay.engines.examine import chosen, examine
from assay.engines.program import FEWEST, MOST, known
from assay.engines.terminal import print_engines, print_judged
from assay.engines.types import Engine, Judged

__all__ = [
    "FEWEST",
    "MOST",
    "Engine",
    "Judged",
    "chosen",
    "examine",
    "known",
    "print_engines",
    "print_judged",
    "write_judged",
]


def write_judged(judged: Sequence[Judged], drawn: str, directory: Path) -> Path:
    """Write the page and the pictures into a folder, made where it is missing, and return the page.

    Raises:
        AssayError: the folder cannot be written.
    """
    from assay.engines import page  # noqa: PLC0415 - Altair and vl-convert are slow to load

    return page.write_judged(judged, drawn, directory)
