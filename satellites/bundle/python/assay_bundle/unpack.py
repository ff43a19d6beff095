"""Unpacks a bundle that may be damaged, changed or hostile: it checks all names before it writes."""

import json
import platform
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from assay.errors import AssayError
from assay.words import counted, printable
from assay_bundle import FORMAT
from assay_bundle.tree import SUMS

_LARGEST_ABOUT = 2**26  # bytes of bundle.json or SHA256SUMS
_LARGEST_RATIO = 200  # of the unpacked files to the packed ones; ours have about 3
_CHUNK = 2**20
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")


def unpack(bundle: Path, folder: Path, check: Callable[[], None]) -> dict[str, Any]:
    """Check a bundle and write its files into a folder; return the facts in its bundle.json.

    Args:
        bundle: the file.
        folder: an empty one.
        check: is called before each file, and raises what ends it.

    Raises:
        AssayError: it is not a bundle, or is truncated, was changed, is for another machine or another
            version of Assay, has names that lead elsewhere, or does not fit on the disk.
    """
    try:
        with zipfile.ZipFile(bundle) as packed:
            members = _members(packed, bundle)
            known = _facts(packed, members, bundle)
            digests = _digests(packed, members, bundle)
            _check_space(members, bundle, folder)
            for path, member in sorted(members.items()):
                check()
                if _write(packed, member, folder / path, bundle) != digests.get(path) and path != SUMS:
                    _refuse(bundle, f"{path} was changed: it is not what {SUMS} says")
    except FileNotFoundError as error:
        raise AssayError(f"there is no bundle {bundle}; assay bundle N writes one") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        _refuse(bundle, f"it is damaged or not a bundle ({error}); copy it again", error)
    except OSError as error:
        where = error.filename or bundle
        raise AssayError(
            f"cannot unpack {bundle}: {where}: {error.strerror}; set TMPDIR to another place"
        ) from error
    return known


def _refuse(bundle: Path, why: str, cause: BaseException | None = None) -> NoReturn:
    raise AssayError(f"{bundle} cannot be replayed: {printable(why)}") from cause


def _members(packed: zipfile.ZipFile, bundle: Path) -> dict[str, zipfile.ZipInfo]:
    """Return path -> file, all of which are plain files with paths below the bundle."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in packed.infolist():
        path = member.orig_filename
        parts = PurePosixPath(path).parts
        if path.startswith("/") or ".." in parts or path != "/".join(parts) or not path.isprintable():
            _refuse(bundle, f"its file {path!r} would be written elsewhere")
        if stat.S_IFMT(member.external_attr >> 16) not in {0, stat.S_IFREG}:
            _refuse(bundle, f"{path} is no plain file, and a bundle has nothing else")
        if path in members:
            _refuse(bundle, f"it has {path} twice")
        members[path] = member
    folders = {str(above) for path in members for above in PurePosixPath(path).parents}
    if both := sorted(folders & members.keys()):
        _refuse(bundle, f"{both[0]} is a file and a folder in it")
    size = bundle.stat().st_size
    if sum(member.compress_size for member in members.values()) > size:
        _refuse(bundle, "its files overlap each other")
    if sum(member.file_size for member in members.values()) > _LARGEST_RATIO * size:
        _refuse(bundle, f"unpacked it would be more than {_LARGEST_RATIO} times as large")
    return members


def _facts(packed: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], bundle: Path) -> dict[str, Any]:
    """Return what bundle.json says, which this machine and this Assay can replay."""
    try:
        known = json.loads(_text(packed, members, "bundle.json", bundle))
        system, version = (known["system"], known["architecture"]), known["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        _refuse(bundle, "its bundle.json is damaged", error)
    if version != FORMAT:
        age = "a newer" if isinstance(version, int) and version > FORMAT else "another"
        _refuse(bundle, f"{age} Assay ({known.get('assay')}) wrote it, in format {version}; use that Assay")
    here = (platform.system().lower(), platform.machine())
    if system != here:
        _refuse(bundle, f"its programs are for {' '.join(map(str, system))}, and this is {' '.join(here)}")
    return dict(known)


def _digests(packed: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], bundle: Path) -> dict[str, str]:
    """Return path -> its digest, of exactly the files that are there."""
    digests: dict[str, str] = {}
    for line in _text(packed, members, SUMS, bundle).splitlines():
        if not (match := _SUM.fullmatch(line)) or match[2] in digests:
            _refuse(bundle, f"its {SUMS} is damaged")
        digests[match[2]] = match[1]
    if missing := sorted(digests.keys() - members.keys()):
        _refuse(bundle, f"it was changed: it lacks {counted(missing, 'file')}, the first {missing[0]}")
    if more := sorted(members.keys() - digests.keys() - {SUMS}):
        _refuse(bundle, f"it was changed: {SUMS} does not name {more[0]}")
    return digests


def _text(packed: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], path: str, bundle: Path) -> str:
    if path not in members:
        _refuse(bundle, f"it has no {path}, so it is no bundle of Assay")
    if members[path].file_size > _LARGEST_ABOUT:
        _refuse(bundle, f"its {path} is too large")
    try:
        return packed.read(members[path]).decode()
    except UnicodeDecodeError as error:
        _refuse(bundle, f"its {path} is damaged", error)


def _check_space(members: Mapping[str, zipfile.ZipInfo], bundle: Path, folder: Path) -> None:
    needed, free = sum(member.file_size for member in members.values()), shutil.disk_usage(folder).free
    if needed > free:
        raise AssayError(
            f"{bundle} needs {needed / 1e6:.0f} MB unpacked, and {folder.parent} has {free / 1e6:.0f} MB; set"
            " TMPDIR to another place"
        )


def _write(packed: zipfile.ZipFile, member: zipfile.ZipInfo, file: Path, bundle: Path) -> str:
    """Write a file, which is not there yet, and return its digest."""
    file.parent.mkdir(parents=True, exist_ok=True)
    digest, left = sha256(), member.file_size
    with packed.open(member) as content, file.open("xb") as written:
        while chunk := content.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                _refuse(bundle, f"{member.filename} is larger than it says")
            digest.update(chunk)
            written.write(chunk)
    if member.external_attr >> 16 & 0o100:
        file.chmod(0o755)
    return digest.hexdigest()
