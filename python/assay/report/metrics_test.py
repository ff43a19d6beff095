"""Units and definitions of metrics, as the reference gives them."""

import pytest

from assay.report.charts.defaults import COUNTERS
from assay.report.metrics import anchor_of, unit_of


@pytest.mark.parametrize(
    ("metric", "unit", "anchor"),
    [
        ("throughput", "op/s", "metric-throughput"),
        ("snapshot_throughput", "op/s", "metric-OPERATION_throughput"),
        ("find_throughput", "op/s", "metric-find_throughput"),
        ("role_readers_throughput", "op/s", "metric-role_NAME_throughput"),
        ("latency_find_p99_9_ns", "ns", "metric-latency_OPERATION_p50_ns"),
        ("wall_ms", "ms", "metric-wall_ms"),
        ("probe_retries", "", "metric-probe_NAME"),
        ("of_their_own", "", ""),
    ],
)
def test_a_metric_has_the_unit_and_the_place_of_its_definition(metric: str, unit: str, anchor: str) -> None:
    assert (unit_of(metric), anchor_of(metric)) == (unit, anchor)


def test_every_metric_that_a_chart_shows_is_defined() -> None:
    for metric, _ in COUNTERS.values():
        assert anchor_of(metric)
        assert unit_of(metric)
