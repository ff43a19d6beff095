"""Experiments: a question, written as one TOML file. `docs/reference/experiment.md` explains every key."""

from assay.experiment.load import check_processors, check_subjects, load, parse
from assay.experiment.types import Comparison, Design, Experiment, Level

__all__ = [
    "Comparison",
    "Design",
    "Experiment",
    "Level",
    "check_processors",
    "check_subjects",
    "load",
    "parse",
]
