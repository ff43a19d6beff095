"""Simulated histories of commits: what is told where nothing has changed, and where something has.

A part of `make calibration`; with --write, the table in docs/README.md is replaced:

PYTHONPATH=benchmarks .venv/bin/python satellites/trend/history_tables.py --write
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.signal import lfilter  # type: ignore[import-untyped]

from assay_trend.history import ERROR, described
from calibration import CAMPAIGNS, prove
from promises import Rate, Row, Table, rng_of
from simulation import Array

PAGE = Path(__file__).parent / "docs/README.md"

SCATTER = 0.01
STEP = 0.05
DRIFT = 0.005

NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy-tailed": lambda rng, shape: rng.standard_t(3, shape),
    "log-normal": lambda rng, shape: rng.lognormal(size=shape),
    "bimodal": lambda rng, shape: rng.standard_normal(shape) + 5 * (rng.random(shape) < 0.2),
    "autocorrelated": lambda rng, shape: np.asarray(lfilter([1], [1, -0.3], rng.standard_normal(shape))),
}
PROMISED = ("normal", "heavy-tailed")
"""The noises for which the error is held; the others show what comes of it elsewhere."""


def tables(campaigns: int) -> list[Table]:
    """Return the table; `campaigns` is how many rows of others rest on."""
    quarter = campaigns // 4
    return [
        Table(
            "Steps and drift over commits",
            f"{quarter} histories a row, of one series whose noise between commits has the size of "
            f"{100 * SCATTER:g}%. *Step*, *drift*, *any*: told where nothing changed. *Found step*: one of "
            f"{100 * STEP:g}% half-way is told as the only one, at its commit or beside it. *Found drift*: a "
            f"fall by {100 * DRIFT:g}% at every commit is told as a drift.",
            ("noise", "commits", "step %", "drift %", "any %", "found step %", "found drift %"),
            tuple(partial(told, noise, commits, quarter) for noise in NOISES for commits in (8, 12, 20, 40)),
        )
    ]


def told(noise: str, commits: int, histories: int) -> Row:
    """Histories of one length: without a change, with a step, and with a drift."""
    data = SCATTER * NOISES[noise](rng_of("history", noise, commits), (histories, commits))
    half, places = commits // 2, np.arange(commits)
    alone = [described(row, ERROR / 2) for row in data]
    stepped = [described(row, ERROR / 2) for row in data + STEP * (places >= half)]
    drifting = [described(row, ERROR / 2) for row in data - DRIFT * places]
    return (
        noise,
        commits,
        Rate.of([bool(starts) for starts, _ in alone]),
        Rate.of([line is not None for _, line in alone]),
        Rate.of(
            [bool(starts) or line is not None for starts, line in alone],
            "at most 5%" if noise in PROMISED else "",
        ),
        Rate.of([len(starts) == 1 and abs(starts[0] - half) <= 1 for starts, _ in stepped]),
        Rate.of([line is not None for _, line in drifting]),
    )


if __name__ == "__main__":
    prove(tables(CAMPAIGNS), PAGE)
