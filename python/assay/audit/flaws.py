"""Rules about trials with a misleading loop: by their own declaration, or shown by their results."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from assay.analysis.idle import drawn_key_range
from assay.audit.limits import limited, typical
from assay.audit.sources import ANOMALIES, BENCHMARKING, OMISSION
from assay.audit.types import Evidence, of_places, rule
from assay.audit.workload import effect_of_updates
from assay.experiment.flaws import WHAT, flaws_of, lesson_of
from assay.experiment.workload import mixes_of
from assay.findings import Finding
from assay.store.types import StoredTrial
from assay.words import counted


@rule("flawed-on-purpose", "Trials mislead on purpose", f"{ANOMALIES}, sections 4 to 7")
def flawed_on_purpose(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions with flaws, one finding for each flaw."""
    experiment = evidence.experiment
    settings = evidence.settings_by_condition()
    for flaw in experiment.flaws():
        where = [condition for condition, chosen in settings.items() if flaw in flaws_of(chosen)]
        yield from of_places(
            where,
            "conditions",
            f"{counted(where, 'condition')} {'is' if len(where) == 1 else 'are'} flawed on purpose, {flaw}:"
            f" {WHAT[flaw]}.",
            f"Believe none of these numbers; `assay lesson {lesson_of(flaw)}` shows why.",
            "error",
        )


@limited(
    "mix-not-performed",
    "Other operations were performed than the mix asks for",
    f"{ANOMALIES}, section 4.5.1",
    "In {conditions} another workload was measured: in the typical trial the share of some operation differs"
    " from that of the mix by more than {limit} of all operations, {worst} at worst.",
    "Look at the operations of each thread on the page of a trial, and at what draws them.",
    limit=0.02,
)
@typical
def mix_not_performed(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how far the share of an operation differs from the mix, beyond chance.

    None for conditions with roles, as each role has a mix, and for a mix that was perturbed.
    """
    settings = evidence.settings(trial)
    throughput = trial.metrics.get("throughput", 0)
    moved = any(name.startswith("mix") for name in trial.perturbation)
    if throughput <= 0 or moved or "roles" in settings or "mix" not in settings:
        return None
    shares = {
        operation: trial.metrics[f"{operation}_throughput"] / throughput
        for operation in settings["mix"]
        if f"{operation}_throughput" in trial.metrics
    }
    if not shares:
        return None
    chance = 3 * 0.5 / math.sqrt(max(1, throughput * settings["duration_ms"] / 1000))
    worst = max(abs(share - settings["mix"][operation] / 100) for operation, share in shares.items())
    return max(0.0, float(worst - chance))


@limited(
    "updates-always-succeed",
    "Updates succeed more often than chance allows",
    f"{ANOMALIES}, sections 4.5.1 and 4.5.4",
    "In {conditions} updates that fail are left out or not counted, or what comes next depends on them: they"
    " change the map more than {limit} as often as random keys would, {worst} at worst.",
    "Draw each update at random, and count it as one whether or not it changes anything.",
    limit=1.3,
)
@typical
def updates_always_succeed(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how often updates changed something, relative to random keys.

    None if `effect_of_updates` gives None, and for keys that are not uniform.
    """
    settings = evidence.settings(trial)
    if not _is_map(evidence, settings) or "distribution" in settings:
        return None
    return effect_of_updates(settings, trial)


@limited(
    "shared-seeds",
    "Threads draw the same numbers",
    f"{ANOMALIES}, section 4.5.2",
    "In {conditions} threads ask for the same keys in the same order: {worst} of the threads of the typical"
    " trial share a seed with another thread.",
    "Give each thread a seed of its own.",
    limit=0,
    severity="error",
)
@typical
def shared_seeds(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the share of threads that have the same seed as another thread; None if seeds are unknown."""
    threads = evidence.settings(trial).get("threads")
    seeds = trial.metrics.get("thread_seeds")
    return None if seeds is None or not threads else max(0.0, 1 - seeds / threads)


@limited(
    "idle-processors",
    "Processors are left idle",
    f"{ANOMALIES}, sections 4.4 and 4.6.1",
    "In {conditions} threads share processors while others are idle: they may not use {worst} of those that"
    " they could each have had, at worst.",
    'Pin threads to processors of their own (pinning = "cores_first"), unless it is their sharing that you'
    " study.",
    limit=0,
)
@typical
def idle_processors(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the share of the processors that the threads could use at once but are not allowed to use."""
    threads = evidence.settings(trial).get("threads")
    processors = evidence.host.get("processors")
    allowed: float | None = trial.metrics.get("processors_allowed")
    if allowed is None or not threads or not processors:
        return None
    return max(0.0, 1 - allowed / int(min(threads, processors)))


@rule("nominal-time", "Rates are over the requested time", f"{ANOMALIES}, section 4")
def nominal_time(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions in which all trials measured for exactly the requested time.

    No thread ends an operation at exactly that nanosecond, so the program did not read the clock.
    """
    where = [
        name
        for name, trials in evidence.valid_by_condition.items()
        if all(trial.metrics.get("measured_ms", -1) == _requested_ms(evidence, trial) for trial in trials)
    ]
    yield from of_places(
        where,
        "conditions",
        f"In {counted(where, 'condition')} rates are too high: they are over the requested time, and not over"
        " the time that passed, so that a last operation that takes longer is counted, and its time is not.",
        "Divide each thread's operations by the time from the common start to the end of its last one.",
        "error",
    )


def _requested_ms(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the requested time of a trial, ms, after its perturbation; None for a command."""
    duration_ms: int | None = evidence.settings(trial).get("duration_ms")
    if duration_ms is None or "duration_ms" not in trial.perturbation:
        return duration_ms
    # A plan moves it to a whole number, and keeps by how many percent.
    return round(duration_ms * (1 + float(trial.perturbation["duration_ms"]) / 100))


@rule("empty-at-start", "Maps are empty when measuring begins", f"{ANOMALIES}, sections 2 and 4.8")
def empty_at_start(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions whose structure was empty at the start although its mix would fill it.

    A phase may begin with an empty structure.
    """
    where = [
        name
        for name, trials in evidence.valid_by_condition.items()
        if all(trial.metrics.get("prefill_threads") == 0 for trial in trials)
        and "phase" not in evidence.settings(trials[0])
        and _would_hold_some(evidence.settings(trials[0]))
    ]
    yield from of_places(
        where,
        "conditions",
        f"In {counted(where, 'condition')} a small map that grows is measured: nothing was inserted before"
        " measuring began.",
        "Fill it first to the size at which its mix leaves it.",
    )


def _would_hold_some(settings: dict[str, Any]) -> bool:
    mixes = mixes_of(settings)
    inserts = any(mix.get("insert", 0) > 0 for mix in mixes)
    return inserts or not any(mix.get("erase", 0) > 0 for mix in mixes)


@rule("prefill-by-one-thread", "One thread fills for all", f"{ANOMALIES}, section 4.8")
def prefill_by_one_thread(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions with several threads and at least 1000 keys in which one thread filled the map."""
    where = [
        name
        for name, trials in evidence.valid_by_condition.items()
        if all(
            trial.metrics.get("prefill_threads") == 1
            and evidence.settings(trial).get("threads", 1) > 1
            and evidence.settings(trial).get("key_range", 0) >= _MANY_KEYS
            for trial in trials
        )
    ]
    yield from of_places(
        where,
        "conditions",
        f"In {counted(where, 'condition')} the map's memory is near one thread, in the order in which it"
        " asked for it: this thread filled the map for all.",
        "Let all threads fill it, each on the processor on which it will be measured.",
    )


_MANY_KEYS = 1000


@rule("prefill-without-erases", "Inserts alone fill the map", f"{ANOMALIES}, section 4.8")
def prefill_without_erases(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions whose map with many keys was filled by inserts alone, without erases.

    A mix that inserts and never erases leaves such a map, too.
    """
    where = [
        name
        for name, trials in evidence.valid_by_condition.items()
        if _is_map(evidence, evidence.settings(trials[0]))
        and all(_was_filled_by_inserts_alone(evidence, trial) for trial in trials)
    ]
    yield from of_places(
        where,
        "conditions",
        f"In {counted(where, 'condition')} the map's shape, and where its nodes lie, are not those of a map"
        " in use: inserts alone filled it, and no element has ever left it.",
        "Fill it by inserts and erases at random, in the shares of the mix, until its size settles.",
    )


def _was_filled_by_inserts_alone(evidence: Evidence, trial: StoredTrial) -> bool:
    first = _at_first(evidence, trial)
    if first is None or first.share == 1 or first.elements < _MANY_KEYS / 2:
        return False
    return trial.metrics.get("prefill_threads", 0) > 0 and trial.metrics.get("prefill_erases") == 0


@limited(
    "other-key-range",
    "Maps have another size than the requested one",
    f"{ANOMALIES}, section 4.2",
    "In {conditions} keys are drawn from another range: the map began with another number of elements than"
    " its key range and its mix lead to, {worst} more or fewer at worst.",
    "Draw keys from the requested range: a range that is rounded up to a power of two is up to twice"
    " as large.",
    limit=0.05,
)
@typical
def other_key_range(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how far the size after the prefill differs from the expected size, beyond chance.

    It is a share of the expected size; None with few keys, and without a prefill.
    """
    first = _at_first(evidence, trial)
    if first is None or first.elements < _MANY_KEYS / 2 or not trial.metrics.get("prefill_threads"):
        return None
    if "prefill_size" not in trial.metrics:
        return None
    off = abs(trial.metrics["prefill_size"] - first.elements)
    return float(max(0.0, off - 3 * math.sqrt(first.elements)) / first.elements)


@limited(
    "size-changed",
    "Maps did not keep their size",
    f"{ANOMALIES}, section 4.5.1",
    "In {conditions} throughput is a mean over many sizes, other ones for each subject, and depends on how"
    " long the trial was: the number of elements changed by more than {limit} from the prefill to the end of"
    " the typical trial, {worst} at worst.",
    "Begin with the size at which the mix keeps it: leave prefill out. To measure how long growing or"
    " draining takes, use a phase.",
    limit=0.2,
)
@typical
def size_changed(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the change of the size since the prefill, as a share of the size then.

    None with few elements, without keys, and for a phase, which must change it.
    """
    settings = evidence.settings(trial)
    first, last = (trial.metrics.get(metric) for metric in ("prefill_size", "final_size"))
    if first is None or last is None or "phase" in settings or "key_range" not in settings:
        return None
    if first < _MANY_KEYS / 10:
        return None
    return float(last / first - 1)


class _First(NamedTuple):
    """The result of a prefill by updates with uniform keys."""

    elements: float
    share: float
    """Share of inserts among updates."""


def _at_first(evidence: Evidence, trial: StoredTrial) -> _First | None:
    """Return the result of the prefill for the trial's perturbed key range.

    None without keys. If no prefill is set, it follows from the mix, and is None for roles, further
    operations, keys that are not uniform, and a perturbed mix.
    """
    settings = evidence.settings(trial)
    if "key_range" not in settings:
        return None
    drawn = drawn_key_range(trial, settings)
    prefill = settings.get("prefill", {})
    if prefill.get("method") == "none":
        return _First(0, 0)
    if "size" in prefill or "percent" in prefill:
        elements = min(drawn, prefill["size"]) if "size" in prefill else drawn * prefill["percent"] / 100
        return _First(elements, elements / drawn)
    mix = settings.get("mix", {})
    moved = any(name.startswith("mix") for name in trial.perturbation)
    if moved or not mix or mix.keys() - _KNOWN or {"roles", "distribution"} & settings.keys():
        return None
    inserts, erases = mix.get("insert", 0), mix.get("erase", 0)
    share = inserts / (inserts + erases) if inserts + erases else 0.5
    return _First(drawn * share, share)


_KNOWN = {"insert", "erase", "find", "range", "size", "snapshot", "iterate"}
"""Operations whose additions and removals are known."""


def _is_map(evidence: Evidence, settings: dict[str, Any]) -> bool:
    return bool(evidence.host.get("subjects", {}).get(settings["subject"], "map") == "map")


@limited(
    "clock-share",
    "The clock is part of what is measured",
    f"{BENCHMARKING}, clock selection",
    "In {conditions} subjects look more alike than they are: reading the clock, which is in each rate that is"
    " compared, takes more than {limit} of the threads' time, {worst} at worst.",
    "Read it once for many operations: time one in 100 or fewer (latency), or compare latencies.",
    limit=0.1,
)
@typical
def clock_share(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the share of the time that clock readings take.

    None if a latency is compared, and for rare operations: the loop reads the clock for each of them.
    """
    settings = evidence.settings(trial)
    rare = any(mix.get(operation) for mix in mixes_of(settings) for operation in _RARE)
    if rare or "latency_" in evidence.experiment.comparison.metric:
        return None
    return trial.metrics.get("clock_share")


_RARE = ("range", "size", "snapshot", "iterate")


@limited(
    "latency-without-waiting",
    "Latencies leave out that operations waited",
    OMISSION,
    "In {conditions} no percentile shows that operations waited in line: the mean latency is less than"
    " {limit} of the mean time from when operations were due to when they ended, {worst} at worst.",
    "Count the latency of an operation from when it was due, not from when it began.",
    limit=0.8,
    below=True,
)
@typical
def latency_without_waiting(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the mean latency relative to the value that follows from the loop's own counts.

    None for closed loops, and if only some operations are timed: few operations wait long, and most trials
    would time none of these.
    """
    if evidence.settings(trial).get("latency") != "all":
        return None
    response = trial.metrics.get("response_mean_ns", 0)
    latency = trial.metrics.get("latency_mean_ns")
    return None if latency is None or response <= 0 else latency / response
