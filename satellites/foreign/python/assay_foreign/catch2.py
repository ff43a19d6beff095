"""Catch2's XML (`--reporter xml`), of version 2 and 3: the benchmarks in it.

It keeps a mean with a bootstrap interval of each benchmark and no samples, all from one process. Times are in
nanoseconds. A name is that of the test case, of its sections and of the benchmark, joined by /. A test case
with several sections runs once for each, and what it runs in all of them is in the file as often: the second
one's name ends in #2.

What the program itself prints is skipped before the XML, after it and between its elements. Where it makes
the XML unreadable, the error names its line.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NoReturn
from xml.parsers import expat

from assay.words import quoted
from assay_foreign.document import AGAIN, LARGEST, Text, fail
from assay_foreign.on_disk import told_apart
from assay_foreign.types import Benchmark, Fact, ForeignRun, Measure, Summary

TOOL = "Catch2"

_ROOTS = ("Catch", "Catch2TestRun")
_BEGINS = re.compile(rf"<\?xml\b|<(?:{'|'.join(_ROOTS)})\b")
_HOLDING = (*_ROOTS, "Group", "TestCase", "Section", "BenchmarkResults")
"""Elements with other elements and no text of Catch2's own."""
_KNOWN = frozenset(
    {
        *_HOLDING,
        *("mean", "standardDeviation", "outliers", "failed", "Randomness", "MatchingTests", "Filters"),
        *("Info", "Warning", "Expression", "Original", "Expanded", "Exception", "FatalErrorCondition"),
        *("Failure", "Success", "Skip", "StdOut", "StdErr"),
        *("OverallResult", "OverallResults", "OverallResultsCases"),
    }
)
_CUT_OFF = ("no element found", "unclosed token", "partial character")
_NAMED = ("TestCase", "Section", "BenchmarkResults")
_HOST = ("name", "rng-seed", "filters")
_MEAN = ("value", "lowerBound", "upperBound")


def is_catch2(line: str) -> bool:
    """Tell whether the XML begins in a line."""
    return re.match(rf"[ \t]*(?:{_BEGINS.pattern})", line) is not None


def read_catch2(text: str, source: str = "the output") -> ForeignRun:
    """Return the benchmarks that a program with Catch2 wrote as XML.

    Args:
        text: all of it.
        source: what the text is called in errors.

    Raises:
        ForeignError: it is not that, is cut off, or holds no benchmark.
    """
    return catch2(Text(source, text))


def catch2(text: Text) -> ForeignRun:
    """Return the benchmarks in a text, as `read_catch2` does."""
    reader = _Reader(text.source)
    benchmarks = told_apart(reader.read(text))
    if not benchmarks:
        fail(text.source, "", "no test case in it has a benchmark", "run the test cases with a BENCHMARK")
    return ForeignRun(TOOL, reader.version or "", benchmarks, randomised=None, host=reader.host)


@dataclass
class _Open:
    """An element that has begun and not ended: what it is, and the name that a benchmark has from it."""

    element: str
    name: str


@dataclass
class _Reader:
    source: str
    version: str | None = None
    """None before the XML has begun."""
    host: dict[str, Fact] = field(default_factory=dict)
    _benchmarks: list[Benchmark] = field(default_factory=list)
    """Those that were read and not yielded yet."""
    _open: list[_Open] = field(default_factory=list)
    _summary: Summary | None = None
    _failure: str | None = None
    _printed: int | None = None
    """The first line that the program printed among the XML."""
    _before: int = 0
    """Lines before the XML."""

    def read(self, text: Text) -> Iterator[Benchmark]:
        """Yield each benchmark when its element has ended."""
        begins = (
            (number, found.start())
            for number, line in enumerate(text.lines())
            if (found := _BEGINS.search(line))
        )
        self._before, start = next(begins, (0, 0))
        # No external entity is fetched, and expat itself limits how far internal ones may grow.
        self._parser = expat.ParserCreate("utf-8")  # as lines are fed, whatever the XML says
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        fed = 0
        lines = islice(text.lines(), self._before, None)
        for line in chain([next(lines, "")[start:]], lines, [""]):
            part = line.encode(errors="replace")
            try:
                self._parser.Parse(part, not part)
            except expat.ExpatError as error:
                if self._open or self.version is None:
                    self._refuse(error)
                self._end_of_file(chain([part[max(0, self._parser.ErrorByteIndex - fed) :].decode()], lines))
                return
            fed += len(part)
            yield from self._benchmarks
            self._benchmarks.clear()

    def _refuse(self, error: expat.ExpatError) -> NoReturn:
        """Raise the error of XML that cannot be read."""
        message = expat.errors.messages[error.code]
        if self._open and message not in _CUT_OFF:
            remedy = "run it with --out FILE, so that the file has the XML alone, or let it print nothing"
            line = self._printed or self._before + error.lineno
            fail(self.source, f"line {line}", "the program's own output is here, within the XML", remedy)
        place = f"line {self._before + error.lineno}, column {error.offset + 1}"
        if self._open:
            remedy = f"{AGAIN}, and wait until it has ended"
            fail(self.source, place, f"the XML breaks off inside {self._open[-1].element}", remedy)
        fail(self.source, place, f"is not XML ({message})", self._remedy)

    def _end_of_file(self, rest: Iterable[str]) -> None:
        """Refuse a second run after the first one's XML; anything else there the program has printed."""
        if any(_BEGINS.search(line) for line in rest):
            self._fail("the XML of another run begins after this one", "import each as a file of its own")

    _remedy = "let the program write it with --reporter xml"

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        if not self._open:
            if element not in _ROOTS:
                self._fail(f"the XML is a {element}, not a {' or '.join(_ROOTS)} of Catch2", self._remedy)
            self.version = attributes.get("catch2-version", "")
            self.host = {name: attributes[name] for name in _HOST if attributes.get(name)}
        elif element not in _KNOWN and self._printed is None:
            self._printed = self._line
        name = self._attribute(attributes, element, "name") if element in _NAMED else ""
        self._open.append(_Open(element, name))
        if element == "BenchmarkResults":
            self._summary, self._failure = None, None
        elif element == "mean" and self._within == "BenchmarkResults":
            value, low, high = (self._number(attributes, name) for name in _MEAN)
            self._summary = Summary(value, "mean", low, high)
        elif element == "failed" and self._within == "BenchmarkResults":
            self._failure = attributes.get("message", "")

    def _text(self, text: str) -> None:
        within = self._open[-1].element
        if self._failure is not None and within == "failed":
            self._failure += text
        elif within in _HOLDING and text.strip() and self._printed is None:
            self._printed = self._line

    def _end(self, element: str) -> None:
        if element == "BenchmarkResults":
            self._add([entry.name for entry in self._open if entry.name])
        self._open.pop()

    def _add(self, names: list[str]) -> None:
        name, failure = "/".join(names), ""
        measures: tuple[Measure, ...] = ()
        if self._failure is not None:
            failure = self._failure.strip() or "it failed"
        elif self._summary is None:
            self._fail(f"BenchmarkResults {quoted(name)} has no mean", AGAIN)
        else:
            measures = (Measure("time_ns", "ns", summary=self._summary),)
        self._benchmarks.append(Benchmark(name, {}, 1, measures, failure, test_case=names[0]))

    @property
    def _within(self) -> str:
        """The element that holds the one that has just begun."""
        return self._open[-2].element if len(self._open) > 1 else ""

    def _attribute(self, attributes: dict[str, str], element: str, name: str) -> str:
        if name not in attributes:
            self._fail(f"the attribute {name} of {element} is missing", AGAIN)
        return attributes[name]

    def _number(self, attributes: dict[str, str], name: str) -> float:
        text = self._attribute(attributes, "mean", name)
        try:
            value = float(text)
        except ValueError:
            value = -1
        if not 0 <= value <= LARGEST:
            self._fail(f"the attribute {name} of mean is {quoted(text)}, which is not a time", AGAIN)
        return value

    def _fail(self, mistake: str, remedy: str) -> None:
        fail(self.source, f"line {self._line}", mistake, remedy)

    @property
    def _line(self) -> int:
        return self._before + self._parser.CurrentLineNumber
