"""A store whose one campaign has every part that a report can have: modes, looks, workloads, repetitions."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.experiment import parse
from assay.plan.make_plan import make_plan
from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
from assay.store.types import Decision

BLOCKS = 24
EXPERIMENT = f"""
name = "sided"
question = "Is b faster than a?"

[factors]
subject = ["a", "b", "c"]
mix.searches = {{ insert = 5, erase = 5, find = 90 }}
mix.updates = {{ insert = 50, erase = 50, find = 0 }}

[subjects]
a = {{ program = "/bin/true" }}
b = {{ program = "/bin/true" }}
c = {{ program = "/bin/true" }}

[trial]
key_range = 100
threads = 2

[design]
blocks = {BLOCKS}
until = "verdict"

[comparison]
metric = "throughput"
factor = "subject"
baseline = "a"
smallest_effect_percent = 3
also = {{ latency_ns = "lower" }}
across = ["mix"]
"""

START = datetime(2024, 1, 1, tzinfo=UTC)


def _outcome(trial: PlannedTrial, chance: random.Random) -> Outcome:
    """b is faster at searches and slower at updates, c is faster in the host's fast mode alone.

    The host is slow in every other block; in one group it changes.
    """
    slow = trial.block % 2 == 0
    subject, mix = trial.levels["subject"], trial.levels["mix"]
    factor = {("b", "searches"): 1.3, ("b", "updates"): 0.8}.get((str(subject), str(mix)), 1.0)
    if subject == "c":
        factor = 0.7 if slow else 1.2
    speed = 1e7 * factor * (0.4 if slow else 1) * chance.lognormvariate(0, 0.01)
    result = {
        "protocol": 1,
        "status": "valid",
        "metrics": {"throughput": speed, "latency_ns": 1e9 / speed * chance.lognormvariate(0, 0.01)},
    }
    one_way = [190.0 if slow else 50.0] * 2
    if trial.group == 4:
        one_way[1] = 240.0 - one_way[1]
    calibrations = [
        {
            "protocol": 1,
            "cpus": [0, 1],
            "metrics": {"core_to_core_ns": latency * chance.lognormvariate(0, 0.02)},
            "unavailable": {},
            "elapsed_ms": 20,
        }
        for latency in one_way
    ]
    return Outcome(
        status="valid",
        reason="",
        exit_code=0,
        result=result,
        stdout="",
        stderr="",
        calibration_before=calibrations[0],
        calibration_after=calibrations[1],
        calibration_error="",
        started_at=START + timedelta(seconds=trial.ordinal),
        wall_s=0.5,
    )


def fill(path: Path) -> Store:
    """Make a store with that campaign, and return it opened."""
    experiment = parse(EXPERIMENT, path.parent / "sided.toml")
    plan = make_plan(experiment, 5, lambda _: "/bin/true", 1000)
    store = Store.open(path)
    campaign = store.begin_campaign(
        experiment=experiment,
        plan=plan,
        host={},
    )
    chance = random.Random(1)
    for trial in plan.trials:
        store.record(campaign, trial.ordinal, _outcome(trial, chance))
    for decision in (
        Decision("look", 8, START, "2 comparisons are undecided", {"confidence": 0.99, "undecided": 2}),
        Decision("repeat", 2, START, "core_to_core_ns 50 and 190", {"group": 4}),
        Decision("stop", 12, START, "every comparison is decided", {}),
    ):
        store.decide(campaign, decision)
    return store
