"""From log ratios to estimates, and from a family of estimates to verdicts."""

import math
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

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Question:
    """What is asked of every comparison of a family.

    Attributes:
        correction: how p-values are corrected for their number.
        look: None where no look has been reached.
        waits: why none has been reached, where none has.
        family: number of comparisons whose p-values are corrected together; 1 without correction.
    """

    smallest_effect_percent: float
    correction: Literal["holm", "none"]
    look: Look | None
    waits: str = NOT_YET
    family: int = 1

    def of(self, comparisons: int) -> "Question":
        """Return the same, asked of this many comparisons at once."""
        return replace(self, family=max(1, comparisons) if self.correction == "holm" else 1)

    @property
    def confidence(self) -> float:
        """What is asked of an interval."""
        return CONFIDENCE if self.look is None else self.look.confidence


@dataclass(frozen=True)
class Tested:
    """One sample of log ratios, and the p-value of a ratio beyond the smallest effect.

    The verdict of `estimate` is that of the sample by itself, without correction.
    """

    better: Better
    estimate: Estimate
    p_equivalent: float | None


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


def estimates(
    samples: Sequence[NDArray[np.float64]], better: Sequence[Better], question: Question
) -> list[Tested]:
    """Test each sample of log ratios by itself; samples of the same size are tested together."""
    same_size: dict[int, list[int]] = defaultdict(list)
    for index, sample in enumerate(samples):
        same_size[len(sample)].append(index)
    nothing = Estimate(None, None, None, "undecided", 0)
    tested = [Tested(direction, nothing, None) for direction in better]
    bound = math.log1p(question.smallest_effect_percent / 100)
    for size, indices in same_size.items():
        if not size:
            continue
        tests = sign_flips([samples[index] for index in indices], question.confidence, bound, question.family)
        for row, index in enumerate(indices):
            interval = None
            if tests.low is not None and tests.high is not None:
                interval = Interval(_exp(tests.low[row]), _exp(tests.high[row]), tests.confidence)
            word = verdict(interval, better[index], question.smallest_effect_percent)
            estimate = Estimate(_exp(tests.center[row]), interval, float(tests.p[row]), word, size)
            tested[index] = Tested(better[index], estimate, float(tests.p_equivalent[row]))
    return tested


def decide(tested: Sequence[Tested], question: Question) -> list[Estimate]:
    """Return the estimates with the verdicts of their family, of which `tested` is all.

    Equivalent: the corrected p-value of a ratio beyond the smallest effect is at most 5%. Otherwise faster or
    slower: that of a ratio of 1 is. Otherwise undecided. A comparison without pairs counts in their number.
    """
    different = _adjusted([test.estimate.p for test in tested], question)
    equivalent = _adjusted([test.p_equivalent for test in tested], question)
    return [_decide(*values, question) for values in zip(tested, different, equivalent, strict=True)]


def _adjusted(p_values: Sequence[float | None], question: Question) -> list[float]:
    """Return p-values corrected for the family and the looks: each is to be compared with 5%."""
    known = [1.0 if p is None else p for p in p_values]
    corrected = holm(known) if question.family > 1 else known
    share = (1 - CONFIDENCE) / (1 - question.confidence)
    return [min(1.0, p * share) for p in corrected]


def _decide(tested: Tested, p: float, p_equivalent: float, question: Question) -> Estimate:
    estimate = tested.estimate
    if question.look is None:
        return replace(estimate, verdict="undecided", reason=question.waits)
    level = (1 - CONFIDENCE) * (1 + NEGLIGIBLE)
    word: Verdict = "undecided"
    reason = ""
    if p_equivalent <= level:
        word = "equivalent"
    elif p <= level:
        assert estimate.ratio is not None
        word = "faster" if (estimate.ratio > 1) == (tested.better == "higher") else "slower"
    else:
        reason = _why_undecided(estimate, question)
    return replace(estimate, verdict=word, p_adjusted=None if estimate.p is None else p, reason=reason)


def _why_undecided(estimate: Estimate, question: Question) -> str:
    family, confidence = question.family, question.confidence
    pairs = "1 pair is" if estimate.pairs == 1 else f"{estimate.pairs or 'no'} pairs are"
    if estimate.interval is None:
        takes = fewest_pairs(1, confidence)
        return f"{pairs} too few for an interval of {100 * confidence:.4g}%: it takes {takes}"
    if estimate.verdict == "undecided":
        return "the interval holds 1 and reaches beyond the smallest effect"
    takes = fewest_pairs(family, confidence)
    if estimate.pairs < takes:
        return f"{pairs} too few for a verdict among {family} comparisons: it takes {takes}"
    shown = "lies within the smallest effect" if estimate.verdict == "equivalent" else "excludes 1"
    return f"the interval {shown}, but among {family} comparisons chance alone does that"


def fewest_pairs(family: int, confidence: float) -> int:
    """Return how many pairs it takes that the smallest p-value, 2 / 2**pairs, is significant in a family.

    Holm's correction multiplies the smallest p-value of a family by the number of comparisons.
    """
    return ceil(log2(2 * family / (1 - confidence)) - NEGLIGIBLE)


def _exp(log_ratio: float) -> float:
    """Return the ratio, short of where a double overflows."""
    return math.exp(min(max(log_ratio, -700), 700))
