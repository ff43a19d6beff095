"""Identifies programs and their layouts by their ELF files."""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_MAGIC = b"\x7fELF\x02\x01"  # of 64 bits, the least significant byte first
_NOTE, _WITHOUT_BYTES = 7, 8  # kinds of sections
_IN_MEMORY = 2  # a flag of sections
_BUILD_ID = ".note.gnu.build-id"
_LINKER = ".interp"  # names the dynamic linker of an executable


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    content: bytes


def build_id(program: Path) -> str:
    """Return the build id of a program in hexadecimal; empty if it has none or cannot be read."""
    try:
        status = program.stat()
        return _build_id(program, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        return ""


@lru_cache(maxsize=64)
def _build_id(program: Path, *_unchanged: int) -> str:
    for section in _sections(program.read_bytes()):
        if section.name == _BUILD_ID and len(section.content) > 16:
            name_size, size = struct.unpack_from("<II", section.content)
            begin = 12 + (name_size + 3) // 4 * 4
            return section.content[begin : begin + size].hex()
    return ""


def is_static(program: Path) -> bool:
    """Return whether a program is an ELF file that loads no libraries."""
    names = [section.name for section in _sections(program.read_bytes())]
    return bool(names) and _LINKER not in names


def layout_of(program: Path) -> str:
    """Return a digest of what a program loads into memory; it changes with the layout.

    It excludes the build id and other notes, which some linkers draw at random. If the file is not a 64-bit
    ELF file, it is the digest of the whole file.

    Raises:
        OSError: it cannot be read.
    """
    data = program.read_bytes()
    digest = hashlib.sha256()
    sections = [
        section
        for section in _sections(data)
        if section.flags & _IN_MEMORY and section.kind not in {_NOTE, _WITHOUT_BYTES}
    ]
    for section in sections:
        digest.update(section.name.encode() + b"\0" + section.content)
    return digest.hexdigest() if sections else hashlib.sha256(data).hexdigest()


def _sections(data: bytes) -> Iterator[_Section]:
    """Yield the sections of an ELF file; nothing if it is damaged or another kind of file."""
    if not data.startswith(_MAGIC) or len(data) < 64:
        return
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    if size < 64 or table + size * count > len(data) or names_at >= count:
        return
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * index) for index in range(count)]
    *_, names, names_size = headers[names_at]
    texts = data[names : names + names_size]
    for name, kind, flags, _address, offset, length in headers:
        text = texts[name : texts.find(b"\0", name)].decode(errors="replace")
        yield _Section(text, kind, flags, b"" if kind == _WITHOUT_BYTES else data[offset : offset + length])
