"""A dozen messages about mistakes, word for word; other tests of messages look at the line and the key."""

import json
import os
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.experiment import parse
from assay.words import message
from conftest import Assay
from program_output import HOSTILE, check_unknown_words, quoted

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
        "key_range = 100",
        "key_range = 2_000_000_000_000",
        "x.toml:6: trial.key_range: 2000000000000 is too large; use 1,099,511,627,776 or less",
    ),
    (
        "duration_ms",
        "duration",
        "x.toml:8: trial.duration: unknown key in [trial]; did you mean duration_ms?",
    ),
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
    (
        'baseline = "noop"',
        "gate_percent = 5",
        "x.toml:14: comparison.gate_percent: needs a baseline that nothing may be worse than; name it, such"
        ' as baseline = "noop"',
    ),
    (
        "percent = 3",
        "percent = 3\ngate_percent = 2",
        "x.toml:16: comparison.gate_percent: is 2, and differences below smallest_effect_percent = 3 do not "
        "interest you; give a larger gate or a smaller effect",
    ),
    (
        "blocks = 8",
        'until = "gate"',
        'x.toml:10: design.until: is "gate", and there is no gate; give one, such as gate_percent = 5 in '
        "[comparison]",
    ),
    ('name = "example"', "name = example", "x.toml:1: not TOML: Invalid value: name = example"),
]


@pytest.mark.parametrize(("good", "mistaken", "message"), GOLDEN)
def test_a_mistake_is_told_in_these_words(good: str, mistaken: str, message: str) -> None:
    assert EXPERIMENT.count(good) == 1
    with pytest.raises(AssayError) as raised:
        parse(EXPERIMENT.replace(good, mistaken), Path("x.toml"))
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["report"],
            "there is no store at results/assay.sqlite: run an experiment first (assay run "
            "experiments/quickstart.toml), or name the store with --store",
        ),
        (
            ["store", "list", "--store", "."],
            ". is a folder: name a file with --store, such as results/assay.sqlite",
        ),
        (
            ["ab", "--base", "main"],
            "nothing is to be measured; name an experiment's file or commands, or give --google-benchmark or"
            " --catch2",
        ),
        (
            ["ab", "--base", "main", "--gate", "2 %", "--metric", "cost", "./bench"],
            "--metric cost: its name does not say which values are better; call it cost_ns, cost_bytes or"
            " cost_per_s, or write an experiment, which can say it",
        ),
        (
            ["ab", "--base", "main", "--gate", "much", "true"],
            "assay ab: --gate: much is not a number; write digits",
        ),
        (
            ["bisect", "--good", "v1", "--setup", "make", "x.toml", "--catch2", "./tests"],
            "commands and --catch2 are measured one at a time; leave all but one out",
        ),
        (
            ["host", "tune", "governer"],
            "assay host tune: no such setting: governer; did you mean governor?",
        ),
        (
            ["host", "restore", "--keep", "--overwrite"],
            "assay host restore: --keep and --overwrite contradict each other; give one",
        ),
        (
            ["run", "x.toml"],
            "x.toml: cannot be read: No such file or directory; name an experiment's file",
        ),
        (
            ["run", "experiments/own.tml"],
            "experiments/own.tml: cannot be read: No such file or directory; did you mean"
            " experiments/own.toml?",
        ),
        (
            ["plan", "owm", "--audit"],
            "owm: cannot be read: No such file or directory; did you mean experiments/own.toml?",
        ),
        (
            ["run", "--experiment", "own.toml"],
            "assay run: no such option: --experiment; write the experiment's file without it",
        ),
    ],
)
def test_a_command_tells_a_mistake_in_these_words(
    assay: Assay, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments/own.toml").write_text("")
    assert assay(*words, expect=2).stderr == f"error: {message}\n"


OWN = (
    EXPERIMENT.replace('"std_map_mutex"', '"mine"')
    + """\
[subjects.mine]
program = "build/subject"
"""
)


@pytest.mark.parametrize(
    ("names", "listed", "message"),
    [
        (
            "",
            '[{"name": "my_map"}]',
            'mine: the program build/subject has no subject "mine"; there is only my_map',
        ),
        (
            "",
            '[{"name": "other"}, {"name": "mine_2"}]',
            'mine: the program build/subject has no subject "mine"; did you mean mine_2?',
        ),
        (
            'names = ["mine", "thine"]\n',
            '[{"name": "mine"}, {"name": "thin"}]',
            'mine.names: the program build/subject has no subject "thine"; did you mean thin?',
        ),
    ],
)
@pytest.mark.parametrize("options", [["plan", "--audit"], ["run"]])
def test_a_subject_that_a_program_lacks_is_told_before_anything_runs(
    assay: Assay, tmp_path: Path, options: list[str], names: str, listed: str, message: str
) -> None:
    (tmp_path / "x.toml").write_text(OWN + names)
    program = tmp_path / "build" / "subject"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n[ \"$*\" = --list ] && echo '{listed}'\n")
    program.chmod(0o755)
    line = 18 if names else 16
    assert assay(*options, "x.toml", expect=2).stderr == f"error: x.toml:{line}: subjects.{message}\n"
    if options == ["run"]:
        assert json.loads(assay("store", "list", "campaigns", "--json").stdout)["campaigns"] == []


@pytest.mark.parametrize(
    "answers",
    [
        "exit 2",
        "echo 'usage: subject'",
        "echo '[1, 2]'",
        "echo '{\"names\": []}'",
        'cat; echo "{}"',
        "kill -9 $$",
        'echo \'[{"name": "mine"}]\'',
    ],
)
def test_a_program_that_cannot_list_its_subjects_is_not_refused_for_that(
    assay: Assay, tmp_path: Path, answers: str
) -> None:
    (tmp_path / "x.toml").write_text(OWN)
    (tmp_path / "build").mkdir()
    program = tmp_path / "build" / "subject"
    program.write_text(f"#!/bin/sh\n# --list\n{answers}\n")
    program.chmod(0o755)
    assert "before it runs" in assay("plan", "x.toml", "--audit").stdout


def test_the_experiment_without_a_mistake_is_read() -> None:
    assert parse(EXPERIMENT, Path("x.toml")).name == "example"


@pytest.mark.parametrize(
    "program",
    [
        *("assay-calibrate", "assay-clocks", "assay-flawed-fixtures", "assay-pitfalls", "assay-trial"),
    ],
)
def test_a_program_quotes_a_word_that_it_does_not_know_printable_and_short(program: str) -> None:
    check_unknown_words(program)


def test_programs_quote_options_and_requests_so_too() -> None:
    name = HOSTILE.decode("latin-1")
    assert len(quoted("assay-trial", asked=json.dumps({name: 1}).encode())) < 400


@settings(max_examples=30, deadline=None)
@given(
    st.binary(min_size=1)
    | st.text(min_size=1).map(lambda text: text.encode(errors="replace"))
    | st.builds(lambda piece, times: piece * times, st.binary(min_size=1, max_size=9), st.integers(1, 999))
)
def test_programs_quote_a_word_as_commands_do(word: bytes) -> None:
    word = b"w" + word.replace(b"\0", b" ")
    # Which ones are not assigned depends on the version of Unicode; programs take them for printable.
    assume(not any(category(char) == "Cn" for char in os.fsdecode(word)))
    said = quoted("assay-clocks", word)
    told = f"The following argument was not expected: {os.fsdecode(word)}"
    assert [said] == message(f"error: {told}", [os.fsdecode(word)])
