"""Metrics that a double can just hold, or holds inexactly, end neither analysis nor audit nor planning."""

import math
import warnings
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis import summarise
from assay.analysis.planning import forecast
from assay.audit import audit
from assay.audit.testing import HOST, METRICS, experiment, trials

LARGEST = math.nextafter(math.inf, 0)
EXTREMES = [0.0, -0.0, 5e-324, 1e-308, 1.0, 3.0, 2.0**53 + 1, 2**70, 10**300, 1e308, LARGEST, -5e-324, -1e308]
CAMPAIGN = trials(experiment(), blocks=12)


@settings(deadline=None, max_examples=25)
@given(st.data(), st.lists(st.sampled_from(EXTREMES), min_size=1, max_size=4))
def test_extreme_metrics_end_nothing(data: st.DataObject, extremes: list[float]) -> None:
    names = data.draw(st.sets(st.sampled_from([*METRICS])), "metrics") | {"throughput"}
    random = data.draw(st.randoms(use_true_random=False))
    changed = [
        replace(trial, metrics={**trial.metrics, **{name: random.choice(extremes) for name in names}})
        for trial in CAMPAIGN
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analysis = summarise(changed, experiment())
        findings = audit(experiment(), changed, HOST, analysis=analysis)
        prediction = forecast([changed], experiment(), 5.0)
    for comparison in analysis.comparisons:
        assert comparison.ratio is None or 0 < comparison.ratio < math.inf
    low, high = float(min(extremes)), float(max(extremes))
    for condition in analysis.conditions:
        assert condition.median is None or low <= condition.median <= high
    assert all(math.isfinite(value) for finding in findings for value in finding.evidence.values())
    assert all(math.isfinite(row.scatter_percent or 0) for row in prediction.comparisons)
