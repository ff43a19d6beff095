"""Small experiments for tests of what is built on experiments."""

from pathlib import Path
from typing import Any

from assay.experiment.perturb import UNMOVED
from assay.experiment.types import ComparisonDesign, Design, Experiment

WITH_FACTORS = """
name = "maps"
question = "Which?"
[factors]
subject = ["slow", "fast"]
threads = [1, 2, 4]
[factors.mix]
searches = { insert = 0, erase = 0, find = 100 }
updates = { insert = 50, erase = 50, find = 0 }
[trial]
key_range = 10
[design]
blocks = 10
[comparison]
metric = "throughput"
factor = "subject"
baseline = "slow"
smallest_effect_percent = 3
"""
"""The text of an experiment that compares two subjects at levels of two further factors."""


def experiment_text(
    factors: str = 'subject = ["std_map_mutex", "noop"]',
    more: str = "",
    *,
    name: str = "x",
    keys: int = 100,
    mix: str = "find = 100",
    trial: str = "duration_ms = 1",
    design: str = "blocks = 8",
    baseline: str = "std_map_mutex",
    comparison: str = "",
) -> str:
    """Return the text of an experiment that compares subjects; parts of it are given in TOML."""
    return f"""
name = "{name}"
question = "Which is faster?"
[factors]
{factors}
[trial]
key_range = {keys}
mix = {{ {mix} }}
{trial}
[design]
{design}
[comparison]
metric = "throughput"
factor = "subject"
baseline = "{baseline}"
smallest_effect_percent = 3
{comparison}
{more}
"""


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
        "design": Design(blocks=10, seed=1),
        "perturb": UNMOVED,
        "fixed": {"key_range": 100},
        "changes": {"subject": {subject: {"subject": subject} for subject in ("base", "other")}},
        "path": Path(f"/experiments/{name}.toml"),
    }
    return Experiment(name=name, **given | changes)
