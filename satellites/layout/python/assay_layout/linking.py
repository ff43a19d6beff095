"""Links a program anew from its recorded link, in an order of ours or of lld's own."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from assay.layout.link import RECORD, link_again
from assay_layout.program import symbol

Places = list[tuple[str, int]]
"""Procedures and their addresses, in the order of addresses."""

LLD_ORDERS: Mapping[str, str] = {"lld, hfsort": "hfsort", "lld, cdsort": "cdsort"}
"""Optimisers of lld's own, by the word of its option: that of Ottoni and Maher 2017, and the cache-directed
sort of the authors of ext-TSP (Newell and Pupyrev 2018)."""

_ALIGNED = 64
"""Where the procedures of a script begin is a multiple of a cache's line, so that they share lines as they were drawn."""

_ORDERED = ".text.ordered"
"""The section of the program that a script makes."""

_BEGIN = "assay_ordered_begin"
"""The symbol with which that begins."""


@dataclass(frozen=True)
class Recorded:
    """A program whose link lld has recorded.

    Attributes:
        record: the record, beside the program.
        folder: where it is unpacked, and lld runs. It takes absolute paths as below this folder, so that
            files of ours are named from here.
    """

    record: Path
    folder: Path

    @classmethod
    def beside(cls, program: Path, folder: Path) -> "Recorded | None":
        """Return the recorded link of a program; None if there is none."""
        record = program.absolute().with_name(program.name + RECORD)
        return cls(record, folder / "inputs") if record.is_file() else None

    def at_places(self, places: Places, output: Path, *, gaps: bool) -> None:
        """Link it with its procedures in the order of these places, or with their gaps as well.

        Raises:
            CannotStartError: the link failed.
        """
        if gaps:
            self.folder.with_name("script").write_text(linker_script(places, gaps=True))
            self._link(output, ["-T", "../script"])
        else:
            self.folder.with_name("order").write_text(symbol_order(places))
            self._link(output, ["--symbol-ordering-file=../order", "--no-warn-symbol-ordering"])

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

    def with_relocations(self, output: Path) -> None:
        """Link it as it was, with the relocations that BOLT needs.

        Raises:
            CannotStartError: the link failed.
        """
        self._link(output, ["--emit-relocs"])

    def _link(self, output: Path, options: Sequence[str]) -> None:
        link_again(self.record, self.folder, output.absolute(), options, show_output=print)


def symbol_order(places: Places) -> str:
    """Return what `ld.lld --symbol-ordering-file` reads: a symbol on each line."""
    return "".join(f"{symbol(name)}\n" for name, _ in places)


def linker_script(places: Places, *, gaps: bool) -> str:
    """Return a script for GNU ld or lld, option -T, that puts procedures before all other code of a program.

    It finds those that gcc or clang gave a section of their own (-ffunction-sections).

    Args:
        places: of the procedures.
        gaps: whether each begins where it has its place, or as soon as it can.
    """
    names = {symbol(name) for name, _ in places}
    first = places[0][1] // _ALIGNED * _ALIGNED
    lines = []
    for name, address in places:
        if name.startswith("."):  # a section of the linker's own
            continue
        # From a symbol on: lld takes a number for an address, and GNU ld for a distance in the section.
        place = f". = MAX(., {_BEGIN} + {address - first:#x}); " if gaps else ""
        lines.append(f"    {place}*({_sections(symbol(name), names)})\n")
    begin = f"    HIDDEN({_BEGIN} = .);\n"
    return f"SECTIONS {{\n  {_ORDERED} : ALIGN({_ALIGNED}) {{\n{begin}{''.join(lines)}  }}\n}} INSERT BEFORE .text;\n"


def _sections(function: str, functions: Set[str]) -> str:
    """Return the names that compilers give the section of a function."""
    hot, dot, _ = function.partition(".cold")
    if dot:  # what a compiler split off as seldom run
        return f".text.unlikely.{hot} .text.split.{hot}"
    names = [f"{part}.{function}" for part in (".text", ".text.hot", ".text.startup", ".text.exit")]
    if f"{function}.cold" not in functions:
        names.append(f".text.unlikely.{function}")
    return " ".join(names)
