"""Rules about the workload of trials, and whether their threads could perform it."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from assay.audit.known_flaws import KNOWN_FLAWS
from assay.audit.limits import limited, typical
from assay.audit.sources import ANOMALIES, OMISSION
from assay.audit.types import Evidence, of_places, rule
from assay.experiment.workload import mixes_of
from assay.findings import Finding
from assay.store.types import StoredTrial
from assay.words import agreed, condition_name, counted, listed

_FLAWED_WITH_ONE_DRAW_TOO = frozenset({"lcg64"})  # with modulo: its low bits become the keys' low bits
_MEAN = "_mean_ns"
_KEEPS_UP = 0.95  # of the rate of arrivals


@rule(
    "rejected-engine", "A random number engine with known flaws", f"{ANOMALIES}, section 6.2 and appendix B"
)
def rejected_engine(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions whose operations are drawn by an engine that its tests reject."""
    conditions = defaultdict(list)
    for condition, settings in evidence.settings_by_condition().items():
        if (name := settings.get("engine", {}).get("name")) in KNOWN_FLAWS:
            use = (settings.get("draws", "one"), settings.get("bounding", "multiply"))
            conditions[name, *use].append(condition)
    for (name, draws, bounding), where in conditions.items():
        exposed = bounding == "modulo" and (draws == "two" or name in _FLAWED_WITH_ONE_DRAW_TOO)
        yield from of_places(
            where,
            "conditions",
            f"In {counted(where, 'condition')} operations are less random than they look, drawn with"
            f" {name}: {KNOWN_FLAWS[name]}. Here draws = {draws} and bounding = {bounding}"
            f"{', which exposes it.' if exposed else ', which exposes less of it.'}",
            f"Use xoshiro256pp, unless {name} is what you study; `assay lab engines {name}` shows why.",
            "error" if exposed else "warning",
        )


_SEARCHES = frozenset(
    {"find", "contains", "visit", "find_many", "lower_bound", "upper_bound"}
    | {"floor", "predecessor", "minimum", "maximum"}
)


@rule("mix-without-finds", "Nothing is searched for", "satellites/rig/docs/rig.md")
def mix_without_finds(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions with maps in which no thread searches.

    Which subjects are maps was recorded when the campaign began; others are not checked.
    """
    kinds = evidence.host.get("subjects", {})
    where = [
        condition
        for condition, settings in evidence.settings_by_condition().items()
        if kinds.get(settings["subject"]) == "map"
        and not any(
            share > 0
            for mix in mixes_of(settings)
            for operation, share in mix.items()
            if operation in _SEARCHES
        )
    ]
    subjects = {settings["subject"] for settings in evidence.settings_by_condition().values()}
    maps = sorted(subject for subject in subjects if kinds.get(subject) == "map")
    yield from of_places(
        where,
        "conditions",
        f"Wrong searches of a map would not be noticed in {counted(where, 'condition')}, whose mix has none.",
        f"Give find a share of the mix, or check the map itself: `assay check {', '.join(maps[:1])}`.",
        "note",
    )


_UPDATES = frozenset({"insert", "erase"})
_WALKS = frozenset({"range", "snapshot", "iterate"})


@rule("ranges-among-updates", "The same threads update and query ranges", f"{ANOMALIES}, section 7.1")
def ranges_among_updates(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions in which several threads perform both updates and operations over many keys."""
    where = [
        condition
        for condition, settings in evidence.settings_by_condition().items()
        if settings["threads"] > 1
        and any(
            any(mix.get(update, 0) > 0 for update in _UPDATES)
            and any(mix.get(walk, 0) > 0 for walk in _WALKS)
            for role in settings.get("roles", ({},))
            if role.get("threads", settings["threads"]) > 1
            for mix in (role.get("mix", settings.get("mix", {})),)
        )
    ]
    yield from of_places(
        where,
        "conditions",
        f"In {counted(where, 'condition')} range queries look better than they are: the same threads do"
        " updates and queries, so that nothing is updated while all are in a query, and one that would starve"
        " succeeds.",
        "Give the queries threads of their own: [[trial.roles]], as experiments/starvation.toml has them.",
        "note",
    )


@rule(
    "reclamation-differs", "What is compared reclaims memory differently", f"{ANOMALIES}, sections 5 and 7.1"
)
def reclamation_differs(evidence: Evidence) -> Iterator[Finding]:
    """Find compared subjects that reclaim erased elements in different ways.

    The way was recorded when the campaign began. Subjects that do not report it, or have nothing to free,
    are not checked.
    """
    ways = {name: way for name, way in evidence.host.get("reclaims", {}).items() if way != "nothing"}
    compared = evidence.experiment.comparison.factor
    found: dict[str, str] = {}
    for contexts in _by_context(evidence).values():
        names = {settings["subject"] for settings in contexts if settings["subject"] in ways}
        if len({ways[name] for name in names}) > 1:
            found |= {name: ways[name] for name in names}
    never = [name for name, way in found.items() if way == _NEVER]
    yield from of_places(
        [f"{name}: {way}" for name, way in sorted(found.items())],
        "subjects",
        f"Reclamation is part of the difference between levels of {compared}: they free what was erased in"
        " different ways"
        + (
            f", and {', '.join(sorted(never))} {agreed(never, 'frees', 'free')} nothing, which saves time and"
            " takes more memory."
            if never
            else "."
        ),
        "Compare subjects that reclaim alike (`assay store list subjects --verbose` says how each does),"
        " unless reclamation is the question.",
        "warning" if never else "note",
    )


_NEVER = "never"


def _by_context(evidence: Evidence) -> dict[str, list[dict[str, Any]]]:
    """Return name of context -> the settings of its conditions, which differ in the compared factor."""
    compared = evidence.experiment.comparison.factor
    contexts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for condition in evidence.experiment.conditions():
        context = {name: level for name, level in condition.items() if name != compared}
        contexts[condition_name(context)].append(evidence.experiment.settings(condition))
    return contexts


_ENTROPY = frozenset({"rdseed", "rdrand", "kernel"})


@rule("not-replayable", "Trials cannot be replayed", f"{ANOMALIES}, sections 6.3 and 6.4")
def not_replayable(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions whose trials nobody can repeat exactly."""
    where = []
    for condition, settings in evidence.settings_by_condition().items():
        engine = settings.get("engine", {})
        if engine.get("name") == "rdrand":
            where.append(f"{condition}: rdrand draws from the processor")
        elif "reseed_every" in engine and engine.get("reseed_from", "kernel") in _ENTROPY:
            where.append(f"{condition}: reseeding draws new entropy")
        elif engine.get("name") == "c_rand" and settings["threads"] > 1:
            where.append(f"{condition}: all threads draw from the one state of rand()")
    yield from of_places(
        where,
        "conditions",
        f"Trials of {counted(where, 'condition')} cannot be run again as they were: their operations do not"
        " follow from the seed.",
        "Use a seeded engine without reseeding, if a trial is to be run again as it was.",
        "note",
    )


@limited(
    "array-repeats",
    "Arrays of numbers repeat within a trial",
    f"{ANOMALIES}, section 6.1",
    "In {conditions} a thread performs the same operations on the same keys again, which find the map as they"
    " left it: in the typical trial it reads its array of numbers more than once, {worst} at worst.",
    "Make the array longer than what a thread draws in a trial (engine.array), or draw in place.",
    limit=1,
    shown=lambda passes: f"{passes:,.1f} times",
    evidence_name="passes",
)
@typical
def array_repeats(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how often, at least, a thread went through its array of random numbers; None without an array.

    Keys with a distribution other than uniform use more numbers.
    """
    array = evidence.settings(trial).get("engine", {}).get("array")
    drawn = _numbers_of_a_thread(evidence, trial)
    return None if array is None or drawn is None else drawn / array


def _threads(settings: Mapping[str, Any]) -> int:
    return int(settings.get("threads") or sum(role["threads"] for role in settings["roles"]))


def _numbers_of_a_thread(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how many numbers a thread drew at least, including the warm-up; None if unknown."""
    settings = evidence.settings(trial)
    if "throughput" not in trial.metrics or "duration_ms" not in settings:  # as commands have none
        return None
    seconds = (settings.get("warm_up_ms", 0) + _duration_ms(evidence, trial)) / 1000
    draws = 2 if settings.get("draws") == "two" else 1
    return float(trial.metrics["throughput"] * seconds / _threads(settings) * draws)


@limited(
    "engine-state",
    "An engine's state is too small for what is drawn",
    f"{ANOMALIES}, section 6.4 (5)",
    "In {conditions} threads may perform the same operations on the same keys: an engine's state has too few"
    " bits, and numbers come again in a trial, in one thread or in two, with a chance of {worst} at worst.",
    "Use an engine with 128 bits of state or more, such as xoshiro256pp; at least 64.",
    limit=0.01,
)
@typical
def engine_state(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the probability that a trial draws the same numbers twice, from the bits of its engine's state.

    A thread's numbers repeat after 2^bits draws. At best, all threads are on one cycle of this length: of t
    threads that draw n numbers each, two overlap with a probability of about t (t - 1) n / 2^bits. If the
    engine is not a bijection (mm3), streams with N numbers in total merge with probability
    1 - e^(-N^2 / 2^(bits + 1)). None without a state, with an array, and with reseeding.
    """
    engine = evidence.settings(trial).get("engine", {})
    bits, drawn = trial.metrics.get("engine_state_bits"), _numbers_of_a_thread(evidence, trial)
    if not bits or drawn is None or {"array", "reseed_every"} & engine.keys():
        return None
    threads = _threads(evidence.settings(trial))
    states = 2.0 ** min(bits, 1000)  # as doubles go; the Mersenne Twister has 19,937
    if engine.get("name") == "mm3":
        return -math.expm1(-((threads * drawn) ** 2) / 2 / states)
    return min(1.0, threads * (threads - 1) * drawn / states) if threads > 1 else float(drawn > states)


@rule(
    "nothing-elided",
    "Nothing was elided",
    "Bonnichsen, An Adaptive Middleware for Improved Computational Performance, 2016, section 4.1.1",
)
def nothing_elided(evidence: Evidence) -> Iterator[Finding]:
    """Find conditions with elided locks in which, without a request, no section ran as a transaction."""
    found = {
        name: trials
        for name, trials in evidence.valid_by_condition.items()
        if evidence.settings(trials[0]).get("transactions") != "none"
        and all(trial.metrics.get("elided_share") == 0 for trial in trials)
    }
    here = [evidence.environments.get(trials[0].environment or "", {}) for trials in found.values()]
    reasons = {parts["transactions"].get("because", "") for parts in here if "transactions" in parts} - {""}
    why = f" ({listed(sorted(reasons))})" if reasons else ", as every attempt aborted"
    yield from of_places(
        found,
        "conditions",
        f"In {counted(found, 'condition')} an elided lock is measured as the plain lock below it: no section"
        f" ran as a transaction{why}.",
        "Run it where `assay host check` names transactions; or say that there are to be none:"
        ' transactions = "none".',
    )


@limited(
    "overloaded",
    "Operations arrive faster than they are served",
    OMISSION,
    "In {conditions} latency measures how long the trial lasts, as the queue grows: more than {limit} of the"
    " operations that were due had not begun at the end, {worst} at worst.",
    "Ask for a lower rate (arrivals), or compare the throughput of a closed loop.",
    limit=0.01,
)
@typical
def overloaded(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the share of arrivals that had not begun at the end; None for a closed loop.

    It is 0 if all but 5% of the arrivals were served: then a thread lost its processor near the end, and no
    queue grew.
    """
    rate = trial.metrics.get("arrival_rate", 0)
    if "backlog" not in trial.metrics or rate <= 0:
        return None
    roles = evidence.settings(trial).get("roles", ())
    waiting = [role["name"] for role in roles if "arrivals" in role]
    served = (
        sum(trial.metrics.get(f"role_{name}_throughput", 0) for name in waiting)
        if len(roles) > 1 and waiting
        else trial.metrics.get("throughput", 0)
    )
    if served >= _KEEPS_UP * rate:
        return 0
    return min(1, trial.metrics["backlog"] / (rate * _duration_ms(evidence, trial) / 1000))


def _duration_ms(evidence: Evidence, trial: StoredTrial) -> float:
    duration: float = evidence.settings(trial)["duration_ms"]
    return duration


@limited(
    "mean-of-latencies",
    "A mean stands for latencies that are not alike",
    OMISSION,
    "In {conditions} few operations make the mean latency, which is compared, and most are shorter: in the"
    " typical trial it is more than {limit} times the median, {worst} at worst.",
    "Compare percentiles, such as those whose names end in _p50_ns and _p99_ns; look at the histograms.",
    limit=2,
    shown=lambda times: f"{times:.3g}",
    evidence_name="worst_ratio",
)
@typical
def mean_of_latencies(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the largest ratio of a compared mean of latencies to the median of the same latencies."""
    comparison = evidence.experiment.comparison
    ratios = [
        trial.metrics[metric] / middle
        for metric in (comparison.metric, *comparison.also)
        if "latency_" in metric and metric.endswith(_MEAN)
        if metric in trial.metrics
        and (middle := trial.metrics.get(f"{metric.removesuffix(_MEAN)}_p50_ns", 0))
    ]
    return max(ratios, default=None)


@limited(
    "starved",
    "A role of threads starves",
    f"{ANOMALIES}, section 7.1 (starvation-aware experiments)",
    "In {conditions} a role waits for the others: one of its operations takes more than {limit} of the"
    " measured interval of the typical trial, {worst} at worst.",
    "Look at each role's throughput and longest operation; the sum over roles hides both.",
    limit=0.5,
)
@typical
def starved(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return the longest operation of any role as a share of the measured interval; 1 if a role had none."""
    waits = [
        1.0 if name.endswith("_throughput") else value / 1e6 / _duration_ms(evidence, trial)
        for name, value in trial.metrics.items()
        if name.startswith("role_")
        and (name.endswith("_longest_ns") or (name.endswith("_throughput") and value == 0))
    ]
    return max(waits, default=None)


@limited(
    "updates-without-effect",
    "Updates change nothing",
    f"{ANOMALIES}, sections 4.5.1, 6.1 and 6.2",
    "In {conditions} the map hardly changes: updates change it less than {limit} as often as random keys"
    " would, {worst} at worst.",
    "Look at what draws the keys: an array that is too short repeats them, and so do flawed engines.",
    limit=0.2,
    below=True,
)
@typical
def updates_without_effect(evidence: Evidence, trial: StoredTrial) -> float | None:
    """Return how often an update changed something, over how often it would with random keys."""
    return effect_of_updates(evidence.settings(trial), trial)


def effect_of_updates(settings: Mapping[str, Any], trial: StoredTrial) -> float | None:
    """Return how often updates changed something, relative to random keys.

    None with roles, which have their own mixes, or without one of the two kinds of updates.
    """
    mix = settings.get("mix", {})
    inserts, erases = mix.get("insert", 0), mix.get("erase", 0)
    updates = trial.metrics.get("insert_throughput", 0) + trial.metrics.get("erase_throughput", 0)
    if "roles" in settings or not (inserts and erases and updates):
        return None
    if "effective_update_throughput" not in trial.metrics:
        return None
    share = inserts / (inserts + erases)
    return float(trial.metrics["effective_update_throughput"] / updates / (2 * share * (1 - share)))
