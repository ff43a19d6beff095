"""How often identical code was called different: what `assay aa` measures of the laboratory itself."""

from dataclasses import dataclass

from assay.analysis.intervals import CONFIDENCE
from assay.analysis.types import Analysis, Interval


@dataclass(frozen=True)
class FalseAlarms:
    """What a campaign says that compares identical code under two names.

    Attributes:
        comparisons: those of the main metric that have an interval: the others can be no false alarm.
        level: of each of their tests, by itself: 5%, or less at one of several looks.
        uncorrected: how many p-values are at most `level`.
        interval: of the rate of those, exact (Clopper and Pearson 1934); it takes comparisons as independent.
            None without comparisons.
        verdicts: how many are called faster or slower, after the correction for their number.
    """

    comparisons: int
    level: float
    uncorrected: int
    interval: Interval | None
    verdicts: int

    @property
    def compatible(self) -> bool:
        """Whether the false alarms are no more than the level admits; not without comparisons."""
        return self.interval is not None and self.interval.low <= self.level

    @property
    def summary(self) -> str:
        """All of it in words."""
        if self.interval is None:
            return "No comparison of identical code has an interval yet: run more blocks."
        low, high = (f"{100 * end:.1f}%" for end in (self.interval.low, self.interval.high))
        return (
            f"Identical code was called different in {self.uncorrected} of {self.comparisons} comparisons, "
            f"each tested by itself at {100 * self.level:.2g}%: a rate of {low} to {high} "
            f"({100 * self.interval.confidence:.0f}% interval), which is "
            f"{'compatible' if self.compatible else 'not compatible'} with at most {100 * self.level:.2g}%. "
            f"Verdicts that call it different: {self.verdicts} of {self.comparisons}."
        )


def false_alarms(analysis: Analysis) -> FalseAlarms:
    """Count the false alarms of a campaign of an experiment whose `identical` is true."""
    level = round(1 - (CONFIDENCE if analysis.look is None else analysis.look.confidence), 12)
    tested = [one for one in analysis.comparisons if one.interval is not None]
    alarms = sum(one.p is not None and one.p <= level for one in tested)
    return FalseAlarms(
        comparisons=len(tested),
        level=level,
        uncorrected=alarms,
        interval=binomial_interval(alarms, len(tested)) if tested else None,
        verdicts=sum(one.verdict in {"faster", "slower"} for one in tested),
    )


def binomial_interval(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the exact interval of a probability (Clopper and Pearson 1934).

    Args:
        successes: from 0 to `trials`.
        trials: at least 1.
        confidence: between 0 and 1.
    """
    from scipy.special import betaincinv  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load

    miss = (1 - confidence) / 2
    failures = trials - successes
    low = betaincinv(successes, failures + 1, miss) if successes else 0.0
    high = betaincinv(successes + 1, failures, 1 - miss) if failures else 1.0
    return Interval(float(low), float(high), confidence)
