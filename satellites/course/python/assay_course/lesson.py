"""A lesson: its number, its texts, its experiments, and how it is judged."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.errors import AssayError
from assay.experiment import Experiment, load
from assay.words import nearest
from assay_course.outcome import LessonCampaign, LessonResult

COURSE = Path(__file__).parent / "course"
"""The experiments and texts; `satellites/course/docs` leads here."""

Judge = Callable[[str, Sequence[LessonCampaign]], LessonResult]
"""Returns a lesson's result from a rule's id and the lesson's campaigns, in the order of its files."""


class LessonError(AssayError):
    """There is no such lesson."""


@dataclass(frozen=True)
class Lesson:
    """A lesson of the course.

    Attributes:
        number: from 1; its files begin with it.
        part: the part of the course that it belongs to.
        rule: the id of the audit rule that catches the flaw.
        judge: judges its campaigns.
        needs: what the machine must have, as keys of `machine.NEEDS`.
        certain: the effect is a count, or so large that it shows on a busy host, too.
    """

    number: int
    name: str
    part: str
    rule: str
    judge: Judge
    needs: tuple[str, ...] = ()
    certain: bool = True

    @property
    def stem(self) -> str:
        """The start of its files' names."""
        return f"{self.number:02}-{self.name}"

    @property
    def page(self) -> Path:
        """Its text."""
        return COURSE / f"{self.stem}.md"

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """Its experiments: one with both versions, or one for each, the flawed version first."""
        alone = COURSE / f"{self.stem}.toml"
        if alone.exists():
            return (alone,)
        return (COURSE / f"{self.stem}-flawed.toml", COURSE / f"{self.stem}-honest.toml")

    def experiments(self) -> list[Experiment]:
        """Return its experiments."""
        return [load(file) for file in self.files]

    def outcome(self, runs: Sequence[LessonCampaign]) -> LessonResult:
        """Return what its campaigns show."""
        return self.judge(self.rule, runs)

    @cached_property
    def sections(self) -> dict[str, str]:
        """The headings of its page with the text under each; the title stands under the empty one."""
        title, *parts = re.split(r"(?m)^## ", self.page.read_text(encoding="utf-8"))
        return {"": title.removeprefix("# ").strip()} | {
            heading.strip(): body.strip() for heading, _, body in (part.partition("\n") for part in parts)
        }

    @property
    def title(self) -> str:
        """Its title."""
        return self.sections[""]

    @property
    def believed(self) -> str:
        """What people believe who measure in the flawed way."""
        return self.sections["What was believed"]

    @property
    def true(self) -> str:
        """What is true instead."""
        return self.sections["What is true"]


def find(lessons: Sequence[Lesson], requested: str) -> Lesson:
    """Return the lesson with a number or a name.

    Raises:
        LessonError: there is none.
    """
    for lesson in lessons:
        if requested in (lesson.name, str(lesson.number), f"{lesson.number:02}"):
            return lesson
    if requested.isdigit():
        raise LessonError(f"there is no lesson {requested}; they are numbered 1 to {len(lessons)}")
    hint = nearest(requested, [lesson.name for lesson in lessons])
    raise LessonError(f"there is no lesson {requested}; {hint}")
