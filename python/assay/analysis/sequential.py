"""When a campaign that may end early looks at its results, and whether it may end.

Each look tests at a level of its own, and the levels of all looks sum to 5%: whatever the looks have to do
with each other, the chance that any of them is wrong is at most that sum. `docs/statistics.md` says why the
levels are split as they are.
"""

from collections.abc import Callable
from math import ceil, log, sqrt

from assay.analysis.intervals import CONFIDENCE
from assay.analysis.types import Analysis, LevelEffect, Look
from assay.experiment.types import Blocks, ComparisonDesign

NOT_YET = "the first planned look at the results has not been reached"

GROWTH = 1.5
"""About how much larger each look is than the one before."""


def looks(blocks: Blocks, comparisons: int = 1, weight: Callable[[float], float] = sqrt) -> tuple[Look, ...]:
    """Return the planned looks at the results, the first one first.

    Each has a share of the 5% in proportion to the `weight` of its blocks. Looks at the start that could not
    decide anything are left out. A campaign that never ends early has one look, at 95%.

    Args:
        blocks: how many times each condition is run.
        comparisons: how many share the level of a look; see `sharing`.
        weight: of a number of blocks; the square root is what verdicts rest on.
    """
    counts = [blocks.most]
    if blocks.until is not None and blocks.fewest < blocks.most:
        steps = max(1, round(log(blocks.most / blocks.fewest) / log(GROWTH)))
        growth = (blocks.most / blocks.fewest) ** (1 / steps)
        counts = [ceil(blocks.fewest * growth**step - 1e-9) for step in range(steps)] + [blocks.most]
    levels = _split(counts, weight)
    while len(counts) > 1 and comparisons * 2.0 ** (1 - counts[0]) > levels[0]:
        counts = counts[1:]
        levels = _split(counts, weight)
    return tuple(
        Look(number, len(counts), count, 1 - level)
        for number, (count, level) in enumerate(zip(counts, levels, strict=True), 1)
    )


def sharing(design: ComparisonDesign, blocks: Blocks, answers: int) -> int:
    """Return how many comparisons, of this campaign and others, share the level of a look at its answers.

    To pass the gate is corrected for the number of campaigns alone.
    """
    corrected = design.correction == "family" and blocks.until != "gate"
    return design.campaigns * (answers if corrected else 1)


def is_open(answer: LevelEffect, blocks: Blocks) -> bool:
    """Tell whether a campaign goes on for an answer; one that is withheld can never be decided."""
    if answer.withheld:
        return False
    match blocks.until:
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


def reached(blocks: Blocks, complete: int, comparisons: int) -> Look | None:
    """Return the look that verdicts rest on when this many blocks are complete; None before the first one.

    A campaign with a time budget that does not end by its results has one look, at the blocks that were
    completed in it.
    """
    if blocks.until is None and blocks.minutes is not None:
        return Look(1, 1, complete, CONFIDENCE) if complete else None
    planned = looks(blocks, comparisons)
    return next((look for look in reversed(planned) if look.blocks <= complete), None)


def waits(blocks: Blocks, complete: int) -> str:
    """Return why no look has been reached when this many blocks are complete."""
    if blocks.until is not None:
        return NOT_YET
    have_ended = f"{complete} of {blocks.most} blocks {'has' if complete == 1 else 'have'} ended"
    return f"{have_ended}, and verdicts rest on all of them"


def stop_reason(analysis: Analysis, blocks: Blocks) -> str:
    """Return why a campaign may end at the look that `analysis` rests on, or "" where it may not.

    The comparisons of the main metric and the aggregates decide; further metrics do not. What is withheld
    can never be decided, and is not waited for; but a busy host may become quiet, and then more blocks help.
    """
    if analysis.look is None or blocks.until is None or analysis.busy:
        return ""
    if any(is_open(answer, blocks) for answer in analysis.answers):
        return ""
    withheld, of = sum(answer.withheld for answer in analysis.answers), len(analysis.answers)
    every = "every other" if withheld else "every"
    match blocks.until:
        case "verdict":
            reason = f"{every} comparison has a verdict"
        case "gate":
            reason = f"{every} comparison has passed or failed the gate of {analysis.gate_percent:g}%"
        case width:
            reason = f"{every} interval is at most {width:g}% wide"
    none = f"{withheld} of {of} comparisons can have no verdict, as trials were not valid"
    return "; ".join([none] * bool(withheld) + [reason] * (withheld < of))
