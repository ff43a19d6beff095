"""A store in which whatever comes from outside tries to be more than text."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assay.experiment import parse
from assay.plan.make_plan import make_plan
from assay.runner.types import Outcome
from assay.store import Store

LEVEL = (
    "</script></pre></style><!--<script>alert(1)</script><img src=http://a.b onerror=alert(2)>"
    '{{7*7}}`${alert(3)}`\\"'
)
ATTACK = f"{LEVEL}\u2028\u2029\x1b[31m"
"""What a level may not hold as well."""
IMAGE = "http://a.b/picture.png"
"""Vega's own tooltip would load it, for it stands under the name `image`."""

METRIC = "throughput"

CALIBRATION = {
    "protocol": 1,
    "cpus": [0],
    "metrics": {"memory_ns": 90.5},
    "unavailable": {},
    "elapsed_ms": 20,
}

EXPERIMENT = f"""
name = "example"
question = '''Is it faster? {LEVEL}\u2028'''

[factors]
threads = [1, 2]
image = {{ "{IMAGE}" = {{}}, __proto__ = {{ key_range = 200 }} }}

[factors.variant]
base = {{}}
'{LEVEL}' = {{ keys = "sparse" }}

[trial]
subject = "noop"
key_range = 100
mix = {{ insert = 10, erase = 10, find = 80 }}

[design]
blocks = 10
exclude = [{{ threads = [2], image = ["__proto__"] }}]

[comparison]
metric = "{METRIC}"
factor = "variant"
baseline = "base"
smallest_effect_percent = 5

[[chart]]
kind = "bars"
title = '{LEVEL}'
x = "variant"
y = "{METRIC}"
color = "image"
facet = "threads"
"""


def threads(count: int) -> list[dict[str, Any]]:
    """Return what threads tell; the last interval of each is cut short."""
    return [
        {
            "seed": f"0x{number:016x}",
            "bound_to": [0],
            "last_ran_on": 0,
            "measured_ns": 232_000_000,
            "operations": {kind: {"attempted": 2, "succeeded": 1} for kind in ("insert", "erase", "find")},
            "unfinished": {"operation": "find", "age_ns": 1_500_000 * (number + 1)},
            "series": [100 + number * 10 + (place < 4) * 50 for place in range(23)] + [7],
        }
        for number in range(count)
    ]


def inside() -> dict[str, Any]:
    """Return what roles, latency, probes and memory tell."""
    percentiles = {"p50": 100, "p90": 200, "p99": 900, "p99_9": 2000, "p99_99": 2000}
    buckets = [[100, 100, 500], [200, 201, 400], [900, 907, 99], [2000, 2015, 1]]
    histogram = {"count": 1000, "max_ns": 2009, "percentiles": percentiles, "buckets": buckets}
    operations = {"find": {"attempted": 2, "succeeded": 1}, "range": {"attempted": 1, "succeeded": 0}}
    return {
        "roles": [
            {"name": name, "threads": 1, "throughput": 5e5, "operations": operations, "longest_ns": 2_500_000}
            for name in ("constructor", "scanners")
        ],
        "latency": {
            "sampling": 64,
            "clock_ns": 21.5,
            "from": "start",
            "histograms": [
                {"role": "constructor", "operation": "find", **histogram},
                {"role": "scanners", "operation": "range", **histogram, "percentiles": {"p50": 100}},
                {"role": "scanners", "operation": "size", "count": 0, "buckets": []},
            ],
        },
        "probes": {
            "retries": {
                "kind": "counter",
                "description": ATTACK,
                "threads": [3, 4],
                "sum": 7,
                "mean": 3.5,
                "min": 3,
                "max": 4,
            },
            "batch": {
                "kind": "histogram",
                "description": LEVEL,
                "unit": ATTACK,
                "threads": [2, 1],
                "sum": 20,
                "mean": 6.5,
                "min": 1,
                "max": 12,
                "buckets": [[0, 1, 1], [2, 3, 0], [4, 7, 1], [8, 15, 1]],
            },
            "resizes": {"kind": "counter", "threads": [0, 0], "sum": 0, "mean": 0, "min": 0, "max": 0},
            "waits": {"kind": "histogram", "threads": [None, None], "sum": 0, "buckets": []},
        },
        "memory": {"policy": "local", "resident": [[0, 2**20], [100, 3 * 2**20], [200, 2**21]]},
    }


def outcome(ordinal: int, levels: Mapping[str, Any]) -> Outcome:
    """Most trials are valid; every ninth crashes."""
    crashed = ordinal % 9 == 4
    speed = (1e6 if levels["variant"] == "base" else 2e6) + 1000 * ordinal
    result = {
        "protocol": 1,
        "status": "valid",
        "metrics": {METRIC: speed, "peak_resident_bytes": 1e6, "latency_p50_ns": 100, "probe_retries": 7},
        "threads": threads(int(levels["threads"])),
        **inside(),
        "details": {ATTACK: ATTACK, "__proto__": 1, "half": "\ud800", "large": 2**63 - 1},
        "environment": {ATTACK: ATTACK, "topology": [ATTACK], "told_after": ordinal // 45},
    }
    return Outcome(
        status="crashed" if crashed else "valid",
        reason=ATTACK if crashed else "",
        exit_code=-11 if crashed else 0,
        result=None if crashed else result,
        stdout=ATTACK if crashed else "",
        stderr=ATTACK,
        calibration_before=CALIBRATION,
        calibration_after=None if crashed else CALIBRATION,
        calibration_error=ATTACK if crashed else "",
        started_at=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=ordinal),
        wall_s=0.5,
        derived={"steady": 1.0, "steady_after_ms": 40.0},
    )


def fill(path: Path) -> Store:
    """Make a store with one campaign, and return it opened."""
    experiment = parse(EXPERIMENT, path.parent / "example.toml")
    plan = make_plan(experiment, 77, lambda _: "/bin/true", 1000)
    store = Store.open(path)
    campaign = store.begin_campaign(
        experiment=experiment,
        plan=plan,
        host={"name": ATTACK, "processors": 2},
    )
    for trial in plan.trials:
        store.record(campaign, trial.ordinal, outcome(trial.ordinal, trial.levels))
    return store
