"""What simulations promise: rates with their Monte Carlo error, tables of them, and what breaks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from assay.analysis.aa import binomial_interval

LEVEL = 0.05
ERRORS = 3
"""A promise is broken where a rate is this many standard errors of the simulation beyond it."""

Promise = Literal["at most 5%", "at least 95%", "above 5%", ""]


@dataclass(frozen=True)
class Rate:
    """In how many of the simulated campaigns something happened, and what is promised of it."""

    hits: float
    campaigns: int
    promise: Promise = ""

    @classmethod
    def of(cls, hits: ArrayLike, promise: Promise = "") -> "Rate":
        """Count what is true."""
        return cls(int(np.sum(np.asarray(hits, dtype=bool))), np.size(hits), promise)

    @classmethod
    def mean(cls, shares: ArrayLike, promise: Promise = "") -> "Rate":
        """Return the mean of shares of 1, which scatter no more than as many zeros and ones of that mean."""
        return cls(float(np.sum(shares)), np.size(shares), promise)

    @property
    def share(self) -> float:
        """The share of all campaigns."""
        return self.hits / self.campaigns

    @property
    def holds(self) -> bool:
        """Whether the promise is kept, up to Monte Carlo error."""
        slack = ERRORS * math.sqrt(LEVEL * (1 - LEVEL) / self.campaigns)
        match self.promise:
            case "at most 5%":
                return self.share <= LEVEL + slack
            case "at least 95%":
                return self.share >= 1 - LEVEL - slack
            case "above 5%":
                return self.share > LEVEL + slack
            case _:
                return True

    def __str__(self) -> str:
        """Return percent, and the exact 95% interval of what endless simulation would give."""
        error = binomial_interval(self.hits, self.campaigns)
        shown = f"{100 * self.share:.1f} [{100 * error.low:.1f}, {100 * error.high:.1f}]"
        return shown + ("" if self.holds else " **FAIL**")


Cell = str | int | float | Rate
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """What is printed: a heading, a paragraph, and rows, each of them the result of a function."""

    title: str
    text: str
    header: tuple[str, ...]
    rows: tuple[Callable[[], Row], ...]


def rng_of(*what: object) -> np.random.Generator:
    """Return chance that depends on what it is for alone, not on which process draws it or when."""
    return np.random.default_rng(crc32(repr(what).encode()))


def broken(table: Table, rows: Sequence[Row]) -> list[str]:
    """Return the promises that the rows of a table break."""
    return [
        f"{table.title}: {row[0]}, {row[1]}: {name} is {cell}, promised {cell.promise}"
        for row in rows
        for name, cell in zip(table.header, row, strict=True)
        if isinstance(cell, Rate) and not cell.holds
    ]


def markdown(table: Table, rows: Sequence[Row]) -> str:
    """Return a table as docs/statistics.md shows it."""
    lines = [
        table.header,
        ["---"] * len(table.header),
        *([f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows),
    ]
    return "\n".join(
        [f"### {table.title}", "", table.text, "", *(f"| {' | '.join(line)} |" for line in lines)]
    )
