from assay.findings import Finding
from assay_course.catalog import LESSONS
from assay_course.outcome import Outcome
from assay_course.words import plain, told

LESSON = LESSONS[0]
FINDING = Finding("It was seen.", ("version=flawed",), {}, "Stop it.")


def lines(outcome: Outcome) -> str:
    return " ".join(" ".join(told(LESSON, outcome)).split())


def test_an_effect_that_does_not_show_is_not_claimed() -> None:
    assert "does not show in this run" in lines(Outcome("1 and 1.", False, (FINDING,), True))
    assert "does not show" not in lines(Outcome("2 and 1.", True, (FINDING,), True))


def test_a_rule_that_does_not_tell_the_versions_apart_is_named() -> None:
    assert lines(Outcome("2 and 1.", True, (), True)).endswith(f"{LESSON.rule}, which is silent in this run.")
    assert "of the honest version too" in lines(Outcome("2 and 1.", True, (FINDING,), False))
    assert lines(Outcome("2 and 1.", True, (FINDING,), True)).endswith("silent about the honest version.")


def test_only_what_was_seen_in_whole_was_taught() -> None:
    assert Outcome("", True, (FINDING,), True).taught
    assert not Outcome("", False, (FINDING,), True).taught
    assert not Outcome("", True, (), True).taught
    assert not Outcome("", True, (FINDING,), False).taught


def test_marks_of_links_and_code_are_not_printed() -> None:
    assert plain("See [the\nrule](a/b.md) of `this`.") == "See the rule of this."
