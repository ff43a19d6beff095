"""Simulated campaigns whose ratios differ between known parts, and what a search of partitions finds.

A part of `make calibration`; with --write, the table in docs/explore.md is replaced:

PYTHONPATH=benchmarks .venv/bin/python satellites/lab/exploration_tables.py --write
"""

from collections.abc import Mapping
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from assay_lab.exploration import LogRatios, Partition, search
from calibration import CAMPAIGNS, prove
from promises import LEVEL, Rate, Row, Table, rng_of
from simulation import NOISES, Array, log_ratios

PAGE = Path(__file__).parent / "docs/explore.md"

FACTORS: Mapping[str, tuple[int | str, ...]] = {
    "threads": (1, 2, 4),
    "mix": ("searches", "mixed", "updates"),
}
CONTEXTS = [dict(zip(FACTORS, levels, strict=True)) for levels in product(*FACTORS.values())]
BLOCKS = 12
EFFECT = 0.2

PLANTED: Mapping[str, Mapping[str, tuple[int | str, ...]]] = {
    "nothing": {},
    "threads": {"threads": (2, 4)},
    "threads and mix": {"threads": (4,), "mix": ("updates",)},
}
"""What a level is faster in by `EFFECT` -> factor -> levels; the other level is so everywhere."""


def tables(campaigns: int) -> list[Table]:
    """Return the table; `campaigns` is how many rows of others rest on."""
    eighth = campaigns // 8
    return [
        Table(
            "Exploring",
            f"{eighth} campaigns a row, of a baseline and two levels, with {BLOCKS} blocks, 1, 2 and 4 "
            f"threads and 3 mixes. One level is faster by {100 * EFFECT:g}% everywhere, the other nowhere "
            "(*nothing*), with 2 and 4 threads (*threads*), or with 4 threads for one mix. *False*: the mean "
            "share of false ones in what is found by the correction of Benjamini and Yekutieli, and by that "
            "of Benjamini and Hochberg. *Uncorrected*: the share of campaigns in which p is at most 5% for a "
            "partition whose parts do not differ. *Found*: the partition into just these parts is found; "
            "*first*: it is the first that is named of its comparison.",
            (
                "noise",
                "planted",
                "false %",
                "Hochberg: false %",
                "uncorrected %",
                "found %",
                "first %",
            ),
            tuple(partial(explored, noise, planted, eighth) for noise in NOISES for planted in PLANTED),
        )
    ]


def explored(noise: str, planted: str, campaigns: int) -> Row:
    """Campaigns with the same differences."""
    rng = rng_of("explored", noise, planted)
    data = log_ratios(NOISES[noise], rng, campaigns, BLOCKS, contexts=len(CONTEXTS), levels=3)
    tables = data.reshape(campaigns, len(CONTEXTS), 2, BLOCKS).transpose(0, 2, 3, 1)
    parts = PLANTED[planted]
    inside = np.array(
        [all(context[name] in levels for name, levels in parts.items()) for context in CONTEXTS]
    )
    effects = np.log1p(EFFECT) * np.array(
        [np.ones(len(CONTEXTS)), inside if parts else np.zeros(len(CONTEXTS))]
    )
    searched = [_searched(campaign + effects[:, None]) for campaign in tables]
    truth = [[_differs(partition, effects) for partition in partitions] for partitions in searched]
    by_rank = [_of_hochberg([partition.p or 1.0 for partition in partitions]) for partitions in searched]
    cells: list[Rate | str] = ["", ""]
    if parts:
        at = [[_is(partition, parts) for partition in partitions] for partitions in searched]
        cells = [
            Rate.of(
                [
                    any(here and partition.found for here, partition in zip(hits, partitions, strict=True))
                    for hits, partitions in zip(at, searched, strict=True)
                ]
            ),
            Rate.of(
                [
                    next(
                        here for here, partition in zip(hits, partitions, strict=True) if partition.level == 1
                    )
                    for hits, partitions in zip(at, searched, strict=True)
                ]
            ),
        ]
    return (
        noise,
        planted,
        Rate.mean(
            [
                _false([partition.found for partition in partitions], true)
                for partitions, true in zip(searched, truth, strict=True)
            ],
            "at most 5%",
        ),
        Rate.mean([_false(found, true) for found, true in zip(by_rank, truth, strict=True)]),
        Rate.of(
            [
                any(
                    partition.p is not None and partition.p <= LEVEL and not differs
                    for partition, differs in zip(partitions, true, strict=True)
                )
                for partitions, true in zip(searched, truth, strict=True)
            ],
            "above 5%",
        ),
        *cells,
    )


def _searched(campaign: Array) -> tuple[Partition, ...]:
    ratios = [LogRatios(level, "baseline", CONTEXTS, table) for level, table in enumerate(campaign)]
    return search(ratios, FACTORS)[0]


def _differs(partition: Partition, effects: Array) -> bool:
    """Return whether the true ratio differs between the parts."""
    inside = np.array([_in(context, partition.inside.levels) for context in CONTEXTS])
    of_level = effects[int(partition.level)]
    return bool(abs(of_level[inside].mean() - of_level[~inside].mean()) > 1e-9)


def _is(partition: Partition, parts: Mapping[str, tuple[int | str, ...]]) -> bool:
    """Return whether a partition has just these parts, of the level that they are planted in."""
    return partition.level == 1 and dict(partition.inside.levels) == parts


def _in(context: Mapping[str, int | str], levels: Mapping[str, tuple[int | str | float, ...]]) -> bool:
    return all(context[name] in of_factor for name, of_factor in levels.items())


def _false(found: list[bool], true: list[bool]) -> float:
    """Return the share of false ones in what is found; 0 where nothing is."""
    wrong = sum(here and not differs for here, differs in zip(found, true, strict=True))
    return wrong / max(1, sum(found))


def _of_hochberg(p: list[float]) -> list[bool]:
    """Return what Benjamini and Hochberg's (1995) procedure finds at 5%."""
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= LEVEL * np.arange(1, len(p) + 1) / len(p) * (1 + 1e-9))
    limit = ordered[below[-1]] if below.size else -1.0
    return [value <= limit for value in p]


if __name__ == "__main__":
    prove(tables(CAMPAIGNS), PAGE)
