"""Turns the parsed text of a file into an `Experiment`; raises at the first group of mistakes."""

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

from assay.experiment.events import is_simulated, simulated_metric
from assay.experiment.factors import (
    Factors,
    LevelsByName,
    Mistakes,
    check_changes,
    level_of,
    levels_by_name,
    levels_of,
    origin_of,
    read_factors,
    refuse,
)
from assay.experiment.flaws import LESSONS, flaws_of, lesson_of
from assay.experiment.lines import KeyPath
from assay.experiment.metrics import Better, better
from assay.experiment.mistakes import MistakeError, check_known, validated
from assay.experiment.perturb import check_perturb, resolved
from assay.experiment.programs import check_placeholders, check_units, read_programs
from assay.experiment.settings import OF_FIXTURES, RUNNER_ONLY_SETTINGS
from assay.experiment.tables import NAME_PATTERN
from assay.experiment.types import (
    AXES,
    EXPERIMENT_NAME_PATTERN,
    Chart,
    ComparisonDesign,
    Experiment,
    Level,
    Reported,
    Rules,
    Until,
    Validation,
)
from assay.experiment.workload import LARGEST_KEY_RANGE, MOST_THREADS, files_of, largest_key_range
from assay.words import listed, nearest, show

_DEFAULTS = {"pinning": "none"}
_PROTOCOL_DEFAULTS = {"pinning": "cores_first", "keys": "dense", "duration_ms": 1000, "interval_ms": 10}
_FIXTURE_DEFAULTS = {name: value for name, value in _PROTOCOL_DEFAULTS.items() if name in OF_FIXTURES}
MOST_TRIALS = 200_000  # a plan is made in memory, at some 3 kB a trial
_MOST_BLOCKS = 100_000
_MOST_FACETS = 2  # charts that every report has take as many as there are factors
_SHORTEST_OVERHEAD_S = 0.04  # of a trial: two calibrations of 12 ms, and 23 ms for all else
_SHORTEST_COMMAND_S = 0.01  # it takes longer, with the calibrations around it


def read_experiment(text: str, path: Path, table: Mapping[str, Any], *, identical: bool) -> Experiment:
    """Return the experiment that a text describes.

    Args:
        text: the text.
        path: its file; the files that it names are relative to its folder.
        table: what it holds, as TOML's parser gives it.
        identical: compare every condition with a second copy of itself, whatever the text compares.

    Raises:
        MistakeError: there is a mistake in it.
    """
    document = validated(Experiment, table)
    _check_lesson(document.pitfall.lesson)
    given = document.fixed
    changes = read_factors(document.changes, given)
    folder = path.parent.absolute()
    tables = [given, *(change for levels in changes.values() for change in levels.values())]
    for settings in tables:
        for _, distribution in files_of(settings):
            distribution["file"] = str(folder / distribution["file"])
    factors = {name: tuple(levels) for name, levels in changes.items()}
    programs = read_programs(folder, document.programs)
    units = {rule.metric: rule.unit for program in programs.values() for rule in program.rules}
    commands = {name for name, program in programs.items() if program.is_command}
    fixtures = {name for name, program in programs.items() if program.fixture}
    subjects = {settings["subject"] for settings in tables if "subject" in settings}
    direction = partial(_direction, units, bool(subjects & commands))
    metric = document.comparison.metric or _metric(subjects, commands, fixtures)
    comparison = _comparison(document.comparison, metric, factors, direction, identical=identical)
    _check_gate(document.design.end, comparison)
    question = document.question or (
        f"How does {comparison.metric} differ by {comparison.factor}, compared with {comparison.against()}?"
    )
    if identical:
        if "copy" in factors:
            why = "copies of identical code are a factor of this name; give this one another"
            raise MistakeError(("factors", "copy"), why)
        changes["copy"] = {"a": {}, "b": {}}
        factors["copy"] = ("a", "b")
        comparison = comparison.altered(factor="copy", baseline="a", stand_ins=(), ladders=())
        question = f"Do two copies of the same code differ? Those of: {question}"
    elif len(factors[comparison.factor]) == 1:
        raise MistakeError(("factors", comparison.factor), "a comparison needs at least two levels")
    protocol_defaults = _PROTOCOL_DEFAULTS
    if subjects <= commands | fixtures:
        protocol_defaults = {} if subjects <= commands else _FIXTURE_DEFAULTS
    named = levels_by_name(factors)
    experiment = document.altered(
        name=document.name or _name(path.stem),
        question=question,
        comparison=comparison,
        design=document.design.altered(
            include=read_rules("include", document.design.include, factors),
            exclude=read_rules("exclude", document.design.exclude, factors),
            blocks=document.design.blocks or 1,
        ),
        perturb=resolved(document.perturb, commands_alone=subjects <= commands),
        programs=programs,
        fixed=_DEFAULTS | protocol_defaults | given,
        changes=changes,
        source=text,
        path=path,
        identical=identical,
        charts=tuple(_read_chart(index, chart, named) for index, chart in enumerate(document.charts)),
        reported=tuple(
            _reported(index, other, comparison, named)
            for index, other in enumerate(() if identical else document.reported)
        ),
    )
    for index, rule in enumerate(experiment.validations):
        _check_validation(index, rule, factors)
    check_conditions(experiment)
    check_units(experiment)
    check_placeholders(experiment)
    return experiment if document.design.blocks else filling_the_time(experiment)


def _name(stem: str) -> str:
    """Return the name of an experiment whose text has none: that of its file, unless it cannot be one."""
    if re.fullmatch(EXPERIMENT_NAME_PATTERN, stem) and len(stem) <= 64:
        return stem
    why = f"is missing, and the file's name is {show(stem)}, which is not a name; write one"
    raise MistakeError(("name",), why)


def _metric(subjects: Set[str], commands: Set[str], fixtures: Set[str]) -> str:
    """Return what is compared where the text does not say."""
    if subjects and subjects <= fixtures:
        return "iteration_p50_ns"
    if not subjects & commands:
        return "throughput"
    if subjects <= commands:
        return "wall_ms"
    why = "is missing, and commands have no throughput; name a metric that every subject has"
    raise MistakeError(("comparison", "metric"), why)


def _factor(factors: Factors, *, identical: bool) -> str:
    """Return the factor that is compared where the text does not say; of identical code any will do."""
    if identical and "subject" in factors:
        return "subject"
    first, *others = factors
    if others and not identical:
        why = f"is missing; say which of {listed(list(factors))} is compared"
        raise MistakeError(("comparison", "factor"), why)
    return first


def _comparison(
    table: ComparisonDesign,
    metric: str,
    factors: Factors,
    direction: Callable[[KeyPath, str], Better],
    *,
    identical: bool,
) -> ComparisonDesign:
    factor = table.factor or _factor(factors, identical=identical)
    check_known(("comparison", "factor"), factor, factors, "factor")
    baseline, *stand_ins = _baselines(table.baseline, factor, factors)
    also: dict[str, Better | None] = {}
    for index, other in enumerate(table.also):
        if other == metric or other in also:
            raise MistakeError(("comparison", "also"), f"{other} is compared already; remove it here")
        stated = table.also[other] if isinstance(table.also, dict) else None
        also[other] = stated or direction(("comparison", "also", index), other)
    if table.across and stand_ins:
        why = "workloads are put together against one baseline; name one alone"
        raise MistakeError(("comparison", "across"), why)
    if table.gate_percent is not None and table.baseline is None and not identical:
        why = f"needs a baseline that nothing may be worse than; name it, such as baseline = {show(baseline)}"
        raise MistakeError(("comparison", "gate_percent"), why)
    smallest = table.smallest_effect_percent
    if table.smallest_effect is not None:
        percent_too = "smallest_effect_percent" in table.model_fields_set
        if percent_too != bool(also):
            why = "is given in percent too; give one of the two"
            if also:
                why = "needs smallest_effect_percent too, for the metrics of also"
            raise MistakeError(("comparison", "smallest_effect"), why)
        if table.gate_percent is not None:
            why = "is compared by differences, and gate_percent is about a ratio; remove one of the two"
            raise MistakeError(("comparison", "smallest_effect"), why)
    if table.gate_percent is not None and "smallest_effect_percent" not in table.model_fields_set:
        smallest = min(smallest, table.gate_percent)
    return table.altered(
        metric=metric,
        factor=factor,
        baseline=baseline,
        stand_ins=tuple(stand_ins),
        smallest_effect_percent=smallest,
        better=table.better or direction(("comparison", "metric"), metric),
        also=also,
        across=_across(table, factor, factors),
        ladders=_ladders(table.ladders, factor, factors),
    )


def _ladders(
    ladders: Sequence[Sequence[Any]], factor: str, factors: Factors
) -> tuple[tuple[Level, ...], ...]:
    """Return the levels of each ladder, on which each has one place."""
    read: list[tuple[Level, ...]] = []
    named = levels_by_name(factors)
    for number, ladder in enumerate(ladders):
        at = ("comparison", "ladders", number)
        rungs = tuple(level_of((*at, place), factor, level, named) for place, level in enumerate(ladder))
        _check_apart(at, rungs)
        read.append(rungs)
    return tuple(read)


def _across(table: ComparisonDesign, compared: str, factors: Factors) -> dict[str, dict[str, float]]:
    """Return the factors whose levels are workloads, each with the weights of its levels."""
    across: dict[str, dict[str, float]] = {}
    for index, factor in enumerate(table.across):
        weighted = isinstance(table.across, dict)
        at = ("comparison", "across", factor if weighted else index)
        check_known(at, factor, factors, "factor")
        if factor == compared:
            why = f"{factor} is the factor compared; name factors whose levels are workloads"
            raise MistakeError(at, why)
        if factor in across:
            raise MistakeError(at, f"{factor} is named twice; remove it here")
        across[factor] = dict(table.across[factor]) if isinstance(table.across, dict) else {}
        if weighted:
            for level in across[factor]:
                check_known((*at, level), level, list(map(str, factors[factor])), f"level of {factor}")
            _check_weights(at, across[factor], factors[factor])
    return across


def _check_weights(at: KeyPath, weights: Mapping[str, float], levels: Sequence[Level]) -> None:
    """Check that each level has a weight."""
    missing = [level for level in levels if str(level) not in weights]
    if missing:
        raise MistakeError(at, f"level {missing[0]} has no weight; give every level one")


def _baselines(stated: Any, factor: str, factors: Factors) -> list[Level]:
    """Return the baseline and what stands in for it: the factor's first level where the text names none."""
    if stated is None:
        return [factors[factor][0]]
    at = ("comparison", "baseline")
    named = stated if isinstance(stated, list) else [stated]
    if not named:
        raise MistakeError(at, "an empty list names no level; name one")
    known = levels_by_name(factors)
    levels = [level_of(at, factor, level, known) for level in named]
    _check_apart(at, levels)
    return levels


def _check_apart(at: KeyPath, levels: Sequence[Level]) -> None:
    for index, level in enumerate(levels):
        if level in levels[:index]:
            raise MistakeError(at, f"{show(level)} is named twice; remove it here")


def _direction(units: Mapping[str, str], of_commands: bool, at: KeyPath, metric: str) -> Better:
    """Return which values of a compared metric are better; of a command's own, nobody guesses."""
    known = better(metric, units.get(metric, ""))
    if known is None and of_commands:
        remedy = 'better = "lower"' if at[1] == "metric" else f'also = {{ {metric} = "lower" }}'
        why = (
            f"neither the unit nor the name of {metric} says which values are better; write {remedy}, "
            'or "higher", or give its rule in extract a unit of time, memory or speed'
        )
        raise MistakeError(at, why)
    return known or "higher"


def _check_gate(until: Until | None, comparison: ComparisonDesign) -> None:
    """Check the gate against what ends a campaign, and against the smallest effect."""
    gate, smallest = comparison.gate_percent, comparison.smallest_effect_percent
    if comparison.smallest_effect is not None and isinstance(until, float):
        at = ("design", "until_width_percent")
        raise MistakeError(at, "is a width of ratios, and smallest_effect compares differences; remove one")
    if gate is None:
        if until == "gate":
            why = 'is "gate", and there is no gate; give one, such as gate_percent = 5 in [comparison]'
            raise MistakeError(("design", "until"), why)
    elif gate < smallest:
        why = (
            f"is {gate:g}, and differences below smallest_effect_percent = {smallest:g} do not interest you;"
            " give a larger gate or a smaller effect"
        )
        raise MistakeError(("comparison", "gate_percent"), why)


def read_rules(key: str, rules: Sequence[Mapping[str, Any]], factors: Factors) -> Rules:
    """Return the rules for which conditions are run, or are not.

    Raises:
        MistakeError: a rule is empty, or names what there is not.
    """
    for index, rule in enumerate(rules):
        if not rule:
            raise MistakeError(("design", key, index), "an empty rule matches everything; name a factor")
    named = levels_by_name(factors)
    return tuple(levels_of(("design", key, index), rule, named) for index, rule in enumerate(rules))


def _reported(index: int, other: Reported, comparison: ComparisonDesign, factors: LevelsByName) -> Reported:
    """Return what others report of the levels that it names."""
    at = ("reported", index)
    level = level_of((*at, "level"), comparison.factor, other.level, factors)
    if comparison.factor in other.where:
        raise MistakeError((*at, "where", comparison.factor), "is the factor compared; say it in level")
    over = None
    if other.over is not None:
        over = level_of((*at, "over"), comparison.factor, other.over, factors)
        if (over, level) not in comparison.rungs():
            why = f"{show(other.over)} is not the level before {show(level)} on one of [comparison] ladders"
            raise MistakeError((*at, "over"), f"{why}; name that, or remove it")
    return other.altered(level=level, over=over, where=levels_of((*at, "where"), other.where, factors))


def _read_chart(index: int, chart: Chart, factors: LevelsByName) -> Chart:
    """Return the chart of that number in the text with the levels that its filter names."""
    at = ("chart", index)
    for axis, shows in AXES[chart.kind].items():
        _check_axis((*at, axis), str(getattr(chart, axis)), shows, factors)
    if len(chart.facet) > _MOST_FACETS:
        raise MistakeError((*at, "facet"), f"has more than {_MOST_FACETS} factors; remove some")
    twice = [factor for factor in chart.facet if chart.facet.count(factor) > 1]
    if twice:
        raise MistakeError((*at, "facet"), f"{twice[0]} is named twice; remove it once")
    for key, factor in (("color", chart.color), *(("facet", name) for name in chart.facet)):
        if factor is not None:
            check_known((*at, key), factor, factors, "factor")
    levels = levels_of((*at, "filter"), chart.filter, factors)
    return chart.altered(filter=levels)


def _check_axis(at: KeyPath, name: str, shows: str, factors: LevelsByName) -> None:
    if shows == "factor":
        check_known(at, name, factors, "factor")
    elif shows == "metric" and name in factors:
        raise MistakeError(at, f"{show(name)} is a factor; name a metric here")
    elif name not in factors and not (re.fullmatch(NAME_PATTERN, name) and len(name) <= 64):
        hint = nearest(name, list(factors))
        why = f"{show(name)} is neither a factor nor a possible name of a metric; {hint}"
        raise MistakeError(at, why)


def _check_validation(index: int, rule: Validation, factors: Factors) -> None:
    for key, factor in (("increases_with", rule.increases_with), ("decreases_with", rule.decreases_with)):
        if factor is not None:
            at = ("validate", index, key)
            check_known(at, factor, factors, "factor")
            if len(factors[factor]) == 1:
                why = f"{factor} has one level, with which nothing can change; name another factor"
                raise MistakeError(at, why)


def check_set(experiment: Experiment) -> None:
    """Check what new values of settings, or new levels of factors, may make wrong.

    Programs that no condition measures may lack what only other levels set.

    Raises:
        MistakeError: a setting comes from two places, a level has no weight, a metric two units, or a
            placeholder no value.
    """
    # A default stands beside the factor that changes it.
    check_changes(experiment.changes, experiment.fixed.keys() - _PROTOCOL_DEFAULTS.keys())
    for factor, weights in experiment.comparison.across.items():
        if weights:
            _check_weights(("comparison", "across", factor), weights, experiment.factors[factor])
    check_units(experiment)
    measured = experiment.subjects()
    programs = {name: program for name, program in experiment.programs.items() if name in measured}
    check_placeholders(experiment.altered(programs=programs))


def check_conditions(experiment: Experiment) -> None:
    """Check what only the conditions as a whole show."""
    count = math.prod(len(levels) for levels in experiment.factors.values())
    most = experiment.design.blocks
    if count * most > MOST_TRIALS:
        why = (
            f"{count:,} combinations of levels, times {most:,} blocks, are more than {MOST_TRIALS:,} trials; "
            "use fewer factors, levels or blocks"
        )
        raise MistakeError(("factors",), why)
    try:
        _check_rules(experiment, ("design", "exclude"))
    except MistakeError:
        if experiment.design.include:  # whose mistake it is where what it leaves lacks the same
            _check_rules(experiment.altered(design={"exclude": ()}), ("design", "include"))
        raise
    for condition in experiment.conditions():
        _check_settings(experiment, condition)
    _check_simulated(experiment)
    factor_of = {
        setting: factor
        for factor, levels in experiment.changes.items()
        for change in levels.values()
        for setting in (*change, *(f"parameters.{name}" for name in change.get("parameters", ())))
    }
    check_perturb(experiment.perturb, [*map(experiment.settings, experiment.conditions())], factor_of)


def _check_simulated(experiment: Experiment) -> None:
    """Check that what is simulated has events, and that what is compared is simulated where its name says so.

    Raises:
        MistakeError: it is not.
    """
    events = experiment.events
    if experiment.simulate.operations and not events:
        why = 'simulates no events; name them: [trial] events = ["instructions"]'
        raise MistakeError(("simulate", "operations"), why)
    none = experiment.simulate.operations == 0
    simulated = {simulated_metric(event) for event in events if not none}
    several = any(experiment.settings(there).get("threads", 1) > 1 for there in experiment.conditions())
    for key, metric in experiment.comparison.metrics:
        if not is_simulated(metric) or (metric in simulated and not several):
            continue
        why = f"no trial simulates {metric}; name its event in [trial] events"
        if metric in simulated:
            why = f"{metric} is simulated for one thread alone, and a condition has more; give threads = 1"
        elif none:
            why = f"no trial simulates {metric}, as [simulate] operations is 0; remove that"
        elif simulated:
            hint = nearest(metric, sorted(simulated))
            why = f"no trial simulates {metric}: its event is not in [trial] events; {hint}"
        raise MistakeError(("comparison", key), why)


def _check_rules(experiment: Experiment, rules: KeyPath) -> None:
    """Check that `include` and `exclude` leave something to compare."""
    conditions = experiment.conditions()
    if not conditions:
        raise MistakeError(rules, "leaves no condition; keep more levels")
    compared = experiment.comparison
    baselines = experiment.baseline_by_context()
    shown = " or ".join(map(show, compared.baselines()))
    if all(
        condition[compared.factor] == baselines.get(experiment.context(condition)) for condition in conditions
    ):
        why = f"leaves nothing to compare with the baseline {shown}; keep another {compared.factor}"
        raise MistakeError(rules, why)
    for condition in conditions:
        if experiment.context(condition) not in baselines:
            rest = {name: level for name, level in condition.items() if name != compared.factor}
            where = ", ".join(f"{name} = {show(level)}" for name, level in rest.items())
            place = f", where {where}; keep it there" if rest else "; keep it"
            why = f"leaves out the baseline, {compared.factor} = {shown}{place}"
            raise MistakeError(rules, why)


def _check_settings(experiment: Experiment, condition: Mapping[str, Level]) -> None:
    """Check the settings of one condition against each other."""
    try:
        settings = experiment.settings(condition)
    except MistakeError as mistake:
        at = origin_of(experiment, condition, "roles")
        raise MistakeError((*at, *mistake.key), mistake.why) from None
    refuse(experiment, condition, _mistakes(experiment, settings))


def _mistakes(experiment: Experiment, settings: Mapping[str, Any]) -> Mistakes:
    """Yield what is wrong with the settings of a condition.

    Raises:
        MistakeError: one is missing.
    """
    subject, fixture = settings.get("subject"), experiment.is_fixture(settings.get("subject", ""))
    if settings["threads"] > MOST_THREADS:
        yield ("roles",), f"the roles have {settings['threads']} threads; give them {MOST_THREADS} at most"
    several = [name for name, program in experiment.programs.items() if program.table == subject]
    if several and subject not in experiment.programs:
        yield ("subject",), f"[subjects.{subject}] describes {listed(several)}; name one of those subjects"
    known = OF_FIXTURES | RUNNER_ONLY_SETTINGS | _PROTOCOL_DEFAULTS.keys()
    for setting in sorted(settings.keys() - known) if fixture else ():
        yield (setting,), f"{subject} is a fixture, which has no {setting}; remove it"
    if why := _missing(experiment, settings):
        raise MistakeError(("trial",), why)
    if flaws := flaws_of(settings):
        yield from _flaw_mistakes(experiment, subject, flaws[0])
    if settings.get("busy_processes") and experiment.design.busy != "count":
        why = 'makes the host busy, which withholds verdicts; write busy = "count" in [design], or remove it'
        yield ("busy_processes",), why
    yield from _filling_mistakes(settings)
    yield from _key_mistakes(settings)


def _missing(experiment: Experiment, settings: Mapping[str, Any]) -> str:
    """Say which setting is missing; "" where none is."""
    subject = settings.get("subject", "")
    required = ["subject", *_DEFAULTS]
    if not experiment.is_fixture(subject) and not experiment.is_command(subject):
        required += ["key_range", *_PROTOCOL_DEFAULTS]
        if "phase" not in settings and not all("mix" in role for role in settings.get("roles", [{}])):
            required.append("mix")
    missing = [setting for setting in required if setting not in settings]
    if not missing:
        return ""
    why = f"{missing[0]} is missing; fix it in [trial] or vary it in [factors]"
    if subject and experiment.programs and subject not in experiment.programs:
        hint = nearest(subject, list(experiment.programs))
        why += f"; or, if {show(subject)} is to be of [subjects], there is none of this name: {hint}"
    if subject in experiment.programs:
        why += f", or write protocol = false in [subjects.{subject}] if it knows nothing of Assay"
    return why


def _flaw_mistakes(experiment: Experiment, subject: str | None, flaw: str) -> Mistakes:
    """Yield that a trial misleads where the experiment does not say that it does so on purpose."""
    if not experiment.pitfall.deliberate:
        lesson = experiment.pitfall.lesson or lesson_of(flaw)
        why = (
            f"{flaw} misleads on purpose, as the lesson {lesson} shows; remove it, or write [pitfall] "
            "deliberate = true"
        )
        yield ("flaws",), why
    elif subject in experiment.programs:
        why = f"{subject} is a program of your own, whose loop has no flaws of ours; remove them"
        yield ("flaws",), why


def _key_mistakes(settings: Mapping[str, Any]) -> Mistakes:
    """Yield what wants more keys than there are."""
    if settings.get("key_range", 0) > largest_key_range(settings):
        why = (
            f"{settings['key_range']} is too large for keys of the type uint32; "
            f"use {largest_key_range(settings)} or less, or the key_type uint64"
        )
        yield ("key_range",), why
    # No range query spans more keys than there are, which "all" says plainly.
    roles = ((("roles", number), role) for number, role in enumerate(settings.get("roles", ())))
    for key, table in ((("range",), settings), *roles):
        length = table.get("range", {}).get("length", 0)
        longest_range = length["to"] if isinstance(length, dict) else length
        if longest_range != "all" and longest_range > settings.get("key_range", longest_range):
            why = (
                f"a range of {longest_range:,} keys is longer than the key_range of"
                f' {settings["key_range"]:,}; shorten it, or write length = "all"'
            )
            yield key, why


_NOT_IN_A_PHASE = ("mix", "roles", "distribution", "range", "arrivals", "warm_up_ms", "flaws")


def _filling_mistakes(settings: Mapping[str, Any]) -> Mistakes:
    """Yield what does not fit what is held at first, or the phase."""
    prefill, phase = settings.get("prefill", {}), settings.get("phase", {})
    for name, table in (("prefill", prefill), ("phase", phase)):
        keys = settings.get("key_range", LARGEST_KEY_RANGE)
        if table.get("size", 0) > keys:
            yield (name,), f"{table['size']:,} keys are more than the key_range of {keys:,}; give fewer"
    if prefill.get("threads", 0) > settings["threads"]:
        yield ("prefill",), f"{prefill['threads']} threads cannot fill it, as there are {settings['threads']}"
    latest = any(
        role.get("distribution", settings.get("distribution", {})).get("kind") == "latest"
        for role in settings.get("roles", ({},))
    )
    if latest and prefill.keys() - {"threads"}:
        why = "the latest keys are drawn, which say what is held at first; leave all but threads out"
        yield ("prefill",), why
    for setting in _NOT_IN_A_PHASE if phase else ():
        if setting in settings:
            yield (setting,), f"a phase ({phase['kind']}) has no {setting}; leave one of them out"
    method = prefill.get("method")
    empty = method == "none" or 0 in (prefill.get("size"), prefill.get("percent"))
    if phase.get("kind") == "load" and prefill and method != "none":
        why = 'a load begins empty; leave prefill out, or grow what it leaves: phase = "grow"'
        yield ("prefill",), why
    if phase.get("kind") == "drain" and empty:
        yield ("phase",), "nothing is held that could be drained; prefill something"


def _check_lesson(lesson: str | None) -> None:
    """Check that readers are sent to a lesson of the course.

    This is not asked of stored experiments: a lesson may be renamed.
    """
    if lesson is not None and lesson not in LESSONS:
        why = f"there is no lesson {show(lesson)}; {nearest(lesson, LESSONS)}"
        raise MistakeError(("pitfall", "lesson"), why)


def filling_the_time(experiment: Experiment) -> Experiment:
    """Return an experiment with a budget of time with more blocks than the time allows.

    Where that would be too many trials, there are as many blocks as there may be.
    """
    minutes = experiment.design.minutes
    assert minutes is not None
    every = [experiment.settings(condition) for condition in experiment.conditions()]
    shortest_s = sum(
        _SHORTEST_COMMAND_S
        if experiment.is_command(settings["subject"])
        else (settings["duration_ms"] + settings.get("warm_up_ms", 0)) / 1000 + _SHORTEST_OVERHEAD_S
        for settings in every
    )
    most = min(math.ceil(60 * minutes / shortest_s), MOST_TRIALS // len(every), _MOST_BLOCKS)
    return experiment.altered(design={"blocks": most})
