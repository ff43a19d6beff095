"""Experiments: a question, written as one TOML file. `docs/reference/experiment.md` explains every key."""

from assay.experiment.checks import (
    check_engines,
    check_latest,
    check_memory,
    check_metrics,
    check_processors,
    check_subjects,
)
from assay.experiment.load import load, parse
from assay.experiment.types import ComparisonDesign, Design, EngineOffer, Experiment, Level, SubjectOffer

__all__ = [
    "ComparisonDesign",
    "Design",
    "EngineOffer",
    "Experiment",
    "Level",
    "SubjectOffer",
    "check_engines",
    "check_latest",
    "check_memory",
    "check_metrics",
    "check_processors",
    "check_subjects",
    "load",
    "parse",
]
