from typing import Any

import pytest

from assay.cli.trial import HEIGHT, WIDTH, summary


def record(metrics: int = 3, **changes: Any) -> dict[str, Any]:
    plain = {
        "trial": 7,
        "campaign": 2,
        "experiment": "maps",
        "block": 3,
        "levels": {"subject": "one", "threads": 2},
        "status": "valid",
        "reason": "",
        "started_at": "2025-01-31T10:11:12.345+00:00",
        "wall_s": 0.25,
        "request": {"protocol": 1, "threads": 2, "keys": "dense", "mix": {"find": 90.0, "insert": 10.0}},
        "seed": 12,
        "extract": "protocol",
        "result": {"metrics": {f"metric_{number}": 1e6 + number for number in range(metrics)}},
        "stdout": "",
        "stderr": "",
    }
    return plain | changes


def test_a_trial_is_told_in_a_few_lines_with_what_is_compared_first() -> None:
    assert summary(record(), ["metric_2", "no_such_metric"]) == [
        "Trial 7: valid, 0.25 s",
        "campaign 2 of maps, block 3, 2025-01-31 10:11:12 UTC",
        "subject=one, threads=2",
        "keys dense; mix (find 90, insert 10); seed 12",
        "metric_2 1M",
        "metric_0 1M",
        "metric_1 1M",
    ]


LONG = "long " * 500
PRINTED = f"{LONG}\n" * 99


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": 20},
        {"metrics": 1000},
        {
            "metrics": 1000,
            "reason": LONG,
            "status": "invalid",
            "stdout": f"{LONG}\n" * 99,
            "stderr": "x\n" * 99,
        },
        {"levels": {"subject": LONG}, "request": {"parameters": {"text": LONG, "list": [LONG, 1]}}},
        {"result": {"metrics": {"a_very_long_name_of_a_metric_" * 4: 1e300, "short": 1.0}}},
        {"result": None, "status": "timed_out", "stdout": "x" * 5000},
    ],
)
def test_whatever_a_trial_was_fits_a_screen(changes: dict[str, Any]) -> None:
    lines = summary(record(**changes), ["metric_3"])
    assert len(lines) <= HEIGHT
    assert all(len(line) <= WIDTH for line in lines)


def test_metrics_that_have_no_room_are_counted() -> None:
    lines = summary(record(metrics=100), [])
    shown = sum(line.count("metric_") for line in lines)
    assert lines[-1] == f"and {100 - shown} more metrics"


def test_what_a_failed_trial_printed_is_shown_from_its_end_without_control_characters() -> None:
    printed = "".join(f"{number}\x1b\n" for number in range(9))
    lines = summary(record(status="crashed", reason="SIGSEGV", result=None, stderr=printed), [])
    assert lines[-5:] == ["why: SIGSEGV", "stderr, its end:", "  6\\x1b", "  7\\x1b", "  8\\x1b"]


def test_a_command_is_shown_with_what_it_printed() -> None:
    assert "  work=1" in summary(record(extract="lines", stdout="work=1\n"), [])
