"""How a mistake in an experiment is explained: its key and why; `located` adds the file and the line."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.errors import AssayError
from assay.experiment.lines import KeyPath, Lines
from assay.experiment.tables import Table
from assay.words import counted, nearest, show

_MISTAKES_AT_MOST = 20
AnyTable = TypeVar("AnyTable", bound=Table)


class LevelKey(NamedTuple):
    """The key of a level: its name or, where the text lists the levels of its factor, its number."""

    name: str
    number: int


Key = Sequence[str | int | LevelKey]


class MistakeError(Exception):
    """What is wrong at a key of an experiment, with a remedy.

    Attributes:
        key: where it is.
        why: what is wrong there, and the remedy.
        more: further mistakes of the same kind.
    """

    def __init__(self, key: Key, why: str, more: "Sequence[MistakeError]" = ()) -> None:
        super().__init__(why)
        self.key = key
        self.why = why
        self.more = more


@contextmanager
def located(path: Path | None, text: str | None, options: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn a mistake in an experiment into the error that a user reads.

    Args:
        path: of its file; None where a command made it, and the user has no file.
        text: of its file; None where it is not known.
        options: setting or factor -> the option of the command line that gave it.

    Raises:
        AssayError: there was one; it names file, line and key of each.
    """
    try:
        yield
    except RecursionError as error:
        why = "its values are nested too deeply; no experiment needs that"
        raise AssayError(f"{path}: {why}" if path else why) from error
    except MistakeError as error:
        lines = Lines(text or "")
        texts = []
        for mistake in (error, *error.more):
            key = _written(mistake.key, lines)
            place = f"{path}:{lines.of(key)}" if path and text is not None else str(path or "")
            explained = ": ".join(filter(None, [place, dotted(key), mistake.why]))
            texts.append(placed(mistake, options or {}) or explained)
        raise AssayError("\n".join(texts)) from error


def placed(mistake: MistakeError, options: Mapping[str, str]) -> str:
    """Return the text of a mistake in what an option gave; empty where none did."""
    table, name, *_ = (*mistake.key, "", "")
    option = options.get(str(name)) if table in ("trial", "factors") else None
    return f"{option}: {mistake.why}" if option else ""


def _written(key: Key, lines: Lines) -> KeyPath:
    """Return a key as the text has it."""
    path: KeyPath = ()
    for part in key:
        if isinstance(part, LevelKey):
            path = listed if lines.has(listed := (*path, part.number)) else (*path, part.name)
        else:
            path = (*path, part)
    return path


def validated(model: type[AnyTable], value: Any, at: KeyPath = (), skip: int = 0) -> AnyTable:
    """Return the table that stands at a key; `skip` leading parts are not in the text.

    Raises:
        MistakeError: with every mistake in it.
    """
    try:
        return model.model_validate(value, context={"file": True})
    except ValidationError as error:
        raise mistake_of(error, value, at, skip) from None


def mistake_of(error: ValidationError, value: Any, at: KeyPath = (), skip: int = 0) -> MistakeError:
    """Return what is wrong in a value at a key, in plain words; `skip` is that of `validated`."""
    explained: dict[KeyPath, str] = {}
    every = iter(error.errors(include_url=False))
    while len(explained) < _MISTAKES_AT_MOST and (details := next(every, None)):
        key = (*at, *_keys(value, details)[skip:])
        explained.setdefault(key, _explain(details, dotted(key[:-1])))  # of choices, the first
    mistakes = [MistakeError(key, why) for key, why in explained.items()]
    more = list(every)
    if more:
        mistakes.append(MistakeError(at, f"{counted(more, 'more mistake')} of these kinds"))
    return MistakeError(mistakes[0].key, mistakes[0].why, mistakes[1:])


def check_known(key: KeyPath, word: object, known: Iterable[object], what: str) -> None:
    """Refuse a word that is not known."""
    known = list(known)
    if (type(word), word) not in ((type(name), name) for name in known):
        raise MistakeError(key, f"{show(word)} is not a {what}; {nearest(word, known)}")


def dotted(key: Key) -> str:
    """Write a key as TOML does."""
    parts = [part.name if isinstance(part, LevelKey) else part for part in key if not isinstance(part, int)]
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else show(part) for part in parts)


_EXPLANATIONS = {
    "missing": "is missing; add it",
    "unknown_key": "unknown key{place}; {hint}",
    "extra_forbidden": "unknown key{place}; remove it",
    "misplaced_key": "{why}",
    "union_tag_not_found": "is missing; add it",
    "union_tag_invalid": '"{tag}" is not possible; write one of {expected_tags}',
    "value_error": "{error}",
    "greater_than_equal": "{value} is too small; use {ge} or more",
    "greater_than": "{value} is too small; use more than {gt}",
    "less_than_equal": "{value} is too large; use {le} or less",
    "less_than": "{value} is too large; use less than {lt}",
    "string_pattern_mismatch": "{value} is not a name; use lower-case letters, {others}, with a letter first",
    "string_too_short": "is empty; write something in the quotes",
    "string_too_long": "{value} is too long; use at most {max_length} characters",
    "literal_error": "{value} is not possible; write {expected}",
    "int_type": "{value} is not a whole number; write digits only, without quotes",
    "float_type": "{value} is not a number; write one without quotes",
    "finite_number": "{value} is not a finite number; write one",
    "string_type": '{value} is not a string; write it in quotes: "..."',
    "bool_type": "{value} is neither true nor false; write one of them, without quotes",
    "too_short": "{value} has too few values; write at least {min_length}",
    "too_long": "{value} has too many values; write at most {max_length}",
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
            inside = isinstance(value, list) and isinstance(part, int) and part < len(value)
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
        name: f"{value:,.15g}" if isinstance(value, int | float) else value
        for name, value in error.get("ctx", {}).items()
    }
    for choices in {"expected", "expected_tags"} & context.keys():
        context[choices] = str(context[choices]).replace("'", '"')  # as TOML quotes
    place = f" in [{table}]" if table else ""
    others = "digits, _ and -" if "_-" in str(context.get("pattern")) else "digits and _"
    explanation = _EXPLANATIONS.get(error["type"])
    if explanation is None:
        return f"{show(error['input'])} is not possible: {error['msg']}"
    return explanation.format(value=show(error["input"]), place=place, others=others, **context)
