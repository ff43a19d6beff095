"""Checks an experiment against the programs and the machine that are to run it."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from assay.experiment.source import Source
from assay.experiment.types import EngineOffer, Experiment, Level, SubjectOffer
from assay.experiment.workload import OPERATIONS
from assay.words import nearest, show

_BYTES_OF_A_NUMBER = 8


def check_subjects(experiment: Experiment, known: Mapping[str, SubjectOffer]) -> None:
    """Check that every condition's subject exists and offers what the condition asks of it.

    Args:
        experiment: the experiment.
        known: subject of `assay-trial` -> what it offers.

    Raises:
        AssayError: a subject is unknown, defined twice, asked for more threads, operations or types than
            it has, or to know parameters, or compared with one of another structure.
    """
    source = Source(experiment.path, experiment.source)
    for subject in experiment.programs:
        if subject in known:
            why = "assay-trial has a subject of this name; choose another"
            raise source.mistake(("subjects", subject), why)
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        subject = settings["subject"]
        if subject in experiment.programs:
            continue
        if subject not in known:
            hint = nearest(subject, [*known, *experiment.programs])
            where = source.origin(experiment, condition, "subject")
            raise source.mistake(where, f'there is no subject "{subject}"; {hint}')
        if settings.get("parameters"):
            why = f"{subject} is a subject of assay-trial, which knows no parameters; leave them to others"
            raise source.mistake(source.origin(experiment, condition, "parameters"), why)
        for setting, why in _beyond(subject, known[subject], settings):
            rule = _rule(experiment, condition, {"subject", setting})
            remedy = f"leave the condition out: [design] exclude = [{{ {rule} }}]"
            where = source.origin(experiment, condition, setting)
            raise source.mistake(where, f"{why}; {remedy if rule else 'ask that of another subject'}")
    _check_structures(source, experiment, known)


def _check_structures(source: Source, experiment: Experiment, known: Mapping[str, SubjectOffer]) -> None:
    """Check that subjects of `assay-trial` are compared with those alone whose operations do the same."""
    baselines = experiment.baseline_by_context()
    for condition in experiment.conditions():
        baseline = condition | {experiment.comparison.factor: baselines[experiment.context(condition)]}
        subject, other = (experiment.settings(each)["subject"] for each in (condition, baseline))
        if not {subject, other} <= known.keys():
            continue
        one, another = known[subject].structure, known[other].structure
        if one != another:
            rule = _rule(experiment, condition, {"subject"})
            why = (
                f"{subject} is a {one}, and {other}, with which it is compared, a {another}: their inserts"
                f" and erases do different things; leave it out: [design] exclude = [{{ {rule} }}], or give"
                " each of them a workload with a baseline of its own"
            )
            raise source.mistake(source.origin(experiment, condition, "subject"), why)


def _beyond(subject: str, offer: SubjectOffer, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each setting that asks more than a subject offers, and why that cannot be."""
    threads = settings["threads"]
    if offer.max_threads is not None and threads > offer.max_threads:
        where = "threads" if "roles" not in settings else "roles"
        yield where, f"{subject} cannot run with {threads} threads, its limit is {offer.max_threads}"
    if offer.structure == "queue" and settings["keys"] == "sparse":
        yield "keys", f"{subject} is a queue, whose keys grow with every one popped, and sparse ones too fast"
    types = tuple(_kind_of(settings.get(name)) for name in ("key_type", "value_type"))
    if types not in offer.types:
        keys = {key for key, _ in offer.types}
        name, what, has = ("key_type", "keys", keys)
        if types[0] in keys:
            name, what, has = (
                "value_type",
                "values",
                {value for key, value in offer.types if key == types[0]},
            )
        yield name, f"{subject} holds {what} of {_listed(has)}, not {types[name == 'value_type']}"
    for role in settings.get("roles", ({},)):
        mix, where = (role["mix"], "roles") if "mix" in role else (settings["mix"], "mix")
        lacking = [name for name in OPERATIONS if mix.get(name, 0) > 0 and name not in offer.operations]
        if lacking:
            offered = _listed(name for name in OPERATIONS if name in offer.operations)
            yield where, f"{subject} has no {lacking[0]}; it has {offered}"


def _kind_of(type_of_data: Any) -> str:
    """Return the kind of a type of keys or values, as subjects name those that they hold."""
    if type_of_data is None:
        return "uint64"
    return "bytes" if isinstance(type_of_data, dict) else str(type_of_data)


def _listed(words: Collection[str] | Iterator[str]) -> str:
    *others, last = sorted(words) if isinstance(words, set) else list(words)
    return f"{', '.join(others)} and {last}" if others else last


def _rule(experiment: Experiment, condition: Mapping[str, Level], settings: Collection[str]) -> str:
    """Return the levels of a condition that change one of some settings, as a rule of `exclude`."""
    return ", ".join(
        f"{factor} = {show(level)}"
        for factor, level in condition.items()
        if not experiment.changes[factor][level].keys().isdisjoint(settings)
    )


def check_engines(experiment: Experiment, known: Mapping[str, EngineOffer]) -> None:
    """Check that every engine exists and does what is asked of it on this processor.

    Programs of one's own may have others.

    Raises:
        AssayError: an engine is unknown, is not in this processor, or is to be reseeded and has no state
            of its own.
    """
    source = Source(experiment.path, experiment.source)
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        if "engine" not in settings or settings["subject"] in experiment.programs:
            continue
        asked = settings["engine"]
        name = asked["name"]
        where = source.origin(experiment, condition, "engine")
        if name not in known:
            raise source.mistake(where, f'there is no engine "{name}"; {nearest(name, list(known))}')
        if not known[name].available:
            raise source.mistake(where, f"this processor has no {name}; use another engine")
        if "reseed_every" in asked and not known[name].state_bits:
            why = f"{name} draws every number from the hardware and has no state to reseed; leave it out"
            raise source.mistake((*where, "reseed_every"), why)
        if "reseed_every" in asked and known[name].shared:
            why = f"all threads draw from the one state of {name}, which none can seed anew; leave it out"
            raise source.mistake((*where, "reseed_every"), why)


def check_latest(experiment: Experiment) -> None:
    """Check that the latest keys are drawn by one role at most, which alone changes what the map holds.

    Threads of a role take each other to insert and erase as they do, and know nothing of those of others.
    Programs of one's own may know better.

    Raises:
        AssayError: another role draws them, inserts or erases too, or the one that does inserts nothing.
    """
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        roles = settings.get("roles", ())
        if settings["subject"] in experiment.programs or len(roles) < 2:
            continue
        mixes = [role.get("mix", settings.get("mix", {})) for role in roles]
        draws = [role.get("distribution", settings.get("distribution", {})) for role in roles]
        latest = [number for number, keys in enumerate(draws) if keys.get("kind") == "latest"]
        if not latest:
            continue
        by = latest[0]
        name = show(roles[by]["name"])
        for number, mix in enumerate(mixes):
            if number == by and not mix.get("insert", 0):
                why = "draws the latest keys and inserts none; give it inserts, or another distribution"
            elif number != by and number in latest:
                why = (
                    f"draws the latest keys, as {name} does, and neither would know of the other's; give one "
                    "of them another distribution, or make them one role"
                )
            elif number != by and (mix.get("insert", 0) or mix.get("erase", 0)):
                why = (
                    f"inserts or erases, of which {name}, which draws the latest keys, would not know; leave "
                    f"updates to {name}, or give that another distribution"
                )
            else:
                continue
            source = Source(experiment.path, experiment.source)
            where = (*source.origin(experiment, condition, "roles"), number)
            raise source.mistake(where, f"{show(roles[number]['name'])} {why}")


_LATENCY = re.compile(rf"latency_(?:({'|'.join(OPERATIONS)})_)?(?:p[0-9_]+|mean|max)_ns")
_ROLE = re.compile(r"role_(.+?)_(throughput|longest_ns|oldest_waiting_ns|latency_.*)")
_RATE = re.compile(rf"({'|'.join(OPERATIONS)})_throughput")
_OF_ARRIVALS = frozenset({"arrival_rate", "backlog", "oldest_waiting_ns"})
_FEWEST_ROLES = 2  # that have metrics of their own
_NO_LATENCY = "latency is not recorded; give [trial] latency = 64"


def check_metrics(experiment: Experiment) -> None:
    """Check that some condition can have each metric of latencies, roles and operations that is compared.

    Other metrics, such as those of probes, are known only once a trial has ended.

    Raises:
        AssayError: none can, as the settings are.
    """
    source = Source(experiment.path, experiment.source)
    settings = [experiment.settings(condition) for condition in experiment.conditions()]
    if any(each["subject"] in experiment.programs for each in settings):
        return
    metrics = [
        ("metric", experiment.comparison.metric),
        *(("also", name) for name in experiment.comparison.also),
    ]
    for key, metric in metrics:
        reasons = [_lacks(metric, each) for each in settings]
        if None not in reasons:
            raise source.mistake(("comparison", key), f"no trial has {show(metric)}: {reasons[0]}")


def _lacks(metric: str, settings: Mapping[str, Any]) -> str | None:
    """Return why trials with some settings cannot have a metric, with a remedy; None if they may."""
    roles = settings.get("roles", ())
    why = None
    if match := _ROLE.fullmatch(metric):
        why = _role_lacks(match[1], match[2], settings)
    elif match := _LATENCY.fullmatch(metric) or _RATE.fullmatch(metric):
        if match[1]:
            why = _never_done(match[1], settings)
        if _no_latency(metric, settings):
            why = _NO_LATENCY
    elif metric in _OF_ARRIVALS and not any("arrivals" in each for each in (settings, *roles)):
        why = "operations begin as fast as they end; give [trial] arrivals, or compare another"
    return why


def _role_lacks(name: str, rest: str, settings: Mapping[str, Any]) -> str | None:
    """Return why a role cannot have what a metric of it is called without its name; None if it may."""
    roles = settings.get("roles", ())
    names = [role["name"] for role in roles]
    if len(names) < _FEWEST_ROLES:
        return "metrics of roles are those of two or more [[role]] tables; add them, or compare another"
    if name not in names:
        return f"there is no role {show(name)}; {nearest(name, names)}"
    if rest == "oldest_waiting_ns" and "arrivals" not in settings | roles[names.index(name)]:
        return f"nothing waits in the closed loop of {show(name)}; give it arrivals, or compare another"
    return _NO_LATENCY if _no_latency(rest, settings) else None


def _no_latency(metric: str, settings: Mapping[str, Any]) -> bool:
    return metric.startswith("latency_") and settings.get("latency", "none") == "none"


def _never_done(operation: str, settings: Mapping[str, Any]) -> str | None:
    """Return that no mix holds an operation, with a remedy; None if one does."""
    mixes = [role.get("mix", settings.get("mix", {})) for role in settings.get("roles", ({},))]
    if any(mix.get(operation, 0) > 0 for mix in mixes):
        return None
    return f"no mix holds {operation}; give it a share, or compare another metric"


def check_memory(experiment: Experiment, limit_mb: int) -> None:
    """Check that the arrays of random numbers of every condition fit into the memory that its trials may use.

    Args:
        experiment: the experiment.
        limit_mb: of trials whose settings name no limit, MiB.

    Raises:
        AssayError: they do not.
    """
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        numbers = settings.get("engine", {}).get("array", 0) * settings["threads"]
        needed_mb = numbers * _BYTES_OF_A_NUMBER / 2**20
        allowed_mb = settings.get("memory_limit_mb", limit_mb)
        if needed_mb > allowed_mb:
            source = Source(experiment.path, experiment.source)
            why = (
                f"the arrays of {settings['threads']} threads take {needed_mb:,.0f} MiB, and a trial may use "
                f"{allowed_mb:,}; give array fewer numbers, or raise memory_limit_mb"
            )
            raise source.mistake((*source.origin(experiment, condition, "engine"), "array"), why)


def check_processors(experiment: Experiment, available: Collection[int]) -> None:
    """Check that every processor that threads are pinned to is one that this process may use.

    Raises:
        AssayError: one is not.
    """
    for condition in experiment.conditions():
        pinning = experiment.settings(condition)["pinning"]
        missing = [cpu for cpu in pinning if cpu not in available] if isinstance(pinning, list) else []
        if missing:
            why = f"there is no processor {missing[0]} to run on; there are {_ranges(available)}"
            source = Source(experiment.path, experiment.source)
            raise source.mistake(source.origin(experiment, condition, "pinning"), why)


def _ranges(numbers: Collection[int]) -> str:
    """Write numbers as ranges: 0-3, 8."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
