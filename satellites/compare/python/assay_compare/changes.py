"""Which verdicts of one campaign another one does not share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis import Analysis, Verdict
from assay.analysis.types import Aggregate, LevelEffect
from assay.plan.types import Level

_Key = tuple[object, ...]


@dataclass(frozen=True)
class ChangedVerdict:
    """A comparison that two campaigns made, with different verdicts.

    Attributes:
        condition: factor -> level, that which was compared among them.
        baseline: with which level.
        across: the factors over whose levels it was made; empty in one context.
        before, after: the verdicts of the first side and of the other.
        ratio_before, ratio_after: of the level to the baseline.
    """

    condition: Mapping[str, Level]
    baseline: Level
    across: tuple[str, ...]
    before: Verdict
    after: Verdict
    ratio_before: float | None
    ratio_after: float | None

    @property
    def reversed(self) -> bool:
        """Whether one says faster and the other slower."""
        return {self.before, self.after} == {"faster", "slower"}


@dataclass(frozen=True)
class Changes:
    """The verdicts of the first side that another side does not share.

    Attributes:
        side: the other's name.
        common: comparisons of the main metric that both made, with those over workloads.
        changed: those whose verdicts differ: first the reversed, then in the first side's order.
    """

    side: str
    common: int
    changed: tuple[ChangedVerdict, ...]


def changes(first: Analysis, others: Sequence[tuple[str, Analysis]]) -> tuple[Changes, ...]:
    """Return for each other campaign, given with its name, which verdicts of the first it does not share."""
    result = []
    for name, other in others:
        theirs = {_key(answer): answer for answer in other.answers}
        both = [(answer, theirs[_key(answer)]) for answer in first.answers if _key(answer) in theirs]
        changed = [
            ChangedVerdict(
                condition={first.factor: before.level, **before.context},
                baseline=before.baseline,
                across=_across(before),
                before=before.verdict,
                after=after.verdict,
                ratio_before=before.ratio,
                ratio_after=after.ratio,
            )
            for before, after in both
            if before.verdict != after.verdict
        ]
        changed.sort(key=lambda change: not change.reversed)
        result.append(Changes(name, len(both), tuple(changed)))
    return tuple(result)


def _key(answer: LevelEffect) -> _Key:
    context = frozenset(answer.context.items())
    return answer.metric, context, answer.level, answer.baseline, _across(answer)


def _across(answer: LevelEffect) -> tuple[str, ...]:
    return answer.across if isinstance(answer, Aggregate) else ()
