"""Prints table 2 of Blackwell 1998 and the summary of 10,000 runs of its section 4.4, beside his numbers.

.venv/bin/python satellites/layout/layout_tables.py [RUNS]; 10,000 without one, in some minutes. It needs what
satellites/layout/tools/programs needs.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from assay_layout.simulator import Cache, simulate
from assay_layout.statistics import errors, fitted_line

HERE = Path(__file__).parent
FACTORS = 512
DRAWS = 20_000
PROGRAMS = ("compress", "jpeg", "lua", "lz4", "perl", "sqlite", "tcc", "x86")
OF_THESIS = (
    "ijpeg .512 1.1%, li .603 16.7%, perl .800 18.8%, go .730 15.1%, compress .501 0.1%, m88ksim .729 20.0%,"
    " cc1 .891 7.2%, vortex .920 21.7%; geometric mean .691 3.7%"
)


def main() -> None:
    """Print both."""
    runs = int(sys.argv[1]) if sys.argv[1:] else 10_000
    subprocess.run([HERE / "tools" / "programs"], check=True)  # noqa: S603
    table_2()
    summary(runs)


def table_2() -> None:
    """Print how wrong a single layout is, by program, from 512 factors of code expansion (section 4.2)."""
    print(
        "estimated cycles for an instruction, and the widths of intervals of 90%: a measurement, a comparison"
    )
    factors = np.linspace(0.5, 1.5, FACTORS)
    together = np.zeros(DRAWS)
    levels = []
    random = np.random.default_rng(1)
    for program in PROGRAMS:
        cycles = simulate(_trace(program), "linked", Cache(), seed=0, layouts=FACTORS, expands=1).cycles
        line = fitted_line(factors, cycles)
        wrong = errors(cycles, line.residuals, line.at_one)
        _row(program, line.at_one, (wrong.measurement, wrong.comparison))
        levels.append(np.log(line.at_one))
        # Each program draws its own factor.
        together += np.log1p(random.choice(line.residuals, DRAWS) / line.at_one) / len(PROGRAMS)
    mean = float(np.exp(np.mean(levels)))
    differences = np.exp(together[: DRAWS // 2] - together[DRAWS // 2 :])
    low, high = np.quantile(np.exp(together), [0.05, 0.95])
    least, most = np.quantile(differences, [0.05, 0.95])
    _row("geometric mean", mean, (high - low, most - least))
    print(f"  the thesis, of SPECint95: {OF_THESIS}")


def _row(name: str, cycles: float, widths: tuple[float, float]) -> None:
    print(f"  {name:16} {cycles:.3f}   {widths[0]:6.1%}   {widths[1]:6.1%}")


def summary(runs: int) -> None:
    """Print what history changes, in runs that draw all ties anew (section 4.4)."""
    for scheme in ("conflicts", "pettis_hansen"):
        without, with_history = (
            simulate(_trace("lua"), scheme, Cache(), seed=seed, layouts=runs, history=a).misses[:, 0]
            for seed, a in ((1, 0), (2, 0.5))
        )
        changes = with_history / without - 1
        wrong = np.mean(np.sign(changes) != np.sign(changes.mean()))
        error = 1.96 * changes.std() / runs**0.5
        print(
            f"\n{runs:,} runs of Lua, {scheme}: misses with history 0.5 over those without, less 1"
            " (the thesis, xlisp: mean -17%, from -39% to +10%)"
        )
        print(
            f"  mean {changes.mean():+.1%} ({changes.mean() - error:+.1%} to {changes.mean() + error:+.1%})"
        )
        print(f"  from {changes.min():+.0%} to {changes.max():+.0%}; one sign is wrong in {wrong:.0%}")
        print("  the first ten: " + " ".join(f"{each:+.0%}" for each in changes[:10]))


def _trace(program: str) -> Path:
    return HERE.parents[1] / "build" / "layout" / f"{program}.trace"


if __name__ == "__main__":
    main()
