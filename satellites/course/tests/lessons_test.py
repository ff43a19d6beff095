"""Every lesson of the course, at a reduced size: its effect, and the rule that tells two versions apart."""

import json
import re
from pathlib import Path

import pytest

from assay.audit import known_rules
from assay.campaign import Reporter, run_campaign
from assay.experiment import parse
from assay.experiment.flaws import LESSONS as NAMES_OF_LESSONS
from assay.experiment.flaws import NAMES, lesson_of
from assay.findings import Finding
from assay.runner.process import StopSignals
from assay.store import Store
from assay_course import machine as lessons_machine
from assay_course.catalog import LESSONS, PARTS
from assay_course.cli import as_run, show
from assay_course.lesson import Lesson, find
from assay_course.machine import lacking
from assay_course.outcome import LessonResult
from assay_course.words import result_lines
from conftest import ROOT, Assay

COURSE = ROOT / "satellites/course/docs"
LONGEST_MS = 100
NOT_SHORTER = {"overload", "memory-not-freed", "warm-up-left-in"}
"""The effect of these needs time: on a slow or busy host more, so each attempt takes twice as long."""
FEWEST = {
    "two-modes": 12,
    "too-few-blocks": 12,
    "many-comparisons": 12,
    "looking": 30,
    "unpinned": 10,
    "large-environment": 2,
    "warm-up-left-in": 4,
}
BLOCKS = 3
ATTEMPTS = 4
DISTURBED = {"busy-host", "preempted"}
"""Rules that say that other work took the processors of trials."""
OF_TIMES = {"two-modes", "warm-up-left-in"}
"""Their rules look at times and at changes of speed, which a busy host has too. That they are silent about
one mode and about steady trials is tested with made-up trials (judges_test.py, trials_test.py), as the signs
of effects are that chance may hide."""
SIGN = "the effect has its sign"


def reduced(lesson: Lesson, text: str, times: int) -> str:
    """Return an experiment with fewer and shorter trials, each `times` as long as the shortest needed."""
    longest_ms = None if lesson.name in NOT_SHORTER else LONGEST_MS

    def change(setting: "re.Match[str]") -> str:
        ms = int(setting[2].replace("_", ""))
        return f"{setting[1]} = {times * min(ms, longest_ms or ms)}"

    text = re.sub(r"(duration_ms|warm_up_ms) = ([\d_]+)", change, text)
    return re.sub(
        r"(?m)^blocks = \d+", f"blocks = {FEWEST.get(lesson.name, BLOCKS)}\nrepeat = 0\nseed = 1", text
    )


def carried_out(lesson: Lesson, folder: Path, times: int) -> tuple[LessonResult, set[str]]:
    """Return what a lesson comes to at a reduced size, and what disturbed it."""
    experiments = [parse(reduced(lesson, file.read_text(), times), file) for file in lesson.files]
    folder.mkdir()
    path = folder / "store.sqlite"
    reports = []
    for experiment in experiments:
        with StopSignals() as stop:
            result = run_campaign(path, experiment, stop, Reporter(quiet=True))
        assert result.report is not None
        reports.append(result.report)
    with Store.open(path) as store:
        outcome = lesson.outcome([as_run(report, store) for report in reports])
    return outcome, DISTURBED & {finding.rule for report in reports for finding in report.findings}


def mistakes(lesson: Lesson, outcome: LessonResult) -> list[str]:
    """Return what a lesson did not do."""
    demanded: dict[str, object] = {"the rule fires": outcome.caught}
    if lesson.name not in OF_TIMES:
        demanded["it is silent about the honest version"] = outcome.clean
    if lesson.certain:
        demanded[SIGN] = outcome.shows
    return [what for what, holds in demanded.items() if not holds]


def excused(missing: list[str], disturbed: set[str]) -> bool:
    """Tell whether other work may be why a lesson did not do something: it hides an effect, and no more.

    A rule that is silent about the flaw, or speaks of the honest version, is wrong on a busy host too.
    """
    return bool(disturbed) and missing == [SIGN]


@pytest.mark.parametrize(
    ("caught", "shows", "clean", "disturbed", "skips"),
    [
        (True, False, True, {"busy-host"}, True),
        (True, False, True, set(), False),
        (True, True, False, {"busy-host"}, False),
        (True, False, False, {"busy-host"}, False),
        (False, False, True, {"busy-host"}, False),
    ],
)
def test_other_work_excuses_an_effect_that_is_hidden_and_nothing_else(
    *, caught: bool, shows: bool, clean: bool, disturbed: set[str], skips: bool
) -> None:
    finding = Finding("a rule speaks", (), {}, "")
    outcome = LessonResult("", shows, (finding,) if caught else (), clean)
    missing = mistakes(find(LESSONS, "clock-every-operation"), outcome)
    assert excused(missing, disturbed) == skips


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_teaches_what_it_says(lesson: Lesson, tmp_path: Path) -> None:
    if missing := lacking(lesson.needs):
        pytest.skip(f"needs {missing}")
    # A burst of other work hides any effect of times, and longer trials outlast it. Where the trials
    # themselves say so, nothing is known.
    for attempt in range(ATTEMPTS):
        outcome, disturbed = carried_out(lesson, tmp_path / str(attempt), 2**attempt)
        if not mistakes(lesson, outcome):
            break
    else:
        if excused(mistakes(lesson, outcome), disturbed):
            pytest.skip(f"{lesson.name}: {ATTEMPTS} times disturbed: {', '.join(sorted(disturbed))}")
    assert not mistakes(lesson, outcome), outcome
    lines = [*result_lines(lesson, outcome)]
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80


def test_every_lesson_has_its_files_and_nothing_else_is_there() -> None:
    assert all(path.exists() for lesson in LESSONS for path in (lesson.page, *lesson.files))
    there = {path.name.split(".")[0] for path in COURSE.iterdir()} - {"README"}
    stems = {lesson.stem for lesson in LESSONS}
    versions = {f"{stem}-{version}" for stem in stems for version in ("flawed", "honest")}
    assert stems <= there <= stems | versions
    assert len(LESSONS) >= 24
    assert [*dict.fromkeys(lesson.part for lesson in LESSONS)] == [*PARTS]


def test_each_flaw_has_a_lesson_of_its_name() -> None:
    assert {lesson_of(flaw) for flaw in NAMES} <= {lesson.name for lesson in LESSONS}


def test_experiments_may_send_to_every_lesson() -> None:
    assert tuple(lesson.name for lesson in LESSONS) == NAMES_OF_LESSONS


def test_the_index_lists_each_lesson_with_its_rule() -> None:
    index = (COURSE / "README.md").read_text()
    for lesson in LESSONS:
        folder = "foreign/audit" if "other tools" in lesson.needs else "guide/audit"
        assert lesson.rule in known_rules() or lacking(lesson.needs)
        row = f"| {lesson.number} | [{lesson.title}]({lesson.stem}.md) | [{lesson.rule}]("
        assert row in index
        text = lesson.page.read_text()
        assert f"assay lesson {lesson.number}\n" in text
        assert f"[{lesson.rule}](../{folder}/{lesson.rule}.md)" in text


def test_a_lesson_is_told_with_its_page(assay: Assay) -> None:
    listed = assay("lesson", "list").stdout
    assert "1  never-inserts" in listed
    ran = assay("lesson", "short-array", "--quiet", "--seed", "1").stdout
    assert ran.startswith("Lesson 17: Numbers that come round again\n")
    assert "Caught by  array-repeats:" in ran
    page = Path(re.findall(r"(?m)^page: (.*)$", ran)[0])
    assert page.name.endswith(".html")


def test_json_has_the_numbers(assay: Assay) -> None:
    lessons = json.loads(assay("lesson", "--json").stdout)["lessons"]
    assert [lesson["number"] for lesson in lessons] == [lesson.number for lesson in LESSONS]


def test_the_ladder_takes_as_long_by_the_guide_as_by_its_own_file() -> None:
    ladder = "experiments/pitfalls/synchrobench-ladder.toml"
    file, guide = (ROOT / ladder).read_text(), (ROOT / "docs/guide/anomalies.md").read_text()
    commands = re.findall(rf"(?m)^    assay run {ladder} ?(.*)$", guide)
    durations = [
        re.findall(rf"(?m)^# +{re.escape(command or 'as it is')} {{4,}}(.*)$", file) for command in commands
    ]
    assert len(durations) == 3
    times = [duration.split(": ")[-1] for [duration] in durations]
    (sentence,) = re.findall(r"(?m)^The first takes (.*), the second (.*), and the third, .*, (.*)\.$", guide)
    assert list(sentence) == times


def test_an_unknown_lesson_lists_the_course(assay: Assay) -> None:
    unknown = assay("lesson", "99", expect=2)
    assert "35  looking" in unknown.stdout
    assert unknown.stderr == "error: there is no lesson 99; they are numbered 1 to 35\n"
    assert "did you mean looking?" in assay("lesson", "lookin", expect=2).stderr


def test_a_machine_that_lacks_something_is_told_so(assay: Assay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons_machine, "NEEDS", {"rdrand": lambda: "a processor with RDRAND"})
    refused = assay("lesson", "hardware-numbers", expect=2)
    assert refused.stderr == (
        "error: lesson 18, hardware-numbers, needs a processor with RDRAND, which this machine lacks\n"
    )


@pytest.mark.parametrize(
    ("at_a_terminal", "display", "shown"), [(True, ":0", 1), (True, "", 0), (False, ":0", 0)]
)
def test_a_page_opens_only_for_who_can_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, at_a_terminal: bool, display: str, shown: int
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: at_a_terminal)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    show(tmp_path / "page.html")
    assert opened == [f"file://{tmp_path}/page.html"] * shown
