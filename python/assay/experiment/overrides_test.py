from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError
from assay.experiment import Experiment, overridden, parse
from assay.experiment.mistakes import LevelKey, MistakeError, located
from assay.experiment.testing import experiment_text

TEXT = experiment_text(
    """subject = ["noop", "std_map_mutex", "bt_map"]
threads = [1, 2, 4]
pinning = ["none", [0, 1]]""",
    trial="",
    design="""until = "verdict"
exclude = [{ subject = "bt_map", threads = [1, 2] }]""",
    baseline="noop",
)


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
    assert both.overrides == ("--blocks 4", "--within 2m")
    assert overridden(both, minutes=40 / 60).overrides[-1] == "--within 40s"
    assert overridden(experiment) is experiment


def test_only_keeps_some_levels_in_the_order_of_the_file(experiment: Experiment) -> None:
    rules = ["threads=4", "threads=1", "subject=std_map_mutex,noop", "pinning=0,1"]
    some = overridden(experiment, only=rules)
    assert some.factors == {"subject": ("noop", "std_map_mutex"), "threads": (1, 4), "pinning": ("0,1",)}
    assert some.overrides == tuple(f"--only {rule}" for rule in rules)
    assert Experiment.model_validate_json(some.model_dump_json()).conditions() == some.conditions()


def test_spaces_around_names_do_not_count(experiment: Experiment) -> None:
    some = overridden(experiment, only=["threads= 1, 2", " subject =noop , std_map_mutex"])
    assert some.factors["threads"] == (1, 2)
    assert some.factors["subject"] == ("noop", "std_map_mutex")


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("thread=1", '--only thread=1: "thread" .* threads'),
        ("subject = nop", '^--only subject = nop: "nop" '),
        ("subject=noop,bt_mab", '"bt_mab" .* subject; .* bt_map'),
        ("threads", "FACTOR=LEVEL"),
        ("threads=", '"" .* threads'),
        ("subject=std_map_mutex", 'baseline, subject = "noop"'),
        ("subject=noop", 'baseline "noop"'),
    ],
)
def test_what_cannot_be_run_is_a_mistake(experiment: Experiment, only: str, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        overridden(experiment, only=[only])


def test_a_plan_that_is_too_large_is_refused(experiment: Experiment) -> None:
    with pytest.raises(AssayError, match="--blocks 100000: 18 combinations"):
        overridden(experiment, blocks=100_000)


def changed(experiment: Experiment, *settings: str) -> Experiment:
    result = overridden(experiment, settings=settings)
    assert result.overrides == tuple(f"--set {rule}" for rule in settings)
    stored = Experiment.model_validate_json(result.model_dump_json())
    assert stored.conditions() == result.conditions()
    return result


def test_set_gives_a_factor_other_levels(experiment: Experiment) -> None:
    result = changed(experiment, "threads=8, 16", 'pinning=none,[1,2],"compact"')
    assert result.factors["threads"] == (8, 16)
    assert result.factors["pinning"] == ("none", "1,2", "compact")
    assert result.changes["pinning"]["1,2"] == {"pinning": [1, 2]}


def test_set_gives_a_setting_another_value_or_makes_it_a_factor(experiment: Experiment) -> None:
    assert changed(experiment, "key_range=1e6").fixed["key_range"] == 10**6
    assert changed(experiment, "duration_ms=5", "latency=all").fixed["latency"] == "all"
    several = changed(experiment, "key_range=10,1e3")
    assert several.factors["key_range"] == (10, 1000)
    assert "key_range" not in several.fixed
    assert changed(experiment, "mix={ insert = 50, erase = 50 }").fixed["mix"]["insert"] == 50


def test_set_knows_the_levels_of_the_file_and_names_new_tables_by_their_text() -> None:
    text = TEXT.replace("[trial]", "[factors.mix]\nsearches = { find = 100 }\n[trial]").replace(
        "mix = { find = 100 }", ""
    )
    result = changed(parse(text, Path("x.toml")), "mix=searches,{insert=50,erase=50}")
    assert list(result.changes["mix"]) == ["searches", "{insert=50,erase=50}"]
    assert result.changes["mix"]["searches"]["mix"]["find"] == 100
    with pytest.raises(AssayError, match=r'^--set mix=updates: "updates" is not a level of mix'):
        overridden(parse(text, Path("x.toml")), settings=["mix=updates"])


def test_set_gives_other_rules_for_what_is_run(experiment: Experiment) -> None:
    everything = overridden(experiment, settings=["exclude=[]"])
    assert len(everything.conditions()) == 18 > len(experiment.conditions())
    some = overridden(experiment, settings=["exclude=[]", 'include=[{ subject = ["noop", "bt_map"] }]'])
    assert some.design.include == ({"subject": ("noop", "bt_map")},)
    assert len(some.conditions()) == 12


def test_the_first_subject_is_the_baseline_if_that_of_the_file_is_gone(experiment: Experiment) -> None:
    assert changed(experiment, "subject=bt_map,noop").comparison.baseline == "noop"
    assert (
        changed(experiment, "subject=tbb_hash_map,bt_map", "threads=4").comparison.baseline == "tbb_hash_map"
    )


def test_a_time_budget_of_the_file_is_filled_by_what_is_left() -> None:
    text = TEXT.replace('until = "verdict"', "minutes = 1")
    all_of_it = parse(text, Path("x.toml"))
    shorter = overridden(all_of_it, settings=["duration_ms=10"])
    assert (
        shorter.design.blocks
        == parse(text.replace("[trial]", "[trial]\nduration_ms = 10"), Path("x.toml")).design.blocks
    )
    assert shorter.design.blocks > all_of_it.design.blocks


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("threads", "a value is missing"),
        ("threads=1,", "a value is missing"),
        ("threads=0,1", "0 is too small; use 1 or more"),
        ("threads=1,1", "the level 1 is given twice"),
        ("threads=two", '"two" is not a whole number'),
        ("thread=1", '"thread" is neither a factor nor a setting of a trial; did you mean threads?'),
        ("blocks=3", "blocks is not a setting of a trial; use --blocks"),
        ("mix={ insert = 200 }", "insert: 200 is too large"),
        ("key_range={", '"{" is not a whole number'),
        ("subject=bt_map", "leaves nothing to compare"),
    ],
)
def test_a_mistake_in_set_is_placed_at_the_option(experiment: Experiment, rule: str, message: str) -> None:
    with pytest.raises(AssayError) as mistake:
        overridden(experiment, settings=[rule])
    assert str(mistake.value).startswith(f"--set {rule}: {message}")


def test_a_setting_that_a_factor_changes_everywhere_is_not_set_beside_it() -> None:
    text = TEXT.replace("[trial]", "[factors.size]\nsmall = { key_range = 10 }\n[trial]").replace(
        "key_range = 100", ""
    )
    with pytest.raises(AssayError, match="every level of the factor size changes key_range"):
        overridden(parse(text, Path("x.toml")), settings=["key_range=3"])


def test_what_the_machine_lacks_is_placed_at_the_option_that_asked_for_it(experiment: Experiment) -> None:
    key = ("factors", "subject", LevelKey("nope", 1))
    origin = overridden(experiment, settings=["subject=noop,nope"]).origin
    with pytest.raises(AssayError, match=r"^--set subject=noop,nope: there is none"), located(*origin):
        raise MistakeError(key, "there is none")
    with pytest.raises(AssayError, match=r"^x.toml:\d+: factors.threads: too many"), located(*origin):
        raise MistakeError(("factors", "threads"), "too many")
