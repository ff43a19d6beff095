"""Which other campaigns of a store say something of a verdict: those that asked the same."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.experiment import overridden, parse
from assay.experiment.sensitivity import sensitive
from assay.experiment.types import Experiment
from assay.plan.make_plan import make_plan
from assay.report.gather import gather
from assay.report.verdicts import about_sensitivity, how_far, record
from assay.runner.types import Outcome
from assay.store import Store
from example_report import experiment_text

TEXT = experiment_text(
    'subject = ["noop", "other"]', "[perturb]\nkey_range = 0.01", trial="mix = { find = 100 }"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.sqlite") as opened:
        yield opened


def measured(store: Store, experiment: Experiment, ratio: float) -> int:
    """Record a campaign in which `other` has this ratio to `noop`, and its verdicts; return its number."""
    plan = make_plan(experiment, 1, lambda _: "/bin/x", 512)
    number = store.begin_campaign(experiment=experiment, plan=plan, host={"name": "here", "processors": 2})
    for trial in plan.trials:
        value = (ratio if trial.levels["subject"] == "other" else 1.0) * (100 + trial.block % 3)
        store.record(number, trial.ordinal, outcome(value))
    if not experiment.varied:
        record(gather(store, number), store)
    return number


def outcome(value: float) -> Outcome:
    return Outcome(
        status="valid",
        reason="",
        exit_code=0,
        result={"protocol": 1, "status": "valid", "metrics": {"throughput": value}},
        stdout="",
        stderr="",
        calibration_before=None,
        calibration_after=None,
        calibration_error="none",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        wall_s=0.1,
    )


def test_a_campaign_with_another_setting_reproduces_nothing(store: Store) -> None:
    experiment = parse(TEXT, Path("x.toml"))
    changed = overridden(experiment, settings=["key_range=7"])
    first = measured(store, experiment, 2.0)
    measured(store, changed, 0.5)
    [alone] = how_far(gather(store, first), store)
    assert alone.reproducibility is None
    assert alone.asked_otherwise == "campaign 2 asked something else: it has key_range = 7, not 100"
    measured(store, overridden(experiment, blocks=9), 2.0)
    [again] = how_far(gather(store, first), store)
    assert again.reproducibility is not None
    verdicts = again.reproducibility.verdicts
    assert (verdicts.of, verdicts.agreeing, verdicts.contradicting) == (1, 1, 0)
    assert again.asked_otherwise == ""


def test_sensitivity_is_that_of_the_same_conditions(store: Store) -> None:
    experiment = parse(TEXT, Path("x.toml"))
    changed = overridden(experiment, settings=["key_range=7"])
    measured(store, sensitive(changed, configurations=2, replicates=2, randomness=()), 2.0)
    campaign = store.campaign(measured(store, experiment, 2.0))
    assert about_sensitivity(campaign, store) is None
    same = measured(store, sensitive(experiment, configurations=2, replicates=2, randomness=()), 2.0)
    found = about_sensitivity(campaign, store)
    assert found is not None
    assert found.id == same
