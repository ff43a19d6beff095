"""Experiments: a question, written as one TOML file. `docs/reference/experiment.md` explains every key."""

from assay.experiment.checks import check, check_listed
from assay.experiment.load import load, made, parse
from assay.experiment.machine import EngineOffer, Machine, SubjectOffer
from assay.experiment.overrides import overridden
from assay.experiment.types import ComparisonDesign, Design, Experiment, Level

__all__ = [
    "ComparisonDesign",
    "Design",
    "EngineOffer",
    "Experiment",
    "Level",
    "Machine",
    "SubjectOffer",
    "check",
    "check_listed",
    "load",
    "made",
    "overridden",
    "parse",
]
