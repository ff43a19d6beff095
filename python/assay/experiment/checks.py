"""Checks an experiment against the machine that is to run it."""

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from assay import programs
from assay.experiment.events import base_of
from assay.experiment.factors import Mistakes, refuse
from assay.experiment.flaws import flaws_of
from assay.experiment.machine import ENTROPY, Machine, SubjectOffer
from assay.experiment.mistakes import MistakeError, located
from assay.experiment.perturb import chosen
from assay.experiment.types import Experiment, Level
from assay.experiment.workload import OPERATIONS, mixes_of
from assay.words import listed, nearest, runs, show

_Settings = Mapping[str, Any]

_BYTES_OF_A_NUMBER = 8


def check(experiment: Experiment, machine: Machine) -> None:
    """Check that a machine can do what every condition of an experiment asks for.

    Programs of one's own may have engines and metrics that nobody here knows.

    Raises:
        AssayError: it cannot; the first mistake, at its place in the file.
    """
    with located(*experiment.origin):
        _check(experiment, machine)


def check_listed(
    experiment: Experiment, listings: Mapping[str, Collection[str]], *, built: bool = True
) -> None:
    """Check that programs of one's own have the subjects that their tables name.

    Args:
        experiment: whose programs they are.
        listings: table of [subjects] -> the subjects that its program has; empty where it does not say.
        built: whether the build steps of the experiment have just run.

    Raises:
        AssayError: a program lacks one.
    """
    folder = experiment.folder
    with located(*experiment.origin):
        for subject, program in experiment.programs.items():
            names = sorted(listings.get(program.table, ()))
            if not names or subject in names:
                continue
            path = program.path
            shown = path.relative_to(folder) if path.is_relative_to(folder) else path
            why = f"the program {shown} has no subject {show(subject)}; {nearest(subject, names)}"
            if program.build and not built:
                why += f"; or build it first: {program.build}"
            siblings = [name for name, other in experiment.programs.items() if other.table == program.table]
            one = siblings == [program.table]
            at = () if one else ("names", siblings.index(subject))
            raise MistakeError(("subjects", program.table, *at), why)


def _check(experiment: Experiment, machine: Machine) -> None:
    for subject, program in experiment.programs.items():
        if subject in machine.subjects:
            why = f"assay-trial has a subject {subject}; choose another name"
            raise MistakeError(("subjects", program.table), why)
    _check_addresses(experiment, machine)
    conditions = [(condition, experiment.settings(condition)) for condition in experiment.conditions()]
    baselines = experiment.baseline_by_context()
    compared_with = {
        context: settings["subject"]
        for condition, settings in conditions
        if baselines[context := experiment.context(condition)] == condition[experiment.comparison.factor]
    }
    for condition, settings in conditions:
        other = compared_with[experiment.context(condition)]
        refuse(experiment, condition, _mistakes(experiment, condition, settings, other, machine))
        _check_drawn(experiment, condition, settings, other, machine)
    known = not experiment.subjects() & experiment.programs.keys()
    for key, metric in experiment.comparison.metrics:
        reasons = [_lacks(metric, settings) if known else None for _, settings in conditions]
        if _ENERGY.fullmatch(metric) and not machine.counts_energy:
            reasons = [
                "this machine has no energy counters, or only root may read them; compare another metric"
            ]
        if None not in reasons:
            raise MistakeError(("comparison", key), f"no trial has {show(metric)}: {reasons[0]}")


_ENERGY = re.compile("energy_(j|uj_per_operation|delay[23]?(_per_operation)?)")


def _check_addresses(experiment: Experiment, machine: Machine) -> None:
    """Check that processes can be placed as the experiment asks."""
    if experiment.moved.address_space in {"fixed", "either"} and not machine.fixed_addresses:
        why = "setarch -R, which places processes alike, is not possible here; leave it out"
        raise MistakeError(("perturb", "address_space"), why)
    if experiment.moved.address_space in {"random", "either"} and not machine.random_addresses:
        why = (
            "this system places every process alike, as kernel.randomize_va_space is 0 or setarch -R acts; "
            'write "fixed", or change that'
        )
        raise MistakeError(("perturb", "address_space"), why)


def _check_drawn(
    experiment: Experiment, condition: Mapping[str, Level], settings: _Settings, other: str, machine: Machine
) -> None:
    """Check a condition with each value that may be drawn for it."""
    for name, weights in experiment.moved.choices.items():
        for value in weights:
            if name.startswith("parameters."):
                continue
            for _, why in _mistakes(experiment, condition, chosen(settings, name, value), other, machine):
                raise MistakeError(("perturb", name, value), why)


def _mistakes(
    experiment: Experiment, condition: Mapping[str, Level], settings: _Settings, other: str, machine: Machine
) -> Mistakes:
    """Yield what a machine cannot do of a condition that is compared with another subject."""
    if settings["subject"] not in experiment.programs:
        yield from _subject_mistakes(experiment, condition, settings, other, machine)
        yield from _engine_mistakes(settings, machine)
        yield from _latest_mistakes(settings)
        yield from _flaw_mistakes(settings, machine)
    yield from _allocator_mistakes(experiment, settings, machine)
    yield from _transaction_mistakes(experiment, settings, machine)
    yield from _event_mistakes(experiment, settings, machine)
    pinning = settings["pinning"]
    missing = [cpu for cpu in pinning if cpu not in machine.processors] if isinstance(pinning, list) else []
    if missing:
        why = (
            f"there is no processor {missing[0]} to run on; there are {runs('processor', machine.processors)}"
        )
        yield ("pinning",), why
    numbers = settings.get("engine", {}).get("array", 0) * settings["threads"]
    needed_mb = numbers * _BYTES_OF_A_NUMBER / 2**20
    allowed_mb = settings.get("memory_limit_mb", machine.memory_limit_mb)
    if needed_mb > allowed_mb:
        why = (
            f"the arrays of {settings['threads']} threads take {needed_mb:,.0f} MiB, and a trial may use "
            f"{allowed_mb:,}; give array fewer numbers, or raise memory_limit_mb"
        )
        yield ("engine", "array"), why


def _subject_mistakes(
    experiment: Experiment, condition: Mapping[str, Level], settings: _Settings, other: str, machine: Machine
) -> Mistakes:
    """Yield what is asked of a subject of `assay-trial` beyond what it offers.

    It can be compared only with subjects of the same structure, whose operations do the same.
    """
    subject = settings["subject"]
    if subject not in machine.subjects:
        hint = _other_subject(subject, experiment, machine) + programs.further_subjects()
        yield ("subject",), f'there is no subject "{subject}"; {hint}'
        return
    if settings.get("parameters"):
        why = f"{subject} is a subject of assay-trial, which knows no parameters; leave them to others"
        yield ("parameters",), why
    offer = machine.subjects[subject]
    operations = frozenset(OPERATIONS).union(*(offer.operations for offer in machine.subjects.values()))
    # Programs of one's own may have operations that nobody here knows.
    known = None if experiment.programs else operations
    for setting, why in _beyond(subject, offer, settings, known):
        rule = _rule(experiment, condition, {"subject", setting})
        remedy = f"leave the condition out: [design] exclude = [{{ {rule} }}]"
        yield (setting,), f"{why}; {remedy if rule else 'ask that of another subject'}"
    structure = machine.subjects[other].structure if other in machine.subjects else offer.structure
    if offer.structure != structure:
        why = (
            f"{subject} is a {offer.structure}, and {other}, with which it is compared, a {structure}: their "
            "inserts and erases do different things; leave it out: [design] exclude = "
            f"[{{ {_rule(experiment, condition, {'subject'})} }}], or give each of them a workload with a "
            "baseline of its own"
        )
        yield ("subject",), why


def _other_subject(subject: str, experiment: Experiment, machine: Machine) -> str:
    """Return a hint which subject was meant: one of a similar name, or one that no condition uses."""
    names = [*machine.subjects, *experiment.programs]
    unused = sorted(experiment.programs.keys() - experiment.subjects())
    if unused and not get_close_matches(subject, names):
        return f"did you mean {listed(unused, 'or')}, which no condition uses?"
    return nearest(subject, names)


def _beyond(
    subject: str, offer: SubjectOffer, settings: _Settings, known: Collection[str] | None
) -> Iterator[tuple[str, str]]:
    """Yield each setting that asks more than a subject offers, and why that cannot be.

    An operation that is not known is a mistake even where it has no share; None: any may be known.
    """
    threads = settings["threads"]
    if offer.max_threads is not None and threads > offer.max_threads:
        setting = "threads" if "roles" not in settings else "roles"
        yield setting, f"{subject} cannot run with {threads} threads, its limit is {offer.max_threads}"
    if offer.structure == "queue" and settings["keys"] == "sparse":
        yield "keys", f"{subject} is a queue, whose keys grow with every one popped, and sparse ones too fast"
    key_type, value_type = (_kind_of(settings.get(name)) for name in ("key_type", "value_type"))
    keys = {key for key, _ in offer.types}
    values = {value for key, value in offer.types if key == key_type}
    if not values:
        yield "key_type", f"{subject} holds keys of {listed(sorted(keys))}, not {key_type}"
    elif value_type not in values:
        yield "value_type", f"{subject} holds values of {listed(sorted(values))}, not {value_type}"
    drawn = isinstance(settings.get("value_type"), dict) and value_type != "bytes"
    if drawn and offer.structure != "map":
        yield "value_type", f"{subject} is a {offer.structure}, each entry of which has a value of its own"
    for role in settings.get("roles", ({},)):
        mix, setting = (role["mix"], "roles") if "mix" in role else (settings.get("mix", {}), "mix")
        lacking = [
            name
            for name, share in mix.items()
            if name not in offer.operations and (share > 0 or (known is not None and name not in known))
        ]
        if lacking:
            further = sorted(offer.operations - set(OPERATIONS))
            offered = listed([*(name for name in OPERATIONS if name in offer.operations), *further])
            near = lacking[0] not in OPERATIONS and get_close_matches(lacking[0], offer.operations)
            hint = f" ({nearest(lacking[0], sorted(offer.operations))})" if near else f"; it has {offered}"
            yield setting, f"{subject} has no {lacking[0]}{hint}"


def _kind_of(type_of_data: Any) -> str:
    """Return the kind of a type of keys or values, as subjects name those that they hold."""
    if type_of_data is None:
        return "uint64"
    return next(iter(type_of_data)) if isinstance(type_of_data, dict) else str(type_of_data)


def _rule(experiment: Experiment, condition: Mapping[str, Level], settings: Collection[str]) -> str:
    """Return the levels of a condition that change one of some settings, as a rule of `exclude`."""
    return ", ".join(
        f"{factor} = {show(level)}"
        for factor, level in condition.items()
        if not experiment.changes[factor][level].keys().isdisjoint(settings)
    )


def _engine_mistakes(settings: _Settings, machine: Machine) -> Mistakes:
    """Yield that an engine is unknown, not in this processor, or reseeded without a state of its own."""
    if "engine" not in settings:
        return
    name = settings["engine"]["name"]
    engine = machine.engines.get(name)
    if engine is None:
        yield ("engine",), f'there is no engine "{name}"; {nearest(name, list(machine.engines))}'
    elif not engine.available:
        yield ("engine",), f"this processor has no {name}; use another engine"
    elif "reseed_every" in settings["engine"] and not engine.state_bits:
        why = f"{name} draws every number from the hardware and has no state to reseed; leave it out"
        yield ("engine", "reseed_every"), why
    elif "reseed_every" in settings["engine"] and engine.shared:
        why = f"all threads draw from the one state of {name}, which none can seed anew; leave it out"
        yield ("engine", "reseed_every"), why
    elif why := _entropy_mistake(settings["engine"].get("reseed_from", "kernel"), machine):
        yield ("engine", "reseed_from"), why


def _entropy_mistake(name: str, machine: Machine) -> str:
    """Return why no new seeds come from there; empty where they do."""
    engine = machine.engines.get(name)
    if name in ENTROPY:
        return "" if name in machine.entropy else f'this processor has no {name}; use "kernel"'
    if engine is None:
        return f'there is no source "{name}"; {nearest(name, [*ENTROPY, *machine.engines])}'
    if not engine.available or not engine.state_bits or engine.shared:
        return f"{name} gives each thread no stream of its own here; use another engine"
    return ""


_BUILT_FOR_DEBUGGING = "std_map_mutex"
"""The only map that `assay-pitfalls` has in a debug build."""


def _flaw_mistakes(settings: _Settings, machine: Machine) -> Mistakes:
    """Yield that a flaw could change nothing, so that trials would bear its name for nothing."""
    flaws = flaws_of(settings)
    subject = settings["subject"]
    if flaws and machine.flawed_subjects is not None and subject not in machine.flawed_subjects:
        yield ("flaws",), f"assay-pitfalls does not have {subject}; take another map"
    if "debug_build" in flaws and subject != _BUILT_FOR_DEBUGGING:
        yield ("flaws",), f"debug_build is of {_BUILT_FOR_DEBUGGING} alone, not of {subject}"
    waits = any("arrivals" in role for role in (settings, *settings.get("roles", ())))
    if "latency_from_start" in flaws and (not waits or settings.get("latency", "none") == "none"):
        why = "latency_from_start needs an open loop whose latency is taken; give arrivals and latency"
        yield ("flaws",), why
    prefills = [flaw for flaw in flaws if flaw.endswith("prefill")]
    if prefills and machine.subjects[subject].holds_nothing:
        yield ("flaws",), f"{subject} holds nothing, so that {prefills[0]} changes nothing; remove it"


def _latest_mistakes(settings: _Settings) -> Mistakes:
    """Yield that the latest keys are not drawn by one role alone, which alone changes what the map holds.

    Threads of a role take each other to insert and erase as they do, and know nothing of those of others.
    """
    roles = settings.get("roles", ())
    mixes = [role.get("mix", settings.get("mix", {})) for role in roles]
    distributions = [role.get("distribution", settings.get("distribution", {})) for role in roles]
    latest = [number for number, keys in enumerate(distributions) if keys.get("kind") == "latest"]
    if not latest or len(roles) < _FEWEST_ROLES:
        return
    name = show(roles[latest[0]]["name"])
    for number, mix in enumerate(mixes):
        why = ""
        if number == latest[0]:
            if not mix.get("insert", 0):
                why = "draws the latest keys and inserts none; give it inserts, or another distribution"
        elif number in latest:
            why = (
                f"draws the latest keys, as {name} does, and neither would know of the other's; give one "
                "of them another distribution, or make them one role"
            )
        elif mix.get("insert", 0) or mix.get("erase", 0):
            why = (
                f"inserts or erases, of which {name}, which draws the latest keys, would not know; leave "
                f"updates to {name}, or give that another distribution"
            )
        if why:
            yield ("roles", number), f"{show(roles[number]['name'])} {why}"


def _allocator_mistakes(experiment: Experiment, settings: _Settings, machine: Machine) -> Mistakes:
    """Yield that an allocator cannot be loaded, or nobody could verify that it was."""
    allocator, subject = settings.get("allocator"), settings["subject"]
    if allocator is None:
        return
    if experiment.is_command(subject):
        why = (
            f"{subject} is a command, which cannot say which allocator it got; leave it to the command, "
            f'as in program = "env", arguments = ["LD_PRELOAD=...", ...]'
        )
        yield ("allocator",), why
    elif machine.allocators[allocator]:
        yield ("allocator",), machine.allocators[allocator]


def _transaction_mistakes(experiment: Experiment, settings: _Settings, machine: Machine) -> Mistakes:
    """Yield that the processor lacks the transactions, or nobody could verify that they were used."""
    wanted, subject = settings.get("transactions"), settings["subject"]
    if wanted is None:
        return
    if experiment.is_command(subject):
        why = (
            f"{subject} is a command, which cannot say which transactions it used; leave it to the command, "
            'as in program = "env", arguments = ["ASSAY_TRANSACTIONS=none", ...]'
        )
        yield ("transactions",), why
    elif wanted not in {"none", machine.transactions}:
        why = (
            f"there are no transactions called {wanted} here: {machine.no_transactions}; "
            'write "none", or leave it out'
        )
        yield ("transactions",), why


def _event_mistakes(experiment: Experiment, settings: _Settings, machine: Machine) -> Mistakes:
    """Yield that libpfm does not know an event that every processor could have, or nobody would count it."""
    subject = settings["subject"]
    if "events" in settings and experiment.is_command(subject):
        why = f"{subject} is a command, of which no events are counted; leave them out, or use `perf stat`"
        yield ("events",), why
    known = {event.lower() for event in machine.events or ()}
    for index, event in enumerate(settings.get("events", ())):
        base = base_of(event)
        if known and base is not None and base not in known and not _RAW.fullmatch(base):
            why = (
                f"libpfm knows no event {show(event)} here, and one of another processor needs its prefix, "
                f"such as skl::; {nearest(base, sorted(known))}"
            )
            yield ("events", index), why


_RAW = re.compile("r[0-9a-f]+")
"""An event that is known by its number alone."""
_LATENCY = re.compile(rf"latency_(?:({'|'.join(OPERATIONS)})_)?(?:p[0-9_]+|mean|max)_ns")
_ROLE = re.compile(r"role_(.+?)_(throughput|longest_ns|oldest_waiting_ns|latency_.*)")
_RATE = re.compile(rf"({'|'.join(OPERATIONS)})_throughput")
_OF_ARRIVALS = frozenset({"arrival_rate", "backlog", "oldest_waiting_ns", "response_mean_ns"})
_FEWEST_ROLES = 2  # that have metrics of their own
_NO_LATENCY = "latency is not recorded; give [trial] latency = 64"


def _lacks(metric: str, settings: _Settings) -> str | None:
    """Return why trials with some settings cannot have a metric, with a remedy; None if they may.

    Metrics such as those of probes are known only once a trial has ended.
    """
    roles = settings.get("roles", ())
    why = None
    if match := _ROLE.fullmatch(metric):
        why = _role_lacks(match[1], match[2], settings)
    elif match := _LATENCY.fullmatch(metric) or _RATE.fullmatch(metric):
        if match[1]:
            why = _never_done(match[1], settings)
        if _no_latency(metric, settings):
            why = _NO_LATENCY
    elif metric in _OF_ARRIVALS and not any("arrivals" in place for place in (settings, *roles)):
        why = "operations begin as fast as they end; give [trial] arrivals, or compare another"
    return why


def _role_lacks(name: str, rest: str, settings: _Settings) -> str | None:
    """Return why a role cannot have what a metric of it is called without its name; None if it may."""
    roles = settings.get("roles", ())
    names = [role["name"] for role in roles]
    if len(names) < _FEWEST_ROLES:
        return "metrics of roles are those of two or more [[trial.roles]]; add them, or compare another"
    if name not in names:
        return f"there is no role {show(name)}; {nearest(name, names)}"
    if rest == "oldest_waiting_ns" and "arrivals" not in {**settings, **roles[names.index(name)]}:
        return f"nothing waits in the closed loop of {show(name)}; give it arrivals, or compare another"
    return _NO_LATENCY if _no_latency(rest, settings) else None


def _no_latency(metric: str, settings: _Settings) -> bool:
    return metric.startswith("latency_") and settings.get("latency", "none") == "none"


def _never_done(operation: str, settings: _Settings) -> str | None:
    """Return that no mix holds an operation, with a remedy; None if one does."""
    if any(mix.get(operation, 0) > 0 for mix in mixes_of(settings)):
        return None
    return f"no mix holds {operation}; give it a share, or compare another metric"
