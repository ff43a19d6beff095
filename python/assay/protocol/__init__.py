"""The trial protocol: what goes into a trial's process and what comes out, as published JSON Schemas.

`docs/reference/protocol.md` explains it to authors of programs in other languages.
"""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

Message = Literal["trial-request", "trial-result", "calibration-request", "calibration-result"]

_DEEPEST = 100


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    """Check a pattern as JSON Schema means it: Python's `$` would let a line end follow."""
    if isinstance(value, str) and not re.search(re.sub(r"\$\Z", r"\\Z", pattern), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


_Validator: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"pattern": _pattern}
)


@cache
def validator(message: Message) -> Draft202012Validator:
    """Return the validator of one kind of message."""
    text = files(__package__).joinpath(f"{message}.schema.json").read_text(encoding="utf-8")
    return _Validator(json.loads(text))


def parse(message: Message, text: str) -> dict[str, Any]:
    """Parse one message and check it against its schema.

    Raises:
        ValueError: `text` is not JSON (NaN and infinities are not), holds a number that a double cannot or is
            nested too deeply, or does not follow the schema; the message names the place.
    """

    def refuse(constant: str) -> float:
        raise ValueError(f"{constant} is not a JSON number")

    value = json.loads(text, parse_constant=refuse)
    for error in validator(message).iter_errors(value):
        raise ValueError(f"{error.json_path}: {error.message[:300]}")
    _check_keepable(value)
    assert isinstance(value, dict)  # every schema demands an object
    return value


def _check_keepable(value: Any, depth: int = 0) -> None:
    """Refuse what JSON can say but readers cannot hold: numbers such as 1e999, and nesting without end."""
    if depth > _DEEPEST:
        raise ValueError(f"it is nested deeper than {_DEEPEST} levels")
    match value:
        case int() | float():
            if abs(value) > sys.float_info.max:
                raise ValueError("a number in it is larger than a double can be")
        case dict():
            for inner in value.values():
                _check_keepable(inner, depth + 1)
        case list():
            for inner in value:
                _check_keepable(inner, depth + 1)
