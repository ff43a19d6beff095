"""Reads an experiment's TOML file. Every mistake ends in an error that names file, line, key and remedy."""

import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from assay.errors import AssayError
from assay.experiment.empirical import read_digests
from assay.experiment.lines import KeyPath
from assay.experiment.mistakes import MistakeError, dotted, located, mistake_of
from assay.experiment.read import check_conditions, read_experiment
from assay.experiment.types import Experiment, Program
from assay.words import shortened, show

_LARGEST_FILE = 2**20  # bytes
_LONG = re.compile(r"[\d_]{4000}")
_DEEP = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){30}""")
"""A key of more than 30 parts; tomllib takes time and memory by the square of their number."""


def load(path: Path, *, identical: bool = False, built: bool = True) -> Experiment:
    """Read the experiment in a file, and check that what it names is there.

    The file is TOML or, where its name ends in `.json`, a resolved experiment as a campaign's page offers it.
    Programs can be started, but one that a `build` step makes is not looked for, and files hold weights.
    `identical` is that of `parse`. Without `built`, no program is looked for.

    Raises:
        AssayError: the file cannot be read, or holds a mistake.
    """
    text = read_text(path, "an experiment's file")
    if path.suffix == ".json":
        experiment = _resolved(text, path, identical)
    else:
        experiment = parse(text, path, identical=identical)
    with located(*experiment.origin):
        for program in experiment.programs.values() if built else ():
            _check_program(("subjects", program.table, "program"), program)
        return experiment.altered(digests=read_digests(experiment))


def read_text(path: Path, what: str) -> str:
    """Read the text of a file that a user wrote; `what` it is, for messages.

    Raises:
        AssayError: it cannot be read, or cannot be such a file.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a named pipe would never open
            raise AssayError(f"{path}: is not a regular file; name {what}")
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        remedy = _similar(path) or f"name {what}"
        raise AssayError(f"{path}: cannot be read: {error.strerror}; {remedy}") from error
    except UnicodeDecodeError as error:
        raise AssayError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
    if len(data) > _LARGEST_FILE:
        raise AssayError(f"{path}: is larger than 1 MiB, so it is not {what}")
    if "\0" in text:
        raise AssayError(f"{path}: holds NUL bytes, so it is not text; save it as UTF-8")
    return text


def _similar(path: Path) -> str:
    """Return a hint with a file of a similar name, beside it or in `experiments`; or nothing."""
    known = {
        file.stem: file for folder in (Path("experiments"), path.parent) for file in folder.glob("*.toml")
    }
    close = [known[stem] for stem in get_close_matches(path.stem, known, n=1) if known[stem] != path]
    return f"did you mean {close[0]}?" if close else ""


def _resolved(text: str, path: Path, identical: bool) -> Experiment:
    try:
        experiment = Experiment.model_validate_json(text)
        check_conditions(experiment)
    except (ValidationError, MistakeError) as error:
        mistake = error if isinstance(error, MistakeError) else _mistake_in_json(error, text)
        why = ": ".join(filter(None, [dotted(mistake.key), mistake.why]))
        raise AssayError(
            f"{path}: is not a resolved experiment: {why}; take the experiment.json of a campaign's page"
        ) from None
    if identical and not experiment.identical:
        raise AssayError(f"{path}: compares different code; give the experiment's TOML file")
    return experiment


def _mistake_in_json(error: ValidationError, text: str) -> MistakeError:
    try:
        return mistake_of(error, json.loads(text))
    except (ValueError, RecursionError):
        return MistakeError((), "is not JSON")


def _check_program(key: KeyPath, program: Program) -> None:
    """Check that a program is there and can be executed, or is yet to be built."""
    file = program.path
    if not file.is_absolute():
        why = (
            f"there is no command {show(str(file))} on the PATH; install it, or write "
            f"{show(f'./{file}')} for a program beside the experiment's file"
        )
        raise MistakeError(key, why)
    if program.build is not None:
        return
    try:
        mode = file.stat().st_mode
    except OSError as error:
        why = f"there is no program {show(str(file))} ({error.strerror}); build it first"
        raise MistakeError(key, why) from error
    if not stat.S_ISREG(mode):
        raise MistakeError(key, f"{show(str(file))} is not a file; name the program itself")
    if not os.access(file, os.X_OK):
        raise MistakeError(key, f"{file} is not executable; chmod +x makes it so")


def parse(text: str, path: Path, *, identical: bool = False) -> Experiment:
    """Read an experiment from a file's text, without looking at programs or subjects.

    Args:
        text: the file's text.
        path: the file; programs are looked for from its folder.
        identical: compare every condition with a second copy of itself (`assay run --identical`).

    Raises:
        AssayError: the text holds a mistake.
    """
    with located(path, text):
        table = read_tables(text, path)
        return read_experiment(text, path, table, identical=identical)


def read_tables(text: str, path: Path) -> dict[str, Any]:
    """Return what a file's text holds, as TOML's parser gives it.

    Raises:
        AssayError: the text is not TOML.
    """
    if deep := _DEEP.search(text):
        number = text.count("\n", 0, deep.start()) + 1
        raise AssayError(f"{path}:{number}: a key is nested too deeply; no experiment needs that")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, text, str(error)) from error
    except ValueError as error:
        # Python reads no number of thousands of digits, and does not say where it stands.
        long = (number for number, line in enumerate(text.splitlines(), 1) if _LONG.search(line))
        why = "not TOML: a number has too many digits; use fewer"
        raise AssayError(f"{path}:{next(long, 1)}: {why}") from error


def made(tables: Mapping[str, Any], path: Path, *, identical: bool = False) -> Experiment:
    """Return the experiment that a command makes, as a file at a path with these tables would give it.

    Raises:
        AssayError: there is a mistake in it, which names no file, as the user has none.
    """
    with located(None, None):
        experiment = read_experiment(tomli_w.dumps(tables), path, tables, identical=identical)
    return experiment.altered(made=True)


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
