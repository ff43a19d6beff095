"""A report for the tests of charts: trials with chosen values, planned as an experiment says."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assay.analysis import summarise
from assay.experiment import Experiment, parse
from assay.plan.make_plan import make_plan
from assay.plan.types import PlannedTrial, Status
from assay.report.gather import Report
from assay.store.types import CampaignSummary, StoredTrial

START = datetime(2024, 1, 1, tzinfo=UTC)


def experiment_text(
    factors: str,
    more: str = "",
    *,
    trial: str = "",
    blocks: int = 12,
    factor: str = "subject",
    baseline: str = '"noop"',
) -> str:
    """Return the text of an experiment; `factors`, `more` and `trial` are TOML."""
    return f"""
name = "example"
question = "Which is faster?"
[factors]
{factors}
[trial]
key_range = 100
duration_ms = 100
{trial}
[design]
blocks = {blocks}
seed = 1
[comparison]
metric = "throughput"
factor = "{factor}"
baseline = {baseline}
smallest_effect_percent = 5
{more}
"""


def example_report(
    text: str,
    metrics: Callable[[PlannedTrial], Mapping[str, float]],
    *,
    status: Callable[[PlannedTrial], Status] = lambda _: "valid",
    calibration: Callable[[PlannedTrial], Mapping[str, float]] = lambda _: {"memory_ns": 90.0},
    perturbation: Callable[[PlannedTrial], Mapping[str, float | str]] = lambda planned: planned.perturbation,
    example: Mapping[str, Any] | None = None,
    changed: Callable[[Experiment], Experiment] = lambda experiment: experiment,
) -> Report:
    """Return the report of a campaign all of whose trials have ended, five seconds apart."""
    experiment = changed(parse(text, Path("example.toml")))
    plan = make_plan(experiment, 1, lambda _: "/bin/true", 1000)
    trials = [
        StoredTrial(
            id=planned.ordinal + 1,
            ordinal=planned.ordinal,
            block=planned.block,
            group=planned.group,
            levels=planned.levels,
            status=status(planned),
            reason="",
            metrics=metrics(planned) if status(planned) == "valid" else {},
            calibration_before=calibration(planned),
            calibration_after=calibration(planned),
            started_at=START + timedelta(seconds=5 * planned.ordinal),
            wall_s=0.5,
            environment="digest",
            perturbation=perturbation(planned),
        )
        for planned in plan.trials
    ]
    return Report(
        campaign=CampaignSummary(
            id=1,
            experiment=experiment.name,
            question=experiment.question,
            seed=1,
            source=text,
            started_at=START,
            planned=len(trials),
            counts={},
            host={},
        ),
        experiment=experiment,
        trials=trials,
        analysis=summarise(trials, experiment),
        findings=[],
        numbers={
            tuple(condition.values()): number
            for number, condition in enumerate(experiment.conditions(), start=1)
        },
        decisions=[],
        example=example or {},
    )
