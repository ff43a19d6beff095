"""The course: a flawed measurement beside an honest one in each lesson, and the rule that catches it."""

from assay.lessons.catalog import LESSONS, PARTS
from assay.lessons.lesson import Lesson, LessonError, find
from assay.lessons.machine import lacking
from assay.lessons.outcome import Outcome, Run
from assay.lessons.words import told

__all__ = ["LESSONS", "PARTS", "Lesson", "LessonError", "Outcome", "Run", "find", "lacking", "told"]
