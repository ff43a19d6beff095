"""The pictures of the course (`make pictures`): each lesson is taken here, and the numbers seen are drawn.

Numbers of lessons may follow, which are then the only ones: `course.py 1 14`. A lesson whose effect was not
seen leaves the picture that there is alone, and the exit code is 1.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from assay.words import counted, listed
from assay_course.catalog import LESSONS
from assay_course.lesson import Lesson
from assay_course.machine import lacking

PICTURES = Path(__file__).parent / "pictures"
MOST = 150
"""How many numbers a row shows at most, evenly picked: more only make the file larger."""


def picture(what: str, rows: Mapping[str, Sequence[float]], to: Path) -> None:
    """Draw every number as a line in the row of whose it is: nothing is averaged away."""
    marks = [
        {"value": float(f"{value:.4g}"), "whose": whose}
        for whose, values in rows.items()
        for value in values[:: 1 + (len(values) - 1) // MOST]
    ]
    ratio = what.startswith("ratio")
    chart = (
        alt.Chart(pd.DataFrame(marks), width=480, height=alt.Step(28))
        .mark_tick(thickness=2, opacity=0.6, aria=False)
        .encode(
            x=alt.X("value:Q", title=what, scale=alt.Scale(zero=not ratio)),
            y=alt.Y("whose:N", title=None, sort=[*rows], axis=alt.Axis(labelLimit=200)),
            color=alt.Color("whose:N", sort=[*rows], legend=None),
        )
    )
    room = {"left": 24, "right": 12, "top": 5, "bottom": 5}  # labels are wider in some fonts
    chart.properties(padding=room).configure_view(stroke=None).save(to, format="svg")


def seen(lesson: Lesson) -> Mapping[str, Any]:
    """Take a lesson in an empty folder; return what `assay lesson --json` prints, nothing where it failed."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["assay", "lesson", str(lesson.number), "--quiet", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=False)
    found: Mapping[str, Any] = json.loads(ran.stdout) if ran.returncode in (0, 1) and ran.stdout else {}
    return found


def draw(lesson: Lesson) -> str:
    """Take a lesson and draw it; return why there is no picture of this run, if so."""
    if missing := lacking(lesson.needs):
        return f"it needs {listed(missing)}"
    found = seen(lesson)
    if not found:
        return "it failed"
    print(f"lesson {lesson.number}: {found['measured']}", flush=True)
    if not found["shows"]:
        return "its effect was not seen"
    if not found["findings"] or not found["clean"]:
        return f"the rule {lesson.rule} did not tell the two versions apart"
    picture(**found["seen"], to=PICTURES / f"{lesson.stem}.svg")
    return ""


def main(numbers: Sequence[str]) -> None:
    """Draw the lessons with these numbers; all, where none is given."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    lessons = [lesson for lesson in LESSONS if not numbers or str(lesson.number) in numbers]
    without = [(lesson, why) for lesson in lessons if (why := draw(lesson))]
    for lesson, why in without:
        print(f"lesson {lesson.number}, {lesson.name}, was not drawn: {why}", file=sys.stderr)
    if without:
        sys.exit(f"{counted(without, 'lesson')} of {len(lessons)} not drawn; run it again on a quiet host")


if __name__ == "__main__":
    main(sys.argv[1:])
