"""What `assay lesson` prints: ten lines or so."""

import re
import textwrap
from collections.abc import Iterator

from assay_course.lesson import Lesson
from assay_course.outcome import LessonResult

WIDTH = 80


def plain(markdown: str) -> str:
    """Return a text without the marks of its links and code, in one line."""
    without_links = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return " ".join(without_links.replace("`", "").replace("**", "").split())


def result_lines(lesson: Lesson, outcome: LessonResult) -> Iterator[str]:
    """Yield the lines that say what was believed, what was measured just now, and what catches the flaw."""
    yield f"Lesson {lesson.number}: {plain(lesson.title)}"
    for label, text in (
        ("Believed", plain(lesson.believed)),
        ("Measured", outcome.measured),
        ("", "" if outcome.shows else "The effect that this lesson is about does not show in this run."),
        ("True", plain(lesson.true)),
        ("Caught by", _caught(lesson, outcome)),
    ):
        if text:
            yield from textwrap.wrap(
                text, WIDTH, initial_indent=f"{label:11}", subsequent_indent=" " * 11, break_on_hyphens=False
            )


def _caught(lesson: Lesson, outcome: LessonResult) -> str:
    if not outcome.caught:
        return f"{lesson.rule}, which is silent in this run."
    honest = (
        "It is silent about the honest version."
        if outcome.clean
        else ("In this run it speaks of the honest version too.")
    )
    return f"{lesson.rule}: {outcome.caught[0].message} {honest}"
