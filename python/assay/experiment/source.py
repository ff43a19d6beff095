"""The text of an experiment's file: where its keys stand, and how a mistake in one of them is explained."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.errors import AssayError
from assay.experiment.lines import KeyPath, Lines
from assay.experiment.schema import Table, nearest
from assay.experiment.types import Level

AnyTable = TypeVar("AnyTable", bound=Table)
_NOT_IN_THE_TEXT = {
    "[key]",
    "[table]",
    "[value]",
}  # what pydantic and the schema add to the place of a mistake


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
            for each in error.errors():
                extra = (each["ctx"]["key"],) if each["type"] == "unknown_key" else ()
                inside = (part for part in each["loc"][skip:] if part not in _NOT_IN_THE_TEXT)
                key = (*at, *inside)
                mistakes.append(str(self.mistake((*key, *extra), _explain(each, dotted(key)))))
            raise AssayError("\n".join(mistakes)) from None

    def known(self, key: KeyPath, word: object, known: Iterable[object], what: str) -> None:
        """Refuse a word that is not known."""
        known = list(known)
        if not any(type(each) is type(word) and each == word for each in known):
            raise self.mistake(key, f"{show(word)} is no {what}; {nearest(word, known)}")

    def level(self, key: KeyPath, factor: str, level: Any, factors: Mapping[str, Sequence[Level]]) -> Level:
        """Return what is written at a key as a level of a factor."""
        self.known(key, level, factors[factor], f"level of {factor}")
        return level  # type: ignore[no-any-return]  # it equals one of the factor's

    def levels(
        self, at: KeyPath, rule: Mapping[str, Any], factors: Mapping[str, Sequence[Level]]
    ) -> dict[str, tuple[Level, ...]]:
        """Read a rule that names one level, or a list of them, of each of some factors."""
        read = {}
        for factor, levels in rule.items():
            self.known((*at, factor), factor, factors, "factor")
            wanted = levels if isinstance(levels, list) else [levels]
            if not wanted:
                raise self.mistake((*at, factor), "an empty list matches nothing; name a level")
            read[factor] = tuple(self.level((*at, factor), factor, level, factors) for level in wanted)
        return read


def dotted(key: KeyPath) -> str:
    """Write a key as TOML does."""
    parts = [part for part in key if isinstance(part, str)]
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else show(part) for part in parts)


def show(value: Any) -> str:
    """Write a value much as TOML does, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str))


def shortened(text: str) -> str:
    """Return the start of a text that may be long."""
    return text if len(text) <= 60 else f"{text[:60]}..."


_EXPLANATIONS = {
    "missing": "is missing; add it",
    "unknown_key": "unknown key{place}; {hint}",
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
    "list_type": "{value} is not a list; write one: [...]",
    "dict_type": "{value} is not a table; write one: {{ key = value }}",
    "model_type": "{value} is not a table; write one: {{ key = value }}",
}


def _explain(error: ErrorDetails, table: str) -> str:
    """Say in plain words what pydantic found in a table of the text."""
    context = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in error.get("ctx", {}).items()
    }
    others = "digits, _ and -" if "_-" in str(context.get("pattern")) else "digits and _"
    place = f" in [{table}]" if table else ""
    return _EXPLANATIONS[error["type"]].format(
        value=show(error["input"]), place=place, others=others, **context
    )
