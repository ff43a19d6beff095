"""How often identical code was called different: what `assay run --identical` measures of Assay itself."""

from dataclasses import dataclass

from assay.analysis.intervals import CONFIDENCE, NEGLIGIBLE
from assay.analysis.types import Analysis, Interval


@dataclass(frozen=True)
class FalseAlarms:
    """The false alarms of a campaign that compares identical code under two names.

    Attributes:
        comparisons: number of comparisons of the main metric with an interval (the others cannot be false
            alarms); 0 before the first planned look.
        level: the level of each single test: 5%, or less at one of several looks.
        uncorrected: number of p-values that are at most `level`.
        interval: the interval of their rate, exact if comparisons are independent (Clopper and Pearson 1934);
            None without comparisons.
        family: number of comparisons of the main metric and aggregates over workloads.
        verdicts: number of the family that is called faster or slower although all share the level.
        withheld: number of the family without a verdict: trials were not valid or idle, or the host was busy.
    """

    comparisons: int
    level: float
    uncorrected: int
    interval: Interval | None
    family: int
    verdicts: int
    withheld: int = 0

    @property
    def compatible(self) -> bool:
        """Whether there are no more false alarms than promised; False without comparisons.

        An honest laboratory meets one in every twenty campaigns; two are more than chance explains.
        """
        return self._rate_fits and self.verdicts < 2

    @property
    def summary(self) -> str:
        """The false alarms in words."""
        if self.interval is None and self.withheld:
            return (
                f"No comparison of identical code can tell: {self._withheld}. "
                "Fix what fails or stop other work, then run again."
            )
        if self.interval is None:
            return (
                "No comparison of identical code has enough pairs to tell yet: run more blocks, or finish "
                "the campaign if it was stopped."
            )
        low, high = (f"{100 * end:.1f}%" for end in (self.interval.low, self.interval.high))
        return (
            f"Identical code was called different in {self.uncorrected} of {self.comparisons} comparisons, "
            f"each tested by itself at {100 * self.level:.2g}%: a rate of {low} to {high} "
            f"({100 * self.interval.confidence:.0f}% interval), which is "
            f"{'compatible' if self._rate_fits else 'not compatible'} with at most {100 * self.level:.2g}%. "
            f"Verdicts after the correction that call it different: {self.verdicts} of {self.family}"
            f"{self._weight}.{f' Not counted: {self._withheld}.' * bool(self.withheld)}"
        )

    @property
    def _withheld(self) -> str:
        return (
            f"{self.withheld} of {self.family} have no verdict, as trials were not valid or idle, or the host"
            " was busy"
        )

    @property
    def _rate_fits(self) -> bool:
        return self.interval is not None and self.interval.low <= self.level

    @property
    def _weight(self) -> str:
        promised = f"at most {100 * (1 - CONFIDENCE):.2g}% of campaigns"
        if self.verdicts > 1:
            return f", which is not compatible with any at all in {promised}"
        return f", a false alarm; there may be one in {promised}" if self.verdicts else ""


def false_alarms(analysis: Analysis) -> FalseAlarms:
    """Count the false alarms of a campaign of an experiment whose `identical` is true."""
    level = round(1 - (CONFIDENCE if analysis.look is None else analysis.look.confidence), 12)
    tested = [
        comparison
        for comparison in analysis.comparisons
        if analysis.look is not None and comparison.interval is not None
    ]
    alarms = sum(comparison.p is not None and comparison.p <= level for comparison in tested)
    family = len(analysis.answers)
    return FalseAlarms(
        comparisons=len(tested),
        level=level,
        uncorrected=alarms,
        interval=binomial_interval(alarms, len(tested)) if tested else None,
        family=family,
        verdicts=sum(
            answer.verdict in {"faster", "slower"}
            and (1.0 if answer.p is None else answer.p) * family <= level * (1 + NEGLIGIBLE)
            for answer in analysis.answers
        ),
        withheld=sum(answer.withheld for answer in analysis.answers),
    )


def binomial_interval(successes: float, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the exact interval of a probability (Clopper and Pearson 1934).

    Args:
        successes: from 0 to `trials`; it may be a sum of shares of 1, for which the interval is too wide.
        trials: at least 1.
        confidence: between 0 and 1.
    """
    from scipy.special import betaincinv  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load

    miss = (1 - confidence) / 2
    failures = trials - successes
    low = betaincinv(successes, failures + 1, miss) if successes else 0.0
    high = betaincinv(successes + 1, failures, 1 - miss) if failures else 1.0
    return Interval(float(low), float(high), confidence)
