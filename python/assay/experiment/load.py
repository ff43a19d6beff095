"""Reads an experiment's TOML file. Every mistake ends in an error that names file, line, key and remedy."""

import os
import re
import stat
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from assay.errors import AssayError
from assay.experiment.empirical import read_digests
from assay.experiment.lines import KeyPath
from assay.experiment.read import read_experiment
from assay.experiment.source import Source
from assay.experiment.tables import nearest, shortened, show
from assay.experiment.types import Experiment, Program

_LARGEST_FILE = 2**20  # bytes


def load(path: Path, *, identical: bool = False) -> Experiment:
    """Read the experiment in a file, and check that what it names is there.

    Programs can be started, but one that a `build` step makes is not looked for, and files hold weights.
    `identical` is that of `parse`.

    Raises:
        AssayError: the file cannot be read, or holds a mistake.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a named pipe would never open
            raise AssayError(f"{path}: is no regular file; name an experiment's file")
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise AssayError(f"{path}: cannot be read: {error.strerror}; name an experiment's file") from error
    except UnicodeDecodeError as error:
        raise AssayError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
    if len(data) > _LARGEST_FILE:
        raise AssayError(f"{path}: is larger than 1 MiB, so it is no experiment's file")
    if "\0" in text:
        raise AssayError(f"{path}: holds NUL bytes, so it is no text; save it as UTF-8")
    experiment = parse(text, path, identical=identical)
    source = Source(path, text)
    for subject, program in experiment.programs.items():
        _check_program(source, ("subjects", subject, "program"), program)
    return replace(experiment, digests=read_digests(source, experiment))


def _check_program(source: Source, key: KeyPath, program: Program) -> None:
    """Check that a program is there and can be executed, or is yet to be built."""
    file = program.path
    if not file.is_absolute():
        why = (
            f"there is no command {show(str(file))} on the PATH; install it, or write "
            f"{show(f'./{file}')} for a program beside the experiment's file"
        )
        raise source.mistake(key, why)
    if program.build is not None:
        return
    try:
        mode = file.stat().st_mode
    except OSError as error:
        why = f"there is no program {show(str(file))} ({error.strerror}); build it first"
        raise source.mistake(key, why) from error
    if not stat.S_ISREG(mode):
        raise source.mistake(key, f"{show(str(file))} is no file; name the program itself")
    if not os.access(file, os.X_OK):
        raise source.mistake(key, f"{file} is not executable; chmod +x makes it so")


def parse(text: str, path: Path, *, identical: bool = False) -> Experiment:
    """Read an experiment from a file's text, without looking at programs or subjects.

    Args:
        text: the file's text.
        path: the file; programs are looked for from its folder.
        identical: read it as if it said `identical = true`.

    Raises:
        AssayError: the text holds a mistake.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, text, str(error)) from error
    except ValueError as error:
        # Python reads no number of thousands of digits, and does not say where it stands.
        lines = text.splitlines()
        number = next((number for number, line in enumerate(lines, 1) if re.search(r"[\d_]{4000}", line)), 1)
        raise AssayError(f"{path}:{number}: not TOML: a number has too many digits; use fewer") from error
    except RecursionError as error:
        raise _too_deep(path) from error
    try:
        return read_experiment(Source(path, text), table, identical=identical)
    except RecursionError as error:
        raise _too_deep(path) from error


def _too_deep(path: Path) -> AssayError:
    return AssayError(f"{path}: its values are nested too deeply; no experiment needs that")


def _not_toml(path: Path, text: str, error: str) -> AssayError:
    """Return the error for a text that the parser refuses, with the line where it stopped."""
    lines = text.splitlines() or [""]
    why, _, at = error.partition(" (at line ")
    number = int(at.partition(",")[0]) if at else len(lines)
    if why == "Cannot overwrite a value":
        why = "a key is given twice; remove one of them"
    return AssayError(
        f"{path}:{number}: not TOML: {why.partition(' (at ')[0]}: {shortened(lines[number - 1].strip())}"
    )


def check_subjects(experiment: Experiment, known: Mapping[str, int | None]) -> None:
    """Check that every condition's subject exists and can run with that many threads.

    Args:
        experiment: the experiment.
        known: subject of `assay-trial` -> the most threads that it can run with, None without a limit.

    Raises:
        AssayError: a subject is unknown, defined twice, or asked to run with too many threads or with
            parameters that it cannot know.
    """
    source = Source(experiment.path, experiment.source)
    for subject in experiment.programs:
        if subject in known:
            why = "assay-trial has a subject of this name; choose another"
            raise source.mistake(("subjects", subject), why)
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        subject, threads = settings["subject"], settings["threads"]
        if subject in experiment.programs:
            continue
        if subject not in known:
            hint = nearest(subject, [*known, *experiment.programs])
            where = source.origin(experiment, condition, "subject")
            raise source.mistake(where, f'there is no subject "{subject}"; {hint}')
        if settings.get("parameters"):
            why = f"{subject} is a subject of assay-trial, which knows no parameters; leave them to others"
            raise source.mistake(source.origin(experiment, condition, "parameters"), why)
        limit = known[subject]
        if limit is not None and threads > limit:
            rule = ", ".join(
                f"{factor} = {show(level)}"
                for factor, level in condition.items()
                if experiment.changes[factor][level].keys() & {"subject", "threads"}
            )
            why = (
                f"{subject} cannot run with {threads} threads, its limit is {limit}; "
                f"leave the condition out: [design] exclude = [{{ {rule} }}]"
            )
            raise source.mistake(source.origin(experiment, condition, "threads"), why)


def check_processors(experiment: Experiment, available: Collection[int]) -> None:
    """Check that every processor that threads are pinned to is one that this process may use.

    Raises:
        AssayError: one is not.
    """
    for condition in experiment.conditions():
        pinning = experiment.settings(condition)["pinning"]
        missing = [cpu for cpu in pinning if cpu not in available] if isinstance(pinning, list) else []
        if missing:
            why = f"there is no processor {missing[0]} to run on; there are {_ranges(available)}"
            source = Source(experiment.path, experiment.source)
            raise source.mistake(source.origin(experiment, condition, "pinning"), why)


def _ranges(numbers: Collection[int]) -> str:
    """Write numbers as ranges: 0-3, 8."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
