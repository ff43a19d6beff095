"""What an experiment asks: two campaigns answer one question if nothing that was requested differs.

Names do not say so: `--set` changes settings of an experiment and keeps its name. What is arbitrary does not
count (the seed, the blocks and when a campaign ends), nor does what changes nothing that is measured or
judged (the words of the question, charts, gates, where the experiment's file is).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from assay.experiment.types import REVISION, Experiment, Level
from assay.words import condition_name, shortened

_HOW_BUILT = frozenset({"program", "build", "link", "cleanup"})
_NOT_ASKED = frozenset({"gate_percent", "campaigns"})
_OF_TRIALS = ("comparison.metric", "comparison.factor", "comparison.baseline", "comparison.stand_ins")


class Difference(NamedTuple):
    """Something that two experiments request differently.

    Attributes:
        name: a key of the experiment's file, or a setting.
        condition: the condition in which a setting differs; empty where all differ or there are none.
        first, other: what each requests.
    """

    name: str
    condition: str
    first: str
    other: str

    @property
    def judges(self) -> bool:
        """Whether it changes how trials are judged, and not which trials there are."""
        return self.name.startswith("comparison.") and self.name not in _OF_TRIALS

    def __str__(self) -> str:
        """Return what the other one has instead."""
        return f"{self.name} = {shortened(self.other)}, not {shortened(self.first)}"


Asked = Mapping[tuple[str, str], str]
"""Name and condition, as in `Difference` -> what is requested."""


def asked(experiment: Experiment) -> Asked:
    """Return all that an experiment requests: if two are equal, the question is the same."""
    requested = {(name, ""): of for name, of in _of_whole(experiment).items()}
    for condition in experiment.conditions():
        where = condition_name(condition)
        requested |= {(name, where): of for name, of in _settings(experiment, condition).items()}
    return requested


def differences(first: Asked, other: Asked) -> Iterator[Difference]:
    """Yield what is requested differently, first of the whole, then in conditions that both have."""
    both = {condition for _, condition in first} & {condition for _, condition in other}
    for name, condition in sorted({**first, **other}, key=lambda key: key[1] != ""):
        sides = (of.get((name, condition), "none") for of in (first, other))
        difference = Difference(name, condition, *sides)
        if condition in both and difference.first != difference.other:
            yield difference


def of_trials(experiment: Experiment, condition: Mapping[str, Level]) -> dict[str, str]:
    """Return what is requested of the trials of a condition, whatever other conditions there are.

    How a program is built and where it is are not among it: that is part of what a commit changes.
    """
    asked = _settings(experiment, condition) | _moved(experiment)
    subject = str(experiment.settings(condition).get("subject"))
    return asked | _program(experiment, subject, without=_HOW_BUILT)


def why_other_trials(first: Experiment, other: Experiment) -> str:
    """Return in words why no condition of another experiment has trials like those of the first."""
    others = other.conditions()
    pairs = [
        (of_trials(first, condition), of_trials(other, condition))
        for condition in first.conditions()
        if condition in others
    ]
    of_first, of_other = pairs[0] if pairs else (_levels(first), _levels(other))
    [difference, *_] = differences(
        {(name, ""): of for name, of in of_first.items()}, {(name, ""): of for name, of in of_other.items()}
    )
    return str(difference)


def _of_whole(experiment: Experiment) -> dict[str, str]:
    comparison = experiment.comparison.model_dump(mode="json", exclude=set(_NOT_ASKED))
    asked = _named(experiment, "comparison.", comparison) | {"busy": experiment.design.busy}
    asked |= _moved(experiment) | _levels(experiment)
    if experiment.revisions:
        asked |= {f"factors.{REVISION}.{name}": of.tree for name, of in experiment.revisions.levels.items()}
    for subject in sorted(experiment.subjects()):
        asked |= _program(experiment, subject, without=frozenset({"cleanup"}))
    return asked


def _levels(experiment: Experiment) -> dict[str, str]:
    names = (condition_name(condition) for condition in experiment.conditions())
    levels = {f"factors.{name}": ", ".join(map(str, of)) for name, of in experiment.factors.items()}
    return levels | {"conditions": "; ".join(names)}


def _settings(experiment: Experiment, condition: Mapping[str, Level]) -> dict[str, str]:
    return _named(experiment, "", experiment.settings(condition))


def _moved(experiment: Experiment) -> dict[str, str]:
    """Return what is moved at random, which events are simulated, and what files of keys held."""
    held = {file: digest[:12] for file, digest in experiment.digests.items()}
    return (
        _named(experiment, "perturb.", experiment.moved.given())
        | _named(experiment, "simulate.", experiment.simulate.model_dump(mode="json"))
        | _named(experiment, "the content of ", held)
    )


def _program(experiment: Experiment, subject: str, without: frozenset[str]) -> dict[str, str]:
    program = experiment.programs.get(subject)
    fields = program.model_dump(mode="json", exclude=set(without)) if program else {}
    return _named(experiment, f"subjects.{subject}.", fields)


def _named(experiment: Experiment, prefix: str, values: Mapping[str, Any]) -> dict[str, str]:
    return {_text(experiment, f"{prefix}{name}"): _text(experiment, of) for name, of in values.items()}


def _text(experiment: Experiment, value: Any) -> str:
    """Return a value as text, in which the experiment's folder does not count."""
    text = value if isinstance(value, str) else _toml(value)
    return text.replace(f"{experiment.folder}/", "")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_toml(of)}' for name, of in sorted(value.items()))} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and value == float(short := f"{value:g}"):
        return short
    return json.dumps(value, ensure_ascii=False, default=str)
