"""Reads [factors]: what each level of each factor changes."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from assay.experiment.lines import KeyPath
from assay.experiment.mistakes import Key, LevelKey, MistakeError, check_known, validated
from assay.experiment.settings import Settings
from assay.experiment.tables import NAME_PATTERN
from assay.experiment.types import Experiment, Level
from assay.words import listed, nearest, show

Changes = dict[str, dict[Level, dict[str, Any]]]
Factors = Mapping[str, Sequence[Level]]
LevelsByName = Mapping[str, Mapping[str, Level]]
"""Factor -> name of a level -> the level, so that each of many rules finds its levels at once."""
Mistakes = Iterator[tuple[tuple[str | int, ...], str]]
"""The setting of each mistake, with the key inside it where there is one, and why, with a remedy."""


def read_factors(factors: Mapping[str, Any], fixed: Collection[str]) -> Changes:
    """Return factor -> level -> the settings that the level changes.

    Args:
        factors: the table [factors].
        fixed: the settings that [trial] names.

    Raises:
        MistakeError: there is a mistake in it.
    """
    if not factors:
        raise MistakeError(("factors",), "at least one factor is needed")
    changes = {name: _factor(name, levels) for name, levels in factors.items()}
    check_changes(changes, fixed)
    return changes


def _factor(name: str, levels: Any) -> dict[Level, dict[str, Any]]:
    """Read one factor as level -> the settings that it changes."""
    at = ("factors", name)
    if not re.fullmatch(NAME_PATTERN, name):
        raise MistakeError(at, "is not a name; use lower-case letters, digits and _, with a letter first")
    if not isinstance(levels, list | dict):
        raise MistakeError(at, f"{show(levels)} is neither a list of levels nor a table of named ones")
    if not levels:
        raise MistakeError(at, "has no levels; give at least one")
    is_setting = name in Settings.model_fields
    if isinstance(levels, list):
        if not is_setting:
            hint = nearest(name, Settings.known_keys())
            why = (
                f"is not a setting of a trial ({hint}), so it needs named levels, "
                "each a table of the settings that it changes: a = {}, b = { key_range = 100 }"
            )
            raise MistakeError(at, why)
        return _listed(name, levels)
    named: dict[str, dict[str, Any]] = {}
    for label, value in levels.items():
        if not (label.strip() and label.isprintable()):
            raise MistakeError(
                (*at, label), f"{show(label)} cannot be the name of a level; write one that can be read"
            )
        if is_setting:
            named[label] = _settings({name: value}, (*at, label), skip=1)
        else:
            named[label] = _settings(value, (*at, label))
    numbers = [number for label in named if (number := _number(label)) is not None]
    names: list[Level] = [*numbers] if len(numbers) == len(named) else [*named]
    return dict(zip(names, named.values(), strict=True))


def _number(label: str) -> int | float | None:
    """Return the number that a level's name is, as it is written where it is a value; or None."""
    if not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", label):
        return None
    number = float(label) if "." in label else int(label)
    return number if str(number) == label else None


def _listed(name: str, levels: list[Any]) -> dict[Level, dict[str, Any]]:
    """Read a factor that lists the values of a setting; each value is its own label."""
    changes: dict[Level, dict[str, Any]] = {}
    for index, value in enumerate(levels):
        at = ("factors", name, index)
        has_tables = isinstance(value, list) and any(isinstance(element, dict) for element in value)
        if isinstance(value, dict) or has_tables:
            raise MistakeError(at, f"give each {name} a name: [factors.{name}], then NAME = {{ ... }}")
        settings = _settings({name: value}, at, skip=1)
        label = label_of(value)
        if label in changes:
            raise MistakeError(at, f"the level {show(value)} is given twice")
        changes[label] = settings
    return changes


def check_changes(changes: Changes, fixed: Collection[str]) -> None:
    """Check what the levels of all factors change; `fixed` is that of `read_factors`.

    Raises:
        MistakeError: a setting comes from two places, or a level changes another setting than its factor,
            or to another number than its name says.
    """
    _refuse_two_sources(changes, fixed)
    for factor in changes.keys() & Settings.model_fields.keys():
        for level, settings in changes[factor].items():
            at = ("factors", factor, str(level))
            if settings.keys() != {factor}:
                changed = listed(sorted(settings)) or "nothing"
                raise MistakeError(at, f"changes {changed}; a level of a setting changes that alone")
            value = settings[factor]
            if not isinstance(level, str) and isinstance(value, int | float) and value != level:
                raise MistakeError(at, f"is called {level} and is {value}; give it the name of its value")


def _refuse_two_sources(changes: Changes, fixed: Collection[str]) -> None:
    """Refuse a setting that is both fixed and a factor, or a setting or parameter that two factors change."""
    changed_by: dict[tuple[str, ...], str] = {}
    for factor, levels in changes.items():
        if factor in fixed:
            raise MistakeError(("trial", factor), "is both fixed here and a factor; remove one of them")
        for level, settings in levels.items():
            parameters = settings.get("parameters", {})
            changed = [(name,) for name in settings if name != "parameters"]
            for key in (*changed, *(("parameters", name) for name in parameters)):
                other = changed_by.setdefault(key, factor)
                if other != factor:
                    why = f"{key[-1]} is changed by the factor {other} too; one factor may change it"
                    raise MistakeError(("factors", factor, str(level), *key), why)


def _settings(value: Any, at: KeyPath, skip: int = 0) -> dict[str, Any]:
    return validated(Settings, value, at, skip).given()


def label_of(value: Any) -> Level:
    """Return the name of a level that is listed by its value."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else value


def levels_by_name(factors: Factors) -> LevelsByName:
    """Return the levels of each factor by their names."""
    return {factor: {str(level): level for level in levels} for factor, levels in factors.items()}


def level_of(key: KeyPath, factor: str, level: Any, factors: LevelsByName) -> Level:
    """Return the level that is written at a key: 2 and "2" mean the same."""
    by_name = factors[factor]
    name = str(label_of(level))
    if name not in by_name:
        raise MistakeError(key, f"{show(level)} is not a level of {factor}; {nearest(name, list(by_name))}")
    return by_name[name]


def levels_of(at: KeyPath, rule: Mapping[str, Any], factors: LevelsByName) -> dict[str, tuple[Level, ...]]:
    """Read a rule that names one level, or a list of them, of each of some factors."""
    named = {}
    for factor, levels in rule.items():
        key = (*at, factor)
        check_known(key, factor, factors, "factor")
        wanted = levels if isinstance(levels, list | tuple) else [levels]
        if not wanted:
            raise MistakeError(key, "an empty list matches nothing; name a level")
        named[factor] = tuple(level_of(key, factor, level, factors) for level in wanted)
    return named


def origin_of(experiment: Experiment, condition: Mapping[str, Level], setting: str) -> Key:
    """Return the key that gives a setting its value in a condition."""
    for factor, level in condition.items():
        if setting in experiment.changes[factor][level]:
            key = ("factors", factor, LevelKey(str(level), experiment.factors[factor].index(level)))
            return key if factor == setting else (*key, setting)
    return ("trial", setting)


def refuse(experiment: Experiment, condition: Mapping[str, Level], mistakes: Mistakes) -> None:
    """Raise the first of some mistakes in the settings of a condition, at the key that gives the setting."""
    for (setting, *inside), why in mistakes:
        raise MistakeError((*origin_of(experiment, condition, str(setting)), *inside), why)
