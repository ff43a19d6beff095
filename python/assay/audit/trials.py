"""Rules about what became of trials, and about what the typical trial of a condition reports."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Literal

from assay.analysis import median
from assay.audit.design import processors_of
from assay.audit.sources import ANOMALIES, BENCHMARKING, REASONABLE_TIME, WARMUP
from assay.audit.types import Evidence, numbers
from assay.findings import Finding, Severity
from assay.store.types import StoredTrial
from assay.words import counted, in_percent, one_line, whole_percent


class InvalidTrials:
    """Trials that ended in any way but valid."""

    id = "invalid-trials"
    title = "Trials that do not count"
    source = f"{ANOMALIES}, section 4.8 (4)"

    _kinds: ClassVar[dict[str, tuple[Severity, str, str]]] = {
        "invalid": (
            "error",
            "did something wrong",
            "Trust nothing of the subject until the defect is found: `assay show` gives the record.",
        ),
        "crashed": (
            "error",
            "crashed",
            "Read the standard error in the trial's record (`assay show`); run the subject by hand.",
        ),
        "timed_out": (
            "warning",
            "did not end in time",
            "Look for a deadlock or a livelock; if the subject is only slow, give it more time.",
        ),
    }

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for each status."""
        for status, (severity, meaning, remedy) in self._kinds.items():
            found = evidence.by_condition(lambda trial, status=status: trial.status == status)  # type: ignore[misc]
            trials = [trial for condition in found.values() for trial in condition]
            if trials:
                reasons = Counter(trial.reason for trial in trials).most_common(1)
                yield Finding(
                    self.id,
                    f"{len(trials)} of {len(evidence.trials)} trials {meaning}"
                    f" (for example: {one_line(reasons[0][0])}).",
                    tuple(f"{name}: {len(condition)}" for name, condition in found.items()),
                    {status: len(trials), "trials": len(evidence.trials)},
                    remedy,
                    severity,
                    numbers(found),
                )


class MissingMetric:
    """Valid trials that cannot be compared."""

    id = "missing-metric"
    title = "The compared metric is missing or not above zero"
    source = "docs/statistics.md"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield for each compared metric what lacks it, and what reports a value that has no logarithm."""
        asked = evidence.experiment.comparison
        for metric in (asked.metric, *asked.also):
            known = sorted({name for trial in evidence.valid for name in trial.metrics} - {metric})
            without = evidence.by_condition(
                lambda trial, metric=metric: trial.status == "valid" and metric not in trial.metrics  # type: ignore[misc]
            )
            useless = evidence.by_condition(
                lambda trial, metric=metric: (  # type: ignore[misc]
                    trial.status == "valid" and not 0 < trial.metrics.get(metric, 1) < float("inf")
                )
            )
            for found, problem, remedy in (
                (
                    without,
                    f"do not report {metric}",
                    f"Name one that they do report: {one_line(', '.join(known))}." if known else "Report it.",
                ),
                (
                    useless,
                    f"report a {metric} that is not above zero and has no ratio to another",
                    "Compare a metric that is always above zero.",
                ),
            ):
                trials = numbers(found)
                if trials:
                    yield Finding(
                        self.id,
                        f"{len(trials)} of {len(evidence.valid)} valid trials {problem}: no verdict rests on"
                        " them.",
                        tuple(f"{name}: {len(each)}" for name, each in found.items()),
                        {"trials": len(trials), "valid": len(evidence.valid)},
                        remedy,
                        trials=trials,
                    )


class NoSteadyState:
    """Trials whose throughput never settles."""

    id = "no-steady-state"
    title = "Trials without a steady state"
    source = WARMUP

    noted = 0.2  # of the trials of a condition; up to here it may be the detection that errs
    typical = 0.5

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for the conditions in which the share of such trials is above what is noted."""
        told = evidence.by_condition(
            lambda trial: (
                trial.status == "valid" and "steady" in trial.metrics and not _waits(evidence, trial)
            )
        )
        without = {
            name: [trial for trial in trials if trial.metrics["steady"] == 0] for name, trials in told.items()
        }
        shares = {name: len(without[name]) / len(trials) for name, trials in told.items()}
        found = {name: without[name] for name, share in shares.items() if share > self.noted}
        if not found:
            return
        worst = max(shares.values())
        all_told, all_without = (sum(map(len, each.values())) for each in (told, without))
        severity: Severity = "note"
        if worst > self.typical:
            severity = "error" if all_without > self.typical * all_told else "warning"
        yield Finding(
            self.id,
            f"In {counted(found, 'condition')} more than {self.noted:.0%} of the trials reach no steady"
            f" state, {whole_percent(worst)} at worst; of all trials {all_without} of {all_told}.",
            tuple(f"{name}: {len(trials)} of {len(told[name])}" for name, trials in found.items()),
            {
                "conditions": len(found),
                "worst_percent": 100 * worst,
                "trials": all_without,
                "valid": all_told,
            },
            "Lengthen trial.duration_ms, keep other work off the host, and look at the series of these"
            " trials.",
            severity,
            numbers(found),
        )


class WarmUp:
    """Trials of which a good part passes before they are steady."""

    id = "warm-up"
    title = "Warm-up is measured"
    source = f"{WARMUP}; {BENCHMARKING}"

    limit = 0.05  # of the measured interval

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding for conditions whose typical steady trial settles late."""
        late: dict[str, float] = {}
        wanted = 0.0
        for name, trials in evidence.valid_by_condition.items():
            settings = evidence.experiment.settings(trials[0].levels)
            after = [
                trial.metrics["steady_after_ms"]
                for trial in trials
                if "steady_after_ms" in trial.metrics and not _waits(evidence, trial)
            ]
            typical = median(after) if after else 0.0
            if after and typical > self.limit * settings["duration_ms"]:
                late[name] = typical
                wanted = max(wanted, settings.get("warm_up_ms", 0) + typical)
        if late:
            soonest, latest = min(late.values()), max(late.values())
            span = f"{latest:.0f}" if round(soonest) == round(latest) else f"{soonest:.0f} to {latest:.0f}"
            yield Finding(
                self.id,
                f"The typical trial of {counted(late, 'condition')} becomes steady only after {span} ms of"
                " what is measured.",
                tuple(f"{name}: {typical:.0f} ms" for name, typical in late.items()),
                {"conditions": len(late), "latest_ms": latest},
                f"Set trial.warm_up_ms to {ceil(wanted)}, the same for all that is compared.",
            )


@dataclass(frozen=True)
class Limit:
    """A rule about one number of each trial, of which the median in some condition is beyond a limit.

    The median, because a single trial may be disturbed; what the typical trial shows is systematic.

    Attributes:
        number: a trial's number, and None where it has none; takes the evidence and the trial.
        limit: below it (in size) nothing is said; with `least`, above it.
        says: the message, with fields conditions, limit and worst.
        shown: how a number is written.
        worst: what the worst number is called in the evidence, with its unit.
    """

    id: str
    title: str
    source: str
    number: Callable[[Evidence, StoredTrial], float | None]
    limit: float
    says: str
    remedy: str
    shown: Callable[[float], str] = whole_percent
    severity: Severity = "warning"
    beyond: Literal["above", "below"] = "above"
    worst: str = "worst_percent"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding that names the conditions with their medians."""
        found = {}
        for name, trials in evidence.valid_by_condition.items():
            known = [number for trial in trials if (number := self.number(evidence, trial)) is not None]
            if known:
                typical = median(known)
                if abs(typical) > self.limit if self.beyond == "above" else typical < self.limit:
                    found[name] = typical
        if found:
            worst = max(found.values(), key=abs) if self.beyond == "above" else min(found.values())
            yield Finding(
                self.id,
                self.says.format(
                    conditions=counted(found, "condition"),
                    limit=self.shown(self.limit),
                    worst=self.shown(worst),
                ),
                tuple(f"{name}: {self.shown(value)}" for name, value in found.items()),
                {
                    "conditions": len(found),
                    self.worst: in_percent(worst) if self.worst == "worst_percent" else worst,
                },
                self.remedy,
                self.severity,
            )


def reported(name: str) -> Callable[[Evidence, StoredTrial], float | None]:
    """Return what gives a trial's metric of this name."""
    return lambda _evidence, trial: trial.metrics.get(name)


def _of_closed_loop(name: str) -> Callable[[Evidence, StoredTrial], float | None]:
    """Return what gives a metric of a trial none of whose threads wait for arrivals."""
    return lambda evidence, trial: None if _waits(evidence, trial) else trial.metrics.get(name)


def _waits(evidence: Evidence, trial: StoredTrial) -> bool:
    """Return whether threads of a trial wait for arrivals.

    Then chance decides how many operations fall into an interval: 10 on average vary by 32%.
    """
    settings = evidence.experiment.settings(trial.levels)
    return any("arrivals" in each for each in (settings, *settings.get("roles", ())))


def _share_of_slowest(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how much the slowest thread has of the mean; None where threads have different things to do."""
    several = len(evidence.experiment.settings(trial.levels).get("roles", ())) > 1
    return None if several else trial.metrics.get("slowest_thread_share")


def _preemptions(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how often a second a thread lost its processor; None where there are too few processors."""
    settings = evidence.experiment.settings(trial.levels)
    switches = trial.metrics.get("involuntary_context_switches")
    threads: int = settings["threads"]
    processors = processors_of(settings["pinning"], evidence.host.get("processors"))
    duration_ms = settings.get("duration_ms")  # a command may have none
    if switches is None or duration_ms is None or processors is None or threads > processors:
        return None
    return switches / threads / float(duration_ms / 1000)


def _migrations_of_pinned(evidence: Evidence, trial: StoredTrial) -> float | None:
    pinned = evidence.experiment.settings(trial.levels)["pinning"] != "none"
    return trial.metrics.get("migrations") if pinned else None


GENERATION = Limit(
    "generation",
    "Generating operations takes much of the time",
    f"{ANOMALIES}, section 7.1 (non-uniform key distributions)",
    reported("generation_share"),
    0.2,
    "In {conditions} more than {limit} of the time per operation goes into generating it, {worst} at worst:"
    " differences look smaller than they are.",
    "Subtract generation_ns before you reason about the subject's own cost.",
    severity="note",
)

DRIFT = Limit(
    "throughput-drift",
    "Throughput drifts within trials",
    f"{ANOMALIES}, section 2; {WARMUP}",
    _of_closed_loop("throughput_drift"),
    0.05,
    "In {conditions} throughput drifts within the typical trial, by {worst} at worst: the result depends on"
    " how long a trial lasts.",
    "Lengthen trial.duration_ms until it no longer matters, or let trials warm up (trial.warm_up_ms).",
    lambda share: whole_percent(share, "+"),
)

VARIATION = Limit(
    "unsteady",
    "Throughput is not steady",
    REASONABLE_TIME,
    _of_closed_loop("throughput_variation"),
    0.25,
    "In {conditions} the throughput of the typical trial's intervals varies by more than {limit}, {worst} at"
    " worst.",
    "Look for other work on the host, and at the series of a trial.",
)

PREEMPTED = Limit(
    "preempted",
    "Threads lost their processors",
    f"{BENCHMARKING}, system load",
    _preemptions,
    50,
    "In {conditions} a thread of the typical trial lost its processor more than {limit} times a second,"
    " {worst} at worst, although there are processors for all.",
    "Keep other work off the host while a campaign runs.",
    lambda rate: f"{rate:.3g}",
    worst="worst_per_second",
)

MIGRATED = Limit(
    "migrated",
    "Pinned threads changed processors",
    f"{ANOMALIES}, section 4.6.1",
    _migrations_of_pinned,
    0,
    "In {conditions} the threads of the typical trial changed processors up to {worst} times although they"
    " are pinned.",
    "Find out what else sets their affinity: the subject, or a tool that moves processes.",
    lambda count: f"{count:.3g}",
    worst="most_migrations",
)

PAGED = Limit(
    "paged",
    "Memory was read from disk",
    f"{ANOMALIES}, section 5 (memory use)",
    reported("major_page_faults"),
    0,
    "In {conditions} the typical trial reads memory from disk while it is measured, up to {worst} times.",
    "Use less memory or a larger host; see whether the host swaps.",
    lambda count: f"{count:.3g}",
    worst="most_page_faults",
)

UNFAIR = Limit(
    "unfair",
    "One thread does much less than the others",
    f"{ANOMALIES}, section 7.1 (starvation-aware experiments)",
    _share_of_slowest,
    0.5,
    "In {conditions} the slowest thread of the typical trial has less than {limit} of the mean throughput,"
    " {worst} at worst: the sum hides that some threads starve.",
    "Report the fairness beside the throughput, and compare slowest_thread_share too (comparison.also).",
    severity="note",
    beyond="below",
)
