"""Finds the guidelines that the transactions of a record break, with the evidence."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.words import counted, whole_percent
from assay_lab.advice.symbols import Symbols, site_place
from assay_lab.advice.types import (
    Advice,
    CodeLocation,
    EmulationSettings,
    Observed,
    ProgramAdvice,
    Range,
    Section,
)

SHARE_THAT_ENDS = 0.05
"""A cause that ends this share of a section's transactions deserves advice."""
CHANCE_OF_CONFLICT = 0.10
"""There is advice if two threads' simultaneous transactions conflict on a line with this probability."""
LONG_EXPOSED = 100
"""Instructions from the first write to the commit, from which on there is advice..."""
SHARE_EXPOSED = 0.5
"""...if they are this share of the transaction."""
SHORT = 300
"""Instructions of a transaction, with those up to the next, below which XBEGIN and XEND cost more (46 ns)."""
SHARE_FOLLOWED = 0.5
_LIMITS = ("system_call", "page_fault", "exception", "breakpoint")
"""Events that the hardware does not support in a transaction."""
_ALLOCATES = re.compile(
    r"\b(malloc|calloc|realloc|free|posix_memalign|aligned_alloc)\b|operator (new|delete)"
)


@dataclass
class _Group:
    """The sites of one section: compilers copy code."""

    place: CodeLocation
    begins: CodeLocation
    sites: list[Mapping[str, Any]] = field(default_factory=list)

    def sum(self, name: str) -> int:
        return sum(site[name] for site in self.sites)

    def most(self, name: str) -> int:
        return max(int(site[name]) for site in self.sites)

    def ended(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for site in self.sites:
            counts.update(site["ended"])
        return counts

    def threads(self) -> Counter[int]:
        counts: Counter[int] = Counter()
        for site in self.sites:
            for entry in site["threads"]:
                counts[entry["thread"]] += entry["transactions"]
        return counts


@dataclass
class _Use:
    """How the transactions of one section and thread use a line."""

    touched: int = 0
    written: int = 0
    conflicts: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    read_at: int = 0
    written_at: int = 0

    @property
    def bytes(self) -> int:
        return self.read_bytes | self.written_bytes

    @property
    def place(self) -> int:
        return self.written_at or self.read_at


_Lines = Mapping[int, Mapping[tuple[int, int], _Use]]
"""Line -> number of the section and thread -> use."""


def judge(observed: Observed, settings: EmulationSettings) -> ProgramAdvice:
    """Judge every section of a program.

    Raises:
        AssayError: it had no transactions.
    """
    record = observed.record
    if record is None:
        trouble = f" {observed.trouble}" if observed.trouble else ""
        raise AssayError(
            f"{observed.command} began no transaction;{trouble} name the program itself, not one that starts"
            " it, have it take its locks by RTM (assay/locks/transaction.h), and let it work with them"
        )
    symbols = Symbols(record)
    groups, group_of = _groups(record, symbols)
    lines = _lines(record, group_of)
    sections = [_section(number, groups, lines, symbols, record) for number in range(len(groups))]
    sections.sort(key=lambda section: (-len(section.advice), -section.transactions))
    return ProgramAdvice(
        observed.command, observed.trouble, settings, tuple(sections), tuple(_notes(record, sections))
    )


def _notes(record: Mapping[str, Any], sections: Sequence[Section]) -> Iterator[str]:
    if not record["has_all_lines"]:
        yield "The program touches more lines than the record holds: conflicts on later ones are not seen."
    if not all(section.place.line for section in sections):
        yield "Some code has no line numbers: build it with -g."


def _groups(record: Mapping[str, Any], symbols: Symbols) -> tuple[list[_Group], list[int]]:
    numbers: dict[tuple[str, str, int], int] = {}
    groups: list[_Group] = []
    group_of: list[int] = []
    for site in record["sites"]:
        place = symbols.section(site_place(site))
        key = (place.function, place.file, place.line)
        if key not in numbers:
            numbers[key] = len(groups)
            groups.append(_Group(place, symbols.instruction(site["begin"])))
        groups[numbers[key]].sites.append(site)
        group_of.append(numbers[key])
    return groups, group_of


def _lines(record: Mapping[str, Any], group_of: Sequence[int]) -> _Lines:
    lines: dict[int, dict[tuple[int, int], _Use]] = defaultdict(dict)
    for entry in record["lines"]:
        use = lines[entry["line"]].setdefault((group_of[entry["site"]], entry["thread"]), _Use())
        for name in ("touched", "written", "conflicts"):
            setattr(use, name, getattr(use, name) + entry[name])
        use.read_bytes |= entry["read_bytes"]
        use.written_bytes |= entry["written_bytes"]
        use.read_at = use.read_at or entry["read_at"]
        use.written_at = use.written_at or entry["written_at"]
    return lines


def _section(
    number: int, groups: Sequence[_Group], lines: _Lines, symbols: Symbols, record: Mapping[str, Any]
) -> Section:
    group = groups[number]
    ended = group.ended()
    committed = max(ended["committed"], 1)
    writing = group.sum("writing")
    advice = [
        *_too_large(group, record),
        *_conflicts(number, groups, lines, symbols),
        *_ends(group, symbols),
        *_early_write(group, symbols),
        *_too_small(group),
    ]
    return Section(
        place=group.place,
        begins=group.begins,
        ended={name: count for name, count in ended.items() if count},
        instructions=group.sum("instructions") / committed,
        after_write=group.sum("instructions_after_write") / writing if writing else None,
        read_lines=group.sum("read_lines") / committed,
        written_lines=group.sum("written_lines") / committed,
        most_read_lines=group.most("most_read_lines"),
        most_written_lines=group.most("most_written_lines"),
        fullest_read=group.most("fullest_read"),
        fullest_written=group.most("fullest_written"),
        advice=tuple(sorted(advice, key=lambda each: each.guideline)),
        limits=tuple(_not_judged(group, symbols)),
    )


def _too_large(group: _Group, record: Mapping[str, Any]) -> Iterator[Advice]:
    ended = group.ended()
    share = ended["capacity"] / ended.total()
    if share < SHARE_THAT_ENDS:
        return
    yield Advice(
        1,
        f"{whole_percent(share)} of its transactions touch more lines than the cache keeps: they had read up"
        f" to {group.most('most_read_lines')} lines and written up to {group.most('most_written_lines')},"
        f" {group.most('fullest_written')} of these in one set, where {record['sets']} sets have room for"
        f" {record['ways']} each",
        "pack what it uses into fewer lines, or do less in it",
        (group.place,),
    )


def _ends(group: _Group, symbols: Symbols) -> Iterator[Advice]:
    transactions = group.ended().total()
    remedy = "do it before the section or after it"
    for end in _merged(group):
        if end["why"] not in _LIMITS or end["count"] / transactions < SHARE_THAT_ENDS:
            continue
        place = symbols.instruction(end["at"], end["calls"])
        share = whole_percent(end["count"] / transactions)
        yield Advice(
            2, f"{_what_ends(end, symbols)} ends {share} of its transactions, at {place}", remedy, (place,)
        )
    fresh = group.sum("fresh")
    if fresh / transactions >= SHARE_THAT_ENDS:
        site = next(site for site in group.sites if site["fresh_at"])
        place = symbols.instruction(site["fresh_at"])
        page = int(site["fresh_page"])
        yield Advice(
            2,
            f"{whole_percent(fresh / transactions)} of its transactions touch a page that is not in memory,"
            f" first at {place}: a processor ends them with a page fault",
            "write to that memory before, outside of transactions",
            (place,),
            symbols.data(page, page + 4095),
        )


def _merged(group: _Group) -> list[Mapping[str, Any]]:
    """Return the ends of a section, those at one instruction as one."""
    ends: dict[tuple[str, int], dict[str, Any]] = {}
    for site in group.sites:
        for end in site["ends"]:
            known = ends.setdefault((end["why"], end["at"]), {**end, "count": 0})
            known["count"] += end["count"]
    return list(ends.values())


def _what_ends(end: Mapping[str, Any], symbols: Symbols) -> str:
    called = symbols.called(end["at"], end["calls"])
    by = f", made by {re.sub('^__GI_+(libc_)?', '', called[-1])}," if called else ""
    if end["why"] == "page_fault":
        return f"a page fault at the address 0x{end['detail']:x}{by}"
    instruction = symbols.disassembled(end["at"])
    if end["why"] != "system_call" or instruction.startswith("cpuid"):
        return f"the instruction {instruction or 'there'}{by}"
    name = _system_calls().get(end["detail"], f"number {end['detail']}")
    if allocates := next((each for each in reversed(called) if _ALLOCATES.search(each)), ""):
        return f"an allocation, {allocates}, by the system call {name},"
    return f"the system call {name}{by}" if called[-1:] != [name] else f"the system call {name}"


@cache
def _system_calls() -> Mapping[int, str]:
    """Return the names of system calls by number, as the kernel's headers have them; none without those."""
    for header in Path("/usr/include").glob("**/asm/unistd_64.h"):
        text = header.read_text(encoding="utf-8")
        return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", text)}
    return {}


def _conflicts(number: int, groups: Sequence[_Group], lines: _Lines, symbols: Symbols) -> Iterator[Advice]:
    """Yield advice on lines that transactions of one thread write and those of another one touch.

    The chance is of two transactions that run at once, of this section and of any: what they touch counts,
    and not how often they met, which under the emulator says nothing.
    """
    mine = groups[number].threads()
    all_of: Counter[int] = Counter()
    for group in groups:
        all_of.update(group.threads())
    found: dict[tuple[bool, int], list[tuple[float, int, Range, int, int]]] = defaultdict(list)
    for line, uses in lines.items():
        worst = _worst(number, mine, all_of, uses)
        if worst is None:
            continue
        chance, use, other, with_number = worst
        overlap = (use.bytes & other.written_bytes) | (use.written_bytes & other.bytes)
        extent = _extent(overlap or use.bytes | other.bytes)
        where = symbols.data(line + extent[0], line + extent[1])
        found[(bool(overlap), with_number)].append((chance, line, where, use.place, other.place))
    for (is_true, with_number), entries in found.items():
        chance, _line, where, at, other_at = max(entries, key=lambda entry: entry[0])
        places = (symbols.instruction(at), symbols.instruction(other_at))
        more = f", and on {counted(len(entries) - 1, 'further line')}" if len(entries) > 1 else ""
        by = "the same code" if with_number == number else str(groups[with_number].place)
        odds = whole_percent(chance)
        if is_true:
            yield Advice(
                3,
                f"{odds} of pairs of its transactions and those of another thread conflict on {where}{more}:"
                f" {places[0]} uses it, and {places[1]}, in {by}, writes it",
                "write it in fewer transactions: one copy for each thread, or after the section",
                places,
                where,
            )
        else:
            yield Advice(
                1,
                f"{odds} of pairs of its transactions and those of another thread conflict on {where}{more},"
                f" though they use different bytes of the line (false sharing): {places[0]} uses some, and"
                f" {places[1]}, in {by}, others",
                "keep apart what different threads write: alignas(64)",
                places,
                where,
            )


def _worst(
    number: int, mine: Counter[int], all_of: Counter[int], uses: Mapping[tuple[int, int], _Use]
) -> tuple[float, _Use, _Use, int] | None:
    """Return the most likely conflict of a section on a line: chance, its use, the other one's, and whose."""
    worst: tuple[float, _Use, _Use, int] | None = None
    for (group, thread), use in uses.items():
        if group != number:
            continue
        touches, writes = use.touched / mine[thread], use.written / mine[thread]
        others: dict[int, list[tuple[int, _Use]]] = defaultdict(list)
        for (other_group, other_thread), other in uses.items():
            if other_thread != thread:
                others[other_thread].append((other_group, other))
        for other_thread, theirs in others.items():
            touched = sum(other.touched for _, other in theirs) / all_of[other_thread]
            written = sum(other.written for _, other in theirs) / all_of[other_thread]
            chance = writes * touched + (touches - writes) * written
            if chance >= CHANCE_OF_CONFLICT and (worst is None or chance > worst[0]):
                whose, other = max(theirs, key=lambda entry: (entry[1].written, entry[1].touched))
                worst = (chance, use, other, whose)
    return worst


def _extent(bits: int) -> tuple[int, int]:
    """Return the first and the last byte of a line that bits are set for."""
    return (bits & -bits).bit_length() - 1, bits.bit_length() - 1


def _early_write(group: _Group, symbols: Symbols) -> Iterator[Advice]:
    writing, committed = group.sum("writing"), group.ended()["committed"]
    if not writing:
        return
    after = group.sum("instructions_after_write") / writing
    instructions = group.sum("instructions") / committed
    if after < LONG_EXPOSED or after < SHARE_EXPOSED * instructions:
        return
    place = symbols.instruction(
        next(site["first_write_at"] for site in group.sites if site["first_write_at"])
    )
    yield Advice(
        4,
        f"it first writes what others see at {place}, {after:.0f} of its {instructions:.0f} instructions"
        " before it commits: whoever touches that line meanwhile ends it",
        "compute first, and write at the end",
        (place,),
    )


def _too_small(group: _Group) -> Iterator[Advice]:
    committed, followed = group.ended()["committed"], group.sum("followed")
    if not committed or followed / committed < SHARE_FOLLOWED:
        return
    instructions, gap = group.sum("instructions") / committed, group.sum("gap") / followed
    if instructions + gap >= SHORT:
        return
    yield Advice(
        5,
        f"its transactions have {instructions:.0f} instructions, and {whole_percent(followed / committed)} of"
        f" them are followed by another one after {gap:.0f}: to begin and to commit costs more than they do",
        "make one transaction of them, under one lock",
        (group.place,),
    )


def _not_judged(group: _Group, symbols: Symbols) -> Iterator[str]:
    for end in _merged(group):
        if end["why"] == "not_executable":
            instruction = symbols.disassembled(end["at"])
            place = symbols.instruction(end["at"], end["calls"])
            yield (
                f"{counted(end['count'], 'transaction')} could not be emulated:"
                f" {instruction or 'an instruction'} at {place} is not known to the emulator, as all of AVX;"
                " build that code with -mno-avx"
            )
        elif end["why"] == "too_long":
            yield f"{counted(end['count'], 'transaction')} did not end within a million branches"
