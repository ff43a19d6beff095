"""Which experiments ask the same."""

from pathlib import Path

import pytest

from assay.experiment import Experiment, overridden, parse
from assay.experiment.question import asked, differences, of_trials, why_other_trials

TEXT = """
name = "x"
question = "Which is faster?"
[factors]
subject = ["one", "two"]
threads = [1, 2]
[trial]
key_range = 100
mix = { insert = 10, erase = 10, find = 80 }
duration_ms = 5
interval_ms = 1
[design]
blocks = 6
[comparison]
metric = "throughput"
factor = "subject"
baseline = "one"
[subjects.one]
program = "./bin/one"
arguments = ["--fast"]
build = "make one"
"""


def experiment(before: str = "", after: str = "", folder: str = "/a") -> Experiment:
    assert before in TEXT
    return parse(TEXT.replace(before, after) if before else TEXT, Path(folder) / "x.toml")


def told(other: Experiment) -> list[str]:
    return [str(difference) for difference in differences(asked(experiment()), asked(other))]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Which is faster?", "Which one?"),
        ('name = "x"', 'name = "y"'),
        ("blocks = 6", "blocks = 60\nseed = 7\nuntil_width_percent = 3"),
        ("[factors]", '[[chart]]\nkind = "bars"\nx = "subject"\ny = "throughput"\n[factors]'),
        ('metric = "throughput"', 'metric = "throughput"\ngate_percent = 10'),
    ],
)
def test_what_is_arbitrary_or_changes_nothing_does_not_count(before: str, after: str) -> None:
    assert told(experiment(before, after)) == []
    assert told(experiment(folder="/b/c")) == []


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        ("key_range = 100", "key_range = 1000", "key_range = 1000, not 100"),
        ("[trial]", "[trial]\nparameters = { s = 0.99999999 }", "parameters = { s = 0.99999999 }, not none"),
        (
            "insert = 10, erase = 10, find = 80",
            "insert = 50, erase = 50",
            "mix = { erase = 50, find = 0, insert = 50 }, not { erase = 10, find = 80, insert = 10 }",
        ),
        ("threads = [1, 2]", "threads = [1, 2, 4]", "factors.threads = 1, 2, 4, not 1, 2"),
        ('metric = "throughput"', 'metric = "total_time"', "comparison.metric = total_time, not throughput"),
        ("[comparison]", '[comparison]\nbetter = "lower"', "comparison.better = lower, not higher"),
        ('baseline = "one"', 'baseline = "two"', "comparison.baseline = two, not one"),
        ("[comparison]", "[perturb]\nstack = 64\n[comparison]", "perturb.stack = 64, not 4096"),
        ("blocks = 6", 'blocks = 6\nbusy = "count"', "busy = count, not withhold"),
        ("./bin/one", "./other/one", "subjects.one.program = other/one, not bin/one"),
        ('"--fast"', '"--slow"', 'subjects.one.arguments = ["--slow"], not ["--fast"]'),
        ("make one", "make one CFLAGS=-O0", "subjects.one.build = make one CFLAGS=-O0, not make one"),
    ],
)
def test_whatever_else_is_requested_counts(before: str, after: str, difference: str) -> None:
    assert told(experiment(before, after))[0].startswith(difference)


def test_a_setting_changed_by_an_option_is_another_question() -> None:
    other = overridden(experiment(), settings=["key_range=1000"])
    assert {(of.name, of.condition) for of in differences(asked(experiment()), asked(other))} == {
        ("key_range", f"subject={subject}, threads={threads}")
        for subject in ("one", "two")
        for threads in (1, 2)
    }


def test_trials_of_one_condition_may_be_built_otherwise_and_have_other_neighbours() -> None:
    condition: dict[str, str | int | float] = {"subject": "one", "threads": 1}
    others = [
        experiment("make one", "make two"),
        experiment("./bin/one", "./other/one"),
        experiment("threads = [1, 2]", "threads = [1]"),
        experiment(folder="/b"),
    ]
    assert all(of_trials(other, condition) == of_trials(experiment(), condition) for other in others)
    for before, after in (
        ("key_range = 100", "key_range = 9"),
        ("[comparison]", "[perturb]\nstack = 64\n[comparison]"),
    ):
        assert of_trials(experiment(before, after), condition) != of_trials(experiment(), condition)


def test_why_trials_are_others_is_named() -> None:
    assert (
        why_other_trials(experiment(), experiment("key_range = 100", "key_range = 9"))
        == "key_range = 9, not 100"
    )
    levels = experiment("threads = [1, 2]", "threads = [4, 8]")
    assert why_other_trials(experiment(), levels) == "factors.threads = 4, 8, not 1, 2"
