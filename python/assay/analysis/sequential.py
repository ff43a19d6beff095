"""When a campaign that may end early looks at its results, and whether it may end.

Each look tests at its own level, and the levels of all looks sum to 5%: however the looks depend on each
other, the probability that any of them is wrong is at most this sum. `docs/statistics.md` explains how the
levels are chosen.
"""

from collections.abc import Callable
from math import ceil, log, sqrt

from assay.analysis.intervals import CONFIDENCE
from assay.analysis.types import Analysis, LevelEffect, Look
from assay.experiment.types import ComparisonDesign, Design

NOT_YET = "the first planned look at the results has not been reached"

GROWTH = 1.5
"""The approximate ratio of the blocks of a look to those of the look before it."""


def looks(design: Design, comparisons: int = 1, weight: Callable[[float], float] = sqrt) -> tuple[Look, ...]:
    """Return the planned looks at the results, the first one first.

    Each gets a share of the 5% in proportion to the `weight` of its blocks. Early looks that cannot decide
    anything are omitted. A campaign that never ends early has one look, at 95%.

    Args:
        design: how many times each condition is run, and what ends the campaign.
        comparisons: number of comparisons that share the level of a look; see `sharing`.
        weight: the weight of a number of blocks; verdicts use the square root.
    """
    counts = [design.blocks]
    if design.end is not None and design.at_least < design.blocks:
        steps = max(1, round(log(design.blocks / design.at_least) / log(GROWTH)))
        growth = (design.blocks / design.at_least) ** (1 / steps)
        counts = [ceil(design.at_least * growth**step - 1e-9) for step in range(steps)] + [design.blocks]
    levels = _split(counts, weight)
    while len(counts) > 1 and comparisons * 2.0 ** (1 - counts[0]) > levels[0]:
        counts = counts[1:]
        levels = _split(counts, weight)
    return tuple(
        Look(number, len(counts), count, 1 - level)
        for number, (count, level) in enumerate(zip(counts, levels, strict=True), 1)
    )


def sharing(comparison: ComparisonDesign, design: Design, answers: int) -> int:
    """Return how many comparisons, of this campaign and others, share the level of a look.

    Passing the gate is corrected only for the number of campaigns.
    """
    corrected = comparison.correction == "family" and design.end != "gate"
    return comparison.campaigns * (answers if corrected else 1)


def is_open(answer: LevelEffect, design: Design) -> bool:
    """Return whether a campaign continues for an answer; one that is withheld can never be decided."""
    if answer.withheld:
        return False
    match design.end:
        case "verdict":
            return answer.verdict == "undecided"
        case "gate":
            return answer.gate == "undecided"
        case None:
            return False
        case width:
            interval = answer.interval
            if interval is None or answer.ratio is None or interval.low == 0:
                return True
            return 100 * (interval.high / interval.low - 1) > width


def _split(counts: list[int], weight: Callable[[float], float]) -> list[float]:
    """Return the level of each look."""
    total = sum(map(weight, counts))
    return [(1 - CONFIDENCE) * weight(count) / total for count in counts]


def reached(design: Design, complete: int, comparisons: int) -> Look | None:
    """Return the look on which verdicts rest when this many blocks are complete; None before the first look.

    A campaign that ends by its time budget, and not by its results, has one look, at the completed blocks.
    """
    if design.end is None and design.minutes is not None:
        return Look(1, 1, complete, CONFIDENCE) if complete else None
    planned = looks(design, comparisons)
    return next((look for look in reversed(planned) if look.blocks <= complete), None)


def waits(design: Design, complete: int) -> str:
    """Return why there has been no look yet when this many blocks are complete."""
    if design.end is not None:
        return NOT_YET
    have_ended = f"{complete} of {design.blocks} blocks {'has' if complete == 1 else 'have'} ended"
    return f"{have_ended}, and verdicts rest on all of them"


def stop_reason(analysis: Analysis, design: Design) -> str:
    """Return why a campaign may end at the look of `analysis`, or "" if it may not.

    The comparisons of the main metric and the aggregates decide; further metrics do not. The campaign does
    not wait for withheld ones, which can never be decided, except on a busy host, which may become quiet.
    """
    if analysis.look is None or design.end is None or analysis.busy:
        return ""
    if any(is_open(answer, design) for answer in analysis.answers):
        return ""
    withheld, answers = sum(answer.withheld for answer in analysis.answers), len(analysis.answers)
    every = "every other" if withheld else "every"
    match design.end:
        case "verdict":
            reason = f"{every} comparison has a verdict"
        case "gate":
            reason = f"{every} comparison has passed or failed the gate of {analysis.gate_percent:g}%"
        case width:
            reason = f"{every} interval is at most {width:g}% wide"
    none = f"{withheld} of {answers} comparisons can have no verdict, as trials were not valid"
    return "; ".join([none] * bool(withheld) + [reason] * (withheld < answers))
