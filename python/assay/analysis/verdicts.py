"""From log ratios to estimates, and from a family of estimates to verdicts."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.analysis.holm import holm
from assay.analysis.intervals import CONFIDENCE, NEGLIGIBLE, sign_flips
from assay.analysis.sequential import NOT_YET
from assay.analysis.types import Estimate, Interval, Look, Verdict
from assay.experiment.metrics import TIME

Better = Literal["higher", "lower"]

_SPEED_BY_NAME = re.compile(
    rf"(?:^|[^a-z0-9])(?:throughput|speed|latency|time|duration|elapsed|{TIME})"
    r"(?:[^a-z0-9](?:p[0-9]+|median|mean|per[^a-z0-9].*))?$"
)
_SPEED_BY_UNIT = re.compile(rf"{TIME}\b|.*(?:/|\bper\b)\s*{TIME}$")


@dataclass(frozen=True)
class Question:
    """What is asked of every comparison of a family.

    Attributes:
        correction: how p-values are corrected for their number.
        look: None where no look has been reached.
        waits: why none has been reached, where none has.
    """

    smallest_effect_percent: float
    correction: Literal["holm", "none"]
    look: Look | None
    waits: str = NOT_YET

    @property
    def confidence(self) -> float:
        """What is asked of an interval."""
        return CONFIDENCE if self.look is None else self.look.confidence


def verdict(interval: Interval | None, better: Better, smallest_effect_percent: float) -> Verdict:
    """Return what the interval of a ratio allows to be said by itself.

    Equivalent: it lies within the smallest effect of 1, that is, in [1 / (1 + e), 1 + e]. Otherwise faster or
    slower: it excludes 1. Otherwise, and without an interval, undecided.
    """
    if interval is None:
        return "undecided"
    largest = 1 + smallest_effect_percent / 100
    if 1 / largest <= interval.low and interval.high <= largest:
        return "equivalent"
    if interval.low > 1:
        return "faster" if better == "higher" else "slower"
    if interval.high < 1:
        return "slower" if better == "higher" else "faster"
    return "undecided"


def verdict_word(verdict: Verdict, metric: str, unit: str) -> str:
    """Return what people read for a verdict: better or worse where the metric is neither a rate nor a time.

    The unit tells that or, where it is empty, the metric's name.
    """
    if _SPEED_BY_UNIT.match(unit.lower()) or (not unit and _SPEED_BY_NAME.search(metric.lower())):
        return verdict
    return {"faster": "better", "slower": "worse"}.get(verdict, verdict)


def decide(
    samples: Sequence[NDArray[np.float64]],
    better: Sequence[Better],
    question: Question,
    withheld: Sequence[str] = (),
) -> list[Estimate]:
    """Return the estimate from each sample of log ratios, with the verdict that their family, all, allows.

    Equivalent: the corrected p-value of a ratio beyond the smallest effect is at most 5%. Otherwise faster or
    slower: that of a ratio of 1 is. Otherwise undecided. A comparison without pairs counts in their number.

    Args:
        samples: of each comparison; empty where it is withheld.
        better: which values of its metric are.
        question: what is asked of all of them.
        withheld: why it can have no verdict, empty where it can; for all of them or for none.
    """
    family = max(1, len(samples)) if question.correction == "holm" else 1
    alone, p, p_equivalent = _estimates(samples, better, question, family)
    reasons = withheld or [""] * len(samples)
    if question.look is None:
        return [
            replace(estimate, verdict="undecided", reason=reason or question.waits)
            for estimate, reason in zip(alone, reasons, strict=True)
        ]
    level = (1 - CONFIDENCE) * (1 + NEGLIGIBLE)
    decided = []
    for estimate, direction, different, equivalent, reason in zip(
        alone, better, _adjusted(p, question), _adjusted(p_equivalent, question), reasons, strict=True
    ):
        word: Verdict = "undecided"
        if equivalent <= level:
            word = "equivalent"
        elif different <= level:
            assert estimate.ratio is not None
            word = "faster" if (estimate.ratio > 1) == (direction == "higher") else "slower"
        why = reason
        if word == "undecided" and not reason:
            why = _why_undecided(estimate, question.confidence, family)
        p_adjusted = None if estimate.p is None else different
        decided.append(replace(estimate, verdict=word, p_adjusted=p_adjusted, reason=why))
    return decided


def _estimates(
    samples: Sequence[NDArray[np.float64]], better: Sequence[Better], question: Question, family: int
) -> tuple[list[Estimate], NDArray[np.float64], NDArray[np.float64]]:
    """Test each sample by itself; samples of the same size are tested together.

    Returns:
        The estimates, whose verdicts are those of their intervals by themselves; the p-values of a ratio of 1
        and those of a ratio beyond the smallest effect, 1 without pairs.
    """
    same_size: dict[int, list[int]] = defaultdict(list)
    for index, sample in enumerate(samples):
        same_size[len(sample)].append(index)
    alone = [Estimate(None, None, None, "undecided", 0)] * len(samples)
    p, p_equivalent = np.ones((2, len(samples)))
    bound = math.log1p(question.smallest_effect_percent / 100)
    for size, indices in same_size.items():
        if not size:
            continue
        tests = sign_flips([samples[index] for index in indices], question.confidence, bound, family)
        p[indices], p_equivalent[indices] = tests.p, tests.p_equivalent
        for row, index in enumerate(indices):
            interval = None
            if tests.low is not None and tests.high is not None:
                interval = Interval(as_ratio(tests.low[row]), as_ratio(tests.high[row]), tests.confidence)
            word = verdict(interval, better[index], question.smallest_effect_percent)
            alone[index] = Estimate(as_ratio(tests.center[row]), interval, float(tests.p[row]), word, size)
    return alone, p, p_equivalent


def _adjusted(p: NDArray[np.float64], question: Question) -> list[float]:
    """Return p-values corrected for the family and the looks: each is to be compared with 5%."""
    corrected = holm(p) if question.correction == "holm" else p.tolist()
    share = (1 - CONFIDENCE) / (1 - question.confidence)
    return [min(1.0, value * share) for value in corrected]


def _why_undecided(alone: Estimate, confidence: float, family: int) -> str:
    pairs = "1 pair is" if alone.pairs == 1 else f"{alone.pairs or 'no'} pairs are"
    if alone.interval is None:
        takes = fewest_pairs(1, confidence)
        return f"{pairs} too few for an interval of {100 * confidence:.4g}%: it takes {takes}"
    if alone.verdict == "undecided":
        return "the interval holds 1 and reaches beyond the smallest effect"
    takes = fewest_pairs(family, confidence)
    if alone.pairs < takes:
        return f"{pairs} too few for a verdict among {family} comparisons: it takes {takes}"
    shown = "lies within the smallest effect" if alone.verdict == "equivalent" else "excludes 1"
    return f"the interval {shown}, but among {family} comparisons chance alone does that"


def fewest_pairs(family: int, confidence: float) -> int:
    """Return how many pairs it takes that the smallest p-value, 2 / 2**pairs, is significant in a family.

    Holm's correction multiplies the smallest p-value of a family by the number of comparisons.
    """
    return ceil(log2(2 * family / (1 - confidence)) - NEGLIGIBLE)


def as_ratio(log_ratio: float) -> float:
    """Return the ratio, short of where a double overflows."""
    return math.exp(min(max(log_ratio, -700), 700))
