"""The charts that every campaign gets: which there are, what numbers they show, where their marks lead."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import altair
import pytest
import vl_convert

from assay.analysis import median, median_interval
from assay.analysis.types import Shape
from assay.plan.types import PlannedTrial
from assay.report.charts import SECTIONS, Figure, figures, specifications
from assay.report.charts.drawn import Row, numbers
from assay.report.charts.style import ONE, SIDES, VERDICTS
from assay.report.gather import Report
from example_report import example_report, experiment_text

MIX = "mix = { insert = 10, erase = 10, find = 80 }"
FACTORS = """
subject = ["noop", "std_map_mutex", "tbb_hash_map"]
threads = [1, 2, 8]
[factors.mix]
searches = { insert = 5, erase = 5, find = 90 }
updates = { insert = 50, erase = 50, find = 0 }
"""
MARKS = {"environment": {"topology": {"marks": {"cores_first": {"smt": 3, "socket": [5]}}}}}
CONTEXTS = [(threads, mix) for threads in (1, 2, 8) for mix in ("searches", "updates")]
SPEED = {"noop": 1.0, "std_map_mutex": 0.8, "tbb_hash_map": 0.6}


def metrics(trial: PlannedTrial) -> dict[str, float]:
    """`noop` does not scale, `tbb_hash_map` does, `std_map_mutex` gets slower."""
    threads = int(trial.levels.get("threads", 1))
    scaled = {"noop": 1, "std_map_mutex": 1 - threads / 16, "tbb_hash_map": threads}
    subject = str(trial.levels.get("subject", "noop"))
    throughput = 1e6 * SPEED[subject] * scaled[subject] * (1 + 0.01 * (trial.ordinal * 7 % 11))
    return {
        "throughput": throughput,
        "minor_page_faults": 3.0,
        "major_page_faults": 1.0,
        "voluntary_context_switches": 20.0,
        "peak_resident_bytes": 8.0 * 2**20 + trial.ordinal,
        "slowest_thread_share": 1 - 0.001 * trial.block,
    }


def calibration(trial: PlannedTrial) -> dict[str, float]:
    """The host is slow for a third of the campaign."""
    slow = trial.block in (4, 5, 6, 7)
    return {"core_to_core_ns": (190 if slow else 45) + trial.ordinal % 5, "memory_ns": 90.0}


@cache
def report() -> Report:
    text = experiment_text(FACTORS).replace("[comparison]", '[comparison]\nacross = ["mix"]')
    return example_report(text, metrics, calibration=calibration, example=MARKS)


@cache
def by_kind() -> dict[str, list[Figure]]:
    figures_of_kind: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures(report()):
        figures_of_kind[figure.kind].append(figure)
    return figures_of_kind


@cache
def kinds() -> dict[str, Any]:
    return specifications(figures(report()))


def points(figure: Figure, part: str | None = None) -> list[Row]:
    return [row for row in figure.rows if part is None or row["part"] == part]


def drawn(figure: Figure, specification: Mapping[str, Any]) -> str:
    """Return the SVG of a figure as a page draws it."""
    return vl_convert.vegalite_to_svg(
        {**specification, "width": 400, "datasets": {"rows": list(figure.rows)}}, allowed_base_urls=[]
    )


def test_every_default_chart_is_there_for_each_panel() -> None:
    # There are two mixes; with three numbers of threads they make six contexts.
    numbers = {kind: len(drawings) for kind, drawings in by_kind().items()}
    assert numbers == {
        "estimates": 2,
        "ratios": 2,
        "aggregates": 1,
        "distribution": 6,
        "over_time": 6,
        "counters": 1,
        "page_faults": 2,
        "context_switches": 2,
        "memory": 2,
        "fairness": 2,
        "core_to_core_ns": 1,
        "memory_ns": 1,
    }


def test_figures_come_section_by_section_with_names_of_their_own() -> None:
    every = list(figures(report()))
    order = [list(SECTIONS).index(figure.section) for figure in every]
    assert order == sorted(order)
    names = [figure.name for figure in every]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z0-9_-]+", name) for name in names)
    assert all(figure.rows or figure.note for figure in every)


def test_the_table_of_a_figure_has_every_column_of_every_row() -> None:
    for figure in figures(report()):
        columns, rows = figure.table()
        filled = [{column: row.get(column) for column in columns} for row in figure.rows]
        assert [dict(zip(columns, row, strict=True)) for row in rows] == filled


def test_the_charts_of_the_file_stand_in_a_section_of_their_own() -> None:
    chart = '[[chart]]\nkind="cumulative"\nx="throughput"\n'
    text = experiment_text('subject = ["noop", "std_map_mutex"]', chart + chart, trial=MIX)
    own = [figure for figure in figures(example_report(text, metrics)) if figure.section == "charts"]
    assert [figure.name for figure in own] == ["chart-1-1-1", "chart-1-2-1", "chart-2-1-1", "chart-2-2-1"]


def test_what_can_be_drawn_has_a_specification_that_validates_and_has_no_data_but_rows() -> None:
    assert set(kinds()) == {figure.kind for figure in figures(report()) if figure.rows}
    for specification in kinds().values():
        altair.Chart.from_dict(specification, validate=True)
        assert "datasets" not in specification


def test_every_mark_leads_to_its_trial_or_to_the_trials_of_its_condition() -> None:
    for kind, of_kind in by_kind().items():
        if not of_kind[0].rows:
            continue
        links = set(re.findall(r'href="(?:[^"]*/)?([^"]*)"', drawn(of_kind[0], kinds()[of_kind[0].kind])))
        wanted = set()
        for point in points(of_kind[0]):
            if point.get("trial") is not None:
                wanted.add(f"trial.html#{point['trial']}")
            elif point.get("condition") is not None:
                wanted.add(f"#condition-{point['condition']}")
        assert links == wanted, kind


def test_medians_are_those_of_the_analysis() -> None:
    conditions = report().analysis.conditions
    charted = [point for figure in by_kind()["estimates"] for point in points(figure, "point")]
    assert sorted(point["condition"] for point in charted) == list(range(1, len(conditions) + 1))
    for point in charted:
        condition = conditions[point["condition"] - 1]
        assert condition.interval is not None
        expected = (condition.median, condition.interval.low, condition.interval.high)
        assert (point["value"], point["low"], point["high"]) == pytest.approx(expected, rel=1e-5)
        assert point["series"] == condition.levels["subject"]
        assert point["x"] == str(condition.levels["threads"])
        assert point["at"] == pytest.approx(float(condition.levels["threads"]), rel=0.05)
        assert point["values"] == 12


def test_the_best_with_one_thread_is_drawn_in_and_who_beats_it_is_said() -> None:
    for figure in by_kind()["estimates"]:
        (best,) = points(figure, "best")
        single = [point for point in points(figure, "point") if point["x"] == "1"]
        assert best["value"] == max(point["value"] for point in single)
        assert best["label"] == "best with 1 thread: noop"
        assert "noop" in figure.note
        assert figure.note.endswith("tbb_hash_map at 2 threads.")


def test_of_a_cost_the_best_is_the_lowest() -> None:
    text = experiment_text(FACTORS).replace("[comparison]", '[comparison]\nbetter = "lower"')
    figure = next(figure for figure in figures(example_report(text, metrics)) if figure.section == "medians")
    assert "tbb_hash_map" in figure.note
    assert figure.note.endswith(": std_map_mutex at 8 threads.")


def test_nothing_is_said_of_one_thread_where_none_was_run() -> None:
    text = experiment_text(FACTORS.replace("[1, 2, 8]", "[2, 8]"))
    figure = next(figure for figure in figures(example_report(text, metrics)) if figure.section == "medians")
    assert not points(figure, "best")
    assert figure.note == ""


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ({"cores_first": {"smt": 3, "socket": [5]}}, [(2.5, "cores shared"), (4.5, "socket 2")]),
        ({"cores_first": {"smt": 3, "socket": []}}, [(2.5, "cores shared")]),
        ({"cores_first": {"smt": None, "socket": [64]}}, []),  # beyond the axis
        ({"scatter": {"smt": 3, "socket": [5]}}, []),  # not how these trials were pinned
        ({"cores_first": {"smt": None, "socket": [2, 3, 64]}}, [(1.5, "socket 2"), (2.5, "socket 3")]),
        ({}, []),
        ({"cores_first": {"smt": "three", "socket": 7}}, []),  # a program of one's own may say anything
        ("none", []),
    ],
)
def test_threads_that_share_cores_and_further_sockets_are_marked(
    marks: object, expected: list[tuple[float, str]]
) -> None:
    example = {"environment": {"topology": {"marks": marks}}}
    given = example_report(experiment_text(FACTORS), metrics, example=example)
    for figure in figures(given):
        if figure.name.startswith("estimates"):
            assert [(point["at"], point["label"]) for point in points(figure, "boundary")] == expected


def test_ratios_are_those_of_the_comparisons() -> None:
    charted = {
        (figure.title, point["row"]): point for figure in by_kind()["ratios"] for point in points(figure)
    }
    comparisons = report().analysis.comparisons
    assert len(charted) == len(comparisons) == 12
    for comparison in comparisons:
        row = f"{comparison.context['threads']} · {comparison.level}"
        point = charted[f"Ratios of throughput: mix={comparison.context['mix']}", row]
        assert comparison.interval is not None
        expected = (comparison.ratio, comparison.interval.low, comparison.interval.high)
        assert (point["ratio"], point["low"], point["high"]) == pytest.approx(expected, rel=1e-5)
        assert point["series"] == comparison.verdict


def test_the_axis_of_ratios_names_every_baseline() -> None:
    text = experiment_text(FACTORS, baseline='["noop", "tbb_hash_map"]')
    text = text.replace("[design]", '[design]\nexclude = [{ subject = "noop", mix = "updates" }]')
    given = example_report(text, metrics)
    searches, updates = (figure for figure in figures(given) if figure.kind == "ratios")
    assert {point["row"].split()[-1] for point in points(searches)} == {"std_map_mutex", "tbb_hash_map"}
    assert {point["row"].split()[-1] for point in points(updates)} == {"std_map_mutex"}
    assert ">ratio to noop or tbb_hash_map, log scale<" in drawn(
        updates, specifications(figures(given))["ratios"]
    )


def test_the_band_of_the_smallest_effect_is_drawn_around_one() -> None:
    band = kinds()["ratios"]["layer"][0]
    assert band["mark"]["type"] == "rect"
    assert band["encoding"]["x"]["datum"] == pytest.approx(1 / 1.05)
    assert band["encoding"]["x2"]["datum"] == pytest.approx(1.05)


def test_ratios_over_workloads_are_those_of_the_analysis() -> None:
    (figure,) = by_kind()["aggregates"]
    charted = {point["row"]: (point["ratio"], point["series"]) for point in points(figure)}
    assert charted == {
        f"{whole.context['threads']} · {whole.level}": (pytest.approx(whole.ratio, rel=1e-5), whole.verdict)
        for whole in report().analysis.aggregates
    }


def test_a_workload_that_goes_the_other_way_is_named() -> None:
    def other_way(trial: PlannedTrial) -> dict[str, float]:
        changed = metrics(trial)
        if trial.levels["mix"] == "updates" and trial.levels["subject"] == "tbb_hash_map":
            changed["throughput"] /= 20
        return changed

    text = experiment_text(FACTORS).replace("[comparison]", '[comparison]\nacross = ["mix"]')
    given = example_report(text, other_way)
    notes = [figure.note for figure in figures(given) if figure.kind == "aggregates"]
    against = [
        (f"{aggregate.context['threads']} · {aggregate.level}", workload["mix"], verdict)
        for aggregate in given.analysis.aggregates
        for workload, verdict in aggregate.against
    ]
    assert against
    for row, mix, verdict in against:
        said = f"{row}: over 2 workloads of mix, contradicted by mix={mix} ({verdict})."
        assert any(said in note for note in notes)


def test_a_cumulative_curve_holds_every_trial_of_its_context() -> None:
    charted = {
        point["trial"]: point
        for figure in by_kind()["distribution"]
        for point in points(figure)
        if point["trial"] is not None
    }
    assert set(charted) == {trial.id for trial in report().trials}
    for trial in report().trials:
        assert charted[trial.id]["value"] == pytest.approx(trial.metrics["throughput"], rel=1e-5)
        assert charted[trial.id]["series"] == trial.levels["subject"]


def test_trials_are_drawn_over_time() -> None:
    charted = {point["trial"]: point for figure in by_kind()["over_time"] for point in points(figure)}
    assert set(charted) == {trial.id for trial in report().trials}
    assert charted[13]["time"] == pytest.approx(1)  # twelve times five seconds after the first


def test_a_short_campaign_counts_its_time_in_seconds() -> None:
    text = experiment_text('subject = ["noop", "std_map_mutex"]', trial=MIX)
    given = example_report(text, metrics)  # 24 trials, five seconds apart
    for kind in ("over_time", "memory_ns"):
        (figure,) = (figure for figure in figures(given) if figure.kind == kind)
        assert {point["time"] for point in points(figure)} == set(range(0, 120, 5))
        assert "seconds since the first trial" in str(specifications(figures(given))[kind])


def test_thousands_of_trials_are_thinned_and_that_is_said() -> None:
    text = experiment_text('subject = ["noop", "std_map_mutex"]', trial=MIX, blocks=1000)
    drawings = {figure.kind: figure for figure in figures(example_report(text, metrics))}
    for level in ("noop", "std_map_mutex"):
        curve = [point for point in points(drawings["distribution"]) if point["series"] == level]
        assert 190 <= len(curve) <= 203
        assert len([point for point in points(drawings["over_time"]) if point["series"] == level]) == 250
    assert "1598 trials" in drawings["distribution"].note
    assert "4th trial" in drawings["over_time"].note
    assert len(drawings["memory_ns"].rows) == 1000
    assert "4th trial" in drawings["memory_ns"].note
    assert {point["when"] for point in points(drawings["memory_ns"])} == {"before", "after"}


def test_medians_of_memory_and_events_are_those_of_the_trials() -> None:
    for condition, point in _by_condition("memory").items():
        values = [
            trial.metrics["peak_resident_bytes"] / 2**20
            for trial in report().trials
            if report().number(trial) == condition
        ]
        interval = median_interval(values)
        assert interval is not None
        assert point["value"] == pytest.approx(median(values), rel=1e-5)
        assert (point["low"], point["high"]) == pytest.approx((interval.low, interval.high), rel=1e-5)


def test_events_are_counted_for_each_million_of_operations() -> None:
    faults, switches = _by_condition("page_faults"), _by_condition("context_switches")
    for condition, point in faults.items():
        throughput = report().analysis.conditions[condition - 1].median
        assert throughput is not None
        millions = throughput * 0.1 / 1e6  # the measured interval is 100 ms
        assert point["value"] == pytest.approx(4 / millions, rel=1e-3)
        assert switches[condition]["value"] == pytest.approx(20 / millions, rel=1e-3)


def _by_condition(kind: str) -> dict[int, Row]:
    return {point["condition"]: point for figure in by_kind()[kind] for point in points(figure, "point")}


def test_counters_are_drawn_where_there_are_any_and_else_it_is_said_why() -> None:
    def counted(trial: PlannedTrial) -> dict[str, float]:
        return metrics(trial) | {"cycles_per_operation": 100.0, "instructions_per_operation": 150.0}

    why = {"cache_misses": "no such event", "branch_misses": "no such event", "cycles": "another"}
    example = {"counters": {"available": {}, "unavailable": why}}
    drawings = list(figures(example_report(experiment_text(FACTORS), counted, example=example)))
    assert {figure.kind for figure in drawings} >= {"cycles", "instructions"}
    (missing,) = (figure for figure in drawings if figure.kind == "counters")
    assert not missing.rows
    assert "cache misses, branch misses: no such event" in missing.note


def test_named_events_are_drawn_and_simulated_ones_are_said_to_be() -> None:
    simulated = "simulated_llc_loads_per_operation"

    def counted(trial: PlannedTrial) -> dict[str, float]:
        return metrics(trial) | {"llc_loads_per_operation": 3.0, simulated: 2.0}

    trial = f'{MIX}\nevents = ["LLC-loads", "dTLB-loads"]'
    text = experiment_text('subject = ["noop", "std_map_mutex"]', trial=trial)
    titles = {figure.kind: figure.title for figure in figures(example_report(text, counted))}
    assert titles["llc_loads_per_operation"] == "llc loads per operation"
    assert titles[simulated] == "llc loads per operation, simulated and not counted"
    assert not any("dtlb" in kind for kind in titles)


def test_fairness_is_of_several_threads() -> None:
    charted = [point for figure in by_kind()["fairness"] for point in points(figure)]
    assert {point["x"] for point in charted} == {"2", "8"}
    for point in charted:
        expected = (0.989, 0.99175, 0.9945, 0.99725, 1)
        quartiles = tuple(point[column] for column in ("least", "lower", "median", "upper", "most"))
        assert quartiles == pytest.approx(expected)


def test_iterations_of_fixtures_are_boxes_of_single_iterations_and_not_of_trials() -> None:
    def timed(trial: PlannedTrial) -> dict[str, float]:
        slow = 10.0 * trial.block
        percentiles = {"min": 10, "p25": 20, "p50": 30, "p75": 40, "max": 1000}
        return metrics(trial) | {f"iteration_{name}_ns": ns + slow for name, ns in percentiles.items()}

    report = example_report(experiment_text('subject = ["noop", "std_map_mutex"]', trial=MIX), timed)
    blocks = len({trial.block for trial in report.trials})
    (figure,) = (figure for figure in figures(report) if figure.kind == "iterations")
    middle, last = 10 * (blocks - 1) / 2, 10 * (blocks - 1)
    assert len(points(figure)) == 2
    for point in points(figure):
        box = tuple(point[column] for column in ("least", "lower", "median", "upper", "most"))
        assert box == (10, 20 + middle, 30 + middle, 40 + middle, 1000 + last)


def test_fairness_is_not_of_threads_with_different_roles() -> None:
    roles = 'roles = [{ name = "a", threads = 1 }, { name = "b" }]'
    factors = 'subject = ["noop", "std_map_mutex"]\nthreads = [2, 8]'
    for trial, drawn in ((MIX, True), (f"{MIX}\n{roles}", False)):
        given = example_report(experiment_text(factors, trial=trial), metrics)
        assert any(figure.kind == "fairness" for figure in figures(given)) == drawn


def test_calibrations_tell_the_modes_and_the_rule_between_them() -> None:
    modes = report().analysis.host_modes
    assert modes is not None
    assert modes.boundary is not None
    (figure,) = by_kind()["core_to_core_ns"]
    assert len(figure.rows) == 2 * len(report().trials)
    for point in points(figure):
        assert point["series"] == ("slow" if point["value"] > modes.boundary else "fast")
    assert {point["series"] for point in points(figure)} == set(SIDES.names)
    assert "Two modes" in figure.note
    rule, marks = kinds()["core_to_core_ns"]["layer"]
    assert rule["encoding"]["y"]["datum"] == modes.boundary
    assert marks["encoding"]["color"]["scale"]["domain"] == SIDES.names
    (memory,) = by_kind()["memory_ns"]
    assert {point["series"] for point in points(memory)} == set(ONE.names)
    assert kinds()["memory_ns"]["layer"][0]["encoding"]["color"]["legend"] is None


def test_a_host_of_one_mode_is_said_to_be_so() -> None:
    text = experiment_text('subject = ["noop", "std_map_mutex"]', trial=f"{MIX}\nthreads = 2")
    given = example_report(
        text, metrics, calibration=lambda trial: {"core_to_core_ns": 45 + trial.ordinal % 5}
    )
    (figure,) = (figure for figure in figures(given) if figure.section == "host")
    assert "one mode" in figure.note
    assert {point["series"] for point in points(figure)} == set(ONE.names)
    (marks,) = specifications(figures(given))["core_to_core_ns"]["layer"]
    assert marks["encoding"]["color"]["legend"] is None


def test_without_several_threads_medians_stand_in_rows() -> None:
    given = example_report(experiment_text('subject = ["noop", "std_map_mutex"]', trial=MIX), metrics)
    (figure,) = (figure for figure in figures(given) if figure.section == "medians")
    assert [point["series"] for point in points(figure)] == ["noop", "std_map_mutex"]
    assert specifications(figures(given))["estimates"]["layer"][1]["encoding"]["y"]["field"] == "series"
    assert not [figure for figure in figures(given) if figure.kind == "fairness"]


def test_threads_may_be_what_is_compared() -> None:
    text = experiment_text(
        "threads = [1, 2, 8]", trial=f'subject = "noop"\n{MIX}', factor="threads", baseline="1"
    )
    given = example_report(text, metrics)
    of_kind = {figure.kind: figure for figure in figures(given)}
    assert [point["x"] for point in points(of_kind["estimates"], "point")] == ["1", "2", "8"]
    assert {point["series"] for point in points(of_kind["estimates"], "point")} == {"all"}
    assert [point["row"] for point in points(of_kind["ratios"])] == ["2", "8"]


def test_a_campaign_without_a_valid_trial_says_so_in_every_place() -> None:
    given = example_report(experiment_text(FACTORS), metrics, status=lambda _: "crashed")
    drawings = list(figures(given))
    assert all(figure.note for figure in drawings if not figure.rows)
    assert {figure.kind for figure in drawings if figure.rows} == {"memory_ns"}
    assert set(specifications(figures(given))) == {"memory_ns"}


def test_medians_far_apart_are_drawn_on_a_logarithmic_scale() -> None:
    def apart(trial: PlannedTrial) -> dict[str, float]:
        return metrics(trial) | {"throughput": 1e3 if trial.levels["subject"] == "noop" else 1e6}

    given = example_report(experiment_text(FACTORS), apart)
    estimates = [figure for figure in figures(given) if figure.name.startswith("estimates")]
    assert {figure.kind for figure in estimates} == {"estimates"}
    layers = specifications(figures(given))["estimates"]["layer"]
    assert {
        layer["encoding"]["y"]["scale"]["type"]
        for layer in layers
        if "scale" in layer["encoding"].get("y", {})
    } == {"log"}


def test_an_interval_that_reaches_zero_keeps_the_scale_linear() -> None:
    def some_none(trial: PlannedTrial) -> dict[str, float]:
        zero = trial.levels["subject"] == "noop" and trial.block < 4
        apart = 1e6 if trial.levels["subject"] == "tbb_hash_map" else 1e3
        return metrics(trial) | {"throughput": 0.0 if zero else apart}

    given = example_report(experiment_text(FACTORS), some_none)
    assert (
        specifications(figures(given))["estimates"]["layer"][-1]["encoding"]["y"]["scale"]["domain"][0] == 0
    )
    medians = [figure for figure in figures(given) if figure.section == "medians"]
    assert min(numbers(medians[0].rows, "low")) == 0


@pytest.mark.parametrize(
    "value", [lambda trial: 0.0, lambda trial: -1.0 if trial.block else 1.0, lambda trial: float("nan")]
)
def test_values_that_have_no_logarithm_are_drawn_all_the_same(value: Callable[[PlannedTrial], float]) -> None:
    given = example_report(
        experiment_text('subject = ["noop", "std_map_mutex"]', trial=MIX),
        lambda trial: {"throughput": value(trial)},
    )
    specification_of = specifications(figures(given))
    for figure in figures(given):
        if figure.rows and figure.section != "host":
            assert drawn(figure, specification_of[figure.kind]).startswith("<svg")


def test_series_differ_in_shape_where_they_differ_in_colour() -> None:
    for states in (VERDICTS, SIDES):
        assert len(set(states.colors)) == len(set(states.shapes)) == len(states.names)
    layers = kinds()[by_kind()["estimates"][0].kind]["layer"]
    marks = [layer["encoding"] for layer in layers if "shape" in layer["encoding"]]
    assert marks
    for encoding in marks:
        assert len(set(encoding["shape"]["scale"]["range"])) == 3
        assert len(set(encoding["color"]["scale"]["range"])) == 3


def test_panels_of_a_metric_share_one_scale_that_holds_all_of_them() -> None:
    def far_apart_in_one_mix(trial: PlannedTrial) -> dict[str, float]:
        slow = trial.levels["mix"] == "updates" and trial.levels["subject"] == "noop"
        return metrics(trial) | ({"throughput": 1e3 + trial.block} if slow else {})

    given = example_report(experiment_text(FACTORS), far_apart_in_one_mix)
    specification = specifications(figures(given))["estimates"]
    scale = specification["layer"][-1]["encoding"]["y"]["scale"]
    estimates = [figure for figure in figures(given) if figure.kind == "estimates"]
    values = [value for figure in estimates for value in numbers(figure.rows, "value")]
    assert scale["type"] == "log"
    assert scale["domain"][0] < min(values)
    assert scale["domain"][1] > max(values)
    fairness = specifications(figures(given))["fairness"]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert fairness[0] == 0


def test_a_median_that_is_not_typical_is_hollow_and_beats_nothing() -> None:
    given = report()
    which = next(
        number
        for number, condition in enumerate(given.analysis.conditions)
        if condition.levels == {"subject": "tbb_hash_map", "threads": 2, "mix": "searches"}
    )
    conditions = list(given.analysis.conditions)
    conditions[which] = replace(conditions[which], shape=Shape(note="two modes"))
    changed = replace(given, analysis=replace(given.analysis, conditions=tuple(conditions)))
    of_searches, of_updates = (figure for figure in figures(changed) if figure.kind == "estimates")
    assert [point["condition"] for point in points(of_searches, "hollow")] == [which + 1]
    assert "tbb_hash_map at 8 threads" in of_searches.note
    assert "Hollow" in of_searches.note
    assert "Hollow" not in of_updates.note
    assert drawn(of_searches, specifications(figures(changed))["estimates"])


def test_only_verdicts_that_occur_are_in_the_legend() -> None:
    occurring = {point["series"] for figure in by_kind()["ratios"] for point in points(figure)}
    scales = [
        layer["encoding"]["color"]["scale"]
        for layer in kinds()["ratios"]["layer"]
        if "color" in layer["encoding"]
    ]
    assert scales
    assert all(set(scale["domain"]) == occurring for scale in scales)


@pytest.mark.parametrize("level", ["__proto__", "constructor", "toString"])
def test_a_level_may_have_a_name_that_javascript_knows(level: str) -> None:
    text = experiment_text(
        f'threads = [1, 2]\n[factors.variant]\nbase = {{}}\n"{level}" = {{ keys = "sparse" }}',
        trial=f'subject = "noop"\n{MIX}',
        factor="variant",
        baseline='"base"',
    )
    given = example_report(text, metrics)
    specification_of = specifications(figures(given))
    for figure in figures(given):
        if figure.rows:
            links = set(re.findall(r"trial.html#(\d+)", drawn(figure, specification_of[figure.kind])))
            assert links == {str(p["trial"]) for p in points(figure) if p.get("trial")}


def test_operations_are_those_reported_else_nominal() -> None:
    counted = example_report(experiment_text(FACTORS), lambda trial: metrics(trial) | {"operations": 2e6})
    (first, *_) = (figure for figure in figures(counted) if figure.kind == "page_faults")
    assert {point["value"] for point in points(first)} == {2}
    assert first.note == ""
    assert "nominal duration" in by_kind()["page_faults"][0].note


def test_ticks_of_a_narrow_axis_are_told_apart() -> None:
    given = example_report(
        experiment_text('subject = ["noop", "std_map_mutex"]', trial=MIX),
        lambda trial: {"throughput": 1.0830 + 0.00001 * trial.ordinal},
    )
    (figure,) = (figure for figure in figures(given) if figure.kind == "over_time")
    svg = drawn(figure, specifications(figures(given))["over_time"])
    ticks = re.findall(r">(1\.08\d*)<", svg)
    assert len(set(ticks)) == len(ticks) > 2


def many(count: int) -> Report:
    sizes = "\n".join(f"size_{number:02} = {{ key_range = {100 + number} }}" for number in range(count))
    text = experiment_text(f"threads = [1, 2]\n[factors.size]\n{sizes}", factor="size", baseline='"size_00"')
    text = text.replace("[trial]\nkey_range = 100", f'[trial]\nsubject = "noop"\n{MIX}')
    return example_report(text, lambda trial: {"throughput": 1e6 + trial.ordinal})


def looks(specification: object) -> dict[str, list[Any]]:
    """Return channel -> what tells the series apart in it."""
    found: dict[str, list[Any]] = {}
    if isinstance(specification, dict):
        for channel, encoding in specification.get("encoding", {}).items():
            if isinstance(encoding, dict) and encoding.get("field") == "series" and "scale" in encoding:
                found[channel] = encoding["scale"].get("range", [])
        specification = list(specification.values())
    for part in specification if isinstance(specification, list) else ():
        found |= looks(part)
    return found


def test_twelve_series_differ_in_colour_shape_and_dash() -> None:
    specification = specifications(figures(many(12)))["estimates"]
    for channel in ("color", "shape", "strokeDash"):
        shown = looks(specification)[channel]
        assert len(shown) == len({str(look) for look in shown}) == 12


def test_more_series_than_can_be_told_apart_get_small_planes() -> None:
    given = many(14)
    for kind in ("estimates", "distribution", "over_time"):
        specification = specifications(figures(given))[kind]
        assert specification["facet"]["field"] == "series", kind
        assert not looks(specification["spec"]), kind
        altair.Chart.from_dict(specification, validate=True)
        figure = next(figure for figure in figures(given) if figure.kind == kind)
        drawing = {**specification, "datasets": {"rows": list(figure.rows)}}
        picture = vl_convert.vegalite_to_svg(drawing, allowed_base_urls=[])
        for number in range(14):
            assert f">size_{number:02}<" in picture, kind


def test_latency_is_written_in_the_unit_that_fits() -> None:
    def slow(trial: PlannedTrial) -> dict[str, float]:
        percentiles = {"p50": 120, "p99": 45_000, "max": 7_000_000}
        return metrics(trial) | {f"latency_{name}_ns": value for name, value in percentiles.items()}

    given = example_report(experiment_text(FACTORS), slow)
    figure = next(figure for figure in figures(given) if figure.kind == "latency")
    picture = drawn(figure, specifications(figures(given))["latency"])
    assert re.search(r">\d+ µs<", picture)
    assert re.search(r">\d+ ms<", picture)
    assert "nanoseconds" not in picture


def test_a_tooltip_has_readable_numbers_and_the_ratio() -> None:
    figure = by_kind()["estimates"][0]
    picture = drawn(figure, kinds()["estimates"])
    assert re.search(r"ratio to the baseline: 0\.\d{1,4};", picture)
    assert re.search(r"95% from: [\d.]+M; to: [\d.]+M;", picture)
    baseline = [point for point in points(figure, "point") if point["series"] == "noop"]
    assert {point["ratio"] for point in baseline} == {1.0}


def test_a_legend_has_the_title_of_its_factor() -> None:
    text = str(kinds()["estimates"])
    assert "'legend': {'title': 'subject'}" in text


def test_a_probe_is_not_drawn_as_zero_where_a_subject_does_not_have_it() -> None:
    def probed(trial: PlannedTrial) -> dict[str, float]:
        return metrics(trial) | {"probe_retries": 5.0 * (trial.levels["subject"] == "tbb_hash_map")}

    given = example_report(experiment_text(FACTORS), probed)
    for figure in figures(given):
        if figure.kind == "probe_retries":
            assert {point["series"] for point in figure.rows} == {"tbb_hash_map"}
            assert figure.note == "Not of noop and std_map_mutex: 0 in every trial."


def test_the_histograms_and_series_of_probes_are_drawn_of_all_trials() -> None:
    given = example_report(
        experiment_text('subject = ["noop", "std_map_mutex"]', trial=MIX),
        lambda trial: metrics(trial) | {"probe_chain": 4.0},
    )
    of_subject = {trial.id: trial.levels["subject"] for trial in given.trials}

    def records(trials: Sequence[int]) -> list[dict[str, Any]]:
        chain = {"sum": 9, "max": 9, "unit": "nodes", "buckets": [[1, 1, 6], [2, 3, 0], [4, 7, 2]]}
        grown = {"sum": 9, "max": 9, "unit": "ns", "values": [[1000, 2000], [3000]]}
        silent = {"sum": 0, "max": 0, "buckets": [[0, 0, 5]]}
        told = {"noop": {"chain": silent}, "std_map_mutex": {"chain": chain, "grown": grown}}
        return [{"result": {"probes": told[str(of_subject[trial])]}} for trial in trials]

    probed = [f for f in figures(replace(given, records=records)) if f.kind.startswith("probe-")]
    chain, grown = probed
    assert {row["series"] for row in chain.rows} == {"std_map_mutex"}
    assert [(row["from"], row["to"], row["share"]) for row in chain.rows] == [
        *((1, 1, 0), (1, 2, 0.75), (2, 4, 0), (4, 8, 0.25), (8, 8, 0)),
    ]
    assert [(row["at"], row["value"]) for row in grown.rows] == [(1, 2000), (2, 2000)]
    assert ">nodes, log scale<" in drawn(chain, specifications(probed)[chain.kind])
    assert re.search(r">[\d.]+ µs<", drawn(grown, specifications(probed)[grown.kind]))
    for specification in specifications(probed).values():
        altair.Chart.from_dict(specification, validate=True)
