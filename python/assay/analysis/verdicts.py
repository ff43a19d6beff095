"""From log ratios to estimates, and from a family of estimates to verdicts."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log2
from operator import mul
from typing import Literal

import numpy as np

from assay.analysis.intervals import CONFIDENCE, NEGLIGIBLE, as_ratio, sign_flips
from assay.analysis.pairs import Sample
from assay.analysis.population import population as of_population
from assay.analysis.sequential import NOT_YET
from assay.analysis.types import Estimate, Gate, Interval, Look, Verdict
from assay.experiment.metrics import TIME

Better = Literal["higher", "lower"]

_SPEED_BY_NAME = re.compile(
    rf"(?:^|[^a-z0-9])(?:throughput|speed|latency|time|duration|elapsed|{TIME})"
    r"(?:[^a-z0-9](?:p[0-9]+|median|mean|per[^a-z0-9].*))?\Z"
)
_SPEED_BY_UNIT = re.compile(rf"{TIME}\b|.*(?:/|\bper\b)\s*{TIME}\Z")


@dataclass(frozen=True)
class Question:
    """The question that all comparisons of a family answer.

    Attributes:
        smallest_effect: the smallest difference that matters, in the metric's units; None: no difference is
            called equivalent.
        correction: whether the comparisons of a family share the level of the look.
        look: None before the first look.
        waits: why there has been no look yet.
        gate_percent: a level that is worse by more fails; None without a gate.
        campaigns: number of campaigns that share the error of 5%.
        population: the answers are about the population of hosts, and not about the hosts that ran trials.
    """

    smallest_effect_percent: float
    correction: Literal["family", "none"]
    look: Look | None
    waits: str = NOT_YET
    gate_percent: float | None = None
    campaigns: int = 1
    smallest_effect: float | None = None
    population: bool = False

    @property
    def confidence(self) -> float:
        """The joint confidence of the intervals of all campaigns."""
        return CONFIDENCE if self.look is None else self.look.confidence

    def sharing(self, comparisons: int) -> int:
        """Return how many comparisons, in the family and in other campaigns, share the level of the look."""
        return (max(1, comparisons) if self.correction == "family" else 1) * self.campaigns


def verdict(interval: Interval | None, better: Better, smallest_effect_percent: float) -> Verdict:
    """Return the verdict from the interval of a ratio.

    It is equivalent if the interval lies within the smallest effect e of 1: in [1 / (1 + e), 1 + e]. Else it
    is faster or slower if the interval excludes 1. Else, and without an interval, it is undecided.
    """
    largest = 1 + smallest_effect_percent / 100
    return _read_off(interval, better, 1, (1 / largest, largest))


def verdict_of_difference(
    interval: Interval | None, better: Better, smallest_effect: float | None
) -> Verdict:
    """Return the verdict from the interval of a difference."""
    smallest = math.nan if smallest_effect is None else smallest_effect  # nothing lies within NaN
    return _read_off(interval, better, 0, (-smallest, smallest))


def _read_off(interval: Interval | None, better: Better, same: float, band: tuple[float, float]) -> Verdict:
    if interval is None:
        return "undecided"
    if band[0] <= interval.low and interval.high <= band[1]:
        return "equivalent"
    if interval.low > same:
        return "faster" if better == "higher" else "slower"
    if interval.high < same:
        return "slower" if better == "higher" else "faster"
    return "undecided"


def verdict_word(verdict: Verdict, metric: str, unit: str) -> str:
    """Return a verdict for people: better or worse if the metric is neither a rate nor a time.

    That follows from the unit or, if it is empty, from the metric's name.
    """
    if _SPEED_BY_UNIT.match(unit.lower()) or (not unit and _SPEED_BY_NAME.search(metric.lower())):
        return verdict
    return {"faster": "better", "slower": "worse"}.get(verdict, verdict)


def decide(
    samples: Sequence[Sample],
    better: Sequence[Better],
    question: Question,
    withheld: Sequence[str] = (),
) -> list[Estimate]:
    """Return the estimate from each sample, with the verdict that its interval allows.

    All comparisons are a family and share the level of the look, even those without pairs: so all intervals
    hold together, and with them the verdicts.

    If there is a gate, a comparison fails if its interval lies completely beyond it. It passes if its
    interval without correction for the family lies completely within: that all of them pass is one claim,
    which is wrong only if one beyond the gate passes (docs/statistics.md, The gate).

    Args:
        samples: the sample of each comparison; empty if it is withheld.
        better: for each comparison, which values of its metric are better.
        question: the question about all comparisons.
        withheld: for each comparison, why it can have no verdict, or ""; or no items at all.
    """
    sharing = question.sharing(len(samples))
    level = 1 - question.confidence
    share = sharing * (1 - CONFIDENCE) / level
    reasons = withheld or [""] * len(samples)
    together = _estimates(samples, level / sharing, population=question.population)
    alone = together
    if question.gate_percent is not None:
        # From the same flips, so that the one interval lies in the other.
        alone = _estimates(
            samples, level / question.campaigns, sharing // question.campaigns, population=question.population
        )
    decided = []
    for estimate, by_itself, direction, reason in zip(together, alone, better, reasons, strict=True):
        gate: Gate | None = None if question.gate_percent is None else "undecided"
        if question.look is None:
            decided.append(replace(estimate, reason=reason or question.waits, gate=gate))
            continue
        if estimate.difference is None:
            word = verdict(estimate.interval, direction, question.smallest_effect_percent)
        else:
            word = verdict_of_difference(estimate.interval, direction, question.smallest_effect)
        passes_by: Interval | None = None
        if question.gate_percent is not None and estimate.difference is None:
            shown, own = (
                side_of_gate(tested.interval, direction, question.gate_percent)
                for tested in (estimate, by_itself)
            )
            gate = own if own == "passed" else shown
            passes_by = None if gate == shown else by_itself.interval
        why = reason
        if word == "undecided" and not reason:
            why = estimate.reason or _why_undecided(estimate, question.confidence, sharing)
        p_adjusted = None if estimate.p is None else min(1.0, estimate.p * share)
        decided.append(
            replace(estimate, verdict=word, p_adjusted=p_adjusted, reason=why, gate=gate, by_itself=passes_by)
        )
    return decided


def side_of_gate(interval: Interval | None, better: Better, gate_percent: float) -> Gate:
    """Return the side of the gate on which an interval lies completely."""
    if interval is None:
        return "undecided"
    worst = 1 + gate_percent / 100
    if better == "higher":  # an end may be 0
        worst = 1 / worst
        return "failed" if interval.high < worst else "passed" if interval.low > worst else "undecided"
    return "failed" if interval.low > worst else "passed" if interval.high < worst else "undecided"


def _estimates(
    samples: Sequence[Sample], level: float, family: int = 1, *, population: bool = False
) -> list[Estimate]:
    """Return an estimate without a verdict for each sample; equal sizes and scales are tested together.

    Args:
        level: the confidence of each interval.
        family: number of comparisons that share the level elsewhere; see `sign_flips`.
        population: the estimates are about the population of hosts.
    """
    if population:
        nothing = Estimate(None, None, None, "undecided", 0)
        return [of_population(sample, level) if len(sample.changes) else nothing for sample in samples]
    same_kind: dict[tuple[int, str], list[int]] = defaultdict(list)
    for index, sample in enumerate(samples):
        same_kind[len(sample.changes), sample.scale].append(index)
    estimates = [Estimate(None, None, None, "undecided", 0)] * len(samples)
    for (size, scale), indices in same_kind.items():
        if not size:
            continue
        chosen = [samples[index] for index in indices]
        changes = np.array([sample.changes for sample in chosen])
        over = np.array([sample.baseline for sample in chosen]) if scale == "means" else None
        units = np.ones(len(chosen))
        if scale != "logs":  # so that no sum overflows; powers of 2 round nothing
            largest = np.abs(changes if over is None else np.maximum(changes, over)).max(axis=1)
            units = np.ldexp(1.0, np.frexp(largest)[1] - 1)
            changes = changes / units[:, None]
            over = None if over is None else over / units[:, None]
        tests = sign_flips(changes, 1 - level, family, over)
        for row, (index, unit) in enumerate(zip(indices, units.tolist(), strict=True)):
            # The unit of logarithms is 1, and a ratio of means has none.
            as_number = as_ratio if scale == "logs" else partial(mul, 1.0 if scale == "means" else unit)
            center, interval = as_number(float(tests.center[row])), None
            if tests.low is not None and tests.high is not None:
                low, high = (as_number(float(end[row])) for end in (tests.low, tests.high))
                interval = Interval(low, high, tests.confidence)
            ratio, difference = (None, center) if scale == "differences" else (center, None)
            estimates[index] = Estimate(
                ratio,
                interval,
                float(tests.p[row]),
                "undecided",
                size,
                difference=difference,
                zeros=samples[index].zeros,
            )
    return estimates


def _why_undecided(estimate: Estimate, confidence: float, family: int) -> str:
    pairs = "1 pair is" if estimate.pairs == 1 else f"{estimate.pairs or 'no'} pairs are"
    if estimate.interval is not None and estimate.difference is not None:
        return "the interval of the difference holds 0 and does not lie within a smallest effect"
    if estimate.interval is not None:
        return "the interval holds 1 and reaches beyond the smallest effect"
    takes = fewest_pairs(family, confidence)
    if family > 1:
        return f"{pairs} too few for an interval among {family} comparisons: it takes {takes}"
    return f"{pairs} too few for an interval of {100 * confidence:.4g}%: it takes {takes}"


def fewest_pairs(family: int, confidence: float) -> int:
    """Return the fewest pairs with which a family of comparisons has intervals of this joint confidence.

    The smallest p-value is 2 / 2**pairs, and the comparisons share the level.
    """
    return ceil(log2(2 * family / (1 - confidence)) - NEGLIGIBLE)
