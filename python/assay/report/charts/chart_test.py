"""[[chart]]: each kind on known numbers, what it is split into, and what is said where there is nothing."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import altair
import pytest
import vl_convert

from assay.analysis import median, median_interval
from assay.analysis.intervals import distribution_band
from assay.experiment import parse
from assay.plan.types import PlannedTrial
from assay.report.charts import figures
from assay.report.charts.chart import own
from assay.report.charts.drawn import Figure
from assay.report.charts.panels import Panels
from assay.report.gather import Report
from example_report import example_report, experiment_text

FACTORS = """
subject = ["noop", "std_map_mutex"]
threads = [1, 2, 8]
[factors.mix]
searches = { insert = 5, erase = 5, find = 90 }
updates = { insert = 50, erase = 50, find = 0 }
"""


def metrics(trial: PlannedTrial) -> dict[str, float]:
    faster = 2 if trial.levels["subject"] == "std_map_mutex" else 1
    slower = 3 if trial.levels["mix"] == "updates" else 1
    threads = int(trial.levels["threads"])
    return {"throughput": 1e6 * faster * threads / slower + trial.block, "peak_resident_bytes": 1e6 * threads}


@cache
def campaign() -> Report:
    return example_report(experiment_text(FACTORS), metrics)


def charted(chart: str) -> tuple[Report, list[Figure]]:
    """Return the report of one campaign and the figures of a chart."""
    experiment = parse(experiment_text(FACTORS, f"[[chart]]\n{chart}"), Path("example.toml"))
    report = replace(campaign(), experiment=experiment)
    return report, list(own(Panels(report)))


@pytest.mark.parametrize(
    "chart",
    [
        'kind="lines"\nx="threads"\ny="throughput"\ncolor="subject"\nfacet="mix"',
        'kind="lines"\nx="peak_resident_bytes"\ny="throughput"\ncolor="subject"\nfacet="mix"',
        'kind="lines"\nx="subject"\ny="throughput"\ncolor="subject"\nfacet=["mix", "threads"]',
        'kind="bars"\nx="threads"\ny="throughput"\ncolor="subject"\nfacet="mix"',
        'kind="box"\nx="threads"\ny="throughput"\ncolor="subject"\nfacet="mix"',
        'kind="cumulative"\nx="throughput"\ncolor="subject"\nfilter={ threads = 1 }',
    ],
)
def test_every_kind_is_valid_and_marks_of_trials_lead_to_them(chart: str) -> None:
    drawn = charted(chart)[1][0]
    specification = drawn.specification()
    altair.Chart.from_dict(specification, validate=True)
    complete = {**specification, "width": 400, "datasets": {"rows": list(drawn.rows)}}
    svg = vl_convert.vegalite_to_svg(complete, allowed_base_urls=[])
    for point in drawn.rows:
        if point.get("trial") is not None:  # a curve begins at no trial
            assert f'trial.html#{point["trial"]}"' in svg


def test_two_facets_share_their_axes() -> None:
    _, drawn = charted('kind="lines"\nx="subject"\ny="throughput"\ncolor="subject"\nfacet=["mix", "threads"]')
    assert [figure.title for figure in drawn] == [
        f"throughput over subject: mix={mix}, threads={threads}"
        for threads in (1, 2, 8)
        for mix in ("searches", "updates")
    ]
    assert {figure.kind for figure in drawn} == {"chart-1-1"}
    assert drawn[0].specification() == drawn[-1].specification()
    assert drawn[0].specification()["layer"][1]["encoding"]["y"]["field"] == "series"  # in rows


def of_condition(report: Report, number: int, metric: str) -> list[float]:
    return [trial.metrics[metric] for trial in report.trials if report.number(trial) == number]


def test_lines_are_medians_with_intervals_over_a_factor() -> None:
    report, drawn = charted('kind="lines"\nx="threads"\ny="throughput"\ncolor="subject"\nfacet="mix"')
    assert [figure.title for figure in drawn] == [
        "throughput over threads: mix=searches",
        "throughput over threads: mix=updates",
    ]
    assert [figure.kind for figure in drawn] == ["chart-1-1", "chart-1-1"]
    for figure in drawn:
        assert {(point["series"], point["x"]) for point in figure.rows} == {
            (subject, threads) for subject in ("noop", "std_map_mutex") for threads in ("1", "2", "8")
        }
        for point in figure.rows:
            values = of_condition(report, point["condition"], "throughput")
            interval = median_interval(values)
            assert interval is not None
            ends = (point["value"], point["low"], point["high"])
            assert ends == pytest.approx((median(values), interval.low, interval.high), rel=1e-5)


@pytest.mark.parametrize("kind", ["bars", "box"])
def test_the_figures_of_a_facet_share_their_axes(kind: str) -> None:
    _, drawn = charted(f'kind="{kind}"\nx="threads"\ny="throughput"\ncolor="subject"\nfacet="mix"')
    first, other = (figure.specification()["layer"][0]["encoding"]["y"] for figure in drawn)
    assert first == other


def test_the_bars_of_a_facet_begin_at_nothing() -> None:
    _, drawn = charted('kind="bars"\nx="threads"\ny="throughput"\ncolor="subject"\nfacet="mix"')
    assert drawn[0].specification() == drawn[1].specification()
    low, high = drawn[0].specification()["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low == 0
    assert high == pytest.approx(1.05 * max(p["high"] for figure in drawn for p in figure.rows), rel=1e-3)


def test_nothing_is_pooled_what_a_chart_does_not_name_gets_figures() -> None:
    report, drawn = charted('kind="bars"\nx="subject"\ny="throughput"')
    assert len(drawn) == 6  # two mixes by three numbers of threads
    conditions = [point["condition"] for figure in drawn for point in figure.rows]
    assert sorted(conditions) == list(range(1, len(report.analysis.conditions) + 1))


def curve_of(figure: Figure, series: str) -> tuple[list[tuple[float, float]], list[tuple[float, float, int]]]:
    """Return the steps (value, share) of a curve, and the marks on it (at, share, trials)."""
    rows = [row for row in figure.rows if row["series"] == series]
    steps = [(row["value"], row["share"]) for row in rows if "value" in row]
    return steps, [(row["at"], row["share"], row["trials"]) for row in rows if "at" in row]


def test_a_cumulative_chart_marks_the_unperturbed_system_on_the_curve_of_the_others() -> None:
    # The last two of 12 trials of each condition were not perturbed; their noop is as fast as the median.
    def metrics(trial: PlannedTrial) -> dict[str, float]:
        return {"throughput": 5.0 if trial.block >= 10 else float(trial.block)}

    chart = '[[chart]]\nkind="cumulative"\nx="throughput"\ncolor="subject"\nfilter={ subject = "noop" }'
    report = example_report(
        experiment_text('subject = ["noop", "std_map_mutex"]', chart, trial="mix = { find = 100 }"),
        metrics,
        perturbation=lambda trial: {"key_range": 0.0} if trial.block >= 10 else {"key_range": 1.0},
    )
    (figure,) = own(Panels(report))
    steps, marks = curve_of(figure, "noop")
    assert steps == [(0, 0), *((value, (value + 1) / 10) for value in range(10))]
    assert marks == [(5, 0.6, 2)]  # 6 of 10 perturbed trials have at most 5
    assert "median of the 2 unperturbed" in figure.note
    specification = figure.specification()
    altair.Chart.from_dict(specification, validate=True)
    complete = {**specification, "width": 400, "datasets": {"rows": list(figure.rows)}}
    assert vl_convert.vegalite_to_svg(complete, allowed_base_urls=[]).count("mark-rule") > 1


@pytest.mark.parametrize("drawn", [{}, {"key_range": 0.5}])
def test_where_all_trials_are_alike_in_that_nothing_is_marked(drawn: dict[str, float | str]) -> None:
    report = example_report(
        experiment_text('subject = ["noop", "std_map_mutex"]', trial="mix = { find = 100 }"),
        lambda trial: {"throughput": 1.0 + trial.block},
        perturbation=lambda _: drawn,
    )
    (figure,) = (figure for figure in figures(report) if figure.kind == "distribution")
    for series in ("noop", "std_map_mutex"):
        steps, marks = curve_of(figure, series)
        assert len(steps) == 13
        assert marks == []
    assert "unperturbed" not in figure.note
    assert '"at"' not in str(figure.specification())


def banded(report: Report) -> dict[str, list[tuple[float, float, float]]]:
    """Return the share and the ends of the band at each step, by series, of those curves that have one."""
    (figure,) = (figure for figure in figures(report) if figure.kind == "distribution")
    found: dict[str, list[tuple[float, float, float]]] = {}
    for row in figure.rows:
        if "low" in row:
            found.setdefault(row["series"], []).append((row["share"], row["low"], row["high"]))
    assert ("Band:" in figure.note) == bool(found)
    specification = figure.specification()
    altair.Chart.from_dict(specification, validate=True)
    complete = {**specification, "width": 400, "datasets": {"rows": list(figure.rows)}}
    picture = vl_convert.vegalite_to_svg(complete, allowed_base_urls=[])
    assert picture.count('aria-roledescription="area mark container"') == len(found)
    return found


def of_subjects(*subjects: str, blocks: int = 12) -> Report:
    text = experiment_text(f"subject = {json.dumps(subjects)}", trial="mix = { find = 100 }", blocks=blocks)
    return example_report(text, lambda trial: {"throughput": 1.0 + trial.block})


def test_a_curve_of_independent_trials_has_a_band() -> None:
    bands = banded(of_subjects("noop", "std_map_mutex", "tbb_hash_map", blocks=400))
    assert len(bands) == 3
    half = distribution_band(400) + 1 / 400  # every other trial is drawn
    for share, low, high in bands["noop"]:
        assert (low, high) == pytest.approx((max(0, share - half), min(1, share + half)), abs=1e-5)


def test_more_curves_than_can_be_told_apart_have_no_bands_unless_each_has_a_plane() -> None:
    assert not banded(of_subjects("noop", "std_map_mutex", "tbb_hash_map", "bt_map"))
    assert len(banded(of_subjects("noop", *(f"map_{number}" for number in range(12))))) == 13


def test_trials_that_depend_on_each_other_have_no_band() -> None:
    report = of_subjects("noop", "std_map_mutex")
    first, *others = report.trials
    series = str(first.levels["subject"])
    again = replace(first, id=1000, ordinal=1000)
    elsewhere = replace(first, ran_on="another host")
    for trials in ([first, again, *others], [elsewhere, *others]):
        bands = banded(replace(report, trials=trials))
        assert len(bands) == 1
        assert series not in bands


def test_a_filter_leaves_some_levels() -> None:
    report, drawn = charted(
        'kind="box"\nx="threads"\ny="throughput"\ncolor="subject"'
        '\nfilter={ mix = "updates", threads = [1, 8] }'
    )
    (figure,) = drawn
    assert figure.title == "throughput by threads"
    assert {point["x"] for point in figure.rows} == {"1", "8"}
    for point in figure.rows:
        values = sorted(
            trial.metrics["throughput"]
            for trial in report.trials
            if trial.levels == {"subject": point["series"], "threads": int(point["x"]), "mix": "updates"}
        )
        assert (point["least"], point["median"], point["most"]) == pytest.approx(
            (values[0], median(values), values[-1]), rel=1e-5
        )
    domain = figure.specification()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain == ["1", "8"]


def test_a_level_keeps_its_colour_whatever_is_filtered() -> None:
    chart = 'kind="bars"\nx="threads"\ny="throughput"\ncolor="subject"\nfilter={ mix = "updates"'
    every, filtered = (
        drawn[0].specification()["layer"][0]["encoding"]["color"]["scale"]
        for _, drawn in (charted(f"{chart} }}"), charted(f'{chart}, subject = "std_map_mutex" }}'))
    )
    assert filtered["domain"] == ["std_map_mutex"]
    assert filtered["range"] == every["range"][1:]


def test_lines_over_a_metric_run_through_the_conditions() -> None:
    _, drawn = charted('kind="lines"\nx="peak_resident_bytes"\ny="throughput"\ncolor="subject"\nfacet="mix"')
    assert len(drawn) == 2  # the number of threads is what a line runs along
    for figure in drawn:
        assert [point["at"] for point in figure.rows] == [1e6, 2e6, 8e6, 1e6, 2e6, 8e6]


def test_what_is_coloured_may_be_the_axis_itself() -> None:
    _, drawn = charted('kind="bars"\nx="subject"\ny="throughput"\ncolor="subject"')
    encoding = drawn[0].specification()["layer"][0]["encoding"]
    assert "xOffset" not in encoding
    assert encoding["color"]["legend"] is None


@pytest.mark.parametrize(
    ("chart", "words"),
    [
        ('kind="box"\nx="threads"\ny="thruput"', ["thruput", "throughput"]),
        ('kind="cumulative"\nx="qqqqq"', ["qqqqq"]),
    ],
)
def test_a_metric_that_no_trial_reports_is_said(chart: str, words: list[str]) -> None:
    _, (figure,) = charted(chart)
    assert not figure.rows
    assert all(word in figure.note for word in words)


def test_a_metric_that_some_conditions_lack_is_said_in_their_place() -> None:
    def some(trial: PlannedTrial) -> dict[str, float]:
        return metrics(trial) | ({"latency": 5.0} if trial.levels["mix"] == "updates" else {})

    text = experiment_text(
        FACTORS, '[[chart]]\nkind="bars"\nx="threads"\ny="latency"\ncolor="subject"\nfacet="mix"'
    )
    drawn = list(own(Panels(example_report(text, some))))
    assert [len(figure.rows) for figure in drawn] == [0, 6]
    assert ["latency" in figure.note for figure in drawn] == [True, False]


def test_without_a_valid_trial_that_is_said() -> None:
    text = experiment_text(FACTORS, '[[chart]]\nkind="cumulative"\nx="throughput"')
    given = example_report(text, metrics, status=lambda _: "crashed")
    (figure,) = own(Panels(given))
    assert "no valid trial" in figure.note


def test_what_a_filter_leaves_and_where_other_factors_stand_is_said() -> None:
    _, drawn = charted(
        'kind="bars"\nx="subject"\ny="throughput"\nfilter={ threads = [1, 8], mix = "searches" }'
    )
    assert all("threads=1 or 8, mix=searches" in figure.note for figure in drawn)
    _, (figure, *_) = charted('kind="bars"\nx="subject"\ny="throughput"')
    assert figure.note == ""


def test_a_filter_may_leave_nothing() -> None:
    text = experiment_text(
        FACTORS,
        '[[chart]]\nkind="cumulative"\nx="throughput"\nfilter={ subject = "std_map_mutex", threads = 8 }',
    ).replace("seed = 1", 'seed = 1\nexclude = [{ subject = "std_map_mutex", threads = 8 }]')
    (figure,) = own(Panels(example_report(text, metrics)))
    assert "filter" in figure.note
