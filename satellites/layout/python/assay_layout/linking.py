"""Links a program anew from its recorded link, in an order of ours or of lld's own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.layout.link import RECORD, is_older, link_again
from assay.words import printable
from assay_layout.program import read_image, symbol

LLD_ORDERS: Mapping[str, str] = {"lld, hfsort": "hfsort", "lld, cdsort": "cdsort"}
"""Optimisers of lld's own, by the word of its option: that of Ottoni and Maher 2017, and the cache-directed
sort of the authors of ext-TSP (Newell and Pupyrev 2018)."""


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

    def in_order(self, places: Iterable[tuple[str, int]], output: Path) -> None:
        """Link it with its procedures in the order of these places.

        Raises:
            CannotStartError: the link failed.
        """
        order = self.folder.with_name("order")
        order.write_text("".join(f"{symbol(name)}\n" for name, _ in places))
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


def _sizes(program: Path) -> dict[str, int]:
    """Return the sizes of a program's procedures."""
    return {each.name: each.size for each in read_image(program).procedures}
