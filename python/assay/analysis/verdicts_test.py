import math

import numpy as np
import pytest

from assay.analysis.types import Look, Verdict
from assay.analysis.verdicts import Question, decide, verdict_word

QUESTION = Question(5.0, "none", Look(number=1, of=1, blocks=12, confidence=0.95))


@pytest.mark.parametrize(
    ("of_the_smallest_effect", "word"),
    [(0.98, "equivalent"), (-0.98, "equivalent"), (1.02, "faster"), (-1.02, "slower")],
)
def test_equivalent_is_what_lies_within_the_smallest_effect(
    of_the_smallest_effect: float, word: Verdict
) -> None:
    ratios = of_the_smallest_effect * math.log1p(0.05) + np.linspace(-1e-5, 1e-5, 12)
    (decided,) = decide([ratios], ["higher"], QUESTION)
    assert decided.verdict == word


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        *(
            (metric, "")
            for metric in (
                "throughput",
                "find_throughput",
                "interval_throughput_p95",
                "processor_ns_per_operation",
                "wall_s",
                "elapsed",
                "latency_p99",
                "operations_per_second",
            )
        ),
        ("score", "ms"),
        ("score", "MB/s"),
        ("score", "ns per operation"),
    ],
)
def test_rates_and_times_are_faster_or_slower(metric: str, unit: str) -> None:
    assert verdict_word("faster", metric, unit) == "faster"
    assert verdict_word("slower", metric, unit) == "slower"


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        *(
            (metric, "")
            for metric in (
                "peak_resident_bytes",
                "throughput_variation",
                "throughput_drift",
                "migrations",
                "score",
                "misses",
            )
        ),
        ("time", "MB"),
    ],
)
def test_of_other_metrics_more_is_better_or_worse(metric: str, unit: str) -> None:
    assert verdict_word("faster", metric, unit) == "better"
    assert verdict_word("slower", metric, unit) == "worse"
    assert verdict_word("equivalent", metric, unit) == "equivalent"
    assert verdict_word("undecided", metric, unit) == "undecided"
