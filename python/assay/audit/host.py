"""Rules about the host and the programs: what should have stayed the same, and what they were."""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from assay.analysis import median
from assay.audit.sources import ANOMALIES, BENCHMARKING, RANDOMNESS, WRONG_DATA
from assay.audit.types import Evidence, numbers
from assay.findings import Finding
from assay.store.types import StoredTrial
from assay.words import counted, in_percent, one_line, whole_percent


class HostChanged:
    """Calibrations that differ between the trials that are compared with each other."""

    id = "host-changed"
    title = "The host changed within groups"
    source = "measurements on a virtual machine, which its page gives"

    limits: ClassVar = {"memory_ns": 1.2, "arithmetic_ns": 1.1}

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding for groups in several modes, and one for each other calibration that changed."""
        yield from self._modes(evidence)
        for metric, limit in self.limits.items():
            yield from self._ratios(evidence, metric, limit)

    def _modes(self, evidence: Evidence) -> Iterator[Finding]:
        modes = evidence.analysis.host_modes
        if modes is None or "mixed" not in modes.of_group.values():
            return
        # A group and its repetitions stand for the same pairs: one of them in one mode is enough.
        attempts: dict[int, list[int]] = defaultdict(list)
        for number, group in evidence.groups.items():
            attempts[number if group[0].repeats is None else group[0].repeats].append(number)
        mixed = [number for number, mode in modes.of_group.items() if mode == "mixed"]
        lost = [
            first
            for first, numbers in attempts.items()
            if all(modes.of_group.get(number) == "mixed" for number in numbers)
        ]
        repetitions = len(evidence.groups) - len(attempts)
        repeated = (
            f" {counted(repetitions, 'group')} {'repeats' if repetitions == 1 else 'repeat'} another;"
            if repetitions
            else ""
        )
        centers = ", ".join(f"{mode} {center:.3g}" for mode, center in modes.centers.items())
        named = Counter(evidence.context_name(evidence.groups[number][0]) for number in lost or mixed)
        outcome = (
            f"{len(lost)} of {len(attempts)} never ran in one mode, and no verdict rests on them"
            if lost
            else "all that is compared ran in one mode at last, and the verdicts rest on that"
        )
        yield Finding(
            self.id,
            f"The host changed its mode ({modes.metric}: {centers}) within {len(mixed)} of"
            f" {len(evidence.groups)} groups;{repeated} {outcome}.",
            tuple(f"{name}: {count}" for name, count in named.items()),
            {"groups": len(mixed), "repetitions": repetitions, "lost": len(lost)},
            "Run more blocks or allow more repetitions (design.repeat); a host of your own removes the cause."
            if lost
            else "Nothing need be done; a host of your own removes the cause.",
            "warning" if lost else "note",
            tuple(sorted(trial.id for number in mixed for trial in evidence.groups[number])),
        )

    def _ratios(self, evidence: Evidence, metric: str, limit: float) -> Iterator[Finding]:
        changed: list[list[StoredTrial]] = []
        worst, compared = 1.0, 0
        for group in evidence.groups.values():
            # A calibration depends on the placement, which the compared factor may change.
            placements: dict[str, list[float]] = defaultdict(list)
            for trial in group:
                settings = evidence.experiment.settings(trial.levels)
                placements[f"{settings['threads']} {settings['pinning']}"] += [
                    one[metric]
                    for one in (trial.calibration_before, trial.calibration_after)
                    if metric in one
                ]
            ratio = max((_ratio(seen) for seen in placements.values() if seen), default=None)
            if ratio is not None:
                compared += 1
                worst = max(worst, ratio)
                if ratio > limit:
                    changed.append(group)
        if changed:
            named = Counter(evidence.context_name(group[0]) for group in changed)
            modes = evidence.analysis.host_modes
            of_group = {} if modes is None else modes.of_group
            counting = sum(of_group.get(group[0].group) != "mixed" for group in changed)
            count = (
                "The verdicts count these groups: random order is fair to both sides, but intervals widen"
                if counting == len(changed)
                else f"The verdicts count {counting} of these, and leave out the others, in several modes"
                if counting
                else "The verdicts leave these out, in several modes"
            )
            yield Finding(
                self.id,
                f"{metric} differs by more than {limit} times within {len(changed)} of {compared} groups,"
                f" {worst:.3g} times at worst. {count}.",
                tuple(f"{name}: {count}" for name, count in named.items()),
                {"groups": len(changed), "counted": counting, "worst_ratio": worst},
                "Run more blocks, and leave a virtual machine for a host of your own.",
                trials=tuple(sorted(trial.id for group in changed for trial in group)),
            )


class CampaignDrift:
    """Conditions whose trials get faster or slower while the campaign goes on."""

    id = "campaign-drift"
    title = "Results drift across the campaign"
    source = "Spearman, The Proof and Measurement of Association between Two Things, 1904; docs/statistics.md"

    fewest = 10  # with fewer the first and the last third are single trials
    level = 0.05  # of all conditions together
    limit = 0.05  # a drift of the size of the effects that experiments look for

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding for conditions whose metric is correlated with time and has changed enough."""
        metric = evidence.experiment.comparison.metric
        every = {
            name: [
                value
                for trial in sorted(
                    trials, key=lambda trial: trial.started_at
                )  # repetitions come last in plans
                if 0 < (value := trial.metrics.get(metric, 0)) < float("inf")
            ]
            for name, trials in evidence.valid_by_condition.items()
        }
        series = {name: values for name, values in every.items() if len(values) >= self.fewest}
        found = {}
        for name, values in series.items():
            third = len(values) // 3
            change = median(values[-third:]) / median(values[:third]) - 1
            if abs(change) > self.limit and self._p(values) * len(series) <= self.level:
                found[name] = change
        if found:
            worst = max(found.values(), key=abs)
            yield Finding(
                self.id,
                f"In {len(found)} of {counted(series, 'condition')} {metric} drifts across the campaign: from"
                f" the first third of the trials to the last it changes by"
                f" {whole_percent(worst, '+')} at worst.",
                tuple(f"{name}: {whole_percent(change, '+')}" for name, change in found.items()),
                {"conditions": len(found), "worst_percent": in_percent(worst)},
                "Trust the ratios, in which it cancels, rather than the medians; let the host settle before a"
                " campaign.",
                "note",
            )

    @staticmethod
    def _p(values: Sequence[float]) -> float:
        """Return the p-value of the rank correlation of values with their order."""
        # Loaded only where it is needed because it takes a second; SciPy ships no types.
        from scipy.stats import spearmanr  # type: ignore[import-untyped] # noqa: PLC0415

        return float(spearmanr(range(len(values)), list(map(float, values))).pvalue)


class EnvironmentChanged:
    """Trials of one subject that ran with different programs, or on a machine that was changed."""

    id = "environment-changed"
    title = "The machine or the program changed"
    source = WRONG_DATA

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding that names the subjects, and the trials outside the usual environment."""
        environments: dict[str, dict[str, list[StoredTrial]]] = defaultdict(lambda: defaultdict(list))
        for trial in evidence.valid:
            if trial.environment is not None:
                settings = evidence.experiment.settings(trial.levels)
                environments[settings["subject"]][_environment(evidence, trial, settings)].append(trial)
        changed = {
            subject: sorted(seen.values(), key=len, reverse=True)
            for subject, seen in environments.items()
            if len(seen) > 1
        }
        if changed:
            most = max(map(len, changed.values()))
            yield Finding(
                self.id,
                f"The valid trials of {len(changed)} of {len(environments)} subjects report different"
                f" environments, up to {most}.",
                tuple(
                    f"{subject}: {', '.join(str(len(trials)) for trials in seen)} trials"
                    for subject, seen in changed.items()
                ),
                {"subjects": len(changed), "environments": most},
                "Run the campaign again without building or updating meanwhile; `assay show` gives the"
                " environment of a trial.",
                trials=tuple(
                    sorted(trial.id for seen in changed.values() for trials in seen[1:] for trial in trials)
                ),
            )


class MissingCalibration:
    """Valid trials of which it is not known whether the host changed."""

    id = "missing-calibration"
    title = "Calibrations are missing"
    source = "measurements on a virtual machine, which the page of host-changed gives"

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
            trials = numbers(found)
            if trials:
                yield Finding(
                    self.id,
                    f"{len(trials)} of {len(evidence.valid)} valid trials lack {what} before or after them.",
                    tuple(f"{name}: {len(each)}" for name, each in found.items()),
                    {"trials": len(trials), "valid": len(evidence.valid)},
                    remedy,
                    trials=trials,
                )


class UnoptimisedBuild:
    """Subjects compiled for finding mistakes rather than for speed."""

    id = "unoptimised-build"
    title = "A subject was not built for speed"
    source = "Google Benchmark, which warns of debug builds too; ThreadSanitizer's manual, on its slowdown"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for what makes times meaningless, one for assertions."""
        useless, asserting = [], []
        for subject, contents in _environments(evidence).items():
            for content in contents:
                sanitizers = _inside(content, "program", "sanitizers")
                if _inside(content, "program", "optimised") is False:
                    useless.append(f"{subject}: without optimisation")
                if sanitizers:
                    useless.append(f"{subject}: with {one_line(str(sanitizers))}")
                if _inside(content, "program", "assertions") is True:
                    asserting.append(subject)
        if useless:
            yield Finding(
                self.id,
                f"{counted(useless, 'program')} compiled without optimisation or with sanitizers"
                f" {'was' if len(useless) == 1 else 'were'} measured.",
                tuple(useless),
                {"programs": len(useless)},
                "Build for release (-O2 or -O3, no sanitizers), and run the campaign again.",
                "error",
            )
        if asserting:
            yield Finding(
                self.id,
                f"{counted(asserting, 'program')} with assertions on"
                f" {'was' if len(asserting) == 1 else 'were'} measured.",
                tuple(asserting),
                {"programs": len(asserting)},
                "Build with -DNDEBUG, for all that is compared.",
            )


class DifferentBuilds:
    """Compared programs that differ in more than the subject."""

    id = "different-builds"
    title = "Compared programs were built differently"
    source = f"{WRONG_DATA}; {ANOMALIES}, section 2.1"

    _compared: ClassVar = (
        ("program", "compiler"),
        ("program", "assertions"),
        ("library", "flags"),
        ("allocator", "name"),
        ("allocator", "version"),
    )

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding that names the levels that differ from the baseline, and in what."""
        asked = evidence.experiment.comparison
        seen: dict[Any, dict[tuple[str, str], set[str]]] = defaultdict(lambda: defaultdict(set))
        for trial in evidence.valid:
            content = evidence.environments.get(trial.environment or "")
            asked_for = "allocator" in evidence.experiment.settings(trial.levels)
            for keys in self._compared:
                value = _inside(content, *keys)
                if value is not None and not (asked_for and keys[0] == "allocator"):
                    seen[trial.levels[asked.factor]][keys].add(str(value))
        baselines = evidence.experiment.baseline_by_context()
        compared = dict.fromkeys(
            (condition[asked.factor], baselines[context])
            for condition in evidence.experiment.conditions()
            if (context := evidence.experiment.context(condition)) in baselines
        )
        where = tuple(
            f"{level}: {' '.join(keys)} {one_line(' or '.join(sorted(values)), 60)},"
            f" {baseline} {one_line(' or '.join(sorted(seen[baseline][keys])), 60)}"
            for level, baseline in compared
            for keys, values in seen[level].items()
            if keys in seen[baseline] and values != seen[baseline][keys]
        )
        if where:
            yield Finding(
                self.id,
                f"Programs that are compared differ in {counted(where, 'way')} beside the subject.",
                where,
                {"differences": len(where)},
                "Build both with the same compiler and flags and the same allocator, unless that is the"
                " question.",
            )


class FrequencyScaling:
    """Processors whose frequency follows the load."""

    id = "frequency-scaling"
    title = "The processors' frequency varies"
    source = f"{BENCHMARKING}, CPU frequency scaling governor"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding for the governor, one for boost."""
        every = [content for contents in _environments(evidence).values() for content in contents]
        governors = {
            governor
            for content in every
            for governor in _listed(_inside(content, "processor", "governor"))
            if governor != "performance"
        }
        if governors:
            yield Finding(
                self.id,
                "The frequency of the processors follows the load.",
                tuple(f"governor {name}" for name in sorted(governors)),
                {"governors": len(governors)},
                'Set the governor "performance" on every processor (cpupower frequency-set -g performance).',
            )
        if any(_inside(content, "processor", "boost") is True for content in every):
            yield Finding(
                self.id,
                "Processors may exceed their nominal frequency, by how much depends on heat and on how many"
                " run.",
                ("boost",),
                {},
                "Switch boost off where threads are a factor: a thread alone then runs no faster than in"
                " company.",
                "note",
            )


class FixedLayout:
    """Processes that all have the same layout of memory."""

    id = "fixed-layout"
    title = "Every trial has the same memory layout"
    source = f"{RANDOMNESS}, section 3.1, principle P1; {WRONG_DATA}"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield one finding that names the subjects whose processes are not randomised."""
        where = tuple(
            subject
            for subject, contents in _environments(evidence).items()
            if any(_inside(content, "address_randomisation", "process") is False for content in contents)
        )
        if where:
            yield Finding(
                self.id,
                f"Address space randomisation is off for {counted(where, 'subject')}: a verdict may rest on"
                " one accident of layout.",
                where,
                {"subjects": len(where)},
                "Set kernel.randomize_va_space to 2, and start assay without `setarch -R`.",
            )


def _environment(evidence: Evidence, trial: StoredTrial, settings: Mapping[str, Any]) -> str:
    """Return what tells the environment of a trial from others: without an allocator that was asked for.

    The runner has checked that the process used that one, so that it is a setting like any other.
    """
    content = evidence.environments.get(trial.environment or "")
    if "allocator" not in settings or not isinstance(content, dict):
        return trial.environment or ""
    return json.dumps({name: part for name, part in content.items() if name != "allocator"}, sort_keys=True)


def _environments(evidence: Evidence) -> Mapping[str, list[Any]]:
    """Return subject -> the different environments that its valid trials report."""
    digests: dict[str, dict[str, None]] = defaultdict(dict)
    for trial in evidence.valid:
        if trial.environment is not None and trial.environment in evidence.environments:
            digests[evidence.experiment.settings(trial.levels)["subject"]][trial.environment] = None
    return {subject: [evidence.environments[digest] for digest in seen] for subject, seen in digests.items()}


def _inside(content: Any, *keys: str) -> Any:
    """Return what stands at some keys of an environment, which is a program's own and may be anything."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _listed(value: Any) -> list[str]:
    """Return one name or several as a list; nothing for what is neither."""
    return (
        [value]
        if isinstance(value, str)
        else [str(each) for each in value]
        if isinstance(value, list)
        else []
    )


def _ratio(values: Sequence[float]) -> float:
    """Return the largest over the smallest of positive values, short of where a double overflows."""
    return min(max(values) / min(values), sys.float_info.max)
