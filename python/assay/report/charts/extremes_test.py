"""Whatever numbers trials report, what can be drawn is drawn, and the rest is said."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import vl_convert
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.report.charts import figures, specifications
from assay.report.charts.axes import Up, drawable
from assay.report.gather import Report
from example_report import example_report, experiment_text

FACTORS = """
subject = ["noop", "std_map_mutex"]
threads = [1, 2]
"""
CHARTS = """
[[chart]]
kind = "lines"
x = "threads"
y = "probe_any"
color = "subject"
[[chart]]
kind = "lines"
x = "probe_any"
y = "throughput"
color = "subject"
[[chart]]
kind = "lines"
x = "subject"
y = "probe_any"
color = "subject"
facet = "threads"
[[chart]]
kind = "bars"
x = "subject"
y = "probe_any"
facet = "threads"
[[chart]]
kind = "box"
x = "subject"
y = "probe_any"
facet = "threads"
[[chart]]
kind = "cumulative"
x = "probe_any"
color = "subject"
facet = "threads"
"""
OTHERS = (
    *("role_a_throughput", "latency_p50_ns", "latency_max_ns", "minor_page_faults", "peak_resident_bytes"),
    *("operations", "slowest_thread_share", "cycles_per_operation"),
)
LIMITS = [0, 5e-324, -5e-324, 1e-308, 1e308, -1.7e308, 2**53, 2**53 + 1, 2**64, -(2**70), 10**400, -(10**400)]
NUMBERS = st.sampled_from([*LIMITS, 1, 1.5, 1e9]) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.lists(NUMBERS, min_size=1, max_size=6)


@cache
def plain() -> Report:
    text = experiment_text(FACTORS, CHARTS, trial="mix = { insert = 10, erase = 10, find = 80 }", blocks=6)
    return example_report(text, lambda trial: {"throughput": 1e6 + trial.ordinal})


def report_of(values: list[Any]) -> Report:
    """Return a report whose trials report these values, one after the other, as every metric but one."""
    trials = [
        replace(
            trial,
            metrics={
                **trial.metrics,
                **dict.fromkeys(("probe_any", *OTHERS), values[trial.ordinal % len(values)]),
            },
        )
        for trial in plain().trials
    ]
    return replace(plain(), trials=trials)


@given(VALUES)
@example([0])
@example([5e-324])
@example([1e308])
@example([2**53, 2**53 + 1])
@example([10**400])
@example([5e-324, 5e-324, 5e-324, 5e-324, 0, 2**53])
@settings(deadline=None)
def test_any_number_that_a_trial_reports_leaves_tables_of_numbers_that_axes_can_show(
    values: list[Any],
) -> None:
    for figure in figures(report_of(values)):
        assert figure.rows or figure.note
        assert all(drawable(value) for row in figure.rows for value in row.values())
        if not figure.rows and figure.section == "charts":
            assert "Not drawn: " in figure.note


@given(st.lists(NUMBERS.filter(drawable).map(float), max_size=9), st.booleans(), st.booleans())
def test_an_axis_holds_all_that_share_it(values: list[float], log: bool, zero: bool) -> None:
    numbers = [value for value in values if value > 0 or not log]
    low, high = Up.sharing("", numbers, log=log, zero=zero).domain
    assert -1e308 < low < high < 1e308
    assert all(low <= value <= high for value in numbers)
    assert low > 0 or not log or not numbers
    assert low <= 0 <= high or not zero or log


def test_numbers_at_the_limits_become_pictures() -> None:
    report = report_of([*LIMITS, 1.5])
    charts = {figure.kind: figure for figure in figures(report) if figure.section == "charts"}
    kinds = specifications(figures(report))
    drawn = {kind: figure for kind, figure in charts.items() if figure.rows}
    assert drawn
    for kind, figure in drawn.items():
        data = {"width": 300, "datasets": {"rows": list(figure.rows)}}
        whole = json.dumps({**kinds[kind], **data}, allow_nan=False)
        assert "NaN" not in vl_convert.vegalite_to_svg(whole, allowed_base_urls=[])
    assert sum("Not drawn: " in figure.note for figure in charts.values()) > len(charts) / 2
    assert json.dumps(kinds, allow_nan=False)
