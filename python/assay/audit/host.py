"""Rules about the host and the programs: whether they stayed the same, and were suitable."""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assay.analysis import HostModes, median
from assay.analysis.busy import is_busy
from assay.analysis.configurations import condition_sensitivities
from assay.analysis.pairs import by_host
from assay.audit.limits import limited
from assay.audit.sources import ANOMALIES, BENCHMARKING, RANDOMNESS, STABILIZER, WRONG_DATA
from assay.audit.types import Evidence, numbers, of_places, rule
from assay.experiment.flaws import flaws_of
from assay.experiment.metrics import BUSY
from assay.findings import Finding, Severity
from assay.host.settings import SET_BY_TRIAL
from assay.store.types import StoredTrial
from assay.words import agreed, condition_name, counted, listed, one_line, whole_percent

_CALIBRATION_LIMITS = {"memory_ns": 1.2, "arithmetic_ns": 1.1}
_CALIBRATION_NAMES = {
    "memory_ns": "latency of memory",
    "arithmetic_ns": "time of arithmetic",
    "core_to_core_ns": "latency between cores",
}
"""Metric of a calibration -> its name for people."""


@rule(
    "host-changed",
    "The host changed within groups",
    "measurements on a virtual machine, which its page gives",
)
def host_changed(evidence: Evidence) -> Iterator[Finding]:
    """Find groups in several modes, and other calibrations that differ within groups."""
    if evidence.experiment.comparison.host_independent:
        return
    modes = evidence.analysis.host_modes
    mixed = () if modes is None else modes.mixed
    if modes is not None and mixed:
        yield _changed_mode(evidence, modes)
    for metric, limit in _CALIBRATION_LIMITS.items():
        ratios = [(group, _largest_ratio(evidence, group, metric)) for group in evidence.groups.values()]
        known = [(group, ratio) for group, ratio in ratios if ratio is not None]
        changed = [group for group, ratio in known if ratio > limit]
        if not changed:
            continue
        worst = max(ratio for _, ratio in known)
        counting = sum(group[0].group not in mixed for group in changed)
        effect = "which are left out: the verdicts hold"
        if counting == len(changed):
            effect = (
                "which count: intervals are wider, the verdicts hold, as random order is fair to both sides"
            )
        elif counting:
            effect = f"of which {counting} count: intervals are wider, the verdicts hold"
        yield Finding(
            f"The host changed speed in {len(changed)} of {len(known)} groups, {effect}. Within a group the"
            f" {_CALIBRATION_NAMES[metric]} differs by more than {limit} times, {worst:.3g} times at worst.",
            _contexts(evidence, changed),
            {"groups": len(changed), "counted": counting, "worst_ratio": worst},
            "Run more blocks, and use a host of your own instead of a virtual machine.",
            trials=numbers(trial for group in changed for trial in group),
        )


def _changed_mode(evidence: Evidence, modes: HostModes) -> Finding:
    # A group and its repetitions measure the same pairs: one of them that ran at one speed is enough.
    attempts: dict[int, list[int]] = defaultdict(list)
    for number, group in evidence.groups.items():
        attempts[number if group[0].repeats is None else group[0].repeats].append(number)
    lost = [
        first
        for first, numbers in attempts.items()
        if all(modes.of_group.get(number) == "mixed" for number in numbers)
    ]
    repetitions = len(evidence.groups) - len(attempts)
    centers = listed([f"{center:.3g} ns when {mode}" for mode, center in modes.centers.items()])
    effect = "The verdicts hold: every group ran at one speed, or was repeated until it did"
    remedy = "Nothing need be done; a host of your own removes the cause."
    if lost:
        effect = (
            f"Intervals are wider, the verdicts hold: {len(lost)} of {counted(attempts, 'group')} changed"
            f" speed whenever {agreed(lost, 'it', 'they')} ran and {agreed(lost, 'was', 'were')} left out"
        )
        remedy = (
            "Run more blocks or allow more repetitions (design.repeat); a host of your own removes the cause."
        )
    repeated = f"; {repetitions} of these groups repeat others" if repetitions else ""
    return Finding(
        f"{effect}. The host changed speed in {len(modes.mixed)} of {len(evidence.groups)} groups"
        f" ({_CALIBRATION_NAMES.get(modes.metric, modes.metric)}: {centers}){repeated}.",
        _contexts(evidence, [evidence.groups[number] for number in lost or modes.mixed]),
        {"groups": len(modes.mixed), "repetitions": repetitions, "lost": len(lost)},
        remedy,
        "warning" if lost else "note",
        numbers(trial for number in modes.mixed for trial in evidence.groups[number]),
    )


def _contexts(evidence: Evidence, groups: Sequence[Sequence[StoredTrial]]) -> tuple[str, ...]:
    """Return each context with the number of its groups among these."""
    counts = Counter(evidence.context_name(group[0]) for group in groups)
    return tuple(f"{name}: {count}" for name, count in counts.items())


def _largest_ratio(evidence: Evidence, group: Sequence[StoredTrial], metric: str) -> float | None:
    """Return the largest ratio of two calibrations within a group; it never overflows.

    Only calibrations with the same placement are compared; the compared factor may change it.
    """
    placements: dict[str, list[float]] = defaultdict(list)
    for trial in group:
        settings = evidence.settings(trial)
        placements[f"{settings['threads']} {settings['pinning']}"] += [
            calibration[metric]
            for calibration in (trial.calibration_before, trial.calibration_after)
            if metric in calibration
        ]
    ratios = [max(values) / min(values) for values in placements.values() if values]
    return min(max(ratios), sys.float_info.max) if ratios else None


_DISTURBED = 0.03
"""On a quiet host threads lose a smaller share of their processor time to other work."""


@rule("busy-host", "Other work took processor time", f"{BENCHMARKING}, system load; docs/statistics.md")
def busy_host(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions whose trials lost processor time to other programs."""
    if evidence.experiment.comparison.host_independent:
        return
    shares: dict[str, float] = {}
    deliberate: dict[str, float] = {}
    for condition in evidence.analysis.conditions:
        if condition.lost is not None and condition.lost > _DISTURBED:
            loaded = evidence.experiment.surroundings(condition.levels).get("busy_processes")
            (deliberate if loaded else shares)[condition_name(condition.levels)] = condition.lost
    busy = {name: share for name, share in shares.items() if is_busy(share)}
    disturbed = {name: share for name, share in shares.items() if name not in busy}
    severity: Severity = "error"
    effect = "Verdicts are withheld"
    if evidence.analysis.hosts is not None:
        effect = "What a busy host measured is left out"
    if evidence.experiment.design.busy == "count":
        effect = "Verdicts may be wrong"
    elif evidence.experiment.varied:
        effect = "Configurations are left out"
        measured = condition_sensitivities(evidence.trials, evidence.experiment, {})
        left_out = [out for condition in measured for out in condition.left_out.values()]
        severity = "error" if any(out.too_many for out in left_out) else "warning"
    yield from _lost(busy, BUSY, f"{effect}, as such load has turned verdicts", severity)
    yield from _lost(disturbed, _DISTURBED, "Intervals are wider, and ratios may shift", "warning")
    if deliberate:
        worst = max(deliberate.values())
        yield Finding(
            f"In {counted(deliberate, 'condition')} the experiment itself keeps processors busy: threads lost"
            f" up to {whole_percent(worst)} of their processor time.",
            tuple(f"{name}: {whole_percent(share)}" for name, share in deliberate.items()),
            {"conditions": len(deliberate), "worst_percent": 100 * worst},
            "Nothing, if the question is about load; the audit cannot tell other work from it.",
            "note",
        )


def _lost(shares: Mapping[str, float], limit: float, effect: str, severity: Severity) -> Iterator[Finding]:
    if shares:
        worst = max(shares.values())
        yield Finding(
            f"{effect}: in {counted(shares, 'condition')} threads lost more than {whole_percent(limit)} of"
            f" their processor time to other work, {whole_percent(worst)} at worst.",
            tuple(f"{name}: {whole_percent(share)}" for name, share in shares.items()),
            {"conditions": len(shares), "worst_percent": 100 * worst},
            'Stop other work and run the campaign again, or have it wait: busy = "wait" in [design].',
            severity,
        )


_FEWEST = 10  # with fewer the first and the last third are single trials
_DRIFT_LEVEL = 0.05  # of all conditions together
_DRIFT_LIMIT = 0.05  # the size of the effects that experiments look for


@limited(
    "campaign-drift",
    "Results drift across the campaign",
    "Spearman, The Proof and Measurement of Association between Two Things, 1904; docs/statistics.md",
    "In {conditions} medians depend on when a trial ran, and ratios do not: from the first third of the"
    " campaign to the last {metric} changes by {worst} at worst.",
    "Trust the ratios, in which it cancels, rather than the medians; let the host settle before a campaign.",
    limit=_DRIFT_LIMIT,
    shown=lambda share: whole_percent(share, "+"),
    severity="note",
)
def campaign_drift(evidence: Evidence) -> dict[str, float]:
    """Return name of condition -> the share by which its results drift, if it is more than chance."""
    metric = evidence.experiment.comparison.metric
    series: dict[str, list[float]] = {}
    for name, of_condition in evidence.valid_by_condition.items():
        hosts = by_host(of_condition)
        for host, trials in hosts.items():
            in_time = sorted(trials, key=lambda trial: trial.started_at)  # repetitions come last in plans
            known = [trial.metrics.get(metric, 0) for trial in in_time]
            values = [value for value in known if 0 < value < float("inf")]
            if len(values) >= _FEWEST:
                series[f"{name}, on {host}" if len(hosts) > 1 else name] = values
    changes = {}
    for name, values in series.items():
        third = len(values) // 3
        change = median(values[-third:]) / median(values[:third]) - 1
        if abs(change) <= _DRIFT_LIMIT:
            continue
        from scipy.stats import spearmanr  # type: ignore[import-untyped] # noqa: PLC0415 - half a second

        if spearmanr(range(len(values)), [*map(float, values)]).pvalue * len(series) <= _DRIFT_LEVEL:
            changes[name] = change
    return changes


@rule("environment-changed", "The machine or the program changed", WRONG_DATA)
def environment_changed(evidence: Evidence) -> Iterator[Finding]:
    """Find trials of one subject that ran with different programs, or on a changed machine."""
    environments: dict[str, dict[str, list[StoredTrial]]] = defaultdict(lambda: defaultdict(list))
    for trial in evidence.valid:
        if trial.environment is not None:
            settings = evidence.settings(trial)
            # what has flaws runs in a program of its own
            subject = f"{settings['subject']}{', flawed on purpose' if flaws_of(settings) else ''}"
            if evidence.analysis.hosts is not None:
                subject = f"{subject} on {trial.ran_on}"
            environments[subject][_environment(evidence, trial, settings)].append(trial)
    changed = {
        subject: sorted(trials_of.values(), key=len, reverse=True)
        for subject, trials_of in environments.items()
        if len(trials_of) > 1
    }
    if changed:
        most = max(map(len, changed.values()))
        yield Finding(
            f"Verdicts mix different programs or machines: the valid trials of {len(changed)} of"
            f" {counted(environments, 'subject')} report up to {most} different environments.",
            tuple(
                f"{subject}: {', '.join(str(len(trials)) for trials in by_size)} trials"
                for subject, by_size in changed.items()
            ),
            {"subjects": len(changed), "environments": most},
            "Run the campaign again without building or updating meanwhile; `assay store show` gives the"
            " environment of a trial.",
            trials=numbers(
                trial for by_size in changed.values() for trials in by_size[1:] for trial in trials
            ),
        )


@rule("host-settings", "The host's settings changed", f"{BENCHMARKING}, system configuration")
def host_settings(evidence: Evidence) -> Iterator[Finding]:
    """Find trials that ran with different settings of the host; see `hosts-differ` for several hosts."""
    for trials in by_host(evidence.valid).values():
        yield from _settings_changed(evidence, trials)


def _settings_changed(evidence: Evidence, of_host: Sequence[StoredTrial]) -> Iterator[Finding]:
    settings: dict[str, list[StoredTrial]] = defaultdict(list)
    for trial in of_host:
        if trial.host is not None and trial.host in evidence.environments:
            settings[trial.host].append(trial)
    if len(settings) < 2:
        return
    by_size = sorted(settings.values(), key=len, reverse=True)
    mixed = [
        group
        for group in evidence.groups.values()
        if len({trial.host for trial in group if trial.status == "valid"} & {*settings}) > 1
    ]
    if _as_designed(evidence, settings):
        yield Finding(
            "Verdicts are about settings of the host, too: each condition ran under its own of"
            f" {len(settings)}, which its program made.",
            _different_hosts(evidence, settings),
            {"settings": len(settings), "groups": 0},
            "Nothing need be done, if that is what the experiment compares.",
            "note",
        )
        return
    effect = (
        f"A difference may come from the host, whose settings changed within {counted(mixed, 'group')}"
        if mixed
        else "Medians may mix settings of the host; the verdicts hold, as none changed within a group"
    )
    yield Finding(
        f"{effect}: the valid trials ran under {len(settings)} different ones.",
        _different_hosts(evidence, settings),
        {"settings": len(settings), "groups": len(mixed)},
        "Run the campaign again under one: `assay run --tuned` holds them, `assay host check` shows them.",
        "error" if mixed else "warning",
        numbers(trial for trials in by_size[1:] for trial in trials),
    )


def _different_hosts(evidence: Evidence, by_host: Mapping[str, Sequence[StoredTrial]]) -> tuple[str, ...]:
    return host_differences(
        {
            f"{counted(trials, 'trial')} from {trials[0].id} on": [evidence.environments[host]]
            for host, trials in by_host.items()
        }
    )


def _as_designed(evidence: Evidence, by_host: Mapping[str, Sequence[StoredTrial]]) -> bool:
    """Return whether only programs changed settings, and each condition ran with one state of the host."""
    hosts = [evidence.environments[host] for host in by_host]
    set_by_trials = {name for host in hosts for name in host.get(SET_BY_TRIAL, "").split(", ")}
    differing = {
        name for host in hosts for name in host if len({other.get(name, "unknown") for other in hosts}) > 1
    }
    met: dict[frozenset[tuple[str, Any]], set[str]] = defaultdict(set)
    for host, trials in by_host.items():
        for trial in trials:
            met[frozenset(trial.levels.items())].add(host)
    return differing <= {*set_by_trials, SET_BY_TRIAL} and all(len(found) == 1 for found in met.values())


def host_differences(hosts: Mapping[str, Sequence[Mapping[str, str]]]) -> tuple[str, ...]:
    """Return in words each setting that differs; `hosts` is: who has it -> the hosts' settings."""
    names = dict.fromkeys(name for settings in hosts.values() for host in settings for name in host)
    values = {
        name: {
            what: ", ".join(dict.fromkeys(str(host.get(name, "unknown")) for host in settings))
            for what, settings in hosts.items()
        }
        for name in names
    }
    return tuple(
        f"{name}: {'; '.join(f'{value} in {what}' for what, value in of_name.items())}"
        for name, of_name in values.items()
        if len({*of_name.values()}) > 1
    )


@rule(
    "missing-calibration",
    "Calibrations are missing",
    "measurements on a virtual machine, which the page of host-changed gives",
)
def missing_calibration(evidence: Evidence) -> Iterator[Finding]:
    """Find valid trials without calibrations, which would show a change of the host."""

    without: list[StoredTrial] = []
    without_core_to_core: list[StoredTrial] = []
    for trial in evidence.valid:
        settings = evidence.settings(trial)
        pinning = settings["pinning"]
        alone = settings["threads"] == 1 or (isinstance(pinning, list) and len(set(pinning)) == 1)
        both = (trial.calibration_before, trial.calibration_after)
        if not all(both):
            without.append(trial)
        elif not alone and not all("core_to_core_ns" in calibration for calibration in both):
            without_core_to_core.append(trial)
    yield from evidence.of_trials(
        without,
        "do not say whether the host changed: a calibration before or after them is missing.",
        "`assay store show` gives the reason as calibration_error.",
    )
    yield from evidence.of_trials(
        without_core_to_core,
        "do not say whether the latency between cores changed: it is missing before or after them.",
        "`assay store show` gives the reason under unavailable; keep other work off the host.",
    )


@rule(
    "unoptimised-build",
    "A subject was not built for speed",
    "Google Benchmark, which warns of debug builds too; ThreadSanitizer's manual, on its slowdown",
)
def unoptimised_build(evidence: Evidence) -> Iterator[Finding]:
    """Find subjects that were compiled for debugging and not for speed."""
    useless, asserting = [], []
    for subject, contents in _environments(evidence, _as_built).items():
        for content in contents:
            sanitizers = _inside(content, "program", "sanitizers")
            if _inside(content, "program", "optimised") is False:
                useless.append(f"{subject}: without optimisation")
            if sanitizers:
                useless.append(f"{subject}: with {one_line(str(sanitizers))}")
            if _inside(content, "program", "assertions") is True:
                asserting.append(subject)
    yield from of_places(
        useless,
        "programs",
        f"The speed of {counted(useless, 'program')} is not that in use:"
        f" {agreed(useless, 'it was', 'they were')} compiled without optimisation or with sanitizers.",
        "Build for release (-O2 or -O3, no sanitizers), and run the campaign again.",
        "error",
    )
    yield from of_places(
        asserting,
        "programs",
        f"The speed of {counted(asserting, 'program')} is not that in use: assertions are on.",
        "Build with -DNDEBUG, for all that is compared.",
    )


_COMPARED = (
    ("program", "compiler"),
    ("program", "assertions"),
    ("library", "flags"),
    ("allocator", "name"),
    ("allocator", "version"),
)


@rule(
    "different-builds", "Compared programs were built differently", f"{WRONG_DATA}; {ANOMALIES}, section 2.1"
)
def different_builds(evidence: Evidence) -> Iterator[Finding]:
    """Find compared programs that were built differently."""
    factor = evidence.experiment.comparison.factor
    builds: dict[Any, dict[tuple[str, str], set[str]]] = defaultdict(lambda: defaultdict(set))
    for trial in evidence.valid:
        content = evidence.environments.get(trial.environment or "")
        is_setting = "allocator" in evidence.settings(trial)
        for keys in _COMPARED:
            value = _inside(content, *keys)
            if value is not None and not (is_setting and keys[0] == "allocator"):
                builds[trial.levels[factor]][keys].add(str(value))
    baselines = evidence.experiment.baseline_by_context()
    compared = dict.fromkeys(
        (condition[factor], baselines[context])
        for condition in evidence.experiment.conditions()
        if (context := evidence.experiment.context(condition)) in baselines
    )
    where = tuple(
        f"{level}: {' '.join(keys)} {one_line(' or '.join(sorted(values)), 60)},"
        f" {baseline} {one_line(' or '.join(sorted(builds[baseline][keys])), 60)}"
        for level, baseline in compared
        for keys, values in builds[level].items()
        if keys in builds[baseline] and values != builds[baseline][keys]
    )
    yield from of_places(
        where,
        "differences",
        "A difference may come from how programs were built: those that are compared differ in"
        f" {counted(where, 'way')} besides the subject.",
        "Build both with the same compiler and flags and the same allocator, unless that is the question.",
    )


@rule(
    "frequency-scaling", "The processors' frequency varies", f"{BENCHMARKING}, CPU frequency scaling governor"
)
def frequency_scaling(evidence: Evidence) -> Iterator[Finding]:
    """Find processors whose frequency follows the load."""
    environments = [content for contents in _environments(evidence).values() for content in contents]
    governors = {
        governor
        for content in environments
        for governor in _listed(_inside(content, "processor", "governor"))
        if governor != "performance"
    }
    yield from of_places(
        [f"governor {name}" for name in sorted(governors)],
        "governors",
        "Results depend on what the processors did before: their frequency follows the load.",
        'Set the governor "performance" on every processor (cpupower frequency-set -g performance).',
    )
    if any(_inside(content, "processor", "boost") is True for content in environments):
        yield Finding(
            "Results depend on heat and on how many threads run: processors may exceed their nominal"
            " frequency.",
            ("boost",),
            {},
            "Switch boost off where threads are a factor, so that a thread alone runs no faster than"
            " several.",
            "note",
        )


@rule(
    "fixed-layout",
    "Every trial has the same memory layout",
    f"{RANDOMNESS}, section 3.1, principle P1, and section 4.3; {WRONG_DATA}",
)
def fixed_layout(evidence: Evidence) -> Iterator[Finding]:
    """Find processes that all have the same memory layout, by their reports or by request."""
    reported = {
        subject
        for subject, contents in _environments(evidence).items()
        if any(_inside(content, "address_randomisation", "process") is False for content in contents)
    }
    requested = evidence.experiment.subjects() if evidence.experiment.moved.address_space == "fixed" else ()
    where = sorted({*reported, *requested})
    yield from of_places(
        where,
        "subjects",
        "A verdict may rest on chance, the one memory layout that all trials have: address space"
        f" randomisation is off for {counted(where, 'subject')}.",
        "Set kernel.randomize_va_space to 2, start assay without `setarch -R`, and leave address_space of"
        " [perturb] out.",
    )


@rule("one-layout", "Layouts could not be drawn", f"{WRONG_DATA}; {STABILIZER}")
def one_layout(evidence: Evidence) -> Iterator[Finding]:
    """Find verdicts on programs that were linked once although each block was to have its own layout."""
    reasons = evidence.host.get("one_layout", {}) if evidence.experiment.perturb.layout else {}
    baselines = evidence.experiment.baseline_by_context()
    where, comparisons = [], 0
    for condition in evidence.experiment.conditions():
        baseline = baselines[evidence.experiment.context(condition)]
        factor = evidence.experiment.comparison.factor
        if condition[factor] == baseline:
            continue
        comparisons += 1
        sides = (condition, {**condition, factor: baseline})
        subjects = dict.fromkeys(str(evidence.experiment.settings(side)["subject"]) for side in sides)
        fixed = [
            f"{subject}: {one_line(str(reasons[subject]))}" for subject in subjects if subject in reasons
        ]
        if fixed:
            where.append(f"{condition_name(condition)} ({', '.join(fixed)})")
    yield from of_places(
        where,
        "comparisons",
        f"Chance may decide {len(where)} of {counted(comparisons, 'verdict')}:"
        f" {agreed(where, 'it rests', 'they rest')} on one layout of code and data.",
        "Give the program a link command ([subjects.NAME] link), or build it with assay_subject() where lld"
        " is installed.",
    )


def _environment(evidence: Evidence, trial: StoredTrial, settings: Mapping[str, Any]) -> str:
    """Return the identity of a trial's environment, without a requested allocator.

    The runner has checked that the process used this allocator, so that it is a setting like any other.
    """
    content = evidence.environments.get(trial.environment or "")
    if "allocator" not in settings or not isinstance(content, dict):
        return trial.environment or ""
    return json.dumps({name: part for name, part in content.items() if name != "allocator"}, sort_keys=True)


def _subject(evidence: Evidence, trial: StoredTrial) -> str:
    return str(evidence.settings(trial)["subject"])


def _as_built(evidence: Evidence, trial: StoredTrial) -> str:
    """Return the subject of a trial, with its condition if another program runs it for its flaws."""
    subject = _subject(evidence, trial)
    return f"{subject}, {condition_name(trial.levels)}" if flaws_of(evidence.settings(trial)) else subject


def _environments(
    evidence: Evidence, key: Callable[[Evidence, StoredTrial], str] = _subject
) -> Mapping[str, list[Any]]:
    """Return subject (or another key of a trial) -> the different environments of its valid trials."""
    digests: dict[str, dict[str, None]] = defaultdict(dict)
    for trial in evidence.valid:
        if trial.environment is not None and trial.environment in evidence.environments:
            digests[key(evidence, trial)][trial.environment] = None
    return {subject: [evidence.environments[digest] for digest in seen] for subject, seen in digests.items()}


def _inside(content: Any, *keys: str) -> Any:
    """Return the value at nested keys of an environment, which a program reports and may be anything."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _listed(value: Any) -> list[str]:
    """Return one or several names as a list; empty for any other value."""
    names = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return [str(name) for name in names]
