"""The charts of a history: a metric of a condition over commits, with steps and drift."""

import math
import re
from collections.abc import Callable, Iterator, Sequence

from assay.experiment import Experiment
from assay.report.charts import alt, style
from assay.report.charts.axes import Up
from assay.report.charts.drawings import ENDS, clickable, of_part, table
from assay.report.charts.drawn import Figure, Row, Specification, numbers, titled, together
from assay.report.metrics import measured
from assay.words import ratio
from assay_trend.history import Commit, History
from assay_trend.history import MetricSeries as Measurements

TO_CAMPAIGN = "'campaign-' + datum.campaign + '/index.html'"
NAMED = 24
"""Commits that an axis names; of more it names every second, third and so on."""

LABEL = 7  # characters of a hash
HEIGHT = 220
STEPS = ("better", "worse", "changed")  # the verdicts' colors are theirs
ABOUT = {"commit": "commit", "date": "of", "subject": "subject"}


def figures(history: History, experiment: Experiment) -> Iterator[Figure]:
    """Yield a figure for each series on a scale of its own; the host's calibrations come last."""
    for place, metric in enumerate(dict.fromkeys(of.metric for of in every(history)), 1):
        series = [of for of in every(history) if of.metric == metric]
        for number, of in enumerate(series, 1):
            what = measured(experiment, metric) if of.levels else metric
            name = f"history-{place}-{number}"
            figure = Figure(name, titled(what, of.levels), list(_rows(of, history)), _note(of), name=name)
            yield from together([figure], _drawing(what, history.commits))


def every(history: History) -> tuple[Measurements, ...]:
    """Return the series of a history, and of the host's calibrations."""
    return (*history.series, *history.calibrations)


def _note(measurements: Measurements) -> str:
    if measurements.noise_percent is None:
        return "Too few commits for steps and drift."
    return f"Noise between neighbouring commits: {measurements.noise_percent:.2g}%."


def _rows(measurements: Measurements, history: History) -> Iterator[Row]:
    """Yield a row for each campaign, each level between steps, and each step.

    Columns: part ("point", "level" or "step"), at and end (places of commits), value, low, high, until (the
    value at `end`), campaign, commit, date, subject.
    """
    places = {commit.hash: place for place, commit in enumerate(history.commits, 1)}
    for point in measurements.points:
        yield {
            "part": "point",
            "at": places[point.commit.hash],
            "value": point.value,
            "low": point.interval.low if point.interval else None,
            "high": point.interval.high if point.interval else None,
            "campaign": point.campaign,
            "commit": point.commit.short,
            "date": f"{point.commit.committed_at:%Y-%m-%d}",
            "subject": point.commit.subject,
        }
    if measurements.noise_percent is None:
        return
    for segment in measurements.segments:
        yield {
            "part": "level",
            "at": places[segment.first.hash],
            "end": places[segment.last.hash],
            "value": segment.begin,
            "until": segment.end,
        }
    for step in measurements.steps:
        at = (places[step.commit.hash] + places[step.before.hash]) / 2
        part = "changed" if step.worse is None else STEPS[step.worse]
        yield {"part": part, "at": at, "change": f"{ratio(step.ratio)} times at {step.commit.short}"}


def _drawing(what: str, commits: Sequence[Commit]) -> Callable[[Sequence[Row]], Specification]:
    """Return what makes the specification of the figures of a metric."""
    apart = max(1, math.ceil(len(commits) / NAMED))
    labels = [re.sub("[^0-9a-f]", "", commit.short)[:LABEL] for commit in commits]
    first, second = style.COLORS[0], style.GREY

    def specification(rows: Sequence[Row]) -> Specification:
        up = Up.sharing(what, numbers(rows, "value", "low", "high", "until"), log=False, zero=False)
        x = (
            alt.X("at:Q", title="commit")
            .scale(domain=[0.5, len(labels) + 0.5], nice=False)
            .axis(
                values=[*range(1, len(labels) + 1, apart)],
                labelExpr=f"{labels}[datum.value - 1]",
                labelAngle=-45,
                grid=False,
            )
        )
        base = table(TO_CAMPAIGN).encode(x=x)
        points, level = of_part(base, "point"), of_part(base, "level")
        about = clickable({**ABOUT, "campaign": "campaign"}, {"value": up.what, **ENDS})
        steps = [
            of_part(base, part)
            .mark_rule(color=style.VERDICTS.colors[verdict], strokeDash=[5, 3], strokeWidth=2)
            .encode(tooltip=[alt.Tooltip("change:N", title=part)])
            for verdict, part in enumerate(STEPS)
        ]
        marks = [
            *steps,
            level.mark_rule(color=first, strokeWidth=3, opacity=0.4).encode(
                x2="end:Q", y=up.on("y", "value"), y2="until:Q"
            ),
            points.mark_rule(color=second).encode(y=up.on("y", "low"), y2="high:Q"),
            points.mark_point(filled=True, size=40, opacity=1, color=first).encode(
                y=up.on("y", "value"), **about
            ),
        ]
        return style.to_dict(alt.layer(*marks), HEIGHT)

    return specification
