"""The text of an experiment's file: where its keys stand, and how a mistake in one of them is explained."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.errors import AssayError
from assay.experiment.lines import KeyPath, Lines
from assay.experiment.schema import Settings
from assay.experiment.tables import Table
from assay.experiment.types import Experiment, Level
from assay.experiment.workload import files_of
from assay.words import counted, nearest, show

_MISTAKES_AT_MOST = 20
AnyTable = TypeVar("AnyTable", bound=Table)


class Source:
    """The text of one file."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self._lines = Lines(text)

    def mistake(self, key: KeyPath, why: str) -> AssayError:
        """Return the error for what is wrong at a key; `why` names the remedy."""
        name = dotted(key)
        return AssayError(f"{self.path}:{self._lines.of(key)}: {name + ': ' if name else ''}{why}")

    def table(self, model: type[AnyTable], value: Any, at: KeyPath, skip: int = 0) -> AnyTable:
        """Validate a table that stands at a key; `skip` leading parts are not in the text.

        Raises:
            AssayError: with every mistake in it.
        """
        try:
            return model.model_validate(value)
        except ValidationError as error:
            mistakes = []
            for each in error.errors(include_url=False)[:_MISTAKES_AT_MOST]:
                key = (*at, *_keys(value, each)[skip:])
                mistakes.append(str(self.mistake(key, _explain(each, dotted(key[:-1])))))
            if error.error_count() > _MISTAKES_AT_MOST:
                more = error.error_count() - _MISTAKES_AT_MOST
                mistakes.append(f"{self.path}: {counted(more, 'more mistake')} of these kinds")
            raise AssayError("\n".join(mistakes)) from None

    def settings(self, value: Any, at: KeyPath, skip: int = 0) -> dict[str, Any]:
        """Return the settings that a table at a key gives, in their long form; files become absolute.

        Raises:
            AssayError: with every mistake in it.
        """
        given = self.table(Settings, value, at, skip).given()
        self.make_absolute(given)
        return given

    def make_absolute(self, settings: Mapping[str, Any]) -> None:
        """Give the files that settings name their absolute paths; they are relative to the text's file."""
        for _, distribution in files_of(settings):
            distribution["file"] = str(self.path.parent.absolute() / distribution["file"])

    def origin(self, experiment: Experiment, condition: Mapping[str, Level], setting: str) -> KeyPath:
        """Return the key that gives a setting its value in a condition."""
        for factor, level in condition.items():
            if setting in experiment.changes[factor][level]:
                named = ("factors", factor, str(level))
                if factor != setting:
                    return (*named, setting)
                listed = ("factors", factor, experiment.factors[factor].index(level))
                return named if self._lines.has(named) else listed
        return ("trial", setting)

    def known(self, key: KeyPath, word: object, known: Iterable[object], what: str) -> None:
        """Refuse a word that is not known."""
        known = list(known)
        if not any(type(each) is type(word) and each == word for each in known):
            raise self.mistake(key, f"{show(word)} is no {what}; {nearest(word, known)}")

    def level(self, key: KeyPath, factor: str, level: Any, factors: Mapping[str, Sequence[Level]]) -> Level:
        """Return the level that is written at a key: 2 and "2" mean the same."""
        by_name = {str(known): known for known in factors[factor]}
        name = str(label_of(level))
        if name not in by_name:
            why = f"{show(level)} is no level of {factor}; {nearest(name, list(by_name))}"
            raise self.mistake(key, why)
        return by_name[name]

    def levels(
        self, at: KeyPath, rule: Mapping[str, Any], factors: Mapping[str, Sequence[Level]]
    ) -> dict[str, tuple[Level, ...]]:
        """Read a rule that names one level, or a list of them, of each of some factors."""
        read = {}
        for factor, levels in rule.items():
            self.known((*at, factor), factor, factors, "factor")
            wanted = levels if isinstance(levels, list | tuple) else [levels]
            if not wanted:
                raise self.mistake((*at, factor), "an empty list matches nothing; name a level")
            read[factor] = tuple(self.level((*at, factor), factor, level, factors) for level in wanted)
        return read


def label_of(value: Any) -> Level:
    """Return the name of a level that is listed by its value."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else value


def dotted(key: KeyPath) -> str:
    """Write a key as TOML does."""
    parts = [part for part in key if isinstance(part, str)]
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else show(part) for part in parts)


_EXPLANATIONS = {
    "missing": "is missing; add it",
    "unknown_key": "unknown key{place}; {hint}",
    "misplaced_key": "{why}",
    "union_tag_not_found": "is missing; add it",
    "union_tag_invalid": '"{tag}" is not one of {expected_tags}',
    "value_error": "{error}",
    "greater_than_equal": "{value} is too small; use {ge} or more",
    "greater_than": "{value} is too small; use more than {gt}",
    "less_than_equal": "{value} is too large; use {le} or less",
    "less_than": "{value} is too large; use less than {lt}",
    "string_pattern_mismatch": "{value} is no name; use small letters, {others}, with a letter first",
    "string_too_short": "is empty; write something in the quotes",
    "string_too_long": "{value} is too long; use at most {max_length} characters",
    "literal_error": "{value} is not one of {expected}",
    "int_type": "{value} is not a whole number; write digits only, without quotes",
    "float_type": "{value} is not a number; write one without quotes",
    "finite_number": "{value} is not a finite number; write one",
    "string_type": '{value} is not a string; write it in quotes: "..."',
    "bool_type": "{value} is neither true nor false; write one of them, without quotes",
    "too_short": "{value} has too few values; write {min_length}",
    "too_long": "{value} has too many values; write {max_length}",
    "tuple_type": "{value} is not a list; write one: [...]",
    "list_type": "{value} is not a list; write one: [...]",
    "dict_type": "{value} is not a table; write one: {{ key = value }}",
    "model_type": "{value} is not a table; write one: {{ key = value }}",
}


def _keys(value: Any, error: ErrorDetails) -> list[str | int]:
    """Return the keys in a value that lead to a mistake; places name choices of the models too."""
    keys: list[str | int] = []
    for part in error["loc"]:
        if isinstance(value, dict):
            inside = part in value
        else:
            inside = isinstance(value, list) and isinstance(part, int)
        if inside:
            keys.append(part)
            value = value[part]
    if error["type"] == "missing":
        keys.append(error["loc"][-1])
    elif error["type"] in {"unknown_key", "misplaced_key"}:
        keys.append(error["ctx"]["key"])
    elif error["type"].startswith("union_tag"):
        keys.append("kind")
    return keys


def _explain(error: ErrorDetails, table: str) -> str:
    """Say in plain words what pydantic found in a table of the text."""
    context = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in error.get("ctx", {}).items()
    }
    place = f" in [{table}]" if table else ""
    others = "digits, _ and -" if "_-" in str(context.get("pattern")) else "digits and _"
    return _EXPLANATIONS[error["type"]].format(
        value=show(error["input"]), place=place, others=others, **context
    )
