"""The paths that a campaign has on its host, and where a bundle has the same files."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.experiment import Experiment
from assay.versions import Repository
from assay_bundle.tree import PROGRAMS, PROJECT

_OF_SYSTEM = {"bin", "sbin", "lib", "lib32", "lib64", "usr"}


class Moved:
    """Replaces paths of the campaign's host by those in its bundle.

    Attributes:
        root: the folder that becomes `/project`: the git repository of the experiment's file, or its folder.
    """

    def __init__(self, experiment: Experiment, *ours: Path) -> None:
        """Take the campaign's experiment, and the folders of the programs of Assay that it measured with."""
        self.root = _root(experiment.folder)
        self._places = {str(self.root): PROJECT} | {str(folder): PROGRAMS for folder in ours}
        for program in experiment.programs.values():
            if self.place(program.program) == program.program and not _of_system(program.path):
                self._places[program.program] = f"{PROGRAMS}/{program.path.name}"

    def place(self, text: str) -> str:
        """Return a path, or a text with paths, as a bundle has it."""
        longest_first = sorted(self._places, key=len, reverse=True)
        pattern = "|".join(rf"{re.escape(path)}(?![\w.-])" for path in longest_first)
        return re.sub(pattern, lambda match: self._places[match[0]], text)

    def value(self, value: Any) -> Any:
        """Return what JSON can express, with all paths in it replaced."""
        if isinstance(value, str):
            return self.place(value)
        if isinstance(value, Mapping):
            return {self.place(key): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value

    def experiment(self, experiment: Experiment) -> Experiment:
        """Return an experiment with all paths in it replaced."""
        model = self.value(json.loads(experiment.model_dump_json()))
        return Experiment.model_validate_json(json.dumps(model)).altered(source=experiment.source)


def _root(folder: Path) -> Path:
    try:
        return Repository.find(folder).root
    except AssayError:
        return folder


def _of_system(path: Path) -> bool:
    return path.is_absolute() and path.parts[1] in _OF_SYSTEM
