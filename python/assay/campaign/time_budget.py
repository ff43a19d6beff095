"""How many blocks fit into the time that a command may take."""

import math
import time
from collections.abc import Callable

from assay.analysis.intervals import CONFIDENCE
from assay.analysis.verdicts import fewest_pairs
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.words import duration, elapsed

MOST_BLOCKS = 1000
FEWEST_BLOCKS = 6
USUAL_FEWEST = 8
"""Blocks before the first look at the results, unless fewer are planned."""

_SHARE_OF_TIME = 0.9  # blocks are planned for this share of the time left: some groups are repeated
_START_S = 2.0  # until the rehearsal begins, and from the last trial to the answer
_ROUGHLY_S = 90.0  # longer blocks are written in minutes


class TooLittleTimeError(AssayError):
    """There is too little time for any verdict."""


def written(length_s: float) -> str:
    """Return a length of time as `--within` takes it, rounded up."""
    if length_s < 90:
        return f"{math.ceil(length_s)}s"
    return f"{math.ceil(length_s / 60)}m" if length_s < 90 * 60 else f"{math.ceil(length_s / 3600)}h"


def blocks_within(
    experiment: Experiment,
    block_s: float,
    left_s: float,
    what: str,
    shares: int = 1,
    *,
    before_s: float = _START_S,
) -> int:
    """Return how many blocks there is time for.

    Args:
        experiment: has the blocks.
        block_s: how long a block takes.
        left_s: the time that is left.
        what: describes a block, for the message.
        shares: how many campaigns share the time of `--within`.
        before_s: how much of that time had passed before the rehearsal.

    Raises:
        TooLittleTimeError: there is too little time for the fewest blocks that a verdict takes.
    """
    fewest = fewest_blocks(experiment)
    blocks = min(math.floor(_SHARE_OF_TIME * left_s / block_s), MOST_BLOCKS)
    if blocks < fewest <= left_s / block_s:
        blocks = fewest
    if blocks < fewest:
        raise _too_little_time(block_s, fewest, what, shares, before_s)
    return blocks


def fewest_blocks(experiment: Experiment) -> int:
    """Return how many blocks a verdict takes at least."""
    family = experiment.comparison.campaigns * (len(experiment.conditions()) - len(experiment.groups()))
    return max(FEWEST_BLOCKS, fewest_pairs(family, CONFIDENCE))


def cut(
    fewest: int, ends: float, what: str, shares: int = 1, *, before_s: float = _START_S
) -> Callable[[float, float], None]:
    """Return a check that ends a rehearsal early if it has shown that there is too little time.

    The check raises TooLittleTimeError if even blocks as short as the part that has run would not fit.

    Args:
        fewest: the number of blocks that a verdict takes.
        ends: the moment of the monotonic clock when the time is over.
        what: describes a block, for the message.
        shares: how many campaigns share the time of `--within`.
        before_s: how much of that time had passed before the rehearsal.
    """

    def check(part_s: float, block_s: float) -> None:
        if fewest * part_s > ends - time.monotonic():
            raise _too_little_time(block_s, fewest, what, shares, before_s)

    return check


def _too_little_time(
    block_s: float, fewest: int, what: str, shares: int, before_s: float
) -> TooLittleTimeError:
    block = duration(block_s) if block_s >= _ROUGHLY_S else f"about {elapsed(block_s)}"
    needed = shares * (fewest * block_s / _SHARE_OF_TIME + block_s + max(_START_S, before_s))
    return TooLittleTimeError(
        f"a block, {what}, takes {block}, and a verdict takes at least {fewest:,} "
        f"blocks; give it more time: --within {written(needed)}"
    )
