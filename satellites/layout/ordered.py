"""Links a program of satellites/layout/tools/programs in an order that is drawn.

.venv/bin/python satellites/layout/ordered.py ORDER PROGRAM SEED OUTPUT, as orders.toml calls it. The profile
is of the program's first input.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from eight_programs import FOLDER

from assay_layout.linking import LLD_ORDERS, Recorded
from assay_layout.optimising import OPTIMISERS, Search, has_gaps
from assay_layout.program import read_image
from assay_layout.simulator import Cache

NOISE = 0.1
BOLT_ORDERS = {
    "BOLT": ["-reorder-functions=cdsort"],
    "BOLT, blocks": ["-reorder-functions=cdsort", "-reorder-blocks=ext-tsp", "-split-functions"],
}
"""BOLT's options: for whole functions, or for their blocks as well (ext-TSP, Newell and Pupyrev 2018)."""


def main() -> None:
    """Link one program."""
    order, name, seed, output = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    program, trace = FOLDER / name, FOLDER / f"{name}.trace"
    by = Search(program, trace, trace, Cache(32768, 8, 64), 1, NOISE, seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        recorded = Recorded.beside(program, folder)
        if recorded is None:
            sys.exit(f"error: there is no record of the link of {program}")
        if order == "random":
            drawn = by.judged("permuted", addresses=1).details["addresses"]
            recorded.at_places(drawn, read_image(program), output, gaps=False)
        elif order in OPTIMISERS:
            recorded.at_places(by.places(order), read_image(program), output, gaps=has_gaps(order))
        elif order in LLD_ORDERS:
            by.by_lld(recorded, LLD_ORDERS[order], 1, output)
        elif order in BOLT_ORDERS:
            why = by_bolt(by, recorded, order, folder, output)
            if why:
                sys.exit(f"error: {why}")
        else:
            sys.exit(f"error: there is no order {order}")


def by_bolt(by: Search, recorded: Recorded, order: str, folder: Path, output: Path) -> str:
    """Link a program as BOLT orders it, and return why it cannot, or nothing.

    BOLT gets a profile of its own, by its instrumentation. What it does not move is where `random` puts it.
    """
    versions = (shutil.which(f"/usr/lib/llvm-{version}/bin/llvm-bolt") for version in range(30, 14, -1))
    bolt = next((path for path in versions if path), None)
    if bolt is None:
        return "BOLT is not installed: apt-get install bolt-22"
    drawn = by.judged("permuted", addresses=1).details["addresses"]
    program, profiled, profile = (folder / name for name in ("relocatable", "instrumented", "profile"))
    recorded.at_places(drawn, read_image(by.program), program, gaps=False, relocations=True)
    commands: list[list[str | Path]] = [
        [bolt, program, "-instrument", f"--instrumentation-file={profile}", "-o", profiled],
        [profiled],
        [bolt, program, f"-data={profile}", *BOLT_ORDERS[order], "-o", output],
    ]
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            return f"BOLT cannot order {by.program.name}: {done.stderr[-200:]}"
    return ""


if __name__ == "__main__":
    main()
