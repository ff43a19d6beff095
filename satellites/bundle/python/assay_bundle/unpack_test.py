"""A bundle that was changed, is truncated or hostile is refused in one line, and writes nothing elsewhere."""

import json
import os
import platform
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError
from assay_bundle import FORMAT
from assay_bundle.archive import write_zip
from assay_bundle.tree import SUMS, Entry, Tree
from assay_bundle.unpack import unpack

FACTS = {"format": FORMAT, "assay": "0.1.0", "system": "linux", "architecture": platform.machine()}


def tree(**changed: Any) -> Tree:
    facts = json.dumps({**FACTS, **changed}).encode()
    files = {"bundle.json": Entry(facts), "a/b.txt": Entry(b"b" * 5000), "run": Entry(b"#!/bin/sh\n", True)}
    sums = "".join(f"{sha256(files[path].read()).hexdigest()}  {path}\n" for path in sorted(files))
    return {**files, SUMS: Entry(sums.encode())}


def written(folder: Path, files: Tree) -> Path:
    write_zip(files, folder / "x.zip")
    return folder / "x.zip"


def refused(bundle: Path, folder: Path) -> str:
    target = folder / "target" / "inner"
    target.mkdir(parents=True)
    before = sorted(path for path in folder.rglob("*") if target not in path.parents)
    with pytest.raises(AssayError) as error:
        unpack(bundle, target, lambda: None)
    assert sorted(path for path in folder.rglob("*") if target not in path.parents) == before
    message = str(error.value)
    assert "\n" not in message
    return message


def with_member(bundle: Path, name: str, change: Callable[[zipfile.ZipInfo], None] = lambda _: None) -> Path:
    """Add a file to a bundle."""
    about = zipfile.ZipInfo(name)
    change(about)
    about.filename = name  # which the constructor would cut at a NUL
    with warnings.catch_warnings(), zipfile.ZipFile(bundle, "a") as packed:
        warnings.simplefilter("ignore")  # of a name that is there already
        packed.writestr(about, "evil")
    return bundle


def test_a_whole_bundle_is_unpacked_with_its_modes(tmp_path: Path) -> None:
    folder = tmp_path / "target"
    folder.mkdir()
    assert unpack(written(tmp_path, tree()), folder, lambda: None)["assay"] == "0.1.0"
    assert (folder / "a/b.txt").read_bytes() == b"b" * 5000
    assert [bool((folder / name).stat().st_mode & 0o100) for name in ("run", "a/b.txt")] == [True, False]


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "a/../../evil", "a//evil", "./evil", "a\\..\\evil\n", "a/"]
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    message = refused(with_member(written(tmp_path, tree()), name), tmp_path)
    assert "would be written elsewhere" in message


@pytest.mark.parametrize("kind", [0o120777, 0o020666, 0o010666, 0o040755])
def test_what_is_no_plain_file_is_refused(tmp_path: Path, kind: int) -> None:
    def change(about: zipfile.ZipInfo) -> None:
        about.create_system, about.external_attr = 3, kind << 16

    assert "no plain file" in refused(with_member(written(tmp_path, tree()), "link", change), tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [("run", "twice"), ("run/inner", "a file and a folder"), ("more", f"{SUMS} does not name more")],
)
def test_files_that_were_added_are_refused(tmp_path: Path, name: str, words: str) -> None:
    assert words in refused(with_member(written(tmp_path, tree()), name), tmp_path)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    bundle = written(tmp_path, tree() | {"run": Entry(b"#!/bin/sh\nevil\n", True)})
    assert "run was changed" in refused(bundle, tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    files = tree()
    del files["a/b.txt"]
    assert "lacks 1 file, the first a/b.txt" in refused(written(tmp_path, files), tmp_path)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_bundle_is_refused(tmp_path: Path, part: float) -> None:
    bundle = written(tmp_path, tree())
    content = bundle.read_bytes()
    bundle.write_bytes(content[: int(part * len(content))])
    assert "copy it again" in refused(bundle, tmp_path)


def test_a_flipped_bit_anywhere_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    bundle = written(tmp_path, tree())
    content = bundle.read_bytes()
    for place in range(0, len(content), 7):
        bundle.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        folder = tmp_path / str(place)
        folder.mkdir()
        with suppress(AssayError):
            unpack(bundle, folder, lambda: None)
            assert (folder / "a/b.txt").read_bytes() == b"b" * 5000


def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    bundle = written(tmp_path, tree() | {"bomb": Entry(bytes(50_000_000))})
    assert "times as large" in refused(bundle, tmp_path)


def test_files_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    bundle = written(tmp_path, tree() | {"large": Entry(os.urandom(100_000))})
    with zipfile.ZipFile(bundle, "a") as packed:
        for number in range(5):
            about = packed.getinfo("large")
            copy = zipfile.ZipInfo(f"copy{number}")
            for name in ("header_offset", "CRC", "compress_size", "file_size", "compress_type"):
                setattr(copy, name, getattr(about, name))
            packed.filelist.append(copy)
        packed.writestr("last", "")  # so that the list of files is written anew
    assert refused(bundle, tmp_path)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"architecture": "riscv128"}, "its programs are for linux riscv128"),
        ({"system": "plan9"}, "its programs are for plan9"),
        ({"format": FORMAT + 1}, "a newer Assay"),
        ({"format": "x"}, "another Assay"),
        ({"format": None}, "another Assay"),
    ],
)
def test_a_bundle_for_another_machine_or_assay_is_refused(
    tmp_path: Path, facts: dict[str, Any], words: str
) -> None:
    assert words in refused(written(tmp_path, tree(**facts)), tmp_path)


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b"{}", b"[" * 100_000])
def test_a_damaged_description_is_refused(tmp_path: Path, content: bytes) -> None:
    bundle = written(tmp_path, tree() | {"bundle.json": Entry(content)})
    assert "bundle.json is damaged" in refused(bundle, tmp_path)


def test_another_zip_is_no_bundle(tmp_path: Path) -> None:
    assert "no bundle of Assay" in refused(written(tmp_path, {"x": Entry(b"")}), tmp_path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    assert "there is no bundle" in refused(tmp_path / "none.zip", tmp_path / "a")
    assert "directory" in refused(tmp_path, tmp_path / "b").lower()
