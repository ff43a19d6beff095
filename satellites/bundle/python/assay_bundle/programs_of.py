"""The programs of a campaign as files of its bundle, with what they are known to start and to read."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay import programs
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.plan.types import PlannedTrial
from assay.runner.allocators import library_of
from assay.runner.local import digest_of
from assay_bundle.libraries import libraries_of
from assay_bundle.moved import Moved
from assay_bundle.tree import PROGRAMS, Entry, Tree, added

_OURS = ("assay-trial", "assay-calibrate", "assay-meter")
_LOCK = "libassay_lock_memory.so"
_TOOLS = ("sh", "env", "true", "setarch", "taskset", "chrt", "ionice", "prlimit", "setpriv")
"""Programs of the system that a runner starts trials with."""
_SHELL_WORDS = re.compile(r"""[^\s;&|()<>'"`$=]+""")


def programs_of(
    experiment: Experiment, trials: Sequence[PlannedTrial], digests: dict[str, set[str]], moved: Moved
) -> tuple[Tree, list[str]]:
    """Return the files that trials start and read, and what a bundle does not carry of them.

    Args:
        experiment: as it was.
        trials: its planned trials.
        digests: program -> the digests that the campaign recorded of it.
        moved: where files are in the bundle.

    Raises:
        AssayError: a program is gone, or is not what was measured.
    """
    tree: Tree = {}
    lacking: list[str] = []
    beside: Path | None = None
    for program in sorted({trial.program for trial in trials}):
        file = _as_measured(program, digests.get(program, set()))
        added(tree, {moved.place(program).lstrip("/"): Entry(file, executable=True)})
        if file.name == "assay-trial":
            beside = file.parent
    locked = any(experiment.settings(condition).get("memory_locked") for condition in experiment.conditions())
    for name in (*_OURS, *([_LOCK] if locked else [])):
        file = beside / name if beside and (beside / name).is_file() else programs.find(name)
        added(tree, {f"{PROGRAMS}/{name}".lstrip("/"): Entry(file, executable=True)})
    for name in _TOOLS:
        added(tree, _on_path(name))
    added(tree, {"bin/sh": Entry(Path("/bin/sh").resolve(), executable=True)})
    for file, place in _named_files(experiment, trials, moved):
        added(tree, {place.lstrip("/"): Entry(file, executable=_is_executable(file))})
    for path, entry in list(tree.items()):
        if entry.executable and (named := _interpreter(entry.read())):
            lacking.append(f"what {path} starts and reads by itself, as it is a script")
            for word in named:
                added(tree, _on_path(word))
    added(tree, libraries_of([entry.content for entry in tree.values() if isinstance(entry.content, Path)]))
    for allocator in sorted({str(trial.request.get("allocator", "glibc")) for trial in trials}):
        added(tree, _allocator(allocator))
    return tree, lacking


def _as_measured(program: str, digests: set[str]) -> Path:
    """Return the file of a program that was measured: at its path, or in this checkout."""
    if len(digests) > 1:
        raise AssayError(f"{program} changed while the campaign ran, so no bundle can hold it: run it again")
    candidates = [Path(program)]
    if Path(program).name.startswith("assay-"):
        candidates.append(programs.find(Path(program).name))
    files = [file for file in candidates if file.is_file()]
    if not files:
        raise AssayError(f"{program} is gone, and a bundle holds the programs: build it as it was then")
    measured = [file for file in files if not digests or digest_of(str(file)) in digests]
    if not measured:
        raise AssayError(
            f"{program} has changed since the campaign, and a bundle holds what was measured: build it as it"
            " was then, or run the experiment again"
        )
    return measured[0]


def _named_files(
    experiment: Experiment, trials: Sequence[PlannedTrial], moved: Moved
) -> Iterator[tuple[Path, str]]:
    """Yield each file that the experiment names for its trials, and its place in the bundle."""
    for program in experiment.programs.values():
        if program.input:
            yield Path(program.input), moved.place(program.input)
    for name in experiment.digests:
        yield Path(name), moved.place(name)
    texts = {word for trial in trials if trial.extract != "protocol" for word in trial.arguments}
    texts |= {program.prepare for program in experiment.programs.values() if program.prepare}
    for word in sorted({word for text in texts for word in _SHELL_WORDS.findall(text)}):
        file = Path(experiment.folder, word)
        if "/" not in word and (found := shutil.which(word)):
            yield Path(found).resolve(), found
        if file.is_file():
            yield file, moved.place(str(file))


def _on_path(name: str) -> Tree:
    found = shutil.which(name)
    return {found.lstrip("/"): Entry(Path(found).resolve(), executable=True)} if found else {}


def _interpreter(content: bytes) -> list[str]:
    """Return the programs that the first line of a script names."""
    if not content.startswith(b"#!"):
        return []
    return content[2:256].partition(b"\n")[0].decode(errors="replace").split()[:2]


def _is_executable(file: Path) -> bool:
    return bool(file.stat().st_mode & 0o111)


def _allocator(name: str) -> Tree:
    """Return an allocator's library, and the program by which Assay finds it in a bundle."""
    library = library_of(name)
    if not library:
        return {}
    printed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    file = next(Path(line.rpartition(" => ")[2]) for line in printed.splitlines() if f"\t{library} (" in line)
    tree = {
        str(file).lstrip("/"): Entry(file.resolve(), executable=True),
        "sbin/ldconfig": Entry(Path("/sbin/ldconfig"), executable=True),
    }
    added(tree, libraries_of([file]))
    return tree
