"""Reads [subjects.NAME]: programs of one's own, what they are started with and how their output is read."""

import re
import shutil
from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from assay.experiment import placeholders
from assay.experiment.lines import KeyPath
from assay.experiment.mistakes import MistakeError
from assay.experiment.settings import Settings
from assay.experiment.types import CommandRun, Experiment, Program
from assay.words import nearest, show

PROCESS_METRICS = ("wall_ms", "user_ms", "system_ms", "peak_resident_bytes", "runs")
"""What is measured of every program that does not speak the protocol."""

RESERVED_METRICS = (*PROCESS_METRICS, "instructions")
"""The same, with what only a machine with counters measures."""


def read_programs(folder: Path, tables: Mapping[str, Program]) -> dict[str, Program]:
    """Return subject -> its program, as each [subjects.NAME] describes it.

    Raises:
        MistakeError: there is a mistake in one.
    """
    programs: dict[str, Program] = {}
    for name, table in tables.items():
        program = _program(folder, name, table)
        for index, subject in enumerate(table.names or [name]):
            if subject in programs:
                at = ("subjects", name, "names", index) if table.names else ("subjects", name)
                why = (
                    f"subjects.{programs[subject].table} has a subject {subject} already; choose another name"
                )
                raise MistakeError(at, why)
            programs[subject] = program
    return programs


def _program(folder: Path, name: str, table: Program) -> Program:
    def refuse(key: str, why: str) -> NoReturn:
        raise MistakeError(("subjects", name, *key.split(".")), why)

    for key, given in (("extract", table.extract is not None), ("protocol", table.protocol is False)):
        if table.fixture and given:
            refuse(key, "is for commands, and fixtures speak the protocol; remove it, or fixture = true")
    if table.extract is not None and table.protocol:
        why = "a program that speaks the protocol has nothing to extract; remove this or extract"
        refuse("protocol", why)
    if table.extract == {}:
        why = "is empty; if only time and memory are to be measured, write protocol = false instead"
        refuse("extract", why)
    for metric in table.extract if isinstance(table.extract, dict) else ():
        if metric in RESERVED_METRICS:
            refuse(f"extract.{metric}", "is measured of every command; give yours another name")
    keys = CommandRun.model_fields.keys() & table.model_fields_set
    if keys and not table.is_command:
        why = "is for commands, and this program speaks the protocol; remove it, or write protocol = false"
        refuse(min(keys), why)
    needs = {"prepare": table.prepare, "output": table.output == "same", "extract": table.extract}
    once = next((key for key, given in needs.items() if given), "")
    if table.repeat_ms and once:
        why = f"runs the command several times in a trial, and {once} needs one run; remove one of them"
        refuse("repeat_ms", why)
    program = str(folder / table.program)
    if table.is_command and "/" not in table.program:
        executable = shutil.which(table.program)
        program = str(Path(executable).absolute()) if executable else table.program
    return table.altered(
        table=name,
        names=None,
        protocol=None if table.extract else table.protocol,
        program=program,
        arguments=(*(("--trial",) if table.fixture else ()), *table.arguments),
        input=str(folder / table.input) if table.input else None,
    )


def check_units(experiment: Experiment) -> None:
    """Check that a metric has one unit, whichever program gives it.

    Raises:
        MistakeError: two rules give it in different units, or a subject that is measured gives a compared
            metric without a rule, and so in any unit.
    """
    comparison, programs = experiment.comparison, experiment.programs
    ruled = {
        name: program.rules for name, program in programs.items() if isinstance(program.extraction, tuple)
    }
    others = sorted(experiment.subjects() - ruled.keys())
    first: dict[str, tuple[str, str]] = {}
    for subject, rules in ruled.items():
        table = programs[subject].table
        for rule in rules:
            at = ("subjects", table, "extract", rule.metric)
            other, unit = first.setdefault(rule.metric, (table, rule.unit))
            if unit != rule.unit:
                why = (
                    f"is in {_unit(rule.unit)} here and in {_unit(unit)} in subjects.{other}; values in "
                    "different units cannot be compared: give both the same unit, or each a metric of its own"
                )
                raise MistakeError(at, why)
            is_compared = subject in experiment.subjects() and rule.metric in (
                comparison.metric,
                *comparison.also,
            )
            if others and rule.unit and is_compared:
                why = (
                    f"is in {show(rule.unit)} here, and {others[0]} gives it without a unit; values in "
                    "different units cannot be compared: give it a rule with this unit, or leave the unit out"
                )
                raise MistakeError(at, why)


def _unit(unit: str) -> str:
    return show(unit) if unit else "no unit"


def check_placeholders(experiment: Experiment) -> None:
    """Check that every placeholder of every argument has a value wherever its program runs.

    Of a program that is not measured, it has to name a setting or a parameter.

    Raises:
        MistakeError: one has none.
    """
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        _check_arguments(experiment, settings["subject"], placeholders.values_of(settings, 0))
    parameters = [settings.get("parameters", {}) for _, settings in experiment.tables()]
    known = placeholders.values_of(
        dict.fromkeys(Settings.model_fields, 0) | {"parameters": dict(ChainMap(*parameters))}, 0
    )
    for subject in experiment.programs.keys() - experiment.subjects():
        _check_arguments(experiment, subject, known)


def _check_arguments(experiment: Experiment, subject: str, values: Mapping[str, object]) -> None:
    program = experiment.programs.get(subject)
    for index, argument in enumerate(program.arguments if program else ()):
        at = ("subjects", program.table if program else subject, "arguments", index)
        try:
            missing = [name for name in placeholders.names(argument) if name not in values]
        except ValueError as error:
            raise MistakeError(at, f"{show(argument)}: {error}") from error
        if placeholders.LINKED in placeholders.names(argument):
            _check_linked(at, experiment, program)
        if missing:
            raise MistakeError(at, _no_value(missing[0], values))


def _check_linked(at: KeyPath, experiment: Experiment, program: Program | None) -> None:
    if program is None or program.link is None:
        raise MistakeError(at, "{linked} is the file that a link command makes; give this program one: link")
    if not experiment.moved.layout:
        raise MistakeError(at, "{linked} is linked for each block; write layout = true in [perturb]")


def _no_value(name: str, values: Mapping[str, object]) -> str:
    if name in Settings.model_fields:
        return f"{{{name}}} has no value; fix {name} in [trial] or vary it in [factors]"
    if not re.fullmatch(r"\w+", name):
        return f"{show('{' + name + '}')} is not a placeholder; write {{{{ for a brace that begins none"
    return f"{{{name}}} is neither a setting nor a parameter; {nearest(name, list(values))}"
