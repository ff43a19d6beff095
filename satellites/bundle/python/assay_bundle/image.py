"""Writes a bundle as an OCI image, without a daemon and without another program.

It is an archive of an image layout (github.com/opencontainers/image-spec) with one layer, the bundle's files:
`podman run oci-archive:FILE` and `docker load` take it.
"""

import gzip
import json
import tarfile
from collections.abc import Iterable
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any

from assay.files import whole_file
from assay_bundle.enter import COMMAND, ENVIRONMENT
from assay_bundle.tree import Tree

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_EMPTY = {"dev": 0o755, "proc": 0o755, "replayed": 0o755, "sys": 0o755, "tmp": 0o1777}
_MEDIA = "application/vnd.oci.image"


def write_image(tree: Tree, file: Path, name: str, architecture: str, folder: Path) -> None:
    """Write an image, whole or not at all.

    Args:
        tree: its files.
        file: what is written.
        name: its reference.
        architecture: of its programs, as `uname -m` says it.
        folder: an empty one, for the layer.

    Raises:
        AssayError: it cannot be written.
    """
    layer = folder / "layer"
    unpacked = sha256()
    with layer.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as packed:
        _write_tar(_Digesting(packed, unpacked), tree)
    with layer.open("rb") as written:
        digest = sha256()
        while chunk := written.read(2**20):
            digest.update(chunk)
    blobs: dict[str, bytes | Path] = {digest.hexdigest(): layer}
    described = {
        "mediaType": f"{_MEDIA}.layer.v1.tar+gzip",
        "digest": f"sha256:{digest.hexdigest()}",
        "size": layer.stat().st_size,
    }
    config = {
        "architecture": _ARCHITECTURES.get(architecture, architecture),
        "os": "linux",
        "config": {
            "Entrypoint": [*COMMAND],
            "Env": [f"{variable}={value}" for variable, value in ENVIRONMENT.items()],
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{unpacked.hexdigest()}"]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}.manifest.v1+json",
        "config": _blob(blobs, f"{_MEDIA}.config.v1+json", config),
        "layers": [described],
    }
    reference = {
        **_blob(blobs, f"{_MEDIA}.manifest.v1+json", manifest),
        "annotations": {"org.opencontainers.image.ref.name": name},
    }
    index = {"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": [reference]}
    files: dict[str, bytes | Path] = {
        **{f"blobs/sha256/{name}": content for name, content in blobs.items()},
        "index.json": _json(index),
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
    }
    with whole_file(file) as part, tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(files):
            _add(archive, path, files[path], 0o644)


def _write_tar(output: "_Digesting", tree: Tree) -> None:
    with tarfile.open(fileobj=output, mode="w|", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        for folder in sorted({*_folders(tree), *_EMPTY}):
            about = tarfile.TarInfo(folder)
            about.type, about.mode = tarfile.DIRTYPE, _EMPTY.get(folder, 0o755)
            archive.addfile(about)
        for path in sorted(tree):
            _add(archive, path, tree[path].content, 0o755 if tree[path].executable else 0o644)


class _Digesting:
    """A file that also gives what is written to it to a digest."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, digest: Any) -> None:
        self._file, self._digest = file, digest

    def write(self, data: bytes) -> int:
        """Write some bytes."""
        self._digest.update(data)
        return self._file.write(data)


def _folders(paths: Iterable[str]) -> set[str]:
    above = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    return above - {"."}


def _add(archive: tarfile.TarFile, path: str, content: bytes | Path, mode: int) -> None:
    about = tarfile.TarInfo(path)
    about.mode = mode
    if isinstance(content, bytes):
        about.size = len(content)
        archive.addfile(about, BytesIO(content))
        return
    about.size = content.stat().st_size
    with content.open("rb") as opened:
        archive.addfile(about, opened)


def _blob(blobs: dict[str, bytes | Path], media_type: str, value: Any) -> dict[str, Any]:
    """Add a JSON text to the blobs, and return what refers to it."""
    content = _json(value)
    digest = sha256(content).hexdigest()
    blobs[digest] = content
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
