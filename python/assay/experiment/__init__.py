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
from assay.experiment.types import Comparison, Design, Engine, Experiment, Level, Offer

__all__ = [
    "Comparison",
    "Design",
    "Engine",
    "Experiment",
    "Level",
    "Offer",
    "check_engines",
    "check_latest",
    "check_memory",
    "check_metrics",
    "check_processors",
    "check_subjects",
    "load",
    "parse",
]
