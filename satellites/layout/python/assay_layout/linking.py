"""Links a program anew from its recorded link, in an order of ours or of lld's own."""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from assay.errors import AssayError
from assay.layout.link import RECORD, is_older, link_again
from assay.words import printable
from assay_layout.program import Image, read_image, symbol

Places = list[tuple[str, int]]
"""Procedures and their addresses, in the order of addresses."""

LLD_ORDERS: Mapping[str, str] = {"lld, hfsort": "hfsort", "lld, cdsort": "cdsort"}
"""Optimisers of lld's own, by the word of its option: that of Ottoni and Maher 2017, and the cache-directed
sort of the authors of ext-TSP (Newell and Pupyrev 2018)."""

_ALIGNED = 4096
"""Where the section of a script begins: a multiple of each cache's line, so that lines are as simulated."""

_ORDERED = ".text.ordered"
"""The section of the program that a script makes."""

_BEGIN = "assay_ordered_begin"
"""The symbol at the beginning of that section."""


@dataclass(frozen=True)
class Recorded:
    """A program whose link lld has recorded.

    Attributes:
        record: the record, beside the program.
        folder: where it is unpacked, and lld runs. It looks for absolute paths inside this folder, so
            that files of ours are named from here.
    """

    record: Path
    folder: Path

    @classmethod
    def beside(cls, program: Path, folder: Path) -> "Recorded | None":
        """Return the recorded link of a program; None if there is none.

        Raises:
            AssayError: it is of another build of the program.
            CannotStartError: the link failed.
        """
        record = program.absolute().with_name(program.name + RECORD)
        if not record.is_file():
            return None
        recorded, again = cls(record, folder / "inputs"), folder / "again"
        if not is_older(record, program):
            recorded._link(again, [])
            if _sizes(again) == _sizes(program):
                return recorded
        raise AssayError(
            f"{printable(str(record))}: is of another build of {printable(program.name)}; record the link"
            " when you build it (-Wl,--reproduce), or remove this file"
        )

    def at_places(
        self, places: Places, image: Image, output: Path, *, gaps: bool, relocations: bool = False
    ) -> None:
        """Link it with its procedures in the order of these places, or at these places.

        Args:
            places: of the procedures.
            image: the program as it was linked.
            output: the program.
            gaps: whether each begins at its place, or directly after the previous one.
            relocations: whether the program keeps what BOLT needs.

        Raises:
            CannotStartError: the link failed.
        """
        if gaps:
            self.folder.with_name("script").write_text(linker_script(places, image, gaps=True))
            options = ["-T", "../script"]
        else:
            self.folder.with_name("order").write_text(symbol_order(places, image))
            options = ["--symbol-ordering-file=../order", "--no-warn-symbol-ordering"]
        self._link(output, [*options, "--emit-relocs"] if relocations else options)

    def by_lld(self, word: str, calls: Sequence[tuple[str, str, int]], output: Path) -> None:
        """Link it in the order that lld finds by a call graph.

        Args:
            word: the optimiser, as lld's option names it.
            calls: names of callers and callees, and how often.
            output: the program.

        Raises:
            CannotStartError: the link failed.
        """
        graph = self.folder.with_name("graph")
        lines = [f"{symbol(one)} {symbol(other)} {times}\n" for one, other, times in calls]
        graph.write_text("".join(lines))
        self._link(
            output,
            [
                "--call-graph-ordering-file=../graph",
                f"--call-graph-profile-sort={word}",
                "--no-warn-symbol-ordering",
            ],
        )

    def _link(self, output: Path, options: Sequence[str]) -> None:
        link_again(self.record, self.folder, output.absolute(), options, show_output=print)


def symbol_order(places: Places, image: Image) -> str:
    """Return what `ld.lld --symbol-ordering-file` reads: a symbol on each line."""
    fixed = _fixed(image)
    names = dict.fromkeys(symbol(name) for name, _ in places if name not in fixed)
    return "".join(f"{name}\n" for name in names)


def linker_script(places: Places, image: Image, *, gaps: bool) -> str:
    """Return a script for GNU ld or lld, option -T, that puts procedures before all other code of a program.

    It finds those that gcc or clang gave a section of their own (-ffunction-sections). Of several functions
    with one name, it finds a static one if its object file has the name of its source file, and no other
    file has.

    Args:
        places: of the procedures.
        image: the program.
        gaps: whether each begins at its place, or directly after the previous one.
    """
    fixed = _fixed(image)
    stems: defaultdict[str, list[str]] = defaultdict(list)  # of the sources of functions with one name
    for each in image.procedures:
        if each.source:
            stems[symbol(each.name)].append(_pattern(PurePath(each.source).stem))
    sources = {each.name: each.source for each in image.procedures}
    named = Counter(symbol(name) for name in sources)
    first = places[0][1] // _ALIGNED * _ALIGNED
    lines = []
    for name, address in places:
        function = symbol(name)
        if name in fixed:
            continue
        # From a symbol on: lld takes a number for an address, and GNU ld for a distance in the section.
        place = f". = MAX(., {_BEGIN} + {address - first:#x}); " if gaps else ""
        sections = _sections(function, named)
        if named[function] == 1:
            found = f"*({' '.join(sections)})"
        elif sources.get(name):
            objects = _objects([_pattern(PurePath(sources[name]).stem)])
            found = " ".join(f"{each}({' '.join(sections)})" for each in objects)
        else:  # known to all files: it is in none of those that have one of their own
            others = f"EXCLUDE_FILE({' '.join(_objects(stems[function]))})" if stems[function] else ""
            found = f"*({' '.join(f'{others} {each}'.strip() for each in sections)})"
        lines.append(f"    {place}{found}\n")
    all_lines = f"    HIDDEN({_BEGIN} = .);\n{''.join(lines)}"
    return f"SECTIONS {{\n  {_ORDERED} : ALIGN({_ALIGNED}) {{\n{all_lines}  }}\n}} INSERT BEFORE .text;\n"


def _fixed(image: Image) -> set[str]:
    """Return what a linker does not move, such as .plt."""
    return {each.name for each in image.procedures if not each.movable}


def _objects(stems: Sequence[str]) -> list[str]:
    """Return patterns of the object files of sources: plain ones, those in folders, and those in archives."""
    return [pattern for stem in stems for pattern in (f"{stem}.*", f"*[/:]{stem}.*")]


def _pattern(name: str) -> str:
    """Return a pattern for a name, in which characters that mean something to linkers stand for any one."""
    return re.sub(r"[^A-Za-z0-9_.$+-]", "?", name)


def _sections(function: str, functions: Container[str]) -> list[str]:
    """Return patterns of the names that compilers give the section of a function."""
    hot, dot, _ = function.partition(".cold")
    if dot:  # what a compiler split off as seldom run
        return [f"{part}.{_pattern(hot)}" for part in (".text.unlikely", ".text.split")]
    parts = [".text", ".text.hot", ".text.startup", ".text.exit"]
    if f"{function}.cold" not in functions:
        parts.append(".text.unlikely")
    return [f"{part}.{_pattern(function)}" for part in parts]


def _sizes(program: Path) -> dict[str, int]:
    """Return the sizes of a program's procedures."""
    return {each.name: each.size for each in read_image(program).procedures}
