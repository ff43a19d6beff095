"""What an ELF file says of a program: its procedures, and which of its bytes are code."""

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha1
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

from assay.errors import AssayError
from assay.runner.elf import build_id
from assay.words import printable

_EXECUTED = 0x4
"""The flag of sections with code."""


@dataclass(frozen=True)
class Procedure:
    """Code with a name: a function, or all of a section that has no function, such as .plt.

    If clang gave each basic block a section (-fbasic-block-sections=all), it is a basic block.

    A linker can move functions, but not those in .init and .fini.

    Attributes:
        source: the file that it was compiled from, as the compiler names it, if it is known in that file
            alone; otherwise empty.
    """

    name: str
    address: int
    size: int
    movable: bool
    source: str = ""


@dataclass(frozen=True)
class Image:
    """A program as it was linked.

    Attributes:
        path: its file, absolute.
        build_id: hexadecimal; if it has none, made from its code.
        procedures: in the order of addresses, with names of which no two are alike; none overlap.
        code: address, offset in the file and size of each segment that is executed, in bytes.
    """

    path: Path
    build_id: str
    procedures: tuple[Procedure, ...]
    code: tuple[tuple[int, int, int], ...]

    def as_json(self) -> dict[str, Any]:
        """Return what `assay-layouts record` reads."""
        return {
            "program": str(self.path),
            "build_id": self.build_id,
            "procedures": [
                [each.name, each.address, each.size, int(each.movable)] for each in self.procedures
            ],
            "code": self.code,
        }


def read_image(path: Path) -> Image:
    """Read a program's file.

    Raises:
        AssayError: it cannot be read, is no program for x86-64, or was stripped.
    """
    named = printable(str(path))
    try:
        with path.open("rb") as file:
            if file.read(2) == b"#!":
                raise AssayError(f"{named}: is a script; name the program that runs it")
            file.seek(0)
            return _image(path, ELFFile(file))
    except OSError as error:
        raise AssayError(f"{named}: cannot be read: {error.strerror}") from None
    except (ELFError, UnicodeDecodeError, KeyError, AttributeError, ValueError, IndexError):
        # What the library raises where a file is damaged.
        raise AssayError(f"{named}: is not an ELF file, or a damaged one") from None


def symbol(procedure: str) -> str:
    """Return the symbol of a procedure: the second one of a name is NAME#2."""
    return procedure.partition("#")[0]


def _image(path: Path, elf: ELFFile) -> Image:
    named = printable(str(path))
    if elf["e_machine"] != "EM_X86_64" or elf["e_type"] not in {"ET_EXEC", "ET_DYN"}:
        raise AssayError(f"{named}: is not a program for x86-64")
    symbols = elf.get_section_by_name(".symtab")
    if not isinstance(symbols, SymbolTableSection):
        raise AssayError(
            f"{named}: has no symbol table: it was stripped; link it without -s, and do not strip it"
        )
    code = tuple(
        (segment["p_vaddr"], segment["p_offset"], segment["p_filesz"])
        for segment in elf.iter_segments("PT_LOAD")
        if segment["p_flags"] & 1
    )
    sections = [each for each in elf.iter_sections() if each["sh_flags"] & _EXECUTED and each["sh_size"]]
    procedures = _procedures(symbols, sections)
    hashed = sha1(usedforsecurity=False)
    for segment in elf.iter_segments("PT_LOAD"):
        if segment["p_flags"] & 1:
            hashed.update(segment.data())
    return Image(path.absolute(), build_id(path) or hashed.hexdigest(), tuple(procedures), code)


def _procedures(symbols: SymbolTableSection, sections: list[Section]) -> list[Procedure]:
    """Return the functions of each section with code, none twice and none that reaches into the next."""
    sizes: dict[int, tuple[int, int, str, str]] = {}
    source = ""
    for number, symbol in enumerate(symbols.iter_symbols()):
        kind = symbol["st_info"]["type"]
        if kind == "STT_FILE":  # of the local symbols that follow
            source = symbol.name
        # The first block of a function is the function itself.
        block = kind == "STT_NOTYPE" and ".__part." in symbol.name
        if symbol["st_shndx"] == "SHN_UNDEF" or not (block or kind in {"STT_FUNC", "STT_GNU_IFUNC"}):
            continue
        # One function may have several names: the one that says the most bytes, of these the first.
        local = symbol["st_info"]["bind"] == "STB_LOCAL"
        found = (symbol["st_size"], number, symbol.name, source if local else "")
        address = symbol["st_value"]
        if address not in sizes or found[0] > sizes[address][0]:
            sizes[address] = found
    found_procedures: list[tuple[int, Procedure]] = []
    for section in sections:
        begin, end = section["sh_addr"], section["sh_addr"] + section["sh_size"]
        inside = sorted(address for address in sizes if begin <= address < end)
        if not inside:
            found_procedures.append((-1, Procedure(section.name, begin, end - begin, movable=False)))
            continue
        movable = section.name not in {".init", ".fini"}
        for address, following in zip(inside, [*inside[1:], end], strict=True):
            size, number, name, known_in = sizes[address]
            # Without a size, as some in assembly are, it reaches to the next one.
            reach = min(address + size, following) if size else following
            found_procedures.append((number, Procedure(name, address, reach - address, movable, known_in)))
    # By their place in the symbol table, which follows the inputs of the link: not by addresses, which differ
    # where the program is linked in another order.
    found_procedures.sort(key=lambda each: each[0])
    seen: Counter[str] = Counter()
    named = []
    for _, each in found_procedures:
        seen[each.name] += 1
        name = each.name if seen[each.name] == 1 else f"{each.name}#{seen[each.name]}"
        named.append(replace(each, name=name))
    return sorted(named, key=lambda each: each.address)
