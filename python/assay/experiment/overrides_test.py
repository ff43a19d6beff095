from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError
from assay.experiment import Experiment, overridden, parse

TEXT = """
name = "x"
question = "?"
[factors]
subject = ["noop", "std_map_mutex", "bt_map"]
threads = [1, 2, 4]
pinning = ["none", [0, 1]]
[trial]
key_range = 100
mix = { insert = 0, erase = 0, find = 100 }
[design]
until = "verdict"
exclude = [{ subject = "bt_map", threads = [1, 2] }]
[comparison]
metric = "throughput"
factor = "subject"
baseline = "noop"
smallest_effect_percent = 3
"""


@pytest.fixture
def experiment() -> Experiment:
    return parse(TEXT, Path("x.toml"))


def test_blocks_minutes_and_seed_are_as_in_the_file(experiment: Experiment) -> None:
    def design(changed: str) -> Any:
        return parse(TEXT.replace('until = "verdict"', changed), Path("x.toml")).design

    assert overridden(experiment, blocks=4, seed=9).design == design("blocks = 4\nseed = 9")
    assert overridden(experiment, minutes=2).design == design("minutes = 2")
    both = overridden(experiment, minutes=2, blocks=4)
    assert both.design == design("minutes = 2\nblocks = 4")
    assert both.overrides == ("--blocks 4", "--minutes 2")
    assert overridden(experiment) is experiment


def test_only_keeps_some_levels_in_the_order_of_the_file(experiment: Experiment) -> None:
    rules = ["threads=4", "threads=1", "subject=std_map_mutex,noop", "pinning=0,1"]
    some = overridden(experiment, only=rules)
    assert some.factors == {"subject": ("noop", "std_map_mutex"), "threads": (1, 4), "pinning": ("0,1",)}
    assert some.overrides == tuple(f"--only {rule}" for rule in rules)
    assert Experiment.model_validate_json(some.model_dump_json()).conditions() == some.conditions()


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("thread=1", '--only thread=1: "thread" is not a factor; did you mean threads?'),
        ("subject=noop,bt_mab", '"bt_mab" is not a level of subject; did you mean bt_map?'),
        ("threads", "write FACTOR=LEVEL"),
        ("threads=", '"" is not a level of threads'),
        ("subject=std_map_mutex", 'leaves out the baseline, subject = "noop"'),
        ("subject=noop", 'nothing to compare with the baseline "noop"'),
    ],
)
def test_what_cannot_be_run_is_a_mistake(experiment: Experiment, only: str, message: str) -> None:
    with pytest.raises(AssayError) as raised:
        overridden(experiment, only=[only])
    assert message in str(raised.value)


def test_a_plan_that_is_too_large_is_refused(experiment: Experiment) -> None:
    with pytest.raises(AssayError, match="--blocks 100000: 18 combinations"):
        overridden(experiment, blocks=100_000)
