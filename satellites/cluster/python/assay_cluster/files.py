"""The files that trials need on each host: programs, inputs, files of keys. Each is copied once."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from assay.errors import AssayError
from assay.experiment.workload import files_of
from assay.files import whole_file
from assay.plan.types import PlannedTrial
from assay.runner.machine import machine_facts
from assay.runner.process import CannotStartError, check_startable
from assay.store import Store
from assay.store.hosts import NeededFile, content_of
from assay.words import counted

_SPARE = 64 * 2**20
"""Bytes that are left free on the disk of a host, for what trials write."""


def needed(planned: Iterable[PlannedTrial], present: Iterable[PlannedTrial]) -> dict[str, str]:
    """Return the path that trials name -> where the file is on the host that leads the campaign.

    Args:
        planned: trials as they are in the store.
        present: the same trials in the present worktrees, which a resumed campaign has made anew.
    """
    places: dict[str, str] = {}
    for before, now in zip(planned, present, strict=True):
        for path, here in zip(_paths(before), _paths(now), strict=True):
            places |= {path: here, here: here}  # groups that are repeated name the present one
    return places


def _paths(trial: PlannedTrial) -> list[str]:
    given = trial.request.get("run", {}).get("input")
    keys = [str(distribution["file"]) for _, distribution in files_of(trial.request)]
    return [trial.program, *([given] if given else []), *keys]


def placed(trial: PlannedTrial, places: Mapping[str, str]) -> PlannedTrial:
    """Return a trial with the paths of its files on this host."""
    request = deepcopy(dict(trial.request))
    if "input" in request.get("run", {}):
        request["run"]["input"] = places[request["run"]["input"]]
    for _, distribution in files_of(request):
        distribution["file"] = places[distribution["file"]]
    return replace(trial, program=places[trial.program], request=request)


def fetch(store: Store, campaign: int, files: Iterable[NeededFile], folder: Path) -> dict[str, str]:
    """Copy the files of a campaign to this host; return the path where it leads -> the path here.

    A file that is here already, at the same path or from an earlier campaign, is not copied.

    Raises:
        AssayError: the disk is full, or a program cannot run here.
    """
    places = {}
    for file in files:
        here = Path(file.path)
        if not _holds(here, file.sha256):
            here = folder / file.sha256 / here.name
            if not _holds(here, file.sha256):
                _write(here, content_of(store, campaign, file.sha256), executable=file.executable)
        if file.executable:
            _check_program(here)
        places[file.path] = str(here)
    return places


def _holds(path: Path, sha256: str) -> bool:
    """Return whether a file is there with this content, and this user may read it."""
    try:
        return path.is_file() and _digest(path) == sha256
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _write(path: Path, content: bytes, *, executable: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(path.parent).free
        if free < len(content) + _SPARE:
            raise AssayError(
                f"{path.parent}: {free // 2**20} MiB are free, and {path.name} needs"
                f" {(len(content) + _SPARE) // 2**20 + 1} MiB: free some, or set XDG_CACHE_HOME"
            )
        with whole_file(path) as part:
            part.write_bytes(content)
            part.chmod(0o755 if executable else 0o644)
    except OSError as error:
        raise AssayError(f"{path}: cannot be written: {error.strerror}; set XDG_CACHE_HOME") from error


def _check_program(path: Path) -> None:
    """Raise an AssayError if a program is for another processor, or lacks a library here."""
    try:
        check_startable(str(path))
    except CannotStartError as error:
        raise AssayError(f"{error} (this host is {os.uname().machine})") from error
    with path.open("rb") as opened:
        start = opened.read(20)
    if start[:4] != b"\x7fELF":
        return
    with Path(sys.executable).open("rb") as opened:
        if start[4:6] + start[18:20] != (ours := opened.read(20))[4:6] + ours[18:20]:
            raise AssayError(f"{path.name} is for another processor than this host's, {os.uname().machine}")
    missing = sorted(name for name, library in _libraries(path).items() if library is None)
    if missing:
        raise AssayError(
            f"{path.name} needs {counted(missing, 'library', 'libraries')} that this host lacks:"
            f" {', '.join(missing)}; install them"
        )


def _libraries(program: Path) -> dict[str, Path | None]:
    """Return the libraries that a program loads here: name -> file, None if it is missing."""
    asked = ["ldd", str(program)]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout  # noqa: S603
    libraries: dict[str, Path | None] = {}
    for line in said.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if rest:
            libraries[name] = None if "not found" in rest else Path(rest.split(" (")[0])
    return libraries


def facts(places: Iterable[str]) -> dict[str, str]:
    """Return what may differ between hosts: processor, microcode, kernel, and the digests of libraries."""
    found = machine_facts()
    for program in map(Path, places):
        for name, library in _libraries(program).items():
            if library is not None:
                found.setdefault(f"library {name}", _digest(library)[:12])
    return found
