"""A JSON text and the places in it, so that an error names file, place, mistake and remedy."""

import gzip
import json
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, Self, TextIO, cast

import msgspec
from msgspec import Struct

from assay.errors import AssayError
from assay.words import shortened, show, storable
from assay_foreign.types import Fact

AGAIN = "let the tool write the file again"

_GZIP = b"\x1f\x8b"
"""The bytes with which a compressed file begins."""

_AT_ONCE = 1 << 20
"""Characters of a text that are read at once."""

_UNSURE = 16
"""Characters at the end of a part in which a number, a word or an escape may be cut."""
_OPEN_STRING = "Unterminated string"
_SPACE = re.compile(r"[ \t\n\r]*")
_HALF = re.compile(r"\\u[dD]")
_NEXT_ITEM = re.compile(r"[ \t\n\r]*\{")
_DECODER = json.JSONDecoder()
_SKIP = msgspec.json.Decoder(list[msgspec.Raw])
_ANY = msgspec.json.Decoder(list[Any])

Decoder = msgspec.json.Decoder[list[Any]]
"""Decodes the items of an array."""

_SHOWN_AT_MOST = 100

LARGEST = 1e150
"""Numbers up to it can be multiplied by units and each other; no time, rate or size is larger."""


class ForeignError(AssayError):
    """A file of another tool cannot be read; the message names file, place, mistake and remedy."""


def fail(source: str, place: str, mistake: str, remedy: str = AGAIN) -> NoReturn:
    """Raise the error of a place in a file."""
    raise ForeignError(storable(f"{source}: {f'{place}: ' if place else ''}{mistake}; {remedy}"))


@dataclass(frozen=True)
class Text:
    """A text that is read in parts, each time from its start: that of a file, or one at hand.

    Attributes:
        source: what it is called, for errors.
        file: where it is, perhaps compressed as gzip does; None where it is at hand.
    """

    source: str
    at_hand: str = ""
    file: Path | None = None

    @classmethod
    def of(cls, file: Path) -> Self:
        """Return the text of a file."""
        return cls(str(file), file=file)

    def parts(self) -> Iterator[str]:
        """Yield the text in parts of about a million characters."""
        return self._read(lambda stream: stream.read(_AT_ONCE))

    def lines(self) -> Iterator[str]:
        """Yield each line with its end; one of more than a million characters in parts."""
        return self._read(lambda stream: stream.readline(_AT_ONCE))

    def _read(self, read: Callable[[TextIO], str]) -> Iterator[str]:
        try:
            with self._open() as stream:
                while part := read(stream):
                    yield part
        except (EOFError, zlib.error, gzip.BadGzipFile):
            fail(
                self.source, "", "is compressed, and cut off or damaged", f"{AGAIN}, or unpack it with gunzip"
            )
        except UnicodeDecodeError:
            fail(self.source, "", "is not text in UTF-8", "import the text that the tool wrote, or its .gz")
        except OSError as error:
            fail(self.source, "", f"cannot be read ({error.strerror})", "check its permissions")

    def _open(self) -> TextIO:
        if self.file is None:
            return StringIO(self.at_hand, newline=None)
        with self.file.open("rb") as raw:
            packed = raw.read(len(_GZIP)) == _GZIP
        return cast(TextIO, (gzip.open if packed else open)(self.file, "rt", encoding="utf-8-sig"))


class _Window:
    """What is read of a JSON text and not decoded yet: values are taken from it one by one.

    Of the libraries for this, ijson refuses NaN and 1e400, which tools write, and json-stream takes ten times
    as long; this is a frame around the standard library's own decoder. Objects of an array are given to
    msgspec many at once, which is several times as fast; what it refuses the standard library decodes.
    """

    def __init__(self, text: Text) -> None:
        self._source = text.source
        self._parts = text.parts()
        self._text, self._at = "", 0
        self._ended = False
        self._line, self._column = 1, 0
        self._halves = False
        self._quick = True

    def next(self) -> str:
        """Return the next character that is not white space, and stay before it; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr] # it always matches
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._fill()

    def value(self) -> Any:
        """Return the value that is next."""
        self.next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                known = error.pos < len(self._text) - _UNSURE and not error.msg.startswith(_OPEN_STRING)
                if known or self._ended:
                    self.fail(error.msg, error.pos)
            except ValueError:  # Python makes no whole number of more than 4,300 digits
                mistake = "holds a number of thousands of digits, which no time, rate or size can be"
                fail(self._source, "", mistake)
            except RecursionError:
                fail(self._source, "", "its JSON is nested too deeply for any result")
            else:
                if end < len(self._text) - _UNSURE or self._ended:  # else a number may go on
                    self._at = end
                    return _whole_characters(value) if self._halves else value
            self._fill()

    def value_or_items(self, decoder: Decoder) -> Any:
        """Return the value that is next; of an array, an iterator over its items."""
        if self.next() != "[":
            return self.value()
        return (value for _ in self.entries("]") for value in self._objects(decoder) or (self.value(),))

    def _objects(self, decoder: Decoder) -> list[Any]:
        """Return the objects that are next, up to the last that another one follows in what has been read.

        There are none if the decoder refuses one of them, or what is before the last comma between two
        objects ends inside of a value: then nothing is tried again before more has been read.
        """
        if self.next() != "{" or not self._quick:
            return []
        end = len(self._text)
        while (end := self._text.rfind("},", self._at, end)) >= 0:
            if _NEXT_ITEM.match(self._text, end + 2):
                try:
                    objects = decoder.decode(f"[{self._text[self._at : end + 1]}]")
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    break
                self._at = end + 1
                return objects
        self._quick = False
        return []

    def entries(self, closing: str) -> Iterator[None]:
        """Stop at each entry of the object or the array that is next."""
        self._at += 1
        if self.next() != closing:
            yield
            while self.next() == ",":
                self._at += 1
                yield
        if self.next() != closing:
            self.fail("Expecting ',' delimiter", self._at)
        self._at += 1

    def name(self) -> str:
        """Return the name of the member that is next."""
        if self.next() != '"':
            self.fail("Expecting property name enclosed in double quotes", self._at)
        name: str = self.value()
        if self.next() != ":":
            self.fail("Expecting ':' delimiter", self._at)
        self._at += 1
        return name

    def end(self) -> None:
        """Check that nothing follows."""
        if self.next():
            self.fail("Extra data", self._at)

    def fail(self, message: str, at: int) -> NoReturn:
        """Raise the error of a place in the window."""
        before = self._text[:at]
        last = before.rfind("\n")
        column = at - last if last >= 0 else self._column + at + 1
        place = f"line {self._line + before.count(chr(10))}, column {column}"
        self.next()
        if (self._ended and at >= len(self._text.rstrip())) or message.startswith(_OPEN_STRING):
            fail(self._source, place, "the JSON is cut off here", f"{AGAIN}, and wait until it has ended")
        fail(self._source, place, f"is not JSON ({message})", f"{AGAIN}, as JSON and nothing else")

    def _fill(self) -> None:
        """Drop what has been decoded, and read at least as much as is left."""
        done, parts = self._text[: self._at], [self._text[self._at :]]
        self._line += done.count("\n")
        last = done.rfind("\n")
        self._column = len(done) - last - 1 if last >= 0 else self._column + len(done)
        wanted = max(1, len(parts[0]))
        for part in self._parts:
            parts.append(part)
            wanted -= len(part)
            if wanted <= 0:
                break
        else:
            self._ended = True
        self._text, self._at = "".join(parts), 0
        self._halves = _HALF.search(self._text) is not None
        self._quick = True


def _members(text: Text, decoder: Decoder) -> Iterator[tuple[int, str | None, Any]]:
    """Yield number, name and value of each member of a JSON object; the number keeps namesakes apart.

    The value of an array is an iterator over its items, all of which must be taken. Anything but an object is
    one member without a name.
    """
    window = _Window(text)
    if window.next() == "{":
        for number, _ in enumerate(window.entries("}")):
            name = window.name()
            yield number, name, window.value_or_items(decoder)
    elif window.next():
        yield 0, None, window.value_or_items(decoder)
    else:
        fail(text.source, "", "is empty")
    window.end()


@dataclass(frozen=True)
class Items:
    """The items of an array at the top of a JSON text, or of the object there: decoded when needed."""

    text: Text
    member: int

    def __iter__(self) -> Iterator[Any]:
        """Yield each item."""
        return self.decoded(_ANY)

    def decoded(self, decoder: Decoder) -> Iterator[Any]:
        """Yield each item as the decoder makes it, or as plain values where it refuses it or a neighbour."""
        for number, _, value in _members(self.text, decoder):
            if number == self.member:
                yield from value
            elif isinstance(value, Iterator):
                deque(value, maxlen=0)


def parse(text: Text) -> "Place":
    """Return the whole of a JSON text; large arrays at its top are checked now and decoded later.

    Raises:
        ForeignError: it is not JSON, or is cut off.
    """
    members: dict[str | None, Any] = {}
    for number, name, value in _members(text, _SKIP):
        if isinstance(value, Iterator):
            deque(value, maxlen=0)
            members[name] = Items(text, number)
        else:
            members[name] = value
    return Place(text.source, "", members.get(None, members))


def _whole_characters(value: Any) -> Any:
    """Return a value without halves of surrogate pairs, which no store and no page can hold."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


@dataclass(slots=True)
class Place:
    """A value in a JSON text; not frozen, since many are made for each row, and freezing takes time.

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
            self.fail(f"is {_shown(self.value)}, not an object")
        return self.value

    def items(self) -> "Iterator[Place]":
        """Yield the places of an array."""
        if not isinstance(self.value, list | Items):
            self.fail(f"is {show(self.value)}, not an array")
        for number, value in enumerate(self.value):
            yield Place(self.source, f"{self.path}[{number}]", value)

    def decoded(self, decoder: Decoder) -> Iterator[Any]:
        """Yield what a decoder makes of the objects in an array; the place of each that it does not take."""
        if not isinstance(self.value, Items):
            yield from self.items()
            return
        for number, value in enumerate(self.value.decoded(decoder)):
            yield value if isinstance(value, Struct) else Place(self.source, f"{self.path}[{number}]", value)

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            self.fail(f"is {_shown(self.value)}, not a string")
        return self.value

    def number(self) -> float:
        """Return a number that is neither negative nor enormous, as times, rates and sizes are."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"is {_shown(value)}, not a number")
        if not 0 <= value <= LARGEST:
            self.fail(f"is {shortened(str(value))}, which no time, rate or size can be")
        return float(value)

    def number_of(self, key: str) -> float | None:
        """Return a field that is such a number; None where there is none."""
        value = self.object().get(key)
        if type(value) is int and 0 <= value <= LARGEST:  # as almost all are: no need for a place
            return float(value)
        return None if value is None else self[key].number()

    def numbers(self) -> tuple[float, ...]:
        """Return an array of such numbers."""
        return tuple(place.number() for place in self.items())

    def facts(self) -> dict[str, Fact]:
        """Return the fields of an object that are plain values."""
        return {name: plain(value) for name, value in self.object().items() if isinstance(value, Fact)}


def _shown(value: Any) -> str:
    return show([*islice(value, _SHOWN_AT_MOST)] if isinstance(value, Items) else value)


def plain(value: Fact) -> Fact:
    """Return a value; where no double or 64 bits hold the number, its text."""
    if isinstance(value, float):
        return value if isfinite(value) else json.dumps(value)
    return value if isinstance(value, str) or abs(value) < 2**63 else str(value)


def scaled(values: tuple[float, ...], factor: float) -> tuple[float, ...]:
    """Return values in another unit."""
    return tuple(value * factor for value in values)
