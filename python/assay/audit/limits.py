"""Rules of one shape: each condition has a number, and some numbers are beyond a limit."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from assay.analysis import median
from assay.audit.types import Evidence, Rule, rule
from assay.findings import Finding, Severity
from assay.store.types import StoredTrial
from assay.words import counted, in_percent, whole_percent

TIMES_OF_CALLS = ("iteration_p50_ns", "real_time_ns", "cpu_time_ns", "time_ns")
"""Metrics of fixtures, and of the benchmarks of other tools."""
SHORTEST_CYCLE_NS = 0.16
"""A cycle at 6.25 GHz, where nobody measured how long one is."""
LEFT_OUT = "The work of a call was left out"
LEFT_OUT_SAYS = "did no work, as the compiler left it out: a call takes less than a cycle of the processor."
LEFT_OUT_REMEDY = (
    "Give what the call computes to assay::fixture::keep (DoNotOptimize, black_box), and let its input come"
    " from set-up."
)

TrialNumber = Callable[[Evidence, StoredTrial], float | None]
"""From the evidence and a trial to a number of it; None where it has none."""


ConditionNumbers = Callable[[Evidence], Mapping[str, float]]
"""From the evidence to name of condition -> a number of it, where it has one."""


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
    """Return a decorator that makes a rule of a function that gives a number of each condition.

    Args:
        says: the message, with fields conditions, limit, worst, metric and baseline.
        limit: up to it (in size) nothing is said; with `below`, from it on.
        shown: how a number is written.
        evidence_name: what the worst number is called in the evidence, with its unit.
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
    """Return what gives the median of a number of each condition's valid trials.

    The median, because a single trial may be disturbed; what the typical trial shows is systematic.
    """

    def medians(evidence: Evidence) -> dict[str, float]:
        known = {
            name: [value for trial in trials if (value := number(evidence, trial)) is not None]
            for name, trials in evidence.valid_by_condition.items()
        }
        return {name: median(values) for name, values in known.items() if values}

    return medians
