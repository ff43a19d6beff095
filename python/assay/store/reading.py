"""Reads the rows of a store, which may be damaged: every value is checked before it is returned."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json as from_plain_json

from assay.errors import AssayError
from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store.types import CampaignSummary, Decision, Imported, Number, StoredTrial
from assay.words import shortened


class UnreadableError(AssayError):
    """A campaign's experiment cannot be read: another tool or another version of Assay wrote it."""


class DamagedError(UnreadableError):
    """A campaign has a row that is not as Assay writes it.

    Attributes:
        reason: the row, and what is wrong with it.
    """

    def __init__(self, campaign: int, reason: str) -> None:
        super().__init__(
            f"campaign {campaign} is damaged: {reason}; `assay store check` names all that is damaged, and"
            f" `assay store remove {campaign}` takes the campaign out of the store"
        )
        self.reason = reason


@dataclass(frozen=True)
class Unfit:
    """A placeholder for a value that cannot be read."""

    reason: str

    def __repr__(self) -> str:
        """Return the reason, which is then part of pydantic's message."""
        return self.reason


_BEYOND = re.compile(r"\d{299}")
_LARGE = re.compile(r"e[+\d]\d")
"""A number that a double cannot express has such digits or such an exponent; text may have them, too."""


def from_json(text: Any) -> Any:
    """Return the value of a JSON text; `Unfit` if it is not JSON, or has a number that is not finite."""
    try:  # what this quick reader refuses, the others name or accept; `suppress` would take as long
        if not (_LARGE.search(text) or "E" in text or _may_be_beyond(text)):
            return from_plain_json(text, allow_inf_nan=False)
    except (TypeError, ValueError):
        pass
    try:
        return (_SLOW_DECODER if _BEYOND.search(text) else _DECODER).decode(text)
    except (TypeError, ValueError, RecursionError) as error:
        return Unfit(f"not JSON ({error})")


def _may_be_beyond(text: str) -> bool:
    """Return whether `_BEYOND` may be found, which takes 50 times as long: 299 digits fill such a part."""
    return len(text) >= 299 and any(text[at : at + 149].isdigit() for at in range(0, len(text), 149))


def _finite(text: str) -> float:
    if (value := float(text)) - value != 0:
        _refused(text)
    return value


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _refused(text: str) -> NoReturn:
    raise ValueError(f"{shortened(text)} is not a finite number")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refused)
_SLOW_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refused, parse_int=_whole)


@dataclass
class _Commit:
    hash: str
    subject: str
    committed_at: datetime
    changed: list[str]


@dataclass
class _Host:
    """The parts of a campaign's host that are read."""

    name: str = ""
    processors: int = 0
    kernel: str = ""
    subjects: Mapping[str, str] = field(default_factory=dict)
    reclaims: Mapping[str, str] = field(default_factory=dict)
    one_layout: Mapping[str, Any] = field(default_factory=dict)
    commit: _Commit | None = None
    foreign: Imported | None = None


@dataclass
class _Result:
    """The parts of a trial's result that are read separately."""

    metrics: Mapping[str, Number] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    threads: list[Mapping[str, Any]] = field(default_factory=list)
    environment: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class _Verdict:
    metric: str
    context: str
    level: str
    baseline: str
    verdict: str
    ratio: Number | None


PLANNED = TypeAdapter(PlannedTrial)
TRIAL = TypeAdapter(StoredTrial)
TRIALS = TypeAdapter(list[StoredTrial])
DECISION = TypeAdapter(Decision)
SUMMARY = TypeAdapter(CampaignSummary)
OUTCOME = TypeAdapter(Outcome)
OBJECT = TypeAdapter(dict[str, Any])
TEXT = TypeAdapter(str)
HOST = TypeAdapter(_Host)
_RESULT = TypeAdapter(_Result)
VERDICTS = TypeAdapter(list[_Verdict])
FINDINGS = TypeAdapter(list[dict[str, Any]])


def check_result(result: Any) -> None:
    """Check the parts of a trial's result that are read, if it has one.

    Other keys are not checked: pydantic refuses halves of surrogate pairs, which programs may print there.

    Raises:
        ValidationError: it is not as Assay writes it.
    """
    if result is not None:
        known = OBJECT.validate_python(result).keys() & _Result.__dataclass_fields__.keys()
        _RESULT.validate_python({name: result[name] for name in known})


def reason_of(error: ValidationError) -> str:
    """Return why a row is damaged: the place and the error."""
    first = error.errors(include_url=False)[0]
    value = first["input"]
    place = ".".join(map(str, first["loc"]))
    what = str(value) if isinstance(value, Unfit) else f"{shortened(repr(value))} ({first['msg']})"
    return f"{place} is {what}" if place else f"it is {what}"


@contextmanager
def row_of(campaign: int, row: str) -> Iterator[None]:
    """Turn a validation error into a DamagedError that names the campaign and the row."""
    try:
        yield
    except ValidationError as error:
        raise DamagedError(campaign, f"{row}: {reason_of(error)}") from error
