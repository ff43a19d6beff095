"""The text that harnesses of concurrent maps print: Setbench, Synchrobench and ASCYLIB.

A text holds one run or several, one after the other, as a shell script collects them. Each run is a process.
Runs of the same map for which the same was requested are one benchmark: all options that a run prints count.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import NoReturn

from msgspec.structs import replace

from assay.words import shortened
from assay_foreign.document import AGAIN, LARGEST, Text, fail
from assay_foreign.on_disk import grouped, told_apart
from assay_foreign.types import Benchmark, Fact, ForeignRun, MapRun, Measure, own_of, shared_of

_WHOLE = r"-?\d{1,30}"
"""Python makes no number of more than 4,300 digits, and no harness counts as far as 30."""
_WAIT = "let the run end before its output is imported, or take the run out of the file"


@dataclass(frozen=True)
class NumberedLine:
    """A line of a text, with its number from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class Run:
    """The lines of one run.

    Attributes:
        source: what the text is called, for errors.
    """

    source: str
    lines: Sequence[NumberedLine]

    def find(self, pattern: str) -> re.Match[str] | None:
        """Return the last line's match of a pattern, which begins where the line does."""
        found = None
        for line in self.lines:
            found = re.match(pattern, line.text) or found
        return found

    def text(self, pattern: str) -> str:
        """Return the group of a pattern; empty where no line matches."""
        found = self.find(pattern)
        return found[1].strip() if found else ""

    def whole(self, pattern: str) -> int | None:
        """Return the group of a pattern as a whole number; None where no line matches."""
        text = self.text(pattern)
        if not text:
            return None
        if not re.fullmatch(_WHOLE, text):
            self.fail(pattern, f"{shortened(text)} is not a whole number")
        return int(text)

    def rate(self, pattern: str) -> float:
        """Return the group of a pattern as operations a second; the line must be there."""
        text = self.text(pattern)
        if not text:
            self.broken_off()
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= LARGEST:
            self.fail(pattern, f"{shortened(text)} is not a throughput")
        return value

    def total(self, pattern: str) -> int | None:
        """Return the sum of what every matching line has; None where no line matches."""
        found = []
        for line in self.lines:
            if match := re.match(pattern, line.text):
                if not re.fullmatch(_WHOLE, match[1]):
                    mistake = f"{shortened(match[1])} is not a count"
                    fail(self.source, f"line {line.number}", mistake, AGAIN)
                found.append(int(match[1]))
        return sum(found) if found else None

    def facts(self, patterns: Iterable[tuple[str, str]]) -> dict[str, Fact]:
        """Return name -> number, of those patterns that a line matches."""
        numbers = {name: self.whole(pattern) for name, pattern in patterns}
        return {name: number for name, number in numbers.items() if number is not None}

    def options(self, pattern: str, until: str, known: Collection[str]) -> dict[str, Fact]:
        """Return name -> value of the lines before the first one that matches `until`.

        Args:
            pattern: of a line that gives an option, with groups around name and value.
            known: names that are left out.
        """
        header = takewhile(lambda line: not re.match(until, line.text), self.lines)
        given = (found for line in header if (found := re.match(pattern, line.text)))
        return {
            name: value.strip() for name, value in (found.groups() for found in given) if name not in known
        }

    def fail(self, pattern: str, mistake: str) -> NoReturn:
        """Raise the error of the line that matches a pattern."""
        number = next(line.number for line in reversed(self.lines) if re.match(pattern, line.text))
        fail(self.source, f"line {number}", mistake, AGAIN)

    def broken_off(self) -> NoReturn:
        """Raise the error of a run without its results."""
        first, last = self.lines[0].number, self.lines[-1].number
        fail(
            self.source,
            f"line {last}",
            f"the run that begins in line {first} ends without its results",
            _WAIT,
        )


@dataclass(frozen=True)
class Harness:
    """What is known of a harness.

    Attributes:
        tool: its name.
        begins: what the first line of a run looks like.
        read: makes a benchmark of one run.
        requested: gives every option of a run that its benchmark's parameters do not have.
    """

    tool: str
    begins: str
    read: Callable[[Run], Benchmark]
    requested: Callable[[Run], dict[str, Fact]]


def harness_of(line: str, known: Sequence[Harness]) -> Harness | None:
    """Return the harness of whose runs a line is the first; None if it is of none of the known ones."""
    return next((harness for harness in known if re.match(harness.begins, line)), None)


def read_harness(text: Text, harness: Harness, known: Sequence[Harness]) -> ForeignRun:
    """Return what the runs in a text measured.

    Raises:
        ForeignError: a run is cut off, is of another harness, or has a number that is none.
    """

    def runs() -> Iterator[tuple[Run, dict[str, Fact]]]:
        return ((run, harness.requested(run)) for run in _runs(text, harness, known))

    options = shared_of(requested for _, requested in runs())
    read = (_read(run, own_of(requested, options), harness) for run, requested in runs())
    keyed = (((of.name, of.failure, *sorted(of.parameters.items())), of) for of in read)
    of_benchmarks = grouped(keyed, Benchmark)
    # No two have the same name and parameters, but where runs of one have failed.
    every = told_apart(map(_together, of_benchmarks))
    return ForeignRun(harness.tool, "", every, randomised=None, options=options)


def _read(run: Run, differing: Mapping[str, Fact], harness: Harness) -> Benchmark:
    benchmark = harness.read(run)
    return replace(benchmark, parameters={**differing, **benchmark.parameters})


def _runs(text: Text, harness: Harness, known: Sequence[Harness]) -> Iterator[Run]:
    """Yield each run in a text."""
    lines: list[NumberedLine] = []
    first = 0
    for number, line in enumerate(text.lines(), 1):
        begun = harness_of(line, known)
        if begun is not None and begun is not harness:
            fail(
                text.source,
                f"line {number}",
                f"a run of {begun.tool} begins, but the one in line {first} is of {harness.tool}",
                "import the output of each tool as a file of its own",
            )
        if begun:
            if lines:
                yield Run(text.source, lines)
            first, lines = first or number, []
        if first:
            lines.append(NumberedLine(number, line.rstrip("\n")))
    yield Run(text.source, lines)


def one_process(
    name: str, parameters: dict[str, Fact], throughput: float, map_run: MapRun, failure: str = ""
) -> Benchmark:
    """Return the benchmark of a run, which has failed if there is a reason."""
    measures = () if failure else (Measure("throughput", "op/s", ((throughput,),)),)
    return Benchmark(name, parameters, 1, measures, failure, map_runs=(map_run,))


def _together(runs: Sequence[Benchmark]) -> Benchmark:
    """Return the benchmark of which each run is a process."""
    measures = tuple(
        replace(of_metric[0], samples=tuple(chain.from_iterable(measure.samples for measure in of_metric)))
        for of_metric in zip(*(run.measures for run in runs), strict=True)
    )
    map_runs = tuple(chain.from_iterable(run.map_runs for run in runs))
    return replace(runs[0], processes=len(runs), measures=measures, map_runs=map_runs)
