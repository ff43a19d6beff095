from assay.findings import Finding
from assay_course.catalog import LESSONS
from assay_course.outcome import LessonResult
from assay_course.words import plain, result_lines

LESSON = LESSONS[0]
FINDING = Finding("It was seen.", ("version=flawed",), {}, "Stop it.")


def lines(outcome: LessonResult) -> str:
    return " ".join(" ".join(result_lines(LESSON, outcome)).split())


def test_an_effect_that_does_not_show_is_not_claimed() -> None:
    assert "does not show in this run" in lines(LessonResult("1 and 1.", False, (FINDING,), True))
    assert "does not show" not in lines(LessonResult("2 and 1.", True, (FINDING,), True))


def test_a_rule_that_does_not_tell_the_versions_apart_is_named() -> None:
    assert lines(LessonResult("2 and 1.", True, (), True)).endswith(
        f"{LESSON.rule}, which is silent in this run."
    )
    assert "of the honest version too" in lines(LessonResult("2 and 1.", True, (FINDING,), False))
    assert lines(LessonResult("2 and 1.", True, (FINDING,), True)).endswith(
        "silent about the honest version."
    )


def test_only_what_was_seen_in_whole_was_taught() -> None:
    assert LessonResult("", True, (FINDING,), True).taught
    assert not LessonResult("", False, (FINDING,), True).taught
    assert not LessonResult("", True, (), True).taught
    assert not LessonResult("", True, (FINDING,), False).taught


def test_marks_of_links_and_code_are_not_printed() -> None:
    assert plain("See [the\nrule](a/b.md) of `this`.") == "See the rule of this."
