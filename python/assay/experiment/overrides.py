"""What a command line changes of an experiment: `assay run x.toml --blocks 4 --only threads=1,2`."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import AssayError
from assay.experiment.empirical import read_digests
from assay.experiment.factors import label_of, level_of, levels_by_name
from assay.experiment.mistakes import MistakeError, check_known, dotted, placed, validated
from assay.experiment.read import check_conditions, check_set, filling_the_time, read_rules
from assay.experiment.settings import Settings
from assay.experiment.types import Design, Experiment, Level
from assay.experiment.workload import files_of
from assay.words import nearest, show

_OPTIONS = {"blocks": "--blocks", "minutes": "--within", "seed": "--seed"}


def overridden(
    experiment: Experiment,
    *,
    blocks: int | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    only: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> Experiment:
    """Return an experiment with what the options of a command line change; `overrides` of it lists them.

    Args:
        experiment: as its file has it.
        blocks: as `blocks = N` in the file, alone or with `minutes`.
        minutes: as `minutes = M` in the file.
        seed: as in the file.
        only: FACTOR=LEVEL or FACTOR=LEVEL,LEVEL of each factor of which only these levels are run.
        settings: NAME=VALUE or NAME=VALUE,VALUE of settings, or of factors with the levels that they get;
            include=RULES and exclude=RULES in place of those of the file.

    Raises:
        AssayError: a factor, a level or a value is not possible, or nothing is left to compare.
    """
    within = None
    if minutes is not None:
        within = f"{60 * minutes:g}s" if minutes % 1 else f"{minutes:g}m"
    options = {"--blocks": blocks, "--within": within, "--seed": seed}
    given = [f"{option} {value}" for option, value in options.items() if value is not None]
    given += [f"--set {rule}" for rule in settings] + [f"--only {rule}" for rule in only]
    if not given:
        return experiment
    design = experiment.design
    fills_the_time = design.minutes is not None and filling_the_time(experiment) == experiment
    if minutes is not None or blocks is not None:
        design = design.exactly(blocks or 1, minutes)
        fills_the_time = minutes is not None and blocks is None
    if seed is not None:
        design = design.altered(seed=seed)
    result = experiment.altered(design=design, overrides=(*experiment.overrides, *given))
    for rule in settings:
        try:
            result = _set(result, rule)
        except MistakeError as mistake:
            inside = dotted(tuple(part for part in mistake.key if isinstance(part, str)))
            raise AssayError(f"--set {rule}: {inside}{': ' * bool(inside)}{mistake.why}") from None
    result = _only(result, only)
    try:
        check_conditions(result)
        if settings:
            check_set(result)
            result = result.altered(digests=read_digests(result))
    except MistakeError as mistake:
        where = placed(mistake, result.origin[2])
        raise AssayError(where or f"{' '.join(given)}: {mistake.why}") from None
    return filling_the_time(result) if fills_the_time else result


def _set(experiment: Experiment, rule: str) -> Experiment:
    """Return an experiment with other values of a setting, or other levels of a factor."""
    name, _, text = rule.partition("=")
    name, words = name.strip(), _words(text)
    if name in {"include", "exclude"}:
        return _set_rules(experiment, name, text)
    known = list(dict.fromkeys([*experiment.changes, *Settings.known_keys()]))
    if name in _OPTIONS:
        raise MistakeError((), f"{name} is not a setting of a trial; use {_OPTIONS[name]}")
    if name not in known:
        why = f"{show(name)} is neither a factor nor a setting of a trial; {nearest(name, known)}"
        raise MistakeError((), why)
    if not all(words):
        raise MistakeError((), "a value is missing; write NAME=VALUE, or NAME=VALUE,VALUE for several")
    if name in experiment.changes or len(words) > 1:
        return _set_levels(experiment, name, words)
    return _set_setting(experiment, name, words[0])


def _set_rules(experiment: Experiment, name: str, text: str) -> Experiment:
    """Return an experiment with other rules for which conditions are run."""
    rules = validated(Design, {name: _value(text)}, skip=1)
    read = read_rules(name, getattr(rules, name), experiment.factors)
    return experiment.altered(design={name: read})


def _set_setting(experiment: Experiment, name: str, word: str) -> Experiment:
    """Return an experiment with a setting fixed to a value."""
    for factor, levels in experiment.changes.items():
        if all(name in change for change in levels.values()):
            why = (
                f"every level of the factor {factor} changes {name}; choose among them: --only {factor}=LEVEL"
            )
            raise MistakeError((), why)
    return experiment.altered(fixed=experiment.fixed | _settings(experiment, name, _value(word)))


def _set_levels(experiment: Experiment, factor: str, words: Sequence[str]) -> Experiment:
    """Return an experiment with other levels of a factor, or with a setting made a factor.

    A level that the factor has stays as it is. A value that is a table gives its text as the level's name.
    """
    held = experiment.changes.get(factor, {})
    levels: dict[Level, dict[str, Any]] = {}
    for word in words:
        value = _value(word)
        try:
            level = level_of((), factor, word, levels_by_name({factor: tuple(held)}))
            change = held[level]
        except MistakeError:
            tables = any(isinstance(change.get(factor), dict) for change in held.values())
            if factor not in Settings.model_fields or (tables and not isinstance(value, dict)):
                raise
            change = _settings(experiment, factor, value)
            level = word if isinstance(value, dict) else label_of(value)
        if level in levels:
            raise MistakeError((), f"the level {show(level)} is given twice")
        levels[level] = change
    update: dict[str, Any] = {
        "changes": experiment.changes | {factor: levels},
        "fixed": {name: value for name, value in experiment.fixed.items() if name != factor},
    }
    comparison = experiment.comparison
    if factor == comparison.factor and levels.keys().isdisjoint(comparison.baselines()):
        update["comparison"] = {"baseline": next(iter(levels)), "stand_ins": ()}
    return experiment.altered(**update)


def _settings(experiment: Experiment, name: str, value: Any) -> dict[str, Any]:
    """Return a setting as the text of the experiment's file would give it."""
    settings = validated(Settings, {name: value}, skip=1).given()
    for _, distribution in files_of(settings):
        distribution["file"] = str(experiment.folder / distribution["file"])
    return settings


def _words(text: str) -> list[str]:
    """Return what stands between commas, but for those in brackets and quotes."""
    words, depth, quote = [""], 0, ""
    for char in text:
        if char == "," and not depth and not quote:
            words.append("")
            continue
        words[-1] += char
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "[{") - (char in "]}")
    return [word.strip() for word in words]


def _value(word: str) -> Any:
    """Return the value that a word is in TOML, whole numbers also as 1e6; else the word as a string."""
    try:
        value = tomllib.loads(f"value = {word}")["value"]
    except (ValueError, RecursionError):
        return word
    return int(value) if isinstance(value, float) and value.is_integer() and "." not in word else value


def _only(experiment: Experiment, only: Sequence[str]) -> Experiment:
    """Return an experiment of these levels alone, with the charts that show any of them."""
    named: dict[str, tuple[Level, ...]] = {}
    for rule in only:
        try:
            factor, levels = _levels(rule, experiment.factors)
        except MistakeError as mistake:
            raise AssayError(f"--only {rule}: {mistake.why}") from None
        named[factor] = (*named.get(factor, ()), *levels)
    kept = experiment.factors | named
    changes = {
        factor: {level: change for level, change in levels.items() if level in kept[factor]}
        for factor, levels in experiment.changes.items()
    }
    charts = tuple(
        chart
        for chart in experiment.charts
        if all(set(levels) & set(kept[factor]) for factor, levels in chart.filter.items())
    )
    return experiment.altered(changes=changes, charts=charts)


def _levels(rule: str, factors: Mapping[str, Sequence[Level]]) -> tuple[str, list[Level]]:
    """Return the factor and the levels that a rule names; spaces around a name do not count."""
    factor, equals, words = rule.partition("=")
    if not equals:
        raise MistakeError((), "write FACTOR=LEVEL, or FACTOR=LEVEL,LEVEL for several")
    factor = factor.strip()
    check_known((), factor, factors, "factor")
    # The name of a level may itself hold a comma, or a space at an end.
    is_name = words in map(str, factors[factor])
    levels = [words] if is_name else [level.strip() for level in words.split(",")]
    named = levels_by_name({factor: factors[factor]})
    return factor, [level_of((), factor, level, named) for level in levels]
