"""The rules. `docs/guide/audit.md` explains each: what it sees, why it matters, what to do."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Sized
from typing import ClassVar, Literal

from assay.analysis import median
from assay.audit.types import Evidence, Finding, Rule, condition_name
from assay.store.types import StoredTrial

ANOMALIES = "Kharal & Brown, Performance Anomalies in Concurrent Data Structure Microbenchmarks"
TYPICAL_VALUES = "Hartigan, Using Subsample Values as Typical Values, 1969"
REASONABLE_TIME = "Kalibera & Jones, Rigorous Benchmarking in Reasonable Time, 2013"


class InvalidTrials:
    """Trials that ended in any way but valid."""

    id = "invalid-trials"
    title = "Trials that do not count"
    source = f"{ANOMALIES}, section 4.8 (4)"

    _meaning: ClassVar = {
        "invalid": "did something wrong",
        "crashed": "crashed",
        "timed_out": "did not end in time",
    }
    _remedy: ClassVar = {
        "invalid": "Trust nothing of the subject until the defect is found: `assay show` gives the record.",
        "crashed": "Read the standard error in the trial's record (`assay show`); run the subject by hand.",
        "timed_out": "Look for a deadlock or a livelock; if the subject is only slow, give it more time.",
    }

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for each status."""
        for status, meaning in self._meaning.items():
            found = evidence.by_condition(lambda trial, status=status: trial.status == status)  # type: ignore[misc]
            trials = [trial for condition in found.values() for trial in condition]
            if trials:
                reasons = Counter(trial.reason for trial in trials).most_common(1)
                yield Finding(
                    self.id,
                    f"{len(trials)} of {len(evidence.trials)} trials {meaning}"
                    f" (for example: {_shorten(reasons[0][0])}).",
                    tuple(f"{name}: {len(condition)}" for name, condition in found.items()),
                    {status: len(trials), "trials": len(evidence.trials)},
                    self._remedy[status],
                )


class TooFewBlocks:
    """Comparisons with so few pairs that no verdict is possible, or one odd trial decides it."""

    id = "too-few-blocks"
    title = "Too few blocks"
    source = f"{TYPICAL_VALUES}; {REASONABLE_TIME}"

    needed = 6  # 2 / 2**6 is the first two-sided p-value below 5%
    advised = 10  # up to here the 95% interval ends within the most extreme 2.5% of fewer than 1024 means

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding for comparisons below what is needed, and one for those below what is advised."""
        asked = evidence.experiment.comparison
        pairs: dict[str, int] = {}
        for condition in evidence.experiment.conditions():
            if condition[asked.factor] != asked.baseline:
                pairs[condition_name(condition)] = 0
        for group in evidence.groups.values():
            usable = [trial for trial in group if _usable(trial, asked.metric)]
            if any(trial.levels[asked.factor] == asked.baseline for trial in usable):
                for trial in usable:
                    name = condition_name(trial.levels)
                    if name in pairs:
                        pairs[name] += 1
        bounds = (
            (0, self.needed, "give no 95% interval"),
            (self.needed, self.advised, "give a fragile 95% interval"),
        )
        for low, high, effect in bounds:
            few = {name: count for name, count in pairs.items() if low <= count < high}
            if few:
                yield Finding(
                    self.id,
                    f"{len(few)} of {len(pairs)} comparisons with {asked.baseline} have fewer than {high}"
                    f" pairs, which {effect}.",
                    tuple(f"{name}: {count}" for name, count in few.items()),
                    {"comparisons": len(few), "fewest_pairs": min(few.values())},
                    f"Set design.blocks to {self.advised} or more, and see to trials that do not count.",
                )


class Oversubscribed:
    """More threads than processors to run them on."""

    id = "oversubscribed"
    title = "More threads than processors"
    source = f"{ANOMALIES}, section 3"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding that names the conditions; none where the number of processors is unknown."""
        where, most = [], 0
        for condition in evidence.experiment.conditions():
            settings = evidence.experiment.settings(condition)
            threads, pinning = settings["threads"], settings["pinning"]
            processors = evidence.host.get("processors")
            if isinstance(pinning, list):
                processors = min(len(set(pinning)), processors or len(pinning))
            if processors and threads > processors:
                where.append(f"{condition_name(condition)}: {threads} threads on {processors}")
                most = max(most, threads)
        if where:
            yield Finding(
                self.id,
                f"Up to {most} threads run on fewer processors in {_conditions(where)}, which measure the"
                " operating system's scheduler as well.",
                tuple(where),
                {"conditions": len(where), "threads": most},
                "Leave these conditions out, or say that oversubscription is what you study.",
            )


class Unpinned:
    """Threads that the operating system may move."""

    id = "unpinned"
    title = "Threads are not pinned"
    source = f"{ANOMALIES}, section 7.1"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding that names the conditions."""
        experiment = evidence.experiment
        where = tuple(
            condition_name(condition)
            for condition in experiment.conditions()
            if experiment.settings(condition)["pinning"] == "none"
        )
        if where:
            yield Finding(
                self.id,
                f"The operating system chooses and changes the processors in {_conditions(where)}.",
                where,
                {"conditions": len(where)},
                'Set pinning to "cores_first", or to another policy that pins.',
            )


class Generation:
    """Time that went into making up operations rather than doing them."""

    id = "generation"
    title = "Generating operations takes much of the time"
    source = f"{ANOMALIES}, section 7.1 (non-uniform key distributions)"

    limit = 0.2

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding for conditions whose median share is above the limit."""
        where, worst = _above(evidence, "generation_share", self.limit)
        if where:
            yield Finding(
                self.id,
                f"In {_conditions(where)} more than {self.limit:.0%} of the time per operation goes into"
                f" generating it, {_percent(worst)} at worst: differences look smaller than they are.",
                where,
                {"conditions": len(where), "worst_share": worst},
                "Subtract generation_ns before you reason about the subject's own cost.",
            )


class Unsteady:
    """Throughput that changed in the course of the trials."""

    id = "unsteady"
    title = "Throughput is not steady"
    source = f"{ANOMALIES}, section 2; {REASONABLE_TIME}"

    drift_limit = 0.05
    variation_limit = 0.25

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for trends within trials, and one for variation between intervals."""
        where, worst = _above(evidence, "throughput_drift", self.drift_limit)
        if where:
            yield Finding(
                self.id,
                f"In {_conditions(where)} throughput drifts within the typical trial, by"
                f" {_percent(worst, '+')} at worst: the result depends on how long a trial lasts.",
                where,
                {"conditions": len(where), "worst_drift": worst},
                "Lengthen duration_ms until it no longer matters, and see whether the prefill converged.",
            )
        where, worst = _above(evidence, "throughput_variation", self.variation_limit)
        if where:
            yield Finding(
                self.id,
                f"In {_conditions(where)} the throughput of the typical trial's intervals varies by more"
                f" than {self.variation_limit:.0%}, {_percent(worst)} at worst.",
                where,
                {"conditions": len(where), "worst_variation": worst},
                "Look for other work on the host, and at the series of a trial on the page of its condition.",
            )


class HostChanged:
    """Calibrations that differ between the trials that are compared with each other."""

    id = "host-changed"
    title = "The host changed within groups"
    source = "docs/guide/audit.md, the measurements on a virtual machine"

    limits: ClassVar = {"core_to_core_ns": 1.5, "memory_ns": 1.2, "arithmetic_ns": 1.1}

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for each calibration that differs by more than its limit within some group."""
        for metric, limit in self.limits.items():
            changed: Counter[str] = Counter()
            worst, compared, within_trials = 1.0, 0, 0
            for group in evidence.groups.values():
                # A calibration depends on the placement, which the compared factor may change.
                placements: dict[str, list[float]] = defaultdict(list)
                for trial in group:
                    pair = [
                        one[metric]
                        for one in (trial.calibration_before, trial.calibration_after)
                        if metric in one
                    ]
                    settings = evidence.experiment.settings(trial.levels)
                    placements[f"{settings['threads']} {settings['pinning']}"] += pair
                    within_trials += len(pair) == 2 and _ratio(pair) > limit
                ratio = max((_ratio(seen) for seen in placements.values() if seen), default=None)
                if ratio is not None:
                    compared += 1
                    worst = max(worst, ratio)
                    if ratio > limit:
                        changed[evidence.context_name(group[0])] += 1
            if changed:
                yield Finding(
                    self.id,
                    f"{metric} differs by more than {limit} times within {changed.total()} of {compared}"
                    f" groups, {worst:.1f} times at worst; within one trial: {within_trials}.",
                    tuple(f"{name}: {count}" for name, count in changed.items()),
                    {"groups": changed.total(), "worst_ratio": worst, "within_trials": within_trials},
                    "What is compared ran on different hosts in effect: run more blocks, and leave a virtual"
                    " machine for a host of your own.",
                )


class EnvironmentChanged:
    """Trials of one subject that ran with different programs, or on a machine that was changed."""

    id = "environment-changed"
    title = "The machine or the program changed"
    source = "docs/guide/audit.md"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding that names the subjects."""
        environments: dict[str, Counter[str]] = defaultdict(Counter)
        for trial in evidence.valid:
            if trial.environment is not None:
                subject = evidence.experiment.settings(trial.levels)["subject"]
                environments[subject][trial.environment] += 1
        changed = {subject: seen for subject, seen in environments.items() if len(seen) > 1}
        if changed:
            yield Finding(
                self.id,
                f"The valid trials of {len(changed)} of {len(environments)} subjects report different"
                f" environments, up to {max(map(len, changed.values()))}.",
                tuple(
                    f"{subject}: {', '.join(str(count) for count in seen.values())} trials"
                    for subject, seen in changed.items()
                ),
                {"subjects": len(changed), "environments": max(map(len, changed.values()))},
                "Run the campaign again without building or updating meanwhile; `assay show` gives the"
                " environment of a trial.",
            )


class MissingCalibration:
    """Valid trials of which it is not known whether the host changed."""

    id = "missing-calibration"
    title = "Calibrations are missing"
    source = "docs/guide/audit.md"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for whole calibrations, one for core-to-core latency that there should be."""

        def lacks(trial: StoredTrial) -> bool:
            return trial.status == "valid" and not (trial.calibration_before and trial.calibration_after)

        def lacks_core_to_core(trial: StoredTrial) -> bool:
            settings = evidence.experiment.settings(trial.levels)
            pinning = settings["pinning"]
            alone = settings["threads"] == 1 or (isinstance(pinning, list) and len(set(pinning)) == 1)
            both = (trial.calibration_before, trial.calibration_after)
            return (
                trial.status == "valid"
                and not lacks(trial)
                and not alone
                and not all("core_to_core_ns" in calibration for calibration in both)
            )

        for include, what, remedy in (
            (lacks, "a calibration", "`assay show` gives the reason as calibration_error."),
            (
                lacks_core_to_core,
                "the core-to-core latency",
                "`assay show` gives the reason under unavailable; keep other work off the host.",
            ),
        ):
            found = evidence.by_condition(include)
            count = sum(len(trials) for trials in found.values())
            if count:
                yield Finding(
                    self.id,
                    f"{count} of {len(evidence.valid)} valid trials lack {what} before or after them.",
                    tuple(f"{name}: {len(trials)}" for name, trials in found.items()),
                    {"trials": count, "valid": len(evidence.valid)},
                    remedy,
                )


class MissingMetric:
    """Valid trials that cannot be compared."""

    id = "missing-metric"
    title = "The compared metric is missing or not above zero"
    source = "docs/statistics.md"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for trials without the metric, one for values that have no logarithm."""
        metric = evidence.experiment.comparison.metric
        known = sorted({name for trial in evidence.valid for name in trial.metrics} - {metric})
        without = evidence.by_condition(lambda trial: trial.status == "valid" and metric not in trial.metrics)
        useless = evidence.by_condition(
            lambda trial: trial.status == "valid" and not 0 < trial.metrics.get(metric, 1) < float("inf")
        )
        for found, problem, remedy in (
            (
                without,
                f"do not report {metric}",
                f"Name one that they do report: {_shorten(', '.join(known))}." if known else "Report it.",
            ),
            (
                useless,
                f"report a {metric} that is not above zero and has no ratio to another",
                "Compare a metric that is always above zero.",
            ),
        ):
            count = sum(len(trials) for trials in found.values())
            if count:
                yield Finding(
                    self.id,
                    f"{count} of {len(evidence.valid)} valid trials {problem}: no verdict rests on them.",
                    tuple(f"{name}: {len(trials)}" for name, trials in found.items()),
                    {"trials": count, "valid": len(evidence.valid)},
                    remedy,
                )


RULES: tuple[Rule, ...] = (
    InvalidTrials(),
    MissingMetric(),
    TooFewBlocks(),
    HostChanged(),
    EnvironmentChanged(),
    MissingCalibration(),
    Oversubscribed(),
    Unpinned(),
    Unsteady(),
    Generation(),
)
"""Every rule, in the order in which findings are shown: what touches the verdicts most comes first."""


def _above(evidence: Evidence, metric: str, limit: float) -> tuple[tuple[str, ...], float]:
    """Return the conditions whose median of a metric is further from 0 than `limit`, and the furthest median.

    The median over trials, because a single trial may be disturbed; what all trials show is systematic.
    """
    found = {}
    for name, trials in evidence.by_condition(
        lambda trial: trial.status == "valid" and metric in trial.metrics
    ).items():
        typical = median([trial.metrics[metric] for trial in trials])
        if abs(typical) > limit:
            found[name] = typical
    where = tuple(f"{name}: {_percent(value)}" for name, value in found.items())
    return where, max(found.values(), key=abs, default=0)


def _usable(trial: StoredTrial, metric: str) -> bool:
    """Tell whether a trial can stand in a pair of a verdict."""
    return trial.status == "valid" and 0 < trial.metrics.get(metric, 0) < float("inf")


def _ratio(values: Sequence[float]) -> float:
    """Return the largest over the smallest of positive values, short of where a double overflows."""
    return min(max(values) / min(values), sys.float_info.max)


def _percent(share: float, sign: Literal["", "+"] = "") -> str:
    return f"{share:{sign}.0%}" if abs(share) < 1e4 else f"{share:{sign}.2g} times"


def _conditions(where: Sized) -> str:
    return f"{len(where)} condition{'' if len(where) == 1 else 's'}"


def _shorten(text: str, length: int = 120) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 3] + "..."
