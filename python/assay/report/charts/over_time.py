"""The trials one by one, as cumulative curves and over the time of the campaign, and the host over it."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from assay.analysis.configurations import ConditionSensitivity
from assay.analysis.types import HostModes
from assay.experiment.sensitivity import NOTHING
from assay.experiment.types import Chart
from assay.report.charts import alt
from assay.report.charts.axes import Up
from assay.report.charts.chart import draw
from assay.report.charts.drawings import HEIGHT, TO_TRIAL, clickable, cumulative, table
from assay.report.charts.drawn import Figure, Row, Specification, noted, numbers, titled, together
from assay.report.charts.kinds import BAND
from assay.report.charts.panels import Panels, clock, cut, thinned, with_band
from assay.report.charts.style import GREY, ONE, SIDES, Series, to_dict
from assay.report.metrics import measured

POINTS = 300  # at most of one level over time
CALIBRATIONS = {
    "core_to_core_ns": "One way between cores (ns)",
    "memory_ns": "Load from memory (ns)",
    "arithmetic_ns": "Step of arithmetic (ns)",
}
CALIBRATED = 500  # trials at most in one figure, each with two calibrations


def trials(panels: Panels) -> Iterator[Figure]:
    """Yield the cumulative curves of each context, and next to them its trials over time, all on one scale.

    Of a campaign about sensitivity they are curves over its configurations.
    """
    if panels.experiment.varied:
        yield from _configurations(panels)
        return
    metric = panels.report.analysis.metric
    unit, time = clock(panels.report)
    valued = [condition for condition in panels.conditions if condition.values(metric)]
    apart = tuple(name for name in panels.experiment.factors if name != panels.factor)
    title = f"Distribution of {metric}"
    chart = Chart(kind="cumulative", title=title, x=metric, color=panels.factor, facet=apart)
    over_time = []
    for shared, conditions in cut(valued, apart):
        points: list[Row] = []
        every = 1
        for condition in conditions:
            kept, n = thinned(condition.values(metric), POINTS)
            every = max(every, n)
            points += [
                {"time": time(trial), "value": value, "series": panels.level(condition), "trial": trial.id}
                for value, trial in kept
            ]
        note = f"Every {every}th trial is drawn." if every > 1 else ""
        over_time.append(Figure("over_time", titled(f"{metric} over time", shared), points, note))

    def specification(rows: Sequence[Row]) -> Specification:
        values = numbers(rows, "value")
        up = Up.sharing(measured(panels.experiment, metric), values, log=min(values) > 0, zero=False)
        return _drawing(up, unit, panels.levels, about={"series": panels.levels.title})

    pairs = zip(draw(panels, chart, valued, "distribution"), together(over_time, specification), strict=True)
    yield from chain.from_iterable(pairs)


def _configurations(panels: Panels) -> list[Figure]:
    """Return a figure for each condition: a curve for each thing perturbed, the unperturbed system on it.

    It is figure 12 of Blackwell 1998.
    """
    note = (
        "A step is a configuration: the median of its trials."
        " Large hollow: where the unperturbed system lies."
    )
    figures = [
        Figure(
            "configurations",
            titled("Distribution over configurations", condition.levels),
            rows,
            noted(note, BAND * any("low" in row for row in rows)),
        )
        for condition in panels.report.configurations
        if (rows := list(_curves(condition, panels)))
    ]

    def specification(rows: Sequence[Row]) -> Specification:
        values = numbers(rows, "value", "at")
        what = measured(panels.experiment, panels.report.analysis.metric)
        up = Up.sharing(what, values, log=min(values) > 0, zero=False)
        series = panels.levels.only({row["series"] for row in rows})
        return cumulative(up, series, rows, "configurations")

    return together(figures, specification)


def _curves(condition: ConditionSensitivity, panels: Panels) -> Iterator[Row]:
    for perturbed, medians in condition.medians.items():
        series = {"series": panels.names[panels.factor][perturbed]}
        curve = [(median, place / len(medians)) for place, median in enumerate(medians, start=1)]
        steps = [(medians[0], 0.0), *curve] if curve else []
        rows = [{**series, "value": value, "share": share} for value, share in steps]
        # Several hosts run the same configurations.
        independent = panels.report.analysis.hosts is None
        yield from with_band(rows, len(medians), len(condition.medians)) if independent else rows
        if curve and perturbed != NOTHING and condition.unperturbed is not None:
            at = condition.unperturbed
            yield {**series, "at": at, "share": bisect_right(medians, at) / len(medians)}


def host(panels: Panels) -> Iterator[Figure]:
    """Yield one figure for each calibration that there is."""
    for metric, what in CALIBRATIONS.items():
        yield from _calibration(panels, metric, what)


def _calibration(panels: Panels, metric: str, what: str) -> list[Figure]:
    report = panels.report
    unit, time = clock(report)
    modes = report.analysis.host_modes
    modes = modes if modes is not None and modes.metric == metric else None
    hosts = report.analysis.hosts
    boundary = None if modes is None or hosts else modes.boundary  # each host has a boundary of its own
    series = ONE if boundary is None else SIDES
    if hosts is not None:
        series = Series.of("host", [host.name for host in hosts.each])
    calibrated = [
        trial for trial in report.trials if metric in {**trial.calibration_before, **trial.calibration_after}
    ]
    kept, every = thinned(calibrated, CALIBRATED)
    rows = [
        {
            "time": time(trial),
            "value": value,
            "when": when,
            "series": trial.ran_on if hosts else series.names[boundary is not None and value > boundary],
            "trial": trial.id,
        }
        for trial in kept
        for when, values in (("before", trial.calibration_before), ("after", trial.calibration_after))
        if (value := values.get(metric, 0)) > 0
    ]
    if not rows:
        return []

    def specification(rows: Sequence[Row]) -> Specification:
        up = Up.sharing(what, [*numbers(rows, "value"), boundary or rows[0]["value"]], log=True)
        about = {"when": "calibration"}
        return _drawing(up, unit, series, about=about, boundary=boundary, height=180)

    thinning = f" Calibrations of every {every}th trial are drawn." if every > 1 else ""
    return together(
        [Figure(metric, what, rows, f"{'' if hosts else _modes(modes)}{thinning}".strip())], specification
    )


def _modes(modes: HostModes | None) -> str:
    """Return what the calibrations say of the host's modes, if they are those that tell."""
    if modes is None:
        return ""
    if modes.boundary is None:
        return "The calibrations show one mode of the host."
    centers = ", ".join(f"{mode} around {center:.4g} ns" for mode, center in modes.centers.items())
    return f"Two modes of the host: {centers}. Points are calibrations, by their side of the rule."


def _drawing(
    up: Up,
    unit: str,
    series: Series,
    *,
    about: Mapping[str, str],
    boundary: float | None = None,
    height: int = HEIGHT,
) -> Specification:
    """Draw what trials gave over the time of the campaign, in a unit, with a rule at a boundary.

    Columns: time, value, series, trial, and those of `about`, which say more of a mark (column -> title).
    """
    marks = (
        table(TO_TRIAL)
        .mark_point(filled=True, size=20, opacity=0.75)
        .encode(
            x=alt.X("time:Q", title=f"{unit} since the first trial").axis(grid=False).scale(nice=False),
            y=up.on("y", "value"),
            **series.by("color", "shape"),
            **clickable(about, {"time": unit, "value": up.what, "trial": "trial"}),
        )
    )
    rule = alt.Chart().mark_rule(color=GREY, strokeDash=[5, 3])
    rules = [] if boundary is None else [rule.encode(y=alt.YDatum(boundary, title=up.title))]
    return to_dict(alt.layer(*rules, marks), height, series)
