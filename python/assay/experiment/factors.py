"""Reads [factors]: what each level of each factor changes."""

import re
from collections.abc import Mapping
from typing import Any

from assay.experiment.schema import Settings
from assay.experiment.source import Source, label_of
from assay.experiment.tables import NAME_PATTERN
from assay.experiment.types import Level
from assay.words import nearest, show

Changes = dict[str, dict[Level, dict[str, Any]]]


def read_factors(source: Source, factors: Mapping[str, Any], fixed: Mapping[str, Any]) -> Changes:
    """Return factor -> level -> the settings that the level changes.

    Args:
        source: the file's text.
        factors: the table [factors].
        fixed: the settings that [trial] names.

    Raises:
        AssayError: there is a mistake in it.
    """
    if not factors:
        raise source.mistake(("factors",), "at least one factor is needed")
    changes = {name: _factor(source, name, levels) for name, levels in factors.items()}
    _refuse_two_sources(source, changes, fixed)
    return changes


def _factor(source: Source, name: str, levels: Any) -> dict[Level, dict[str, Any]]:
    """Read one factor as level -> the settings that it changes."""
    at = ("factors", name)
    if not re.fullmatch(NAME_PATTERN, name):
        raise source.mistake(at, "is no name; use small letters, digits and _, with a letter first")
    if not isinstance(levels, list | dict):
        raise source.mistake(at, f"{show(levels)} is neither a list of levels nor a table of named ones")
    if not levels:
        raise source.mistake(at, "has no levels; give at least one")
    is_setting = name in Settings.model_fields
    if isinstance(levels, list):
        if not is_setting:
            hint = nearest(name, Settings.known_keys())
            why = (
                f"is no setting of a trial ({hint}), so it needs named levels, "
                "each a table of the settings that it changes: a = {}, b = { key_range = 100 }"
            )
            raise source.mistake(at, why)
        return _listed(source, name, levels)
    read: dict[str, dict[str, Any]] = {}
    for label, value in levels.items():
        if not (label.strip() and label.isprintable()):
            raise source.mistake((*at, label), f"{show(label)} is no name for a level")
        if is_setting:
            read[label] = source.settings({name: value}, (*at, label), skip=1)
        else:
            read[label] = source.settings(value, (*at, label))
    numbers = [number for label in read if (number := _number(label)) is not None]
    names: list[Level] = [*numbers] if len(numbers) == len(read) else [*read]
    return dict(zip(names, read.values(), strict=True))


def _number(label: str) -> int | float | None:
    """Return the number that a level's name is, as it is written where it is a value; or None."""
    if not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", label):
        return None
    number = float(label) if "." in label else int(label)
    return number if str(number) == label else None


def _listed(source: Source, name: str, levels: list[Any]) -> dict[Level, dict[str, Any]]:
    """Read a factor that lists the values of a setting; each value is its own label."""
    read: dict[Level, dict[str, Any]] = {}
    for index, value in enumerate(levels):
        at = ("factors", name, index)
        has_tables = isinstance(value, list) and any(isinstance(each, dict) for each in value)
        if isinstance(value, dict) or has_tables:
            raise source.mistake(at, f"give each {name} a name: [factors.{name}], then NAME = {{ ... }}")
        settings = source.settings({name: value}, at, skip=1)
        label = label_of(value)
        if label in read:
            raise source.mistake(at, f"the level {show(value)} is given twice")
        read[label] = settings
    return read


def _refuse_two_sources(source: Source, changes: Changes, fixed: Mapping[str, Any]) -> None:
    """Refuse a setting that is both fixed and a factor, or a setting or parameter that two factors change."""
    changed_by: dict[tuple[str, ...], str] = {}
    for factor, levels in changes.items():
        if factor in fixed:
            raise source.mistake(("trial", factor), "is both fixed here and a factor; remove one of them")
        for level, settings in levels.items():
            parameters = settings.get("parameters", {})
            changed = [(name,) for name in settings if name != "parameters"]
            for key in (*changed, *(("parameters", name) for name in parameters)):
                other = changed_by.setdefault(key, factor)
                if other != factor:
                    why = f"{key[-1]} is changed by the factor {other} too; one factor may change it"
                    raise source.mistake(("factors", factor, str(level), *key), why)
