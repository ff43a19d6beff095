"""Rules about the outcomes of trials, and about the reports of a condition's typical trial."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import ceil, inf, isfinite
from statistics import median_low
from typing import Any

from assay.analysis.idle import idleness
from assay.audit.design import processors_of
from assay.audit.limits import (
    LEFT_OUT,
    LEFT_OUT_REMEDY,
    LEFT_OUT_SAYS,
    SHORTEST_CYCLE_NS,
    TIMES_OF_CALLS,
    TrialNumber,
    limited,
    typical,
)
from assay.audit.sources import ANOMALIES, BENCHMARKING, REASONABLE_TIME, WARMUP
from assay.audit.types import Evidence, numbers, of_places, rule
from assay.experiment.types import Experiment
from assay.findings import Finding, Severity
from assay.store.types import StoredTrial
from assay.words import NAMES_AT_MOST, agreed, counted, one_line, whole_percent

_STATUSES: dict[str, tuple[Severity, str, str]] = {
    "invalid": (
        "error",
        "did something wrong",
        "Trust nothing of the subject until the defect is found: `assay store show {trial}` gives the record"
        "{check}.",
    ),
    "crashed": (
        "error",
        "crashed",
        "Read the standard error in the trial's record (`assay store show {trial}`); run the subject by hand"
        "{check}.",
    ),
    "timed_out": (
        "warning",
        "did not end in time",
        "Look for a deadlock or a livelock{check}; if the subject is only slow, give it more time.",
    ),
}


@rule("nothing-happens", "Nothing happens in trials", f"{ANOMALIES}, sections 4.5.1 and 4.8")
def nothing_happens(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions whose structure stays empty, full or unchanged, unless the experiment accepts it."""
    idle = {
        name: what
        for name, trials in evidence.valid_by_condition.items()
        if (what := idleness(trials, evidence.experiment))
    }
    yield from of_places(
        [f"{name}: {what}" for name, what in idle.items()],
        "conditions",
        f"{counted(idle, 'condition')} {agreed(idle, 'gets', 'get')} no verdict: practically nothing happens,"
        " as updates or searches fail, which is fast and says nothing of a structure at work.",
        "Give inserts and erases shares that leave some keys, or set what is held at first (prefill). To"
        " measure how long filling or emptying takes, use a phase. If nothing is to happen, write"
        " accept_idle = true in [comparison].",
        "error",
    )


@rule("invalid-trials", "Trials that do not count", f"{ANOMALIES}, section 4.8 (4)")
def invalid_trials(evidence: Evidence) -> Iterator[Finding]:
    """Find trials that are not valid."""
    for status, (severity, meaning, remedy) in _STATUSES.items():
        trials = [trial for trial in evidence.trials if trial.status == status]
        if trials:
            [(reason, _)] = Counter(trial.reason for trial in trials).most_common(1)
            maps = maps_of(trials, evidence.experiment, evidence.host)
            check = f", `assay check {maps[0]}` looks for it" if maps else ""
            yield Finding(
                f"{len(trials)} of {len(evidence.trials)} trials {agreed(trials, 'counts', 'count')} nowhere:"
                f" {agreed(trials, 'it', 'they')} {meaning} (for example: {one_line(reason)}).",
                evidence.counted(trials),
                {status: len(trials), "trials": len(evidence.trials)},
                remedy.format(trial=trials[0].id, check=check),
                severity,
                numbers(trials),
            )


def maps_of(trials: Iterable[StoredTrial], experiment: Experiment, host: Mapping[str, Any]) -> list[str]:
    """Return the subjects of trials that are maps, as recorded when the campaign began."""
    subjects = {experiment.settings(trial.levels)["subject"] for trial in trials}
    return sorted(subject for subject in subjects if host.get("subjects", {}).get(subject) == "map")


@rule("missing-metric", "The compared metric is missing or not above zero", "docs/statistics.md")
def missing_metric(evidence: Evidence) -> Iterator[Finding]:
    """Find valid trials that cannot be compared, or that are compared by differences or sums."""
    comparison = evidence.experiment.comparison
    for metric in (comparison.metric, *comparison.also):
        known = sorted({name for trial in evidence.valid for name in trial.metrics} - {metric})
        such = f"Name one that they do report, such as {', '.join(known[:NAMES_AT_MOST])}."
        without = [trial for trial in evidence.valid if metric not in trial.metrics]
        values = [(trial, trial.metrics[metric]) for trial in evidence.valid if metric in trial.metrics]
        yield from evidence.of_trials(
            without,
            f"have no part in a verdict: they do not report {metric}.",
            such if known else "Report it.",
        )
        yield from evidence.of_trials(
            [trial for trial, value in values if not isfinite(value)],
            f"have no part in a verdict: their {metric} is not finite.",
            "Compare a metric that is always a finite number.",
        )
        yield from evidence.of_trials(
            [trial for trial, value in values if value == 0],
            f"make comparisons ones of means, not of typical trials: their {metric} is 0, which counts.",
            "Look at why they are 0; pathological in [comparison] gives the probability of bad outcomes.",
            "note",
        )
        yield from evidence.of_trials(
            [trial for trial, value in values if -inf < value < 0],
            f"make comparisons ones of differences, not of ratios: their {metric} is below 0, which counts.",
            "Give smallest_effect in the metric's units; no difference is called equivalent without it.",
            "note",
        )


@rule("less-than-a-cycle", LEFT_OUT, "docs/guide/fixtures.md")
def less_than_a_cycle(evidence: Evidence) -> Iterator[Finding]:
    """Find trials whose call takes less than a cycle of the processor.

    A time of 0 is below the clock's resolution: `missing_metric` finds it.
    """
    impossible = [
        trial
        for trial in evidence.valid
        if any(0 < trial.metrics.get(metric, inf) < _cycle_ns(trial) for metric in TIMES_OF_CALLS)
    ]
    yield from evidence.of_trials(impossible, LEFT_OUT_SAYS, LEFT_OUT_REMEDY, "error")


def _cycle_ns(trial: StoredTrial) -> float:
    """Return the longest possible cycle by the calibrations, whose step takes at least four cycles."""
    steps = [
        calibration["arithmetic_ns"]
        for calibration in (trial.calibration_before, trial.calibration_after)
        if "arithmetic_ns" in calibration
    ]
    return min(steps) / 4 if steps else SHORTEST_CYCLE_NS


_NOTED = 0.2  # of the trials of a condition; up to here it may be the detection that errs
_TYPICAL = 0.5


@rule("no-steady-state", "Trials without a steady state", WARMUP)
def no_steady_state(evidence: Evidence) -> Iterator[Finding]:
    """Find trials whose throughput never settles."""
    classified = [
        trial for trial in evidence.valid if "steady" in trial.metrics and not _waits(evidence, trial)
    ]
    by_condition = evidence.by_condition(classified)
    unsettled = {
        name: [trial for trial in trials if trial.metrics["steady"] == 0]
        for name, trials in by_condition.items()
    }
    shares = {name: len(unsettled[name]) / len(trials) for name, trials in by_condition.items()}
    beyond = {name: unsettled[name] for name, share in shares.items() if share > _NOTED}
    if not beyond:
        return
    worst = max(shares.values())
    count, most = sum(map(len, unsettled.values())), len(classified)
    severity: Severity = "note"
    if worst > _TYPICAL:
        severity = "error" if count > _TYPICAL * most else "warning"
    yield Finding(
        f"In {counted(beyond, 'condition')} the result depends on how long a trial lasts: more than"
        f" {_NOTED:.0%} of the trials do not reach a steady state, {whole_percent(worst)} at worst; of all"
        f" trials {count} of {most}.",
        tuple(f"{name}: {len(trials)} of {len(by_condition[name])}" for name, trials in beyond.items()),
        {"conditions": len(beyond), "worst_percent": 100 * worst, "trials": count, "valid": most},
        "Lengthen trial.duration_ms, keep other work off the host, and look at the series of these trials.",
        severity,
        numbers(trial for trials in beyond.values() for trial in trials),
    )


_LATE = 0.05  # of the measured interval


@rule("warm-up", "Warm-up is measured", f"{WARMUP}; {BENCHMARKING}")
def warm_up(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions in which most trials become steady only late in the measured interval.

    If only half of them are late, the host may have changed its speed during these trials.
    """
    late: dict[str, float] = {}
    enough_ms = 0.0
    for name, trials in evidence.valid_by_condition.items():
        settings = evidence.settings(trials[0])
        after = [
            trial.metrics["steady_after_ms"]
            for trial in trials
            if "steady_after_ms" in trial.metrics and not _waits(evidence, trial)
        ]
        median_ms = median_low(after) if after else 0.0
        if after and median_ms > _LATE * settings["duration_ms"]:
            late[name] = median_ms
            enough_ms = max(enough_ms, settings.get("warm_up_ms", 0) + median_ms)
    if late:
        soonest, latest = min(late.values()), max(late.values())
        span = f"{latest:.0f}" if round(soonest) == round(latest) else f"{soonest:.0f} to {latest:.0f}"
        yield Finding(
            f"Results of {counted(late, 'condition')} include the warm-up: the typical trial becomes steady"
            f" only after {span} ms of what is measured.",
            tuple(f"{name}: {median_ms:.0f} ms" for name, median_ms in late.items()),
            {"conditions": len(late), "latest_ms": latest},
            f"Set trial.warm_up_ms to {ceil(enough_ms)}, the same for all that is compared.",
        )


def _of_closed_loop(name: str) -> TrialNumber:
    """Return a function for a trial's metric, which is None if threads wait for arrivals."""
    return lambda evidence, trial: None if _waits(evidence, trial) else trial.metrics.get(name)


def _waits(evidence: Evidence, trial: StoredTrial) -> bool:
    """Return whether threads of a trial wait for arrivals.

    Then the number of operations in an interval is random: an average of 10 varies by 32%.
    """
    settings = evidence.settings(trial)
    return any("arrivals" in role for role in (settings, *settings.get("roles", ())))


generation = limited(
    "generation",
    "Generating operations takes much of the time",
    f"{ANOMALIES}, section 7.1 (non-uniform key distributions)",
    "In {conditions} differences look smaller than they are: generating an operation takes more than {limit}"
    " of its time, {worst} at worst.",
    "Subtract generation_ns before you reason about the subject's own cost.",
    limit=0.2,
    severity="note",
)(typical(lambda _evidence, trial: trial.metrics.get("generation_share")))

throughput_drift = limited(
    "throughput-drift",
    "Throughput drifts within trials",
    f"{ANOMALIES}, section 2; {WARMUP}",
    "In {conditions} the result depends on how long a trial lasts: throughput drifts within the typical"
    " trial, by {worst} at worst.",
    "Lengthen trial.duration_ms until it no longer matters, or let trials warm up (trial.warm_up_ms).",
    limit=0.05,
    shown=lambda share: whole_percent(share, "+"),
)(typical(_of_closed_loop("throughput_drift")))

changing_throughput = limited(
    "changing-throughput",
    "Throughput varies within trials",
    REASONABLE_TIME,
    "In {conditions} something disturbs the trials: throughput varies by more than {limit} between the"
    " intervals of the typical one, {worst} at worst.",
    "Look for other work on the host, and at the series of a trial.",
    limit=0.25,
)(typical(_of_closed_loop("throughput_variation")))


@limited(
    "preempted",
    "Threads lost their processors",
    f"{BENCHMARKING}, system load",
    "In {conditions} other work disturbs the trials: a thread of the typical one lost its processor more than"
    " {limit} times a second, {worst} at worst, although there are processors for all.",
    "Keep other work off the host while a campaign runs.",
    limit=50,
    shown="{:.3g}".format,
    evidence_name="worst_per_second",
)
@typical
def preempted(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how often per second a thread lost its processor; None if there are too few processors."""
    settings = evidence.settings(trial)
    switches = trial.metrics.get("involuntary_context_switches")
    threads: int = settings["threads"]
    processors = processors_of(settings["pinning"], evidence.host.get("processors"))
    duration_ms = settings.get("duration_ms")  # a command may have none
    if switches is None or duration_ms is None or processors is None or threads > processors:
        return None
    return switches / threads / float(duration_ms / 1000)


@limited(
    "migrated",
    "Pinned threads changed processors",
    f"{ANOMALIES}, section 4.6.1",
    "In {conditions} pinning did not hold: the threads of the typical trial changed processors, up to {worst}"
    " times.",
    "Find out what else sets their affinity: the subject, or a tool that moves processes.",
    limit=0,
    shown="{:.3g}".format,
    evidence_name="most_migrations",
)
@typical
def migrated(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how often pinned threads changed processors; None if none is pinned."""
    pinned = evidence.settings(trial)["pinning"] != "none"
    return trial.metrics.get("migrations") if pinned else None


multiplexed = limited(
    "multiplexed",
    "Events shared the processor's counters",
    "perf_event_open(2), on multiplexing",
    "In {conditions} some counts of events are estimates: in the typical trial they were counted during a"
    " part of the time only, {worst} of it at worst, and scaled up.",
    "Name fewer events, or spread them over several experiments.",
    limit=1,
    severity="note",
    below=True,
)(typical(lambda _evidence, trial: trial.metrics.get("counted_share")))


paged = limited(
    "paged",
    "Memory was read from disk",
    f"{ANOMALIES}, section 5 (memory use)",
    "In {conditions} the disk is measured, too: the typical trial reads memory from it, up to {worst} times.",
    "Use less memory or a larger host; see whether the host swaps.",
    limit=0,
    shown="{:.3g}".format,
    evidence_name="most_page_faults",
)(typical(lambda _evidence, trial: trial.metrics.get("major_page_faults")))


@limited(
    "unfair",
    "One thread does much less than the others",
    f"{ANOMALIES}, section 7.1 (starvation-aware experiments)",
    "In {conditions} the sum hides that some threads starve: the slowest thread of the typical trial has less"
    " than {limit} of the mean throughput, {worst} at worst.",
    "Report fairness with throughput, and compare slowest_thread_share too (comparison.also).",
    limit=0.5,
    severity="note",
    below=True,
)
@typical
def unfair(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the slowest thread's share of the mean; None if threads have different roles."""
    several = len(evidence.settings(trial).get("roles", ())) > 1
    return None if several else trial.metrics.get("slowest_thread_share")
