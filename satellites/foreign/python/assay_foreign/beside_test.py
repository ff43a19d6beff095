"""Figures of another tool's results and of ours beside them."""

from dataclasses import replace

import altair as alt
from msgspec import structs

from assay_foreign.beside import ROWS_AT_MOST, figures_beside
from assay_foreign.report import OwnCondition, ReferenceCampaign
from assay_foreign.types import Benchmark, ForeignRun, Measure, Summary

SAMPLED = Benchmark("sum", {"n": 3}, 2, (Measure("time_ns", "ns", ((100.0, 120.0), (140.0,))),))
SUMMED = Benchmark("copy", {}, 1, (Measure("time_ns", "ns", summary=Summary(50.0, "mean", 40.0, 60.0)),))
RATE = Benchmark("find", {}, 1, (Measure("throughput", "op/s", ((1e6, 2e6),)),))
FAILED = Benchmark("lost", {}, 1, (), "no such file")
OURS = ReferenceCampaign(7, "mine", "wall_ms", "ns", [OwnCondition("n=3", [1e6, 3e6], 2e6, None)])


def test_each_unit_has_an_axis_and_nothing_is_drawn_together() -> None:
    run = ForeignRun("Tool", "1", (SAMPLED, SUMMED, RATE), None)
    times, ours, rates = figures_beside("Tool", run, [OURS])
    assert [figure.title for figure in (times, ours, rates)] == [
        "Tool, time_ns",
        "Assay, campaign 7 of mine, wall_ms",
        "Tool, throughput",
    ]
    assert times.kind == ours.kind != rates.kind
    assert [{row["series"] for row in figure.rows} for figure in (times, ours)] == [{"Tool"}, {"Assay"}]
    medians = [(row["row"], row["value"]) for row in times.rows if row["part"] == "median"]
    assert medians == [("sum (n=3)", 125.0), ("copy", 50.0)]
    assert [row["value"] for row in times.rows if row["part"] == "sample"] == [110.0, 140.0]
    assert "Large: the mean of Tool, with its interval, without samples." in times.note
    specification = times.specification()
    alt.Chart.from_dict(specification)  # raises where it is not Vega-Lite
    low, high = specification["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low < 40.0
    assert high > 3e6


def test_what_all_have_in_common_stands_in_the_title_and_what_misleads_is_marked() -> None:
    one, other = (structs.replace(SAMPLED, parameters={"n": 3, "threads": threads}) for threads in (1, 2))
    ours = replace(OURS, shared={"size": 20}, mark="flawed on purpose: one_seed")
    drawn, beside = figures_beside("Tool", ForeignRun("Tool", "1", (one, other), None), [ours])
    assert drawn.title == "Tool, time_ns: n=3"
    assert {row["row"] for row in drawn.rows} == {"sum (threads=1)", "sum (threads=2)"}
    assert beside.title == "Assay, campaign 7 of mine, wall_ms: size=20"
    assert beside.note.startswith("Flawed on purpose: one_seed.")


def test_what_failed_is_not_drawn_and_very_many_are_cut() -> None:
    many = tuple(Benchmark(str(number), {}, 1, SUMMED.measures) for number in range(ROWS_AT_MOST + 2))
    (figure,) = figures_beside("Tool", ForeignRun("Tool", "", (FAILED, *many), None), [])
    assert figures_beside("Tool", ForeignRun("Tool", "", (FAILED,), None), [OURS]) == []
    assert len(figure.rows) == ROWS_AT_MOST
    assert "2 more benchmarks" in figure.note
