"""Simulated bisections: how often they name a wrong commit, and how often they find the right one."""

import math
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from assay.analysis import looks
from assay.analysis.bisection import (
    campaigns_of,
    side_of,
    threshold_percent,
    width_percent,
)
from assay.analysis.pairs import Sample
from assay.analysis.types import Estimate
from assay.analysis.verdicts import Question, decide
from assay.experiment.types import Design, Until
from assay.versions import Bisection, Repository
from promises import Rate, Row, Table, rng_of
from simulation import NOISES, Array, log_ratios

COMMITS = 16
SLOWDOWNS = (0.03, 0.1)
SMALLEST_EFFECT_PERCENT = 1.0
MOST_BLOCKS = 120


def tables(campaigns: int) -> list[Table]:
    """Return the table; `campaigns` is how many a row of other tables rests on."""
    count = max(200, campaigns // 20)
    return [
        Table(
            "Bisections",
            f"{count} bisections a row of {COMMITS} commits, one of which slows what is measured; each of its"
            f" campaigns has at most {MOST_BLOCKS} blocks. *Wrong*: the commit is not among those that are"
            " named. *Found*: it alone is named. *Nothing shown*: the ends are not shown to differ."
            " *Blocks*: of all campaigns of a bisection, on average.",
            ("noise", "slowdown", "wrong %", "found %", "nothing shown %", "blocks"),
            tuple(partial(bisections, noise, slowdown, count) for noise in NOISES for slowdown in SLOWDOWNS),
        )
    ]


def bisections(noise: str, slowdown: float, count: int) -> Row:
    """Bisections of histories in which a commit drawn at random is to blame."""
    rng = rng_of("bisections", noise, slowdown)
    wrong, found, nothing, blocks = [], [], [], 0
    for _ in range(count):
        culprit = int(rng.integers(1, COMMITS + 1))
        bisection = _Simulated(noise, rng, culprit, math.log1p(slowdown))
        named = bisection.suspects()
        wrong.append(bool(named) and culprit not in named)
        found.append(named == [culprit])
        nothing.append(not named)
        blocks += bisection.blocks
    rates = Rate.of(wrong, "at most 5%"), Rate.of(found), Rate.of(nothing)
    return noise, f"{100 * slowdown:g}%", *rates, blocks / count


class _Line(Repository):
    """A history without merges, whose commits are called by their numbers."""

    def suspects(self, good: Sequence[str], bad: str) -> list[str]:
        return [str(number) for number in range(max(map(int, good)) + 1, int(bad) + 1)]

    def midpoint(self, good: Sequence[str], bad: str, skipped: Collection[str]) -> str | None:
        left = [commit for commit in self.suspects(good, bad)[:-1] if commit not in skipped]
        middle = (max(map(int, good)) + int(bad)) / 2
        return min(left, key=lambda commit: abs(int(commit) - middle), default=None)

    def parents(self, commit: str) -> list[str]:
        return [str(int(commit) - 1)]

    def descends(self, commit: str, ancestor: str) -> bool:
        return int(commit) >= int(ancestor)

    def fork(self, one: str, other: str) -> str:
        return min(one, other, key=int)


class _Simulated:
    """A bisection as `assay bisect` carries it out, with log ratios that are drawn.

    Attributes:
        blocks: of all its campaigns so far.
    """

    def __init__(self, noise: str, rng: np.random.Generator, culprit: int, effect: float) -> None:
        self._noise, self._rng, self._culprit, self._effect = NOISES[noise], rng, culprit, effect
        self._campaigns = campaigns_of(COMMITS, merges=False)
        self.blocks = 0

    def suspects(self) -> list[int]:
        """Search; return the commits that it may be, none where the ends are not shown to differ."""
        data, shown = self._campaign(COMMITS, "verdict")
        begun = 1
        if shown.verdict != "slower" or shown.ratio is None or shown.interval is None:
            return []
        width = width_percent(shown.ratio, shown.interval, "lower")
        if width is not None:
            data, shown = self._campaign(COMMITS, width)
            begun += 1
        if shown.verdict != "slower" or shown.interval is None:
            return []
        threshold = threshold_percent(
            shown.interval, "lower", lambda percent: self._decided(data, percent).gate == "failed"
        )
        if threshold is None:
            return []
        search = Bisection(_Line(Path()), "0", str(COMMITS))
        while begun < self._campaigns and (commit := search.next) is not None:
            _, estimate = self._campaign(int(commit), "gate", threshold)
            begun += 1
            search.record_answer(commit, side_of(estimate.gate))
        return [int(commit) for commit in search.suspects.commits]

    def _campaign(
        self, commit: int, until: Until, gate_percent: float | None = None
    ) -> tuple[Array, Estimate]:
        """Return the log ratios of a commit to the good end when its campaign ends, and what they say."""
        design = Design(blocks=MOST_BLOCKS, until="verdict")
        effect = self._effect if commit >= self._culprit else 0
        data = log_ratios(self._noise, self._rng, 1, MOST_BLOCKS)[0, 0] + effect
        for look in looks(design, self._campaigns):
            seen = data[: look.blocks]
            smallest = gate_percent or SMALLEST_EFFECT_PERCENT
            question = Question(
                smallest, "family", look, gate_percent=gate_percent, campaigns=self._campaigns
            )
            [estimate] = decide([Sample("logs", seen)], ["lower"], question)
            interval = estimate.interval
            if until == "verdict":
                ends = estimate.verdict != "undecided"
            elif until == "gate":
                ends = estimate.gate != "undecided"
            else:
                ends = interval is not None and 100 * (interval.high / interval.low - 1) <= until
            if ends:
                break
        self._look = look
        self.blocks += look.blocks
        return seen, estimate

    def _decided(self, data: Array, gate_percent: float) -> Estimate:
        """Return what the log ratios of the latest campaign say of another gate."""
        question = Question(
            gate_percent, "family", self._look, gate_percent=gate_percent, campaigns=self._campaigns
        )
        return decide([Sample("logs", data)], ["lower"], question)[0]
