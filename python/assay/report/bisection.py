"""The result of a bisection: which commit made it slower, by how much, and what is not known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from assay.analysis.bisection import Side
from assay.experiment.types import Revision
from assay.report.ab import BenchmarkComparison, named
from assay.words import counted, duration, elapsed, listed, printable, shortened

FOUND, NOTHING, UNDECIDED = 0, 1, 3
"""Exit codes."""

_SUSPECTS_AT_MOST = 8
_SUBJECT_AT_MOST = 50
_REVERSALS_AT_MOST = 3


@dataclass(frozen=True)
class Step:
    """A commit that was compared with the good end.

    Attributes:
        side: the end that it is like.
        why: it was passed over; empty where it was not.
        benchmark: how it compares; None where it could not be measured.
    """

    revision: Revision
    side: Side
    why: str = ""
    benchmark: BenchmarkComparison | None = None

    def line(self) -> str:
        """Return what became of it, in a few words."""
        if self.side == "skipped":
            return f"passed over: {self.why}"
        assert self.benchmark is not None
        word = "slower" if self.side == "bad" else "not slower"
        return f"{word}, {self.benchmark.with_interval}"


@dataclass(frozen=True)
class Suspect:
    """A commit that may be the one.

    Attributes:
        authored_at: when its author wrote it.
        why: it was passed over; empty where it was not tried, or is known to be slower.
        is_merge: it has several parents.
    """

    revision: Revision
    author: str
    authored_at: datetime
    why: str = ""
    is_merge: bool = False


@dataclass(frozen=True)
class BisectionResult:
    """What a bisection came to.

    Attributes:
        ends: the good and the bad revision.
        commits: how many there are after the good end.
        shown: how the bad end compares with the good one, in the benchmark in which it is slowest.
        answer: of that: "slower", "not slower" or "undecided".
        threshold_percent: a commit that is slower by more is like the bad end; None where none is searched.
        suspects: the commit, or several that cannot be told apart, the newest first; none without a slowdown.
        named: the only suspect was compared, and each of its parents is not slower.
        first_parent: no other parent of a merge was looked at.
        unknown: parents of suspects that were not compared.
        inherited: parents of suspects that are slower as well, while no earlier commit is known that is not;
            each with the commit where it and the good end forked, if they did.
        reversals: pairs of a commit that is slower and a later one, which contains it, that is not.
        slowed: how the oldest commit that is known to be slower compares with the good end.
        steps: the commits that were tried, in that order.
        others: further benchmarks that are slower at the bad end.
        took_s: the time that was spent on measuring.
        minutes_needed: of measuring, until the ends are decided; None where they are, or nobody knows.
        gate_percent: the requested gate; None without one.
    """

    ends: tuple[Revision, Revision]
    commits: int
    shown: BenchmarkComparison
    answer: Literal["slower", "not slower", "undecided"]
    threshold_percent: float | None = None
    suspects: Sequence[Suspect] = ()
    named: bool = False
    first_parent: bool = False
    unknown: Sequence[Revision] = ()
    inherited: Sequence[tuple[Revision, Revision | None]] = ()
    reversals: Sequence[tuple[Revision, Revision]] = ()
    slowed: BenchmarkComparison | None = None
    steps: Sequence[Step] = ()
    others: Sequence[str] = ()
    took_s: float = 0
    minutes_needed: float | None = None
    gate_percent: float | None = None

    @property
    def exit_code(self) -> int:
        """Found, nothing to find, or undecided."""
        if self.answer == "not slower":
            return NOTHING
        return FOUND if self.named else UNDECIDED


def sentence(bisected: BisectionResult) -> str:
    """Return what it came to in one sentence."""
    good, bad = bisected.ends
    name, shown = bisected.shown.name, bisected.shown.with_interval
    if bisected.answer == "undecided":
        return (
            f"undecided: whether {name} is slower at {bad.name} than at {good.name}: {shown};"
            f" {bisected.shown.why or 'give it more time'}"
        )
    if bisected.answer == "not slower":
        gate = bisected.gate_percent
        beyond = "" if gate is None else f" by more than {gate:g}%"
        slower = f"{bad.name} is not shown to be slower{beyond} than {good.name}"
        return f"nothing to bisect: {slower}: {name}: {shown}"
    assert bisected.slowed is not None
    slower = f"{name} {bisected.slowed.takes(f'at {good.name}')}"
    suspect = bisected.suspects[0]
    if bisected.named:
        merge = ", a merge," if suspect.is_merge else ""
        return f"{suspect.revision.short}{merge} made it slower: {slower}"
    if bisected.inherited:
        parents = listed([parent.short for parent, _ in bisected.inherited])
        too = "is slower too" if len(bisected.inherited) == 1 else "are slower too"
        return (
            f"no commit can be named: {parents} {too}, and no earlier commit is known that is not: {slower}"
        )
    if len(bisected.suspects) == 1:
        return f"{suspect.revision.short} may have made it slower, or a commit before it: {slower}"
    return f"one of {len(bisected.suspects)} commits made it slower, which cannot be told apart: {slower}"


def screen(bisected: BisectionResult) -> Iterator[str]:
    """Yield the lines of the answer: what it is, how it was found, and how to look at it."""
    yield printable(sentence(bisected))
    for suspect in bisected.suspects[:_SUSPECTS_AT_MOST]:
        yield f"  {_described(suspect)}"
    more = bisected.suspects[_SUSPECTS_AT_MOST:]
    if more:
        yield f"  and {len(more)} more"
    newest = bisected.suspects[0].revision.short if bisected.suspects else ""
    for parent, fork in bisected.inherited:
        forked = "which have no commit in common" if fork is None else f"which forked at {fork.short}"
        yield printable(
            f"{newest} has it from its parent {parent.short}, which does not contain {bisected.ends[0].name},"
            f" {forked}"
        )
    if bisected.unknown:
        yield f"not compared: the parents {listed([parent.short for parent in bisected.unknown])}"
    for slower, later in bisected.reversals[:_REVERSALS_AT_MOST]:
        yield (
            f"the history is not monotone: {slower.short} is slower; {later.short}, which contains it, is not"
        )
    if bisected.others:
        others = counted(len(bisected.others), "further benchmark")
        yield f"slower at {bisected.ends[1].name}, and not searched: {others}: {named(bisected.others)}"
    if bisected.minutes_needed is not None:
        yield f"to decide it takes {duration(60 * bisected.minutes_needed)}"
    if bisected.threshold_percent is not None:
        skipped = sum(step.side == "skipped" for step in bisected.steps)
        passed_over = f", {skipped} of them passed over" if skipped else ""
        yield (
            f"{counted(bisected.commits, 'commit')}, {counted(bisected.steps, 'commit')} tried{passed_over};"
            f" slower is what is slower by more than {bisected.threshold_percent:.2g}%;"
            f" {elapsed(bisected.took_s)}"
        )
        yield "a wrong commit is named in at most 5% of bisections"
        if bisected.named:
            parents = "its first parent is not" if bisected.first_parent else "none of its parents is"
            yield f"compared: it is slower, and {parents}"
    for label, revision in zip(("good", "bad"), bisected.ends, strict=True):
        yield printable(f"{label}: {revision}: {shortened(revision.subject)}")
    if bisected.suspects:
        yield f"look at it: {_look(bisected)}"


def _described(suspect: Suspect) -> str:
    subject = shortened(suspect.revision.subject, _SUBJECT_AT_MOST)
    why = f"; {suspect.why}" if suspect.why else ""
    at = f"{suspect.authored_at:%Y-%m-%d}"
    return printable(f"{suspect.revision.short} {subject} ({suspect.author}, {at}){why}")


def _look(bisected: BisectionResult) -> str:
    """Return the command that shows what the commit changed, or the suspected commits."""
    if len(bisected.suspects) == 1:
        return f"git show {bisected.suspects[0].revision.short}"
    newest, oldest = bisected.suspects[0].revision.short, bisected.suspects[-1].revision.short
    return f"git log --patch {oldest}~1..{newest}"
