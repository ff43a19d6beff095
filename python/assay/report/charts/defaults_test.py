"""The figures of latency, roles and probes: they stand on the metrics of trials, whoever reports them."""

import re

import altair
import pytest
import vl_convert

from assay.plan.types import PlannedTrial
from assay.report.charts import Figure, figures, specifications
from assay.report.gather import Report
from example_report import example_report, experiment_text

FACTORS = """
subject = ["noop", "std_map_mutex"]
keys = ["dense", "sparse"]
"""
MIX = "mix = { insert = 10, erase = 10, find = 80 }"
SHARES = ("p50", "p90", "p99", "p99_9", "p99_99", "max")


def campaign(*stems: str, **others: float) -> Report:
    """Return a campaign whose trials report these latencies and other metrics."""

    def metrics(trial: PlannedTrial) -> dict[str, float]:
        twice = 2.0 if trial.levels["subject"] == "std_map_mutex" else 1.0
        latencies = {
            f"{stem}{share}_ns": twice * (100 * 4**place + trial.block)
            for stem in stems
            for place, share in enumerate(SHARES)
        }
        return {"throughput": 1e6, **latencies, **others}

    return example_report(experiment_text(FACTORS, trial=MIX), metrics)


def drawn(*stems: str, **others: float) -> dict[str, list[Figure]]:
    """Return kind -> figures of such a campaign."""
    by_kind: dict[str, list[Figure]] = {}
    for figure in figures(campaign(*stems, **others)):
        by_kind.setdefault(figure.kind, []).append(figure)
    return by_kind


def test_they_are_pictures() -> None:
    report = campaign("latency_", "latency_find_", "latency_range_", probe_retries=3.0)
    kinds = specifications(figures(report))
    for kind in ("latency", "latency-operation", "probe_retries"):
        chart = next(figure for figure in figures(report) if figure.kind == kind)
        whole = {**kinds[kind], "datasets": {"rows": list(chart.rows)}}
        altair.Chart.from_dict(whole)
        assert vl_convert.vegalite_to_svg(whole).startswith("<svg")


def test_percentiles_are_medians_over_trials_with_their_intervals() -> None:
    latency = drawn("latency_")["latency"]
    assert [figure.title for figure in latency] == ["Latency: keys=dense", "Latency: keys=sparse"]
    rows = latency[0].rows
    assert [row["x"] for row in rows[:6]] == ["50%", "90%", "99%", "99.9%", "99.99%", "longest timed"]
    first = rows[0]
    assert (first["series"], first["values"]) == ("noop", 12)
    assert first["low"] < first["value"] == 105.5 < first["high"]
    assert rows[6]["value"] == 2 * first["value"]


def test_kinds_and_roles_are_told_apart_where_there_are_several() -> None:
    alone = drawn("latency_", "latency_find_", "role_all_latency_")
    assert not {"latency-role", "latency-operation"} & alone.keys()
    several = drawn("latency_", "latency_find_", "latency_range_", "role_a_latency_", "role_b_c_latency_")
    titles = {kind: [re.sub(":.*", "", figure.title) for figure in several[kind]] for kind in several}
    assert titles["latency-operation"] == 2 * ["Latency of find", "Latency of range"]
    assert titles["latency-role"] == 2 * ["Latency of role a", "Latency of role b_c"]


@pytest.mark.parametrize(
    ("metric", "title"),
    [
        ("role_updaters_throughput", "Operations / s of role updaters"),
        ("role_scan_ners_longest_ns", "Longest operation of role scan_ners (ns)"),
        ("probe_retries", "Probe retries"),
        ("probe_batch_max", "Probe batch_max"),
    ],
)
def test_roles_and_probes_have_a_figure_each(metric: str, title: str) -> None:
    (first, second) = drawn(**{metric: 3.0})[metric]
    assert (first.section, first.title) == ("inside", f"{title}: keys=dense")
    assert second.rows


@pytest.mark.parametrize("others", [{}, {"probe_retries": 0.0}])
def test_without_them_there_is_nothing(others: dict[str, float]) -> None:
    sections = {figure.section for of_kind in drawn(**others).values() for figure in of_kind}
    assert not {"latency", "inside"} & sections
