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
from assay.analysis.types import Estimate, Gate, Interval, Look, Verdict
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
        gate_percent: what is worse by more fails; None: nothing is to pass or fail.
        campaigns: how many share the error of 5%.
    """

    smallest_effect_percent: float
    correction: Literal["holm", "none"]
    look: Look | None
    waits: str = NOT_YET
    gate_percent: float | None = None
    campaigns: int = 1

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

    Where there is a gate, a comparison fails if the corrected p-value of being within it is at most 5%, and
    passes if that of being beyond it is, which is not corrected for the family: that all of them pass is one
    claim, and it is wrong only if one that is beyond the gate passes (docs/statistics.md, The gate).

    Args:
        samples: of each comparison; empty where it is withheld.
        better: which values of its metric are.
        question: what is asked of all of them.
        withheld: why it can have no verdict, empty where it can; for all of them or for none.
    """
    family = (max(1, len(samples)) if question.correction == "holm" else 1) * question.campaigns
    alone, p = _estimates(samples, better, question, family)
    reasons = withheld or [""] * len(samples)
    undecided: Gate | None = None if question.gate_percent is None else "undecided"
    if question.look is None:
        return [
            replace(estimate, verdict="undecided", reason=reason or question.waits, gate=undecided)
            for estimate, reason in zip(alone, reasons, strict=True)
        ]
    level = (1 - CONFIDENCE) * (1 + NEGLIGIBLE)
    decided = []
    for estimate, direction, different, equivalent, within, beyond, reason in zip(
        alone,
        better,
        *(_adjusted(values, question) for values in (p.different, p.equivalent, p.within)),
        _adjusted(p.beyond, replace(question, correction="none")),
        reasons,
        strict=True,
    ):
        word: Verdict = "undecided"
        if equivalent <= level:
            word = "equivalent"
        elif different <= level:
            assert estimate.ratio is not None
            word = "faster" if (estimate.ratio > 1) == (direction == "higher") else "slower"
        gate = undecided
        if gate is not None and min(within, beyond) <= level:
            gate = "failed" if within <= level else "passed"
        why = reason
        if word == "undecided" and not reason:
            why = _why_undecided(estimate, question.confidence, family)
        p_adjusted = None if estimate.p is None else different
        decided.append(replace(estimate, verdict=word, p_adjusted=p_adjusted, reason=why, gate=gate))
    return decided


@dataclass(frozen=True)
class _P:
    """The p-values of a family's comparisons, each by itself; 1 without pairs.

    Attributes:
        different, equivalent: of a ratio of 1, and of one beyond the smallest effect.
        within, beyond: of a ratio that is within the gate, and of one beyond it.
    """

    different: NDArray[np.float64]
    equivalent: NDArray[np.float64]
    within: NDArray[np.float64]
    beyond: NDArray[np.float64]


def _estimates(
    samples: Sequence[NDArray[np.float64]], better: Sequence[Better], question: Question, family: int
) -> tuple[list[Estimate], _P]:
    """Test each sample by itself; samples of the same size are tested together.

    Returns:
        The estimates, whose verdicts are those of their intervals by themselves, and the p-values.
    """
    same_kind: dict[tuple[int, Better], list[int]] = defaultdict(list)
    for index, (sample, direction) in enumerate(zip(samples, better, strict=True)):
        same_kind[len(sample), direction].append(index)
    alone = [Estimate(None, None, None, "undecided", 0)] * len(samples)
    p = _P(*np.ones((4, len(samples))))
    bound, gate = (
        math.log1p(percent / 100)
        for percent in (question.smallest_effect_percent, question.gate_percent or 0)
    )
    for (size, direction), indices in same_kind.items():
        if not size:
            continue
        worse = -gate if direction == "higher" else gate
        tests = sign_flips([samples[index] for index in indices], question.confidence, bound, family, worse)
        p.different[indices], p.equivalent[indices] = tests.p, tests.p_equivalent
        p.within[indices], p.beyond[indices] = tests.p_within, tests.p_beyond
        for row, index in enumerate(indices):
            interval = None
            if tests.low is not None and tests.high is not None:
                interval = Interval(as_ratio(tests.low[row]), as_ratio(tests.high[row]), tests.confidence)
            word = verdict(interval, better[index], question.smallest_effect_percent)
            alone[index] = Estimate(as_ratio(tests.center[row]), interval, float(tests.p[row]), word, size)
    return alone, p


def _adjusted(p: NDArray[np.float64], question: Question) -> list[float]:
    """Return p-values corrected for the family, the looks and the campaigns: to be compared with 5% each."""
    corrected = holm(p) if question.correction == "holm" else p.tolist()
    share = question.campaigns * (1 - CONFIDENCE) / (1 - question.confidence)
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
