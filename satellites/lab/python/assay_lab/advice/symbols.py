"""From addresses to functions, lines and variables, by what binutils say of the program and its libraries."""

import bisect
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay_lab.advice.types import CodeLocation, Range

_SYSTEM = ("/lib/", "/lib64/", "/usr/", "linux-vdso")
"""Path prefixes of code that is not the user's own."""
_DATA = frozenset("bBdDrRvVuC")
"""Kinds of symbols, as `nm` has them, that are variables."""


@dataclass(frozen=True, eq=False)  # each is itself
class _Object:
    path: str
    bias: int
    segments: Sequence[Sequence[int]]

    @property
    def is_own(self) -> bool:
        return not self.path.startswith(_SYSTEM)


class Symbols:
    """The names of the addresses in a record."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        """Look up all instructions of a record at once."""
        self._objects = [_Object(**entry) for entry in record["objects"]]
        wanted: dict[_Object, set[int]] = {}
        for address in _instructions(record):
            if found := self._object_of(address):
                wanted.setdefault(found, set()).add(address)
        self._frames: dict[int, list[CodeLocation]] = {}
        for found, addresses in wanted.items():
            self._frames |= _frames_of(found, sorted(addresses))

    def section(self, address: int) -> CodeLocation:
        """Return the function of the user's that an instruction is in, and where it is called there."""
        own = self._own(address)
        return own[-1] if own else self._place(address)

    def instruction(self, address: int, calls: Sequence[int] = ()) -> CodeLocation:
        """Return the innermost place of the user's own code that an instruction is called from."""
        for each in (address, *(back - 1 for back in calls)):
            if own := self._own(each):
                return own[0]
        return self._place(address)

    def function(self, address: int) -> str:
        """Return the name of the function that an instruction is in."""
        return self._place(address).function

    def called(self, address: int, calls: Sequence[int]) -> list[str]:
        """Return which functions of libraries the user's code has called there, the last one first."""
        names: list[str] = []
        for each in (address, *(back - 1 for back in calls)):
            if self._own(each):
                break
            names.append(self.function(each))
        return names

    def data(self, first: int, last: int) -> Range:
        """Return the variable that a range of bytes belongs to."""
        found = self._object_of(first)
        if found:
            starts, entries = _variables(found.path)
            at = bisect.bisect_right(starts, first - found.bias) - 1
            if at >= 0 and first - found.bias < entries[at][0] + entries[at][1]:
                offset = first - found.bias - entries[at][0]
                return Range(first, last, entries[at][2] + (f"+{offset}" if offset else ""))
        return Range(first, last, "")

    def disassembled(self, address: int) -> str:
        """Return an instruction as an assembler has it, or "" where it is not known."""
        found = self._object_of(address)
        if found is None:
            return ""
        at = address - found.bias
        place = (f"--start-address={at:#x}", f"--stop-address={at + 15:#x}")
        text = _run("objdump", "--disassemble", "--no-show-raw-insn", *place, found.path)
        line = re.search(rf"^\s*{at:x}:\s*(.+)$", text, re.M)
        return " ".join(line[1].split("#")[0].split()) if line else ""

    def _object_of(self, address: int) -> _Object | None:
        for each in self._objects:
            if any(first <= address < last for first, last in each.segments):
                return each
        return None

    def _own(self, address: int) -> list[CodeLocation]:
        found = self._object_of(address)
        if found is None or not found.is_own:
            return []
        frames = self._frames.get(address, [])
        return [frame for frame in frames if frame.line and not frame.file.startswith(_SYSTEM)] or frames[-1:]

    def _place(self, address: int) -> CodeLocation:
        if frames := self._frames.get(address):
            return frames[-1]
        found = self._object_of(address)
        name = f"{Path(found.path).name}+0x{address - found.bias:x}" if found else f"0x{address:x}"
        return CodeLocation(name, "", 0, address)


def _instructions(record: Mapping[str, Any]) -> Iterable[int]:
    for site in record["sites"]:
        yield from (site["begin"], site_place(site), site["first_write_at"], site["fresh_at"])
        for end in site["ends"]:
            yield end["at"]
            yield from (back - 1 for back in end["calls"])
    for line in record["lines"]:
        yield from (line["read_at"], line["written_at"])


def site_place(site: Mapping[str, Any]) -> int:
    """Return the address that a section is known by: of XBEGIN, or of the call that it came back from."""
    section = int(site["section"])
    return section if section == site["begin"] else section - 1


def _frames_of(found: _Object, addresses: Sequence[int]) -> dict[int, list[CodeLocation]]:
    """Return each address's functions, the innermost first: those inlined there, and the one they are in."""
    if not Path(found.path).is_file():
        return {}
    frames: dict[int, list[CodeLocation]] = {}
    given = "".join(f"{address - found.bias:#x}\n" for address in addresses)
    here: list[CodeLocation] = []
    function = ""
    address = 0
    for line in _run("addr2line", "-a", "-f", "-C", "-i", "-e", found.path, given=given).splitlines():
        if re.fullmatch("0x[0-9a-f]+", line):
            address = int(line, 16) + found.bias
            here = frames.setdefault(address, [])
            function = ""
        elif not function:
            function = line.replace("(anonymous namespace)::", "")
        else:
            file, _, number = re.sub(r" \(discriminator \d+\)$", "", line).rpartition(":")
            known = number.isdecimal() and not file.startswith("?")
            if function != "??":
                here.append(
                    CodeLocation(function, file if known else "", int(number) if known else 0, address)
                )
            function = ""
    return frames


@cache
def _variables(path: str) -> tuple[list[int], list[tuple[int, int, str]]]:
    """Return the variables of a program or library in the order of their addresses: address, size, name."""
    entries = []
    for line in _run("nm", "-C", "-S", "--defined-only", path).splitlines():
        words = line.split(maxsplit=3)
        if len(words) == 4 and words[2] in _DATA:
            name = words[3].replace("(anonymous namespace)::", "")
            entries.append((int(words[0], 16), int(words[1], 16), name))
    entries.sort()
    return [entry[0] for entry in entries], entries


def _run(tool: str, *arguments: str, given: str = "") -> str:
    try:
        done = subprocess.run(  # noqa: S603
            [tool, *arguments], input=given, capture_output=True, text=True, check=False, errors="replace"
        )
    except OSError as error:
        raise AssayError(
            f"{tool} cannot be run ({error.strerror}); install Debian's package binutils"
        ) from error
    return done.stdout
