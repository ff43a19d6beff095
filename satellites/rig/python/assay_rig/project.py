"""The project of a map or a function: which it is, and how the programs that check it are built."""

import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay import programs
from assay.errors import AssayError
from assay.runner.process import StopSignals, run_process
from assay.words import printable

Sanitizer = Literal["address", "thread"]

EXPERIMENT = "experiment.toml"
_FLAGS: Mapping[Sanitizer, str] = {
    # Not two checks of the latter that are wrong about sound code: tests/ubsan-ignorelist.txt.
    "address": "-fsanitize=address,undefined -fno-sanitize=vptr,object-size -fno-sanitize-recover=all",
    "thread": "-fsanitize=thread",
}
_SHOWN_LINES = 15
_SHOWN_OF_A_LINE = 500  # characters
_TELLING = re.compile(r"error[ :]|undefined reference|multiple definition", re.I)


@dataclass(frozen=True)
class Project:
    """A CMake project with maps or functions.

    Attributes:
        folder: where its CMakeLists.txt and its experiment are.
        build: where it is built.
        program: its program, which `assay run` starts, a path within `build`.
    """

    folder: Path
    build: Path
    program: Path


def find_project(name: str, directory: Path | None) -> tuple[Project | None, dict[str, Path]]:
    """Find the project of a subject: the one whose experiment.toml describes it in [subjects].

    Args:
        name: of the subject.
        directory: the folder of the project; by default the folder NAME or else the present one.

    Returns:
        The project, None where no experiment there describes the subject; and then which are described
        there and in other folders here, and each one's folder.

    Raises:
        AssayError: the folder has no experiment, it cannot be read, or there is no CMakeLists.txt beside it.
    """
    if directory and not directory.is_dir():
        raise AssayError(f"--directory: there is no folder {directory}")
    if directory and not (directory / EXPERIMENT).exists():
        raise AssayError(f"--directory: there is no {EXPERIMENT} in {directory}")
    known: dict[str, Path] = {}
    for folder in [directory] if directory else [Path(name), Path()]:
        described = dict(_described(folder / EXPERIMENT))
        if name in described:
            if not (folder / "CMakeLists.txt").is_file():
                raise AssayError(
                    f"{folder / EXPERIMENT} describes {name}, but there is no CMakeLists.txt beside it that "
                    "builds it"
                )
            program = folder / described[name]
            build = next((parent for parent in program.parents if _configured(parent)), program.parent)
            return Project(folder, build, program.relative_to(build)), known
        known |= dict.fromkeys(described, folder)
    for experiment in sorted(Path().glob(f"*/{EXPERIMENT}")) if directory is None else ():
        known = dict.fromkeys(dict(_described(experiment)), experiment.parent) | known
    return None, known


def build_rig(
    project: Project,
    sanitizer: Sanitizer | None,
    say: Callable[[str], None],
    show: Callable[[str], None],
    stop: StopSignals,
) -> Path:
    """Build the program that checks the maps of a project, with a sanitizer in a folder of its own.

    Args:
        project: whose program it is.
        sanitizer: what else is to watch the program.
        say: is told what begins.
        show: is given what the compiler said if it failed, safe for a terminal.
        stop: ends it.

    Returns:
        The program.

    Raises:
        AssayError: it cannot be built.
        Interrupted: the user asked to stop.
    """
    build = project.build / sanitizer if sanitizer else project.build
    return _built(project, build, "-rig", _settings(project, sanitizer), _Way(say, show, stop))


def build_functions(
    project: Project, say: Callable[[str], None], show: Callable[[str], None], stop: StopSignals
) -> tuple[Path, Path]:
    """Build the program that times the functions of a project, and the fuzzer that compares their answers.

    Args:
        project, say, show, stop: as of `build_rig`.

    Returns:
        The program and the fuzzer.

    Raises:
        AssayError: one cannot be built.
        Interrupted: the user asked to stop.
    """
    usual = _settings(project, None)
    way = _Way(say, show, stop)
    program = _built(project, project.build, "", usual, way)
    settings = [setting for setting in usual if not setting.startswith("-DCMAKE_CXX_COMPILER=")]
    settings.append(f"-DCMAKE_CXX_COMPILER={clang()}")
    return program, _built(project, project.build / "fuzz", "-fuzz", settings, way)


def clang() -> str:
    """Return the newest clang here: libFuzzer is a part of it."""
    found = [name for name in ("clang++", *(f"clang++-{n}" for n in range(14, 40))) if shutil.which(name)]
    if not found:
        raise AssayError("inputs are searched for by clang's fuzzer, and there is no clang++; install clang")
    return found[-1]


@dataclass(frozen=True)
class _Way:
    """How something is built: who is told what begins, who is given what a compiler said, what ends it."""

    say: Callable[[str], None]
    show: Callable[[str], None]
    stop: StopSignals


def _built(
    project: Project,
    build: Path,
    suffix: str,
    settings: Sequence[str],
    way: _Way,
) -> Path:
    """Build the program of a project whose name ends so, in a folder that is configured with settings."""
    program = build / f"{project.program}{suffix}"
    if _configured(build):
        settings = ()
    else:
        first = "" if build == project.build else "; this takes a minute or two the first time"
        way.say(f"configuring {build}{first}")
    # Always: make would not see that a target is new.
    _cmake(["-S", str(project.folder), "-B", str(build), *settings], way.show, way.stop)
    way.say(f"building {program}")
    at_once = str(len(os.sched_getaffinity(0)))
    _cmake(["--build", str(build), "--parallel", at_once, "--target", program.name], way.show, way.stop)
    if not program.is_file():
        raise AssayError(
            f"{program} was not built: the target {program.name} of {project.folder}/CMakeLists.txt builds "
            f"another file; let the program of {EXPERIMENT} stand beside it"
        )
    return program.absolute()


def _described(experiment: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the program of each subject that an experiment describes."""
    try:
        subjects: Any = tomllib.loads(experiment.read_text(encoding="utf-8")).get("subjects")
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        raise AssayError(f"{experiment} cannot be read: {error}") from error
    for table, described in subjects.items() if isinstance(subjects, dict) else ():
        if isinstance(described, dict) and isinstance(described.get("program"), str):
            for name in described.get("names", [table]):
                yield name, described["program"]


def _configured(build: Path) -> bool:
    return (build / "CMakeCache.txt").is_file()


def _settings(project: Project, sanitizer: Sanitizer | None) -> list[str]:
    """Return how a build is configured: as the usual one is, where that is there already."""
    usual = dict(_cache(project.build)) if _configured(project.build) else {}
    copied = ("CMAKE_CXX_COMPILER", "CMAKE_PREFIX_PATH", "assay_DIR")
    settings = {key: usual[key] for key in copied if usual.get(key)}
    prefix = programs.install_prefix()
    if not usual and prefix:
        settings["CMAKE_PREFIX_PATH"] = str(prefix)
    generator = []
    if sanitizer:
        flags = f"{usual.get('CMAKE_CXX_FLAGS', '')} {_FLAGS[sanitizer]} -fno-omit-frame-pointer"
        settings["CMAKE_CXX_FLAGS"] = flags.strip()
        settings["CMAKE_BUILD_TYPE"] = "Sanitized"  # of no flags but these, so that assertions hold
        settings["CMAKE_CXX_FLAGS_SANITIZED"] = "-O1 -g1"
        if shutil.which("ninja"):
            generator = ["-G", "Ninja"]
        if shutil.which("ccache"):
            settings["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    return [*generator, *(f"-D{key}={value}" for key, value in settings.items())]


def _cache(build: Path) -> Iterator[tuple[str, str]]:
    for line in (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        if entry := re.fullmatch(r"(\w+):\w+=(.*)", line):
            yield entry[1], entry[2]


def _cmake(arguments: list[str], show: Callable[[str], None], stop: StopSignals) -> None:
    cmake = shutil.which("cmake")
    if cmake is None:
        raise AssayError("cmake is not on the PATH; install it")
    ended = run_process(
        cmake, "", environment=os.environ, arguments=arguments, directory=Path.cwd(), stop=stop
    )
    if ended.exit_code == 0:
        return
    lines = (ended.stdout + ended.stderr).decode(errors="replace").splitlines()
    if programs.install_prefix() is None and any('provided by "assay"' in line for line in lines):
        raise AssayError(
            f"CMake does not find Assay's C++ libraries, which the project needs; {programs.REMEDY}"
        )
    command = " ".join(["cmake", *arguments])
    target = arguments[-1]
    if any(
        re.search(f"(unknown target|No rule to make target) .{re.escape(target)}", line) for line in lines
    ):
        says = (
            "find_package(assay REQUIRED COMPONENTS trial) and say "
            f"assay_subject({target.removesuffix('-rig')} SOURCE...)"
            if target.endswith("-rig")
            else "find_package(assay REQUIRED COMPONENTS fixture) and say "
            f"assay_fixture({target.removesuffix('-fuzz')} SOURCE...)"
        )
        raise AssayError(f"the project has no target {target}: let its CMakeLists.txt {says}")
    # What the compiler says first explains the most; a build system's lines stand before and after.
    first = next((number for number, line in enumerate(lines) if _TELLING.search(line)), 0)
    for line in lines[first : first + _SHOWN_LINES]:
        show(printable(line.expandtabs()[:_SHOWN_OF_A_LINE]))
    if len(lines) > first + _SHOWN_LINES:
        show(f"... and {len(lines) - first - _SHOWN_LINES} more lines")
    raise AssayError(f"{command} exited with {ended.exit_code}; correct what is said above")
