"""Makes the experiment that a race is, from the words of one command line."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from assay.errors import AssayError
from assay.words import listed, printable

METRICS = {
    "time": "wall_ms",
    "user_time": "user_ms",
    "system_time": "system_ms",
    "peak_memory": "peak_resident_bytes",
    "instructions": "instructions",
}
"""What a command line calls a metric of a command -> the metric."""
REPEAT_MS = 100
"""A command that takes less is repeated for so long, so that a trial is not mostly calibrations."""
_NAME_AT_MOST = 64
_DURATION_MS = 200  # of a trial of a map: a race is to be short
_SHELL = re.compile(r"[|&;<>()$`*?\[\n]|(^|\s)[~#]|^\s*\w+=")
_QUOTED = re.compile(r"""\\.|'[^']*'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)


@dataclass(frozen=True)
class Entrant:
    """One side of a race.

    Attributes:
        words: as the user wrote it: a subject, a command line, or a program's path.
        program: the executable that has the subject of this name, where it is not `assay-trial`.
        command: whether it is a command, which knows nothing of Assay.
        label: what it is called in results; "": as it is written.
    """

    words: str
    program: str = ""
    command: bool = False
    label: str = ""

    @property
    def name(self) -> str:
        """Return what it is called in results."""
        return self.label or self.words


@dataclass(frozen=True)
class Race:
    """What a command line asks for.

    Attributes:
        metric: what is compared.
        better: whether more is better, where nothing but the command line says.
        trial: setting -> its values; one is fixed, several are a factor.
        parameters: parameter -> its values, a factor each; `{NAME}` in a command stands for one.
        shell: whether commands are read by a shell; None: where one of them needs it.
        commands: keys of [subjects.NAME] that are the same for every command.
        setup: a command for the shell that runs once, before all else; or "".
        factor: what the factor is called whose levels are the entrants.
        name: of the experiment; "": made of the names of the entrants.
    """

    entrants: Sequence[Entrant]
    metric: str
    better: str = ""
    smallest_effect_percent: float = 1
    trial: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shell: bool | None = None
    commands: Mapping[str, Any] = field(default_factory=dict)
    setup: str = ""
    factor: str = "entrant"
    name: str = ""

    @property
    def uses_shell(self) -> bool:
        """Return whether a shell reads the commands: all of them or none, as its start takes time."""
        commands = [entrant.words for entrant in self.entrants if entrant.command]
        return any(map(needs_shell, commands)) if self.shell is None else self.shell


def needs_shell(command: str) -> bool:
    """Return whether a command line holds, outside quotes, what only a shell understands."""
    # Within double quotes, a shell would replace names and commands.
    bare = _QUOTED.sub(lambda quoted: "".join(re.findall(r"(?<!\\)[$`]", quoted[1] or "")) or "q", command)
    return _SHELL.search(bare) is not None


def split(command: str) -> list[str]:
    """Return the words of a command line that no shell reads.

    Raises:
        AssayError: it cannot be split.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AssayError(f"{printable(command)}: {str(error).lower()}; close the quotes") from error
    if not words:
        raise AssayError("a command is empty; write what is to be raced")
    return words


def race_tables(race: Race, taken: Collection[str], design: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a race's experiment.

    Args:
        race: what is asked.
        taken: names that no command may have as a subject: those of the subjects of `assay-trial`.
        design: the table [design].
    """
    labels = _labels([entrant.name for entrant in race.entrants])
    shell = race.uses_shell
    subjects: dict[str, dict[str, Any]] = {}
    levels: dict[str, Any] = {}
    for label, entrant in zip(labels, race.entrants, strict=True):
        if not entrant.command:
            subject = entrant.words
            if entrant.program:
                table = {"program": entrant.program} | ({"build": race.setup} if race.setup else {})
                subjects.setdefault(subject, table)
        else:
            subject = _free(entrant.name, [*taken, *subjects])
            subjects[subject] = _command(entrant.words, race, shell=shell)
        levels[label] = {"subject": subject}
    plain = not any(entrant.command for entrant in race.entrants) and len(set(labels)) == len(
        {level["subject"] for level in levels.values()}
    )
    factor = "subject" if plain else race.factor
    factors: dict[str, Any] = {factor: list(levels) if plain else levels}
    for name, values in race.parameters.items():
        factors[name] = {value: {"parameters": {name: _number(value)}} for value in values}
    fixed: dict[str, Any] = {}
    measures_maps = not all(entrant.command for entrant in race.entrants)
    settings = ({"duration_ms": [_DURATION_MS]} if measures_maps else {}) | dict(race.trial)
    for setting, several in settings.items():
        named = {_label(value): value for value in several}
        if len(named) == 1:
            fixed[setting] = several[0]
        else:
            factors[setting] = named if any(isinstance(value, dict) for value in several) else list(several)
    comparison: dict[str, Any] = {
        "factor": factor,
        "metric": race.metric,
        "smallest_effect_percent": race.smallest_effect_percent,
    }
    if race.better:
        comparison["better"] = race.better
    what = "is faster" if race.metric in {"wall_ms", "throughput"} else f"is better by {race.metric}"
    return {
        "name": race.name or _name(race.entrants),
        "question": f"Which {what}: {listed(labels, 'or')}?",
        "factors": factors,
        "trial": fixed,
        "design": dict(design),
        "perturb": {"layout": True} if "link" in race.commands else {},
        "comparison": comparison,
        "subjects": subjects,
    }


def _command(words: str, race: Race, *, shell: bool) -> dict[str, Any]:
    """Return the table [subjects.NAME] of a command."""
    program, *arguments = ["sh", "-c", words] if shell else split(words)
    known = [*race.parameters, *race.trial, *(["linked"] if "link" in race.commands else [])]
    table: dict[str, Any] = {"program": program, "arguments": [escaped(word, known) for word in arguments]}
    if race.setup:
        table["build"] = race.setup
    return table | {"protocol": False} | dict(race.commands)


def escaped(word: str, known: Collection[str]) -> str:
    """Return an argument in which braces stand for themselves, but for those around a known name."""
    return re.sub(r"\{(?!(?:" + "|".join(map(re.escape, known)) + r")\})" if known else r"\{", "{{", word)


def _labels(words: Sequence[str]) -> list[str]:
    """Return names of levels for entrants; what is entered twice gets a number."""
    labels: list[str] = []
    for text in words:
        label = name = printable(" ".join(text.split()))
        number = 1
        while label in labels:
            number += 1
            label = f"{name} ({number})"
        labels.append(label)
    return labels


def _name(entrants: Sequence[Entrant]) -> str:
    """Return the name of the experiment: races of other programs have views of their own."""
    named = dict.fromkeys(plain_name(entrant.name) for entrant in entrants)
    return "-".join(("race", *named))[:_NAME_AT_MOST].rstrip("-_")


def plain_name(words: str) -> str:
    """Return a name of lower-case letters, digits and _ for what is raced: that of its program."""
    first = PurePath(words.split(maxsplit=1)[0]).name.lower()
    name = re.sub(r"[^a-z0-9]+", "_", first).strip("_")[:32]
    return name if re.match("[a-z]", name) else f"command_{name}".rstrip("_")


def _free(command: str, taken: Collection[str]) -> str:
    """Return a name for the subject that a command is."""
    name = base = plain_name(command)
    number = 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def _number(text: str) -> int | float | str:
    """Return the number that a text is, written as it is where it is one; else the text."""
    for kind in (int, float):
        try:
            if str(kind(text)) == text:
                return kind(text)
        except ValueError:
            continue
    return text


def _label(value: Any) -> str:
    return "/".join(f"{share:g}" for share in value.values()) if isinstance(value, dict) else str(value)
