"""A JSON text and the places in it, so that an error names file, place, mistake and remedy."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from assay.errors import AssayError
from assay.foreign.types import Fact
from assay.words import shortened, show, storable

AGAIN = "let the tool write the file again"

_GZIP = b"\x1f\x8b"
"""The bytes with which a compressed file begins."""

LARGEST = 1e150
"""Numbers up to it can be multiplied by units and each other; no time, rate or size is larger."""


class ForeignError(AssayError):
    """A file of another tool cannot be read; the message names file, place, mistake and remedy."""


def fail(source: str, place: str, mistake: str, remedy: str = AGAIN) -> NoReturn:
    """Raise the error of a place in a file."""
    raise ForeignError(storable(f"{source}: {f'{place}: ' if place else ''}{mistake}; {remedy}"))


def text_of(file: Path) -> str:
    """Return the text of a file, which may be compressed as gzip does.

    Raises:
        ForeignError: it cannot be read.
    """
    try:
        content = file.read_bytes()
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except (EOFError, zlib.error, gzip.BadGzipFile):
        fail(str(file), "", "is compressed, and cut off or damaged", f"{AGAIN}, or unpack it with gunzip")
    except UnicodeDecodeError:
        fail(str(file), "", "is not text in UTF-8", "import the text that the tool wrote, or its .gz")
    except OSError as error:
        fail(str(file), "", f"cannot be read ({error.strerror})", "check its permissions")


def parse(text: str, source: str) -> "Place":
    """Return the whole of a JSON text.

    Raises:
        ForeignError: it is not JSON, or is cut off.
    """
    try:
        return Place(source, "", json.loads(_whole_characters(text)))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        if not text.strip():
            fail(source, "", "is empty")
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            fail(source, place, "the JSON is cut off here", f"{AGAIN}, and wait until it has ended")
        fail(source, place, f"is not JSON ({error.msg})", f"{AGAIN}, as JSON and nothing else")
    except ValueError:  # Python makes no whole number of more than 4,300 digits
        fail(source, "", "holds a number of thousands of digits, which no time, rate or size can be")
    except RecursionError:
        fail(source, "", "its JSON is nested too deeply for any result")


def _whole_characters(text: str) -> str:
    """Return a JSON text without halves of surrogate pairs, which no store and no page can hold."""
    if "\\ud" not in text.lower():
        return text
    return json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace").decode()


@dataclass(frozen=True)
class Place:
    """A value in a JSON text.

    Attributes:
        source: what the text is called, for errors.
        path: where the value stands, such as `benchmarks[3].real_time`.
    """

    source: str
    path: str
    value: Any

    def fail(self, mistake: str, remedy: str = AGAIN) -> NoReturn:
        """Raise the error of this place."""
        fail(self.source, self.path, mistake, remedy)

    def __getitem__(self, key: str) -> "Place":
        """Return a field that must be there."""
        place = self.get(key)
        if place is None:
            self.fail(f"the field {key} is missing")
        return place

    def get(self, key: str) -> "Place | None":
        """Return a field; None where there is none, or null."""
        value = self.object().get(key)
        return None if value is None else Place(self.source, f"{self.path}.{key}".lstrip("."), value)

    def object(self) -> Mapping[str, Any]:
        """Return a JSON object."""
        if not isinstance(self.value, dict):
            self.fail(f"is {show(self.value)}, not an object")
        return self.value

    def items(self) -> "Iterator[Place]":
        """Yield the places of an array."""
        if not isinstance(self.value, list):
            self.fail(f"is {show(self.value)}, not an array")
        for number, value in enumerate(self.value):
            yield Place(self.source, f"{self.path}[{number}]", value)

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            self.fail(f"is {show(self.value)}, not a string")
        return self.value

    def number(self) -> float:
        """Return a number that is neither negative nor enormous, as times, rates and sizes are."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"is {show(value)}, not a number")
        if not 0 <= value <= LARGEST:
            self.fail(f"is {shortened(str(value))}, which no time, rate or size can be")
        return float(value)

    def numbers(self) -> tuple[float, ...]:
        """Return an array of such numbers."""
        return tuple(place.number() for place in self.items())

    def facts(self) -> dict[str, Fact]:
        """Return the fields of an object that are plain values."""
        return {name: plain(value) for name, value in self.object().items() if isinstance(value, Fact)}


def plain(value: Fact) -> Fact:
    """Return a value; where no double or 64 bits hold the number, its text."""
    if isinstance(value, float):
        return value if isfinite(value) else json.dumps(value)
    return value if isinstance(value, str) or abs(value) < 2**63 else str(value)


def scaled(values: tuple[float, ...], factor: float) -> tuple[float, ...]:
    """Return values in another unit."""
    return tuple(value * factor for value in values)
