"""`assay lesson`: compares a flawed measurement with an honest one, on this machine."""

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import DEFAULT_STORE, JsonOption, QuietOption, SeedOption, StoreOption, print_json
from assay.errors import AssayError
from assay.words import listed

if TYPE_CHECKING:
    from assay.experiment import Experiment
    from assay.report import Report
    from assay.store import Store, StoreName
    from assay_course.lesson import Lesson
    from assay_course.outcome import LessonCampaign, LessonResult

COURSE = Path(__file__).parent / "course"


def complete_lessons(incomplete: str) -> list[str]:
    """Return the names of the lessons."""
    names = ("list", *(page.stem.partition("-")[2] for page in sorted(COURSE.glob("[0-9]*.md"))))
    return [name for name in names if name.startswith(incomplete)]


def lesson(
    which: Annotated[
        str, typer.Argument(metavar="LESSON", hidden=True, autocompletion=complete_lessons)
    ] = "list",
    *,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """See how a benchmark misleads, and what catches it.

    LESSON is a number or a name of the course; `list`, or nothing, lists it. A lesson runs the flawed
    version and the honest one in a minute at most, by turns and in fresh processes, prints what was believed
    and what is true, and writes a page with every trial, which a browser shows where there is a screen.

    The exit code is 1 if the effect does not show in this run, or if the rule does not tell the two apart,
    and 2 if the machine lacks what the lesson needs.

    Example: `assay lesson 1`
    """
    from assay_course.catalog import LESSONS
    from assay_course.lesson import LessonError, find
    from assay_course.machine import lacking

    if which == "list":
        if as_json:
            print_json({"lessons": [_described(lesson) for lesson in LESSONS]})
        else:
            _print_course(LESSONS)
        return
    try:
        chosen = find(LESSONS, which)
    except LessonError:
        if not as_json:
            _print_course(LESSONS)
        raise
    if missing := lacking(chosen.needs):
        needs = f"needs {listed(missing)}, which this machine lacks"
        raise AssayError(f"lesson {chosen.number}, {chosen.name}, {needs}")
    outcome, reports, pages = _run_campaigns(chosen, seed, store, quiet=quiet)
    if as_json:
        numbers = [report.campaign.id for report in reports]
        print_json({**_described(chosen), **_measured(outcome), "campaigns": numbers, "pages": pages})
    else:
        _print_result(chosen, outcome, reports, pages)
    if not outcome.taught:
        raise typer.Exit(1)


def _print_result(
    lesson: "Lesson", outcome: "LessonResult", reports: "Sequence[Report]", pages: "Sequence[Path]"
) -> None:
    """Print what a lesson showed, and what to do next."""
    from assay_course.catalog import LESSONS
    from assay_course.words import result_lines

    for line in result_lines(lesson, outcome):
        typer.echo(line)
    busy = [finding for report in reports for finding in report.findings if finding.rule == "busy-host"]
    if busy and "valgrind" not in lesson.needs:  # which counts, whatever else runs
        typer.echo(f"busy: {busy[0].message} Take the lesson again on a quiet host.")
    for page in pages:
        typer.echo(f"page: {page}")
    show(pages[0])
    if lesson.number < len(LESSONS):
        typer.echo(f"next: assay lesson {lesson.number + 1}")


def show(page: Path) -> None:
    """Open a page in the browser of whoever sits in front of the machine, and nowhere else."""
    has_screen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.stdout.isatty() and has_screen:
        webbrowser.open(page.absolute().as_uri())


def _run_campaigns(
    lesson: "Lesson", seed: int | None, path: "StoreName", *, quiet: bool
) -> "tuple[LessonResult, list[Report], list[Path]]":
    """Run the campaigns of a lesson; return what they show, their reports and their pages."""
    from assay.cli.running import running_campaign
    from assay.experiment import overridden
    from assay.report.site import check_folder, write_page
    from assay.store import Store, store_name

    experiments: list[Experiment] = [overridden(experiment, seed=seed) for experiment in lesson.experiments()]
    reports: list[Report] = []
    check_folder(store_name(path))
    for experiment in experiments:
        with running_campaign(path, experiment, quiet=quiet) as (report, _):
            reports.append(report)
    with Store.open(path, create=False) as opened:
        runs: list[LessonCampaign] = [as_run(report, opened) for report in reports]
        outcome = lesson.outcome(runs)
        pages = [write_page(report, opened) for report in reports]
    return outcome, reports, pages


def as_run(report: "Report", store: "Store") -> "LessonCampaign":
    """Return a reported campaign as a lesson judges it."""
    from assay_course.outcome import LessonCampaign

    return LessonCampaign(
        report.experiment,
        report.trials,
        report.campaign.host,
        store.environments(report.campaign.id),
        lambda trial: store.record_of(trial)["result"],
    )


def _print_course(lessons: "Sequence[Lesson]") -> None:
    part = ""
    for lesson in lessons:
        if lesson.part != part:
            typer.echo(f"{chr(10) * bool(part)}{lesson.part}")
            part = lesson.part
        typer.echo(f"{lesson.number:4}  {lesson.name:28}{lesson.title}")
    typer.echo("\nTake one: assay lesson 1")


def _described(lesson: "Lesson") -> dict[str, Any]:
    from assay_course.machine import lacking

    return {
        **{name: getattr(lesson, name) for name in ("number", "name", "part", "title", "rule")},
        "believed": lesson.believed,
        "true": lesson.true,
        "lacks": lacking(lesson.needs),
    }


def _measured(outcome: "LessonResult") -> dict[str, Any]:
    names = ("measured", "shows", "flawed", "honest", "ratio", "interval", "clean", "seen")
    return {**{name: getattr(outcome, name) for name in names}, "findings": outcome.caught}
