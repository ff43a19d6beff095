"""A dozen messages about mistakes, word for word; other tests of messages look at the line and the key."""

from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment import parse

EXPERIMENT = """\
name = "example"
question = "Which is faster?"
[factors]
subject = ["noop", "std_map_mutex"]
[trial]
key_range = 100
mix = { insert = 10, erase = 10, find = 80 }
duration_ms = 5
[design]
blocks = 8
[comparison]
metric = "throughput"
factor = "subject"
baseline = "noop"
smallest_effect_percent = 3
"""

GOLDEN = [
    ("blocks = 8", "blocks = 0", "x.toml:10: design.blocks: 0 is too small; use 1 or more"),
    (
        "blocks = 8",
        'blocks = "8"',
        'x.toml:10: design.blocks: "8" is not a whole number; write digits only, without quotes',
    ),
    (
        "percent = 3",
        "percent = 300",
        "x.toml:15: comparison.smallest_effect_percent: 300 is too large; use 100 or less",
    ),
    (
        "duration_ms",
        "duration",
        "x.toml:8: trial.duration: unknown key in [trial]; did you mean duration_ms?",
    ),
    ("[design]", "[desing]", "x.toml:9: desing: unknown key; did you mean design?"),
    (
        "key_range = 100\n",
        "",
        "x.toml:5: trial: key_range is missing; fix it in [trial] or vary it in [factors]",
    ),
    (
        "find = 80",
        "find = 70",
        "x.toml:7: trial.mix: insert, erase and find add to 90; they are percentages and add to 100",
    ),
    (
        'factor = "subject"',
        'factor = "subjects"',
        'x.toml:13: comparison.factor: "subjects" is not a factor; did you mean subject?',
    ),
    (
        'baseline = "noop"',
        'baseline = "nop"',
        'x.toml:14: comparison.baseline: "nop" is not a level of subject; did you mean noop?',
    ),
    (
        '["noop", "std_map_mutex"]',
        '["noop", "noop"]',
        'x.toml:4: factors.subject: the level "noop" is given twice',
    ),
    (
        '["noop", "std_map_mutex"]',
        '["noop"]',
        "x.toml:4: factors.subject: a comparison needs at least two levels",
    ),
    ('name = "example"', "name = example", "x.toml:1: not TOML: Invalid value: name = example"),
]


@pytest.mark.parametrize(("good", "mistaken", "message"), GOLDEN)
def test_a_mistake_is_told_in_these_words(good: str, mistaken: str, message: str) -> None:
    assert EXPERIMENT.count(good) == 1
    with pytest.raises(AssayError) as raised:
        parse(EXPERIMENT.replace(good, mistaken), Path("x.toml"))
    assert str(raised.value) == message


def test_the_experiment_without_a_mistake_is_read() -> None:
    assert parse(EXPERIMENT, Path("x.toml")).name == "example"
