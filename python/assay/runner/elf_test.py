import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.runner.elf import build_id, layout_of


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a program linked with two build ids and with none, and with another function."""
    folder = tmp_path_factory.mktemp("elf")
    (folder / "a.c").write_text("int main(void) { return 0; }")
    (folder / "b.c").write_text("int main(void) { return 1; }")
    for name, source, wanted in (
        ("first", "a.c", "0x1234"),
        ("second", "a.c", "0x5678"),
        ("none", "a.c", "none"),
        ("other", "b.c", "0x1234"),
    ):
        command = ["gcc", source, "-o", name, f"-Wl,--build-id={wanted}"]
        subprocess.run(command, cwd=folder, check=True)
    return folder


def test_a_build_id_is_what_the_linker_wrote(programs: Path) -> None:
    assert [build_id(programs / name) for name in ("first", "second")] == ["1234", "5678"]


def test_what_has_no_build_id(programs: Path) -> None:
    assert [build_id(programs / name) for name in ("none", "a.c", "missing", ".")] == [""] * 4


def test_a_program_that_is_linked_again_has_another_build_id(programs: Path, tmp_path: Path) -> None:
    file = tmp_path / "program"
    for name, expected in {"first": "1234", "second": "5678"}.items():
        shutil.copy(programs / name, tmp_path / "new")
        (tmp_path / "new").replace(file)
        assert build_id(file) == expected


def test_a_layout_is_what_is_in_memory_without_the_build_id(programs: Path) -> None:
    assert layout_of(programs / "first") == layout_of(programs / "second")
    assert layout_of(programs / "first") != layout_of(programs / "other")
    assert layout_of(programs / "a.c") != layout_of(programs / "b.c")


@given(at=st.integers(0, 2**16), word=st.integers(0, 2**64 - 1))
def test_damaged_files_are_read_too(tmp_path_factory: pytest.TempPathFactory, at: int, word: int) -> None:
    data = bytearray(Path("/bin/true").read_bytes())
    # The header, or the table of sections at the end.
    place = at % 64 if at % 2 else len(data) - 8 - at % 2000
    struct.pack_into("<Q", data, min(place, len(data) - 8), word)
    file = tmp_path_factory.mktemp("damaged") / "program"
    file.write_bytes(data)
    assert build_id(file) is not None
    assert layout_of(file)
