"""A zip and an image depend on nothing but the files, and are written whole or not at all."""

import gzip
import json
import platform
import resource
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay_bundle.archive import write_zip
from assay_bundle.image import write_image
from assay_bundle.tree import Entry, Tree, added, files_below

TREE: Tree = {"b/run": Entry(b"#!", executable=True), "a.txt": Entry(b"a" * 1000), "b/c/d": Entry(b"")}


def image(tree: Tree, folder: Path) -> bytes:
    folder.mkdir()
    write_image(tree, folder / "x.tar", "x-1", platform.machine(), folder)
    return (folder / "x.tar").read_bytes()


def blob(archive: tarfile.TarFile, reference: dict[str, object]) -> bytes:
    """Return what a reference names, which has its digest and size."""
    digest = str(reference["digest"]).removeprefix("sha256:")
    opened = archive.extractfile(f"blobs/sha256/{digest}")
    assert opened is not None
    content = opened.read()
    assert (sha256(content).hexdigest(), len(content)) == (digest, reference["size"])
    return content


def test_a_zip_does_not_depend_on_order_place_or_time(tmp_path: Path) -> None:
    files = tmp_path / "elsewhere"
    files.mkdir()
    for name, entry in TREE.items():
        (files / Path(name).name).write_bytes(entry.read())
    again = {name: Entry(files / Path(name).name, entry.executable) for name, entry in reversed(TREE.items())}
    for name, tree in {"one.zip": TREE, "two.zip": again}.items():
        write_zip(tree, tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as packed:
        assert packed.namelist() == sorted(TREE)
        assert {name: packed.read(name) for name in TREE} == {name: TREE[name].read() for name in TREE}


def test_an_image_is_a_layout_whose_digests_are_right(tmp_path: Path) -> None:
    content = image(TREE, tmp_path / "a")
    assert content == image(dict(reversed(TREE.items())), tmp_path / "b")
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        index = json.load(archive.extractfile("index.json") or BytesIO())
        manifest = json.loads(blob(archive, index["manifests"][0]))
        config = json.loads(blob(archive, manifest["config"]))
        layer = gzip.decompress(blob(archive, manifest["layers"][0]))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{sha256(layer).hexdigest()}"]
    assert config["config"]["Entrypoint"][0] == "/python/bin/python3"
    with tarfile.open(fileobj=BytesIO(layer)) as archive:
        members = {member.name: member for member in archive}
    assert members.keys() >= {*TREE, "b", "b/c", "proc", "sys", "dev", "tmp", "replayed"}
    assert (members["b/run"].mode, members["a.txt"].mode, members["tmp"].mode) == (0o755, 0o644, 0o1777)
    assert {(of.uid, of.gid, of.mtime) for of in members.values()} == {(0, 0, 0)}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("before", [b"", b"older"])
def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path, before: bytes) -> None:
    file = tmp_path / "x.zip"
    if before:
        file.write_bytes(before)
    with files_of_at_most(100), pytest.raises(AssayError, match="cannot write"):
        write_zip(TREE, file)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before] * bool(before)


def test_two_contents_of_one_path_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    tree = {"x": Entry(tmp_path / "a")}
    added(tree, {"x": Entry(b"a")})
    with pytest.raises(AssayError, match="x in a bundle"):
        added(tree, {"x": Entry(tmp_path / "b")})


def test_folders_of_a_tree_leave_out_what_is_skipped(tmp_path: Path) -> None:
    for name in ("a/b", "a/__pycache__/c", "tests/d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert files_below(tmp_path, "at", ["tests"]).keys() == {"at/a/b"}
