"""A small experiment for tests of what is built on experiments."""

from pathlib import Path
from typing import Any

from assay.experiment.types import Blocks, ComparisonDesign, Design, Experiment


def experiment(name: str = "maps", **changes: Any) -> Experiment:
    """Return an experiment that compares two subjects, with some of its attributes changed."""
    given: dict[str, Any] = {
        "question": "Which is faster?",
        "comparison": ComparisonDesign(
            metric="throughput",
            factor="subject",
            baseline="base",
            smallest_effect_percent=5.0,
            better="higher",
        ),
        "design": Design(blocks=Blocks(most=10), seed=1),
        "fixed": {"key_range": 100},
        "changes": {"subject": {subject: {"subject": subject} for subject in ("base", "other")}},
        "path": Path(f"/experiments/{name}.toml"),
    }
    return Experiment(name=name, **given | changes)
