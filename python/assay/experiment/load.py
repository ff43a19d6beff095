"""Reads an experiment's TOML file. Every mistake ends in an error that names file, line, key and remedy."""

import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.errors import AssayError
from assay.experiment.lines import KeyPath, Lines
from assay.experiment.schema import NAME_PATTERN, Document, Settings, Table, nearest
from assay.experiment.types import Blocks, Comparison, Design, Experiment, Level, Program

_DEFAULTS = {
    "threads": 1,
    "pinning": "cores_first",
    "keys": "dense",
    "duration_ms": 1000,
    "interval_ms": 10,
}
_REQUIRED = ("subject", "key_range", "mix")
_MOST_TRIALS = 200_000  # a plan is made in memory, at some 3 kB a trial
_LARGEST_FILE = 2**20  # bytes
_LOWER_IS_BETTER = re.compile(r"(_ns|_ms|_bytes|_per_operation|faults|switches|migrations)$")

AnyTable = TypeVar("AnyTable", bound=Table)


def load(path: Path) -> Experiment:
    """Read the experiment in a file and check that the programs that it names can be started.

    Raises:
        AssayError: the file cannot be read, or holds a mistake.
    """
    try:
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
    experiment = parse(text, path)
    for subject, described in experiment.programs.items():
        program = described.path
        key = ("subjects", subject, "program")
        try:
            mode = program.stat().st_mode
        except (OSError, ValueError) as error:  # ValueError: the path holds a NUL
            reason = error.strerror if isinstance(error, OSError) else error
            why = f"there is no program {_show(str(program))} ({reason}); build it first"
            raise _mistake(path, Lines(text), key, why) from error
        if not stat.S_ISREG(mode):
            raise _mistake(
                path, Lines(text), key, f"{_show(str(program))} is no file; name the program itself"
            )
        if not os.access(program, os.X_OK):
            raise _mistake(path, Lines(text), key, f"{program} is not executable; chmod +x makes it so")
    return experiment


def parse(text: str, path: Path) -> Experiment:
    """Read an experiment from a file's text, without looking at programs or subjects.

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
        return _Reader(path, Lines(text), text).experiment(table)
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
        f"{path}:{number}: not TOML: {why.partition(' (at ')[0]}: {_shortened(lines[number - 1].strip())}"
    )


def check_subjects(experiment: Experiment, known: Mapping[str, int | None]) -> None:
    """Check that every condition's subject exists and can run with that many threads.

    Args:
        experiment: the experiment.
        known: subject of `assay-trial` -> the most threads that it can run with, None without a limit.

    Raises:
        AssayError: a subject is unknown, defined twice, or asked to run with too many threads.
    """
    lines = Lines(experiment.source)
    for subject in experiment.programs:
        if subject in known:
            why = "assay-trial has a subject of this name; choose another"
            raise _mistake(experiment.path, lines, ("subjects", subject), why)
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        subject, threads = settings["subject"], settings["threads"]
        if subject in experiment.programs:
            continue
        if subject not in known:
            hint = nearest(subject, [*known, *experiment.programs])
            where = _origin(experiment, condition, "subject")
            raise _mistake(experiment.path, lines, where, f'there is no subject "{subject}"; {hint}')
        limit = known[subject]
        if limit is not None and threads > limit:
            rule = ", ".join(
                f"{factor} = {_show(level)}"
                for factor, level in condition.items()
                if experiment.changes[factor][level].keys() & {"subject", "threads"}
            )
            why = (
                f"{subject} cannot run with {threads} threads, its limit is {limit}; "
                f"leave the condition out: [design] exclude = [{{ {rule} }}]"
            )
            raise _mistake(experiment.path, lines, _origin(experiment, condition, "threads"), why)


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
            raise _mistake(
                experiment.path, Lines(experiment.source), _origin(experiment, condition, "pinning"), why
            )


def _ranges(numbers: Collection[int]) -> str:
    """Write numbers as ranges: 0-3, 8."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _origin(experiment: Experiment, condition: Mapping[str, Level], setting: str) -> KeyPath:
    """Return the key that gives a setting its value in a condition."""
    for factor, level in condition.items():
        if setting in experiment.changes[factor][level]:
            if factor == setting:
                return ("factors", factor, experiment.factors[factor].index(level))
            return ("factors", factor, str(level), setting)
    return ("trial", setting)


def _mistake(path: Path, lines: Lines, key: KeyPath, why: str) -> AssayError:
    name = _dotted(key)
    return AssayError(f"{path}:{lines.of(key)}: {name + ': ' if name else ''}{why}")


def _dotted(key: KeyPath) -> str:
    """Write a key as TOML does."""
    parts = [part for part in key if isinstance(part, str)]
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else _show(part) for part in parts)


def _show(value: Any) -> str:
    """Write a value much as TOML does, shortened."""
    return _shortened(json.dumps(value, ensure_ascii=False, default=str))


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}..."


_EXPLANATIONS = {
    "missing": "is missing; add it",
    "unknown_key": "unknown key{place}; {hint}",
    "value_error": "{error}",
    "greater_than_equal": "{value} is too small; use {ge} or more",
    "greater_than": "{value} is too small; use more than {gt}",
    "less_than_equal": "{value} is too large; use {le} or less",
    "less_than": "{value} is too large; use less than {lt}",
    "string_pattern_mismatch": "{value} is no name; use small letters, {others}, with a letter first",
    "string_too_short": "is empty; write something in the quotes",
    "string_too_long": "{value} is too long; use at most {max_length} characters",
    "literal_error": "{value} is not one of {expected}",
    "int_type": "{value} is not a whole number; write digits only, without quotes",
    "float_type": "{value} is not a number; write one without quotes",
    "finite_number": "{value} is not a finite number; write one",
    "string_type": '{value} is not a string; write it in quotes: "..."',
    "list_type": "{value} is not a list; write one: [...]",
    "dict_type": "{value} is not a table; write one: {{ key = value }}",
    "model_type": "{value} is not a table; write one: {{ key = value }}",
}


def _explain(error: ErrorDetails, table: str) -> str:
    """Say in plain words what pydantic found in a table of the text."""
    context = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in error.get("ctx", {}).items()
    }
    others = "digits, _ and -" if "_-" in str(context.get("pattern")) else "digits and _"
    place = f" in [{table}]" if table else ""
    return _EXPLANATIONS[error["type"]].format(
        value=_show(error["input"]), place=place, others=others, **context
    )


class _Reader:
    """Turns the parsed text into an `Experiment`; raises at the first group of mistakes."""

    def __init__(self, path: Path, lines: Lines, source: str) -> None:
        self._path = path
        self._lines = lines
        self._source = source

    def experiment(self, table: dict[str, Any]) -> Experiment:
        document = self._table(Document, table, ())
        fixed = _DEFAULTS | document.trial.given()
        if not document.factors:
            raise self._mistake(("factors",), "at least one factor is needed")
        changes = {name: self._factor(name, levels) for name, levels in document.factors.items()}
        self._refuse_two_sources(changes, document.trial.given())
        factors = {name: tuple(levels) for name, levels in changes.items()}
        comparison = document.comparison
        self._known(("comparison", "factor"), comparison.factor, factors, "factor")
        baseline = self._level(("comparison", "baseline"), comparison.factor, comparison.baseline, factors)
        if len(factors[comparison.factor]) == 1:
            raise self._mistake(("factors", comparison.factor), "a comparison needs at least two levels")
        lower = _LOWER_IS_BETTER.search(comparison.metric)
        experiment = Experiment(
            name=document.name,
            question=document.question,
            factors=factors,
            comparison=Comparison(
                metric=comparison.metric,
                factor=comparison.factor,
                baseline=baseline,
                smallest_effect_percent=comparison.smallest_effect_percent,
                better=comparison.better or ("lower" if lower else "higher"),
            ),
            design=Design(
                blocks=Blocks(document.design.blocks),
                seed=document.design.seed,
                exclude=tuple(
                    self._rule(index, rule, factors) for index, rule in enumerate(document.design.exclude)
                ),
                key_range_percent=document.perturb.key_range,
            ),
            programs={
                name: Program(self._path.parent.absolute() / subject.program)
                for name, subject in document.subjects.items()
            },
            fixed=fixed,
            changes=changes,
            source=self._source,
            path=self._path,
        )
        self._check_conditions(experiment)
        return experiment

    def _mistake(self, key: KeyPath, why: str) -> AssayError:
        return _mistake(self._path, self._lines, key, why)

    def _table(self, model: type[AnyTable], value: Any, at: KeyPath, skip: int = 0) -> AnyTable:
        """Validate a table that stands at a key; `skip` leading parts are not in the text."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            mistakes = []
            for each in error.errors():
                extra = (each["ctx"]["key"],) if each["type"] == "unknown_key" else ()
                inside = (part for part in each["loc"][skip:] if part != "[key]")
                key = (*at, *inside)
                mistakes.append(str(self._mistake((*key, *extra), _explain(each, _dotted(key)))))
            raise AssayError("\n".join(mistakes)) from None

    def _known(self, key: KeyPath, word: object, known: Iterable[object], what: str) -> None:
        known = list(known)
        if not any(type(each) is type(word) and each == word for each in known):
            raise self._mistake(key, f"{_show(word)} is no {what}; {nearest(word, known)}")

    def _level(self, key: KeyPath, factor: str, level: Any, factors: Mapping[str, Sequence[Level]]) -> Level:
        self._known(key, level, factors[factor], f"level of {factor}")
        return level  # type: ignore[no-any-return]  # it equals one of the factor's

    def _factor(self, name: str, levels: Any) -> dict[Level, dict[str, Any]]:
        """Read one factor as level -> the settings that it changes."""
        at = ("factors", name)
        if not re.fullmatch(NAME_PATTERN, name):
            raise self._mistake(at, "is no name; use small letters, digits and _, with a letter first")
        if not isinstance(levels, list | dict):
            raise self._mistake(at, f"{_show(levels)} is neither a list of levels nor a table of named ones")
        if not levels:
            raise self._mistake(at, "has no levels; give at least one")
        is_setting = name in Settings.model_fields
        if isinstance(levels, list):
            if not is_setting:
                hint = nearest(name, list(Settings.model_fields))
                why = (
                    f"is no setting of a trial ({hint}), so it needs named levels, "
                    "each a table of the settings that it changes: a = {}, b = { key_range = 100 }"
                )
                raise self._mistake(at, why)
            return self._listed(name, levels)
        read: dict[Level, dict[str, Any]] = {}
        for label, value in levels.items():
            if not (label.strip() and label.isprintable()):
                raise self._mistake((*at, label), f"{_show(label)} is no name for a level")
            if is_setting:
                read[label] = self._table(Settings, {name: value}, (*at, label), skip=1).given()
            else:
                read[label] = self._table(Settings, value, (*at, label)).given()
        return read

    def _listed(self, name: str, levels: list[Any]) -> dict[Level, dict[str, Any]]:
        """Read a factor that lists the values of a setting; each value is its own label."""
        read: dict[Level, dict[str, Any]] = {}
        for index, value in enumerate(levels):
            at = ("factors", name, index)
            if isinstance(value, dict):
                raise self._mistake(at, f"give each {name} a name: [factors.{name}], then NAME = {{ ... }}")
            settings = self._table(Settings, {name: value}, at, skip=1).given()
            label = ",".join(str(each) for each in value) if isinstance(value, list) else value
            if label in read:
                raise self._mistake(at, f"the level {_show(value)} is given twice")
            read[label] = settings
        return read

    def _refuse_two_sources(
        self, changes: Mapping[str, Mapping[Level, Mapping[str, Any]]], fixed: Mapping[str, Any]
    ) -> None:
        """Refuse a setting that is both fixed and a factor, or that two factors change."""
        changed_by: dict[str, str] = {}
        for factor, levels in changes.items():
            if factor in fixed:
                raise self._mistake(("trial", factor), "is both fixed here and a factor; remove one of them")
            for level, settings in levels.items():
                for setting in settings:
                    other = changed_by.setdefault(setting, factor)
                    if other != factor:
                        why = f"{setting} is changed by the factor {other} too; one factor may change it"
                        raise self._mistake(("factors", factor, str(level), setting), why)

    def _rule(
        self, index: int, rule: Mapping[str, Any], factors: Mapping[str, Sequence[Level]]
    ) -> dict[str, tuple[Level, ...]]:
        at = ("design", "exclude", index)
        if not rule:
            raise self._mistake(at, "an empty rule would leave every condition out; name a factor")
        read = {}
        for factor, levels in rule.items():
            self._known((*at, factor), factor, factors, "factor")
            wanted = levels if isinstance(levels, list) else [levels]
            if not wanted:
                raise self._mistake((*at, factor), "an empty list excludes nothing; name a level")
            read[factor] = tuple(self._level((*at, factor), factor, level, factors) for level in wanted)
        return read

    def _check_conditions(self, experiment: Experiment) -> None:
        """Check what only the conditions as a whole show."""
        count = math.prod(len(levels) for levels in experiment.factors.values())
        if count * experiment.design.blocks.most > _MOST_TRIALS:
            why = (
                f"make {count:,} conditions, times {experiment.design.blocks.most:,} blocks; the most trials "
                f"are {_MOST_TRIALS:,}: use fewer factors, levels or blocks"
            )
            raise self._mistake(("factors",), why)
        conditions = experiment.conditions()
        if not conditions:
            raise self._mistake(("design", "exclude"), "leaves no condition")
        compared = experiment.comparison
        if all(each[compared.factor] == compared.baseline for each in conditions):
            why = f"leaves nothing to compare with the baseline {_show(compared.baseline)}"
            raise self._mistake(("design", "exclude"), why)
        with_baseline = {
            experiment.context(each) for each in conditions if each[compared.factor] == compared.baseline
        }
        for condition in conditions:
            missing = [setting for setting in _REQUIRED if setting not in experiment.settings(condition)]
            if missing:
                why = f"{missing[0]} is missing; fix it in [trial] or vary it in [factors]"
                raise self._mistake(("trial",), why)
            if experiment.context(condition) not in with_baseline:
                rest = {name: level for name, level in condition.items() if name != compared.factor}
                where = ", ".join(f"{name} = {_show(level)}" for name, level in rest.items())
                why = (
                    f"leaves nothing of the baseline {_show(compared.baseline)} to compare with where {where}"
                )
                raise self._mistake(("design", "exclude"), why)
