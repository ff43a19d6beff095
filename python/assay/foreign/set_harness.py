"""The text that Setbench, Synchrobench and ASCYLIB print: harnesses for concurrent sets of keys.

A file may hold several runs, as scripts append them. Each is a process with one throughput; runs of the same
structure and parameters are one benchmark. What else the text tells of the loop, such as sizes and updates,
goes into `Loop`, which the audit looks at. The formats are those of the programs' sources: Setbench prints
NAME=VALUE, Synchrobench `NAME : VALUE`, ASCYLIB tables.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from assay.foreign.document import AGAIN, LARGEST, fail
from assay.foreign.types import Benchmark, Fact, ForeignRun, Loop, Measure
from assay.words import counted, quoted


@dataclass(frozen=True)
class _Text:
    """The text of one run.

    Attributes:
        line: of the file, in which it begins.
        values: name -> value of its lines, the last one where a name stands twice.
    """

    source: str
    line: int
    text: str
    values: Mapping[str, str]

    def fail(self, mistake: str, remedy: str = AGAIN) -> NoReturn:
        fail(self.source, f"the run from line {self.line} on", mistake, remedy)

    def whole(self, name: str) -> int | None:
        """Return a number without a fraction; None where the run does not tell it."""
        value = self.values.get(name, "").split(" ")[0]
        return int(value) if re.fullmatch(r"[0-9]{1,19}", value) else None

    def whole_numbers(self, names: Mapping[str, str]) -> dict[str, Fact]:
        """Return parameters by our names of those that the run tells."""
        told = {ours: self.whole(theirs) for ours, theirs in names.items()}
        return {name: value for name, value in told.items() if value is not None}

    def throughput(self, text: str | None) -> float:
        """Return operations a second, which stand at the end of a run."""
        if text is None:
            self.fail(
                "has no throughput, so it is cut off or failed", f"{AGAIN}, and wait until it has ended"
            )
        try:
            value = float(text)
        except ValueError:
            value = -1
        if not 0 < value <= LARGEST:
            self.fail(f"its throughput is {quoted(text)}, which is not a rate", "run it for longer")
        return value


@dataclass(frozen=True)
class _Run:
    name: str
    parameters: Mapping[str, Fact]
    throughput: float
    loop: Loop
    failure: str = ""


@dataclass(frozen=True)
class _Harness:
    """How one tool's text is read.

    Attributes:
        begins: the first line of each run.
        named: a line that names a value.
    """

    tool: str
    begins: re.Pattern[str]
    named: re.Pattern[str]
    read: Callable[[_Text], _Run]


def read_set_harness(text: str, source: str = "the output") -> ForeignRun | None:
    """Return what a text of one of the three harnesses says; None of another text.

    Raises:
        ForeignError: a run in it is cut off, or holds what cannot be.
    """
    for harness in _HARNESSES:
        if harness.begins.search(text):
            runs = [harness.read(part) for part in _parts(text, harness, source)]
            return ForeignRun(harness.tool, "", tuple(_benchmarks(runs)), randomised=None)
    return None


def _parts(text: str, harness: _Harness, source: str) -> Iterator[_Text]:
    starts = [match.start() for match in harness.begins.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        values = {name: value.strip() for name, value in harness.named.findall(part)}
        yield _Text(source, text.count("\n", 0, start) + 1, part, values)


def _benchmarks(runs: Iterable[_Run]) -> Iterator[Benchmark]:
    """Yield a benchmark for all runs of the same; those that failed are apart, by their reason."""
    groups: dict[tuple[object, ...], list[_Run]] = {}
    for run in runs:
        groups.setdefault((run.name, *sorted(run.parameters.items()), run.failure), []).append(run)
    for group in groups.values():
        run = group[0]
        rates = tuple((one.throughput,) for one in group)
        yield Benchmark(
            f"{run.name} (failed)" if run.failure else run.name,
            run.parameters,
            len(group),
            (Measure("throughput", "op/s", rates),),
            run.failure,
            loops=tuple(one.loop for one in group),
        )


def _synchrobench(run: _Text) -> _Run:
    size = run.whole("Set size")
    expected = re.search(r"^Set size\s*: -?\d+ \(expected: (-?\d+)\)", run.text, re.M)
    rate = re.search(r"^#txs\s*: \d+ \(([\d.]+) / s\)", run.text, re.M)
    trials = run.whole("#upd trials") or run.whole("#update txs")
    effective = run.whole("#update txs") if "#upd trials" in run.values else None
    failure = ""
    if expected and size is not None and int(expected[1]) != size:
        failure = f"it holds {counted(size, 'key')}, {expected[1]} were expected"
    misleads = [
        "a thread erases only after it has inserted and the reverse, so that failed updates count as"
        " operations"
    ]
    if run.whole("Alternate"):
        misleads.append("-A makes each thread erase the key that it has just inserted")
    if run.whole("Effective"):
        misleads.append("failed updates are counted as searches (-f)")
    if not run.whole("Seed"):
        misleads.append("the seed is the time at which it began, and not told")
    return _Run(
        run.values.get("Set type") or run.values.get("Bench type") or "set",
        run.whole_numbers(
            {
                "threads": "Nb threads",
                "key_range": "Value range",
                "initial_size": "Initial size",
                "update_percent": "Update rate",
            }
        ),
        run.throughput(rate[1] if rate else None),
        Loop(
            size_before=run.whole("Initial size"),
            size_after=size,
            updates=trials,
            effective_updates=effective,
            checked="number of keys" if expected else "",
            misleads=(
                *misleads,
                "one thread fills the set, by inserts alone",
            ),
        ),
        failure,
    )


def _ascylib(run: _Text) -> _Run:
    sizes = re.search(r"^## Initial: (\d+) / Range: (\d+)", run.text, re.M)
    threads = re.search(r"^#txs (\d+)\s*\(", run.text, re.M)
    mops = run.values.get("#Mops")
    rows = {
        name: (int(total), int(done))
        for name, total, done in re.findall(r"^(srch|insr|rems): (\d+)\s*\| (\d+)", run.text, re.M)
    }
    (inserts, inserted), (erases, erased) = rows.get("insr", (0, 0)), rows.get("rems", (0, 0))
    before = int(sizes[1]) if sizes else None
    rounded = "(to make it power of 2)" in run.text
    wrong = re.search(r"^// WRONG size\. (.+)$", run.text, re.M)
    operations = sum(total for total, _ in rows.values())
    parameters: dict[str, Fact] = {}
    if threads:
        parameters["threads"] = int(threads[1])
    if sizes:
        parameters |= {"key_range": int(sizes[2]), "initial_size": int(sizes[1])}
    if operations:
        parameters["update_percent"] = round(100 * (inserts + erases) / operations)
    return _Run(
        "set",
        parameters,
        run.throughput(None if mops is None else f"{mops}e6"),
        Loop(
            size_before=before,
            size_after=None if before is None or not rows else before + inserted - erased,
            updates=inserts + erases if rows else None,
            effective_updates=inserted + erased if rows else None,
            checked="number of keys",
            misleads=(
                "one thread fills the set, by inserts alone, unless it was built otherwise",
                "threads are pinned in an order of its own, which can leave processors idle, unless it was"
                " built with SET_CPU=0",
                *(["range and size were rounded up to powers of two"] if rounded else []),
            ),
        ),
        f"the number of keys is wrong: {wrong[1]}" if wrong else "",
    )


def _setbench(run: _Text) -> _Run:
    verdict = run.values.get("validate_result", "")
    prefilled = run.values.get("PREFILL_TYPE", "")
    inserts = run.values.get("INS_FRAC") or run.values.get("INS_DEL_FRAC", "").split(" ")[0]
    erases = run.values.get("DEL_FRAC") or run.values.get("INS_DEL_FRAC", " ").partition(" ")[2]
    parameters = run.whole_numbers({"threads": "TOTAL_THREADS", "key_range": "MAXKEY"})
    parameters |= {
        name: share for name, share in (("insert_percent", inserts), ("erase_percent", erases)) if share
    }
    reclaimer = run.values.get("RECLAIM", "").removeprefix("reclaimer_")
    return _Run(
        run.values["DS_TYPENAME"],
        parameters | ({"reclamation": reclaimer} if reclaimer else {}),
        run.throughput(run.values.get("total_throughput")),
        Loop(
            size_before=run.whole("DESIRED_PREFILL_SIZE") or None,
            size_after=run.whole("final_size"),
            checked="sum of keys" if verdict else "",
            misleads=("the set is filled by inserts alone",) if prefilled == "PREFILL_INSERT" else (),
        ),
        "its sum of keys is wrong (validate_result)" if verdict and verdict != "success" else "",
    )


_HARNESSES = (
    _Harness(
        "Setbench",
        re.compile(r"^DS_TYPENAME=", re.M),
        re.compile(r"^(\w+)=([^\n]*)$", re.M),
        _setbench,
    ),
    _Harness(
        "ASCYLIB",
        re.compile(r"^## Initial: \d+ / Range: \d+", re.M),
        re.compile(r"^(#Mops) ([^\n]*)$", re.M),
        _ascylib,
    ),
    _Harness(
        "Synchrobench",
        re.compile(r"^(?:Set|Bench) type\s*:", re.M),
        re.compile(r"^\s*(#?[\w .-]*\w)\s*: ([^\n]*)$", re.M),
        _synchrobench,
    ),
)
