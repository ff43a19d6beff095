"""Rules of one kind: each condition has a number, and there is a limit for it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from assay.analysis import median
from assay.audit.types import Evidence, Rule, rule
from assay.findings import Finding, Severity
from assay.store.types import StoredTrial
from assay.words import counted, in_percent, whole_percent

TIMES_OF_CALLS = ("iteration_p50_ns", "real_time_ns", "cpu_time_ns", "time_ns")
"""Metrics of fixtures, and of other tools' benchmarks."""
SHORTEST_CYCLE_NS = 0.16
"""A cycle at 6.25 GHz, used if its length was not measured."""
LEFT_OUT = "The work of a call was left out"
LEFT_OUT_SAYS = "did no work, as the compiler left it out: a call takes less than a cycle of the processor."
LEFT_OUT_REMEDY = (
    "Give what the call computes to assay::fixture::keep (DoNotOptimize, black_box), and let its input come"
    " from set-up."
)

TrialNumber = Callable[[Evidence, StoredTrial], float | None]
"""Returns the number of a trial, given the evidence, or None."""


ConditionNumbers = Callable[[Evidence], Mapping[str, float]]
"""Returns name of condition -> its number, if it has one, given the evidence."""


def limited(
    rule_id: str,
    title: str,
    source: str,
    says: str,
    remedy: str,
    *,
    limit: float,
    shown: Callable[[float], str] = whole_percent,
    severity: Severity = "warning",
    below: bool = False,
    evidence_name: str = "worst_percent",
) -> Callable[[ConditionNumbers], Rule[Evidence]]:
    """Return a decorator that makes a rule from a function that returns each condition's number.

    Args:
        says: the message, with fields conditions, limit, worst, metric and baseline.
        limit: numbers up to this size are fine; with `below`, numbers from it on.
        shown: formats a number.
        evidence_name: the name of the worst number in the evidence, with its unit.
    """

    def check(numbers: ConditionNumbers, evidence: Evidence) -> Iterator[Finding]:
        beyond = {
            name: number
            for name, number in numbers(evidence).items()
            if (number < limit if below else abs(number) > limit)
        }
        if beyond:
            worst = min(beyond.values()) if below else max(beyond.values(), key=abs)
            comparison = evidence.experiment.comparison
            yield Finding(
                says.format(
                    conditions=counted(beyond, "condition"),
                    limit=shown(limit),
                    worst=shown(worst),
                    metric=comparison.metric,
                    baseline=comparison.against(),
                ),
                tuple(f"{name}: {shown(number)}" for name, number in beyond.items()),
                {
                    "conditions": len(beyond),
                    evidence_name: in_percent(worst) if evidence_name == "worst_percent" else worst,
                },
                remedy,
                severity,
            )

    return lambda numbers: rule(rule_id, title, source)(partial(check, numbers))


def typical(number: TrialNumber) -> ConditionNumbers:
    """Return a function for the median of a number over each condition's valid trials.

    It is the median because a single trial may be disturbed; a typical trial shows what is systematic.
    """

    def medians(evidence: Evidence) -> dict[str, float]:
        known = {
            name: [value for trial in trials if (value := number(evidence, trial)) is not None]
            for name, trials in evidence.valid_by_condition.items()
        }
        return {name: median(values) for name, values in known.items() if values}

    return medians
