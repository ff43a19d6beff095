"""Trials that mislead on purpose: who may ask for them, and where they run."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assay import programs
from assay.errors import AssayError
from assay.experiment import Experiment, parse
from assay.experiment.flaws import NAMES, WHAT, lesson_of, marked

DELIBERATE = "[pitfall]\ndeliberate = true\n"
HARNESSES = '[factors.harness]\nhonest = {}\nflawed = { flaws = ["never_inserts", "one_seed"] }\n'


def experiment(text: str = HARNESSES, pitfall: str = DELIBERATE, subject: str = "bt_map") -> Experiment:
    """Return an experiment of one thread."""
    trial = (
        f'[trial]\nsubject = "{subject}"\nthreads = 1\nkey_range = 100\nmix = {{ insert = 50, erase = 50 }}\n'
    )
    return parse(f"{pitfall}{trial}{text}", Path("pitfall.toml"))


def test_flaws_are_refused_with_place_and_lesson_unless_they_are_deliberate() -> None:
    with pytest.raises(AssayError) as refused:
        experiment(pitfall="")
    message = str(refused.value)
    assert message.startswith(
        "pitfall.toml:8: factors.harness.flawed.flaws: never_inserts misleads on purpose"
    )
    assert "the lesson never-inserts" in message
    assert "\n" not in message
    with pytest.raises(AssayError, match="the lesson no-prefill shows"):
        experiment(pitfall='[pitfall]\nlesson = "no-prefill"\n')
    assert experiment().flaws() == ("never_inserts", "one_seed")


def test_an_experiment_sends_to_a_lesson_of_the_course() -> None:
    assert experiment(pitfall=f'{DELIBERATE}lesson = "looking"\n').pitfall.lesson == "looking"
    refused = (
        r'pitfall.toml:3: pitfall.lesson: there is no lesson "never-insert"; did you mean never-inserts\?'
    )
    with pytest.raises(AssayError, match=refused):
        experiment(pitfall=f'{DELIBERATE}lesson = "never-insert"\n')


def test_a_stored_experiment_may_have_a_lesson_that_was_renamed() -> None:
    pitfall = experiment().pitfall.model_copy(update={"lesson": "an-empty-tree"})
    stored = experiment().model_copy(update={"pitfall": pitfall}).model_dump_json()
    assert Experiment.model_validate_json(stored).pitfall.lesson == "an-empty-tree"


@pytest.mark.parametrize(
    ("flaws", "why"),
    [('["never_insert"]', "never_inserts"), ('["one_seed", "one_seed"]', "twice"), ('"one_seed"', "list")],
)
def test_a_list_of_flaws_has_known_names_each_once(flaws: str, why: str) -> None:
    with pytest.raises(AssayError, match=why):
        experiment(f"[factors.harness]\nhonest = {{}}\nflawed = {{ flaws = {flaws} }}\n")


def test_programs_of_ones_own_have_no_flaws_of_ours() -> None:
    with pytest.raises(AssayError, match="a program of your own"):
        experiment(f'{HARNESSES}[subjects.mine]\nprogram = "./mine"\n', subject="mine")


def test_a_pitfall_without_flaws_is_marked_too() -> None:
    settings = "[factors]\nbatch = [1, 2]\n"
    assert experiment(settings, pitfall="").mark == ""
    assert experiment(settings).mark == "misleads on purpose"


def test_what_misleads_is_refused_to_commands_whose_answer_is_about_the_code() -> None:
    experiment("[factors]\nbatch = [1, 2]\n", pitfall="").reject_pitfall("assay run --identical")
    for misleading in (experiment(), experiment("[factors]\nbatch = [1, 2]\n")):
        with pytest.raises(
            AssayError, match=r"on purpose.*assay run --identical takes honest experiments alone"
        ):
            misleading.reject_pitfall("assay run --identical")


def test_a_stored_experiment_keeps_that_it_misleads() -> None:
    before = experiment()
    after = Experiment.model_validate_json(before.model_dump_json())
    assert (after.pitfall, after.flaws()) == (before.pitfall, before.flaws())
    assert after.mark == "flawed on purpose: never_inserts and one_seed" == marked(before.flaws())


def test_the_program_has_the_subjects_of_the_honest_one_other_peoples_too() -> None:
    honest, flawed = (programs.listing(programs.find(name)) for name in ("assay-trial", "assay-pitfalls"))
    assert [entry["name"] for entry in flawed] == [entry["name"] for entry in honest]


def test_the_program_has_the_flaws_that_experiments_may_name() -> None:
    program = programs.find("assay-pitfalls")
    answer = subprocess.run([program, "--flaws"], capture_output=True, check=True)
    listed: list[dict[str, Any]] = json.loads(answer.stdout)
    assert {flaw["name"]: flaw["description"] for flaw in listed} == WHAT
    assert tuple(WHAT) == NAMES == tuple(flaw["name"] for flaw in listed)


def test_what_others_report_is_of_a_level_that_is_compared() -> None:
    reported = '[[reported]]\nlevel = "{}"\nsays = "about 100 times"\nsource = "a paper"\n'
    (other,) = experiment(HARNESSES + reported.format("flawed")).reported
    assert (other.level, other.says, other.source) == ("flawed", "about 100 times", "a paper")
    with pytest.raises(AssayError, match="flawed"):
        experiment(HARNESSES + reported.format("flaw"))
    backwards = f"{reported.format('flawed')}ratio = [100, 10]\n"
    with pytest.raises(AssayError, match="begins at 100, above its end 10"):
        experiment(HARNESSES + backwards)


def test_what_others_report_may_be_of_a_step_of_a_ladder_and_of_some_contexts() -> None:
    ladders = '\n[comparison]\nfactor = "harness"\nladders = [["flawed", "honest"]]\n'
    reported = """
[[reported]]
level = "honest"
over = "{}"
where = {{ {} = {} }}
says = "less"
source = "a paper"
"""
    with_size = f"{HARNESSES}[factors.size]\n1 = {{ batch = 10 }}\n2 = {{ batch = 20 }}\n"
    text = with_size + ladders
    asked = experiment(text + reported.format("flawed", "size", 2))
    assert asked.comparison.rungs() == [("flawed", "honest")]
    assert asked.reported_of({"size": 2}, "honest", "flawed") == list(asked.reported)
    assert asked.reported_of({"size": 1}, "honest", "flawed") == []
    assert asked.reported_of({"size": 2}, "honest", "honest") == []
    with pytest.raises(AssayError, match="not the level before"):
        experiment(
            text.replace('ladders = [["flawed", "honest"]]', "") + reported.format("flawed", "size", 2)
        )
    with pytest.raises(AssayError, match="factor compared"):
        experiment(text + reported.format("flawed", "harness", '"honest"'))
    with pytest.raises(AssayError, match="named twice"):
        experiment(with_size + ladders.replace('"flawed", "honest"', '"flawed", "flawed"'))


def test_a_lesson_is_named_after_its_flaw() -> None:
    assert lesson_of("never_inserts") == "never-inserts"
